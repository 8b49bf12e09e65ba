//! Iterated conditional modes: each variable in turn takes the best label given its neighbours.
//!
//! The energy falls with every change, so it ends, at a state that no change of one variable improves.

use crate::pairwise::largest;
use crate::{Decided, Pairwise};

/// Goes down from where labels are, or from what variables would be by themselves, for at most this
/// many sweeps.
///
/// ```
/// use mereo_field::{Field, decide};
/// let mut field = Field::new(vec![vec![0.0, 2.0], vec![0.1, 0.0]])?;
/// field.couple(0, 1, vec![1.0, 0.0, 0.0, 1.0])?;
/// assert_eq!(decide::icm(&field, None, 100).labels, [1, 1]);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn icm<F: Pairwise>(field: &F, start: Option<&[usize]>, sweeps: usize) -> Decided {
    let n = field.variables();
    let mut labels =
        start.map_or_else(|| (0..n).map(|i| largest(field.unary(i))).collect(), <[usize]>::to_vec);
    let (mut scores, mut trace) = (Vec::new(), Vec::new());
    for _ in 0..sweeps {
        let mut changed = false;
        for i in 0..n {
            scores.clear();
            scores.extend_from_slice(field.unary(i));
            for link in field.links(i) {
                field.add_given(link, labels[link.to], &mut scores);
            }
            let best = largest(&scores);
            if scores[best] > scores[labels[i]] {
                labels[i] = best;
                changed = true;
            }
        }
        trace.push(field.energy(&labels));
        if !changed {
            break;
        }
    }
    let energy = field.energy(&labels);
    Decided::estimate(labels, energy, trace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::enumerate_best;
    use crate::testing::random_field;
    use mereo_core::Context;

    #[test]
    fn the_energy_falls_to_where_no_change_of_one_variable_improves_it() {
        for seed in 0..1000 {
            let field = random_field(&Context::new(seed), 6, 3, 3.0);
            let found = icm(&field, None, 1000);
            assert!(found.trace.is_sorted_by(|a, b| b <= a));
            for i in 0..6 {
                for m in 0..field.labels(i) {
                    let mut other = found.labels.clone();
                    other[i] = m;
                    assert!(field.energy(&other) >= found.energy - 1e-12);
                }
            }
            assert!(found.energy >= enumerate_best(&field).unwrap().energy - 1e-12);
        }
    }
}
