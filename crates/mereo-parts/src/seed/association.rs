//! How strongly columns vary together.
//!
//! The association of two columns is their squared correlation over the rows that observe both,
//! less the `2/n` that chance alone would give, at least 0. Up to [`FULL`] columns it is measured
//! between all pairs; above, between every column and [`LANDMARKS`] well-observed ones, so that
//! cost and memory stay linear in the number of columns.
//!
//! Across kinds the same measure is written in indicators of levels. With `p_i` the share of level i and `r_ij` the correlation
//! of two indicators, `χ²/n = Σ_ij (1-p_i)(1-p_j) r²_ij` for two columns of words, and `η² = Σ_i (1-p_i) r²_i` for words and a
//! number: the share of the number's variance that the words explain. Chance gives `χ²/n` about `(L-1)(L'-1)/n`, of which twice is
//! taken off, and what is left is divided by its largest value, the smaller of `L-1` and `L'-1` (Cramér's `V²`; 1 beside a number).
//! Of two numbers this is their squared correlation again.

use mereo_core::math::{Matrix, product, product_nt, product_tn};
use mereo_core::slots::{Family, Survey};
use mereo_core::{About, Absent, Cells, Context, Real, Result, Source, Sparse, Table, in_parallel};

/// Most columns for which all pairs are measured.
const FULL: usize = 1500;
/// Columns that all others are compared with when there are more.
const LANDMARKS: usize = 1000;
/// A correlation over fewer rows than this says nothing.
const FEWEST_ROWS: f64 = 4.0;
/// Rows that go into one product.
const BLOCK: usize = 512;
/// Columns that one thread takes at a time.
const COLUMNS: usize = 16;

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

/// Sums over rows that observe both of two columns: of 1, x, y, x², y² and xy.
type CoMoments = [f32; 6];

/// Sums over rows that observe both columns, `[D, M]` each.
struct CoSums {
    count: Vec<f32>,
    left: Vec<f32>,
    right: Vec<f32>,
    left_squared: Vec<f32>,
    right_squared: Vec<f32>,
    product: Vec<f32>,
}

pub(super) fn associate<T: Real>(sample: &Table<T>) -> Result<Affinity> {
    if sample.about().is_mixed() {
        return associate_kinds(sample);
    }
    let columns = sample.columns();
    let standard = standardise(sample)?;
    let landmarks = choose_landmarks(&standard.occurs);
    let values = match sample.cells() {
        Cells::Sparse(cells) if cells.absent() == Absent::Unobserved => {
            sparse_associations(sample, cells, &standard, &landmarks)
        }
        Cells::Sparse(_) => count_associations(sample, &standard, &landmarks)?,
        Cells::Dense(_) => dense_associations(sample, &standard, &landmarks)?,
    };
    Ok(Affinity { columns, landmarks, values })
}

