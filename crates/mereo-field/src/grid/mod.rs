//! Fields on the pixels of a picture.
//!
//! Neighbours are the four or the eight around a pixel. The log potential of an edge is minus its weight
//! times a cost of its two labels, the same for all edges: [`Coupling::Potts`] or
//! [`Coupling::Truncated`]. Both let every use of an edge's table take time proportional to the labels,
//! where a table takes the square.

mod cut;
mod ising;
mod levels;
mod mean_field;

use mereo_core::{Error, Result};

use crate::{Link, Pairwise};

pub use cut::grid_cut;
pub use levels::levels;
pub use mean_field::grid_mean_field;

/// Most pixels of a grid, so that arcs can be counted in 32 bits.
const MOST_PIXELS: usize = 1 << 28;

/// Which pixels are neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbours {
    /// Above, below, left and right.
    Four,
    /// Those and the four across, which count `1/√2` where a strength is shared.
    Eight,
}

impl Neighbours {
    /// Edges that begin at a pixel.
    pub(crate) fn count(self) -> usize {
        match self {
            Self::Four => 2,
            Self::Eight => 4,
        }
    }
}

/// Where edges lead that begin at a pixel: down and to the right.
pub(crate) const STEPS: [(isize, isize); 4] = [(0, 1), (1, 0), (1, 1), (1, -1)];

/// What two labels cost side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coupling {
    /// 1 if they differ.
    Potts,
    /// Their difference, but never more than this.
    Truncated(usize),
}

impl Coupling {
    /// The cost.
    ///
    /// ```
    /// use mereo_field::Coupling;
    /// assert_eq!(Coupling::Potts.cost(3, 9), 1.0);
    /// assert_eq!(Coupling::Truncated(4).cost(3, 9), 4.0);
    /// ```
    pub fn cost(self, a: usize, b: usize) -> f64 {
        match self {
            Self::Potts => f64::from(u8::from(a != b)),
            Self::Truncated(most) => a.abs_diff(b).min(most) as f64,
        }
    }
}

/// Log potentials of pixels by themselves.
#[derive(Debug, Clone, PartialEq)]
pub enum Unary {
    /// `[pixels, labels]`.
    PerPixel(Vec<f64>),
    /// `[rows, labels]`, and of each pixel which row is its own: 256 levels that were seen, say.
    Table(Vec<f64>, Vec<u16>),
}

/// How strongly neighbours are coupled.
#[derive(Debug, Clone, PartialEq)]
pub enum Weights {
    /// All alike.
    Shared(f64),
    /// `[pixels, 2 or 4]`: to the right, below, and then below right and below left, of every pixel, with
    /// anything where there is no neighbour.
    PerEdge(Vec<f64>),
}

/// A field on the pixels of a picture, row by row.
///
/// ```
/// use mereo_field::{Coupling, Grid, Neighbours, Unary, Weights, grid_cut};
/// // A dark pixel among bright ones.
/// let unary = Unary::Table(vec![1.0, 0.0, 0.0, 1.0], vec![1, 1, 1, 1, 0, 1, 1, 1, 1]);
/// let grid = Grid::new((3, 3), 2, Neighbours::Four, unary, Coupling::Potts, Weights::Shared(0.5))?;
/// assert_eq!(grid_cut(&grid)?.labels, [1; 9]);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    height: usize,
    width: usize,
    labels: usize,
    neighbours: Neighbours,
    unary: Unary,
    coupling: Coupling,
    weights: Weights,
}

impl Grid {
    /// A grid of this height and width. All numbers must be finite and weights not negative.
    pub fn new(
        (height, width): (usize, usize),
        labels: usize,
        neighbours: Neighbours,
        unary: Unary,
        coupling: Coupling,
        weights: Weights,
    ) -> Result<Self> {
        let pixels = height.checked_mul(width).filter(|n| *n <= MOST_PIXELS).ok_or_else(|| {
            Error::option("picture", format!("more than {MOST_PIXELS} pixels are too many"))
        })?;
        if labels == 0 {
            return Err(Error::option("labels", "at least 1 is needed"));
        }
        let fits = match &unary {
            Unary::PerPixel(values) => {
                values.len() == pixels * labels && values.iter().all(|v| v.is_finite())
            }
            Unary::Table(table, rows) => {
                let count = table.len() / labels;
                rows.len() == pixels
                    && table.iter().all(|v| v.is_finite())
                    && rows.iter().all(|r| usize::from(*r) < count)
            }
        };
        if !fits {
            let problem = "expected a finite number for each label of each pixel";
            return Err(Error::option("unary", problem));
        }
        let proper = |w: &f64| w.is_finite() && *w >= 0.0;
        let fits = match &weights {
            Weights::Shared(weight) => proper(weight),
            Weights::PerEdge(all) => {
                all.len() == pixels * neighbours.count() && all.iter().all(proper)
            }
        };
        if !fits {
            let problem = "expected a finite weight of at least 0 for each edge";
            return Err(Error::option("coupling", problem));
        }
        Ok(Self { height, width, labels, neighbours, unary, coupling, weights })
    }

