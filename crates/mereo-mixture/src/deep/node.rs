//! One component of a layer, re-estimated from path moments: see the [module](super).

use mereo_core::math::{
    Array, cholesky, cholesky_solve, dot, eigen, inverse, minimise, packed, product, product_nt,
    product_tn, whitening,
};

use super::affine::{Affine, congruent};
use super::kronecker::Kronecker;
use super::{LayerKind, MStep};

/// Sweeps over the columns of a diagonal transform.
const SWEEPS: usize = 50;
/// How often a step of an orthogonal transform is made smaller before it is given up.
const TRIES: usize = 40;

/// A path through the layers above.
pub(super) struct Above {
    /// What it makes of the component's output: `R w + r`.
    pub(super) map: Affine,
    /// `[D+1, D+1]`: `Φ`.
    pub(super) moments: Array<2>,
}

/// What the M-step knows of a component.
pub(super) struct Node {
    pub(super) columns: usize,
    /// `n`.
    pub(super) count: f64,
    pub(super) above: Vec<Above>,
}

/// What does not change while Θ does.
struct Terms {
    /// `Ω_u` and `Φ_u / n`.
    pairs: Vec<(Array<2>, Array<2>)>,
    /// `[D, D+1]`: `Σ R_uᵀr_u φ_uᵀ / n`.
    linear: Array<2>,
    /// `½ Σ n_u |r_u|² / n`.
    constant: f64,
}

/// The first D columns of `[D, D+1]`.
fn without_last(theta: &Array<2>) -> Array<2> {
    let [d, _] = theta.shape();
    Array::new([d, d], theta.rows().flat_map(|row| row[..d].iter().copied()).collect())
}

/// `[D, D+1]`: a matrix and what stands beside it.
fn beside(matrix: &Array<2>, last: &[f64]) -> Array<2> {
    let d = last.len();
    let mut theta = Array::zeros([d, d + 1]);
    for ((row, own), last) in theta.rows_mut().zip(matrix.rows()).zip(last) {
        row[..d].copy_from_slice(own);
        row[d] = *last;
    }
    theta
}

/// A product of matrices.
fn times(left: &Array<2>, right: &Array<2>) -> Array<2> {
    let mut out = Array::zeros([left.shape()[0], right.shape()[1]]);
    product(&mut out, left.view(), right.view(), false);
    out
}

/// The same with the left matrix transposed.
fn times_tn(left: &Array<2>, right: &Array<2>) -> Array<2> {
    let mut out = Array::zeros([left.shape()[1], right.shape()[1]]);
    product_tn(&mut out, left.view(), right.view(), false);
    out
}

/// The same with the right matrix transposed.
fn times_nt(left: &Array<2>, right: &Array<2>) -> Array<2> {
    let mut out = Array::zeros([left.shape()[0], right.shape()[0]]);
    product_nt(&mut out, left.view(), right.view(), false);
    out
}

impl Node {
    fn terms(&self) -> Terms {
        let d = self.columns;
        let mut terms =
            Terms { pairs: Vec::new(), linear: Array::zeros([d, d + 1]), constant: 0.0 };
        for Above { map, moments } in &self.above {
            let omega = times_tn(&map.matrix, &map.matrix);
            let phi = moments.iter().map(|m| m / self.count).collect();
            let phi = Array::new(moments.shape(), phi);
            for (i, row) in terms.linear.rows_mut().enumerate() {
                let back: f64 = map.matrix.column(i).zip(&map.offset).map(|(m, v)| m * v).sum();
                for (out, mean) in row.iter_mut().zip(phi.column(d)) {
                    *out += back * mean;
                }
            }
            terms.constant += 0.5 * phi.row(d)[d] * dot(&map.offset, &map.offset);
            terms.pairs.push((omega, phi));
        }
        terms
    }

