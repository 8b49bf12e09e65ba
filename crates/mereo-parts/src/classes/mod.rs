//! The class layer: a higher cause that the states of all parts depend on, or their factors.
//!
//! # States
//!
//! A row belongs to one of N classes, n with probability `β_n`, and each class has its own priors over states:
//! part k shows state j with probability `b_nkj`. Everything below the states stays as it was.
//! With `q(y, s | x) = z_n Π_k m_nk` the bound gains terms in z, and row c's share of it is
//!
//! `Σ_n z_n [ log(β_n/z_n) - Σ_kj m_nkj (log(m_nkj/b_nkj) + E_kj) ] + …`, `E_kj = Σ_d g_dk ε_dkj`,
//!
//! where the evidence `E` is the same for all classes: one product of matrices serves them all.
//! Setting derivatives to zero, with `S_nk = Σ_j b_nkj exp(-E_kj)`,
//!
//! - `m_nkj = b_nkj exp(-E_kj) / S_nk`, and `z_n ∝ β_n Π_k S_nk`, or the label if it is known;
//! - put back, a row's share is `log Σ_n β_n Π_k S_nk`, with a label y `log β_y Π_k S_yk`;
//! - wherever the parts' updates have `m_kj` they now have its mean over classes, `Σ_n z_n m_nkj`;
//! - `β_n = (Σ_c z_n + α) / (C + N α)` and `b_nkj = (Σ_c z_n m_nkj + α) / (Σ_c z_n + J α)`.
//!
//! The pseudo-count α is that of symmetric Dirichlet priors on `β` and every `b_nk`: without it a
//! state never seen in a class would forbid that class for ever, however few its rows. Learning
//! then raises the bound plus `α (Σ log β + Σ log b)`, and that is what is reported.
//!
//! Between evidence and codes stand, for each part, three small products over the batch:
//! `S_k = B_k U_k` `[N, R]`, codes `U_k ∘ (B_kᵀ Q_k)` and statistics `B_k ∘ (Q_k U_kᵀ)`, with
//! `U = exp(-E)`, `Q_nk = z_n / S_nk`. They cost N/D of the evidence.
//!
//! # Factors
//!
//! Where parts have factors ([`crate::mcfa`]) a class says where they are centred: in class n
//! `s_k ~ N(ν_nk, I)` in place of `N(0, I)`. With `q(y, s | x) = z_n Π_k N(s_k; m_nk, Ω_k)` and `m_k`, `Ω_k`, `log S_k`
//! the code of the part without classes and the log of its normaliser,
//!
//! - `m_nk = m_k + Ω_k ν_nk`: the prior adds `ν_nk` to the linear term of the same quadratic, so that the
//!   covariance is that of every class;
//! - `log S_nk = log S_k + ν_nk·m_k + ½ ν_nkᵀ Ω_k ν_nk - ½ ν_nk·ν_nk`, and `z_n ∝ β_n Π_k S_nk` as above;
//! - the parts' updates have `Σ_n z_n m_nk` for the mean and `Ω_k + Σ_n z_n m_nk m_nkᵀ` for the second moment;
//! - `ν_nk = Σ_c z_n m_nk / (Σ_c z_n + α)`.
//!
//! Here α is the precision of a normal prior on every `ν_nk`, as if α rows of every class had been seen
//! with their factors at 0. Learning raises the bound plus `α (Σ log β - ½ Σ ν·ν)`.

mod factors;
mod start;

use mereo_core::math::{Matrix, exp_in_place, product, product_nt, product_tn, softmax};
use mereo_core::{Error, ModelFile, Real, Result, Source};
use serde::{Deserialize, Serialize};

use crate::options::SaidClasses;

pub(crate) use factors::FactorWork;
pub(crate) use start::{CLASS_ROWS, KnownFactors, KnownStates, SHORT_PASSES, cluster};

/// A probability below this counts as this: its logarithm is as good as that of 0, and products
/// with it stay numbers in either type.
const LEAST: f64 = 1e-30;

