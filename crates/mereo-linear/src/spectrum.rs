//! The leading principal directions of a source, by whichever way is cheapest.
//!
//! With `C = Σ_c w_c (x_c - m)(x_c - m)ᵀ` the scatter of the rows about their mean m (or about 0,
//! for those who want that), the directions are the eigenvectors of C with the largest
//! eigenvalues. There are three ways to them:
//!
//! - **covariance**: add C up, D x D numbers, and decompose it. For sources with at least as many
//!   rows as columns.
//! - **Gram**: with the rows `√w (x - m)` as a matrix X, `C = XᵀX` has the nonzero eigenvalues of
//!   `XXᵀ`, which is as large as there are rows, and `Xᵀu/√λ` is the eigenvector of C for the
//!   eigenvector u of `XXᵀ`. For few rows of many columns.
//! - **randomised** (Halko, Martinsson and Tropp): a few more random directions Q than are wanted
//!   are turned towards the leading ones by `Q ← orthonormal(C Q)`, and the eigenvectors of the
//!   small `QᵀCQ` give the answer within Q. `CQ = Σ_c w_c (x_c - m)((x_c - m)ᵀQ)` needs one pass
//!   and no D x D numbers. For many rows of many columns.
//!
//! All of it is done in the units of a [`Frame`], so that offsets cost no precision. A missing
//! cell counts as the frame's centre.

use mereo_core::math::{
    Eigen, Matrix, leading_eigen, orient, product, product_nt, product_self, product_tn, widest,
};
use mereo_core::slots::{Frame, QuickSums};
use mereo_core::{Batch, Context, Portions, Real, Result, RowTask, Source, Statistics, gather};
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use crate::blocks::BlockWork;

/// Up to this many rows or columns, whichever are fewer, the exact ways take about a second.
const EXACT: usize = 1024;
/// Beyond that the randomised way is taken if at most one in this many directions is wanted.
const SHARE: usize = 5;
/// Directions beyond those wanted, and passes, of the randomised way.
const SPARE: usize = 20;
const PASSES: usize = 8;

/// The way to the principal directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Covariance,
    Gram,
    Randomised,
}

impl Way {
    /// The cheapest way to this many directions that is exact, or good enough.
    pub(crate) fn of(rows: usize, columns: usize, count: usize) -> Self {
        let fewer = rows.min(columns);
        if fewer > EXACT && count.saturating_mul(SHARE) <= fewer {
            Self::Randomised
        } else if columns <= rows {
            Self::Covariance
        } else {
            Self::Gram
        }
    }
}

/// The leading principal directions of rows, in a frame's units.
#[derive(Debug, Clone)]
pub(crate) struct Spectrum {
    /// Weight of all rows.
    pub(crate) weight: f64,
    /// `[D]`: the mean of the rows.
    pub(crate) mean: Vec<f64>,
    /// Scatter along each direction (weight times variance), falling.
    pub(crate) scatter: Vec<f64>,
    /// `[count, D]`: the directions, orthonormal, each with its largest entry positive.
    pub(crate) directions: Vec<f64>,
    /// Scatter in all directions together.
    pub(crate) total: f64,
}

impl Spectrum {
    /// The `count` leading directions, at most as many as columns; about 0 unless `centred`.
    pub(crate) fn of<T: Real>(
        source: &dyn Source<T>,
        frame: &Frame<T>,
        count: usize,
        centred: bool,
        way: Way,
        context: &Context,
    ) -> Result<Self> {
        let mut spectrum = match way {
            Way::Covariance => by_covariance(source, frame, count, centred, context)?,
            Way::Gram => by_gram(source, frame, count, centred, context)?,
            Way::Randomised => randomised(source, frame, count, centred, context)?,
        };
        spectrum.tidy();
        Ok(spectrum)
    }

