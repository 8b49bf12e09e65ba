//! Rows with fewer numbers: mixtures of data with more columns than rows, learned in the space of the rows.
//!
//! R rows of D > R columns lie in a space of r ≤ R dimensions. With its orthonormal basis B `[r, D]` of the rows in the frame's units
//! (where their mean is 0), a row is `x = Bᵀz`. Nothing that EM does to full or tied Gaussians leaves that space: means are means of
//! rows, covariances are sums of products of rows, and the floor raises all eigenvalues of the rest to the same f, which
//! is the likelihood's best for directions in which nothing varies. So the mixture is learned of z, and is
//!
//! `Σ = Bᵀ A B + f (I - BᵀB)`, `log N(x; Bᵀm, Σ) = log N(z; m, A) - ½ (D - r) log 2πf`
//!
//! in the columns' own space. A pass then costs what r dimensions cost, and D³ never.

use mereo_core::math::{Array, Matrix, eigen, product, product_nt, product_tn};
use mereo_core::slots::{Form, Frame, Survey};
use mereo_core::{
    Cells, Context, Dense, Observer, Real, Record, Result, Source, Table, Training, sample_rows,
};

use super::learner::has_holes;

/// Fewer columns are learned as they are, and so are more rows.
const FEWEST_COLUMNS: usize = 256;
const MOST_ROWS: usize = 4096;
/// Directions with less than this share of the largest variance are rounding.
const RANK: f64 = 1e-10;

/// The space of a table's rows.
pub(crate) struct RowSpace {
    /// `[r, D]`.
    basis: Vec<f64>,
    columns: usize,
    /// The rows in it.
    pub(crate) rows: Table<f64>,
    floor: f64,
    /// What a row's log density is more in this space than in the data's, by the columns that are left out and their units.
    more: f64,
}

impl RowSpace {
    /// The space of the rows of a source of which this is known, if they are few and complete and have many columns.
    pub(crate) fn of<T: Real>(
        source: &dyn Source<T>,
        survey: &Survey<T>,
        floor: f64,
        context: &Context,
    ) -> Result<Option<Self>> {
        let (count, columns) = (source.rows(), source.columns());
        let wide = columns > count && columns >= FEWEST_COLUMNS && count <= MOST_ROWS;
        if !wide || survey.form != Form::Dense || has_holes(survey) {
            return Ok(None);
        }
        // All rows that count, in memory.
        let table = sample_rows(source, count, "space of rows", context)?;
        let Cells::Dense(cells) = table.cells() else { return Ok(None) };
        let count = cells.rows();
        let mut rows = vec![0.0; count * columns];
        for (r, out) in rows.chunks_exact_mut(columns).enumerate() {
            survey.frame.row(cells.row(r), out);
        }
        let rows = Matrix::new(&rows, count, columns);
        let mut gram = vec![0.0; count * count];
        product_nt(&mut gram, rows, rows, false);
        let found = eigen(&gram, count)?;
        let largest = found.values.first().copied().unwrap_or(0.0);
        let kept: Vec<f64> =
            found.values.iter().copied().take_while(|&v| v > RANK * largest).collect();
        let rank = kept.len();
        if rank == 0 {
            return Ok(None);
        }
        let mut basis = vec![0.0; rank * columns];
        let vectors = Matrix::new(&found.vectors[..rank * count], rank, count);
        product(&mut basis, vectors, rows, false);
        for (direction, value) in basis.chunks_exact_mut(columns).zip(&kept) {
            direction.iter_mut().for_each(|b| *b /= value.sqrt());
        }
        let mut inside = vec![0.0; count * rank];
        product_nt(&mut inside, rows, Matrix::new(&basis, rank, columns), false);
        let mut inside = Table::from(Dense::new(count, rank, inside)?);
        if let Some(weights) = &table.about().weights {
            inside = inside.with_weights(weights.clone())?;
        }
        let scales: f64 = (0..columns).map(|d| survey.frame.scale(d).ln()).sum();
        let left_out = 0.5 * (columns - rank) as f64 * (std::f64::consts::TAU * floor).ln();
        Ok(Some(Self { basis, columns, rows: inside, floor, more: scales + left_out }))
    }

    /// The survey of the rows in this space, in which all directions have the frame's unit. They are the data's rows still.
    pub(crate) fn survey<T: Real>(&self, of: &Survey<T>, context: &Context) -> Result<Survey<f64>> {
        let rank = self.rows.columns();
        Ok(Survey {
            reference: vec![1.0; rank],
            frame: Frame::new(&vec![0.0; rank], &vec![1.0; rank]),
            fingerprint: of.fingerprint,
            ..Survey::of(&self.rows, context)?
        })
    }

    /// Means `[N, r]` and covariances `[C, r, r]` (lower triangles) in the frame of all columns.
    pub(crate) fn widened(&self, mean: &Array<2>, covariance: &Array<3>) -> (Array<2>, Array<3>) {
        let (rank, columns) = (self.rows.columns(), self.columns);
        let basis = Matrix::new(&self.basis, rank, columns);
        let mut means = Array::zeros([mean.shape()[0], columns]);
        product(&mut means, mean.view(), basis, false);
        let mut covariances = Array::zeros([covariance.shape()[0], columns, columns]);
        for c in 0..covariance.shape()[0] {
            let out = covariances.at_mut([c]);
            let above = |i: usize, j: usize| covariance.at([c, i.max(j)])[i.min(j)];
            let less: Vec<f64> = (0..rank * rank)
                .map(|at| (at / rank, at % rank))
                .map(|(i, j)| above(i, j) - if i == j { self.floor } else { 0.0 })
                .collect();
            let mut half = vec![0.0; rank * columns];
            product(&mut half, Matrix::new(&less, rank, rank), basis, false);
            product_tn(out, basis, Matrix::new(&half, rank, columns), false);
            out.iter_mut().step_by(columns + 1).for_each(|v| *v += self.floor);
        }
        (means, covariances)
    }

    /// What was told of learning in this space, told of the data's.
    pub(crate) fn told(&self, mut training: Training, rows: usize) -> Training {
        let weight = training.total_weight();
        (training.rows, training.weight) = (rows, Some(weight).filter(|&w| w != rows as f64));
        let less = self.more * training.total_weight();
        training.bound -= less;
        training.log_likelihood = training.log_likelihood.map(|own| own - less);
        let restarts = training.restarts.iter_mut();
        restarts.flat_map(|restart| &mut restart.bounds).for_each(|bound| *bound -= less);
        training
    }

    /// Somebody who watches the data be learned, told of learning in this space.
    pub(crate) fn watched<'a>(
        &self,
        observer: &'a mut dyn Observer,
        weight: f64,
    ) -> impl Observer + use<'a> {
        Shifted { observer, less: self.more * weight }
    }
}

struct Shifted<'a> {
    observer: &'a mut dyn Observer,
    less: f64,
}

impl Observer for Shifted<'_> {
    fn passed(&mut self, record: &Record) {
        self.observer.passed(&Record { bound: record.bound - self.less, ..record.clone() });
    }

    fn starting(&mut self, restart: usize, restarts: usize) {
        self.observer.starting(restart, restarts);
    }

    fn warned(&mut self, warning: &str) {
        self.observer.warned(warning);
    }
}