    /// The expected log likelihood of a row at Θ, `[D, D+1]`, up to a constant, and its gradient.
    #[cfg(test)]
    pub(super) fn value(&self, theta: &Array<2>, gradient: &mut Array<2>) -> f64 {
        let d = self.columns;
        let terms = self.terms();
        let Some((back, log)) = inverse(&without_last(theta), d) else {
            return f64::NEG_INFINITY;
        };
        let quadratic = quadratic(&terms, theta, gradient);
        gradient.iter_mut().for_each(|g| *g = -*g);
        let back = Array::new([d, d], back);
        for (i, row) in gradient.rows_mut().enumerate() {
            row.iter_mut().zip(back.column(i)).for_each(|(g, b)| *g += b);
        }
        log - quadratic - terms.constant
    }

    /// The best component of a kind, or a better one than it is now; nothing if there is none.
    pub(super) fn solve(
        &self,
        kind: LayerKind,
        now: &Affine,
        m_step: MStep,
        steps: usize,
    ) -> Option<Affine> {
        let back = now.inverse()?;
        let found = match kind {
            LayerKind::Full => self.full(&back, m_step, steps)?,
            LayerKind::Scale => self.scaled(None, None)?,
            LayerKind::Diagonal => self.scaled(None, Some(&back))?,
            LayerKind::Orthogonal => self.orthogonal(&back, steps)?,
        };
        let found = found.inverse()?;
        found.matrix.iter().chain(&found.offset).all(|v| v.is_finite()).then_some(found)
    }

    /// The top layer: mean and covariance of what comes from below.
    pub(super) fn top(&self, kind: LayerKind) -> Option<Affine> {
        let d = self.columns;
        let mut sums = Array::zeros([d + 1, d + 1]);
        for above in &self.above {
            sums.iter_mut().zip(&above.moments).for_each(|(s, m)| *s += m / self.count);
        }
        let mean: Vec<f64> = sums.column(d).take(d).collect();
        let covariance = |i: usize, j: usize| sums.row(i)[j] - mean[i] * mean[j];
        let mut matrix = Array::zeros([d, d]);
        match kind {
            LayerKind::Full => {
                let mut factor: Vec<f64> = (0..d)
                    .flat_map(|i| (0..=i).map(move |j| (i, j)))
                    .map(|(i, j)| covariance(i, j))
                    .collect();
                cholesky(&mut factor, d)?;
                for (i, row) in matrix.rows_mut().enumerate() {
                    row[..=i].copy_from_slice(&factor[packed(i)..=packed(i) + i]);
                }
            }
            LayerKind::Diagonal => {
                (0..d).for_each(|i| matrix.row_mut(i)[i] = covariance(i, i).sqrt());
            }
            // A rotation of the standard normal changes nothing.
            LayerKind::Scale | LayerKind::Orthogonal => {
                let variance = (0..d).map(|i| covariance(i, i)).sum::<f64>() / d as f64;
                (0..d).for_each(|i| matrix.row_mut(i)[i] = variance.sqrt());
            }
        }
        let found = Affine { matrix, offset: mean };
        found.inverse().is_some().then_some(found)
    }

