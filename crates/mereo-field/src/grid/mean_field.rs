//! Mean field on grids: pixels of one colour at a time, all at once.
//!
//! Pixels are coloured so that no two neighbours are alike: a checkerboard for four neighbours, four
//! colours for eight. Pixels of one colour do not see each other, so that updating them all at once is
//! updating them one after another, on any number of threads, and the free energy never rises. Factors
//! are kept colour by colour.

use mereo_core::math::{exp_in_place, softmax};
use mereo_core::{Context, Result, in_parallel};

use super::{Grid, Neighbours, add_expected, ising};
use crate::divergence::free_energy;
use crate::infer::MeanFieldParams;
use crate::{Inferred, Kind, Marginals, Pairwise};

/// Rows of pixels of a colour that are one piece of work.
const BAND: usize = 8;

/// As [`infer::mean_field`](crate::infer::mean_field), from the same starts, in parallel. The order of the
/// parameters is not used.
///
/// ```
/// use mereo_core::Context;
/// use mereo_field::{Coupling, Grid, Neighbours, Unary, Weights, grid_mean_field};
/// let unary = Unary::PerPixel(vec![0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
/// let grid = Grid::new((1, 3), 2, Neighbours::Four, unary, Coupling::Potts, Weights::Shared(1.0))?;
/// let mean = grid_mean_field(&grid, None, &Default::default(), &Context::new(0))?;
/// assert!(mean.marginals.of(2)[1] > 0.5);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn grid_mean_field(
    grid: &Grid,
    start: Option<&Marginals>,
    params: &MeanFieldParams,
    context: &Context,
) -> Result<Inferred> {
    params.check()?;
    if grid.labels == 2 && grid.neighbours == Neighbours::Four && params.damping == 0.0 {
        return Ok(ising::mean_field(grid, start, params, context));
    }
    let mut colours = Colours::new(grid, start);
    let (mut trace, mut converged) = (Vec::new(), false);
    context.install(|| {
        for _ in 0..params.sweeps {
            if context.stop().asked() {
                break;
            }
            let change = colours.sweep(grid, params.damping);
            if params.trace {
                trace.push(free_energy(grid, &colours.marginals(grid)));
            }
            if change <= params.tolerance {
                converged = true;
                break;
            }
        }
    });
    let marginals = colours.marginals(grid);
    let bound = -trace.last().copied().unwrap_or_else(|| free_energy(grid, &marginals));
    Ok(Inferred { marginals, log_z: Some(bound), kind: Kind::Bound, trace, converged })
}

struct Colours {
    /// Of each colour, the factors of its pixels.
    factors: Vec<Vec<f64>>,
    /// Pixels of a colour in a row, at the most.
    across: usize,
    eight: bool,
}

impl Colours {
    fn new(grid: &Grid, start: Option<&Marginals>) -> Self {
        let eight = grid.neighbours == Neighbours::Eight;
        let (count, rows) = if eight { (4, grid.height.div_ceil(2)) } else { (2, grid.height) };
        let across = grid.width.div_ceil(2);
        let mut new = Self { factors: vec![Vec::new(); count], across, eight };
        new.factors.iter_mut().for_each(|f| f.resize(rows * across * grid.labels, 0.0));
        for i in 0..grid.variables() {
            let (colour, place) = new.place(grid, i);
            let factor = &mut new.factors[colour][place * grid.labels..(place + 1) * grid.labels];
            match start {
                Some(start) => factor.copy_from_slice(start.of(i)),
                None => {
                    factor.copy_from_slice(grid.unary(i));
                    softmax(factor);
                }
            }
        }
        new
    }

    /// The colour of a pixel, and its place among those.
    fn place(&self, grid: &Grid, pixel: usize) -> (usize, usize) {
        let (y, x) = (pixel / grid.width, pixel % grid.width);
        if self.eight {
            ((y % 2) * 2 + x % 2, y / 2 * self.across + x / 2)
        } else {
            ((y + x) % 2, y * self.across + x / 2)
        }
    }

    /// Updates all pixels and says how far any probability moved.
    fn sweep(&mut self, grid: &Grid, damping: f64) -> f64 {
        let (labels, across, eight) = (grid.labels, self.across, self.eight);
        let mut most: f64 = 0.0;
        for colour in 0..self.factors.len() {
            let mut own = std::mem::take(&mut self.factors[colour]);
            let length = (BAND * across * labels).max(1);
            let mut changes = vec![0.0f64; own.len().div_ceil(length)];
            let all = &*self;
            let pieces = own.chunks_mut(length).zip(&mut changes).enumerate();
            in_parallel(pieces, |(band, (piece, change))| {
                let (mut new, mut around) = (vec![0.0; labels], vec![0.0; labels]);
                for (at, factor) in piece.chunks_exact_mut(labels).enumerate() {
                    let (row, column) = (band * BAND + at / across, at % across);
                    let (y, x) = if eight {
                        (2 * row + colour / 2, 2 * column + colour % 2)
                    } else {
                        (row, 2 * column + (row + colour) % 2)
                    };
                    if y >= grid.height || x >= grid.width {
                        continue;
                    }
                    let pixel = y * grid.width + x;
                    // What is expected of neighbours is linear in their factors: they are added up, as
                    // much as they are coupled, before the costs are.
                    around.fill(0.0);
                    for link in grid.links(pixel) {
                        let (colour, place) = all.place(grid, link.to);
                        let q = &all.factors[colour][place * labels..(place + 1) * labels];
                        let weight = grid.weight(link.edge);
                        around.iter_mut().zip(q).for_each(|(a, q)| *a += weight * q);
                    }
                    new.copy_from_slice(grid.unary(pixel));
                    add_expected(grid.coupling, 1.0, &around, &mut new);
                    quick_softmax(&mut new);
                    for (old, new) in factor.iter_mut().zip(&new) {
                        let next = new + damping * (*old - new);
                        *change = change.max((next - *old).abs());
                        *old = next;
                    }
                }
            });
            self.factors[colour] = own;
            most = changes.into_iter().fold(most, f64::max);
        }
        most
    }

    fn marginals(&self, grid: &Grid) -> Marginals {
        let labels = grid.labels;
        let mut marginals = Marginals::new(std::iter::repeat_n(labels, grid.variables()));
        for i in 0..grid.variables() {
            let (colour, place) = self.place(grid, i);
            let factor = &self.factors[colour][place * labels..(place + 1) * labels];
            marginals.of_mut(i).copy_from_slice(factor);
        }
        marginals
    }
}

/// As [`softmax`], with all exponentials at once.
fn quick_softmax(logs: &mut [f64]) {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    logs.iter_mut().for_each(|v| *v -= most);
    exp_in_place(logs);
    let scale = 1.0 / logs.iter().sum::<f64>();
    logs.iter_mut().for_each(|v| *v *= scale);
}
