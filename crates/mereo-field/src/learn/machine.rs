//! Boltzmann machines from examples.
//!
//! With `a_i = b_i + Σ_j θ_ij x_j` the pseudo-likelihood of an example is `Σ_i log sig(2 x_i a_i)`, and with
//! `r_i = x_i - tanh a_i` its gradient `∂/∂b_i = r_i`, `∂/∂θ_ij = r_i x_j + r_j x_i`. The mean-field likelihood
//! has `E[x_i] - m_i` and `E[x_i x_j] - m_i m_j`, m the means of mean field.

use mereo_core::math::minimise;
use mereo_core::{Context, Error, Place, Result};

use crate::Boltzmann;
use crate::infer::{MeanFieldParams, mean_field};

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

/// Biases and couplings that make the mean-field likelihood of examples largest, as far as steps
/// along its gradient find it: mean field's bound is not concave. Starts where pseudo-likelihood ends.
///
/// Mean field knows no covariance, so what neighbours have in common beyond their means has to come from
/// the means: where variables are about as often 1 as -1, couplings come out too strong. It serves where
/// biases, or what was observed, decide most variables; pseudo-likelihood is the better choice elsewhere.
pub fn mean_field_likelihood(
    edges: &[(usize, usize)],
    variables: usize,
    examples: &[i8],
    ridge: f64,
    context: &Context,
) -> Result<Boltzmann> {
    let n = count(edges, variables, examples)? as f64;
    let mut seen = vec![0.0; variables + edges.len()];
    for row in examples.chunks_exact(variables) {
        for (s, x) in seen.iter_mut().zip(row) {
            *s += f64::from(*x) / n;
        }
        for (k, &(i, j)) in edges.iter().enumerate() {
            seen[variables + k] += f64::from(row[i] * row[j]) / n;
        }
    }
    let start = pseudo_likelihood(edges, variables, examples, ridge.max(1.0))?;
    let mut x: Vec<f64> = start.bias;
    x.extend(start.edges.iter().map(|e| e.2));
    let ridge = ridge / n;
    let params =
        MeanFieldParams { sweeps: 500, tolerance: 1e-10, trace: false, ..Default::default() };
    minimise(&mut x, STEPS, TOLERANCE, |x, gradient| {
        let field = machine(edges, variables, x).field();
        let mean = field.and_then(|field| mean_field(&field, None, &params, context));
        // Steps beyond what a field can hold are refused.
        let Ok(mean) = mean else { return f64::INFINITY };
        let m: Vec<f64> =
            (0..variables).map(|i| mean.marginals.of(i)[1] - mean.marginals.of(i)[0]).collect();
        let mut value = mean.log_z.unwrap_or(f64::INFINITY);
        for (at, (g, x)) in gradient.iter_mut().zip(x).enumerate() {
            let expected = match at.checked_sub(variables) {
                None => m[at],
                Some(edge) => m[edges[edge].0] * m[edges[edge].1],
            };
            value += 0.5 * ridge * x * x - x * seen[at];
            *g = expected - seen[at] + ridge * x;
        }
        value
    });
    Ok(machine(edges, variables, &x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mereo_core::draw;

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
    fn mean_field_likelihood_matches_means_that_are_decided() {
        let biased = Boltzmann { bias: vec![0.9, -1.0, 0.8, -0.7], ..truth() };
        let examples = draws(&biased, 5000);
        let found = mean_field_likelihood(&EDGES, 4, &examples, 5.0, &Context::new(0)).unwrap();
        let field = found.field().unwrap();
        let params = MeanFieldParams { sweeps: 2000, ..Default::default() };
        let mean = mean_field(&field, None, &params, &Context::new(0)).unwrap();
        for i in 0..4 {
            let seen: f64 = examples.iter().skip(i).step_by(4).map(|x| f64::from(*x)).sum();
            let m = mean.marginals.of(i)[1] - mean.marginals.of(i)[0];
            assert!((m - seen / 5000.0).abs() < 0.05, "{i}: {m} {}", seen / 5000.0);
        }
    }

    #[test]
    fn what_cannot_be_learned_from_is_named() {
        assert!(pseudo_likelihood(&[], 2, &[1, 1, 1], 0.0).is_err());
        assert!(pseudo_likelihood(&[], 2, &[1, 0], 0.0).is_err());
        assert!(pseudo_likelihood(&[(0, 2)], 2, &[1, 1], 0.0).is_err());
        let constant = pseudo_likelihood(&[(0, 1)], 2, &[1, 1, 1, 1], 1.0).unwrap();
        assert!(constant.bias.iter().all(|b| b.is_finite()));
    }
}
