//! How strongly columns vary together.
//!
//! The association of two columns is their squared correlation over the rows that observe both,
//! less the `2/n` that chance alone would give, at least 0. Up to [`FULL`] columns it is measured
//! between all pairs; above, between every column and [`LANDMARKS`] well-observed ones, so that
//! cost and memory stay linear in the number of columns.

use mereo_core::math::{Matrix, product_nt, product_tn};
use mereo_core::{Absent, Cells, Real, Result, Source, Table};

/// Most columns for which all pairs are measured.
const FULL: usize = 1500;
/// Columns that all others are compared with when there are more.
const LANDMARKS: usize = 1000;
/// A correlation over fewer rows than this says nothing.
const FEWEST_ROWS: f64 = 4.0;
/// Rows that go into one product.
const BLOCK: usize = 512;

/// Associations of every column with the landmarks, `[D, M]`; all columns are landmarks if they
/// are few enough.
pub(super) struct Affinity {
    pub(super) columns: usize,
    pub(super) landmarks: Vec<usize>,
    pub(super) values: Vec<f32>,
}

impl Affinity {
    /// Whether all pairs were measured.
    pub(super) fn is_full(&self) -> bool {
        self.landmarks.len() == self.columns
    }
}

/// Sums over rows that observe both columns, `[D, M]`.
struct CoMoments {
    count: Vec<f32>,
    left: Vec<f32>,
    right: Vec<f32>,
    left_squared: Vec<f32>,
    right_squared: Vec<f32>,
    product: Vec<f32>,
}

pub(super) fn associate<T: Real>(sample: &Table<T>) -> Result<Affinity> {
    let columns = sample.columns();
    let standard = standardise(sample)?;
    let landmarks = choose_landmarks(&standard.occurs);
    let moments = match sample.cells() {
        Cells::Sparse(cells) if cells.absent() == Absent::Unobserved => {
            sparse_moments(sample, &standard, &landmarks)?
        }
        Cells::Sparse(_) => count_moments(sample, &standard, &landmarks)?,
        Cells::Dense(_) => dense_moments(sample, &standard, &landmarks)?,
    };
    let pairs = landmarks.len();
    let mut values = vec![0.0; columns * pairs];
    for d in 0..columns {
        for (l, &landmark) in landmarks.iter().enumerate() {
            let i = d * pairs + l;
            if d != landmark {
                values[i] = squared_correlation(&moments, i).max(0.0);
            }
        }
    }
    Ok(Affinity { columns, landmarks, values })
}

/// How often columns are in the same part of several gates `[D, K]`, less what chance would give.
pub(super) fn co_membership(gates: &[&[f64]], parts: usize) -> Affinity {
    let columns = gates.first().map_or(0, |gate| gate.len() / parts);
    let landmarks = choose_landmarks(&vec![1.0; columns]);
    let pairs = landmarks.len();
    let mut values = vec![0.0f32; columns * pairs];
    for gate in gates {
        let narrow: Vec<f32> = gate.iter().map(|&g| g as f32).collect();
        let chosen: Vec<f32> = landmarks
            .iter()
            .flat_map(|&l| narrow[l * parts..(l + 1) * parts].iter().copied())
            .collect();
        product_nt(
            &mut values,
            Matrix::new(&narrow, columns, parts),
            Matrix::new(&chosen, pairs, parts),
            true,
        );
    }
    for (d, row) in values.chunks_exact_mut(pairs.max(1)).enumerate() {
        for (l, v) in row.iter_mut().enumerate() {
            *v = (*v / gates.len() as f32 - 1.0 / parts as f32).max(0.0);
            if landmarks[l] == d {
                *v = 0.0;
            }
        }
    }
    Affinity { columns, landmarks, values }
}

/// Squared correlation less its chance level.
fn squared_correlation(m: &CoMoments, i: usize) -> f32 {
    let n = f64::from(m.count[i]);
    if n < FEWEST_ROWS {
        return 0.0;
    }
    let (left, right) = (f64::from(m.left[i]) / n, f64::from(m.right[i]) / n);
    let left_variance = f64::from(m.left_squared[i]) / n - left * left;
    let right_variance = f64::from(m.right_squared[i]) / n - right * right;
    // Standardised columns have variance 1: less than this is rounding, or a constant stretch.
    if left_variance < 1e-5 || right_variance < 1e-5 {
        return 0.0;
    }
    let covariance = f64::from(m.product[i]) / n - left * right;
    ((covariance * covariance / (left_variance * right_variance)).min(1.0) - 2.0 / n) as f32
}

/// What makes columns comparable: `x' = (x - mean) * inverse`.
struct Standard {
    mean: Vec<f64>,
    inverse: Vec<f64>,
    /// Rows that observe each column that varies, of counts those in which it is not 0; 0 for constant ones.
    occurs: Vec<f64>,
    /// Weight of all rows.
    rows: f64,
}

