//! One component of a layer, re-estimated from path moments: see the [module](super).

use mereo_core::math::{
    Matrix, cholesky, cholesky_solve, dot, eigen, inverse, minimise, packed, product, product_nt,
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
    pub(super) moments: Vec<f64>,
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
    pairs: Vec<(Vec<f64>, Vec<f64>)>,
    /// `[D, D+1]`: `Σ R_uᵀr_u φ_uᵀ / n`.
    linear: Vec<f64>,
    /// `½ Σ n_u |r_u|² / n`.
    constant: f64,
}

impl Node {
    fn terms(&self) -> Terms {
        let (d, width) = (self.columns, self.columns + 1);
        let mut terms = Terms { pairs: Vec::new(), linear: vec![0.0; d * width], constant: 0.0 };
        for Above { map, moments } in &self.above {
            let mut omega = vec![0.0; d * d];
            let root = Matrix::new(&map.matrix, d, d);
            product_tn(&mut omega, root, root, false);
            let phi: Vec<f64> = moments.iter().map(|m| m / self.count).collect();
            for i in 0..d {
                let back: f64 = (0..d).map(|k| map.matrix[k * d + i] * map.offset[k]).sum();
                for j in 0..width {
                    terms.linear[i * width + j] += back * phi[j * width + d];
                }
            }
            terms.constant += 0.5 * phi[d * width + d] * dot(&map.offset, &map.offset);
            terms.pairs.push((omega, phi));
        }
        terms
    }

