//! Mean field for two labels and four neighbours, at the speed of memory.
//!
//! With `m_i = 2π_i - 1` the chapter's update is `m_i = tanh(a_i)`, `a_i = b_i + Σ_j θ_ij m_j`, where b is half the
//! difference of the unary potentials and θ half the weight. The two colours of the checkerboard are kept
//! in arrays of their own: a pixel in column x is at place `x / 2` of its row, so its neighbours above and
//! below are at the same place of the other colour, and those beside it at that place and the one before
//! or after. Updating a row of a colour then is a few vector operations, and all is in `f32`.

use mereo_core::math::{exp_in_place, widest};
use mereo_core::{Context, in_parallel};

use super::Grid;
use crate::divergence::free_energy;
use crate::infer::MeanFieldParams;
use crate::{Inferred, Kind, Marginals, Pairwise};

/// Rows that are one piece of work.
const BAND: usize = 16;
/// Beyond this, `tanh` is 1 in 32 bits.
const STEEP: f32 = 40.0;

pub(super) fn mean_field(
    grid: &Grid,
    start: Option<&Marginals>,
    params: &MeanFieldParams,
    context: &Context,
) -> Inferred {
    let mut board = Board::new(grid, start);
    let (mut trace, mut converged) = (Vec::new(), false);
    context.install(|| {
        for _ in 0..params.sweeps {
            if context.stop().asked() {
                break;
            }
            let change = board.sweep();
            if params.trace {
                trace.push(free_energy(grid, &board.marginals(grid)));
            }
            // Half of what m moved is what a probability moved, and 32 bits move for ever by their last.
            if f64::from(change) / 2.0 <= params.tolerance.max(1e-7) {
                converged = true;
                break;
            }
        }
    });
    let marginals = board.marginals(grid);
    let bound = -trace.last().copied().unwrap_or_else(|| free_energy(grid, &marginals));
    Inferred { marginals, log_z: Some(bound), kind: Kind::Bound, trace, converged }
}

/// Everything by colour, each row with an empty place before and after, and an empty row above and below.
struct Board {
    height: usize,
    width: usize,
    stride: usize,
    bias: [Vec<f32>; 2],
    mean: [Vec<f32>; 2],
    /// Half weights to the left, right, above and below, or one for all.
    strength: Result<[[Vec<f32>; 4]; 2], f32>,
}

/// Where a row of a colour begins: with column 0 or with column 1.
fn first(row: usize, colour: usize) -> usize {
    (row + colour) % 2
}

impl Board {
    fn new(grid: &Grid, start: Option<&Marginals>) -> Self {
        let (height, width) = grid.size();
        let stride = width.div_ceil(2) + 2;
        let empty = || [(); 2].map(|()| vec![0.0f32; stride * (height + 2)]);
        let mut board = Self {
            height,
            width,
            stride,
            bias: empty(),
            mean: empty(),
            strength: match grid.weights {
                super::Weights::Shared(weight) => Err((0.5 * scaled(grid, weight)) as f32),
                super::Weights::PerEdge(_) => {
                    Ok([(); 2].map(|()| [(); 4].map(|()| vec![0.0f32; stride * (height + 2)])))
                }
            },
        };
        for i in 0..grid.variables() {
            let (colour, place) = board.place(i);
            let unary = grid.unary(i);
            let bias = 0.5 * (unary[1] - unary[0]);
            board.bias[colour][place] = bias as f32;
            let mean = match start {
                Some(start) => 2.0 * start.of(i)[1] - 1.0,
                None => bias.tanh(),
            };
            board.mean[colour][place] = mean as f32;
        }
        if board.strength.is_ok() {
            grid.for_each_weight(|d, a, b, weight| {
                let ((first, here), (second, there)) = (board.place(a), board.place(b));
                let half = (0.5 * scaled(grid, weight)) as f32;
                if let Ok(strength) = &mut board.strength {
                    let (on, back) = if d == 0 { (1, 0) } else { (3, 2) };
                    strength[first][on][here] = half;
                    strength[second][back][there] = half;
                }
            });
        }
        board
    }