/// Which classes a model of parts has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "SaidClasses", try_from = "SaidClasses")]
pub enum Classes {
    /// None: states depend on nothing.
    #[default]
    None,
    /// This many, found in the data.
    Learned(usize),
    /// One for each label that the data has. Rows without a label are shared among them.
    Labels,
}

impl Classes {
    /// Whether there can be so many, and of a model with such gates.
    pub(crate) fn check(self, gates_of_rows: bool) -> Result<()> {
        const MOST: usize = 1 << 16;
        match self {
            Self::Learned(_) | Self::Labels if gates_of_rows => {
                let problem =
                    "classes need a gate that all rows share: standard, annealed or r-tied";
                Err(Error::option("classes", problem))
            }
            Self::Learned(n) if n == 0 || n > MOST => {
                Err(Error::option("classes", format!("{n} is not from 1 to {MOST}")))
            }
            _ => Ok(()),
        }
    }
}

/// How many rows every class, and every habit of it, is taken to have been seen in beside those
/// that there are, if nobody says.
pub(crate) fn default_pseudo_count() -> f64 {
    0.5
}

/// Whether a pseudo-count can be used.
pub(crate) fn check_pseudo_count(pseudo_count: f64) -> Result<()> {
    if (0.0..=1e9).contains(&pseudo_count) {
        return Ok(());
    }
    Err(Error::option("class-pseudo-count", format!("{pseudo_count} is not from 0 to 1e9")))
}

/// How classes are learned.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct ClassPlan {
    /// How many.
    pub(crate) classes: usize,
    /// Whether rows' labels say which.
    pub(crate) labelled: bool,
    /// The pseudo-count of their priors.
    pub(crate) pseudo_count: f64,
}

impl ClassPlan {
    /// Nothing if no classes are wanted.
    pub(crate) fn of<T: Real>(
        wanted: Classes,
        pseudo_count: f64,
        source: &dyn Source<T>,
    ) -> Result<Option<Self>> {
        let labels = || source.about().labels.as_ref().map_or(0, |labels| labels.names.len());
        let (classes, labelled) = match wanted {
            Classes::None => return Ok(None),
            Classes::Learned(classes) => (classes, false),
            Classes::Labels => (labels(), true),
        };
        if classes == 0 {
            let problem = "the data has no labels; name the column that holds them";
            return Err(Error::option("labels", problem));
        }
        Ok(Some(Self { classes, labelled, pseudo_count }))
    }
}

/// What is learned of classes: how common they are, and their priors over states.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClassLayer {
    /// `[N]`.
    pub(crate) prior: Vec<f64>,
    /// `[N, K, J]`: how common each state is, or where each factor is centred.
    pub(crate) class_state_prior: Vec<f64>,
}

impl ClassLayer {
    /// Classes that are equally common and have the same priors over states, `[K, J]`.
    pub(crate) fn alike(classes: usize, class_state_prior: &[f64]) -> Self {
        Self {
            prior: vec![1.0 / classes as f64; classes],
            class_state_prior: class_state_prior.repeat(classes),
        }
    }

    /// Number of classes, N.
    pub(crate) fn classes(&self) -> usize {
        self.prior.len()
    }

    fn slots(&self) -> usize {
        self.class_state_prior.len() / self.prior.len()
    }

    /// The priors over states of a class, `[K, J]`.
    pub(crate) fn of(&self, class: usize) -> &[f64] {
        &self.class_state_prior[class * self.slots()..(class + 1) * self.slots()]
    }

    /// The mean of the priors over states over all classes, `[K, J]`.
    pub(crate) fn marginal(&self) -> Vec<f64> {
        let mut all = vec![0.0; self.slots()];
        for (class, beta) in self.prior.iter().enumerate() {
            for (all, b) in all.iter_mut().zip(self.of(class)) {
                *all += beta * b;
            }
        }
        all
    }

