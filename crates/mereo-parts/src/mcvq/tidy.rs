//! Leaving out what a found size has too much of: parts without columns, and states that look alike.
//!
//! All parts have as many states as the one that needs most. Where a part needs fewer, the rest end as copies of others,
//! which cost nothing in the bound and mislead whoever reads them. Two states a and b of a part, with the shares
//! `w_a + w_b = 1` of the rows that show either, become one with the moments of both. What that loses in the bound is at most
//! what cells tell of which of the two it was, `C (π_a + π_b) Σ_d g_d w_a KL(P_a ‖ P) + w_b KL(P_b ‖ P)`, with P the merged
//! state, the best of its family:
//!
//! - numbers: `½ log v - ½ w_a log v_a - ½ w_b log v_b`, where `v = w_a v_a + w_b v_b + w_a w_b (μ_a - μ_b)²`: by the
//!   moments of P, quadratic terms cancel;
//! - counts: `w_a λ_a log(λ_a/λ) + w_b λ_b log(λ_b/λ)`, where `λ = w_a λ_a + w_b λ_b`;
//! - words: `Σ_l w_a p_al log(p_al/p_l) + w_b p_bl log(p_bl/p_l)`, where `p = w_a p_a + w_b p_b`.
//!
//! What it saves is the telling of a state, `½ log n_d` nats for each number of it in each column as far as the column is the
//! part's, and `½ log C` for its prior. States are merged, the clearest first, as long as that saves more than it
//! loses: the description length that the [size](super::size) was chosen by falls. Learning then goes on from there, so
//! that the bound is that of the model.

use mereo_core::Real;
use mereo_core::slots::{Family, Kinds, Survey};

use super::learner::State;

/// A part that has less of all columns together is none.
const LEAST_COLUMNS: f64 = 0.5;
/// A state that fewer rows show is none.
const LEAST_ROWS: f64 = 0.5;

/// One state: its prior, `[D]`, `[D]` and `[W]`.
#[derive(Debug, Clone)]
struct Look {
    prior: f64,
    mean: Vec<f64>,
    variance: Vec<f64>,
    level: Vec<f64>,
}

impl Look {
    /// Both as one, and how many nats a row of theirs that loses in each column.
    fn with(&self, other: &Self, kinds: &Kinds) -> (Self, Vec<f64>) {
        let prior = self.prior + other.prior;
        let (a, b) = (self.prior / prior, other.prior / prior);
        let mix = |x: &[f64], y: &[f64]| -> Vec<f64> {
            x.iter().zip(y).map(|(x, y)| a * x + b * y).collect()
        };
        let mut both = Self {
            prior,
            mean: mix(&self.mean, &other.mean),
            variance: mix(&self.variance, &other.variance),
            level: mix(&self.level, &other.level),
        };
        let relative = |p: f64, whole: f64| if p > 0.0 { p * (p / whole).ln() } else { 0.0 };
        let mut lost = vec![0.0; kinds.columns()];
        for (d, lost) in lost.iter_mut().enumerate() {
            *lost = match kinds.family(d) {
                Family::Number => {
                    let apart = self.mean[d] - other.mean[d];
                    both.variance[d] += a * b * apart * apart;
                    let log = |v: f64| v.max(f64::MIN_POSITIVE).ln();
                    0.5 * (log(both.variance[d])
                        - a * log(self.variance[d])
                        - b * log(other.variance[d]))
                }
                Family::Count => {
                    a * relative(self.mean[d], both.mean[d])
                        + b * relative(other.mean[d], both.mean[d])
                }
                Family::Words { first, levels, .. } => (first..first + levels)
                    .map(|l| {
                        a * relative(self.level[l], both.level[l])
                            + b * relative(other.level[l], both.level[l])
                    })
                    .sum(),
            };
            *lost = lost.max(0.0);
        }
        (both, lost)
    }
}

