//! The state of least energy, proven.
//!
//! *Few features* are enumerated in Gray code, where consecutive states differ in one feature, so
//! that the next energy costs one addition and the next fields n. Of equal states the lowest wins.
//!
//! *More features* are searched by a sphere decoder. Since `s_i² = s_i`, any δ may be put on the
//! diagonal of the quadratic form if it is taken off the biases:
//! `E_x(s) = sᵀ A s + bᵀ s`, `A = w/2 + diag(δ)`, `b = h - δ`. With δ large enough A is positive
//! definite, `A = RᵀR` with R upper triangular, and, with `c = -½ A^-1 b`,
//!
//! `E_x(s) = ‖R (s - c)‖² - ‖R c‖² = Σ_i (y_i - Σ_{j≥i} R_ij s_j)² - ‖y‖²`, `y = R c = -½ R^-ᵀ b`.
//!
//! Deciding features from the last to the first, partial sums only grow: whatever exceeds the best
//! energy so far is cut off. The nearer choice of each feature goes first; what that leads to is
//! often the best already, and if it is not soon proven, local search looks for a better one to cut
//! with. R does not depend on the row and is made once; features are ordered so that the first
//! decided have large pivots, which cuts early. For features the natural δ is `f_i·f_i` (A is their matrix of products), and 1%
//! more if that is singular or nearly so, as it is with more features than dimensions.

use mereo_core::math::dot;
use serde::{Deserialize, Serialize};

use super::local::Local;
use super::{Answer, Problem, Solver, ones};

/// Up to this many features every state is visited.
const ENUMERATED: usize = 9;
/// Nodes that the search may visit if it has to end soon, which take about as long as the local
/// search that follows, and if it need not.
const FEW_NODES: usize = 100_000;
pub(super) const MOST_NODES: usize = 500_000_000;
/// Nodes for each feature before local search is asked.
const NODES_BEFORE_LOCAL: usize = 4;
/// A pivot below this share of the mean diagonal calls for more diagonal, and how much.
const SMALL_PIVOT: f64 = 1e-3;
const RIDGE: f64 = 0.01;

/// A triangular factor of couplings, and the order of features it is for.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Factor {
    /// Which feature is decided at each level.
    order: Vec<usize>,
    /// δ, by feature.
    diagonal: Vec<f64>,
    /// R by level, column after column, `[n, n]`: of column j the first j + 1 numbers.
    columns: Vec<f64>,
    #[serde(skip)]
    rest: Vec<f64>,
    unit: f64,
}

impl Factor {
    /// The root of the mean diagonal before anything was added.
    pub(super) fn unit(&self) -> f64 {
        self.unit
    }

    /// Factors `w/2 + diag(δ)`; δ must make it at least semi-definite.
    pub(super) fn set(&mut self, n: usize, weight: &[f64], diagonal: impl Fn(usize) -> f64) {
        self.diagonal.clear();
        self.diagonal.extend((0..n).map(diagonal));
        let mean = self.diagonal.iter().sum::<f64>() / n.max(1) as f64;
        let mean = if mean > 0.0 { mean } else { 1.0 };
        self.unit = mean.sqrt();
        if !self.decompose(n, weight, SMALL_PIVOT * mean) {
            for d in &mut self.diagonal {
                *d += RIDGE * mean;
            }
            self.decompose(n, weight, 0.0);
        }
    }

