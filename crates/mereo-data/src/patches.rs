//! Patches of photographs, prepared as densities of natural images are measured.
//!
//! Squares of grey pixels from random places of random pictures. Pixels are whole numbers from 0
//! to 255, on which a density could be as large as one likes; so each gets noise, uniform from 0 to 1,
//! and is divided by 256. Then the patch's mean is taken off, and since the last pixel is now known
//! from the others it is left out: a patch of 8 x 8 pixels is a row of 63 numbers.

use std::path::Path;

use mereo_core::{Context, Dense, Error, Place, Result, Table};
use rand::RngExt;

use crate::ReadOptions;
use crate::read::grey_pictures;

/// Sides of patches, and how many there may be.
const MOST_SIDE: usize = 256;
const MOST_CELLS: usize = 1 << 32;

/// Cuts patches of `size` x `size` pixels from the pictures of a folder or a tar. Which they are, and
/// their noise, depends on the seed and on the patch's number alone, so that more patches start with
/// the same ones.
///
/// ```no_run
/// let table = mereo_data::patches("photographs".as_ref(), 8, 1000, 0)?;
/// assert_eq!((table.rows(), table.columns()), (1000, 63));
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn patches(path: &Path, size: usize, count: usize, seed: u64) -> Result<Table<f32>> {
    if !(2..=MOST_SIDE).contains(&size) {
        let problem = format!("{size} is not between 2 and {MOST_SIDE} pixels a side");
        return Err(Error::option("size", problem));
    }
    if count == 0 || count.saturating_mul(size * size) > MOST_CELLS {
        return Err(Error::option("count", format!("{count} patches are too few or too many")));
    }
    let pictures = grey_pictures(path, &ReadOptions::default())?;
    for (name, picture, _) in &pictures {
        if picture.height.min(picture.width) < size {
            return Err(Error::found(
                Place::file(name),
                format!("a picture of {} x {} pixels", picture.height, picture.width),
                format!("at least {size} x {size}, the size of a patch"),
            ));
        }
    }
    let context = Context::new(seed);
    let mut values = Vec::with_capacity(count * (size * size - 1));
    let (mut pixels, mut noise) = (vec![0.0; size * size], vec![0.0; size * size]);
    for patch in 0..count {
        let mut random = context.random("patch", [patch as u64, size as u64]);
        let (_, picture, cells) = &pictures[random.random_range(0..pictures.len())];
        let top = random.random_range(0..=picture.height - size);
        let left = random.random_range(0..=picture.width - size);
        for (row, out) in pixels.chunks_exact_mut(size).enumerate() {
            let from = (top + row) * picture.width + left;
            for (out, &cell) in out.iter_mut().zip(&cells[from..from + size]) {
                *out = f64::from(cell);
            }
        }
        noise.iter_mut().for_each(|n| *n = random.random());
        values.extend(prepare_patch(&pixels, &noise).iter().map(|x| *x as f32));
    }
    Ok(Table::from(Dense::new(count, size * size - 1, values)?))
}

/// One patch: pixels from 0 to 255 and noise from 0 to 1 to a row, one number shorter.
///
/// ```
/// let row = mereo_data::prepare_patch(&[0.0, 255.0], &[0.5, 0.5]);
/// assert_eq!(row, [-127.5 / 256.0]);
/// ```
pub fn prepare_patch(pixels: &[f64], noise: &[f64]) -> Vec<f64> {
    let bright: Vec<f64> = pixels.iter().zip(noise).map(|(p, n)| (p + n) / 256.0).collect();
    let mean = bright.iter().sum::<f64>() / bright.len().max(1) as f64;
    bright[..bright.len().saturating_sub(1)].iter().map(|b| b - mean).collect()
}
