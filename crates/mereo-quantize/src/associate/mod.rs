//! Association: which of the `2^n` combinations of n features is nearest to a row.
//!
//! With features `f_i` (over the observed columns), origin o and penalty λ, a row x and a state
//! `s ∈ {0,1}^n` have the energy `E(s,x) = ‖x - o - Σ_i s_i f_i‖² + λ Σ_i s_i`. Opening the square,
//! and because `s_i² = s_i`,
//!
//! `E(s,x) = ‖x - o‖² + E_x(s)`, `E_x(s) = Σ_i h_i s_i + Σ_{i<j} w_ij s_i s_j`,
//! `w_ij = 2 f_i·f_j`, `h_i = f_i·f_i - 2 f_i·(x - o) + λ`.
//!
//! So a row is a [`Problem`] of biases h and [`Couplings`] w. The solvers, one a file:
//!
//! | solver | what it does |
//! |---|---|
//! | [`exact`] | enumeration in Gray code, or a sphere decoder that proves its answer |
//! | [`local`] | descent by flips of one and of two features, kicked out of local minima |
//! | [`bp`], [`br`] | belief propagation and revision between features |
//! | [`mf`], [`gibbs`] | annealed mean field and Gibbs sampling |
//! | [`dbp`], [`dbr`] | the same between features and columns (the directed graph) |
//!
//! All but the first are as the paper's appendices describe them, with the signs put right; they
//! keep the best state that they came by. [`Association::Auto`] is what to use otherwise.

pub mod bp;
pub mod br;
pub mod dbp;
pub mod dbr;
pub mod exact;
pub mod gibbs;
pub mod local;
pub mod mf;
#[cfg(test)]
mod tests;

use mereo_core::math::dot;
use mereo_core::{Context, Error, Random, Result};
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// Most features of a set: a state is the bits of one machine word.
pub const MOST_FEATURES: usize = 64;

/// The couplings of a set of features, and what solvers derive from them once.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Couplings {
    n: usize,
    /// `w_ij`, symmetric with nothing on the diagonal, `[n, n]`.
    weight: Vec<f64>,
    factor: exact::Factor,
}

impl Couplings {
    /// From any couplings `w [n, n]`, symmetric; what stands on the diagonal is not looked at.
    ///
    /// ```
    /// use mereo_quantize::associate::{Association, Couplings, Problem};
    /// // Each alone would lower the energy; both together would not.
    /// let couplings = Couplings::new(2, &[0.0, 5.0, 5.0, 0.0]);
    /// let problem = Problem { couplings: &couplings, bias: &[-1.0, -2.0], directed: None };
    /// let answer = Association::Auto.solver().solve(&problem);
    /// assert_eq!((answer.state, answer.energy, answer.settled), (0b10, -2.0, true));
    /// ```
    pub fn new(n: usize, weight: &[f64]) -> Self {
        let mut couplings = Self::default();
        couplings.set(n, |i, j| weight[i * n + j]);
        // A diagonal that outweighs its row makes any form positive definite.
        let diagonal: Vec<f64> =
            (0..n).map(|i| 0.5 * couplings.row(i).iter().map(|w| w.abs()).sum::<f64>()).collect();
        couplings.factor.set(n, &couplings.weight, |i| diagonal[i]);
        couplings
    }

    /// Couplings of n features, `[n, D]`.
    ///
    /// ```
    /// let couplings = mereo_quantize::associate::Couplings::of_features(1, &[2.0, 3.0]);
    /// assert_eq!(couplings.features(), 1);
    /// ```
    pub fn of_features(n: usize, features: &[f64]) -> Self {
        let d = features.len() / n.max(1);
        let f = |i: usize| &features[i * d..(i + 1) * d];
        let products: Vec<f64> = (0..n * n).map(|p| dot(f(p / n), f(p % n))).collect();
        let mut couplings = Self::default();
        couplings.set_products(n, &products);
        couplings
    }

