//! What a map is made of: rows, or distances alone.

use mereo_core::Result;

use crate::rows::square_distance;
use crate::{Distances, Rows};

/// What a map is made of.
#[derive(Debug, Clone, Copy)]
pub enum Given<'a> {
    /// Rows, whose distances are Euclidean.
    Rows(&'a Rows),
    /// Distances alone.
    Distances(&'a Distances),
}

/// The same, owned.
pub(crate) enum Owned {
    Rows(Rows),
    Distances(Distances),
}

impl Owned {
    pub(crate) fn lend(&self) -> Given<'_> {
        match self {
            Self::Rows(rows) => Given::Rows(rows),
            Self::Distances(distances) => Given::Distances(distances),
        }
    }
}

impl Given<'_> {
    /// How many rows or things there are.
    pub fn count(&self) -> usize {
        match self {
            Self::Rows(rows) => rows.rows(),
            Self::Distances(distances) => distances.count(),
        }
    }

    /// How often each counts, if not once.
    pub fn weights(&self) -> Option<&[f64]> {
        match self {
            Self::Rows(rows) => rows.weights(),
            Self::Distances(distances) => distances.weights(),
        }
    }

    /// The squared distance of two.
    pub fn square(&self, i: usize, j: usize) -> f64 {
        match self {
            Self::Rows(rows) => square_distance(rows.row(i), rows.row(j)),
            Self::Distances(distances) => distances.between(i, j).powi(2),
        }
    }

    /// Some of them, with these weights or their own.
    pub(crate) fn select(&self, some: &[usize], weights: Option<Vec<f64>>) -> Result<Owned> {
        Ok(match self {
            Self::Rows(rows) => {
                let rows = rows.select(some);
                Owned::Rows(match weights {
                    None => rows,
                    Some(weights) => rows.with_weights(weights)?,
                })
            }
            Self::Distances(distances) => {
                let distances = distances.select(some);
                Owned::Distances(match weights {
                    None => distances,
                    Some(weights) => distances.with_weights(weights)?,
                })
            }
        })
    }

    /// A few facts that tell these from others, for checkpoints.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut sum = 0xcbf2_9ce4_8422_2325u64;
        let mut add = |word: u64| {
            sum = (sum ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(5);
        };
        add(self.count() as u64);
        match self {
            Self::Rows(rows) => {
                rows.centre().iter().chain(rows.values()).for_each(|v| add(v.to_bits()));
            }
            Self::Distances(distances) => {
                (0..distances.count())
                    .flat_map(|i| distances.from(i))
                    .for_each(|v| add(v.to_bits()));
            }
        }
        self.weights().into_iter().flatten().for_each(|v| add(v.to_bits()));
        sum
    }
}