    /// Height and width.
    pub fn size(&self) -> (usize, usize) {
        (self.height, self.width)
    }

    /// Number of labels of every pixel.
    pub fn label_count(&self) -> usize {
        self.labels
    }

    /// Which pixels are neighbours.
    pub fn neighbours(&self) -> Neighbours {
        self.neighbours
    }

    /// What labels cost side by side.
    pub fn coupling(&self) -> Coupling {
        self.coupling
    }

    /// The weight of an edge, told by the pixel that it begins at and its direction.
    pub(crate) fn weight(&self, edge: usize) -> f64 {
        match &self.weights {
            Weights::Shared(weight) if edge % self.neighbours.count() < 2 => *weight,
            Weights::Shared(weight) => weight * std::f64::consts::FRAC_1_SQRT_2,
            Weights::PerEdge(all) => all[edge],
        }
    }

    /// Calls `visit(direction, first pixel, second pixel, weight)` for each edge.
    pub(crate) fn for_each_weight(&self, mut visit: impl FnMut(usize, usize, usize, f64)) {
        let count = self.neighbours.count();
        for y in 0..self.height {
            for x in 0..self.width {
                let i = y * self.width + x;
                for (d, step) in STEPS[..count].iter().enumerate() {
                    if let Some(j) = self.step(y, x, *step) {
                        visit(d, i, j, self.weight(i * count + d));
                    }
                }
            }
        }
    }

    fn step(&self, y: usize, x: usize, (down, right): (isize, isize)) -> Option<usize> {
        let y = y.checked_add_signed(down).filter(|y| *y < self.height)?;
        let x = x.checked_add_signed(right).filter(|x| *x < self.width)?;
        Some(y * self.width + x)
    }
}

impl Pairwise for Grid {
    fn variables(&self) -> usize {
        self.height * self.width
    }

    fn labels(&self, _variable: usize) -> usize {
        self.labels
    }

    fn unary(&self, variable: usize) -> &[f64] {
        let (values, row) = match &self.unary {
            Unary::PerPixel(values) => (values, variable),
            Unary::Table(table, rows) => (table, usize::from(rows[variable])),
        };
        &values[row * self.labels..(row + 1) * self.labels]
    }

    fn links(&self, variable: usize) -> impl Iterator<Item = Link> + '_ {
        let (y, x) = (variable / self.width, variable % self.width);
        let count = self.neighbours.count();
        let back = STEPS[..count].iter().enumerate().rev().filter_map(move |(d, step)| {
            let to = self.step(y, x, (-step.0, -step.1))?;
            Some(Link { edge: to * count + d, to, forward: false })
        });
        let on = STEPS[..count].iter().enumerate().filter_map(move |(d, step)| {
            let to = self.step(y, x, *step)?;
            Some(Link { edge: variable * count + d, to, forward: true })
        });
        back.chain(on)
    }

    fn pair(&self, link: Link, label: usize, other: usize) -> f64 {
        -self.weight(link.edge) * self.coupling.cost(label, other)
    }

    fn add_given(&self, link: Link, other: usize, out: &mut [f64]) {
        let weight = self.weight(link.edge);
        match self.coupling {
            Coupling::Potts => {
                out.iter_mut().for_each(|o| *o -= weight);
                out[other] += weight;
            }
            Coupling::Truncated(most) => {
                for (m, out) in out.iter_mut().enumerate() {
                    *out -= weight * m.abs_diff(other).min(most) as f64;
                }
            }
        }
    }

    fn add_expected(&self, link: Link, q: &[f64], out: &mut [f64]) {
        add_expected(self.coupling, self.weight(link.edge), q, out);
    }

    fn max_message(&self, link: Link, h: &[f64], out: &mut [f64]) {
        let weight = self.weight(link.edge);
        let most = h.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match self.coupling {
            Coupling::Potts => {
                out.iter_mut().zip(h).for_each(|(o, h)| *o = h.max(most - weight));
            }
            // The lower envelope of cones, in a pass each way.
            Coupling::Truncated(limit) => {
                let mut near = f64::NEG_INFINITY;
                for (o, h) in out.iter_mut().zip(h) {
                    near = h.max(near - weight);
                    *o = near;
                }
                let far = most - weight * limit as f64;
                near = f64::NEG_INFINITY;
                for o in out.iter_mut().rev() {
                    near = o.max(near - weight);
                    *o = near.max(far);
                }
            }
        }
    }

    fn sum_message(&self, link: Link, h: &[f64], out: &mut [f64]) {
        sum_message(self.coupling, self.weight(link.edge), h, out);
    }
}

