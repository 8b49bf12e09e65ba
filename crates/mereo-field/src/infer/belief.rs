//! Loopy belief propagation: message passing as if there were no loops.
//!
//! A variable tells each neighbour what it believes apart from what that neighbour told it,
//! `μ_{i→j}(n) = log Σ_m exp(β_i[m] + Σ_{k≠j} μ_{k→i}(m) + θ_ij[m, n])`, sweep by sweep forwards and
//! backwards, until messages are at rest. On a tree that is after one sweep of each and exact. With loops
//! beliefs are those of a stationary point of Bethe's free energy, with
//!
//! `log Z ≈ Σ_i (1 - d_i) log Z_i + Σ_(ij) log Σ_mn exp(h_i\j(m) + θ_ij[m, n] + h_j\i(n))`,
//!
//! `h_i\j` what i believes without j's message, `Z_i` the sum of its belief's weights and `d_i` its number of
//! neighbours: scaling a message changes nothing.

use mereo_core::math::softmax;
use mereo_core::{Context, Error, Result};

use crate::messages::Messages;
use crate::pairwise::largest;
use crate::{Decided, Inferred, Kind, Marginals, Pairwise, infer};

/// How messages are passed.
#[derive(Debug, Clone, PartialEq)]
pub struct BeliefParams {
    /// Most sweeps, forwards and backwards.
    pub sweeps: usize,
    /// Messages are at rest when none changes by more, in nats.
    pub tolerance: f64,
    /// How much of a message stays as it was, from 0 to below 1.
    pub damping: f64,
}

impl Default for BeliefParams {
    fn default() -> Self {
        Self { sweeps: 200, tolerance: 1e-9, damping: 0.0 }
    }
}

/// Beliefs, and Bethe's estimate of log Z.
///
/// ```
/// use mereo_core::Context;
/// use mereo_field::{Field, infer};
/// let mut field = Field::new(vec![vec![0.0, 1.0], vec![0.0, 0.0]])?;
/// field.couple(0, 1, vec![1.0, -1.0, -1.0, 1.0])?;
/// let (bp, exact) = (infer::belief(&field, &Default::default(), &Context::new(0))?, infer::enumerate(&field)?);
/// assert!((bp.log_z.unwrap() - exact.log_z.unwrap()).abs() < 1e-12); // a tree
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn belief<F: Pairwise>(
    field: &F,
    params: &BeliefParams,
    context: &Context,
) -> Result<Inferred> {
    let (messages, trace, converged) = pass(field, params, context, F::sum_message)?;
    let n = field.variables();
    let mut marginals = Marginals::new((0..n).map(|i| field.labels(i)));
    let (mut own, mut other, mut view, mut told) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut log_z = 0.0;
    for i in 0..n {
        messages.belief(field, i, &mut own);
        marginals.of_mut(i).copy_from_slice(&own);
        let degree = field.links(i).count() as f64;
        log_z += (1.0 - degree) * softmax(marginals.of_mut(i));
        for (k, link) in field.links(i).enumerate().filter(|(_, link)| link.forward) {
            let received = messages.received(i, k, own.len());
            let without: Vec<f64> = own.iter().zip(received).map(|(b, m)| b - m).collect();
            messages.belief(field, link.to, &mut other);
            let labels = other.len();
            let at = field.links(link.to).position(|l| l.edge == link.edge).unwrap_or(0);
            view.clear();
            view.extend(
                other.iter().zip(messages.received(link.to, at, labels)).map(|(b, m)| b - m),
            );
            told.resize(own.len(), 0.0);
            field.sum_message(link, &view, &mut told);
            let mut joint: Vec<f64> = without.iter().zip(&told).map(|(a, b)| a + b).collect();
            log_z += softmax(&mut joint);
        }
    }
    let kind = if infer::is_forest(field) { Kind::Exact } else { Kind::Estimate };
    let kind = if converged { kind } else { Kind::Estimate };
    Ok(Inferred { marginals, log_z: Some(log_z), kind, trace, converged })
}

