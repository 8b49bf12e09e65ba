//! Gibbs sampling: each variable in turn is drawn given its neighbours.
//!
//! After many sweeps joint states come as often as they are probable. Marginals are averages of the
//! conditional distributions `P(x_i | neighbours)` that variables were drawn from, which vary less than
//! counts of what was drawn. Several chains start apart from each other.

use mereo_core::math::softmax;
use mereo_core::{Context, Error, Result, draw, map_in_parallel};

use crate::{Inferred, Kind, Marginals, Pairwise};

/// How long is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct GibbsParams {
    /// Sweeps before anything counts.
    pub burn_in: usize,
    /// Sweeps that count.
    pub sweeps: usize,
    /// Chains with starts of their own.
    pub chains: usize,
}

impl Default for GibbsParams {
    fn default() -> Self {
        Self { burn_in: 200, sweeps: 2000, chains: 4 }
    }
}

/// Marginals from draws.
///
/// ```
/// use mereo_core::Context;
/// use mereo_field::{Field, infer};
/// let mut field = Field::new(vec![vec![0.0, 1.0], vec![0.0, 0.0]])?;
/// field.couple(0, 1, vec![0.5, -0.5, -0.5, 0.5])?;
/// let drawn = infer::gibbs(&field, &Default::default(), &Context::new(0))?;
/// let exact = infer::enumerate(&field)?;
/// assert!((drawn.marginals.of(1)[1] - exact.marginals.of(1)[1]).abs() < 0.02);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn gibbs<F: Pairwise>(field: &F, params: &GibbsParams, context: &Context) -> Result<Inferred> {
    if params.chains == 0 || params.sweeps == 0 {
        return Err(Error::option("sweeps", "at least 1 chain and 1 sweep that counts are needed"));
    }
    let chains = context.install(|| {
        map_in_parallel(params.chains, |chain| one_chain(field, params, chain, context))
    });
    let mut marginals = Marginals::new((0..field.variables()).map(|i| field.labels(i)));
    for i in 0..field.variables() {
        for chain in &chains {
            marginals.of_mut(i).iter_mut().zip(chain.of(i)).for_each(|(p, c)| *p += c);
        }
        let sum: f64 = marginals.of(i).iter().sum();
        if sum > 0.0 {
            marginals.of_mut(i).iter_mut().for_each(|p| *p /= sum);
        } else {
            // Stopped before anything counted.
            let labels = field.labels(i) as f64;
            marginals.of_mut(i).fill(1.0 / labels);
        }
    }
    let converged = !context.stop().asked();
    Ok(Inferred { marginals, log_z: None, kind: Kind::Estimate, trace: Vec::new(), converged })
}

fn one_chain<F: Pairwise>(
    field: &F,
    params: &GibbsParams,
    chain: usize,
    context: &Context,
) -> Marginals {
    let n = field.variables();
    let mut sums = Marginals::new((0..n).map(|i| field.labels(i)));
    let mut random = context.random("gibbs", [chain as u64, 0]);
    let mut weights = Vec::new();
    // The first chain starts at the likeliest labels, others anywhere.
    let mut labels: Vec<usize> = (0..n)
        .map(|i| match chain {
            0 => crate::pairwise::largest(field.unary(i)),
            _ => draw(&vec![1.0; field.labels(i)], &mut random).unwrap_or(0),
        })
        .collect();
    for sweep in 0..params.burn_in + params.sweeps {
        if context.stop().asked() {
            break;
        }
        for i in 0..n {
            weights.clear();
            weights.extend_from_slice(field.unary(i));
            for link in field.links(i) {
                field.add_given(link, labels[link.to], &mut weights);
            }
            softmax(&mut weights);
            labels[i] = draw(&weights, &mut random).unwrap_or(0);
            if sweep >= params.burn_in {
                sums.of_mut(i).iter_mut().zip(&weights).for_each(|(s, w)| *s += w);
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::enumerate;
    use crate::testing::random_field;

    #[test]
    fn draws_come_as_often_as_they_are_probable() {
        for seed in 0..20 {
            let context = Context::new(seed);
            let field = random_field(&context, 5, 3, 1.0);
            let (drawn, exact) = (
                gibbs(&field, &GibbsParams::default(), &context).unwrap(),
                enumerate(&field).unwrap(),
            );
            let pairs = drawn.marginals.values().iter().zip(exact.marginals.values());
            let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst < 0.03, "seed {seed}: {worst}");
        }
    }

    #[test]
    fn threads_change_nothing() {
        let field = random_field(&Context::new(1), 5, 3, 1.0);
        let on = |threads| {
            let context = Context::new(1).with_threads(threads).unwrap();
            gibbs(&field, &GibbsParams::default(), &context).unwrap()
        };
        assert_eq!(on(1), on(3));
    }
}