    /// The priors over states of a hybrid, `[K, J]`: in each of these parts those of a class, or the mean of
    /// several by weight.
    pub(crate) fn blend(&self, parts: usize, blend: &[Vec<(usize, f64)>]) -> Result<Vec<f64>> {
        let problem = |text: String| Err(Error::option("class", text));
        if blend.len() != parts {
            return problem(format!("{} parts of {parts} are blended", blend.len()));
        }
        let of_part = self.slots() / parts;
        let mut class_state_prior = vec![0.0; self.slots()];
        for (part, blend) in blend.iter().enumerate() {
            let total: f64 = blend.iter().map(|(_, weight)| weight).sum();
            let proper = |&(class, weight): &(usize, f64)| {
                class < self.classes() && weight >= 0.0 && weight.is_finite()
            };
            if !(blend.iter().all(proper) && total > 0.0 && total.is_finite()) {
                return problem(format!(
                    "part {part} needs classes below {} with weights that are not all 0",
                    self.classes()
                ));
            }
            for &(class, weight) in blend {
                for slot in part * of_part..(part + 1) * of_part {
                    class_state_prior[slot] += weight / total * self.of(class)[slot];
                }
            }
        }
        Ok(class_state_prior)
    }

    /// What pseudo-counts of the classes themselves add to the bound.
    fn log_prior(&self, pseudo_count: f64) -> f64 {
        if pseudo_count == 0.0 {
            return 0.0;
        }
        pseudo_count * self.prior.iter().map(|p| p.max(LEAST).ln()).sum::<f64>()
    }

    /// `α (Σ log β + Σ log b)`: what the pseudo-counts add to the bound.
    fn log_prior_of_states(&self, pseudo_count: f64) -> f64 {
        if pseudo_count == 0.0 {
            return 0.0;
        }
        let logs = self.class_state_prior.iter().map(|p| p.max(LEAST).ln());
        self.log_prior(pseudo_count) + pseudo_count * logs.sum::<f64>()
    }

    fn update_prior(&mut self, told: &ClassStatistics, pseudo_count: f64) {
        let rows: f64 = told.total.iter().sum();
        let all = rows + pseudo_count * self.prior.len() as f64;
        for (beta, total) in self.prior.iter_mut().zip(&told.total) {
            *beta = (total + pseudo_count) / all;
        }
    }

    /// Re-estimates both from what rows told, priors over states being how common states are.
    pub(crate) fn update_states(
        &mut self,
        told: &ClassStatistics,
        states: usize,
        pseudo_count: f64,
    ) {
        self.update_prior(told, pseudo_count);
        let slots = self.slots();
        for (class, &total) in told.total.iter().enumerate() {
            // A class without rows keeps its priors over states.
            if total + pseudo_count > 0.0 {
                let all = total + pseudo_count * states as f64;
                for slot in class * slots..(class + 1) * slots {
                    self.class_state_prior[slot] =
                        (told.class_state_prior[slot] + pseudo_count) / all;
                }
            }
        }
    }

    /// What looking needs, in the data's type.
    pub(crate) fn prepare<T: Real>(&self, states: usize, pseudo_count: f64) -> PreparedClasses<T> {
        let (classes, slots) = (self.classes(), self.slots());
        let mut by_part = Vec::with_capacity(self.class_state_prior.len());
        for part in 0..slots / states {
            for class in 0..classes {
                let class_state_prior = &self.of(class)[part * states..(part + 1) * states];
                by_part.extend(class_state_prior.iter().map(|b| T::from_f64(b.max(LEAST))));
            }
        }
        PreparedClasses {
            classes,
            states,
            log_class: self.log_class(),
            by_part,
            log_prior: self.log_prior_of_states(pseudo_count),
        }
    }

    fn log_class(&self) -> Vec<f64> {
        self.prior.iter().map(|b| b.max(LEAST).ln()).collect()
    }
}

/// The `class_prior` of a file, if it has classes. They need a gate that all rows share.
pub(crate) fn class_prior_of(
    file: &mut ModelFile,
    gates_of_rows: bool,
    path: &std::path::Path,
) -> Result<Option<Vec<f64>>> {
    let Some(shape) = file.get("class_prior").map(|prior| prior.shape.clone()) else {
        return Ok(None);
    };
    if gates_of_rows {
        let problem = "classes need a gate that all rows share; this model has gates of rows";
        return Err(Error::option("class_prior", problem));
    }
    file.take_distributions("class_prior", &shape[..shape.len().min(1)], path).map(Some)
}

