//! Features around a pixel, for a regression to tell labels by.

/// Number of features of a pixel.
pub const FEATURES: usize = 18;

/// Half the sides of the two squares around a pixel that features are taken from.
const NEAR: usize = 2;
const WIDE: usize = 7;

/// `[pixels, 18]` of a picture in L*a*b*: the colour, its squares and products, the mean colours of a small
/// and of a large square around the pixel, and how much colours vary in the small one.
///
/// ```
/// use mereo_field::picture::{FEATURES, features};
/// let flat = features(&[50.0, 1.0, 2.0, 50.0, 1.0, 2.0], (1, 2));
/// assert_eq!(flat.len(), 2 * FEATURES);
/// assert_eq!(&flat[9..12], [50.0, 1.0, 2.0]); // the mean around
/// assert_eq!(&flat[15..18], [0.0; 3]); // nothing varies
/// ```
pub fn features(lab: &[f64], (height, width): (usize, usize)) -> Vec<f64> {
    let squares: Vec<f64> = lab.iter().map(|v| v * v).collect();
    let near = means(lab, (height, width), NEAR);
    let near_squares = means(&squares, (height, width), NEAR);
    let wide = means(lab, (height, width), WIDE);
    let mut all = Vec::with_capacity(height * width * FEATURES);
    for (i, pixel) in lab.chunks_exact(3).enumerate() {
        let [l, a, b] = [pixel[0], pixel[1], pixel[2]];
        all.extend([l, a, b]);
        all.extend([l * l, a * a, b * b, l * a, l * b, a * b].map(|v| v / 100.0));
        all.extend_from_slice(&near[3 * i..3 * i + 3]);
        all.extend_from_slice(&wide[3 * i..3 * i + 3]);
        all.extend((3 * i..3 * i + 3).map(|k| {
            let variance = near_squares[k] - near[k] * near[k];
            // What rounding leaves of a flat picture is nothing.
            if variance > 1e-9 * near_squares[k] { variance.sqrt() } else { 0.0 }
        }));
    }
    all
}

/// Means of three channels over squares, by sums of all that is above and to the left.
fn means(picture: &[f64], (height, width): (usize, usize), reach: usize) -> Vec<f64> {
    let stride = (width + 1) * 3;
    let mut sums = vec![0.0; (height + 1) * stride];
    for y in 0..height {
        let mut row = [0.0; 3];
        for x in 0..width {
            for c in 0..3 {
                row[c] += picture[(y * width + x) * 3 + c];
                sums[(y + 1) * stride + (x + 1) * 3 + c] =
                    sums[y * stride + (x + 1) * 3 + c] + row[c];
            }
        }
    }
    let mut out = Vec::with_capacity(picture.len());
    for y in 0..height {
        let (top, end) = (y.saturating_sub(reach), (y + reach + 1).min(height));
        for x in 0..width {
            let (left, right) = (x.saturating_sub(reach), (x + reach + 1).min(width));
            let size = ((end - top) * (right - left)) as f64;
            for c in 0..3 {
                let at = |y: usize, x: usize| sums[y * stride + x * 3 + c];
                out.push((at(end, right) - at(top, right) - at(end, left) + at(top, left)) / size);
            }
        }
    }
    out
}
