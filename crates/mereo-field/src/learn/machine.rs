//! Boltzmann machines from examples.
//!
//! With `a_i = b_i + Σ_j θ_ij x_j` the pseudo-likelihood of an example is `Σ_i log sig(2 x_i a_i)`, and with
//! `r_i = x_i - tanh a_i` its gradient `∂/∂b_i = r_i`, `∂/∂θ_ij = r_i x_j + r_j x_i`.
//!
//! The mean-field likelihood `s(x) + min_Q F(Q)` has the gradient `E[x_i] - m_i` and `E[x_i x_j] - E_Q[x_i x_j]`. A product
//! of factors has `E_Q[x_i x_j] = m_i m_j`, no covariance at all, and following that gradient breaks fair variables
//! into all-alike ones. But mean field does say how means answer to biases, and that is what covariance is
//! (`∂m_j/∂b_i = C_ij`): from `atanh m_i = b_i + Σ_j θ_ij m_j`, the inverse of C is `∂b_i/∂m_j = δ_ij/(1 - m_i²) - θ_ij`
//! (Kappen and Rodríguez 1998). So the gradient vanishes at once for `θ_ij = -(C⁻¹)_ij` and
//! `b_i = atanh m_i - Σ_j θ_ij m_j`, m and C those of the examples: right to first order in the couplings.

use mereo_core::math::{inverse, minimise};
use mereo_core::{Error, Place, Result};

use crate::Boltzmann;

/// Steps of L-BFGS, and the share of the value below which a step no longer counts.
const STEPS: usize = 200;
const TOLERANCE: f64 = 1e-12;

/// Checks examples (`[examples, variables]`, each 1 or -1) and says how many there are.
fn count(edges: &[(usize, usize)], variables: usize, examples: &[i8]) -> Result<usize> {
    if variables == 0 || examples.is_empty() || !examples.len().is_multiple_of(variables) {
        let found = format!("{} values for {variables} variables", examples.len());
        return Err(Error::found(Place::default(), found, "whole examples, at least one"));
    }
    if let Some(at) = examples.iter().position(|x| x.abs() != 1) {
        let place = Place::at_row(at / variables).column(at % variables);
        return Err(Error::found(place, examples[at], "1 or -1"));
    }
    if let Some(&(a, b)) = edges.iter().find(|&&(a, b)| a == b || a.max(b) >= variables) {
        let expected = format!("two of the {variables} variables");
        return Err(Error::found(Place::default(), format!("an edge of {a} and {b}"), expected));
    }
    Ok(examples.len() / variables)
}

fn machine(edges: &[(usize, usize)], variables: usize, x: &[f64]) -> Boltzmann {
    let (bias, strength) = x.split_at(variables);
    let edges = edges.iter().zip(strength).map(|(&(a, b), &s)| (a, b, s)).collect();
    Boltzmann { bias: bias.to_vec(), edges }
}

/// Biases and couplings that make the pseudo-likelihood of examples largest. A ridge of about one
/// example keeps them finite where examples never differ.
///
/// ```
/// use mereo_field::learn::pseudo_likelihood;
/// // Two variables that agree three times in four.
/// let machine = pseudo_likelihood(&[(0, 1)], 2, &[1, 1, 1, 1, -1, -1, 1, -1], 0.0)?;
/// assert!(machine.edges[0].2 > 0.0);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn pseudo_likelihood(
    edges: &[(usize, usize)],
    variables: usize,
    examples: &[i8],
    ridge: f64,
) -> Result<Boltzmann> {
    let n = count(edges, variables, examples)? as f64;
    let mut x = vec![0.0; variables + edges.len()];
    minimise(&mut x, STEPS, TOLERANCE, |x, gradient| {
        pseudo(edges, variables, examples, ridge, x, gradient) / n
    });
    Ok(machine(edges, variables, &x))
}

