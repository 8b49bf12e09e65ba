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

use mereo_core::math::softmax;
use serde::{Deserialize, Serialize};

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
}

impl Gate {
    /// The temperature of a pass, as rows out of `rows`.
    pub(crate) fn temperature(self, pass: usize, rows: f64) -> f64 {
        match self {
            Self::Standard => rows,
            Self::RTied => 1.0,
            Self::Annealed { from, passes } => {
                let first = (from * rows).max(1.0);
                let done = if passes == 0 { 1.0 } else { (pass as f64 / passes as f64).min(1.0) };
                first + (1.0 - first) * done
            }
        }
    }

    /// The first pass from which the temperature stays the same.
    pub(crate) fn settles(self) -> usize {
        match self {
            Self::Annealed { passes, .. } => passes,
            _ => 0,
        }
    }
}

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
            .map(|(a, g)| a.ln() - g / own)
            .collect();
        if n > 0.0 {
            softmax(&mut logs);
            gate[range].copy_from_slice(&logs);
        }
    }
}
