//! Classes that say where factors are centred, row by row: see the [module](super).

use super::{ClassLayer, ClassStatistics, settle};

/// A class layer over factors, ready to look at rows.
#[derive(Debug, Clone)]
pub(crate) struct FactorClasses<'a> {
    layer: &'a ClassLayer,
    log_class: Vec<f64>,
    parts: usize,
    factors: usize,
    /// What the pseudo-counts add to the bound.
    pub(crate) log_prior: f64,
}

/// Memory for looking at one row.
#[derive(Debug, Clone, Default)]
pub(crate) struct FactorWork {
    /// How likely each class is, `[N]`.
    pub(crate) posterior: Vec<f64>,
    /// `m_nk`, `[N, K, J]`.
    pub(crate) means: Vec<f64>,
    covariance: Vec<f64>,
}

impl ClassLayer {
    /// What looking needs, priors over states being where factors are centred.
    pub(crate) fn of_factors(&self, parts: usize, pseudo_count: f64) -> FactorClasses<'_> {
        let squares: f64 = self.class_state_prior.iter().map(|v| v * v).sum();
        FactorClasses {
            layer: self,
            log_class: self.log_class(),
            parts,
            factors: self.slots() / parts,
            log_prior: self.log_prior(pseudo_count) - 0.5 * pseudo_count * squares,
        }
    }

    /// Re-estimates both from what rows told, priors over states being where factors are centred.
    pub(crate) fn update_factors(&mut self, told: &ClassStatistics, pseudo_count: f64) {
        self.update_prior(told, pseudo_count);
        let slots = self.slots();
        for (class, &total) in told.total.iter().enumerate() {
            // A class without rows keeps its priors over states.
            if total + pseudo_count > 0.0 {
                for slot in class * slots..(class + 1) * slots {
                    self.class_state_prior[slot] =
                        told.class_state_prior[slot] / (total + pseudo_count);
                }
            }
        }
    }
}

impl FactorClasses<'_> {
    /// Turns a row's codes of all parts, expectations of `(1, s, s sᵀ)` without classes
    /// (pairs packed, `[K, V]`), into those with classes; `norm` is the sum of the logs of their
    /// normalisers. Returns the log of the row's normaliser.
    pub(crate) fn infer(
        &self,
        codes: &mut [f64],
        norm: f64,
        label: Option<u32>,
        work: &mut FactorWork,
    ) -> f64 {
        let (j, slots) = (self.factors, self.parts * self.factors);
        let width = codes.len() / self.parts;
        let FactorWork { posterior, means, covariance } = work;
        posterior.clone_from(&self.log_class);
        means.resize(posterior.len() * slots, 0.0);
        covariance.resize(j * j, 0.0);
        for (part, code) in codes.chunks_exact_mut(width).enumerate() {
            let (head, pairs) = code.split_at_mut(1 + j);
            let mean = &head[1..];
            for r in 0..j {
                for c in 0..=r {
                    let pair = &mut pairs[r * (r + 1) / 2 + c];
                    *pair -= mean[r] * mean[c];
                    (covariance[r * j + c], covariance[c * j + r]) = (*pair, *pair);
                }
            }
            for (class, log) in posterior.iter_mut().enumerate() {
                let own = &self.layer.of(class)[part * j..(part + 1) * j];
                let start = class * slots + part * j;
                for ((out, row), m) in
                    means[start..start + j].iter_mut().zip(covariance.chunks_exact(j)).zip(mean)
                {
                    let moved: f64 = row.iter().zip(own).map(|(o, v)| o * v).sum();
                    *out = m + moved;
                }
                // ν·m + ½ ν·Ων - ½ ν·ν, with Ων = m_n - m.
                let fits = own.iter().zip(&means[start..]).zip(mean);
                *log += fits.map(|((v, moved), m)| 0.5 * v * (moved + m - v)).sum::<f64>();
                // A model by hand may have centres whose squares overflow.
                *log = if *log > -1e300 { log.min(1e300) } else { -1e300 };
            }
        }
        let log = settle(posterior, label);
        for (part, code) in codes.chunks_exact_mut(width).enumerate() {
            let (head, pairs) = code.split_at_mut(1 + j);
            head[1..].fill(0.0);
            for (class, &z) in posterior.iter().enumerate().filter(|(_, z)| **z > 0.0) {
                let own = &means[class * slots + part * j..][..j];
                for r in 0..j {
                    head[1 + r] += z * own[r];
                    for c in 0..=r {
                        pairs[r * (r + 1) / 2 + c] += z * own[r] * own[c];
                    }
                }
            }
        }
        norm + log
    }

    /// Adds what the row just looked at tells.
    pub(crate) fn tell(&self, weight: f64, work: &FactorWork, told: &mut ClassStatistics) {
        let slots = self.parts * self.factors;
        for (class, z) in work.posterior.iter().enumerate() {
            let share = weight * z;
            told.total[class] += share;
            let means = &work.means[class * slots..(class + 1) * slots];
            let sums = &mut told.class_state_prior[class * slots..(class + 1) * slots];
            sums.iter_mut().zip(means).for_each(|(sum, m)| *sum += share * m);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_moves_codes_as_its_prior_says() {
        // One part of one factor: P = 4, h = 2 without classes, so Ω = 1/4 and m = 1/2.
        let layer = ClassLayer { prior: vec![0.25, 0.75], class_state_prior: vec![2.0, -1.0] };
        let classes = layer.of_factors(1, 0.0);
        let mut work = FactorWork::default();
        let plain = [1.0, 0.5, 0.5];
        let log_norm = |v: f64| {
            // log ∫ N(s; v, 1) exp(h s - (P-1) s²/2) ds, by the normal's own formula.
            0.5 * (2.0 + v).powi(2) / 4.0 - 0.5 * v * v
        };
        let mut codes = plain;
        let norm = classes.infer(&mut codes, log_norm(0.0), None, &mut work);
        let terms = [0.25 * log_norm(2.0).exp(), 0.75 * log_norm(-1.0).exp()];
        let total: f64 = terms.iter().sum();
        assert!((norm - total.ln()).abs() < 1e-12);
        let means = [(2.0 + 2.0) / 4.0, (2.0 - 1.0) / 4.0];
        let mean = (terms[0] * means[0] + terms[1] * means[1]) / total;
        let second = (terms[0] * means[0] * means[0] + terms[1] * means[1] * means[1]) / total;
        assert!((codes[1] - mean).abs() < 1e-12);
        assert!((codes[2] - 0.25 - second).abs() < 1e-12);
        let mut codes = plain;
        let norm = classes.infer(&mut codes, 0.0, Some(1), &mut work);
        assert!((norm - (0.75f64.ln() + log_norm(-1.0) - log_norm(0.0))).abs() < 1e-12);
        assert!((codes[1] - means[1]).abs() < 1e-12);
    }
}
