//! One more cell at a time (JMLR 3.2.1).
//!
//! The evidence for a state is a sum over observed columns, `log b_kj - Σ_d g_dk (½ log σ²_kjd + (x_d - μ_kjd)²/2σ²_kjd)`, so that
//! one more cell adds one term to each state, and one that is taken back subtracts it. A part that has (almost) nothing of the column is not touched:
//! its code stays as it is. That takes microseconds however many cells the row has.

use mereo_core::math::exp_in_place;
use mereo_core::{Error, Place, Result};

use super::model::Mcvq;

/// A part that has less than this of a column learns nothing from it.
const NO_SHARE: f64 = 1e-6;

/// A row whose cells become known one by one, and its code so far.
///
/// ```
/// # use mereo_core::{Manifest, ModelFile, Tensor};
/// # let mut file = ModelFile::new(Manifest::new("mcvq"));
/// # file.insert("gate", Tensor::new(vec![2, 1], vec![1.0, 1.0]));
/// # file.insert("mean", Tensor::new(vec![1, 2, 2], vec![1.0, 1.0, 5.0, 5.0]));
/// # file.insert("variance", Tensor::new(vec![1, 2, 2], vec![1.0; 4]));
/// # file.insert("state_prior", Tensor::new(vec![1, 2], vec![0.5, 0.5]));
/// # let model = mereo_parts::Mcvq::from_file(file, "by hand".as_ref())?;
/// // Two states: people who love both films, and people who loathe them.
/// let mut row = model.begin_row().unwrap();
/// assert_eq!(row.mean(1), 3.0);
/// row.observe(0, 5.0)?;
/// assert!(row.code()[1] > 0.99 && row.mean(1) > 4.9);
/// row.forget(0, 5.0)?;
/// assert!((row.mean(1) - 3.0).abs() < 1e-12);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct GrowingRow<'a> {
    model: &'a Mcvq,
    /// `[K, J]`: what speaks for each state.
    evidence: Vec<f64>,
    /// `[K, J]`.
    code: Vec<f64>,
}

impl Mcvq {
    /// A row of which nothing is known yet; nothing for a model with classes or with gates of rows, in which one cell touches
    /// every part, nor where columns are counts or words.
    pub fn begin_row(&self) -> Option<GrowingRow<'_>> {
        let mixed = self.kinds.mixed().is_some();
        if self.has_gates_of_rows() || self.class_view().is_some() || mixed {
            return None;
        }
        let evidence = self.log_prior();
        let mut code = vec![0.0; evidence.len()];
        let of_parts = evidence.chunks_exact(self.states).zip(code.chunks_exact_mut(self.states));
        of_parts.for_each(|(evidence, code)| find_code(evidence, code));
        Some(GrowingRow { model: self, evidence, code })
    }
}

impl GrowingRow<'_> {
    /// One more cell.
    pub fn observe(&mut self, column: usize, value: f64) -> Result<()> {
        self.add(column, value, 1.0)
    }

    /// Takes back a cell that was observed with this value.
    pub fn forget(&mut self, column: usize, value: f64) -> Result<()> {
        self.add(column, value, -1.0)
    }

    /// The code so far, `[K, J]`.
    pub fn code(&self) -> &[f64] {
        &self.code
    }

    /// What a column is expected to be, `Σ_k g_dk Σ_j m_kj μ_kjd`.
    pub fn mean(&self, column: usize) -> f64 {
        let Mcvq { parts, states, columns, gate, mean, .. } = self.model;
        let gate = &gate[column * parts..(column + 1) * parts];
        let of_parts = gate.iter().zip(self.code.chunks_exact(*states)).enumerate();
        of_parts
            .map(|(part, (gate, code))| {
                let own = mean[part * states * columns + column..].iter().step_by(*columns);
                gate * code.iter().zip(own).map(|(m, mean)| m * mean).sum::<f64>()
            })
            .sum()
    }

    fn add(&mut self, column: usize, value: f64, sign: f64) -> Result<()> {
        // Fields of the model, not all that it can lend out: to find out whether any column is something else than a number takes longer
        // than all of this.
        let Mcvq { parts, states, columns, gate, mean, variance, .. } = self.model;
        if column >= *columns || !value.is_finite() {
            let place = Place::default().column(column);
            let expected = format!("a number in one of {columns} columns");
            return Err(Error::found(place, value, expected));
        }
        let gate = &gate[column * parts..(column + 1) * parts];
        let of_parts =
            self.evidence.chunks_exact_mut(*states).zip(self.code.chunks_exact_mut(*states));
        for (part, ((evidence, code), &gate)) in of_parts.zip(gate).enumerate() {
            if gate < NO_SHARE {
                continue;
            }
            let first = part * states * columns + column;
            let own = mean[first..].iter().step_by(*columns);
            let own = own.zip(variance[first..].iter().step_by(*columns));
            for (e, (mean, variance)) in evidence.iter_mut().zip(own) {
                let apart = value - mean;
                let cost = 0.5 * (variance.ln() + apart * apart / variance);
                // As in batches: what is infinite is evidence as strong as can be.
                *e -= sign * (gate * cost).clamp(-1e300, 1e300);
            }
            find_code(evidence, code);
        }
        Ok(())
    }
}