    fn place(&self, pixel: usize) -> (usize, usize) {
        let (y, x) = (pixel / self.width, pixel % self.width);
        ((y + x) % 2, (y + 1) * self.stride + 1 + x / 2)
    }

    /// Updates one colour, then the other; says how far any mean moved.
    fn sweep(&mut self) -> f32 {
        let mut most: f32 = 0.0;
        for colour in 0..2 {
            let mut own = std::mem::take(&mut self.mean[colour]);
            let board = &*self;
            let inside = &mut own[self.stride..self.stride * (self.height + 1)];
            let mut changes = vec![0.0f32; self.height.div_ceil(BAND)];
            let pieces = inside.chunks_mut(BAND * self.stride).zip(&mut changes).enumerate();
            in_parallel(pieces, |(band, (piece, change))| {
                let mut buffer = vec![0.0f32; board.stride];
                for (at, row) in piece.chunks_exact_mut(board.stride).enumerate() {
                    *change = change.max(board.update(band * BAND + at, colour, row, &mut buffer));
                }
            });
            self.mean[colour] = own;
            most = changes.into_iter().fold(most, f32::max);
        }
        most
    }

    /// Updates a row of a colour.
    fn update(&self, y: usize, colour: usize, row: &mut [f32], buffer: &mut [f32]) -> f32 {
        let begins = first(y, colour);
        let count = (self.width + 1 - begins) / 2;
        let start = (y + 1) * self.stride + 1;
        let other = &self.mean[1 - colour];
        let bias = &self.bias[colour][start..start + count];
        // Column 2k has its neighbours beside it at k - 1 and k, column 2k + 1 at k and k + 1.
        let beside = start + begins;
        let (left, right) = (&other[beside - 1..][..count], &other[beside..][..count]);
        let above = &other[start - self.stride..][..count];
        let below = &other[start + self.stride..][..count];
        let (row, buffer) = (&mut row[1..=count], &mut buffer[..count]);
        match &self.strength {
            Err(strength) => widest(
                #[inline(always)]
                || {
                    for k in 0..count {
                        let a = bias[k] + strength * (left[k] + right[k] + above[k] + below[k]);
                        buffer[k] = (2.0 * a).clamp(-STEEP, STEEP);
                    }
                },
            ),
            Ok(all) => {
                let [to_left, to_right, up, down] =
                    [0, 1, 2, 3].map(|d| &all[colour][d][start..start + count]);
                widest(
                    #[inline(always)]
                    || {
                        for k in 0..count {
                            let a = bias[k]
                                + to_left[k] * left[k]
                                + to_right[k] * right[k]
                                + up[k] * above[k]
                                + down[k] * below[k];
                            buffer[k] = (2.0 * a).clamp(-STEEP, STEEP);
                        }
                    },
                );
            }
        }
        exp_in_place(buffer);
        let mut moved = 0.0f32;
        widest(
            #[inline(always)]
            || {
                for (mean, e) in row.iter_mut().zip(buffer.iter()) {
                    let next = 1.0 - 2.0 / (1.0 + e);
                    let change = (next - *mean).abs();
                    moved = if change > moved { change } else { moved };
                    *mean = next;
                }
            },
        );
        moved
    }

    fn marginals(&self, grid: &Grid) -> Marginals {
        let mut marginals = Marginals::new(std::iter::repeat_n(2, grid.variables()));
        for i in 0..grid.variables() {
            let (colour, place) = self.place(i);
            // From the side that is small, so that no digits are lost.
            let mean = f64::from(self.mean[colour][place]);
            let one = f64::midpoint(1.0, mean);
            marginals.of_mut(i).copy_from_slice(&[1.0 - one, one]);
        }
        marginals
    }
}

/// What it costs to differ: of two labels both couplings are Potts, but for a truncation to nothing.
fn scaled(grid: &Grid, weight: f64) -> f64 {
    weight * grid.coupling().cost(0, 1)
}
