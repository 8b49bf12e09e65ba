//! The best state of a grid of two labels, by a smallest cut on the grid itself.
//!
//! The network is the grid with a frame of nodes around it that nothing flows through, so that no step
//! has to ask whether it leaves the picture, and arcs are numbered so that where one leads and which leads
//! back is arithmetic. Capacities are 32-bit whole numbers, the largest 2^28.

use mereo_core::{Error, Result};

use super::{Coupling, Grid, Neighbours};
use crate::flow::{Network, smallest_cut};
use crate::{Decided, Pairwise};

/// The largest capacity.
const FINEST: f64 = (1u32 << 28) as f64;

/// Called with direction, first pixel, second pixel and weight of an edge.
type Visit<'a> = dyn FnMut(usize, usize, usize, f64) + 'a;

/// A framed grid, D arcs a node in an order in which the reverse of d is `D - 1 - d`.
struct Framed<const D: usize> {
    nodes: usize,
    offsets: [isize; D],
}

impl<const D: usize> Network for Framed<D> {
    fn nodes(&self) -> usize {
        self.nodes
    }

    fn arcs(&self, node: usize) -> std::ops::Range<usize> {
        node * D..node * D + D
    }

    fn follow(&self, node: usize, arc: usize) -> (usize, usize) {
        let d = arc % D;
        let to = node.wrapping_add_signed(self.offsets[d]);
        (to, to * D + (D - 1 - d))
    }
}

/// Whether each pixel is on the source's side of the smallest cut: `cost` is what that side costs more
/// than the other, by pixel, and `edges` calls with (direction, first, second, weight) for every edge.
pub(super) fn cut_pixels(
    grid: &Grid,
    cost: &[f64],
    mut edges: impl FnMut(&mut Visit<'_>),
) -> Vec<bool> {
    let mut most = cost.iter().map(|c| c.abs()).fold(0.0, f64::max);
    edges(&mut |_, _, _, weight| most = most.max(weight));
    let scale = if most > 0.0 { FINEST / most } else { 1.0 };
    match grid.neighbours {
        Neighbours::Four => {
            let stride = grid.width as isize + 2;
            // Forward directions right and below.
            framed::<4>(grid, cost, scale, [-stride, -1, 1, stride], [2, 3, 0, 0], &mut edges)
        }
        Neighbours::Eight => {
            let s = grid.width as isize + 2;
            let offsets = [-s - 1, -s, 1 - s, -1, 1, s - 1, s, s + 1];
            framed::<8>(grid, cost, scale, offsets, [4, 6, 7, 5], &mut edges)
        }
    }
}

fn framed<const D: usize>(
    grid: &Grid,
    cost: &[f64],
    scale: f64,
    offsets: [isize; D],
    forward: [usize; 4],
    edges: &mut dyn FnMut(&mut Visit<'_>),
) -> Vec<bool> {
    let (stride, width) = (grid.width + 2, grid.width);
    let network = Framed::<D> { nodes: stride * (grid.height + 2), offsets };
    let node = |pixel: usize| (pixel / width + 1) * stride + pixel % width + 1;
    let mut excess = vec![0i32; network.nodes];
    for (y, row) in cost.chunks_exact(width.max(1)).enumerate() {
        let start = (y + 1) * stride + 1;
        for (out, cost) in excess[start..].iter_mut().zip(row) {
            *out = (-cost * scale).round() as i32;
        }
    }
    let mut capacity = vec![0i32; network.nodes * D];
    edges(&mut |d, first, second, weight| {
        let weight = (weight * scale).round() as i32;
        let d = forward[d];
        capacity[node(first) * D + d] = weight;
        capacity[node(second) * D + D - 1 - d] = weight;
    });
    let side = smallest_cut(&network, excess.into_iter(), &mut capacity);
    let mut pixels = Vec::with_capacity(cost.len());
    for y in 0..grid.height {
        let start = (y + 1) * stride + 1;
        pixels.extend_from_slice(&side[start..start + width]);
    }
    pixels
}

/// The state of least energy of a grid of two labels.
///
/// ```
/// use mereo_field::{Coupling, Grid, Neighbours, Unary, Weights, grid_cut};
/// let unary = Unary::PerPixel(vec![0.0, 1.0, 0.6, 0.0]);
/// let grid = Grid::new((1, 2), 2, Neighbours::Four, unary, Coupling::Potts, Weights::Shared(2.0))?;
/// assert_eq!(grid_cut(&grid)?.labels, [1, 1]);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn grid_cut(grid: &Grid) -> Result<Decided> {
    if grid.labels != 2 {
        let problem = format!("{} labels: a cut tells two apart; choose expansion", grid.labels);
        return Err(Error::option("method", problem));
    }
    let cost: Vec<f64> = (0..grid.variables())
        .map(|i| {
            let unary = grid.unary(i);
            unary[0] - unary[1]
        })
        .collect();
    let labels = if grid.coupling == Coupling::Truncated(0) {
        cost.iter().map(|cost| usize::from(*cost < 0.0)).collect()
    } else {
        let ones = cut_pixels(grid, &cost, |visit| grid.for_each_weight(visit));
        ones.into_iter().map(usize::from).collect::<Vec<_>>()
    };
    let energy = grid.energy(&labels);
    Ok(Decided::exact(labels, energy))
}