    /// Those of rows that come in portions: the covariance adds up.
    pub(crate) fn of_portions<T: Real>(
        source: &dyn Source<T>,
        frame: &Frame<T>,
        count: usize,
        portions: &Portions,
        context: &Context,
    ) -> Result<Self> {
        let task = SumsTask { frame: frame.clone(), towards: None };
        let sums = gather(source, context, &task)?;
        let name = <SumsTask<T> as RowTask<T>>::NAME;
        let sums = portions.add::<T, _>(name, source.rows(), sums)?;
        let mut spectrum = sums.spectrum(frame.columns(), count, true)?;
        spectrum.tidy();
        Ok(spectrum)
    }

    fn tidy(&mut self) {
        for scatter in &mut self.scatter {
            *scatter = scatter.max(0.0);
        }
        for direction in self.directions.chunks_exact_mut(self.mean.len()) {
            orient(direction);
        }
    }
}

/// Asks rows for their products in a frame's units: with `towards [L, D]` those with these directions,
/// otherwise with one another.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct SumsTask<T> {
    frame: Frame<T>,
    towards: Option<Vec<T>>,
}

impl<T: Real> RowTask<T> for SumsTask<T> {
    const NAME: &'static str = "products";
    type Statistics = Sums<T>;

    fn statistics(&self) -> Sums<T> {
        let d = self.frame.columns();
        Sums::new(d, self.towards.as_ref().map_or(d, |directions| directions.len() / d.max(1)))
    }

    fn accumulate(&self, batch: &Batch<'_, T>, sums: &mut Sums<T>) {
        sums.accumulate(batch, &self.frame, self.towards.as_deref());
    }
}

/// Sums over rows in a frame's units.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct Sums<T> {
    weight: f64,
    /// `[D]`.
    sum: QuickSums<T>,
    /// `[D, D]`, the lower triangle, or `[L, D]`.
    products: QuickSums<T>,
    /// All squares together; nothing if they stand in the diagonal of the products.
    squares: f64,
    #[serde(skip)]
    projected: Vec<T>,
    #[serde(skip)]
    blocks: BlockWork<T, T>,
}

impl<T: Real> Sums<T> {
    fn new(columns: usize, height: usize) -> Self {
        Self {
            weight: 0.0,
            sum: QuickSums::zeros(columns),
            products: QuickSums::zeros(height * columns),
            squares: 0.0,
            projected: Vec::new(),
            blocks: BlockWork::default(),
        }
    }

    /// Adds rows; with `towards [L, D]` the products of the rows with those directions, otherwise
    /// with one another.
    fn accumulate(&mut self, batch: &Batch<'_, T>, frame: &Frame<T>, towards: Option<&[T]>) {
        let Self { weight, sum, products, squares, projected, blocks } = self;
        let columns = batch.columns;
        blocks.for_each(batch, frame, |block| {
            for (row, cells) in block.values.chunks_exact_mut(columns).enumerate() {
                let w = batch.weight(block.first + row);
                *weight += w;
                add_row(sum.waiting(), cells, w);
            }
            let values = Matrix::new(block.values, block.rows, columns);
            match towards {
                None => product_self(products.waiting(), values, true),
                Some(directions) => {
                    *squares += block.values.iter().map(|x| x.to_f64() * x.to_f64()).sum::<f64>();
                    let count = directions.len() / columns;
                    projected.resize(block.rows * count, T::ZERO);
                    let directions = Matrix::new(directions, count, columns);
                    product_nt(projected, values, directions, false);
                    let projected = Matrix::new(projected, block.rows, count);
                    product_tn(products.waiting(), projected, values, true);
                }
            }
            sum.added_dense(block.rows);
            products.added_dense(block.rows);
        });
    }

    fn mean(&self, centred: bool, columns: usize) -> Vec<f64> {
        let mut mean = vec![0.0; columns];
        if centred {
            self.sum.read(0, &mut mean);
            mean.iter_mut().for_each(|m| *m /= self.weight);
        }
        mean
    }