    /// Takes the couplings of features with these products `f_i·f_j` `[n, n]`, keeping the memory.
    pub fn set_products(&mut self, n: usize, products: &[f64]) {
        self.set(n, |i, j| 2.0 * products[i * n + j]);
        self.factor.set(n, &self.weight, |i| products[i * n + i]);
    }

    fn set(&mut self, n: usize, weight: impl Fn(usize, usize) -> f64) {
        assert!(n <= MOST_FEATURES, "{n} features do not fit into a state");
        self.n = n;
        self.weight.clear();
        self.weight.resize(n * n, 0.0);
        for i in 0..n {
            for j in i + 1..n {
                let w = weight(i, j);
                self.weight[i * n + j] = w;
                self.weight[j * n + i] = w;
            }
        }
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.n
    }

    /// The length of a typical feature.
    fn unit(&self) -> f64 {
        self.factor.unit()
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.weight[i * self.n..(i + 1) * self.n]
    }
}

/// What the directed graph needs beside the energy: the features and what they are to explain.
#[derive(Debug, Clone, Copy)]
pub struct Directed<'a> {
    /// `[n, D]`.
    pub feature: &'a [f64],
    /// `x - o`, `[D]`, `NaN` where a cell is missing.
    pub target: &'a [f64],
    /// What each feature that is on costs.
    pub penalty: f64,
}

/// One row's association: find the state of least energy `Σ h_i s_i + Σ_{i<j} w_ij s_i s_j`.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// w.
    pub couplings: &'a Couplings,
    /// h.
    pub bias: &'a [f64],
    /// The graph of features and columns, for [`dbp`] and [`dbr`]; without it these do what [`bp`]
    /// and [`br`] do.
    pub directed: Option<Directed<'a>>,
}

impl Problem<'_> {
    /// The energy of a state.
    pub fn energy(&self, state: u64) -> f64 {
        let mut energy = 0.0;
        for i in ones(state) {
            let row = self.couplings.row(i);
            energy += self.bias[i];
            for j in ones(state & low(i)) {
                energy += row[j];
            }
        }
        energy
    }

    /// What each feature would add if it were switched on: `h_i + Σ_j w_ij s_j`.
    fn fields(&self, state: u64, out: &mut Vec<f64>) {
        out.clear();
        out.extend_from_slice(self.bias);
        for j in ones(state) {
            for (field, w) in out.iter_mut().zip(self.couplings.row(j)) {
                *field += w;
            }
        }
    }
}

/// The features that are on in a state, by rising number.
///
/// ```
/// assert_eq!(mereo_quantize::associate::ones(0b101).collect::<Vec<_>>(), [0, 2]);
/// ```
pub fn ones(mut state: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (state != 0).then(|| {
            let i = state.trailing_zeros() as usize;
            state &= state - 1;
            i
        })
    })
}

/// The bits below bit i.
fn low(i: usize) -> u64 {
    (1 << i) - 1
}

/// A solver's answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// The state, feature 0 the lowest bit.
    pub state: u64,
    /// Its energy.
    pub energy: f64,
    /// Whether the solver vouches for it: exact ones when it is proven to be the best, message
    /// passing when messages settled; never otherwise.
    pub settled: bool,
}

impl Answer {
    /// The state without features, which every solver may fall back to.
    fn nothing() -> Self {
        Self { state: 0, energy: 0.0, settled: false }
    }

    /// Takes a state if it is better.
    pub(crate) fn offer(&mut self, state: u64, energy: f64) {
        if energy < self.energy {
            (self.state, self.energy) = (state, energy);
        }
    }
}

