//! What methods answer, and how far it can be trusted.

use serde::{Deserialize, Serialize};

/// How far an answer can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// It is right, up to rounding.
    Exact,
    /// The truth is on one side of it, and it is said on which.
    Bound,
    /// It is near the truth, one hopes.
    Estimate,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Exact => "exact",
            Self::Bound => "bound",
            Self::Estimate => "estimate",
        })
    }
}

/// A distribution over the labels of each variable.
///
/// ```
/// use mereo_field::Marginals;
/// let mut q = Marginals::new([2, 3]);
/// q.of_mut(1).copy_from_slice(&[0.2, 0.3, 0.5]);
/// assert_eq!(q.of(1)[2], 0.5);
/// assert_eq!(q.likeliest(), [0, 2]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Marginals {
    values: Vec<f64>,
    starts: Vec<usize>,
}

impl Marginals {
    /// Zeros for variables with these numbers of labels.
    pub fn new(labels: impl IntoIterator<Item = usize>) -> Self {
        let mut starts = vec![0];
        let mut end = 0;
        for labels in labels {
            end += labels;
            starts.push(end);
        }
        Self { values: vec![0.0; end], starts }
    }

    /// Number of variables.
    pub fn variables(&self) -> usize {
        self.starts.len() - 1
    }

    /// The distribution of one variable.
    pub fn of(&self, variable: usize) -> &[f64] {
        &self.values[self.starts[variable]..self.starts[variable + 1]]
    }

    /// The distribution of one variable, to be changed.
    pub fn of_mut(&mut self, variable: usize) -> &mut [f64] {
        &mut self.values[self.starts[variable]..self.starts[variable + 1]]
    }

    /// All numbers, variable by variable.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The likeliest label of each variable by itself.
    pub fn likeliest(&self) -> Vec<usize> {
        (0..self.variables()).map(|i| crate::pairwise::largest(self.of(i))).collect()
    }
}

/// What is known of the distribution of a field's states.
#[derive(Debug, Clone, PartialEq)]
pub struct Inferred {
    /// The distribution of each variable.
    pub marginals: Marginals,
    /// The log of the normalising constant, where the method knows something of it.
    pub log_z: Option<f64>,
    /// How far that and the marginals can be trusted. [`Kind::Bound`] says that `log_z` is a lower
    /// bound, and that the marginals are those of the distribution that gives it.
    pub kind: Kind,
    /// What the method watched after each sweep: the variational free energy of mean field, the
    /// largest change of a message.
    pub trace: Vec<f64>,
    /// Whether it came to rest.
    pub converged: bool,
}

/// One joint state of a field.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    /// The label of each variable.
    pub labels: Vec<usize>,
    /// Its energy.
    pub energy: f64,
    /// A number that no state's energy is below, where the method has one.
    pub bound: Option<f64>,
    /// [`Kind::Exact`] if no state has less energy, [`Kind::Bound`] if `bound` says how much less there
    /// could be, else [`Kind::Estimate`].
    pub kind: Kind,
    /// Energy after each sweep, cycle or pass.
    pub trace: Vec<f64>,
}

impl Decided {
    /// A state that may not be the best.
    pub(crate) fn estimate(labels: Vec<usize>, energy: f64, trace: Vec<f64>) -> Self {
        Self { labels, energy, bound: None, kind: Kind::Estimate, trace }
    }

    /// A state than which none is better.
    pub(crate) fn exact(labels: Vec<usize>, energy: f64) -> Self {
        Self { labels, energy, bound: Some(energy), kind: Kind::Exact, trace: vec![energy] }
    }
}
