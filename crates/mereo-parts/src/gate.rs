//! The gate: which part explains each column.
//!
//! The gate needs from an appearance only the expected error of every column under every part,
//! `G_dk = Σ_{c observes d} Σ_j m_ckj ε_cdkj`, which is made of statistics, never of rows. With
//! the prior `a` equal to the gate of the pass before, the tied-gate bound is, up to terms without
//! `g`, `-Σ_d (n_d KL(g_d ‖ a_d) + Σ_k g_dk G_dk)`, maximised by
//!
//! `g_dk ∝ a_dk exp(-G_dk / T_d)` with `T_d = n_d`, the rows that observe column d.
//!
//! Then `a = g` removes the KL term. Any other temperature `T > 0` climbs the same bound: along
//! `g(1/T)` the derivative of `Σ_k g_k G_k` by `1/T` is `-Var_g(G) <= 0`. So `T` is a step size:
//! `T = n` is the papers' standard update, `T = 1` their r-tied one, and annealing moves between.
//!
//! *Softness.* That gate hardens however little it is told, as every pass starts from the one before. Where columns may be
//! observed by few rows, `α Σ_d H(g_d)` is added to the bound, H the entropy. Climbing from the gate a,
//! `-Σ_k g G + α H(g) - T KL(g ‖ a)` is largest at `g_dk ∝ a_dk^{T/(T+α)} exp(-G_dk/(T+α))`, and where such steps end,
//! `g_dk ∝ exp(-G_dk/α)`. With α = 1 this is the posterior of the part that owns the column, all parts being as
//! likely before: a column of few rows stays shared, one of many belongs to one part.
//!
//! A *factorised* gate is not tied: every row has its own, `g^c_dk ∝ a_dk exp(-Σ_j m_ckj ε_cdkj)`
//! (see `per_row.rs`), and its prior `a` is their mean over the rows that observe the column.
//! With an *entropic prior* `P(a_d) ∝ exp(α Σ_k a_dk log a_dk)`, `a` is the most probable one
//! instead: see `entropic.rs`.

use mereo_core::math::softmax;
use mereo_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::entropic::most_probable;

/// A gate never falls below this: as its own prior, one of exactly 0 could never rise again,
/// however wrong an early pass was. It is too little to matter to the bound.
const LEAST: f64 = 1e-12;

/// How boldly the gate moves at each pass.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gate {
    /// `T = n`: the papers' standard update.
    Standard,
    /// T goes from `from · n` to 1 in a straight line over this many passes.
    Annealed {
        /// The first temperature, as a fraction of the rows.
        from: f64,
        /// Passes until it is 1.
        passes: usize,
    },
    /// `T = 1`: the papers' r-tied update, which hardens at once.
    RTied,
    /// A gate for every row: the conventional mean field, which the papers call fully factorised.
    Factorised {
        /// The pass from which rows have gates of their own. Before it the gate is tied and
        /// moves by the standard update; 0 is a cold start.
        from: usize,
    },
}

impl Gate {
    /// The temperature of a pass, as rows out of `rows`.
    pub(crate) fn temperature(self, pass: usize, rows: f64) -> f64 {
        match self {
            Self::Standard | Self::Factorised { .. } => rows,
            Self::RTied => 1.0,
            Self::Annealed { from, passes } => {
                let first = (from * rows).max(1.0);
                let done = if passes == 0 { 1.0 } else { (pass as f64 / passes as f64).min(1.0) };
                first + (1.0 - first) * done
            }
        }
    }

    /// The first pass from which the temperature stays the same.
    pub(crate) fn settled_from(self) -> usize {
        match self {
            Self::Annealed { passes, .. } => passes,
            Self::Factorised { from } => from,
            Self::Standard | Self::RTied => 0,
        }
    }

    /// The first pass in which every row has a gate of its own, if there is one.
    pub(crate) fn per_row_from(self) -> Option<usize> {
        match self {
            Self::Factorised { from } => Some(from),
            _ => None,
        }
    }

    /// Whether a value of this type cannot be learned with.
    pub(crate) fn check(self) -> Result<()> {
        match self {
            Self::Annealed { from, .. } if !(from > 0.0 && from <= 1.0) => Err(Error::option(
                "gate",
                format!("a start of {from} is not above 0 and at most 1"),
            )),
            _ => Ok(()),
        }
    }
}

