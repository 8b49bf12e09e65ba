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
//! energy so far is cut off. The first best is what local search finds. R does not depend on the
//! row and is made once; features are ordered so that the first decided have large pivots, which
//! cuts early. For features the natural δ is `f_i·f_i` (A is their matrix of products), and 1%
//! more if that is singular or nearly so, as it is with more features than dimensions.

use super::local::Local;
use super::{Answer, Problem, Solver};

/// Up to this many features every state is visited.
const ENUMERATED: usize = 9;
/// Nodes that the search may visit if it has to end soon, and if it need not.
const FEW_NODES: usize = 20_000;
pub(super) const MOST_NODES: usize = 500_000_000;
/// A pivot below this share of the mean diagonal calls for more diagonal, and how much.
const SMALL_PIVOT: f64 = 1e-3;
const RIDGE: f64 = 0.01;

/// A triangular factor of couplings, and the order of features it is for.
#[derive(Debug, Clone, Default)]
pub(super) struct Factor {
    /// Which feature is decided at each level.
    order: Vec<usize>,
    /// δ, by feature.
    diagonal: Vec<f64>,
    /// R by level, upper triangular, `[n, n]`.
    upper: Vec<f64>,
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
        self.upper.clear();
        self.upper.resize(n * n, 0.0);
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
                self.upper.swap(done * n + level, done * n + at);
            }
            let i = self.order[level];
            let root = pivot.max(f64::MIN_POSITIVE).sqrt();
            self.upper[level * n + level] = root;
            for right in level + 1..n {
                self.upper[level * n + right] = self.rest[i * n + self.order[right]] / root;
            }
            for a in level + 1..n {
                for b in level + 1..n {
                    let less = self.upper[level * n + a] * self.upper[level * n + b];
                    self.rest[self.order[a] * n + self.order[b]] -= less;
                }
            }
        }
        true
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
    /// y, what is left of it at each level, the partial sums above each level, the choices.
    target: Vec<f64>,
    left: Vec<f64>,
    sums: Vec<f64>,
    chosen: Vec<f64>,
    tried: Vec<bool>,
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
            target: Vec::new(),
            left: Vec::new(),
            sums: Vec::new(),
            chosen: Vec::new(),
            tried: Vec::new(),
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

    /// The search of the sphere within the energy of a first answer.
    fn decode(&mut self, problem: &Problem<'_>, first: Answer) -> Answer {
        let n = problem.bias.len();
        let Factor { order, diagonal, upper, .. } = &problem.couplings.factor;
        // y = -½ R^-ᵀ b by forward substitution.
        self.target.clear();
        for level in 0..n {
            let i = order[level];
            let mut value = -0.5 * (problem.bias[i] - diagonal[i]);
            for above in 0..level {
                value -= upper[above * n + level] * self.target[above];
            }
            self.target.push(value / upper[level * n + level]);
        }
        self.chosen.clear();
        self.chosen.resize(n, 0.0);
        for i in 0..n {
            if first.state >> order[i] & 1 == 1 {
                self.chosen[i] = 1.0;
            }
        }
        let mut radius = 0.0;
        for i in 0..n {
            let gap: f64 = (i..n).map(|j| upper[i * n + j] * self.chosen[j]).sum();
            radius += (self.target[i] - gap).powi(2);
        }
        let mut best = first;
        self.left.clear();
        self.left.resize(n, 0.0);
        self.sums.clear();
        self.sums.resize(n + 1, 0.0);
        self.tried.clear();
        self.tried.resize(n, false);
        let mut nodes = self.nodes;
        let mut level = n - 1;
        let mut down = true;
        loop {
            let row = &upper[level * n..(level + 1) * n];
            if down {
                // A new level: the nearer choice first.
                let mut left = self.target[level];
                for (r, s) in row[level + 1..].iter().zip(&self.chosen[level + 1..]) {
                    left -= r * s;
                }
                self.left[level] = left;
                self.chosen[level] = if 2.0 * left > row[level] { 1.0 } else { 0.0 };
                self.tried[level] = false;
                if nodes == 0 {
                    return best;
                }
                nodes -= 1;
            } else {
                self.chosen[level] = 1.0 - self.chosen[level];
                self.tried[level] = true;
            }
            let gap = self.left[level] - row[level] * self.chosen[level];
            let sum = self.sums[level + 1] + gap * gap;
            down = sum < radius;
            if down && level > 0 {
                self.sums[level] = sum;
                level -= 1;
                continue;
            }
            if down {
                radius = sum;
                best.state = (0..n)
                    .filter(|&l| self.chosen[l] > 0.5)
                    .fold(0, |state, l| state | 1 << order[l]);
                down = false;
            } else if !self.tried[level] {
                // The nearer choice was too far, so is the other.
                self.tried[level] = true;
            }
            while self.tried[level] {
                level += 1;
                if level == n {
                    best.settled = true;
                    best.energy = problem.energy(best.state);
                    return best;
                }
            }
        }
    }
}

impl Solver for Exact {
    fn solve(&mut self, problem: &Problem<'_>) -> Answer {
        if problem.bias.len() <= ENUMERATED {
            return self.enumerate(problem);
        }
        let first = self.local.descend_from(problem, 0);
        let mut answer = self.decode(problem, first);
        answer.energy = problem.energy(answer.state);
        // Rounding must not let the search lose what it was given.
        answer.offer(first.state, first.energy);
        if !answer.settled && self.search_on {
            let more = self.local.iterate(problem, answer.state);
            answer.offer(more.state, more.energy);
        }
        answer
    }
}
