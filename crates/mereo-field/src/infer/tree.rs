//! Message passing on trees and chains: exact, in time proportional to the field.
//!
//! Variables are visited from the leaves to the roots; each tells its parent
//! `μ(n) = log Σ_m exp(h(m) + θ(n, m))`, h its own potential and what its children told. At a root h is
//! the log of all states' weights. Going back, a child learns the parent's view without what it told
//! itself. With `max` for the sum the same finds the best state.

use mereo_core::math::softmax;
use mereo_core::{Error, Result};

use crate::pairwise::largest;
use crate::{Decided, Inferred, Kind, Link, Marginals, Pairwise};

/// Variables from roots to leaves, each with the link to its parent; none if there is a loop.
fn order<F: Pairwise>(field: &F) -> Option<Vec<(usize, Option<Link>)>> {
    let n = field.variables();
    let (mut seen, mut order) = (vec![false; n], Vec::with_capacity(n));
    for root in 0..n {
        if seen[root] {
            continue;
        }
        seen[root] = true;
        let mut next = order.len();
        order.push((root, None));
        while let Some(&(i, up)) = order.get(next) {
            let up: Option<Link> = up;
            for link in field.links(i).filter(|link| up.is_none_or(|up| up.edge != link.edge)) {
                if std::mem::replace(&mut seen[link.to], true) {
                    return None;
                }
                order.push((link.to, Some(link.reversed(i))));
            }
            next += 1;
        }
    }
    Some(order)
}

/// Whether a field has no loop.
pub fn is_forest<F: Pairwise>(field: &F) -> bool {
    order(field).is_some()
}

fn order_or_error<F: Pairwise>(field: &F) -> Result<Vec<(usize, Option<Link>)>> {
    order(field).ok_or_else(|| {
        let problem = "the graph has loops, and message passing is exact on trees alone; choose bp, \
                       mean-field, gibbs, or exact for a small field";
        Error::option("method", problem)
    })
}

/// Exact marginals and log Z of a field without loops.
///
/// ```
/// use mereo_field::{Field, infer};
/// let mut field = Field::new(vec![vec![0.0, 1.0], vec![0.5, 0.0], vec![0.0, 0.0]])?;
/// field.couple(0, 1, vec![1.0, 0.0, 0.0, 1.0])?;
/// field.couple(1, 2, vec![1.0, 0.0, 0.0, 1.0])?;
/// let (tree, all) = (infer::tree(&field)?, infer::enumerate(&field)?);
/// assert!((tree.log_z.unwrap() - all.log_z.unwrap()).abs() < 1e-12);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn tree<F: Pairwise>(field: &F) -> Result<Inferred> {
    let order = order_or_error(field)?;
    let mut told = Marginals::new((0..field.variables()).map(|i| field.labels(i)));
    let mut up = told.clone();
    for i in 0..field.variables() {
        told.of_mut(i).copy_from_slice(field.unary(i));
    }
    let (mut message, mut log_z) = (Vec::new(), 0.0);
    for &(i, parent) in order.iter().rev() {
        let Some(link) = parent else {
            let mut whole = told.of(i).to_vec();
            log_z += softmax(&mut whole);
            continue;
        };
        message.resize(field.labels(link.to), 0.0);
        field.sum_message(link.reversed(i), told.of(i), &mut message);
        up.of_mut(i).copy_from_slice(told.of(i));
        told.of_mut(link.to).iter_mut().zip(&message).for_each(|(t, m)| *t += m);
    }
    for &(i, parent) in &order {
        if let Some(link) = parent {
            // What the parent knows, without what this variable told it.
            message.resize(field.labels(link.to), 0.0);
            field.sum_message(link.reversed(i), up.of(i), &mut message);
            let view: Vec<f64> =
                told.of(link.to).iter().zip(&message).map(|(t, m)| t - m).collect();
            let mut down = vec![0.0; field.labels(i)];
            field.sum_message(link, &view, &mut down);
            told.of_mut(i).iter_mut().zip(&down).for_each(|(t, d)| *t += d);
        }
    }
    for i in 0..field.variables() {
        softmax(told.of_mut(i));
    }
    Ok(Inferred {
        marginals: told,
        log_z: Some(log_z),
        kind: Kind::Exact,
        trace: Vec::new(),
        converged: true,
    })
}

/// The state of least energy of a field without loops.
pub fn tree_best<F: Pairwise>(field: &F) -> Result<Decided> {
    let order = order_or_error(field)?;
    let mut told = Marginals::new((0..field.variables()).map(|i| field.labels(i)));
    for i in 0..field.variables() {
        told.of_mut(i).copy_from_slice(field.unary(i));
    }
    let mut message = Vec::new();
    for &(i, parent) in order.iter().rev() {
        if let Some(link) = parent {
            message.resize(field.labels(link.to), 0.0);
            field.max_message(link.reversed(i), told.of(i), &mut message);
            told.of_mut(link.to).iter_mut().zip(&message).for_each(|(t, m)| *t += m);
        }
    }
    let mut labels = vec![0; field.variables()];
    for &(i, parent) in &order {
        if let Some(link) = parent {
            field.add_given(link, labels[link.to], told.of_mut(i));
        }
        labels[i] = largest(told.of(i));
    }
    let energy = field.energy(&labels);
    Ok(Decided::exact(labels, energy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::{enumerate, enumerate_best};
    use crate::testing::{random_field, random_tree};
    use mereo_core::Context;

    #[test]
    fn trees_are_exact() {
        for seed in 0..1000 {
            let field = random_tree(&Context::new(seed), 7, 4, 4.0);
            let (a, b) = (tree(&field).unwrap(), enumerate(&field).unwrap());
            assert!((a.log_z.unwrap() - b.log_z.unwrap()).abs() < 1e-10);
            let pairs = a.marginals.values().iter().zip(b.marginals.values());
            assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-10), "seed {seed}");
            let (a, b) = (tree_best(&field).unwrap(), enumerate_best(&field).unwrap());
            assert!((a.energy - b.energy).abs() < 1e-10, "seed {seed}");
        }
    }

    #[test]
    fn loops_are_named() {
        let field = random_field(&Context::new(1), 6, 2, 1.0);
        assert!(!is_forest(&field));
        assert!(tree(&field).unwrap_err().to_string().contains("loops"));
    }
}