/// Minus the log pseudo-likelihood with its ridge; the gradient is that of a mean example.
fn pseudo(
    edges: &[(usize, usize)],
    variables: usize,
    examples: &[i8],
    ridge: f64,
    x: &[f64],
    gradient: &mut [f64],
) -> f64 {
    let (bias, strength) = x.split_at(variables);
    let n = (examples.len() / variables) as f64;
    let mut value = 0.5 * ridge * x.iter().map(|x| x * x).sum::<f64>();
    gradient.iter_mut().zip(x).for_each(|(g, x)| *g = ridge * x);
    let mut a = vec![0.0; variables];
    for row in examples.chunks_exact(variables) {
        a.copy_from_slice(bias);
        for (&(i, j), s) in edges.iter().zip(strength) {
            a[i] += s * f64::from(row[j]);
            a[j] += s * f64::from(row[i]);
        }
        for (i, a) in a.iter_mut().enumerate() {
            let seen = f64::from(row[i]);
            // -log sig(2 x a), without overflow.
            let t = -2.0 * seen * *a;
            value += t.max(0.0) + (-t.abs()).exp().ln_1p();
            *a = seen - a.tanh();
            gradient[i] -= *a;
        }
        for (k, &(i, j)) in edges.iter().enumerate() {
            gradient[variables + k] -= a[i] * f64::from(row[j]) + a[j] * f64::from(row[i]);
        }
    }
    gradient.iter_mut().for_each(|g| *g /= n);
    value
}