/// Turns the logs of `β_n Π_k S_nk` of a row into how likely each class is, or the label if there is
/// one; returns the log of the row's normaliser.
fn settle(logs: &mut [f64], label: Option<u32>) -> f64 {
    if let Some(label) = label.map(|label| label as usize).filter(|&label| label < logs.len()) {
        let norm = logs[label];
        logs.fill(0.0);
        logs[label] = 1.0;
        return norm;
    }
    softmax(logs)
}

/// A class layer, ready to look at batches.
#[derive(Debug, Clone)]
pub(crate) struct PreparedClasses<T> {
    classes: usize,
    states: usize,
    /// `log β`, `[N]`.
    log_class: Vec<f64>,
    /// b, `[K, N, J]`.
    by_part: Vec<T>,
    /// What the pseudo-counts add to the bound.
    pub(crate) log_prior: f64,
}

/// Memory for looking at one batch.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClassWork<T> {
    /// z, `[N, R]`.
    pub(crate) posterior: Vec<f64>,
    /// The log normaliser of each row, `[R]`.
    pub(crate) log_norms: Vec<f64>,
    /// S, then Q, `[K, N, R]`.
    sums: Vec<T>,
    /// One part's codes over U, `[J, R]`, or statistics, `[N, J]`.
    product: Vec<T>,
    logs: Vec<f64>,
}

/// What rows tell of classes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ClassStatistics {
    /// `Σ_c z_n`, `[N]`.
    total: Vec<f64>,
    /// `Σ_c z_n m_nkj`, `[N, K, J]`.
    class_state_prior: Vec<f64>,
}

impl ClassStatistics {
    pub(crate) fn new(classes: usize, slots: usize) -> Self {
        Self { total: vec![0.0; classes], class_state_prior: vec![0.0; classes * slots] }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        let pairs = self.total.iter_mut().zip(&other.total);
        pairs
            .chain(self.class_state_prior.iter_mut().zip(&other.class_state_prior))
            .for_each(|(a, b)| *a += b);
    }

    pub(crate) fn reset(&mut self) {
        self.total.fill(0.0);
        self.class_state_prior.fill(0.0);
    }
}

impl<T: Real> PreparedClasses<T> {
    /// Turns evidence `[K, J, R]`, without priors, into the rows' codes, in place and times the
    /// rows' weights. Leaves in `work` the classes' posterior and the rows' log normalisers; in
    /// `log_norms` `[K, R]` how well the best state of each part explains each row.
    pub(crate) fn infer(
        &self,
        evidence: &mut [T],
        log_norms: &mut [T],
        labels: Option<&[Option<u32>]>,
        weights: Option<&[f64]>,
        work: &mut ClassWork<T>,
        told: Option<&mut ClassStatistics>,
    ) {
        let (classes, states) = (self.classes, self.states);
        let parts = self.by_part.len() / (classes * states);
        let rows = log_norms.len() / parts;
        below_best(evidence, log_norms, states, rows);
        exp_in_place(evidence);
        work.sums.resize(parts * classes * rows, T::ZERO);
        for part in 0..parts {
            product(
                &mut work.sums[part * classes * rows..(part + 1) * classes * rows],
                self.class_state_prior(part),
                Matrix::new(&evidence[part * states * rows..], states, rows),
                false,
            );
        }
        self.posterior(log_norms, labels, rows, work);
        self.divide(weights, rows, work);
        let slots = parts * states;
        let mut told = told;
        if let Some(told) = &mut told {
            for (class, z) in work.posterior.chunks_exact(rows).enumerate() {
                told.total[class] += z
                    .iter()
                    .enumerate()
                    .map(|(r, z)| z * weights.map_or(1.0, |w| w[r]))
                    .sum::<f64>();
            }
        }
        for part in 0..parts {
            let codes = &mut evidence[part * states * rows..(part + 1) * states * rows];
            let shares = &work.sums[part * classes * rows..(part + 1) * classes * rows];
            if let Some(told) = &mut told {
                work.product.resize(classes * states, T::ZERO);
                let shares = Matrix::new(shares, classes, rows);
                product_nt(&mut work.product, shares, Matrix::new(codes, states, rows), false);
                let class_state_prior =
                    &self.by_part[part * classes * states..(part + 1) * classes * states];
                for (i, (q, b)) in work.product.iter().zip(class_state_prior).enumerate() {
                    let (class, state) = (i / states, i % states);
                    told.class_state_prior[class * slots + part * states + state] +=
                        q.to_f64() * b.to_f64();
                }
            }
            work.product.resize(states * rows, T::ZERO);
            let shares = Matrix::new(shares, classes, rows);
            product_tn(&mut work.product, self.class_state_prior(part), shares, false);
            for (u, &p) in codes.iter_mut().zip(&work.product) {
                *u *= p;
            }
        }
    }