fn standardise<T: Real>(sample: &Table<T>) -> Result<Standard> {
    let moments = mereo_core::slots::ColumnMoments::of(sample, &mereo_core::Context::new(0))?;
    let columns = sample.columns();
    let vary = |d: usize| !moments.is_constant(d);
    let inverse =
        (0..columns).map(|d| if vary(d) { 1.0 / moments.variance(d).sqrt() } else { 0.0 });
    let inverse = inverse.collect();
    let mut occurs: Vec<f64> = moments.weight.clone();
    if let Cells::Sparse(cells) = sample.cells()
        && cells.absent() == Absent::Zero
    {
        occurs.fill(0.0);
        cells.indices().iter().for_each(|&d| occurs[d as usize] += 1.0);
    }
    (0..columns).filter(|&d| !vary(d)).for_each(|d| occurs[d] = 0.0);
    Ok(Standard { inverse, occurs, rows: moments.rows, mean: moments.mean })
}

/// All columns if they are few, otherwise those observed most (the first among equals), in order.
fn choose_landmarks(observed: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..observed.len()).collect();
    if observed.len() > FULL {
        order.sort_by(|&a, &b| observed[b].total_cmp(&observed[a]).then(a.cmp(&b)));
        order.truncate(LANDMARKS);
        order.sort_unstable();
    }
    order
}

/// Blocks of rows in full, as matrix products.
fn dense_moments<T: Real>(
    sample: &Table<T>,
    standard: &Standard,
    landmarks: &[usize],
) -> Result<CoMoments> {
    let (columns, pairs) = (sample.columns(), landmarks.len());
    let mut m = CoMoments::zeros(columns * pairs);
    let mut row_values = vec![T::ZERO; columns];
    let mut block = Block::new(columns, pairs);
    let mut lane = sample.lane(0..sample.batches())?;
    while let Some(batch) = lane.next_batch()? {
        for row in 0..batch.rows {
            batch.dense_row(row, &mut row_values);
            block.push(&row_values, batch.weight(row).sqrt(), standard, landmarks);
            if block.rows == BLOCK {
                block.add_to(&mut m);
            }
        }
    }
    block.add_to(&mut m);
    Ok(m)
}

/// Rows waiting to be multiplied. Each is scaled by the root of its weight, so that products
/// count it by its weight.
struct Block {
    columns: usize,
    pairs: usize,
    rows: usize,
    x: [Vec<f32>; 3],
    y: [Vec<f32>; 3],
}

impl Block {
    fn new(columns: usize, pairs: usize) -> Self {
        let (x, y) =
            (Vec::<f32>::with_capacity(BLOCK * columns), Vec::with_capacity(BLOCK * pairs));
        Self { columns, pairs, rows: 0, x: [x.clone(), x.clone(), x], y: [y.clone(), y.clone(), y] }
    }

    fn push<T: Real>(&mut self, row: &[T], root: f64, standard: &Standard, landmarks: &[usize]) {
        let root = root as f32;
        let cell = |d: usize| {
            let x = (row[d].to_f64() - standard.mean[d]) * standard.inverse[d];
            if x.is_nan() { [0.0; 3] } else { [root, x as f32 * root, (x * x) as f32 * root] }
        };
        for d in 0..self.columns {
            for (out, v) in self.x.iter_mut().zip(cell(d)) {
                out.push(v);
            }
        }
        for &landmark in landmarks {
            for (out, v) in self.y.iter_mut().zip(cell(landmark)) {
                out.push(v);
            }
        }
        self.rows += 1;
    }

    fn add_to(&mut self, m: &mut CoMoments) {
        let (rows, columns, pairs) = (self.rows, self.columns, self.pairs);
        let x = |i: usize| Matrix::new(&self.x[i], rows, columns);
        let y = |i: usize| Matrix::new(&self.y[i], rows, pairs);
        if rows > 0 {
            product_tn(&mut m.count, x(0), y(0), true);
            product_tn(&mut m.left, x(1), y(0), true);
            product_tn(&mut m.right, x(0), y(1), true);
            product_tn(&mut m.left_squared, x(2), y(0), true);
            product_tn(&mut m.right_squared, x(0), y(2), true);
            product_tn(&mut m.product, x(1), y(1), true);
        }
        self.rows = 0;
        self.x.iter_mut().chain(&mut self.y).for_each(Vec::clear);
    }
}

