//! What is believed of columns, and what follows of rows: see the [module](super).

use mereo_core::math::{HALF_LOG_TWO_PI, cholesky, cholesky_inverse, cholesky_solve, dot, packed};

/// Moments of `l̃ = (w, 1, c)` of every column, N + 2 numbers each.
#[derive(Debug, Clone)]
pub(super) struct Items {
    pub(super) factors: usize,
    /// `[D, N + 2]`.
    pub(super) mean: Vec<f64>,
    /// `[D, packed N + 2]`: `E[l̃ l̃ᵀ]`.
    pub(super) second: Vec<f64>,
    /// `[D]`.
    pub(super) noise: Vec<f64>,
    /// λ.
    pub(super) bias_precision: f64,
}

/// What is believed of a row.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    /// `[N + 2]`: `E[z̃]`.
    pub(super) mean: Vec<f64>,
    /// Packed `[N + 1]`: the covariance of z and b.
    pub(super) covariance: Vec<f64>,
    factor: Vec<f64>,
    work: Vec<f64>,
}

impl Items {
    /// From means `[D, N + 2]` and the covariances of `(w, c)`, `[D, packed N + 1]`.
    pub(super) fn new(
        factors: usize,
        mean: Vec<f64>,
        covariance: &[f64],
        noise: Vec<f64>,
        bias_precision: f64,
    ) -> Self {
        let (q, small) = (factors + 2, packed(factors + 1));
        let mut second = Vec::with_capacity(noise.len() * packed(q));
        for (mean, own) in mean.chunks_exact(q).zip(covariance.chunks_exact(small)) {
            for i in 0..q {
                for j in 0..=i {
                    let spread = match (i, j) {
                        (i, _) if i == factors => 0.0,
                        (i, j) if i > factors => match j {
                            j if j == factors => 0.0,
                            j if j > factors => own[packed(factors) + factors],
                            j => own[packed(factors) + j],
                        },
                        (i, j) => own[packed(i) + j],
                    };
                    second.push(mean[i] * mean[j] + spread);
                }
            }
        }
        Self { factors, mean, second, noise, bias_precision }
    }

    pub(super) fn mean_of(&self, column: usize) -> &[f64] {
        let q = self.factors + 2;
        &self.mean[column * q..(column + 1) * q]
    }

    pub(super) fn second_of(&self, column: usize) -> &[f64] {
        let q = packed(self.factors + 2);
        &self.second[column * q..(column + 1) * q]
    }

    /// Finds what is to be believed of a row with these cells (column, value); returns its share of the bound.
    pub(super) fn understand(
        &self,
        cells: impl Iterator<Item = (usize, f64)>,
        row: &mut Row,
    ) -> f64 {
        let n = self.factors + 1;
        let small = packed(n);
        row.factor.clear();
        row.factor.resize(small, 0.0);
        for i in 0..n {
            row.factor[packed(i) + i] = if i < self.factors { 1.0 } else { self.bias_precision };
        }
        row.work.clear();
        row.work.resize(n, 0.0);
        let (mut square, mut cost) = (0.0, 0.0);
        for (column, y) in cells {
            let (mean, second) = (self.mean_of(column), self.second_of(column));
            let precision = 1.0 / self.noise[column];
            let pairs = row.factor.iter_mut().zip(second);
            pairs.for_each(|(p, s)| *p += precision * s);
            let with_offset = &second[small..];
            for ((h, l), lc) in row.work.iter_mut().zip(mean).zip(with_offset) {
                *h += precision * (l * y - lc);
            }
            square += precision * (y * y - 2.0 * y * mean[n] + with_offset[n]);
            cost += self.noise[column].ln() + 2.0 * HALF_LOG_TWO_PI;
        }
        row.mean.clear();
        row.mean.extend_from_slice(&row.work);
        row.mean.push(1.0);
        row.covariance.clear();
        row.covariance.resize(small, 0.0);
        let found = cholesky(&mut row.factor, n);
        let log_determinant = found.filter(|log| log.is_finite());
        if let Some(log_determinant) = log_determinant {
            cholesky_solve(&row.factor, n, &mut row.mean[..n]);
            let fit = dot(&row.mean[..n], &row.work);
            cholesky_inverse(&row.factor, n, &mut row.covariance, &mut row.work);
            let bound = 0.5 * (fit - log_determinant + self.bias_precision.ln() - cost - square);
            if bound.is_finite() && row.mean.iter().all(|m| m.is_finite()) {
                return bound;
            }
        }
        // Numbers too extreme for an answer say nothing.
        row.mean[..n].fill(0.0);
        row.covariance.fill(0.0);
        for i in 0..n {
            row.covariance[packed(i) + i] =
                if i < self.factors { 1.0 } else { 1.0 / self.bias_precision };
        }
        -1e300
    }