/// What is left of a state of so many parts and states: its parts, its states, and itself; nothing if all of it is
/// needed. Parts and states of which a number was asked for stay.
pub(super) fn tidied<T: Real>(
    state: &State,
    [parts, states]: [usize; 2],
    [some_parts, some_states]: [bool; 2],
    survey: &Survey<T>,
) -> Option<(usize, usize, State)> {
    let (kinds, moments) = (&survey.typical.kinds, &survey.moments);
    let (columns, width) = (kinds.columns(), kinds.width());
    let gate = |d: usize, part: usize| state.gate[d * parts + part];
    let size = |part: usize| (0..columns).map(|d| gate(d, part)).sum::<f64>();
    let mut kept: Vec<usize> =
        (0..parts).filter(|&part| !some_parts || size(part) >= LEAST_COLUMNS).collect();
    if kept.is_empty() {
        kept.push((0..parts).max_by(|&a, &b| size(a).total_cmp(&size(b)))?);
    }
    let looks_of = |part: usize| -> Vec<Look> {
        let look = |slot: usize| Look {
            prior: state.state_prior[slot],
            mean: state.mean[slot * columns..(slot + 1) * columns].to_vec(),
            variance: state.variance[slot * columns..(slot + 1) * columns].to_vec(),
            level: state.level[slot * width..(slot + 1) * width].to_vec(),
        };
        let all: Vec<Look> = (part * states..(part + 1) * states).map(look).collect();
        if !some_states {
            return all;
        }
        // The worth of each column: how many nats of it count.
        let own: Vec<f64> = (0..columns)
            .map(|d| gate(d, part) * moments.weight[d] / moments.rows.max(1.0))
            .collect();
        let saved = 0.5 * moments.rows.max(1.0).ln()
            + (0..columns)
                .map(|d| {
                    let numbers = kinds.free_parameters_of(d) as f64;
                    0.5 * gate(d, part) * numbers * moments.weight[d].max(1.0).ln()
                })
                .sum::<f64>();
        merged(all, kinds, moments.rows, &own, saved)
    };
    let looks: Vec<Vec<Look>> = kept.iter().map(|&part| looks_of(part)).collect();
    let most = looks.iter().map(Vec::len).max()?;
    if kept.len() == parts && looks.iter().all(|own| own.len() == states) {
        return None;
    }
    let mut left = State {
        gate: Vec::new(),
        state_prior: Vec::new(),
        mean: Vec::new(),
        variance: Vec::new(),
        level: Vec::new(),
        observed: Vec::new(),
        ..state.clone()
    };
    for d in 0..columns {
        let all: f64 = kept.iter().map(|&part| gate(d, part)).sum();
        let share = |&part: &usize| {
            if all > 0.0 { gate(d, part) / all } else { 1.0 / kept.len() as f64 }
        };
        left.gate.extend(kept.iter().map(share));
    }
    for own in &looks {
        let all: f64 = own.iter().map(|look| look.prior).sum();
        for j in 0..most {
            // A state that nobody shows looks like another, and its prior is 0.
            let look = own.get(j).or(own.first())?;
            left.state_prior.push(if j < own.len() { look.prior / all } else { 0.0 });
            left.mean.extend(&look.mean);
            left.variance.extend(&look.variance);
            left.level.extend(&look.level);
        }
    }
    Some((kept.len(), most, left))
}

