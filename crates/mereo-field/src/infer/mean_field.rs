//! Mean field (9.3): the distribution without couplings that is nearest to the field.
//!
//! Of all `Q(H) = Π q_i(H_i)` the one of least free energy F is sought (see
//! [`divergence`](crate::divergence)). With all factors but one fixed, and a multiplier λ for
//! `Σ_m q_i(m) = 1`,
//!
//! `∂F/∂q_i(m) = log q_i(m) + 1 - β_i[m] - Σ_j Σ_n θ_ij[m, n] q_j(n) + λ = 0`, so
//! `q_i(m) ∝ exp(β_i[m] + Σ_j Σ_n θ_ij[m, n] q_j(n))`.
//!
//! For a Boltzmann machine, where `θ[m, n]` is `±θ_ij`, this is the chapter's
//! `π_i = sig(2 a_i)`, `a_i = Σ_{j in H} θ_ij (2π_j - 1) + Σ_{j in X} θ_ij X_j`. Variables are updated one at a
//! time, so F never rises: it is convex in each `q_i`, hence not under damping either, where `q_i` goes only a
//! part of the way. The answer depends on the start, for F has several valleys, and Q knows one of them.

use mereo_core::math::softmax;
use mereo_core::{Context, Error, Result};
use rand::seq::SliceRandom;

use crate::divergence::free_energy;
use crate::{Inferred, Kind, Marginals, Pairwise};

/// The order in which variables are updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As they are numbered.
    Numbered,
    /// Another one in each sweep.
    Shuffled,
}

/// How mean field is done.
#[derive(Debug, Clone, PartialEq)]
pub struct MeanFieldParams {
    /// Most sweeps over all variables.
    pub sweeps: usize,
    /// It is at rest when a sweep moves no probability by more.
    pub tolerance: f64,
    /// How much of a factor stays as it was, from 0 to below 1.
    pub damping: f64,
    /// The order of a sweep.
    pub order: Order,
    /// Whether the free energy is worked out after each sweep.
    pub trace: bool,
}

impl Default for MeanFieldParams {
    fn default() -> Self {
        Self { sweeps: 200, tolerance: 1e-8, damping: 0.0, order: Order::Numbered, trace: true }
    }
}

impl MeanFieldParams {
    /// Whether it can be done like this.
    pub fn check(&self) -> Result<()> {
        if !(0.0..1.0).contains(&self.damping) {
            let problem = format!("{} is not from 0 to below 1", self.damping);
            return Err(Error::option("damping", problem));
        }
        Ok(())
    }
}

/// The nearest distribution without couplings, found from the one that variables have by themselves
/// or from another start.
///
/// ```
/// use mereo_core::Context;
/// use mereo_field::{Field, infer};
/// let mut field = Field::new(vec![vec![0.0, 1.0], vec![0.0, 0.0]])?;
/// field.couple(0, 1, vec![1.0, -1.0, -1.0, 1.0])?;
/// let mean = infer::mean_field(&field, None, &Default::default(), &Context::new(0))?;
/// assert!(mean.log_z < infer::enumerate(&field)?.log_z);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn mean_field<F: Pairwise>(
    field: &F,
    start: Option<&Marginals>,
    params: &MeanFieldParams,
    context: &Context,
) -> Result<Inferred> {
    params.check()?;
    let n = field.variables();
    let mut q = start.cloned().unwrap_or_else(|| {
        let mut q = Marginals::new((0..n).map(|i| field.labels(i)));
        for i in 0..n {
            q.of_mut(i).copy_from_slice(field.unary(i));
            softmax(q.of_mut(i));
        }
        q
    });
    let mut order: Vec<usize> = (0..n).collect();
    let (mut new, mut trace, mut converged) = (Vec::new(), Vec::new(), false);
    for sweep in 0..params.sweeps {
        if context.stop().asked() {
            break;
        }
        if params.order == Order::Shuffled {
            order.shuffle(&mut context.random("mean field order", [sweep as u64, 0]));
        }
        let mut change: f64 = 0.0;
        for &i in &order {
            new.clear();
            new.extend_from_slice(field.unary(i));
            for link in field.links(i) {
                field.add_expected(link, q.of(link.to), &mut new);
            }
            softmax(&mut new);
            for (old, new) in q.of_mut(i).iter_mut().zip(&new) {
                let next = new + params.damping * (*old - new);
                change = change.max((next - *old).abs());
                *old = next;
            }
        }
        if params.trace {
            trace.push(free_energy(field, &q));
        }
        if change <= params.tolerance {
            converged = true;
            break;
        }
    }
    let bound = -trace.last().copied().unwrap_or_else(|| free_energy(field, &q));
    Ok(Inferred { marginals: q, log_z: Some(bound), kind: Kind::Bound, trace, converged })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::enumerate;
    use crate::testing::random_field;

    #[test]
    fn the_free_energy_never_rises_and_bounds_log_z() {
        for seed in 0..1000 {
            let context = Context::new(seed);
            let field = random_field(&context, 6, 3, 3.0);
            let shuffled = seed % 2 == 1;
            let params = MeanFieldParams {
                damping: if seed % 3 == 0 { 0.5 } else { 0.0 },
                order: if shuffled { Order::Shuffled } else { Order::Numbered },
                ..MeanFieldParams::default()
            };
            let mean = mean_field(&field, None, &params, &context).unwrap();
            let scale = 1.0 + mean.trace[0].abs();
            assert!(mean.trace.is_sorted_by(|a, b| *b <= a + 1e-12 * scale), "seed {seed}");
            let exact = enumerate(&field).unwrap().log_z.unwrap();
            assert!(mean.log_z.unwrap() <= exact + 1e-10, "seed {seed}");
        }
    }

    #[test]
    fn factors_are_at_rest_where_the_derivative_vanishes() {
        let field = random_field(&Context::new(5), 6, 3, 1.0);
        let params = MeanFieldParams { sweeps: 2000, tolerance: 0.0, ..Default::default() };
        let mean = mean_field(&field, None, &params, &Context::new(0)).unwrap();
        let at = free_energy(&field, &mean.marginals);
        // Any small move of mass between two labels of a variable must not lower F.
        for i in 0..6 {
            for (from, to) in [(0, 1), (1, 0)] {
                let mut moved = mean.marginals.clone();
                let step = 1e-4 * moved.of(i)[from];
                moved.of_mut(i)[from] -= step;
                moved.of_mut(i)[to] += step;
                assert!(free_energy(&field, &moved) >= at - 1e-12);
            }
        }
    }
}
