//! What is made large: minus the squared error, minus the cross-entropy, log densities; with slopes.
//!
//! Over the observed cells x of a row, y being what a decoder gave:
//!
//! * squared error: `-½ Σ w (x - y)²`, slope `w (x - y)`;
//! * cross-entropy of x from 0 to 1, y a log odds: `Σ w (x y - log(1 + eʸ))`, slope `w (x - σ(y))`, which for x of 0
//!   and 1 is the log probability of a Bernoulli;
//! * Gaussian: `-½ Σ ((x - y)²/v + log 2πv)`, slope `(x - y)/v`.

use mereo_core::Real;
use mereo_core::math::{exp_in_place, widest};

/// Sums of lanes, since a single sum cannot be vectorised.
const LANES: usize = 16;

/// Replaces outputs by slopes and returns the sum of one row; `cells` are NaN where missing, `weights` are of
/// cells, `precision` divides squares.
#[inline(always)]
pub(crate) fn squares<T: Real>(cells: &[T], outputs: &mut [T], factor: impl Fn(usize) -> T) -> f64 {
    let mut sums = [T::ZERO; LANES];
    let mut add = |lane: usize, c: usize, x: T, y: &mut T| {
        let apart = x - *y;
        let slope = if x.is_missing() { T::ZERO } else { apart * factor(c) };
        let seen = if x.is_missing() { T::ZERO } else { apart };
        sums[lane] += slope * seen;
        *y = slope;
    };
    let whole = cells.len() - cells.len() % LANES;
    let mut c = 0;
    while c < whole {
        for lane in 0..LANES {
            add(lane, c + lane, cells[c + lane], &mut outputs[c + lane]);
        }
        c += LANES;
    }
    for c in whole..cells.len() {
        add(c - whole, c, cells[c], &mut outputs[c]);
    }
    -0.5 * sums.iter().map(|s| s.to_f64()).sum::<f64>()
}

/// Squared error: writes one sum a row of `outputs`, each compared with the row of `cells` that `of` names.
pub(crate) fn squared<T: Real>(
    cells: &[T],
    outputs: &mut [T],
    columns: usize,
    emphasis: Option<&[T]>,
    sums: &mut Vec<f64>,
) {
    sums.clear();
    widest(
        #[inline(always)]
        || {
            let rows = cells.chunks_exact(columns).zip(outputs.chunks_exact_mut(columns));
            for (row, (cells, outputs)) in rows.enumerate() {
                sums.push(match emphasis {
                    None => squares(cells, outputs, |_| T::ONE),
                    Some(weights) => {
                        let own = &weights[row * columns..(row + 1) * columns];
                        squares(cells, outputs, |c| own[c])
                    }
                });
            }
        },
    );
}

/// Log density under Gaussians: `precision` is `1/v`, `constant` is `-½ log 2πv`, both by column. Row r of the outputs is
/// compared with row `r / draws` of the cells.
pub(crate) fn gaussian<T: Real>(
    cells: &[T],
    outputs: &mut [T],
    columns: usize,
    draws: usize,
    (precision, constants): (&[T], &[f64]),
    complete: bool,
    sums: &mut Vec<f64>,
) {
    sums.clear();
    let whole: f64 = constants.iter().sum();
    widest(
        #[inline(always)]
        || {
            for (row, outputs) in outputs.chunks_exact_mut(columns).enumerate() {
                let at = row / draws;
                let cells = &cells[at * columns..(at + 1) * columns];
                sums.push(squares(cells, outputs, |c| precision[c]));
            }
        },
    );
    for (row, sum) in sums.iter_mut().enumerate() {
        let at = row / draws;
        let cells = &cells[at * columns..(at + 1) * columns];
        *sum += if complete {
            whole
        } else {
            cells.iter().zip(constants).filter(|(x, _)| !x.is_missing()).map(|(_, c)| c).sum()
        };
    }
}

/// Cross-entropy with log odds: cells from 0 to 1, NaN where missing.
pub(crate) fn cross_entropy<T: Real>(
    cells: &[T],
    outputs: &mut [T],
    columns: usize,
    draws: usize,
    emphasis: Option<&[T]>,
    scratch: &mut Vec<T>,
    sums: &mut Vec<f64>,
) {
    sums.clear();
    if scratch.len() < outputs.len() {
        scratch.resize(outputs.len(), T::ZERO);
    }
    let scratch = &mut scratch[..outputs.len()];
    widest(
        #[inline(always)]
        || {
            for (e, &y) in scratch.iter_mut().zip(&*outputs) {
                *e = if y > T::ZERO { -y } else { y };
            }
        },
    );
    exp_in_place(scratch);
    widest(
        #[inline(always)]
        || {
            let rows = outputs.chunks_exact_mut(columns).zip(scratch.chunks_exact(columns));
            for (row, (outputs, exps)) in rows.enumerate() {
                let at = row / draws;
                let cells = &cells[at * columns..(at + 1) * columns];
                let own = emphasis.map(|weights| &weights[at * columns..(at + 1) * columns]);
                let mut lanes = [T::ZERO; LANES];
                let mut add = |lane: usize, c: usize| {
                    let (x, y, e) = (cells[c], outputs[c], exps[c]);
                    let below = T::ONE + e;
                    let chance = if y > T::ZERO { T::ONE } else { e } / below;
                    let linear = if y > T::ZERO { y } else { T::ZERO };
                    let weight = match own {
                        Some(own) => own[c],
                        None => T::ONE,
                    };
                    let seen = !x.is_missing();
                    let term = weight * (x * y - linear - below.quick_ln());
                    lanes[lane] += if seen { term } else { T::ZERO };
                    outputs[c] = if seen { weight * (x - chance) } else { T::ZERO };
                };
                let whole = columns - columns % LANES;
                let mut c = 0;
                while c < whole {
                    for lane in 0..LANES {
                        add(lane, c + lane);
                    }
                    c += LANES;
                }
                for c in whole..columns {
                    add(c - whole, c);
                }
                sums.push(lanes.iter().map(|s| s.to_f64()).sum());
            }
        },
    );
}

/// Multiplies every row of slopes by a number of its own.
pub(crate) fn scale_rows<T: Real>(slopes: &mut [T], columns: usize, factor: impl Fn(usize) -> f64) {
    for (row, slopes) in slopes.chunks_exact_mut(columns.max(1)).enumerate() {
        let factor = T::from_f64(factor(row));
        if factor != T::ONE {
            widest(
                #[inline(always)]
                || slopes.iter_mut().for_each(|s| *s *= factor),
            );
        }
    }
}