/// States of a part, those that look alike as one.
fn merged(mut looks: Vec<Look>, kinds: &Kinds, rows: f64, own: &[f64], saved: f64) -> Vec<Look> {
    let most = (0..looks.len()).max_by(|&a, &b| looks[a].prior.total_cmp(&looks[b].prior));
    let most = most.map(|at| looks[at].clone());
    looks.retain(|look| look.prior * rows >= LEAST_ROWS);
    if looks.is_empty() {
        return most.into_iter().map(|look| Look { prior: 1.0, ..look }).collect();
    }
    let gain = |a: &Look, b: &Look| {
        let (both, lost) = a.with(b, kinds);
        let lost: f64 = lost.iter().zip(own).map(|(lost, own)| lost * own).sum();
        saved - rows * both.prior * lost
    };
    let mut gains: Vec<Vec<f64>> =
        (0..looks.len()).map(|a| (0..a).map(|b| gain(&looks[a], &looks[b])).collect()).collect();
    loop {
        let mut best = (0.0, 0, 0);
        for (a, gains) in gains.iter().enumerate() {
            for (b, &gain) in gains.iter().enumerate() {
                if gain > best.0 {
                    best = (gain, a, b);
                }
            }
        }
        let (gained, a, b) = best;
        if gained <= 0.0 {
            return looks;
        }
        // The later one goes into the earlier.
        let gone = looks.remove(a);
        gains.remove(a);
        gains.iter_mut().skip(a).for_each(|gains| {
            gains.remove(a);
        });
        looks[b] = looks[b].with(&gone, kinds).0;
        for other in 0..looks.len() {
            let (high, low) = (other.max(b), other.min(b));
            if high != low {
                gains[high][low] = gain(&looks[high], &looks[low]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use mereo_core::{ColumnKind, Context, Dense, Table};

    use super::*;

    /// A hundred rows of a number and a word, half of them like this and half like that.
    fn survey() -> Survey<f64> {
        let cells = (0..100).flat_map(|i| {
            let half = f64::from(i % 2);
            [20.0 * half + f64::from(i % 5), half]
        });
        let levels = vec!["this".to_owned(), "that".to_owned()];
        let kinds = vec![ColumnKind::Number, ColumnKind::Category { levels }];
        let table = Table::from(Dense::new(100, 2, cells.collect()).unwrap());
        Survey::of_kinds(&table.with_kinds(kinds).unwrap(), &Context::new(0)).unwrap()
    }

    /// Two parts of three states: the first has both columns, and its last two states are one.
    fn state(third: f64) -> State {
        State {
            gate: vec![1.0, 0.0, 1.0, 0.0],
            state_prior: vec![0.5, 0.3, 0.2, 0.4, 0.3, 0.3],
            mean: [2.0, 0.1, 22.0, 0.9, third, 0.9]
                .into_iter()
                .chain([12.0, 0.5].repeat(3))
                .collect(),
            variance: vec![2.0; 12],
            level: [0.9, 0.1, 0.1, 0.9, 0.1, 0.9].into_iter().chain([0.5; 6]).collect(),
            observed: Vec::new(),
            reseeds: 0,
            classes: None,
        }
    }

    #[test]
    fn copies_become_one_and_an_empty_part_is_left_out() {
        let (parts, states, left) = tidied(&state(22.0), [2, 3], [true; 2], &survey()).unwrap();
        assert_eq!((parts, states), (1, 2));
        assert_eq!(left.gate, [1.0, 1.0]);
        assert_eq!(left.state_prior, [0.5, 0.5]);
        let found = left.mean.iter().chain(&left.level);
        for (found, right) in found.zip([2.0, 0.1, 22.0, 0.9, 0.9, 0.1, 0.1, 0.9]) {
            assert!((found - right).abs() < 1e-12, "{found} {right}");
        }
    }

    #[test]
    fn what_was_asked_for_stays() {
        assert!(tidied(&state(22.0), [2, 3], [false; 2], &survey()).is_none());
        let (parts, states, left) = tidied(&state(22.0), [2, 3], [false, true], &survey()).unwrap();
        assert_eq!((parts, states, left.state_prior.len()), (2, 2, 4));
    }

    #[test]
    fn states_that_differ_stay_apart() {
        let (parts, states, left) = tidied(&state(40.0), [2, 3], [true; 2], &survey()).unwrap();
        assert_eq!((parts, states), (1, 3));
        assert_eq!(left.mean, state(40.0).mean[..6]);
    }
}