    /// The eigenvectors of the covariance that these sums make.
    fn spectrum(&self, d: usize, count: usize, centred: bool) -> Result<Spectrum> {
        let mean = self.mean(centred, d);
        let weight = self.weight;
        let mut scatter = vec![0.0; d * d];
        self.products.read(0, &mut scatter);
        for (i, row) in scatter.chunks_exact_mut(d).enumerate() {
            for (j, s) in row[..=i].iter_mut().enumerate() {
                *s -= weight * mean[i] * mean[j];
            }
        }
        let total = (0..d).map(|i| scatter[i * d + i].max(0.0)).sum();
        let Eigen { values, vectors } = leading_eigen(&scatter, d, count)?;
        Ok(Spectrum { weight, mean, scatter: values, directions: vectors, total })
    }
}

impl<T: Real> Statistics for Sums<T> {
    fn merge(&mut self, other: &Self) {
        self.weight += other.weight;
        self.squares += other.squares;
        self.sum.merge(&other.sum);
        self.products.merge(&other.products);
    }

    fn finish(&mut self) {
        self.sum.finish();
        self.products.finish();
    }

    fn reset(&mut self) {
        (self.weight, self.squares) = (0.0, 0.0);
        self.sum.reset();
        self.products.reset();
    }
}

/// Adds `w x` to `sum`, and makes of the row x that `√w x` whose products count w times.
fn add_row<T: Real>(sum: &mut [T], cells: &mut [T], w: f64) {
    let (root, weight) = (T::from_f64(w.sqrt()), T::from_f64(w));
    widest(
        #[inline(always)]
        || {
            if w == 1.0 {
                sum.iter_mut().zip(&*cells).for_each(|(s, x)| *s += *x);
            } else {
                for (s, x) in sum.iter_mut().zip(&mut *cells) {
                    *s += weight * *x;
                    *x *= root;
                }
            }
        },
    );
}

fn by_covariance<T: Real>(
    source: &dyn Source<T>,
    frame: &Frame<T>,
    count: usize,
    centred: bool,
    context: &Context,
) -> Result<Spectrum> {
    let sums = gather(source, context, &SumsTask { frame: frame.clone(), towards: None })?;
    sums.spectrum(frame.columns(), count, centred)
}

/// Asks for all rows, in a frame's units.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct RowsTask<T> {
    frame: Frame<T>,
}

impl<T: Real> RowTask<T> for RowsTask<T> {
    const NAME: &'static str = "all rows";
    type Statistics = Rows<T>;

    fn statistics(&self) -> Rows<T> {
        Rows { rows: Vec::new(), blocks: BlockWork::default() }
    }

    fn accumulate(&self, batch: &Batch<'_, T>, all: &mut Rows<T>) {
        let Rows { rows, blocks } = all;
        blocks.for_each(batch, &self.frame, |block| {
            for (row, cells) in block.values.chunks_exact(self.frame.columns()).enumerate() {
                let row = block.first + row;
                if batch.weight(row) > 0.0 {
                    rows.push((batch.first_row + row, batch.weight(row), cells.to_vec()));
                }
            }
        });
    }
}

/// All rows in memory, in a frame's units: each with its weight.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct Rows<T> {
    rows: Vec<(usize, f64, Vec<f64>)>,
    #[serde(skip)]
    blocks: BlockWork<T, f64>,
}

impl<T: Real> Statistics for Rows<T> {
    fn merge(&mut self, other: &Self) {
        self.rows.extend_from_slice(&other.rows);
    }

    fn reset(&mut self) {
        self.rows.clear();
    }
}

