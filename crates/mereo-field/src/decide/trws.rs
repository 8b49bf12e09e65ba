//! Sequential tree-reweighted message passing (Kolmogorov 2006), with a bound on what could be better.
//!
//! Messages move potential between nodes and edges without changing any state's score:
//! `β̂_i = β_i + Σ_j M_{j→i}`, `θ̂_ij(m, n) = θ_ij(m, n) - M_{j→i}(m) - M_{i→j}(n)`. A variable with neighbours
//! after it and before it, at most k of either kind, hands `γ = 1/k` of its potential to each neighbour in
//! the direction of the pass:
//!
//! `M_{i→j}(n) ← max_m (γ β̂_i(m) - M_{j→i}(m) + θ_ij(m, n)) - δ_ij`, with δ such that the largest is 0.
//!
//! After that `max_m (γ β̂_i(m) + θ̂_ij(m, n)) = δ_ij` for every n. So in a backward pass, where `β̂_i` stays as it
//! was when i was visited, no state's score is above
//!
//! `Σ_i [ (1 - γ b_i) max β̂_i + Σ_{j before i} δ_ij ]`, `b_i` neighbours before i,
//!
//! and this bound never gets worse. A state is read off in the forward pass, variables taking the best
//! label given those before and the messages of those after.

use mereo_core::Context;
use mereo_core::Result;

use crate::messages::Messages;
use crate::pairwise::largest;
use crate::{Decided, Kind, Pairwise};

/// How long it goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct TrwsParams {
    /// Most passes, forwards and backwards.
    pub passes: usize,
    /// It ends when state and bound are no further apart than this share of the energy, or when ten
    /// passes improve the bound by less.
    pub tolerance: f64,
}

impl Default for TrwsParams {
    fn default() -> Self {
        Self { passes: 500, tolerance: 1e-9 }
    }
}

/// A state of little energy, and a bound that no state's energy is below.
///
/// ```
/// use mereo_core::Context;
/// use mereo_field::{Field, decide};
/// let mut field = Field::new(vec![vec![0.0, 2.0], vec![0.1, 0.0], vec![0.0, 0.0]])?;
/// for (a, b) in [(0, 1), (1, 2), (2, 0)] {
///     field.couple(a, b, vec![1.0, 0.0, 0.0, 1.0])?;
/// }
/// let found = decide::trws(&field, &Default::default(), &Context::new(0))?;
/// assert_eq!(found.labels, [1, 1, 1]);
/// assert!((found.energy - found.bound.unwrap()).abs() < 1e-6);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn trws<F: Pairwise>(field: &F, params: &TrwsParams, context: &Context) -> Result<Decided> {
    let n = field.variables();
    let mut messages = Messages::new(field)?;
    let weight: Vec<(f64, f64)> = (0..n)
        .map(|i| {
            let before = field.links(i).filter(|link| link.to < i).count() as f64;
            let after = field.links(i).count() as f64 - before;
            let share = 1.0 / before.max(after).max(1.0);
            (share, 1.0 - share * before)
        })
        .collect();
    let (mut own, mut view, mut new, mut held) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut labels = vec![0; n];
    let mut best: Option<(Vec<usize>, f64)> = None;
    let (mut bound, mut trace) = (f64::NEG_INFINITY, Vec::new());
    let mut stalled = 0;
    for _ in 0..params.passes {
        if context.stop().asked() && best.is_some() {
            break;
        }
        let mut upper = 0.0;
        for step in 0..2 * n {
            let forwards = step < n;
            let i = if forwards { step } else { 2 * n - 1 - step };
            messages.belief(field, i, &mut own);
            if forwards {
                held.clear();
                held.extend_from_slice(field.unary(i));
                for (k, link) in field.links(i).enumerate() {
                    if link.to < i {
                        field.add_given(link, labels[link.to], &mut held);
                    } else {
                        let received = messages.received(i, k, own.len());
                        held.iter_mut().zip(received).for_each(|(h, m)| *h += m);
                    }
                }
                labels[i] = largest(&held);
            } else {
                upper += weight[i].1 * own[largest(&own)];
            }
            for (k, link) in field.links(i).enumerate() {
                if (link.to > i) != forwards {
                    continue;
                }
                let received = messages.received(i, k, own.len());
                view.clear();
                view.extend(own.iter().zip(received).map(|(b, m)| weight[i].0 * b - m));
                let count = field.labels(link.to);
                new.resize(count, 0.0);
                field.max_message(link.reversed(i), &view, &mut new);
                let most = new[largest(&new)];
                if !forwards {
                    upper += most;
                }
                let sent = messages.sent(i, k, link, count);
                sent.iter_mut().zip(&new).for_each(|(old, new)| *old = new - most);
            }
        }
        let energy = field.energy(&labels);
        if best.as_ref().is_none_or(|(_, least)| energy < *least) {
            best = Some((labels.clone(), energy));
        }
        let gained = -upper - bound;
        bound = bound.max(-upper);
        let least = best.as_ref().map_or(energy, |b| b.1);
        trace.push(least);
        let scale = params.tolerance * (1.0 + least.abs());
        stalled = if gained <= scale { stalled + 1 } else { 0 };
        if least - bound <= scale || stalled >= 10 {
            break;
        }
    }
    let (labels, energy) = best.unwrap_or_else(|| {
        let energy = field.energy(&labels);
        (labels, energy)
    });
    let closed = energy - bound <= params.tolerance * (1.0 + energy.abs());
    let kind = if closed { Kind::Exact } else { Kind::Bound };
    Ok(Decided { labels, energy, bound: Some(bound.min(energy)), kind, trace })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::enumerate_best;
    use crate::testing::{random_field, random_submodular, random_tree};

    fn gap(found: &Decided) -> f64 {
        found.energy - found.bound.unwrap()
    }

    #[test]
    fn the_least_energy_is_between_bound_and_state() {
        for seed in 0..1000 {
            let context = Context::new(seed);
            let field = random_field(&context, 6, 3, 3.0);
            let found = trws(&field, &TrwsParams::default(), &context).unwrap();
            let best = enumerate_best(&field).unwrap().energy;
            assert!(found.bound.unwrap() <= best + 1e-9 && best <= found.energy + 1e-9);
            if found.kind == Kind::Exact {
                assert!((found.energy - best).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn the_gap_closes_on_trees() {
        for seed in 0..1000 {
            let context = Context::new(seed);
            let field = random_tree(&context, 8, 4, 3.0);
            let found = trws(&field, &TrwsParams::default(), &context).unwrap();
            assert!(gap(&found) < 1e-7, "seed {seed}: {}", gap(&found));
        }
    }

    #[test]
    fn the_gap_closes_on_submodular_fields() {
        let params = TrwsParams { passes: 5000, tolerance: 1e-10 };
        for seed in 0..1000 {
            let context = Context::new(seed);
            let field = random_submodular(&context, 7, 2.0);
            let found = trws(&field, &params, &context).unwrap();
            assert!(gap(&found) < 1e-4, "seed {seed}: {}", gap(&found));
        }
    }
}
