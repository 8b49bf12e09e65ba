//! Every joint state, one after another: exact, for small fields.

use mereo_core::{Error, Result};

use crate::{Decided, Inferred, Kind, Marginals, Pairwise};

/// Most joint states that are gone through.
const MOST_STATES: f64 = (1u64 << 24) as f64;

/// Marginals and log Z by adding up all joint states.
///
/// ```
/// use mereo_field::{Field, infer};
/// let field = Field::new(vec![vec![0.0, 3f64.ln()]])?;
/// let exact = infer::enumerate(&field)?;
/// assert!((exact.marginals.of(0)[1] - 0.75).abs() < 1e-12);
/// assert!((exact.log_z.unwrap() - 4f64.ln()).abs() < 1e-12);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn enumerate<F: Pairwise>(field: &F) -> Result<Inferred> {
    // Weights are relative to the best state, so that none overflows.
    let most = -enumerate_best(field)?.energy;
    let mut marginals = Marginals::new((0..field.variables()).map(|i| field.labels(i)));
    let mut z = 0.0;
    for_each_state(field, |labels, score| {
        let weight = (score - most).exp();
        z += weight;
        for (i, &m) in labels.iter().enumerate() {
            marginals.of_mut(i)[m] += weight;
        }
    });
    for i in 0..field.variables() {
        marginals.of_mut(i).iter_mut().for_each(|p| *p /= z);
    }
    let log_z = Some(most + z.ln());
    Ok(Inferred { marginals, log_z, kind: Kind::Exact, trace: Vec::new(), converged: true })
}

/// The state of least energy, the first of equals.
pub fn enumerate_best<F: Pairwise>(field: &F) -> Result<Decided> {
    check(field)?;
    let (mut best, mut most) = (vec![0; field.variables()], f64::NEG_INFINITY);
    for_each_state(field, |labels, score| {
        if score > most {
            most = score;
            best.copy_from_slice(labels);
        }
    });
    Ok(Decided::exact(best, -most))
}

fn check<F: Pairwise>(field: &F) -> Result<()> {
    let states: f64 = (0..field.variables()).map(|i| field.labels(i) as f64).product();
    if states > MOST_STATES {
        let problem = format!(
            "the field has {states:.3e} joint states, and at most {MOST_STATES:.0} can be gone \
             through one by one; choose mean-field, bp or gibbs"
        );
        return Err(Error::option("method", problem));
    }
    Ok(())
}

/// The last variable changes fastest; the score is kept up to date level by level.
fn for_each_state<F: Pairwise>(field: &F, mut visit: impl FnMut(&[usize], f64)) {
    let n = field.variables();
    let mut labels = vec![0; n];
    // Score of the first i variables and the edges between them.
    let mut scores = vec![0.0; n + 1];
    let mut at = 0;
    loop {
        while at < n {
            let mut score = scores[at] + field.unary(at)[labels[at]];
            for link in field.links(at).filter(|link| link.to < at) {
                score += field.pair(link, labels[at], labels[link.to]);
            }
            scores[at + 1] = score;
            at += 1;
        }
        visit(&labels, scores[n]);
        loop {
            if at == 0 {
                return;
            }
            at -= 1;
            labels[at] += 1;
            if labels[at] < field.labels(at) {
                break;
            }
            labels[at] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Field;
    use crate::testing::{random_field, states};
    use mereo_core::Context;

    #[test]
    fn every_state_is_visited_once_with_its_score() {
        let field = random_field(&Context::new(3), 5, 4, 2.0);
        let mut seen = Vec::new();
        for_each_state(&field, |x, s| seen.push((x.to_vec(), s)));
        let all = states(&field);
        assert_eq!(seen.iter().map(|s| s.0.clone()).collect::<Vec<_>>(), all);
        assert!(seen.iter().all(|(x, s)| (field.score(x) - s).abs() < 1e-12));
    }

    #[test]
    fn a_field_of_nothing_has_one_state() {
        let exact = enumerate(&Field::new(vec![]).unwrap()).unwrap();
        assert_eq!(exact.log_z, Some(0.0));
    }

    #[test]
    fn too_many_states_are_refused() {
        let field = Field::new(vec![vec![0.0; 2]; 40]).unwrap();
        assert!(enumerate(&field).unwrap_err().to_string().contains("mean-field"));
    }
}