    /// Cholesky, the smallest pivot first. False if a pivot is too small.
    fn decompose(&mut self, n: usize, weight: &[f64], least: f64) -> bool {
        self.order.clear();
        self.order.extend(0..n);
        self.columns.clear();
        self.columns.resize(n * n, 0.0);
        self.rest.clear();
        self.rest.extend(weight.iter().map(|w| 0.5 * w));
        for i in 0..n {
            self.rest[i * n + i] = self.diagonal[i];
        }
        for level in 0..n {
            let pivot_of = |at: usize| self.rest[self.order[at] * (n + 1)];
            let at = (level..n).fold(level, |a, b| if pivot_of(b) < pivot_of(a) { b } else { a });
            let pivot = pivot_of(at);
            if !(pivot > least) && least > 0.0 {
                return false;
            }
            self.order.swap(level, at);
            for done in 0..level {
                self.columns.swap(level * n + done, at * n + done);
            }
            let i = self.order[level];
            let root = pivot.max(f64::MIN_POSITIVE).sqrt();
            self.columns[level * n + level] = root;
            for right in level + 1..n {
                self.columns[right * n + level] = self.rest[i * n + self.order[right]] / root;
            }
            for a in level + 1..n {
                for b in level + 1..n {
                    let less = self.columns[a * n + level] * self.columns[b * n + level];
                    self.rest[self.order[a] * n + self.order[b]] -= less;
                }
            }
        }
        true
    }
}

/// Where the search of a sphere stands.
#[derive(Debug, Default)]
struct Search {
    /// What the choices so far leave of y, level by level: at level l the first l + 1 numbers, `[n, n]`.
    rest: Vec<f64>,
    /// What levels from each up have cost, `[n + 1]`.
    sums: Vec<f64>,
    /// The choices, and whether both were tried, a bit a level.
    chosen: u64,
    tried: u64,
    level: usize,
    /// Whether this level is new.
    down: bool,
    /// The best so far, and what it costs.
    best: u64,
    radius: f64,
}

impl Search {
    /// Stands at the beginning, with no sphere yet.
    #[inline(always)]
    fn start(&mut self, problem: &Problem<'_>) {
        let n = problem.bias.len();
        let Factor { order, diagonal, columns, .. } = &problem.couplings.factor;
        self.rest.resize(n * n, 0.0);
        self.sums.resize(n + 1, 0.0);
        self.sums[n] = 0.0;
        // y = -½ R^-ᵀ b by forward substitution.
        let y = &mut self.rest[(n - 1) * n..];
        for level in 0..n {
            let i = order[level];
            let column = &columns[level * n..=level * n + level];
            let value = -0.5 * (problem.bias[i] - diagonal[i]) - dot(&column[..level], &y[..level]);
            y[level] = value / column[level];
        }
        (self.chosen, self.tried, self.best) = (0, 0, 0);
        (self.level, self.down, self.radius) = (n - 1, true, f64::INFINITY);
    }

    /// Draws the sphere through a state.
    fn narrow(&mut self, factor: &Factor, state: u64) {
        let n = factor.order.len();
        let mut rest = self.rest[(n - 1) * n..].to_vec();
        let mut levels = 0;
        for (level, column) in factor.columns.chunks_exact(n).enumerate() {
            if state >> factor.order[level] & 1 == 1 {
                levels |= 1 << level;
                rest.iter_mut().zip(&column[..=level]).for_each(|(x, r)| *x -= r);
            }
        }
        let cost = dot(&rest, &rest);
        if cost < self.radius {
            (self.best, self.radius) = (levels, cost);
        }
    }

    /// Goes on for so many nodes. True if the best is proven.
    #[inline(always)]
    fn go_on(&mut self, factor: &Factor, mut nodes: usize) -> bool {
        let n = factor.order.len();
        let (mut level, mut down) = (self.level, self.down);
        loop {
            let bit = 1u64 << level;
            let left = self.rest[level * n + level];
            let column = &factor.columns[level * n..=level * n + level];
            let pivot = column[level];
            if down {
                // A new level: the nearer choice first.
                if nodes == 0 {
                    (self.level, self.down) = (level, down);
                    return false;
                }
                nodes -= 1;
                self.chosen &= !bit;
                if 2.0 * left > pivot {
                    self.chosen |= bit;
                }
                self.tried &= !bit;
            } else {
                self.chosen ^= bit;
                self.tried |= bit;
            }
            let on = self.chosen & bit != 0;
            let gap = if on { left - pivot } else { left };
            let sum = self.sums[level + 1] + gap * gap;
            down = sum < self.radius;
            if down && level > 0 {
                self.sums[level] = sum;
                let (below, above) = self.rest.split_at_mut(level * n);
                let below = &mut below[(level - 1) * n..(level - 1) * n + level];
                if on {
                    let pairs = above.iter().zip(column);
                    below.iter_mut().zip(pairs).for_each(|(b, (a, r))| *b = a - r);
                } else {
                    below.copy_from_slice(&above[..level]);
                }
                level -= 1;
                continue;
            }
            if down {
                (self.best, self.radius) = (self.chosen, sum);
                down = false;
            } else {
                // If the nearer choice was too far, so is the other.
                self.tried |= bit;
            }
            // The next level up of which a choice is left.
            level += (!(self.tried >> level)).trailing_zeros() as usize;
            if level >= n {
                return true;
            }
        }
    }
}