/// A part's code from what speaks for its states.
fn find_code(evidence: &[f64], code: &mut [f64]) {
    let most = evidence.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for (m, e) in code.iter_mut().zip(evidence) {
        *m = e - most;
    }
    exp_in_place(code);
    let share = 1.0 / code.iter().sum::<f64>();
    code.iter_mut().for_each(|m| *m *= share);
}

#[cfg(test)]
mod tests {
    use mereo_core::{Absent, Context, Manifest, ModelFile, Sparse, Table, Tensor, encode};

    use super::*;

    fn model() -> Mcvq {
        let (k, j, d) = (3, 4, 7);
        let wave = |i: usize, scale: f64| (i as f64 * 12.9898 + scale).sin().abs();
        let mut file = ModelFile::new(Manifest::new("mcvq"));
        let gate: Vec<f64> = (0..d)
            .flat_map(|c| {
                let raw: Vec<f64> = (0..k)
                    .map(|p| if (c + p) % 3 == 2 { 0.0 } else { wave(c * k + p, 1.0) + 0.1 })
                    .collect();
                let total: f64 = raw.iter().sum();
                raw.into_iter().map(move |g| g / total).collect::<Vec<_>>()
            })
            .collect();
        file.insert("gate", Tensor::new(vec![d, k], gate));
        file.insert(
            "mean",
            Tensor::new(vec![k, j, d], (0..k * j * d).map(|i| 5.0 * wave(i, 2.0)).collect()),
        );
        file.insert(
            "variance",
            Tensor::new(vec![k, j, d], (0..k * j * d).map(|i| 0.2 + wave(i, 3.0)).collect()),
        );
        file.insert("state_prior", Tensor::new(vec![k, j], vec![0.25; k * j]));
        Mcvq::from_file(file, "by hand".as_ref()).unwrap()
    }

    #[test]
    fn cell_after_cell_ends_where_all_at_once_does() {
        let model = model();
        let cells = [(4usize, 3.0), (0, 5.0), (6, 1.0), (2, 2.5)];
        let mut row = model.begin_row().unwrap();
        row.observe(1, 4.0).unwrap();
        for (column, value) in cells {
            row.observe(column, value).unwrap();
        }
        row.forget(1, 4.0).unwrap();
        let mut sorted = cells;
        sorted.sort_by_key(|c| c.0);
        let sparse = Sparse::new(
            7,
            vec![0, 4],
            sorted.iter().map(|c| c.0 as u32).collect(),
            sorted.iter().map(|c| c.1).collect(),
            Absent::Unobserved,
        );
        let codes = encode(&model, &Table::from(sparse.unwrap()), &Context::new(0)).unwrap();
        for (online, batch) in row.code().iter().zip(codes.row(0)) {
            assert!((online - batch).abs() < 1e-9, "{online} {batch}");
        }
    }

    #[test]
    fn parts_that_have_nothing_of_a_column_are_not_touched() {
        let model = model();
        let before = model.begin_row().unwrap();
        let mut after = before.clone();
        after.observe(0, 5.0).unwrap();
        // Column 0 is not part 2's.
        assert_eq!(before.code()[8..], after.code()[8..]);
        assert_ne!(before.code()[..4], after.code()[..4]);
        assert!(after.observe(7, 1.0).is_err() && after.observe(0, f64::NAN).is_err());
    }
}