    /// Mean and variance of a cell of such a row.
    pub(super) fn predict(&self, column: usize, row: &Row) -> (f64, f64) {
        let n = self.factors + 1;
        let (mean, second) = (self.mean_of(column), self.second_of(column));
        let value = dot(mean, &row.mean);
        let mut variance = self.noise[column];
        for i in 0..=n {
            for j in 0..=i {
                let once = if i == j { 1.0 } else { 2.0 };
                let of_row = if i < n { row.covariance[packed(i) + j] } else { 0.0 };
                let of_column = second[packed(i) + j] - mean[i] * mean[j];
                // E[l]C_zE[l] + tr(C_z C_l) is C_z with the second moments of l.
                variance +=
                    once * (of_row * second[packed(i) + j] + of_column * row.mean[i] * row.mean[j]);
            }
        }
        (value, variance.max(self.noise[column]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One factor, columns known exactly: the joint Gaussian of two cells, conditioned by hand.
    #[test]
    fn sure_columns_predict_as_the_gaussian_does() {
        let (w, c, noise, lambda) = ([0.8, -0.5], [1.0, 2.0], [0.3, 0.7], 4.0);
        let mean = vec![w[0], 1.0, c[0], w[1], 1.0, c[1]];
        let items = Items::new(1, mean, &[0.0; 6], noise.to_vec(), lambda);
        let mut row = Row::default();
        let bound = items.understand([(0, 2.5)].into_iter(), &mut row);
        let (value, variance) = items.predict(1, &row);
        let own = w[0] * w[0] + 1.0 / lambda + noise[0];
        let cross = w[0] * w[1] + 1.0 / lambda;
        let other = w[1] * w[1] + 1.0 / lambda + noise[1];
        assert!((value - (c[1] + cross / own * (2.5 - c[0]))).abs() < 1e-12);
        assert!((variance - (other - cross * cross / own)).abs() < 1e-12);
        let exact = mereo_core::math::normal_log_density(2.5, c[0], own);
        assert!((bound - exact).abs() < 1e-12, "{bound} {exact}");
    }

    /// What is not known of a column adds to the variance: against draws of everything.
    #[test]
    fn unsure_columns_predict_as_draws_do() {
        use mereo_core::Context;
        use rand_distr::{Distribution, StandardNormal};
        let covariance = [0.2, 0.1, 0.3];
        let items = Items::new(1, vec![0.7, 1.0, -0.4], &covariance, vec![0.5], 2.0);
        let mut row = Row::default();
        items.understand(std::iter::empty(), &mut row);
        let (value, variance) = items.predict(0, &row);
        let mut random = Context::new(3).random("draws", [0, 0]);
        let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
        let (mut sum, mut squares) = (0.0, 0.0);
        let draws = 200_000;
        for _ in 0..draws {
            let (a, b) = (normal(), normal());
            let w = 0.7 + 0.2f64.sqrt() * a;
            let c = -0.4 + 0.1 / 0.2f64.sqrt() * a + (0.3f64 - 0.05).sqrt() * b;
            let x = w * normal() + normal() / 2f64.sqrt() + c + 0.5f64.sqrt() * normal();
            sum += x;
            squares += x * x;
        }
        let mean = sum / f64::from(draws);
        let spread = squares / f64::from(draws) - mean * mean;
        assert!((mean - value).abs() < 0.01, "{mean} {value}");
        assert!((spread / variance - 1.0).abs() < 0.02, "{spread} {variance}");
    }
}