/// As [`associate`], of a table with columns of words.
fn associate_kinds<T: Real>(sample: &Table<T>) -> Result<Affinity> {
    let context = Context::new(0);
    let Survey { typical, reference, .. } = Survey::of_kinds(sample, &context)?;
    let kinds = &typical.kinds;
    if kinds.width() == 0 {
        // Counts go together as numbers do.
        let about = About { kinds: None, ..sample.about().clone() };
        return associate(&sample.clone().with_about(about)?);
    }
    let expanded = typical.expand(sample, &reference)?;
    let standard = standardise(&expanded.table)?;
    let columns = kinds.columns();
    let mut of_column: Vec<Vec<usize>> = vec![Vec::new(); columns];
    expanded.column.iter().enumerate().for_each(|(i, &d)| of_column[d].push(i));
    // Whole columns as long as their levels are few enough together.
    let (mut landmarks, mut levels) = (Vec::new(), Vec::new());
    let most = if expanded.column.len() <= FULL { usize::MAX } else { LANDMARKS };
    for (d, own) in of_column.iter().enumerate() {
        if levels.is_empty() || levels.len() + own.len() <= most {
            landmarks.push(d);
            levels.extend_from_slice(own);
        }
    }
    let moments = dense_sums(&expanded.table, &standard, &levels)?;
    // What an indicator's correlation counts: 1 less the level's share; a number's counts 1.
    let (measured, width) = (expanded.column.len() - kinds.width(), levels.len());
    let counts = |i: usize| if i < measured { 1.0 } else { 1.0 - typical.share[i - measured] };
    let free = |d: usize| match kinds.family(d) {
        Family::Words { levels, .. } => levels as f64 - 1.0,
        _ => 1.0,
    };
    let mut first = 0;
    let mut values = vec![0.0; columns * landmarks.len()];
    for (l, &landmark) in landmarks.iter().enumerate() {
        let others = first..first + of_column[landmark].len();
        first = others.end;
        for d in (0..columns).filter(|&d| d != landmark) {
            let (mut sum, mut rows) = (0.0, 0.0f64);
            for &i in &of_column[d] {
                for j in others.clone() {
                    let at = i * width + j;
                    let n = f64::from(moments.count[at]);
                    rows = rows.max(n);
                    if let Some(raw) = squared_correlation(moments.of(at)) {
                        sum += counts(i) * counts(levels[j]) * raw;
                    }
                }
            }
            let chance = 2.0 * free(d) * free(landmark) / rows.max(1.0);
            let words = |d: usize| matches!(kinds.family(d), Family::Words { .. });
            let most = match (words(d), words(landmark)) {
                (true, true) => free(d).min(free(landmark)),
                _ => 1.0,
            };
            if most > 0.0 {
                values[d * landmarks.len() + l] = ((sum - chance) / most).clamp(0.0, 1.0) as f32;
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

/// Squared correlation less its chance level, at least 0.
fn association(moments: CoMoments) -> f32 {
    let n = f64::from(moments[0]);
    squared_correlation(moments).map_or(0.0, |squared| (squared - 2.0 / n).max(0.0) as f32)
}

/// Squared correlation; nothing if too few rows tell, or one of the columns does not vary in them.
fn squared_correlation(moments: CoMoments) -> Option<f64> {
    let [n, left, right, left_squared, right_squared, product] = moments.map(f64::from);
    if n < FEWEST_ROWS {
        return None;
    }
    let (left, right) = (left / n, right / n);
    let left_variance = left_squared / n - left * left;
    let right_variance = right_squared / n - right * right;
    // Standardised columns have variance 1: less than this is rounding, or a constant stretch.
    if left_variance < 1e-5 || right_variance < 1e-5 {
        return None;
    }
    let covariance = product / n - left * right;
    let squared = covariance * covariance / (left_variance * right_variance);
    Some(squared.min(1.0))
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
fn dense_associations<T: Real>(
    sample: &Table<T>,
    standard: &Standard,
    landmarks: &[usize],
) -> Result<Vec<f32>> {
    let (columns, pairs) = (sample.columns(), landmarks.len());
    let m = dense_sums(sample, standard, landmarks)?;
    let mut values = vec![0.0; columns * pairs];
    for (i, value) in values.iter_mut().enumerate() {
        if i / pairs != landmarks[i % pairs] {
            *value = association(m.of(i));
        }
    }
    Ok(values)
}

/// Sums over all rows, by matrix products.
fn dense_sums<T: Real>(
    sample: &Table<T>,
    standard: &Standard,
    landmarks: &[usize],
) -> Result<CoSums> {
    let (columns, pairs) = (sample.columns(), landmarks.len());
    let mut m = CoSums::zeros(columns * pairs);
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
    /// Whether no cell was missing so far.
    complete: bool,
    /// Roots of the rows' weights.
    roots: Vec<f32>,
    x: [Vec<f32>; 3],
    y: [Vec<f32>; 3],
}

impl Block {
    fn new(columns: usize, pairs: usize) -> Self {
        let (x, y) =
            (Vec::<f32>::with_capacity(BLOCK * columns), Vec::with_capacity(BLOCK * pairs));
        Self {
            columns,
            pairs,
            rows: 0,
            complete: true,
            roots: Vec::new(),
            x: [x.clone(), x.clone(), x],
            y: [y.clone(), y.clone(), y],
        }
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
        self.roots.push(root);
        self.complete &= !row.iter().any(|x| x.is_missing());
    }

    fn add_to(&mut self, m: &mut CoSums) {
        let (rows, columns, pairs) = (self.rows, self.columns, self.pairs);
        let x = |i: usize| Matrix::new(&self.x[i], rows, columns);
        let y = |i: usize| Matrix::new(&self.y[i], rows, pairs);
        if rows > 0 && self.complete {
            // Sums of one column are the same whichever the other is.
            let roots = &self.roots[..rows];
            let sums = |values: &[f32], width: usize| {
                let mut sums = vec![0.0; width];
                product(
                    &mut sums,
                    Matrix::new(roots, 1, rows),
                    Matrix::new(values, rows, width),
                    false,
                );
                sums
            };
            let weight: f32 = roots.iter().map(|root| root * root).sum();
            let [left, left_squared] = [1, 2].map(|i| sums(&self.x[i], columns));
            let [right, right_squared] = [1, 2].map(|i| sums(&self.y[i], pairs));
            m.count.iter_mut().for_each(|n| *n += weight);
            for (own, all) in [(&left, &mut m.left), (&left_squared, &mut m.left_squared)] {
                for (own, all) in own.iter().zip(all.chunks_exact_mut(pairs)) {
                    all.iter_mut().for_each(|sum| *sum += own);
                }
            }
            for (own, all) in [(&right, &mut m.right), (&right_squared, &mut m.right_squared)] {
                for all in all.chunks_exact_mut(pairs) {
                    all.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
                }
            }
            product_tn(&mut m.product, x(1), y(1), true);
        } else if rows > 0 {
            product_tn(&mut m.count, x(0), y(0), true);
            product_tn(&mut m.left, x(1), y(0), true);
            product_tn(&mut m.right, x(0), y(1), true);
            product_tn(&mut m.left_squared, x(2), y(0), true);
            product_tn(&mut m.right_squared, x(0), y(2), true);
            product_tn(&mut m.product, x(1), y(1), true);
        }
        (self.rows, self.complete) = (0, true);
        self.roots.clear();
        self.x.iter_mut().chain(&mut self.y).for_each(Vec::clear);
    }
}

/// Pairs of stored entries. A column's sums with all landmarks are a few kilobytes, so column by column they stay in the
/// nearest cache; and columns do not depend on each other.
fn sparse_associations<T: Real>(
    sample: &Table<T>,
    cells: &Sparse<T>,
    standard: &Standard,
    landmarks: &[usize],
) -> Vec<f32> {
    let (columns, pairs) = (sample.columns(), landmarks.len());
    let mut place = vec![u32::MAX; columns];
    for (l, &landmark) in landmarks.iter().enumerate() {
        place[landmark] = l as u32;
    }
    let weight = |row: usize| sample.about().weights.as_ref().map_or(1.0, |w| w[row] as f32);
    // The entries of each column, and of each row those at landmarks.
    let mut by_column: Vec<Vec<(u32, f32)>> = vec![Vec::new(); columns];
    let mut by_row: Vec<Vec<(u32, f32)>> = Vec::with_capacity(sample.rows());
    for row in 0..sample.rows() {
        let (at, values) = cells.row(row);
        let mut here = Vec::new();
        for (&d, value) in at.iter().zip(values) {
            let d = d as usize;
            let x = ((value.to_f64() - standard.mean[d]) * standard.inverse[d]) as f32;
            if x.is_nan() {
                continue;
            }
            by_column[d].push((row as u32, x));
            if place[d] != u32::MAX {
                here.push((place[d], x));
            }
        }
        by_row.push(here);
    }
    let mut values = vec![0.0; columns * pairs];
    in_parallel(values.chunks_mut(pairs.max(1) * COLUMNS).enumerate(), |(block, values)| {
        let mut sums: Vec<CoMoments> = vec![[0.0; 6]; pairs];
        for (d, values) in (block * COLUMNS..).zip(values.chunks_exact_mut(pairs.max(1))) {
            sums.fill([0.0; 6]);
            for &(row, x) in &by_column[d] {
                let w = weight(row as usize);
                for &(l, y) in &by_row[row as usize] {
                    let more = [w, w * x, w * y, w * x * x, w * y * y, w * x * y];
                    sums[l as usize].iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
                }
            }
            for ((value, &sums), &landmark) in values.iter_mut().zip(&sums).zip(landmarks) {
                *value = if landmark == d { 0.0 } else { association(sums) };
            }
        }
    });
    values
}

/// Counts: every row observes all columns, which have mean 0 and variance 1, so that products alone are to be found; and
/// what is not stored adds nothing to those about 0: `Σ (x - μ)(y - ν) = Σ xy - n μ ν`.
fn count_associations<T: Real>(
    sample: &Table<T>,
    standard: &Standard,
    landmarks: &[usize],
) -> Result<Vec<f32>> {
    let (columns, pairs) = (sample.columns(), landmarks.len());
    let mut place = vec![usize::MAX; columns];
    for (l, &landmark) in landmarks.iter().enumerate() {
        place[landmark] = l;
    }
    let (rows, size) = (standard.rows as f32, columns * pairs);
    let mut products = vec![0.0f32; size];
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
                let own = &mut products[d * pairs..(d + 1) * pairs];
                known.iter().for_each(|&(l, y)| own[l] += x * y);
            }
        }
    }
    let centre = |d: usize| (standard.mean[d] * standard.inverse[d]) as f32;
    for (d, own) in products.chunks_exact_mut(pairs.max(1)).enumerate() {
        for (value, &landmark) in own.iter_mut().zip(landmarks) {
            let varies = standard.inverse[d] != 0.0 && standard.inverse[landmark] != 0.0;
            let product = *value - rows * centre(d) * centre(landmark);
            let known = varies && d != landmark;
            *value = if known { association([rows, 0.0, 0.0, rows, rows, product]) } else { 0.0 };
        }
    }
    Ok(products)
}

impl CoSums {
    /// Those of one pair.
    fn of(&self, i: usize) -> CoMoments {
        let Self { count, left, right, left_squared, right_squared, product } = self;
        [count, left, right, left_squared, right_squared, product].map(|sums| sums[i])
    }

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
    use mereo_core::{ColumnKind, Dense, Sparse};

    use super::*;

    /// A number, a word that follows from it, one that hardly does, a count that follows, one word by itself.
    fn sample() -> Table<f64> {
        let mut cells = Vec::new();
        for i in 0..600usize {
            let level = i % 3;
            let noise = ((i * 37) % 101) as f64 / 101.0;
            cells.extend([
                level as f64 * 4.0 + noise,
                level as f64,
                ((i * 7919) % 13 % 4) as f64,
                (level * 5 + i % 2) as f64,
                ((i / 3) % 2) as f64,
            ]);
        }
        let words =
            |n: usize| ColumnKind::Category { levels: (0..n).map(|l| l.to_string()).collect() };
        let kinds = vec![ColumnKind::Number, words(3), words(4), ColumnKind::Count, words(2)];
        Table::from(Dense::new(600, 5, cells).unwrap()).with_kinds(kinds).unwrap()
    }

    #[test]
    fn columns_of_every_kind_go_together_by_how_much_they_tell_of_each_other() {
        let affinity = associate(&sample()).unwrap();
        let of = |a: usize, b: usize| affinity.values[a * 5 + b];
        assert!(of(0, 1) > 0.95 && of(0, 3) > 0.95 && of(1, 3) > 0.95, "{:?}", affinity.values);
        assert!((of(0, 1) - of(1, 0)).abs() < 1e-4);
        for other in [0, 1, 3] {
            assert!(of(2, other) < 0.05 && of(4, other) < 0.05, "{:?}", affinity.values);
        }
        assert!(of(1, 1) == 0.0);
    }

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
