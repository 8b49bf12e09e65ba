//! What is seen of a picture: colours as the eye tells them apart, how strongly neighbours contrast, how
//! far pixels are from marks, and features around a pixel.

mod contrast;
mod features;
mod geodesic;
mod lab;

pub use contrast::contrast_weights;
pub use features::{FEATURES, features};
pub use geodesic::{geodesic, steepness};

pub use lab::lab;

/// A blurred copy of a picture with this many channels: a Gaussian of this deviation in pixels, in two
/// passes, borders repeated.
///
/// ```
/// let blurred = mereo_field::picture::blur(&[0.0, 0.0, 1.0, 0.0, 0.0], (1, 5), 1, 0.8);
/// assert!(blurred[2] < 1.0 && blurred[1] > 0.1 && (blurred[1] - blurred[3]).abs() < 1e-12);
/// ```
pub fn blur(
    picture: &[f64],
    (height, width): (usize, usize),
    channels: usize,
    deviation: f64,
) -> Vec<f64> {
    if deviation <= 0.0 || picture.is_empty() {
        return picture.to_vec();
    }
    let reach = (3.0 * deviation).ceil() as isize;
    let mut kernel: Vec<f64> =
        (-reach..=reach).map(|d| (-0.5 * (d as f64 / deviation).powi(2)).exp()).collect();
    let sum: f64 = kernel.iter().sum();
    kernel.iter_mut().for_each(|k| *k /= sum);
    let at = |i: usize, d: isize, n: usize| (i as isize + d).clamp(0, n as isize - 1) as usize;
    let mut across = vec![0.0; picture.len()];
    for (row, out) in
        picture.chunks_exact(width * channels).zip(across.chunks_exact_mut(width * channels))
    {
        for x in 0..width {
            for (k, d) in kernel.iter().zip(-reach..) {
                let from = at(x, d, width) * channels;
                for c in 0..channels {
                    out[x * channels + c] += k * row[from + c];
                }
            }
        }
    }
    let line = width * channels;
    let mut both = vec![0.0; picture.len()];
    for y in 0..height {
        for (k, d) in kernel.iter().zip(-reach..) {
            let from = at(y, d, height) * line;
            let row = &across[from..from + line];
            both[y * line..(y + 1) * line].iter_mut().zip(row).for_each(|(o, v)| *o += k * v);
        }
    }
    both
}
