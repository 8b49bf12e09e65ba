//! Rows that are alike, by their codes.

use mereo_core::{Appearance, Context, Error, Real, Result, Source};

use super::Fitted;
use crate::AnyModel;
use crate::page::in_full;

/// A row or column that is like another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alike {
    /// Its number.
    pub number: usize,
    /// How much alike: 1 is the same, 0 nothing in common (-1 the opposite, where codes have signs).
    pub similarity: f64,
}

impl Fitted {
    /// The `n` rows that are most like a row, by their codes: where codes are probabilities of states, by how much those of
    /// each part have in common, `Σ_j √(p_j q_j)`, on the average over parts; otherwise by the cosine of the codes, as far from the mean code.
    ///
    /// ```
    /// # use mereo::{Context, Dense, Fit, Table, mixture::GmmParams};
    /// let table = Table::from(Dense::new(4, 1, vec![0.0, 9.0, 0.1, 9.2])?);
    /// let fitted = Fit::new(GmmParams::new(2)).run(&table)?;
    /// let alike = fitted.similar_rows(&table, 1, 1, &Context::new(0))?;
    /// assert_eq!(alike[0].number, 3);
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn similar_rows<T: Real>(
        &self,
        raw: &dyn Source<T>,
        row: usize,
        n: usize,
        context: &Context,
    ) -> Result<Vec<Alike>> {
        if row >= raw.rows() {
            let problem = format!("there is no row {row}; the data has {}", raw.rows());
            return Err(Error::option("row", problem));
        }
        let codes = in_full(&self.encode(raw, context)?)?;
        let (rows, width) = (codes.rows(), codes.columns());
        let parts = parts_with_states(&self.model).filter(|(_, states)| *states == width);
        let mut vectors = codes.into_values();
        // Codes of some models are sums of rows that a model by hand can make strange.
        vectors.iter_mut().for_each(|x| *x = if x.is_finite() { *x } else { 0.0 });
        match parts {
            Some((parts, _)) => {
                let parts = parts as f64;
                vectors.iter_mut().for_each(|p| *p = (p.max(0.0) / parts).sqrt());
            }
            None => from_mean_to_length_one(&mut vectors, rows, width),
        }
        Ok(nearest(&vectors, width, row, n))
    }

    /// The `n` columns that are most like a column: by the cosine of what the states of all parts make of them (as common as states
    /// are, and as far as columns belong to parts), or of their loadings on components.
    ///
    /// ```
    /// # use mereo::{Dense, Fit, Table, parts::McvqParams};
    /// let cells = (0..200).flat_map(|i| [i % 2, i / 2 % 2, i % 2]).map(f64::from).collect();
    /// let table = Table::from(Dense::new(200, 3, cells)?);
    /// let fitted = Fit::new(McvqParams::new(2, 2)).run(&table)?;
    /// assert_eq!(fitted.similar_columns(0, 1)?[0].number, 2);
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn similar_columns(&self, column: usize, n: usize) -> Result<Vec<Alike>> {
        let columns = self.model.columns();
        if column >= columns {
            let problem = format!("there is no column {column}; the model has {columns}");
            return Err(Error::option("column", problem));
        }
        let alike = "find columns that are alike";
        let (mut vectors, width) =
            vectors_of_columns(&self.model).ok_or_else(|| self.incapable(alike))?;
        for vector in vectors.chunks_exact_mut(width.max(1)) {
            to_length_one(vector);
        }
        Ok(nearest(&vectors, width, column, n))
    }
}

/// How many parts codes tell the states of, and how many states that is: of an average, of all members.
fn parts_with_states(model: &AnyModel) -> Option<(usize, usize)> {
    if model.members().is_empty() {
        let view = model.parts().filter(|view| view.appearance == Appearance::States)?;
        return Some((view.parts, view.parts * view.states));
    }
    model.members().iter().try_fold((0, 0), |(parts, states), member| {
        let own = parts_with_states(member)?;
        Some((parts + own.0, states + own.1))
    })
}

/// A vector for each column, one after another, and how long they are: what states or components make of it.
fn vectors_of_columns(model: &AnyModel) -> Option<(Vec<f64>, usize)> {
    let columns = model.columns();
    if let Some(view) = model.parts() {
        let width = view.parts * view.states;
        let mut vectors = vec![0.0; columns * width];
        for part in 0..view.parts {
            for state in 0..view.states {
                let slot = part * view.states + state;
                let common = view.state_prior[slot].max(0.0).sqrt();
                for (d, far) in view.conspicuousness(part, state).iter().enumerate() {
                    vectors[d * width + slot] = common * far;
                }
            }
        }
        return Some((vectors, width));
    }
    if let Some(view) = model.components() {
        let width = view.component.len() / columns.max(1);
        let at = |i: usize| view.component[i % width * columns + i / width];
        return Some(((0..columns * width).map(at).collect(), width));
    }
    // Of an average, those of all members one after another.
    let members: Option<Vec<_>> = model.members().iter().map(vectors_of_columns).collect();
    let members = members.filter(|members| !members.is_empty())?;
    let width = members.iter().map(|(_, width)| width).sum();
    let all = (0..columns)
        .flat_map(|d| members.iter().flat_map(move |(v, w)| &v[d * w..(d + 1) * w]))
        .copied();
    Some((all.collect(), width))
}

fn to_length_one(vector: &mut [f64]) {
    let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    let scale = if length > 0.0 { length.recip() } else { 0.0 };
    vector.iter_mut().for_each(|x| *x *= scale);
}

fn from_mean_to_length_one(vectors: &mut [f64], rows: usize, width: usize) {
    let mut mean = vec![0.0; width];
    for vector in vectors.chunks_exact(width.max(1)) {
        mean.iter_mut().zip(vector).for_each(|(m, x)| *m += x / rows as f64);
    }
    for vector in vectors.chunks_exact_mut(width.max(1)) {
        vector.iter_mut().zip(&mean).for_each(|(x, m)| *x -= m);
        to_length_one(vector);
    }
}

/// The vectors whose products with one are largest, that one left out.
fn nearest(vectors: &[f64], width: usize, of: usize, n: usize) -> Vec<Alike> {
    let own = &vectors[of * width..(of + 1) * width];
    let mut alike: Vec<Alike> = vectors
        .chunks_exact(width.max(1))
        .enumerate()
        .filter(|(number, _)| *number != of)
        .map(|(number, vector)| {
            let similarity = own.iter().zip(vector).map(|(a, b)| a * b).sum::<f64>();
            Alike { number, similarity: similarity.clamp(-1.0, 1.0) }
        })
        .collect();
    alike.sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then(a.number.cmp(&b.number)));
    alike.truncate(n);
    alike
}
