//! What a block may look like, guessed from the pixels above it and to its left.
//!
//! With `a_x` the pixels just above the block and `l_y` those just left of it, each counts by how near
//! it is, `p_yx = (a_x/(y+1) + l_y/(x+1)) / (1/(y+1) + 1/(x+1))`; with only one of the two, p is that.
//! Far from what is known only the mean can be trusted: with m the mean of p and d the distance from
//! the nearest known pixel, the guess is `m + 0.85 · 0.72^d (p - m)`. Plain arithmetic of one order
//! only, so that reading guesses exactly what writing did.

use super::sheet::Sheet;

/// What is left of a difference from the mean next to what is known, and of that one pixel on.
const TRUST: f64 = 0.85;
const FADE: f64 = 0.72;
/// The guess where nothing is known.
const GREY: f64 = 128.0;

/// Guesses a block, given all blocks before it.
pub(super) fn guess(sheet: &Sheet, block: usize, side: usize, out: &mut [f64]) {
    let across = sheet.width.div_ceil(side);
    let (top, left) = (block / across * side, block % across * side);
    let pixel = |y: usize, x: usize| {
        let (y, x) = (y.min(sheet.height - 1), x.min(sheet.width - 1));
        f64::from(sheet.values[y * sheet.width + x])
    };
    if top == 0 && left == 0 {
        out.fill(GREY);
        return;
    }
    for (inside, p) in out.iter_mut().enumerate() {
        let (y, x) = (inside / side, inside % side);
        let (near_above, near_left) = (1.0 / (y + 1) as f64, 1.0 / (x + 1) as f64);
        *p = match (top, left) {
            (0, _) => pixel(top + y, left - 1),
            (_, 0) => pixel(top - 1, left + x),
            _ => {
                let sum =
                    near_above * pixel(top - 1, left + x) + near_left * pixel(top + y, left - 1);
                sum / (near_above + near_left)
            }
        };
    }
    let mean = out.iter().sum::<f64>() / out.len() as f64;
    for (inside, p) in out.iter_mut().enumerate() {
        let (y, x) = (inside / side, inside % side);
        let distance = match (top, left) {
            (0, _) => x,
            (_, 0) => y,
            _ => x.min(y),
        };
        let trust = (0..distance).fold(TRUST, |trust, _| trust * FADE);
        *p = mean + trust * (*p - mean);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_even_is_guessed_and_slopes_go_on() {
        let sheet = |value: &dyn Fn(usize, usize) -> f32| Sheet {
            width: 10,
            height: 9,
            values: (0..90).map(|i| value(i / 10, i % 10)).collect(),
        };
        let mut out = [0.0; 16];
        for block in 1..9 {
            guess(&sheet(&|_, _| 77.0), block, 4, &mut out);
            assert!(out.iter().all(|p| (p - 77.0).abs() < 1e-9), "{block} {out:?}");
        }
        guess(&sheet(&|_, _| 77.0), 0, 4, &mut out);
        assert_eq!(out, [GREY; 16]);
        // Brighter to the right: so is the guess, where it sees what is above.
        guess(&sheet(&|_, x| x as f32), 3, 4, &mut out);
        assert!(out[3] > out[0] + 1.0);
    }
}