    /// The expected log likelihood of a row at Θ, `[D, D+1]`, up to a constant, and its gradient.
    #[cfg(test)]
    pub(super) fn value(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let (d, width) = (self.columns, self.columns + 1);
        let terms = self.terms();
        let q: Vec<f64> =
            theta.chunks_exact(width).flat_map(|row| row[..d].iter().copied()).collect();
        let Some((back, log)) = inverse(&q, d) else { return f64::NEG_INFINITY };
        let quadratic = quadratic(&terms, theta, gradient, d);
        gradient.iter_mut().for_each(|g| *g = -*g);
        for i in 0..d {
            for j in 0..d {
                gradient[i * width + j] += back[j * d + i];
            }
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
        let (d, width) = (self.columns, self.columns + 1);
        let mut sums = vec![0.0; width * width];
        for above in &self.above {
            sums.iter_mut().zip(&above.moments).for_each(|(s, m)| *s += m / self.count);
        }
        let mean: Vec<f64> = (0..d).map(|i| sums[i * width + d]).collect();
        let covariance = |i: usize, j: usize| sums[i * width + j] - mean[i] * mean[j];
        let mut matrix = vec![0.0; d * d];
        match kind {
            LayerKind::Full => {
                let mut factor: Vec<f64> = (0..d)
                    .flat_map(|i| (0..=i).map(move |j| (i, j)))
                    .map(|(i, j)| covariance(i, j))
                    .collect();
                cholesky(&mut factor, d)?;
                for i in 0..d {
                    matrix[i * d..=i * d + i].copy_from_slice(&factor[packed(i)..=packed(i) + i]);
                }
            }
            LayerKind::Diagonal => {
                (0..d).for_each(|i| matrix[i * d + i] = covariance(i, i).sqrt());
            }
            // A rotation of the standard normal changes nothing.
            LayerKind::Scale | LayerKind::Orthogonal => {
                let variance = (0..d).map(|i| covariance(i, i)).sum::<f64>() / d as f64;
                (0..d).for_each(|i| matrix[i * d + i] = variance.sqrt());
            }
        }
        let found = Affine { matrix, offset: mean };
        found.inverse().is_some().then_some(found)
    }

    /// L-BFGS in coordinates Ψ, `Θ = W_Ωᵀ Ψ W_Φ`, W the whitenings of the averages.
    fn full(&self, back: &Affine, m_step: MStep, steps: usize) -> Option<Affine> {
        let (d, width) = (self.columns, self.columns + 1);
        let Terms { pairs, linear, .. } = self.terms();
        let (mut omega, mut phi) = (vec![0.0; d * d], vec![0.0; width * width]);
        for (own, moments) in &pairs {
            let share = moments[d * width + d];
            omega.iter_mut().zip(own).for_each(|(a, o)| *a += share * o);
            phi.iter_mut().zip(moments).for_each(|(a, m)| *a += m);
        }
        let left = whitening(&omega, d)?.matrix;
        let right = whitening(&phi, width)?.matrix;
        let inner = pairs
            .iter()
            .map(|(omega, phi)| (congruent(&left, omega, d), congruent(&right, phi, width)));
        let white = Terms {
            pairs: inner.collect(),
            linear: {
                let (mut half, mut out) = (vec![0.0; d * width], vec![0.0; d * width]);
                let given = Matrix::new(&linear, d, width);
                product(&mut half, Matrix::new(&left, d, d), given, false);
                let half = Matrix::new(&half, d, width);
                product_nt(&mut out, half, Matrix::new(&right, width, width), false);
                out
            },
            constant: 0.0,
        };
        let mut theta = vec![0.0; d * width];
        for (i, row) in theta.chunks_exact_mut(width).enumerate() {
            row[..d].copy_from_slice(&back.matrix[i * d..(i + 1) * d]);
            row[d] = back.offset[i];
        }
        let (left_back, right_back) = (inverse(&left, d)?.0, inverse(&right, width)?.0);
        let mut psi = vec![0.0; d * width];
        let mut room = vec![0.0; d * width];
        product_tn(&mut room, Matrix::new(&left_back, d, d), Matrix::new(&theta, d, width), false);
        let half = Matrix::new(&room, d, width);
        product(&mut psi, half, Matrix::new(&right_back, width, width), false);
        let mut outer = vec![0.0; d * width];
        let as_one = match m_step {
            MStep::Auto => Kronecker::pays(d, white.pairs.len(), steps),
            MStep::Lbfgs => false,
            MStep::Kronecker => true,
        };
        let kronecker = as_one.then(|| Kronecker::new(&white.pairs, d));
        minimise(&mut psi, steps, 1e-12, |psi, gradient| {
            let quadratic = match &kronecker {
                Some(form) => form.quadratic(&white.linear, psi, gradient),
                None => quadratic(&white, psi, gradient, d),
            };
            // |Q| is that of the first columns of Ψ W_Φ, times a constant.
            let factor = Matrix::new(&right, width, width);
            product(&mut outer, Matrix::new(psi, d, width), factor, false);
            let q: Vec<f64> =
                outer.chunks_exact(width).flat_map(|row| row[..d].iter().copied()).collect();
            let Some((back, log)) = inverse(&q, d) else { return f64::INFINITY };
            let mut slope = vec![0.0; d * width];
            for i in 0..d {
                for j in 0..d {
                    slope[i * width + j] = -back[j * d + i];
                }
            }
            product_nt(gradient, Matrix::new(&slope, d, width), factor, true);
            quadratic - log
        });
        product_tn(&mut room, Matrix::new(&left, d, d), Matrix::new(&psi, d, width), false);
        let half = Matrix::new(&room, d, width);
        product(&mut theta, half, Matrix::new(&right, width, width), false);
        Some(Affine {
            matrix: theta.chunks_exact(width).flat_map(|r| r[..d].iter().copied()).collect(),
            offset: theta.chunks_exact(width).map(|row| row[d]).collect(),
        })
    }

    /// `Q = diag(t)`, from where it is now, or else a number times the identity; z first turned by
    /// `turn`.
    pub(super) fn scaled(&self, turn: Option<&[f64]>, now: Option<&Affine>) -> Option<Affine> {
        let (d, width) = (self.columns, self.columns + 1);
        let Terms { pairs, linear, .. } = self.terms();
        let turn =
            turn.map(|matrix| Affine { matrix: matrix.to_vec(), offset: vec![0.0; d] }.extended());
        // Quadratic and linear terms of t and q: ½ tᵀHt + tᵀBq + ½ qᵀNq + lᵀt + mᵀq.
        let (mut h, mut b, mut n) = (vec![0.0; d * d], vec![0.0; d * d], vec![0.0; d * d]);
        for (omega, phi) in &pairs {
            let turned;
            let phi = match &turn {
                None => phi,
                Some(turn) => {
                    turned = congruent(turn, phi, width);
                    &turned
                }
            };
            for i in 0..d {
                for j in 0..d {
                    let own = omega[i * d + j];
                    h[i * d + j] += own * phi[i * width + j];
                    b[i * d + j] += own * phi[i * width + d];
                    n[i * d + j] += own * phi[d * width + d];
                }
            }
        }
        let linear = match &turn {
            None => linear,
            Some(turn) => {
                let mut out = vec![0.0; d * width];
                let given = Matrix::new(&linear, d, width);
                product_nt(&mut out, given, Matrix::new(turn, width, width), false);
                out
            }
        };
        let mut l: Vec<f64> = (0..d).map(|i| linear[i * width + i]).collect();
        let m: Vec<f64> = (0..d).map(|i| linear[i * width + d]).collect();
        let mut factor: Vec<f64> =
            (0..d).flat_map(|i| n[i * d..=i * d + i].iter().copied()).collect();
        cholesky(&mut factor, d)?;
        // q = -N⁻¹(Bᵀt + m) leaves H - BN⁻¹Bᵀ and l - BN⁻¹m.
        let mut solved_m = m.clone();
        cholesky_solve(&factor, d, &mut solved_m);
        for i in 0..d {
            let mut solved = b[i * d..(i + 1) * d].to_vec();
            cholesky_solve(&factor, d, &mut solved);
            for j in 0..d {
                h[i * d + j] -= dot(&solved, &b[j * d..(j + 1) * d]);
            }
            l[i] -= dot(&b[i * d..(i + 1) * d], &solved_m);
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
            t = (0..d).map(|i| now.matrix[i * d + i]).collect();
            for _ in 0..SWEEPS {
                for i in 0..d {
                    let others = dot(&h[i * d..(i + 1) * d], &t) - h[i * d + i] * t[i];
                    t[i] = root(h[i * d + i], l[i] + others, 1.0);
                }
            }
        } else {
            let (square, slope) = (h.iter().sum::<f64>(), l.iter().sum::<f64>());
            t = vec![root(square, slope, d as f64); d];
        }
        let mut q: Vec<f64> =
            (0..d).map(|j| -(0..d).map(|i| b[i * d + j] * t[i]).sum::<f64>() - m[j]).collect();
        cholesky_solve(&factor, d, &mut q);
        let mut matrix = vec![0.0; d * d];
        (0..d).for_each(|i| matrix[i * d + i] = t[i]);
        Some(Affine { matrix, offset: q })
    }

    /// `Q = tO`.
    fn orthogonal(&self, back: &Affine, steps: usize) -> Option<Affine> {
        let (d, width) = (self.columns, self.columns + 1);
        let terms = self.terms();
        let size = (back.matrix.iter().map(|v| v * v).sum::<f64>() / d as f64).sqrt();
        let mut turn: Vec<f64> = back.matrix.iter().map(|v| v / size).collect();
        let theta_of = |turn: &[f64], t: f64, q: &[f64]| {
            let mut theta = vec![0.0; d * width];
            for (i, row) in theta.chunks_exact_mut(width).enumerate() {
                row[..d].iter_mut().zip(&turn[i * d..]).for_each(|(o, v)| *o = t * v);
                row[d] = q[i];
            }
            theta
        };
        let mut found = self.scaled(Some(&turn), None)?;
        let (mut gradient, mut steep) = (vec![0.0; d * width], f64::NAN);
        for _ in 0..steps {
            let (t, q) = (found.matrix[0], found.offset.clone());
            let mut value = quadratic(&terms, &theta_of(&turn, t, &q), &mut gradient, d);
            let slope: Vec<f64> = gradient
                .chunks_exact(width)
                .flat_map(|row| row[..d].iter().map(|g| t * g))
                .collect();
            let length = slope.iter().map(|v| v * v).sum::<f64>().sqrt();
            if steep.is_nan() {
                steep = length / (d as f64).sqrt();
            }
            steep *= 0.25;
            let mut moved = false;
            for _ in 0..TRIES {
                let wanted: Vec<f64> =
                    turn.iter().zip(&slope).map(|(o, s)| steep * o - s).collect();
                let next = polar(&wanted, d)?;
                let mut room = vec![0.0; d * width];
                let there = quadratic(&terms, &theta_of(&next, t, &q), &mut room, d);
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
        let matrix = turn.iter().map(|v| v * found.matrix[0]).collect();
        Some(Affine { matrix, offset: found.offset })
    }
}

/// `½ Σ tr(Ω Θ Φ Θᵀ) + tr(linearᵀ Θ)` and, in `gradient`, `Σ ΩΘΦ + linear`.
fn quadratic(terms: &Terms, theta: &[f64], gradient: &mut [f64], d: usize) -> f64 {
    let width = d + 1;
    gradient.fill(0.0);
    let mut half = vec![0.0; d * width];
    let given = Matrix::new(theta, d, width);
    for (omega, phi) in &terms.pairs {
        product(&mut half, Matrix::new(omega, d, d), given, false);
        let half = Matrix::new(&half, d, width);
        product(gradient, half, Matrix::new(phi, width, width), true);
    }
    let value = 0.5 * dot(theta, gradient) + dot(theta, &terms.linear);
    gradient.iter_mut().zip(&terms.linear).for_each(|(g, l)| *g += l);
    value
}

/// The orthogonal matrix nearest to this one.
fn polar(matrix: &[f64], d: usize) -> Option<Vec<f64>> {
    let given = Matrix::new(matrix, d, d);
    let mut square = vec![0.0; d * d];
    product_tn(&mut square, given, given, false);
    let found = eigen(&square, d).ok()?;
    if !(found.values.last().copied()? > 0.0) {
        return None;
    }
    let mut scaled = found.vectors.clone();
    for (row, value) in scaled.chunks_exact_mut(d).zip(&found.values) {
        row.iter_mut().for_each(|v| *v /= value.sqrt());
    }
    let (mut root, mut out) = (vec![0.0; d * d], vec![0.0; d * d]);
    let vectors = Matrix::new(&found.vectors, d, d);
    product_tn(&mut root, vectors, Matrix::new(&scaled, d, d), false);
    product(&mut out, given, Matrix::new(&root, d, d), false);
    Some(out)
}
