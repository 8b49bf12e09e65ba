//! Sets of features, ready to explain rows.

use mereo_core::math::{Array, dot};
use mereo_core::{Batch, Real};
use serde::{Deserialize, Serialize};

use crate::associate::exact::Exact;
use crate::associate::{Association, Couplings, Directed, Problem, Solver};

/// Nodes that the search for a start may visit for each row.
const QUICK_NODES: usize = 500;

/// M sets of n features and an origin over D columns.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Sets {
    /// `[M, n, D]`.
    pub(super) feature: Array<3>,
    /// `[M, D]`.
    pub(super) origin: Array<2>,
    pub(super) penalty: f64,
    /// `f·f`, `[M, n]`.
    pub(super) square: Array<2>,
    pub(crate) couplings: Vec<Couplings>,
}

/// The explanation of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Found {
    pub(super) set: usize,
    pub(super) state: u64,
    /// Squared distance and penalty.
    pub(super) energy: f64,
}

/// Memory to explain rows in.
pub(super) struct Explainer {
    solver: Box<dyn Solver>,
    directed: bool,
    bias: Vec<f64>,
    /// The observed columns of a row that misses some, and its values; the same of one set.
    pub(super) observed: Vec<usize>,
    pub(super) values: Vec<f64>,
    residual: Vec<f64>,
    part: Vec<f64>,
    target: Vec<f64>,
    products: Vec<f64>,
    couplings: Couplings,
}

impl Explainer {
    pub(super) fn new(association: Association) -> Self {
        let directed = matches!(association, Association::Dbp | Association::Dbr);
        Self::with(association.solver(), directed)
    }

    /// Soon done, for starts: exact where that is quick.
    pub(super) fn quick() -> Self {
        Self::with(Box::new(Exact::new(QUICK_NODES)), false)
    }

    fn with(solver: Box<dyn Solver>, directed: bool) -> Self {
        Self {
            solver,
            directed,
            bias: Vec::new(),
            observed: Vec::new(),
            values: Vec::new(),
            residual: Vec::new(),
            part: Vec::new(),
            target: Vec::new(),
            products: Vec::new(),
            couplings: Couplings::default(),
        }
    }

    /// Takes a row of a batch.
    pub(super) fn take<T: Real>(&mut self, batch: &Batch<'_, T>, row: usize) {
        self.observed.clear();
        self.values.clear();
        batch.for_each_observed(row, |d, x| {
            self.observed.push(d);
            self.values.push(x.to_f64());
        });
    }

    /// Explains the row taken: takes differences before it squares, in `f64`, so that the same
    /// explanation comes out however rows are batched.
    pub(super) fn explain(&mut self, sets: &Sets) -> Found {
        let mut best: Option<Found> = None;
        for set in 0..sets.sets() {
            let found = pulp::Arch::new().dispatch(
                #[inline(always)]
                || self.explain_by(sets, set),
            );
            if best.is_none_or(|best| found.energy < best.energy) {
                best = Some(found);
            }
        }
        best.unwrap_or(Found { set: 0, state: 0, energy: 0.0 })
    }

    #[inline(always)]
    fn explain_by(&mut self, sets: &Sets, set: usize) -> Found {
        let [_, n, d] = sets.shape();
        let (origin, feature) = (sets.origin.row(set), sets.feature.at([set]));
        let complete = self.observed.len() == d;
        if complete {
            sets.bias(set, &self.values, &mut self.residual, &mut self.bias);
        } else {
            self.residual.clear();
            self.bias.clear();
            let seen = self.observed.iter().zip(&self.values);
            self.residual.extend(seen.map(|(&c, x)| x - origin[c]));
            let size = self.observed.len();
            self.part.clear();
            for f in feature.chunks_exact(d) {
                self.part.extend(self.observed.iter().map(|&c| f[c]));
            }
            let part = |i: usize| &self.part[i * size..(i + 1) * size];
            self.products.resize(n * n, 0.0);
            for i in 0..n {
                for j in 0..=i {
                    let product = dot(part(i), part(j));
                    self.products[i * n + j] = product;
                    self.products[j * n + i] = product;
                }
                let reach = dot(part(i), &self.residual);
                self.bias.push(self.products[i * n + i] - 2.0 * reach + sets.penalty);
            }
            self.couplings.set_products(n, &self.products);
        }
        let couplings = if complete { &sets.couplings[set] } else { &self.couplings };
        if self.directed {
            self.target.clear();
            self.target.resize(d, f64::NAN);
            for (&c, &r) in self.observed.iter().zip(&self.residual) {
                self.target[c] = r;
            }
        }
        let directed = self.directed.then_some(Directed {
            feature,
            target: &self.target,
            penalty: sets.penalty,
        });
        let answer = self.solver.solve(&Problem { couplings, bias: &self.bias, directed });
        let energy = (dot(&self.residual, &self.residual) + answer.energy).max(0.0);
        Found { set, state: answer.state, energy }
    }

