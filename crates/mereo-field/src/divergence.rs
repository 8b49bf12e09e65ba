//! Divergence, entropy and the variational free energy (9.2), in nats.
//!
//! `D(P ‖ Q) = Σ P log (P/Q)` is never negative, 0 only if P = Q, and not symmetric. For a distribution
//! Q over the states of a field, with P(H | X) its own,
//!
//! `D(Q ‖ P) = E_Q[log Q] - E_Q[s] + log Z = F(Q) + log Z`, so `log Z = D(Q ‖ P) - F(Q) ≥ -F(Q)`:
//!
//! lowering the *variational free energy* F is drawing Q nearer to P, and -F is a lower bound on log Z.

use crate::{Marginals, Pairwise};

/// `Σ p log (p/q)`; infinite where p is possible and q says it is not.
///
/// ```
/// use mereo_field::divergence::divergence;
/// let (p, q) = ([0.5, 0.5], [0.9, 0.1]);
/// assert!(divergence(&p, &q) > 0.0 && divergence(&p, &q) != divergence(&q, &p));
/// assert_eq!(divergence(&p, &p), 0.0);
/// assert_eq!(divergence(&p, &[1.0, 0.0]), f64::INFINITY);
/// ```
pub fn divergence(p: &[f64], q: &[f64]) -> f64 {
    let terms = p.iter().zip(q).filter(|(p, _)| **p > 0.0);
    // Rounding must not make it negative.
    terms.map(|(p, q)| p * (p / q).ln()).sum::<f64>().max(0.0)
}

/// `-Σ p log p`.
///
/// ```
/// assert_eq!(mereo_field::divergence::entropy(&[0.5, 0.5, 0.0]), 2f64.ln());
/// ```
pub fn entropy(p: &[f64]) -> f64 {
    -p.iter().filter(|p| **p > 0.0).map(|p| p * p.ln()).sum::<f64>()
}

/// The variational free energy of a distribution in which variables are independent:
/// `F = Σ_i Σ_m q_i(m) (log q_i(m) - β_i[m]) - Σ_(ij) q_iᵀ Θ q_j`.
///
/// ```
/// use mereo_field::{Field, Marginals, divergence::free_energy};
/// let field = Field::new(vec![vec![0.0, 0.0]])?;
/// let mut q = Marginals::new([2]);
/// q.of_mut(0).fill(0.5);
/// assert_eq!(free_energy(&field, &q), -2f64.ln());
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn free_energy<F: Pairwise>(field: &F, q: &Marginals) -> f64 {
    let mut told = Vec::new();
    let each = (0..field.variables()).map(|i| {
        told.clear();
        told.resize(field.labels(i), 0.0);
        for link in field.links(i).filter(|link| link.forward) {
            field.add_expected(link, q.of(link.to), &mut told);
        }
        let q = q.of(i);
        let expected = q.iter().zip(field.unary(i)).zip(&told);
        -entropy(q)
            - expected.map(|((q, b), t)| if *q > 0.0 { q * (b + t) } else { 0.0 }).sum::<f64>()
    });
    each.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{random_field, states};
    use mereo_core::Context;
    use mereo_core::math::softmax;

    #[test]
    fn log_z_is_divergence_minus_free_energy() {
        for seed in 0..50 {
            let field = random_field(&Context::new(seed), 4, 3, 1.5);
            let all = states(&field);
            let mut p: Vec<f64> = all.iter().map(|x| field.score(x)).collect();
            let log_z = softmax(&mut p);
            let mut q = Marginals::new((0..4).map(|i| field.labels(i)));
            for i in 0..4 {
                q.of_mut(i).copy_from_slice(field.unary(i));
                softmax(q.of_mut(i));
            }
            let joint: Vec<f64> = all
                .iter()
                .map(|x| x.iter().enumerate().map(|(i, &m)| q.of(i)[m]).product())
                .collect();
            let d = divergence(&joint, &p);
            assert!(d >= 0.0);
            assert!((d - free_energy(&field, &q) - log_z).abs() < 1e-10);
        }
    }
}
