//! Alpha-expansion (Boykov, Veksler and Zabih 2001): label after label, all variables at once may change
//! to it or stay, which is a cut.
//!
//! If the couplings are metric (`e(α, α) + e(β, γ) ≤ e(β, α) + e(α, γ)` in energies), each step is the
//! best one of its kind, and for Potts the energy at the end is at most twice the least. Where they are
//! not, the cut is made of what is left when gains by disagreeing are dropped, and a step is taken only
//! if it lowers the energy.

use mereo_core::Context;

use super::{Terms, Topology};
use crate::pairwise::largest;
use crate::{Decided, Pairwise};

/// How long it goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpansionParams {
    /// Most cycles through all labels.
    pub cycles: usize,
}

impl Default for ExpansionParams {
    fn default() -> Self {
        Self { cycles: 20 }
    }
}

/// A state that no expansion improves, found from these labels or from what variables would be by
/// themselves.
///
/// ```
/// use mereo_core::Context;
/// use mereo_field::{Field, decide};
/// let mut field = Field::new(vec![vec![0.0, 2.0, 1.0], vec![0.3, 0.0, 0.2]])?;
/// field.couple(0, 1, vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0])?;
/// let found = decide::expansion(&field, None, &Default::default(), &Context::new(0));
/// assert_eq!(found.labels, [1, 1]);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn expansion<F: Pairwise>(
    field: &F,
    start: Option<&[usize]>,
    params: &ExpansionParams,
    context: &Context,
) -> Decided {
    let n = field.variables();
    let mut labels =
        start.map_or_else(|| (0..n).map(|i| largest(field.unary(i))).collect(), <[usize]>::to_vec);
    let mut edges = Vec::new();
    field.for_each_edge(|a, link| edges.push((a, link.to)));
    let mut topology = Topology::new(n, &edges);
    let mut energy = field.energy(&labels);
    let most = (0..n).map(|i| field.labels(i)).max().unwrap_or(0);
    let mut trace = Vec::new();
    // Labels since the last that improved anything.
    let mut in_vain = 0;
    'all: for _ in 0..params.cycles {
        for alpha in 0..most {
            if in_vain >= most || context.stop().asked() {
                break 'all;
            }
            in_vain += 1;
            let next = expand(field, &labels, alpha, &mut topology);
            let there = field.energy(&next);
            if there < energy {
                (labels, energy, in_vain) = (next, there, 1);
            }
        }
        trace.push(energy);
    }
    Decided::estimate(labels, energy, trace)
}

/// The best of all states in which variables stay or take the label alpha.
fn expand<F: Pairwise>(
    field: &F,
    labels: &[usize],
    alpha: usize,
    topology: &mut Topology,
) -> Vec<usize> {
    let n = field.variables();
    let mut terms = Terms::new(n);
    // Variables without that label stay.
    let to: Vec<usize> =
        (0..n).map(|i| if alpha < field.labels(i) { alpha } else { labels[i] }).collect();
    for i in 0..n {
        terms.cost[i] += field.unary(i)[labels[i]] - field.unary(i)[to[i]];
    }
    field.for_each_edge(|a, link| {
        let (ends, b) = ([labels[a], to[a]], link.to);
        let others = [labels[b], to[b]];
        terms.edge(a, b, ends.map(|m| others.map(|n| -field.pair(link, m, n))));
    });
    let taken = topology.cut(&terms);
    (0..n).map(|i| if taken[i] { to[i] } else { labels[i] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Field;
    use crate::infer::enumerate_best;
    use crate::testing::{random_field, random_submodular};

    #[test]
    fn two_labels_that_agree_are_exact() {
        for seed in 0..1000 {
            let context = Context::new(seed);
            let field = random_submodular(&context, 7, 3.0);
            let found = expansion(&field, Some(&[0; 7]), &ExpansionParams::default(), &context);
            let best = enumerate_best(&field).unwrap();
            assert!((found.energy - best.energy).abs() < 1e-9, "seed {seed}");
        }
    }

    #[test]
    fn potts_is_within_twice_the_least_above_its_floor() {
        for seed in 0..1000 {
            let context = Context::new(seed);
            let free = random_field(&context, 6, 4, 0.0);
            let labels = 4;
            let costs: Vec<Vec<f64>> = (0..6)
                .map(|i| {
                    (0..labels).map(|m| -free.unary(i).get(m).map_or(0.7, |v| v.abs())).collect()
                })
                .collect();
            let mut field = Field::new(costs).unwrap();
            for (a, b) in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 3), (1, 4)] {
                let table =
                    (0..16).map(|k| if k / 4 == k % 4 { 0.0 } else { -0.4 }).collect::<Vec<_>>();
                field.couple(a, b, table).unwrap();
            }
            let found = expansion(&field, None, &ExpansionParams::default(), &context);
            let best = enumerate_best(&field).unwrap();
            assert!(found.energy <= 2.0 * best.energy + 1e-9 && found.energy >= best.energy - 1e-9);
        }
    }

    #[test]
    fn the_energy_never_rises_on_any_field() {
        for seed in 0..100 {
            let context = Context::new(seed);
            let field = random_field(&context, 6, 3, 3.0);
            let found = expansion(&field, None, &ExpansionParams::default(), &context);
            assert!(found.trace.is_sorted_by(|a, b| b <= a));
            assert!(found.energy >= enumerate_best(&field).unwrap().energy - 1e-9);
        }
    }
}