    /// L-BFGS in coordinates Ψ, `Θ = W_Ωᵀ Ψ W_Φ`, W the whitenings of the averages.
    fn full(&self, back: &Affine, m_step: MStep, steps: usize) -> Option<Affine> {
        let (d, width) = (self.columns, self.columns + 1);
        let Terms { pairs, linear, .. } = self.terms();
        let (mut omega, mut phi) = (Array::zeros([d, d]), Array::zeros([width, width]));
        for (own, moments) in &pairs {
            let share = moments.row(d)[d];
            omega.iter_mut().zip(own).for_each(|(a, o)| *a += share * o);
            phi.iter_mut().zip(moments).for_each(|(a, m)| *a += m);
        }
        let left = Array::new([d, d], whitening(&omega, d)?.matrix);
        let right = Array::new([width, width], whitening(&phi, width)?.matrix);
        let inner =
            pairs.iter().map(|(omega, phi)| (congruent(&left, omega), congruent(&right, phi)));
        let white = Terms {
            pairs: inner.collect(),
            linear: times_nt(&times(&left, &linear), &right),
            constant: 0.0,
        };
        let theta = beside(&back.matrix, &back.offset);
        let left_back = Array::new([d, d], inverse(&left, d)?.0);
        let right_back = Array::new([width, width], inverse(&right, width)?.0);
        let mut psi = times(&times_tn(&left_back, &theta), &right_back);
        let as_one = match m_step {
            MStep::Auto => Kronecker::pays(d, white.pairs.len(), steps),
            MStep::Lbfgs => false,
            MStep::Kronecker => true,
        };
        let kronecker = as_one.then(|| Kronecker::new(&white.pairs, d));
        let (mut here, mut slope) = (Array::zeros([d, width]), Array::zeros([d, width]));
        minimise(&mut psi, steps, 1e-12, |psi, gradient| {
            here.copy_from_slice(psi);
            let quadratic = match &kronecker {
                Some(form) => form.quadratic(&white.linear, psi, gradient),
                None => quadratic(&white, &here, gradient),
            };
            // |Q| is that of the first columns of Ψ W_Φ, times a constant.
            let q = without_last(&times(&here, &right));
            let Some((back, log)) = inverse(&q, d) else { return f64::INFINITY };
            let back = Array::new([d, d], back);
            for (i, row) in slope.rows_mut().enumerate() {
                row.iter_mut().zip(back.column(i)).for_each(|(s, b)| *s = -b);
            }
            product_nt(gradient, slope.view(), right.view(), true);
            quadratic - log
        });
        let theta = times(&times_tn(&left, &psi), &right);
        Some(Affine { matrix: without_last(&theta), offset: theta.column(d).collect() })
    }

    /// `Q = diag(t)`, from where it is now, or else a number times the identity; z first turned by
    /// `turn`.
    pub(super) fn scaled(&self, turn: Option<&Array<2>>, now: Option<&Affine>) -> Option<Affine> {
        let d = self.columns;
        let Terms { pairs, linear, .. } = self.terms();
        let turn =
            turn.map(|matrix| Affine { matrix: matrix.clone(), offset: vec![0.0; d] }.extended());
        // Quadratic and linear terms of t and q: ½ tᵀHt + tᵀBq + ½ qᵀNq + lᵀt + mᵀq.
        let [mut h, mut b, mut n] = [(); 3].map(|()| Array::zeros([d, d]));
        for (omega, phi) in &pairs {
            let turned = turn.as_ref().map(|turn| congruent(turn, phi));
            let phi = turned.as_ref().unwrap_or(phi);
            for i in 0..d {
                for (j, own) in omega.row(i).iter().enumerate() {
                    h.row_mut(i)[j] += own * phi.row(i)[j];
                    b.row_mut(i)[j] += own * phi.row(i)[d];
                    n.row_mut(i)[j] += own * phi.row(d)[d];
                }
            }
        }
        let linear = match &turn {
            None => linear,
            Some(turn) => times_nt(&linear, turn),
        };
        let mut l: Vec<f64> = linear.rows().enumerate().map(|(i, row)| row[i]).collect();
        let m: Vec<f64> = linear.column(d).collect();
        let mut factor: Vec<f64> =
            n.rows().enumerate().flat_map(|(i, row)| row[..=i].iter().copied()).collect();
        cholesky(&mut factor, d)?;
        // q = -N⁻¹(Bᵀt + m) leaves H - BN⁻¹Bᵀ and l - BN⁻¹m.
        let mut solved_m = m.clone();
        cholesky_solve(&factor, d, &mut solved_m);
        for i in 0..d {
            let mut solved = b.row(i).to_vec();
            cholesky_solve(&factor, d, &mut solved);
            for (h, b) in h.row_mut(i).iter_mut().zip(b.rows()) {
                *h -= dot(&solved, b);
            }
            l[i] -= dot(b.row(i), &solved_m);
        }
        let root = |square: f64, slope: f64, times: f64| {
            // Of square t² + slope t = times; the one of larger value.
            let spread = (slope * slope + 4.0 * square * times).sqrt();
            if slope <= 0.0 {
                (spread - slope) / (2.0 * square)
            } else {
                (-spread - slope) / (2.0 * square)
            }
        };
        let mut t: Vec<f64>;
        if let Some(now) = now {
            t = (0..d).map(|i| now.matrix.row(i)[i]).collect();
            for _ in 0..SWEEPS {
                for (i, h) in h.rows().enumerate() {
                    let others = dot(h, &t) - h[i] * t[i];
                    t[i] = root(h[i], l[i] + others, 1.0);
                }
            }
        } else {
            let (square, slope) = (h.iter().sum::<f64>(), l.iter().sum::<f64>());
            t = vec![root(square, slope, d as f64); d];
        }
        let mut q: Vec<f64> = m
            .iter()
            .enumerate()
            .map(|(j, m)| -b.column(j).zip(&t).map(|(b, t)| b * t).sum::<f64>() - m)
            .collect();
        cholesky_solve(&factor, d, &mut q);
        let mut matrix = Array::zeros([d, d]);
        t.iter().enumerate().for_each(|(i, t)| matrix.row_mut(i)[i] = *t);
        Some(Affine { matrix, offset: q })
    }