/// Biases and couplings under which mean field has the means of the examples, and its response to biases
/// their covariances (see above). Examples count with as many fair ones as the ridge says, so that
/// variables which never differ stay finite.
///
/// ```
/// use mereo_field::learn::mean_field_likelihood;
/// let machine = mean_field_likelihood(&[(0, 1)], 2, &[1, 1, 1, 1, -1, -1, 1, -1], 1.0)?;
/// assert!(machine.edges[0].2 > 0.0);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn mean_field_likelihood(
    edges: &[(usize, usize)],
    variables: usize,
    examples: &[i8],
    ridge: f64,
) -> Result<Boltzmann> {
    count(edges, variables, examples)?;
    if !(ridge > 0.0 && ridge.is_finite()) {
        return Err(Error::option("ridge", format!("{ridge} is not above 0")));
    }
    let total = (examples.len() / variables) as f64 + ridge;
    let mut mean = vec![0.0; variables];
    let mut products = vec![0.0; variables * variables];
    for row in examples.chunks_exact(variables) {
        for i in 0..variables {
            mean[i] += f64::from(row[i]) / total;
            for j in 0..variables {
                products[i * variables + j] += f64::from(row[i] * row[j]) / total;
            }
        }
    }
    for i in 0..variables {
        // A fair example agrees with itself and with nothing else.
        products[i * variables + i] += ridge / total;
        for j in 0..variables {
            products[i * variables + j] -= mean[i] * mean[j];
        }
    }
    let (precision, _) = inverse(&products, variables).ok_or_else(|| {
        Error::option("ridge", "variables go together without exception; choose a larger one")
    })?;
    let mut found = machine(edges, variables, &vec![0.0; variables + edges.len()]);
    for (b, m) in found.bias.iter_mut().zip(&mean) {
        *b = m.atanh();
    }
    for (a, b, strength) in &mut found.edges {
        *strength = -precision[*a * variables + *b];
        found.bias[*a] -= *strength * mean[*b];
        found.bias[*b] -= *strength * mean[*a];
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::{MeanFieldParams, mean_field};
    use mereo_core::{Context, draw};

    const EDGES: [(usize, usize); 5] = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)];

    fn draws(machine: &Boltzmann, n: usize) -> Vec<i8> {
        let v = machine.bias.len();
        let mut random = Context::new(1).random("draws", [0, 0]);
        let score = |state: usize| {
            let sign = |i: usize| if state >> i & 1 == 1 { 1.0 } else { -1.0 };
            let own: f64 = machine.bias.iter().enumerate().map(|(i, b)| b * sign(i)).sum();
            own + machine.edges.iter().map(|&(i, j, s)| s * sign(i) * sign(j)).sum::<f64>()
        };
        let weights: Vec<f64> = (0..1 << v).map(|s| score(s).exp()).collect();
        (0..n)
            .flat_map(|_| {
                let state = draw(&weights, &mut random).unwrap();
                (0..v).map(move |i| if state >> i & 1 == 1 { 1 } else { -1 })
            })
            .collect()
    }

    fn truth() -> Boltzmann {
        let strength = [0.5, -0.3, 0.4, 0.2, -0.2];
        let edges = EDGES.iter().zip(strength).map(|(&(a, b), s)| (a, b, s)).collect();
        Boltzmann { bias: vec![0.1, -0.2, 0.3, 0.0], edges }
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        let examples = draws(&truth(), 50);
        let x: Vec<f64> = (0..9).map(|k| 0.1 * f64::from(k) - 0.3).collect();
        let (mut g, mut unused) = (vec![0.0; 9], vec![0.0; 9]);
        pseudo(&EDGES, 4, &examples, 0.7, &x, &mut g);
        for k in 0..9 {
            let mut at = |h: f64| {
                let mut y = x.clone();
                y[k] += h;
                pseudo(&EDGES, 4, &examples, 0.7, &y, &mut unused) / 50.0
            };
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((slope - g[k]).abs() < 1e-7, "{k}: {slope} {}", g[k]);
        }
    }

    #[test]
    fn pseudo_likelihood_finds_the_truth() {
        let truth = truth();
        let found = pseudo_likelihood(&EDGES, 4, &draws(&truth, 40_000), 1.0).unwrap();
        for (a, b) in found.edges.iter().zip(&truth.edges) {
            assert!((a.2 - b.2).abs() < 0.03, "{} {}", a.2, b.2);
        }
        assert!(found.bias.iter().zip(&truth.bias).all(|(a, b)| (a - b).abs() < 0.03));
    }

    #[test]
    fn mean_field_likelihood_has_the_means_and_nearly_the_couplings() {
        let (truth, n) = (truth(), 40_000);
        let examples = draws(&truth, n);
        let found = mean_field_likelihood(&EDGES, 4, &examples, 1.0).unwrap();
        let params = MeanFieldParams { sweeps: 2000, ..Default::default() };
        let mean =
            mean_field(&found.field().unwrap(), None, &params, &Context::new(0)).unwrap().marginals;
        for i in 0..4 {
            let seen: f64 = examples.iter().skip(i).step_by(4).map(|x| f64::from(*x)).sum();
            let m = mean.of(i)[1] - mean.of(i)[0];
            assert!((m - seen / n as f64).abs() < 1e-3, "{i}: {m} {}", seen / n as f64);
        }
        for (a, b) in found.edges.iter().zip(&truth.edges) {
            assert!((a.2 - b.2).abs() < 0.2 && a.2 * b.2 > 0.0, "{} {}", a.2, b.2);
        }
    }

    #[test]
    fn what_cannot_be_learned_from_is_named() {
        assert!(pseudo_likelihood(&[], 2, &[1, 1, 1], 0.0).is_err());
        assert!(pseudo_likelihood(&[], 2, &[1, 0], 0.0).is_err());
        assert!(pseudo_likelihood(&[(0, 2)], 2, &[1, 1], 0.0).is_err());
        assert!(mean_field_likelihood(&[], 1, &[1], 0.0).is_err());
        let alike = mean_field_likelihood(&[(0, 1)], 2, &[1, 1, 1, 1], 1.0).unwrap();
        assert!(alike.edges[0].2.is_finite() && alike.bias[0] > 0.0);
        let constant = pseudo_likelihood(&[(0, 1)], 2, &[1, 1, 1, 1], 1.0).unwrap();
        assert!(constant.bias.iter().all(|b| b.is_finite()));
    }
}
