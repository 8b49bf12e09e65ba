//! Means that are hardly missed, moved to where they are needed.
//!
//! k-means ends where no mean can move a little and gain, with two means in one cluster and one mean in two. Both show in what a
//! pass sees anyway. To remove mean s would cost `Σ w (d₂² - d₁²)` over the rows nearest to it, which would go to their second
//! nearest; its own error is `Σ w d₁²`. A *swap* takes the few means of the least cost and puts each beside one of the few of
//! the largest error, the two a little apart in a random direction, for the next passes to tell which rows are whose. Whether that
//! was good is for the [loop](crate::Learner::jump) to judge. After each that was given up one fewer is moved, and when
//! none is left the search is over.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::LloydState;
use crate::{Context, Pass};

/// Means that are moved at once, at most.
const MOST: usize = 5;
/// Swaps are tried when a pass lowers the distortion by less than this share of it.
const GAIN: f64 = 1e-3;
/// How far two means that share a cluster are from its middle, as a share of its deviation.
const APART: f64 = 0.5;

/// What a pass tells of how much every mean is needed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Needs {
    /// What all rows would lose without it, `[S]`.
    pub(super) loss: Vec<f64>,
    /// The squared distances of its rows, `[S]`.
    pub(super) error: Vec<f64>,
}

impl Needs {
    pub(super) fn new(slots: usize) -> Self {
        Self { loss: vec![0.0; slots], error: vec![0.0; slots] }
    }

    pub(super) fn add(&mut self, slot: usize, weight: f64, nearest: f64, second: f64) {
        let nearest = nearest.max(0.0);
        // With one mean there is no second, and it stays.
        let loss = weight * (second - nearest).max(0.0);
        if weight > 0.0 && nearest.is_finite() {
            self.loss[slot] += loss;
            self.error[slot] += weight * nearest;
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.loss.iter_mut().zip(&other.loss).for_each(|(a, b)| *a += b);
        self.error.iter_mut().zip(&other.error).for_each(|(a, b)| *a += b);
    }

    pub(super) fn reset(&mut self) {
        self.loss.fill(0.0);
        self.error.fill(0.0);
    }

    /// Pairs of slots among these: one to move, and one to move it to.
    fn swaps(&self, slots: std::ops::Range<usize>, failed: usize) -> Vec<(usize, usize)> {
        let count = MOST.min(slots.len() / 2).saturating_sub(failed);
        let mut by_loss: Vec<usize> = slots.clone().collect();
        by_loss.sort_by(|&a, &b| self.loss[a].total_cmp(&self.loss[b]));
        by_loss.truncate(count);
        let mut by_error: Vec<usize> = slots.filter(|slot| !by_loss.contains(slot)).collect();
        by_error.sort_by(|&a, &b| self.error[b].total_cmp(&self.error[a]));
        let pairs = by_loss.into_iter().zip(by_error);
        // Where nothing is gained even if all of the error went, nothing is moved.
        pairs.filter(|&(from, to)| self.error[to] > self.loss[from]).collect()
    }
}

/// Whether a pass that raised the bound of this many cells by so much has so little left to gain that
/// swaps are worth a try: the bound is `-(N/2) log E` and what does not change.
pub(super) fn are_due(gain: f64, cells: f64) -> bool {
    2.0 * gain <= GAIN * cells
}

/// The means `[S, D]` after swaps in every group of `states` slots; nothing if there are none to try.
pub(super) fn swapped(
    LloydState { mean, usage, .. }: &LloydState,
    needs: &Needs,
    unit: &[f64],
    in_group: impl Fn(usize, usize) -> bool,
    states: usize,
    failed: usize,
    (seed, pass): (u64, Pass),
) -> Option<Vec<f64>> {
    let columns = unit.len();
    let mut out = mean.clone();
    let mut any = false;
    for group in 0..usage.len() / states {
        let own: Vec<usize> = (0..columns).filter(|&d| in_group(d, group)).collect();
        for (from, to) in needs.swaps(group * states..(group + 1) * states, failed) {
            any = true;
            let number = pass.pass as u64 * usage.len() as u64 + from as u64;
            let mut random = Context::new(seed).random("swap", [pass.restart as u64, number]);
            let deviation = (needs.error[to] / (usage[to] * own.len() as f64).max(1e-300)).sqrt();
            out.copy_within(to * columns..(to + 1) * columns, from * columns);
            for &d in &own {
                let apart =
                    APART * deviation * unit[d].sqrt() * (2.0 * random.random::<f64>() - 1.0);
                out[from * columns + d] += apart;
                out[to * columns + d] -= apart;
            }
        }
    }
    any.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_that_is_missed_least_goes_where_the_error_is_largest() {
        let needs = Needs { loss: vec![9.0, 0.5, 8.0, 7.0], error: vec![1.0, 0.2, 30.0, 2.0] };
        assert_eq!(needs.swaps(0..4, 1), [(1, 2)]);
        assert_eq!(needs.swaps(0..4, 0), [(1, 2)], "a second swap could only lose");
        assert_eq!(needs.swaps(0..4, 2), []);
        assert_eq!(needs.swaps(0..1, 0), [], "the only mean stays");
        let pass = Pass { restart: 0, pass: 3 };
        let state = LloydState::new(vec![0.0, 1.0, 2.0, 3.0], vec![5.0; 4]);
        let moved = swapped(&state, &needs, &[1.0], |_, _| true, 4, 0, (0, pass)).unwrap();
        assert_eq!((moved[0], moved[3]), (0.0, 3.0));
        assert!((moved[1] + moved[2] - 4.0).abs() < 1e-12 && moved[1] != moved[2], "{moved:?}");
    }

    #[test]
    fn rows_far_out_or_of_no_weight_need_nothing() {
        let mut needs = Needs::new(1);
        needs.add(0, 0.0, 3.0, 4.0);
        needs.add(0, 1.0, f64::INFINITY, f64::INFINITY);
        assert_eq!((needs.loss[0], needs.error[0]), (0.0, 0.0));
        needs.add(0, 2.0, 3.0, 4.0);
        assert_eq!((needs.loss[0], needs.error[0]), (2.0, 6.0));
    }
}