/// Enumeration or sphere decoding.
#[derive(Debug)]
pub struct Exact {
    nodes: usize,
    /// What to do when the nodes are used up: go on by local search, or give what was found.
    search_on: bool,
    local: Local,
    fields: Vec<f64>,
    search: Search,
}

impl Exact {
    /// Visits at most this many nodes.
    ///
    /// ```
    /// use mereo_quantize::associate::{Couplings, Problem, Solver, exact::Exact};
    /// let couplings = Couplings::new(1, &[0.0]);
    /// let problem = Problem { couplings: &couplings, bias: &[-1.0], directed: None };
    /// assert!(Exact::new(1000).solve(&problem).settled);
    /// ```
    pub fn new(nodes: usize) -> Self {
        Self {
            nodes,
            search_on: false,
            local: Local::default(),
            fields: Vec::new(),
            search: Search::default(),
        }
    }

    /// Visits few nodes, and goes on by local search if they do not suffice.
    pub(super) fn auto() -> Self {
        Self { search_on: true, ..Self::new(FEW_NODES) }
    }

    fn enumerate(&mut self, problem: &Problem<'_>) -> Answer {
        let n = problem.bias.len();
        problem.fields(0, &mut self.fields);
        let mut best = Answer::nothing();
        let (mut state, mut energy) = (0u64, 0.0);
        for step in 1..1u64 << n {
            let i = step.trailing_zeros() as usize;
            state ^= 1 << i;
            let row = problem.couplings.row(i);
            if state >> i & 1 == 1 {
                energy += self.fields[i];
                self.fields.iter_mut().zip(row).for_each(|(f, w)| *f += w);
            } else {
                energy -= self.fields[i];
                self.fields.iter_mut().zip(row).for_each(|(f, w)| *f -= w);
            }
            if energy < best.energy || (energy == best.energy && state < best.state) {
                (best.state, best.energy) = (state, energy);
            }
        }
        // Sums that went up and down have rounding in them.
        Answer { energy: problem.energy(best.state), settled: true, ..best }
    }

    /// The search of the sphere, and whether it came to its end.
    fn decode(&mut self, problem: &Problem<'_>) -> Answer {
        let factor = &problem.couplings.factor;
        let search = &mut self.search;
        let outward = |levels| ones(levels).fold(0u64, |state, l| state | 1 << factor.order[l]);
        let before = (NODES_BEFORE_LOCAL * problem.bias.len()).min(self.nodes);
        let mut settled = mereo_core::math::widest(
            #[inline(always)]
            || {
                search.start(problem);
                search.go_on(factor, before)
            },
        );
        let mut answer = Answer::nothing();
        if !settled {
            answer = self.local.descend_from(problem, outward(search.best));
            search.narrow(factor, answer.state);
            settled = mereo_core::math::widest(
                #[inline(always)]
                || search.go_on(factor, self.nodes - before),
            );
        }
        let state = outward(search.best);
        // Rounding must not let the search lose what it was given.
        answer.offer(state, problem.energy(state));
        Answer { settled, ..answer }
    }
}

impl Solver for Exact {
    fn solve(&mut self, problem: &Problem<'_>) -> Answer {
        if problem.bias.len() <= ENUMERATED {
            return self.enumerate(problem);
        }
        let mut answer = self.decode(problem);
        if !answer.settled && self.search_on {
            let more = self.local.iterate(problem, answer.state);
            answer.offer(more.state, more.energy);
        }
        answer
    }
}