/// A state of little energy from messages of best labels (max-product).
pub fn belief_best<F: Pairwise>(
    field: &F,
    params: &BeliefParams,
    context: &Context,
) -> Result<Decided> {
    let (messages, ..) = pass(field, params, context, F::max_message)?;
    let mut own = Vec::new();
    let mut labels = vec![0; field.variables()];
    // Ties are broken one variable after another, given those before.
    for i in 0..field.variables() {
        own.clear();
        own.extend_from_slice(field.unary(i));
        for (k, link) in field.links(i).enumerate() {
            if link.to < i {
                field.add_given(link, labels[link.to], &mut own);
            } else {
                let received = messages.received(i, k, own.len());
                own.iter_mut().zip(received).for_each(|(o, m)| *o += m);
            }
        }
        labels[i] = largest(&own);
    }
    let energy = field.energy(&labels);
    Ok(Decided::estimate(labels, energy, vec![energy]))
}

fn pass<F: Pairwise>(
    field: &F,
    params: &BeliefParams,
    context: &Context,
    reduce: impl Fn(&F, crate::Link, &[f64], &mut [f64]),
) -> Result<(Messages, Vec<f64>, bool)> {
    if !(0.0..1.0).contains(&params.damping) {
        return Err(Error::option(
            "damping",
            format!("{} is not from 0 to below 1", params.damping),
        ));
    }
    let n = field.variables();
    let mut messages = Messages::new(field)?;
    let (mut trace, mut converged) = (Vec::new(), false);
    let (mut own, mut view, mut new) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..params.sweeps {
        if context.stop().asked() {
            break;
        }
        let mut change: f64 = 0.0;
        for step in 0..2 * n {
            let forwards = step < n;
            let i = if forwards { step } else { 2 * n - 1 - step };
            messages.belief(field, i, &mut own);
            for (k, link) in field.links(i).enumerate() {
                if (link.to > i) != forwards {
                    continue;
                }
                view.clear();
                let received = messages.received(i, k, own.len());
                view.extend(own.iter().zip(received).map(|(b, m)| b - m));
                let labels = field.labels(link.to);
                new.resize(labels, 0.0);
                reduce(field, link.reversed(i), &view, &mut new);
                let most = new.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                for (old, new) in messages.sent(i, k, link, labels).iter_mut().zip(&new) {
                    let next = (new - most) + params.damping * (*old - (new - most));
                    change = change.max((next - *old).abs());
                    *old = next;
                }
            }
        }
        trace.push(change);
        if change <= params.tolerance {
            converged = true;
            break;
        }
    }
    Ok((messages, trace, converged))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::{enumerate, enumerate_best};
    use crate::testing::{random_field, random_tree};

    #[test]
    fn trees_are_exact() {
        for seed in 0..1000 {
            let context = Context::new(seed);
            let field = random_tree(&context, 7, 4, 4.0);
            let bp = belief(&field, &BeliefParams::default(), &context).unwrap();
            let exact = enumerate(&field).unwrap();
            assert_eq!(bp.kind, Kind::Exact);
            assert!((bp.log_z.unwrap() - exact.log_z.unwrap()).abs() < 1e-10);
            let pairs = bp.marginals.values().iter().zip(exact.marginals.values());
            assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-10), "seed {seed}");
            let best = belief_best(&field, &BeliefParams::default(), &context).unwrap();
            assert!((best.energy - enumerate_best(&field).unwrap().energy).abs() < 1e-10);
        }
    }

    #[test]
    fn weak_loops_are_nearly_right_and_nothing_breaks_on_strong_ones() {
        for seed in 0..100 {
            let context = Context::new(seed);
            let field = random_field(&context, 6, 3, 0.3);
            let bp = belief(&field, &BeliefParams::default(), &context).unwrap();
            let exact = enumerate(&field).unwrap();
            assert!((bp.log_z.unwrap() - exact.log_z.unwrap()).abs() < 0.05, "seed {seed}");
            let strong = random_field(&context, 6, 3, 20.0);
            let params = BeliefParams { damping: 0.3, ..BeliefParams::default() };
            let bp = belief(&strong, &params, &context).unwrap();
            assert!(bp.marginals.values().iter().all(|p| p.is_finite()));
        }
    }
}
