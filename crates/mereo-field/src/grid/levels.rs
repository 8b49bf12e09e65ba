//! The best state of a grid whose labels are levels, by a handful of cuts.
//!
//! If neighbours cost the difference of their levels and each pixel's own cost is convex in its level, the
//! energy is a sum over thresholds k of binary energies of `x_i > k`, with unary cost `D_i(k+1) - D_i(k)`
//! and the same edges; and the best answers to these are nested, for the unary costs rise with k. So they
//! can be found by halving (Darbon and Sigelle 2006, Hochbaum 2001): all pixels with the same range of
//! levels left are cut at its middle, pixels with other ranges being above or below for certain. 256
//! levels take 8 cuts, and the result is exact.

use mereo_core::{Context, Error, Result};

use super::cut::cut_pixels;
use super::{Coupling, Grid};
use crate::{Decided, Pairwise};

/// The state of least energy of a grid with [`Coupling::Truncated`] that truncates nothing, and unary
/// potentials that are concave in the level.
///
/// ```
/// use mereo_core::Context;
/// use mereo_field::{Coupling, Grid, Neighbours, Unary, Weights, levels};
/// let far = |seen: f64| (0..4).map(move |m| -(f64::from(m) - seen).powi(2));
/// let unary = Unary::PerPixel(far(0.0).chain(far(3.0)).chain(far(0.0)).collect());
/// let grid =
///     Grid::new((1, 3), 4, Neighbours::Four, unary, Coupling::Truncated(3), Weights::Shared(1.5))?;
/// assert_eq!(levels(&grid, &Context::new(0))?.labels, [1, 1, 1]);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn levels(grid: &Grid, context: &Context) -> Result<Decided> {
    let convex = (0..grid.variables()).all(|i| {
        let scale = 1e-9 * grid.unary(i).iter().map(|u| u.abs()).fold(1.0, f64::max);
        grid.unary(i).windows(3).all(|u| u[0] + u[2] <= 2.0 * u[1] + scale)
    });
    let whole = matches!(grid.coupling, Coupling::Truncated(most) if most + 1 >= grid.labels);
    if !convex || !whole {
        let problem = "cuts at levels need costs that are convex in the level and differences that are \
                       not truncated; choose expansion";
        return Err(Error::option("method", problem));
    }
    let n = grid.variables();
    let mut low = vec![0usize; n];
    let mut high = vec![grid.labels - 1; n];
    while (0..n).any(|i| low[i] < high[i]) {
        if context.stop().asked() {
            return Err(Error::Interrupted);
        }
        let middle: Vec<usize> = (0..n).map(|i| usize::midpoint(low[i], high[i])).collect();
        // What it costs to be above the middle; pixels that are done are left where they are.
        let mut cost: Vec<f64> = (0..n)
            .map(|i| {
                if low[i] < high[i] {
                    grid.unary(i)[middle[i]] - grid.unary(i)[middle[i] + 1]
                } else {
                    0.0
                }
            })
            .collect();
        grid.for_each_weight(|_, a, b, weight| {
            for (i, other) in [(a, b), (b, a)] {
                if low[i] < high[i] && low[other] > middle[i] && low[i] != low[other] {
                    cost[i] -= weight;
                } else if low[i] < high[i] && high[other] <= middle[i] && low[i] != low[other] {
                    cost[i] += weight;
                }
            }
        });
        let together = |a: usize, b: usize| low[a] == low[b] && low[a] < high[a];
        let above = cut_pixels(grid, &cost, |visit| {
            grid.for_each_weight(|d, a, b, weight| {
                if together(a, b) {
                    visit(d, a, b, weight);
                }
            });
        });
        for i in 0..n {
            if low[i] < high[i] {
                if above[i] {
                    low[i] = middle[i] + 1;
                } else {
                    high[i] = middle[i];
                }
            }
        }
    }
    let energy = grid.energy(&low);
    Ok(Decided::exact(low, energy))
}
