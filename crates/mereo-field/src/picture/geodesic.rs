//! How far pixels are from marks, on ways that avoid edges.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The length of the shortest way from each pixel to a marked one. A step between two of the eight
/// neighbours is as long as it is in pixels, times `toll` plus how steep the picture is there (the mean of
/// both ends). Infinite if nothing is marked.
///
/// ```
/// use mereo_field::picture::geodesic;
/// let steep = [0.0, 0.0, 5.0, 0.0];
/// let far = geodesic(&steep, (1, 4), &[true, false, false, false], 1.0);
/// assert_eq!(far, [0.0, 1.0, 4.5, 8.0]);
/// ```
pub fn geodesic(
    steep: &[f64],
    (height, width): (usize, usize),
    marked: &[bool],
    toll: f64,
) -> Vec<f64> {
    let mut far = vec![f64::INFINITY; height * width];
    let mut open = BinaryHeap::new();
    for (i, marked) in marked.iter().enumerate() {
        if *marked {
            far[i] = 0.0;
            open.push(Reverse((0u64, i as u32)));
        }
    }
    // Lengths are not negative, so they sort as their bits do.
    while let Some(Reverse((bits, i))) = open.pop() {
        let (here, i) = (f64::from_bits(bits), i as usize);
        if here > far[i] {
            continue;
        }
        let (y, x) = (i / width, i % width);
        for near_y in y.saturating_sub(1)..(y + 2).min(height) {
            for near_x in x.saturating_sub(1)..(x + 2).min(width) {
                let j = near_y * width + near_x;
                let length =
                    if near_y == y || near_x == x { 1.0 } else { std::f64::consts::SQRT_2 };
                let there = here + length * (toll + f64::midpoint(steep[i], steep[j]));
                if there < far[j] {
                    far[j] = there;
                    open.push(Reverse((there.to_bits(), j as u32)));
                }
            }
        }
    }
    far
}

/// How steep a picture is at each pixel: the length of its gradient over all channels, by central
/// differences.
///
/// ```
/// let steep = mereo_field::picture::steepness(&[0.0, 0.0, 6.0, 6.0], (1, 4), 1);
/// assert_eq!(steep, [0.0, 3.0, 3.0, 0.0]);
/// ```
pub fn steepness(picture: &[f64], (height, width): (usize, usize), channels: usize) -> Vec<f64> {
    let mut steep = Vec::with_capacity(height * width);
    for y in 0..height {
        for x in 0..width {
            let at = |y: usize, x: usize| &picture[(y * width + x) * channels..][..channels];
            let half = |low: usize, high: usize, a: &[f64], b: &[f64]| {
                let span = (high - low).max(1) as f64;
                a.iter().zip(b).map(|(a, b)| ((b - a) / span).powi(2)).sum::<f64>()
            };
            let (up, down) = (y.saturating_sub(1), (y + 1).min(height - 1));
            let (left, right) = (x.saturating_sub(1), (x + 1).min(width - 1));
            let square = half(up, down, at(up, x), at(down, x))
                + half(left, right, at(y, left), at(y, right));
            steep.push(square.sqrt());
        }
    }
    steep
}
