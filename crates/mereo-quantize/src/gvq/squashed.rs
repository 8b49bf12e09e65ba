//! Codes of binary data, their error and its gradient; [`super::binary`] says what they are.

use mereo_core::math::{exp_in_place, widest};

/// Replaces every t by `1/(1 + e^-t)`.
fn squash(values: &mut [f64]) {
    values.iter_mut().for_each(|t| *t = -*t);
    exp_in_place(values);
    values.iter_mut().for_each(|e| *e = 1.0 / (1.0 + *e));
}

/// The same of a copy.
pub(super) fn squashed(values: &[f64]) -> Vec<f64> {
    let mut out = values.to_vec();
    squash(&mut out);
    out
}

/// Makes codes of sums of squashed vectors.
pub(super) fn to_codes(sums: &mut [f64], beta: f64) {
    sums.iter_mut().for_each(|y| *y = beta * (*y - 0.5));
    squash(sums);
}

/// All codes of sets of squashed vectors `[M, 1 + n, D]`, the origin first: `[M 2^n, D]`.
pub(super) fn codes(vectors: &[f64], sets: usize, columns: usize, beta: f64) -> Vec<f64> {
    let per_set = vectors.len() / sets.max(1);
    let features = per_set / columns.max(1) - 1;
    let mut out = Vec::with_capacity((sets << features) * columns);
    for set in vectors.chunks_exact(per_set) {
        let start = out.len();
        out.extend_from_slice(&set[..columns]);
        for (i, feature) in set[columns..].chunks_exact(columns).enumerate() {
            // The states that have feature i are those that have not, one after another, plus it.
            for state in 0..1usize << i {
                for (c, f) in feature.iter().enumerate() {
                    out.push(out[start + state * columns + c] + f);
                }
            }
        }
        to_codes(&mut out[start..], beta);
    }
    out
}

/// The error of one set's codes about means, and its gradient.
pub(super) struct Error<'a> {
    pub(super) columns: usize,
    pub(super) beta: f64,
    /// Weight and mean of each code in each column, `[2^n, D]`.
    pub(super) count: &'a [f64],
    pub(super) mean: &'a [f64],
}

impl Error<'_> {
    pub(super) fn at(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let d = self.columns;
        let vectors = squashed(theta);
        let mut codes = codes(&vectors, 1, d, self.beta);
        gradient.fill(0.0);
        // The errors of each column, so that all columns are added at once.
        let mut errors = vec![0.0; d];
        for (state, code) in codes.chunks_exact_mut(d).enumerate() {
            let (count, mean) = (&self.count[state * d..], &self.mean[state * d..]);
            // Codes give way to slopes.
            widest(
                #[inline(always)]
                || {
                    let about = count.iter().zip(mean);
                    for ((y, error), (count, mean)) in code.iter_mut().zip(&mut errors).zip(about) {
                        let off = *y - mean;
                        *error += count * off * off;
                        *y = 2.0 * count * off * self.beta * *y * (1.0 - *y);
                    }
                },
            );
            for (j, gradient) in gradient.chunks_exact_mut(d).enumerate() {
                if j == 0 || state >> (j - 1) & 1 == 1 {
                    gradient.iter_mut().zip(&*code).for_each(|(g, s)| *g += s);
                }
            }
        }
        for (g, v) in gradient.iter_mut().zip(&vectors) {
            *g *= v * (1.0 - v);
        }
        errors.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn error_and_gradient_agree_with_an_independent_implementation() {
        let fixture = Fixture::open("gvq_binary.json");
        let (hat, s, x) = (fixture.get("Fhat"), fixture.get("S"), fixture.get("X"));
        let beta = fixture.get("beta")[0];
        // Its states have no origin: an origin of nearly nothing stands for none.
        let mut theta = vec![-60.0; 9];
        theta.extend(hat);
        let (mut count, mut mean) = (vec![0.0; 64 * 9], vec![0.0; 64 * 9]);
        let vectors = squashed(&theta);
        let all = codes(&vectors, 1, 9, beta);
        let mut apart = 0.0;
        for (r, (s, x)) in s.chunks(6).zip(x.chunks(9)).enumerate() {
            let state: usize = s.iter().enumerate().map(|(i, &s)| (s as usize) << i).sum();
            for c in 0..9 {
                let at = state * 9 + c;
                assert!((all[at] - fixture.get("code")[r * 9 + c]).abs() < 1e-12);
                // The mean so far moves, and the squares about it grow.
                let (n, m) = (count[at], mean[at]);
                apart += n / (n + 1.0) * (x[c] - m) * (x[c] - m);
                mean[at] = m + (x[c] - m) / (n + 1.0);
                count[at] += 1.0;
            }
        }
        let error = Error { columns: 9, beta, count: &count, mean: &mean };
        let mut gradient = vec![0.0; 63];
        let found = error.at(&theta, &mut gradient) + apart;
        assert!((found - fixture.get("E")[0]).abs() < 1e-8, "{found}");
        for (a, b) in gradient[9..].iter().zip(fixture.get("grad")) {
            assert!((a - b).abs() < 1e-8, "{a} {b}");
        }
    }
}