fn by_gram<T: Real>(
    source: &dyn Source<T>,
    frame: &Frame<T>,
    count: usize,
    centred: bool,
    context: &Context,
) -> Result<Spectrum> {
    let d = frame.columns();
    let mut all = gather(source, context, &RowsTask { frame: frame.clone() })?;
    all.rows.sort_by_key(|row| row.0);
    let weight: f64 = all.rows.iter().map(|row| row.1).sum();
    let mut mean = vec![0.0; d];
    if centred {
        for (_, w, cells) in &all.rows {
            mean.iter_mut().zip(cells).for_each(|(m, x)| *m += w / weight * x);
        }
    }
    let n = all.rows.len();
    let mut values = Vec::with_capacity(n * d);
    for (_, w, cells) in &all.rows {
        values.extend(cells.iter().zip(&mean).map(|(x, m)| w.sqrt() * (x - m)));
    }
    drop(all);
    let rows = Matrix::new(&values, n, d);
    let mut gram = vec![0.0; n * n];
    product_nt(&mut gram, rows, rows, false);
    let total = (0..n).map(|i| gram[i * n + i]).sum();
    let found = count.min(n);
    let Eigen { values: mut scatter, vectors } = leading_eigen(&gram, n, found)?;
    let mut directions = vec![0.0; count * d];
    product(&mut directions[..found * d], Matrix::new(&vectors, found, n), rows, false);
    // What is left of directions without scatter is rounding.
    let least = scatter.first().copied().unwrap_or(0.0) * 1e-14;
    for (direction, &s) in directions.chunks_exact_mut(d).zip(&scatter) {
        if !(s > least) {
            direction.fill(0.0);
        }
    }
    orthonormalise(&mut directions, d);
    scatter.resize(count, 0.0);
    Ok(Spectrum { weight, mean, scatter, directions, total })
}

fn randomised<T: Real>(
    source: &dyn Source<T>,
    frame: &Frame<T>,
    count: usize,
    centred: bool,
    context: &Context,
) -> Result<Spectrum> {
    let d = frame.columns();
    let wide = (count + SPARE).min(d);
    let mut random = context.random("principal directions", [0, 0]);
    let mut directions: Vec<f64> =
        (0..wide * d).map(|_| StandardNormal.sample(&mut random)).collect();
    orthonormalise(&mut directions, d);
    let mut pass = 1;
    loop {
        let rounded = directions.iter().map(|&q| T::from_f64(q)).collect();
        let task = SumsTask { frame: frame.clone(), towards: Some(rounded) };
        let sums = gather(source, context, &task)?;
        let (mean, weight) = (sums.mean(centred, d), sums.weight);
        let mut image = vec![0.0; wide * d];
        sums.products.read(0, &mut image);
        for (image, direction) in image.chunks_exact_mut(d).zip(directions.chunks_exact(d)) {
            let along: f64 = direction.iter().zip(&mean).map(|(q, m)| q * m).sum();
            image.iter_mut().zip(&mean).for_each(|(b, m)| *b -= weight * along * m);
        }
        if pass < PASSES {
            orthonormalise(&mut image, d);
            directions = image;
            pass += 1;
            continue;
        }
        let within = Matrix::new(&directions, wide, d);
        let mut small = vec![0.0; wide * wide];
        product_nt(&mut small, Matrix::new(&image, wide, d), within, false);
        let Eigen { values: scatter, vectors } = leading_eigen(&small, wide, count)?;
        let mut leading = vec![0.0; count * d];
        product(&mut leading, Matrix::new(&vectors, count, wide), within, false);
        let total = (sums.squares - weight * length(&mean).powi(2)).max(0.0);
        return Ok(Spectrum { weight, mean, scatter, directions: leading, total });
    }
}

/// Makes vectors of length d orthonormal, the first ones first; one that is nothing but a
/// combination of those before it is replaced by a direction that is not.
pub(crate) fn orthonormalise(vectors: &mut [f64], d: usize) {
    let mut unit = 0;
    for i in 0..vectors.len() / d {
        let (before, rest) = vectors.split_at_mut(i * d);
        let own = &mut rest[..d];
        let mut before_length = length(own);
        loop {
            // Twice is enough (Kahan and Parlett).
            for _ in 0..2 {
                for other in before.chunks_exact(d) {
                    let along: f64 = own.iter().zip(other).map(|(a, b)| a * b).sum();
                    own.iter_mut().zip(other).for_each(|(a, b)| *a -= along * b);
                }
            }
            let left = length(own);
            if left > before_length * 1e-10 && left > 0.0 {
                own.iter_mut().for_each(|a| *a /= left);
                break;
            }
            own.fill(0.0);
            if unit == d {
                break;
            }
            own[unit] = 1.0;
            (unit, before_length) = (unit + 1, 1.0);
        }
    }
}

fn length(vector: &[f64]) -> f64 {
    vector.iter().map(|v| v * v).sum::<f64>().sqrt()
}