/// Whether an entropic prior of this strength can be had; `own` if it is gates of single rows that
/// it would be the prior of.
pub(crate) fn check_entropic(entropic: f64, own: bool) -> Result<()> {
    if !(entropic >= 0.0 && entropic.is_finite()) {
        let problem = format!("{entropic} is no strength; give a number from 0 up");
        return Err(Error::option("entropic", problem));
    }
    if entropic > 0.0 && !own {
        return Err(Error::option(
            "entropic",
            "a tied gate has no prior of its own; choose the factorised gate",
        ));
    }
    Ok(())
}

/// Whether so many imagined rows make sense; `own` if gates are those of single rows.
pub(crate) fn check_shrinkage(rows: Option<f64>, own: bool) -> Result<()> {
    if own && rows.is_some_and(|rows| rows > 0.0) {
        let problem = "it needs a gate that all rows share, not a factorised one";
        return Err(Error::option("shrinkage", problem));
    }
    mereo_core::slots::Shrinkage::check(rows)
}

/// How soft gates of sparse tables are: see the module.
pub(crate) const SOFTNESS: f64 = 1.0;

/// Moves the gate `[D, K]`, which is also its own prior, against the expected errors `[D, K]`.
///
/// `temperature` is that of a column observed by all `rows`; one observed by `n_d` of them has
/// `T_d = 1 + (n_d - 1)(T - 1)/(C - 1)`, which is `n_d` when T = C and 1 when T = 1.
pub(crate) fn move_gate(
    gate: &mut [f64],
    errors: &[f64],
    observed: &[f64],
    rows: f64,
    temperature: f64,
    softness: f64,
) {
    let parts = gate.len() / observed.len().max(1);
    for (d, &n) in observed.iter().enumerate() {
        let range = d * parts..(d + 1) * parts;
        let own =
            if rows > 1.0 { 1.0 + (n - 1.0) * (temperature - 1.0) / (rows - 1.0) } else { 1.0 };
        // Weights may make rows count less than once; a step is never longer than r-tied.
        let own = own.max(1.0);
        let mut logs: Vec<f64> = gate[range.clone()]
            .iter()
            .zip(&errors[range.clone()])
            .map(|(a, g)| own / (own + softness) * (a.ln() - g / own))
            .collect();
        if n > 0.0 {
            softmax(&mut logs);
            let total: f64 = logs.iter().map(|g| g.max(LEAST)).sum();
            logs.iter_mut().for_each(|g| *g = g.max(LEAST) / total);
            gate[range].copy_from_slice(&logs);
        }
    }
}

/// `α Σ_d H(g_d)`: what softness adds to the bound.
pub(crate) fn log_softness(gate: &[f64], softness: f64) -> f64 {
    if softness == 0.0 {
        return 0.0;
    }
    -softness * gate.iter().filter(|g| **g > 0.0).map(|g| g * g.ln()).sum::<f64>()
}

/// The prior of gates per row, `[D, K]`, from how much of each column's rows each part has:
/// their share, or the most probable prior under an entropic one of this strength.
pub(crate) fn prior_of_gates(prior: &mut [f64], sums: &[f64], parts: usize, entropic: f64) {
    for (prior, sums) in prior.chunks_exact_mut(parts).zip(sums.chunks_exact(parts)) {
        let total: f64 = sums.iter().sum();
        if !(total > 0.0) {
            continue;
        }
        if entropic > 0.0 {
            most_probable(prior, sums, entropic);
        } else {
            prior.iter_mut().zip(sums).for_each(|(a, n)| *a = n / total);
        }
        let total: f64 = prior.iter().map(|a| a.max(LEAST)).sum();
        prior.iter_mut().for_each(|a| *a = a.max(LEAST) / total);
    }
}

/// `α Σ_dk a log a`: what an entropic prior adds to the bound.
pub(crate) fn log_entropic_prior(prior: &[f64], entropic: f64) -> f64 {
    if entropic == 0.0 {
        return 0.0;
    }
    entropic * prior.iter().filter(|a| **a > 0.0).map(|a| a * a.ln()).sum::<f64>()
}

/// Whether the params of a model file say that rows have gates of their own: `"gate"` is
/// `"factorised"` (or an object with that key), or rows were sampled.
pub(crate) fn has_gates_of_rows(params: &serde_json::Value) -> bool {
    let gate = &params["gate"];
    gate == "factorised" || gate.get("factorised").is_some()
}

/// Makes the params of a model file say so.
pub(crate) fn say_gates_of_rows(params: &mut serde_json::Value) {
    if !has_gates_of_rows(params) {
        if !params.is_object() {
            *params = serde_json::json!({});
        }
        params["gate"] = "factorised".into();
    }
}