    /// Explains a row that misses nothing, given its products with origins and features
    /// `[M, 1 + n]` and its own square.
    pub(super) fn explain_products<T: Real>(
        &mut self,
        sets: &Sets,
        products: &[T],
        square: f64,
        constants: &[f64],
    ) -> Found {
        let n = sets.features();
        let mut best: Option<Found> = None;
        for set in 0..sets.sets() {
            let products = &products[set * (n + 1)..(set + 1) * (n + 1)];
            let constants = &constants[set * (n + 1)..(set + 1) * (n + 1)];
            self.bias.clear();
            let pairs = products.iter().zip(constants).skip(1);
            self.bias.extend(pairs.map(|(p, c)| c - 2.0 * p.to_f64()));
            let couplings = &sets.couplings[set];
            let problem = Problem { couplings, bias: &self.bias, directed: None };
            let answer = self.solver.solve(&problem);
            let energy = constants[0] - 2.0 * products[0].to_f64() + answer.energy;
            if best.is_none_or(|best| energy < best.energy) {
                best = Some(Found { set, state: answer.state, energy });
            }
        }
        let best = best.unwrap_or(Found { set: 0, state: 0, energy: 0.0 });
        Found { energy: (square + best.energy).max(0.0), ..best }
    }

    /// Whether rows may be explained by their products alone.
    pub(super) fn by_products(&self) -> bool {
        !self.directed
    }
}

impl Sets {
    pub(super) fn new(feature: Array<3>, origin: Array<2>, penalty: f64) -> Self {
        let [sets, features, d] = feature.shape();
        let square = feature.chunks_exact(d.max(1)).map(|f| dot(f, f)).collect();
        let square = Array::new([sets, features], square);
        let couplings =
            (0..sets).map(|set| Couplings::of_features(features, feature.at([set]))).collect();
        Self { feature, origin, penalty, square, couplings }
    }

    /// How many sets there are, of how many features, over how many columns: M, n, D.
    pub(super) fn shape(&self) -> [usize; 3] {
        self.feature.shape()
    }

    pub(crate) fn sets(&self) -> usize {
        self.shape()[0]
    }

    pub(super) fn features(&self) -> usize {
        self.shape()[1]
    }

    pub(super) fn columns(&self) -> usize {
        self.shape()[2]
    }

    /// Of vectors `[M, 1 + n, D]`, the origin first.
    pub(crate) fn of_vectors(sets: usize, features: usize, vectors: &[f64], penalty: f64) -> Self {
        let d = vectors.len() / (sets * (features + 1)).max(1);
        let (mut feature, mut origin) = (Vec::new(), Vec::new());
        for set in vectors.chunks_exact((features + 1) * d) {
            origin.extend_from_slice(&set[..d]);
            feature.extend_from_slice(&set[d..]);
        }
        let feature = Array::new([sets, features, d], feature);
        Self::new(feature, Array::new([sets, d], origin), penalty)
    }

    /// What is left of a complete row less an origin, and with that the bias of each feature of the
    /// set.
    #[inline(always)]
    pub(crate) fn bias(&self, set: usize, row: &[f64], left: &mut Vec<f64>, bias: &mut Vec<f64>) {
        left.clear();
        left.extend(row.iter().zip(self.origin.row(set)).map(|(x, o)| x - o));
        let feature = self.feature.at([set]).chunks_exact(self.columns());
        bias.clear();
        let squares = self.square.row(set);
        bias.extend(
            feature.zip(squares).map(|(f, square)| square - 2.0 * dot(f, left) + self.penalty),
        );
    }

    /// For [`Explainer::explain_products`]: `o·o`, then `f·f + 2 f·o + λ` of each feature, set by
    /// set.
    pub(super) fn constants(&self) -> Vec<f64> {
        let mut out = Vec::new();
        for (set, origin) in self.origin.rows().enumerate() {
            out.push(dot(origin, origin));
            for (i, square) in self.square.row(set).iter().enumerate() {
                out.push(square + 2.0 * dot(self.feature.at([set, i]), origin) + self.penalty);
            }
        }
        out
    }

    /// The sum of an origin and the features of a state.
    pub(crate) fn sum(&self, set: usize, state: u64, out: &mut [f64]) {
        out.copy_from_slice(self.origin.row(set));
        for i in crate::associate::ones(state) {
            for (x, f) in out.iter_mut().zip(self.feature.at([set, i])) {
                *x += f;
            }
        }
    }
}