    /// `Q = tO`.
    fn orthogonal(&self, back: &Affine, steps: usize) -> Option<Affine> {
        let d = self.columns;
        let terms = self.terms();
        let scaled = |matrix: &Array<2>, by: f64| {
            Array::new([d, d], matrix.iter().map(|v| v * by).collect())
        };
        let size = (back.matrix.iter().map(|v| v * v).sum::<f64>() / d as f64).sqrt();
        let mut turn = scaled(&back.matrix, 1.0 / size);
        let mut found = self.scaled(Some(&turn), None)?;
        let (mut gradient, mut steep) = (Array::zeros([d, d + 1]), f64::NAN);
        for _ in 0..steps {
            let (t, q) = (found.matrix[0], found.offset.clone());
            let mut value = quadratic(&terms, &beside(&scaled(&turn, t), &q), &mut gradient);
            let slope = scaled(&without_last(&gradient), t);
            let length = slope.iter().map(|v| v * v).sum::<f64>().sqrt();
            if steep.is_nan() {
                steep = length / (d as f64).sqrt();
            }
            steep *= 0.25;
            let mut moved = false;
            for _ in 0..TRIES {
                let wanted = turn.iter().zip(&slope).map(|(o, s)| steep * o - s).collect();
                let next = polar(&Array::new([d, d], wanted))?;
                let mut room = Array::zeros([d, d + 1]);
                let there = quadratic(&terms, &beside(&scaled(&next, t), &q), &mut room);
                if there < value {
                    (turn, value, moved) = (next, there, true);
                    break;
                }
                steep *= 2.0;
            }
            if !moved || !value.is_finite() {
                break;
            }
            found = self.scaled(Some(&turn), None)?;
        }
        Some(Affine { matrix: scaled(&turn, found.matrix[0]), offset: found.offset })
    }
}

/// `½ Σ tr(Ω Θ Φ Θᵀ) + tr(linearᵀ Θ)` and, in `gradient`, `Σ ΩΘΦ + linear`.
fn quadratic(terms: &Terms, theta: &Array<2>, gradient: &mut [f64]) -> f64 {
    gradient.fill(0.0);
    let mut half = Array::zeros(theta.shape());
    for (omega, phi) in &terms.pairs {
        product(&mut half, omega.view(), theta.view(), false);
        product(gradient, half.view(), phi.view(), true);
    }
    let value = 0.5 * dot(theta, gradient) + dot(theta, &terms.linear);
    gradient.iter_mut().zip(&terms.linear).for_each(|(g, l)| *g += l);
    value
}

/// The orthogonal matrix nearest to this one.
fn polar(matrix: &Array<2>) -> Option<Array<2>> {
    let [d, _] = matrix.shape();
    let found = eigen(&times_tn(matrix, matrix), d).ok()?;
    if !(found.values.last().copied()? > 0.0) {
        return None;
    }
    let vectors = Array::new([d, d], found.vectors);
    let mut scaled = vectors.clone();
    for (row, value) in scaled.rows_mut().zip(&found.values) {
        row.iter_mut().for_each(|v| *v /= value.sqrt());
    }
    Some(times(matrix, &times_tn(&vectors, &scaled)))
}