/// Something that finds states of low energy. A solver holds memory to work in and nothing else:
/// the same problem gives the same answer whatever was solved before.
pub trait Solver: Send {
    /// Solves a problem.
    fn solve(&mut self, problem: &Problem<'_>) -> Answer;
}

/// Which solver to use.
///
/// ```
/// use mereo_quantize::associate::Association;
/// assert_eq!("br".parse::<Association>()?, Association::Br);
/// assert!("magic".parse::<Association>().is_err());
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Association {
    /// Exact while that is quick, and otherwise iterated local search.
    Auto,
    /// The best state, however long it takes (up to a very large budget).
    Exact,
    /// Belief propagation.
    Bp,
    /// Belief revision.
    Br,
    /// Mean field.
    Mf,
    /// Gibbs sampling.
    Gibbs,
    /// Belief propagation in the directed graph.
    Dbp,
    /// Belief revision in the directed graph.
    Dbr,
    /// Iterated local search with flips of one and two features.
    Local,
}

mereo_core::choices!(Association, "association":
    Auto = "auto", Exact = "exact", Bp = "bp", Br = "br", Mf = "mf", Gibbs = "gibbs", Dbp = "dbp",
    Dbr = "dbr", Local = "local");

impl Association {
    /// A solver of this kind.
    pub fn solver(self) -> Box<dyn Solver> {
        match self {
            Self::Auto => Box::new(exact::Exact::auto()),
            Self::Exact => Box::new(exact::Exact::new(exact::MOST_NODES)),
            Self::Bp => Box::<bp::Bp>::default(),
            Self::Br => Box::<br::Br>::default(),
            Self::Mf => Box::<mf::Mf>::default(),
            Self::Gibbs => Box::<gibbs::Gibbs>::default(),
            Self::Dbp => Box::<dbp::Dbp>::default(),
            Self::Dbr => Box::<dbr::Dbr>::default(),
            Self::Local => Box::<local::Local>::default(),
        }
    }

    /// Whether it can be used with this many features of this many columns: what works column by
    /// column is slow, and beyond some size hopeless.
    ///
    /// ```
    /// use mereo_quantize::associate::Association;
    /// assert!(Association::Auto.check(40, 1000).is_ok());
    /// assert!(Association::Dbp.check(40, 1000).unwrap_err().to_string().contains("use auto"));
    /// ```
    pub fn check(self, features: usize, columns: usize) -> Result<()> {
        let problem = match self {
            Self::Dbr
                if features > dbr::MOST_PARENTS
                    || columns.saturating_mul(1 << features) > dbr::MOST_COMBINATIONS =>
            {
                format!(
                    "dbr goes through all combinations of features in each column, and those of \
                     {features} features in {columns} columns are more than {}; use auto",
                    dbr::MOST_COMBINATIONS
                )
            }
            Self::Dbp if columns.saturating_mul(features) > dbp::MOST_LINKS => format!(
                "dbp integrates numerically for each feature in each column, and {features} \
                 features of {columns} columns are more than {} of them; use auto, or bp",
                dbp::MOST_LINKS
            ),
            _ => return Ok(()),
        };
        Err(Error::option("association", problem))
    }
}

impl Association {
    /// Whether it is quick enough to learn from this many rows by.
    pub(crate) fn check_rows(self, rows: usize, features: usize, columns: usize) -> Result<()> {
        let links = rows.saturating_mul(features).saturating_mul(columns);
        if self != Self::Dbp || links <= dbp::MOST_LINKS_OF_ALL {
            return Ok(());
        }
        let problem = format!(
            "dbp integrates numerically for each feature in each column of each row, and {features} \
             features of {columns} columns in {rows} rows would take minutes: at most {} in all; \
             learn by auto or bp, and give dbp to encode",
            dbp::MOST_LINKS_OF_ALL
        );
        Err(Error::option("association", problem))
    }
}

/// The random numbers of one problem. They are the same for every problem, so that a row's state
/// does not depend on where the row stands.
fn random() -> Random {
    Context::new(0).random("association", [0, 0])
}

/// Numbers from 0 in random order.
fn shuffle(order: &mut Vec<usize>, n: usize, random: &mut Random) {
    order.clear();
    order.extend(0..n);
    for i in (1..n).rev() {
        order.swap(i, random.random_range(0..=i));
    }
}

/// The logistic function.
fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}