/// `out[m] -= w Σ_n q(n) cost(m, n)`. For differences, `f(m + 1) - f(m)` is the mass in the window below,
/// whose labels get dearer, less that in the window above.
fn add_expected(coupling: Coupling, weight: f64, q: &[f64], out: &mut [f64]) {
    match coupling {
        Coupling::Potts => {
            out.iter_mut().zip(q).for_each(|(o, q)| *o -= weight * (1.0 - q));
        }
        Coupling::Truncated(0) => {}
        Coupling::Truncated(most) => {
            let labels = q.len();
            let cost = q.iter().enumerate().map(|(n, q)| q * n.min(most) as f64);
            let mut f: f64 = cost.sum();
            let mut below = q[0];
            let mut above: f64 = q[1.min(labels)..(most + 1).min(labels)].iter().sum();
            for m in 0..labels {
                out[m] -= weight * f;
                if m + 1 < labels {
                    f += below - above;
                    let out_of = if m + 1 >= most { q[m + 1 - most] } else { 0.0 };
                    below += q[m + 1] - out_of;
                    above += q.get(m + 1 + most).copied().unwrap_or(0.0) - q[m + 1];
                }
            }
        }
    }
}

/// `out[m] = log Σ_n exp(h(n) - w cost(m, n))`, weights relative to the largest. For differences, what is
/// below within the window shrinks by `e^-w` from label to label, and so does what is above.
fn sum_message(coupling: Coupling, weight: f64, h: &[f64], out: &mut [f64]) {
    let most = h.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let fade = (-weight).exp();
    let part = |n: usize| (h[n] - most).exp();
    match coupling {
        Coupling::Potts => {
            let mut total = 0.0;
            for (n, out) in out.iter_mut().enumerate() {
                *out = part(n);
                total += *out;
            }
            out.iter_mut().for_each(|o| *o = most + (*o * (1.0 - fade) + fade * total).ln());
        }
        Coupling::Truncated(limit) => {
            let (labels, far) = (h.len(), (-weight * limit as f64).exp());
            let total: f64 = (0..labels).map(part).sum();
            out.fill(total * far);
            // Each label of the window counts as much more than the far ones as it is nearer.
            let mut window = std::collections::VecDeque::new();
            let mut sweep = |order: &mut dyn Iterator<Item = usize>, own: bool| {
                window.clear();
                let (mut near, mut mass) = (0.0f64, 0.0f64);
                for m in order {
                    near *= fade;
                    if window.len() + 1 > limit.max(1) {
                        let left: f64 = window.pop_front().unwrap_or(0.0);
                        near -= left * far;
                        mass -= left;
                    }
                    if own && limit > 0 {
                        window.push_back(part(m));
                        near += part(m);
                        mass += part(m);
                    }
                    out[m] += (near - far * mass).max(0.0);
                    if !own && limit > 0 {
                        window.push_back(part(m));
                        near += part(m);
                        mass += part(m);
                    }
                }
            };
            sweep(&mut (0..labels), true);
            sweep(&mut (0..labels).rev(), false);
            out.iter_mut().for_each(|o| *o = most + o.ln());
        }
    }
}

#[cfg(test)]
mod tests;
