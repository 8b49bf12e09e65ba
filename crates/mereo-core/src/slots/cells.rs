//! Single cells under learned slots: their distributions, draws of them.
//!
//! Whoever knows how likely each slot is to have made a cell, `q_s`, knows the cell's distribution: `Σ_s q_s P(x | s)`.

use rand_distr::{Distribution, Poisson, StandardNormal};

use super::densities::Densities;
use super::kinds::{Family, Mixed, words};
use crate::math::softmax;
use crate::{Random, draw};

/// Slots with a look in every column, asked for single cells.
#[derive(Debug)]
pub struct Cells<'a> {
    columns: usize,
    mean: &'a [f64],
    variance: &'a [f64],
    mixed: Option<Mixed<'a>>,
    /// Their densities.
    pub densities: Densities,
}

impl<'a> Cells<'a> {
    /// Slots with these means and variances, `[S, D]`, and shares of levels.
    pub fn new(
        columns: usize,
        mean: &'a [f64],
        variance: &'a [f64],
        mixed: Option<Mixed<'a>>,
    ) -> Self {
        let densities = Densities::of_kinds(columns, mean, variance, mixed);
        Self { columns, mean, variance, mixed, densities }
    }

    fn family(&self, column: usize) -> Family {
        self.mixed.map_or(Family::Number, |mixed| mixed.kinds.family(column))
    }

    fn share(&self, slot: usize, first: usize, levels: usize) -> &'a [f64] {
        self.mixed.map_or(&[], |mixed| &mixed.level[slot * mixed.kinds.width() + first..][..levels])
    }

    /// The number of levels of every column, 0 of those without words.
    pub fn levels(&self) -> Vec<usize> {
        let of = |d: usize| match self.family(d) {
            Family::Words { levels, .. } => levels,
            _ => 0,
        };
        (0..self.columns).map(of).collect()
    }

    /// What slots of these probabilities say of a cell: probabilities of levels, or mean and standard deviation.
    pub fn predict(&self, column: usize, slots: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        if let Family::Words { first, levels, .. } = self.family(column) {
            for (s, &q) in slots.iter().enumerate().filter(|(_, q)| **q > 0.0) {
                let share = self.share(s, first, levels);
                out.iter_mut().zip(share).for_each(|(out, p)| *out += q * p);
            }
            let total: f64 = out.iter().sum();
            out.iter_mut().for_each(|p| *p /= total);
            return;
        }
        // About the mean of the likeliest, so that offsets cost no precision.
        let likeliest = (0..slots.len()).fold(0, |b, s| if slots[s] > slots[b] { s } else { b });
        let centre = self.mean[likeliest * self.columns + column];
        let (mut apart, mut square) = (0.0, 0.0);
        for (s, &q) in slots.iter().enumerate().filter(|(_, q)| **q > 0.0) {
            let i = s * self.columns + column;
            let off = self.mean[i] - centre;
            apart += q * off;
            square += q * (self.variance[i] + off * off);
        }
        out.copy_from_slice(&[centre + apart, (square - apart * apart).max(0.0).sqrt()]);
    }

    /// The number of the level that slots of these probabilities make most probable, the first of equals.
    pub fn most_probable(&self, column: usize, slots: &[f64]) -> f64 {
        let Family::Words { levels, .. } = self.family(column) else { return f64::NAN };
        let mut shares = vec![0.0; levels];
        self.predict(column, slots, &mut shares);
        crate::Prediction::Levels(&shares).value()
    }

    /// The logarithms of the slots' probabilities without one cell, from those of all cells (NaN: it is not among them),
    /// normalised, and the probabilities.
    pub fn without(&self, column: usize, x: f64, joint: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut logs: Vec<f64> = joint.to_vec();
        if !x.is_nan() {
            let own = logs.iter_mut().enumerate();
            own.for_each(|(s, log)| *log -= self.densities.cell(s, column, x));
        }
        let mut shares = logs.clone();
        let norm = softmax(&mut shares);
        logs.iter_mut().for_each(|log| *log -= norm);
        (logs, shares)
    }

    /// What slots of these probabilities expect of a cell: its mean, or the number of the most probable level.
    pub fn expected(&self, column: usize, slots: &[f64]) -> f64 {
        if let Family::Words { .. } = self.family(column) {
            return self.most_probable(column, slots);
        }
        let mut said = [0.0; 2];
        self.predict(column, slots, &mut said);
        said[0]
    }

    /// `log Σ_s q_s P(x | s)`, with the logarithms of the slots' probabilities.
    pub fn log_density(&self, column: usize, log_slots: &[f64], x: f64) -> f64 {
        let logs = log_slots.iter().enumerate();
        let mut logs: Vec<f64> = logs.map(|(s, q)| q + self.densities.cell(s, column, x)).collect();
        softmax(&mut logs)
    }

    /// A cell drawn from a slot.
    pub fn draw(&self, slot: usize, column: usize, random: &mut Random) -> f64 {
        let i = slot * self.columns + column;
        match self.family(column) {
            Family::Number => {
                let normal: f64 = StandardNormal.sample(random);
                self.mean[i] + self.variance[i].sqrt() * normal
            }
            Family::Count => Poisson::new(self.mean[i])
                .map_or_else(|_| self.mean[i].round(), |poisson| poisson.sample(random)),
            Family::Words { first, levels, .. } => {
                draw(self.share(slot, first, levels), random).unwrap_or(0) as f64
            }
        }
    }

    /// What a cell of a slot usually is: its mean, or the number of its most probable level.
    pub fn usual(&self, slot: usize, column: usize) -> f64 {
        match self.family(column) {
            Family::Words { first, levels, .. } => {
                let share = self.share(slot, first, levels);
                let most = (0..levels).fold(0, |b, l| if share[l] > share[b] { l } else { b });
                most as f64
            }
            _ => self.mean[slot * self.columns + column],
        }
    }

    /// Whether a value is one that the column can have: a word must be one of its levels.
    pub fn is_known(&self, column: usize, x: f64) -> bool {
        match self.family(column) {
            Family::Words { levels, .. } => words::shown_level(x, levels).is_some(),
            _ => true,
        }
    }
}