/// Pairs of stored entries, row by row.
fn sparse_moments<T: Real>(
    sample: &Table<T>,
    standard: &Standard,
    landmarks: &[usize],
) -> Result<CoMoments> {
    let (columns, pairs) = (sample.columns(), landmarks.len());
    let mut place = vec![usize::MAX; columns];
    for (l, &landmark) in landmarks.iter().enumerate() {
        place[landmark] = l;
    }
    let mut m = CoMoments::zeros(columns * pairs);
    let mut entries: Vec<(usize, f32)> = Vec::new();
    let mut lane = sample.lane(0..sample.batches())?;
    while let Some(batch) = lane.next_batch()? {
        for row in 0..batch.rows {
            let weight = batch.weight(row) as f32;
            entries.clear();
            batch.for_each_observed(row, |d, x| {
                entries.push((d, ((x.to_f64() - standard.mean[d]) * standard.inverse[d]) as f32));
            });
            for &(landmark, y) in entries.iter().filter(|e| place[e.0] != usize::MAX) {
                for &(d, x) in &entries {
                    let i = d * pairs + place[landmark];
                    m.count[i] += weight;
                    m.left[i] += weight * x;
                    m.right[i] += weight * y;
                    m.left_squared[i] += weight * x * x;
                    m.right_squared[i] += weight * y * y;
                    m.product[i] += weight * x * y;
                }
            }
        }
    }
    Ok(m)
}

/// Counts: every row observes all columns, which have mean 0 and variance 1, so that products alone are to be found; and
/// what is not stored adds nothing to those about 0: `Σ (x - μ)(y - ν) = Σ xy - n μ ν`.
fn count_moments<T: Real>(
    sample: &Table<T>,
    standard: &Standard,
    landmarks: &[usize],
) -> Result<CoMoments> {
    let (columns, pairs) = (sample.columns(), landmarks.len());
    let mut place = vec![usize::MAX; columns];
    for (l, &landmark) in landmarks.iter().enumerate() {
        place[landmark] = l;
    }
    let (rows, size) = (standard.rows as f32, columns * pairs);
    let mut m = CoMoments {
        count: vec![rows; size],
        left: vec![0.0; size],
        right: vec![0.0; size],
        left_squared: vec![rows; size],
        right_squared: vec![rows; size],
        product: vec![0.0; size],
    };
    let (mut entries, mut known) = (Vec::<(usize, f32)>::new(), Vec::<(usize, f32)>::new());
    let mut lane = sample.lane(0..sample.batches())?;
    while let Some(batch) = lane.next_batch()? {
        let mereo_core::Block::Sparse { starts, indices, values, .. } = batch.block else {
            continue;
        };
        for row in 0..batch.rows {
            let weight = batch.weight(row) as f32;
            let range = starts[row] - starts[0]..starts[row + 1] - starts[0];
            let stored = indices[range.clone()].iter().zip(&values[range]);
            entries.clear();
            entries.extend(
                stored.map(|(&d, x)| {
                    (d as usize, (x.to_f64() * standard.inverse[d as usize]) as f32)
                }),
            );
            known.clear();
            let seen = entries.iter().filter(|e| place[e.0] != usize::MAX);
            known.extend(seen.map(|&(d, y)| (place[d], weight * y)));
            for &(d, x) in &entries {
                let own = &mut m.product[d * pairs..(d + 1) * pairs];
                known.iter().for_each(|&(l, y)| own[l] += x * y);
            }
        }
    }
    let centre = |d: usize| (standard.mean[d] * standard.inverse[d]) as f32;
    for (d, own) in m.product.chunks_exact_mut(pairs.max(1)).enumerate() {
        for (product, &landmark) in own.iter_mut().zip(landmarks) {
            *product -= rows * centre(d) * centre(landmark);
            if standard.inverse[d] == 0.0 || standard.inverse[landmark] == 0.0 {
                *product = 0.0;
            }
        }
    }
    Ok(m)
}

impl CoMoments {
    fn zeros(length: usize) -> Self {
        let zeros = || vec![0.0; length];
        Self {
            count: zeros(),
            left: zeros(),
            right: zeros(),
            left_squared: zeros(),
            right_squared: zeros(),
            product: zeros(),
        }
    }
}

#[cfg(test)]
mod tests {
    use mereo_core::{Dense, Sparse};

    use super::*;

    #[test]
    fn counts_go_together_however_they_are_stored() {
        let (rows, columns) = (60, 7);
        let cell = |r: usize, d: usize| {
            if (r * 5 + d * d).is_multiple_of(3) { ((r * d) % 4) as f64 } else { 0.0 }
        };
        let full: Vec<f64> = (0..rows * columns).map(|i| cell(i / columns, i % columns)).collect();
        let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for r in 0..rows {
            for d in 0..columns {
                if cell(r, d) != 0.0 {
                    indices.push(d as u32);
                    values.push(cell(r, d));
                }
            }
            starts.push(values.len());
        }
        let weights: Vec<f64> = (0..rows).map(|r| (r % 3) as f64).collect();
        let dense = Table::from(Dense::new(rows, columns, full).unwrap());
        let sparse = Sparse::new(columns, starts, indices, values, Absent::Zero).unwrap();
        let tables = [dense, Table::from(sparse)].map(|t| t.with_weights(weights.clone()).unwrap());
        let [one, other] = tables.map(|table| associate(&table).unwrap().values);
        assert!(one.iter().any(|v| *v > 0.01));
        for (a, b) in one.iter().zip(&other) {
            assert!((a - b).abs() < 1e-4, "{a} {b}");
        }
    }
}
