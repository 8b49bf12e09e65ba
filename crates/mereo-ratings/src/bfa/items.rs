//! What is believed of columns, and what follows of rows: see the [module](super).

use super::ordinal::Cuts;
use mereo_core::math::{
    HALF_LOG_TWO_PI, cholesky, cholesky_inverse, cholesky_solve, dot, packed, widest,
};

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
    /// `[D]`: one divided by the noise, and the logarithm of its normaliser, twice. Rows ask for both cell by cell.
    precision: Vec<f64>,
    cost: Vec<f64>,
    /// λ.
    pub(super) bias_precision: f64,
    /// `[D, N]`: v, what it says of a row's factors that it observes a column; empty if nothing.
    pub(super) chosen: Vec<f64>,
}

/// What is believed of a row.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    /// `[N + 2]`: `E[z̃]`.
    pub(super) mean: Vec<f64>,
    /// Packed `[N + 1]`: the covariance of z and b.
    pub(super) covariance: Vec<f64>,
    /// `[N]`: the prior's mean of z, and one divided by the root of the number of cells.
    pub(super) prior: Vec<f64>,
    pub(super) share: f64,
    factor: Vec<f64>,
    work: Vec<f64>,
}

impl Row {
    /// A row of which nothing but the prior's mean is said.
    pub(super) fn of_nobody(hidden: usize) -> Self {
        let mut mean = vec![0.0; hidden];
        mean.push(1.0);
        Self { mean, covariance: vec![0.0; packed(hidden)], ..Self::default() }
    }
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
        let precision = noise.iter().map(|v| 1.0 / v).collect();
        let cost = noise.iter().map(|v| v.ln() + 2.0 * HALF_LOG_TWO_PI).collect();
        let chosen = Vec::new();
        Self { factors, mean, second, noise, precision, cost, bias_precision, chosen }
    }

    /// The same where it says something that a column is observed: `[D, N]`, or nothing.
    pub(super) fn with_chosen(self, chosen: Vec<f64>) -> Self {
        Self { chosen, ..self }
    }

    /// Finds the prior's mean of a row's factors: `Σ_d v_d / √n` over the n columns that it observes. Returns half its square.
    fn expect(&self, observed: &[(usize, f64)], row: &mut Row) -> f64 {
        row.prior.clear();
        row.prior.resize(self.factors, 0.0);
        let (mut cells, prior) = (0.0f64, &mut row.prior[..]);
        widest(
            #[inline(always)]
            || {
                for &(column, _) in observed {
                    cells += 1.0;
                    let own = self.chosen.get(column * self.factors..(column + 1) * self.factors);
                    prior.iter_mut().zip(own.unwrap_or(&[])).for_each(|(m, v)| *m += v);
                }
            },
        );
        row.share = 1.0 / cells.max(1.0).sqrt();
        row.prior.iter_mut().for_each(|m| *m *= row.share);
        0.5 * dot(&row.prior, &row.prior)
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
    pub(super) fn understand(&self, cells: &[(usize, f64)], row: &mut Row) -> f64 {
        let n = self.factors + 1;
        let small = packed(n);
        let apart = self.expect(cells, row);
        row.factor.clear();
        row.factor.resize(small, 0.0);
        for i in 0..n {
            row.factor[packed(i) + i] = if i < self.factors { 1.0 } else { self.bias_precision };
        }
        row.work.clear();
        row.work.extend_from_slice(&row.prior);
        row.work.push(0.0);
        let (mut square, mut cost) = (0.0, 0.0);
        let (factor, work) = (&mut row.factor[..small], &mut row.work[..n]);
        widest(
            #[inline(always)]
            || {
                for &(column, y) in cells {
                    let (mean, second) = (self.mean_of(column), self.second_of(column));
                    let precision = self.precision[column];
                    let (pairs, with_offset) = second.split_at(small);
                    factor.iter_mut().zip(pairs).for_each(|(p, s)| *p += precision * s);
                    for ((h, l), lc) in work.iter_mut().zip(mean).zip(with_offset) {
                        *h += precision * (l * y - lc);
                    }
                    square += precision * (y * y - 2.0 * y * mean[n] + with_offset[n]);
                    cost += self.cost[column];
                }
            },
        );
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
            let bound =
                0.5 * (fit - log_determinant + self.bias_precision.ln() - cost - square) - apart;
            if bound.is_finite() && row.mean.iter().all(|m| m.is_finite()) {
                return bound;
            }
        }
        // Numbers too extreme for an answer say nothing.
        row.mean[..n].fill(0.0);
        row.mean[..self.factors].copy_from_slice(&row.prior);
        row.covariance.fill(0.0);
        for i in 0..n {
            row.covariance[packed(i) + i] =
                if i < self.factors { 1.0 } else { 1.0 / self.bias_precision };
        }
        -1e300
    }

    /// The same of a row whose cells show levels: see [`ordinal`](super::ordinal). `told` becomes what is expected of each latent value: its
    /// mean given the row alone, and given its level too.
    pub(super) fn understand_levels(
        &self,
        cuts: &Cuts,
        cells: &[(usize, f64)],
        row: &mut Row,
        told: &mut Vec<(f64, f64)>,
    ) -> f64 {
        const MOST_TURNS: usize = 200;
        const NEAR: f64 = 1e-9;
        let n = self.factors + 1;
        let small = packed(n);
        let apart = self.expect(cells, row);
        let mut precision = vec![0.0; small];
        for i in 0..n {
            precision[packed(i) + i] = if i < self.factors { 1.0 } else { self.bias_precision };
        }
        // Σ E[l c] and Σ E[c²].
        let (mut with_offset, mut offsets) = (vec![0.0; n], 0.0);
        for &(column, _) in cells {
            let second = self.second_of(column);
            precision.iter_mut().zip(second).for_each(|(p, s)| *p += s);
            with_offset.iter_mut().zip(&second[small..]).for_each(|(w, s)| *w += s);
            offsets += second[small + n];
        }
        row.factor.clone_from(&precision);
        let log_determinant = cholesky(&mut row.factor, n).unwrap_or(0.0);
        row.covariance.clear();
        row.covariance.resize(small, 0.0);
        row.work.resize(n, 0.0);
        cholesky_inverse(&row.factor, n, &mut row.covariance, &mut row.work);
        row.mean.clear();
        row.mean.resize(n, 0.0);
        row.mean.push(1.0);
        let mut step = vec![0.0; n];
        let (mut curved, mut last) = (vec![0.0; small], vec![0.0; n]);
        let (mut newton, mut best) = (true, f64::NEG_INFINITY);
        for turn in 0..=MOST_TURNS {
            told.clear();
            // Where h of the expected values would lead, less where the row is; and by how much levels leave values open.
            step.iter_mut().zip(&with_offset).for_each(|(h, w)| *h = -w);
            step.iter_mut().zip(&row.prior).for_each(|(h, m)| *h += m);
            curved.clone_from(&precision);
            let mut cost = 0.0;
            for &(column, x) in cells {
                let mean = self.mean_of(column);
                let m = dot(mean, &row.mean);
                let (log, apart, open) = cuts.look_closely(x, m);
                cost -= 2.0 * log + m * m;
                told.push((m, m + apart));
                step.iter_mut().zip(mean).for_each(|(h, l)| *h += l * (m + apart));
                if newton {
                    for i in 0..n {
                        let own = &mut curved[packed(i)..packed(i + 1)];
                        let share = open * mean[i];
                        own.iter_mut().zip(mean).for_each(|(c, l)| *c -= share * l);
                    }
                }
            }
            for i in 0..n {
                for j in 0..=i {
                    let own = precision[packed(i) + j];
                    let once = if i == j { 1.0 } else { 2.0 };
                    cost += once * own * row.mean[i] * row.mean[j];
                    step[i] -= own * row.mean[j];
                    if i != j {
                        step[j] -= own * row.mean[i];
                    }
                }
                cost += 2.0 * row.mean[i] * with_offset[i];
            }
            cost -= 2.0 * dot(&row.mean[..self.factors], &row.prior);
            let value = 0.5 * (self.bias_precision.ln() - log_determinant - cost - offsets) - apart;
            // Newton's steps are few, but only turns by turns are sure to rise.
            if newton && turn > 0 && !(value >= best - NEAR * best.abs()) {
                newton = false;
                row.mean[..n].copy_from_slice(&last);
                continue;
            }
            best = value;
            last.copy_from_slice(&row.mean[..n]);
            if newton && cholesky(&mut curved, n).is_some() {
                cholesky_solve(&curved, n, &mut step);
            } else {
                cholesky_solve(&row.factor, n, &mut step);
            }
            let moved = step.iter().fold(0.0, |most: f64, s| most.max(s.abs()));
            if turn < MOST_TURNS && moved > NEAR {
                row.mean.iter_mut().zip(&step).for_each(|(m, s)| *m += s);
                continue;
            }
            return value;
        }
        f64::MIN
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
        let bound = items.understand(&[(0, 2.5)], &mut row);
        let (value, variance) = items.predict(1, &row);
        let own = w[0] * w[0] + 1.0 / lambda + noise[0];
        let cross = w[0] * w[1] + 1.0 / lambda;
        let other = w[1] * w[1] + 1.0 / lambda + noise[1];
        assert!((value - (c[1] + cross / own * (2.5 - c[0]))).abs() < 1e-12);
        assert!((variance - (other - cross * cross / own)).abs() < 1e-12);
        let exact = mereo_core::math::normal_log_density(2.5, c[0], own);
        assert!((bound - exact).abs() < 1e-12, "{bound} {exact}");
    }

    /// One column known exactly, one rating: everything there is can be integrated by small steps.
    #[test]
    fn levels_of_a_row_are_as_quadrature_says() {
        use crate::levels::Levels;
        use mereo_core::math::{normal_cdf, normal_density};
        let (w, c, lambda) = (0.9, 0.3, 4.0f64);
        let items = Items::new(1, vec![w, 1.0, c], &[0.0; 3], vec![1.0], lambda);
        let cuts = Cuts::checked(vec![1.0, 2.0, 3.0, 4.0], vec![-1.0, 0.1, 1.2]).unwrap();
        let spread = (w * w + 1.0 / lambda).sqrt();
        let mut total = 0.0;
        for level in 0..4 {
            let ends = [f64::NEG_INFINITY, -1.0, 0.1, 1.2, f64::INFINITY];
            // η = wz + b is Gaussian: P(level) and the mean of η given it.
            let (mut exact, mut mean) = (0.0, 0.0);
            for i in 0..40_000 {
                let u = -8.0 + 16.0 * (f64::from(i) + 0.5) / 40_000.0;
                let eta = spread * u;
                let inside =
                    normal_cdf(ends[level + 1] - c - eta) - normal_cdf(ends[level] - c - eta);
                let share = inside * normal_density(u) * 16.0 / 40_000.0;
                exact += share;
                mean += share * eta;
            }
            mean /= exact;
            total += exact;
            let (mut row, mut told) = (Row::default(), Vec::new());
            let x = 1.0 + level as f64;
            let bound = items.understand_levels(&cuts, &[(0, x)], &mut row, &mut told);
            // A lower bound, and a close one: latent value and row are taken to be independent.
            assert!(
                bound <= exact.ln() + 1e-9 && bound > exact.ln() - 0.15,
                "{bound} {}",
                exact.ln()
            );
            let found = w * row.mean[0] + row.mean[1];
            assert!((found - mean).abs() < 0.2 * spread, "{found} {mean}");
            // Nowhere else is it higher: the bound of any other mean, from its definition.
            let of = |z: f64, b: f64| {
                let m = w * z + b + c;
                let (log, ..) = cuts.look_closely(x, m);
                let p = [1.0 + w * w, w, lambda + 1.0];
                let determinant = p[0] * p[2] - p[1] * p[1];
                let s = [p[2] / determinant, -p[1] / determinant, p[0] / determinant];
                let spread = w * w * s[0] + 2.0 * w * s[1] + s[2];
                let divergence = s[0] + lambda * s[2] + z * z + lambda * b * b - 2.0
                    + determinant.ln()
                    - lambda.ln();
                log - 0.5 * spread - 0.5 * divergence
            };
            assert!((of(row.mean[0], row.mean[1]) - bound).abs() < 1e-9);
            for (dz, db) in [(0.01, 0.0), (-0.01, 0.0), (0.0, 0.01), (0.0, -0.01)] {
                assert!(of(row.mean[0] + dz, row.mean[1] + db) < bound);
            }
        }
        assert!((total - 1.0).abs() < 1e-6);
        assert_eq!(cuts.levels, Levels(vec![1.0, 2.0, 3.0, 4.0]));
    }

    /// What is not known of a column adds to the variance: against draws of everything.
    #[test]
    fn unsure_columns_predict_as_draws_do() {
        use mereo_core::Context;
        use rand_distr::{Distribution, StandardNormal};
        let covariance = [0.2, 0.1, 0.3];
        let items = Items::new(1, vec![0.7, 1.0, -0.4], &covariance, vec![0.5], 2.0);
        let mut row = Row::default();
        items.understand(&[], &mut row);
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