    fn class_state_prior(&self, part: usize) -> Matrix<'_, T> {
        let (classes, states) = (self.classes, self.states);
        Matrix::new(&self.by_part[part * classes * states..], classes, states)
    }

    /// The posterior of the classes and the log normalisers, from S and the labels.
    fn posterior(
        &self,
        log_norms: &[T],
        labels: Option<&[Option<u32>]>,
        rows: usize,
        work: &mut ClassWork<T>,
    ) {
        let classes = self.classes;
        let ClassWork { posterior, log_norms: out, sums, logs, .. } = work;
        posterior.clear();
        posterior.resize(classes * rows, 0.0);
        out.clear();
        out.extend(
            (0..rows).map(|r| log_norms.chunks_exact(rows).map(|n| n[r].to_f64()).sum::<f64>()),
        );
        logs.clear();
        for &log in &self.log_class {
            logs.resize(logs.len() + rows, log);
        }
        // Logarithms of products cost less than sums of logarithms.
        let mut running = vec![1.0; rows];
        for class in 0..classes {
            let logs = &mut logs[class * rows..(class + 1) * rows];
            for part in sums.chunks_exact(classes * rows) {
                let sums = &part[class * rows..(class + 1) * rows];
                for ((running, log), sum) in running.iter_mut().zip(&mut *logs).zip(sums) {
                    *running *= sum.to_f64();
                    if *running < 1e-150 {
                        *log += running.ln();
                        *running = 1.0;
                    }
                }
            }
            for (running, log) in running.iter_mut().zip(logs) {
                *log += running.ln();
                *running = 1.0;
            }
        }
        let mut of_row = vec![0.0; classes];
        for row in 0..rows {
            for (class, log) in of_row.iter_mut().enumerate() {
                *log = logs[class * rows + row];
            }
            out[row] += settle(&mut of_row, labels.and_then(|labels| labels[row]));
            for (class, z) in of_row.iter().enumerate() {
                posterior[class * rows + row] = *z;
            }
        }
    }

    /// S becomes `w z / S`.
    fn divide(&self, weights: Option<&[f64]>, rows: usize, work: &mut ClassWork<T>) {
        for sums in work.sums.chunks_exact_mut(self.classes * rows) {
            for (i, (sum, z)) in sums.iter_mut().zip(&work.posterior).enumerate() {
                let weight = weights.map_or(1.0, |w| w[i % rows]);
                *sum = T::from_f64(weight * z / sum.to_f64());
            }
        }
    }
}

/// Takes each part's best evidence off all of its states', row by row, and keeps it in `log_norms`.
fn below_best<T: Real>(evidence: &mut [T], log_norms: &mut [T], states: usize, rows: usize) {
    for (part, best) in
        evidence.chunks_exact_mut(states * rows).zip(log_norms.chunks_exact_mut(rows))
    {
        best.copy_from_slice(&part[..rows]);
        for slot in part[rows..].chunks_exact(rows) {
            for (best, &e) in best.iter_mut().zip(slot) {
                *best = if e > *best { e } else { *best };
            }
        }
        for slot in part.chunks_exact_mut(rows) {
            for (e, &best) in slot.iter_mut().zip(&*best) {
                *e -= best;
            }
        }
    }
}
