//! Colours as the eye tells them apart.

/// CIE L*a*b* (white D65) of sRGB pixels of 8 bits, three channels each; grey ones have no colour. L goes
/// from 0 to 100.
///
/// ```
/// let lab = mereo_field::picture::lab(&[255, 255, 255, 0, 0, 0, 255, 0, 0], 3);
/// assert!((lab[0] - 100.0).abs() < 0.01 && lab[3].abs() < 1e-9);
/// assert!((lab[6] - 53.24).abs() < 0.01 && (lab[7] - 80.09).abs() < 0.02);
/// ```
pub fn lab(pixels: &[u8], channels: usize) -> Vec<f64> {
    let linear: Vec<f64> = (0..256)
        .map(|v| {
            let v = f64::from(v) / 255.0;
            if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
        })
        .collect();
    let root =
        |t: f64| if t > 216.0 / 24_389.0 { t.cbrt() } else { t * 841.0 / 108.0 + 4.0 / 29.0 };
    let mut lab = Vec::with_capacity(pixels.len() / channels.max(1) * 3);
    for pixel in pixels.chunks_exact(channels.max(1)) {
        let [r, g, b] = match pixel {
            [r, g, b, ..] => [*r, *g, *b],
            _ => [pixel[0]; 3],
        }
        .map(|v| linear[usize::from(v)]);
        let x = root((0.412_456_4 * r + 0.357_576_1 * g + 0.180_437_5 * b) / 0.950_47);
        let y = root(0.212_672_9 * r + 0.715_152_2 * g + 0.072_175 * b);
        let z = root((0.019_333_9 * r + 0.119_192 * g + 0.950_304_1 * b) / 1.088_83);
        lab.extend([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]);
    }
    lab
}
