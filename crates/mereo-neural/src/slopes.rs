//! A bound and its gradient, added up over rows.

use mereo_core::{Real, Statistics};
use serde::{Deserialize, Serialize};

/// A bound and its gradient, added up.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct Slopes<T> {
    pub(crate) bound: f64,
    pub(crate) gradient: Vec<T>,
}

impl<T: Real> Slopes<T> {
    pub(crate) fn new(parameters: usize) -> Self {
        Self { bound: 0.0, gradient: vec![T::ZERO; parameters] }
    }
}

impl<T: Real> Statistics for Slopes<T> {
    fn merge(&mut self, other: &Self) {
        self.bound += other.bound;
        let own = self.gradient.iter_mut().zip(&other.gradient);
        own.for_each(|(own, &theirs)| *own += theirs);
    }

    fn reset(&mut self) {
        self.bound = 0.0;
        self.gradient.fill(T::ZERO);
    }
}
