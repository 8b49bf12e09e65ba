//! Which items the same people know, so that what somebody knows and does not know says what else they know.
//!
//! Of person r, `z_rd` is 1 if they rated item d and 0 otherwise. Who knows one film of a kind knows others of it, and some people know
//! far more than others do. Both are in the covariance of z, of which the R leading axes are kept (probabilistic PCA):
//!
//! ```text
//! z = μ + W a + e,   a ~ N(0, 1),   e_d ~ N(0, ν_d),   ν_d = μ_d (1 - μ_d) - Σ_i W_di²
//! W_i = v_i √(λ_i - σ²)        λ_i, v_i: eigenvalues and eigenvectors of the covariance,  σ²: the mean of all other eigenvalues
//! ```
//!
//! with `μ_d` the share of people who know d. Taking σ² away takes away what axes gain by chance, which is much if people are few. Given what
//! somebody said of a set A of items (1 known, 0 not known), a is Gaussian with the mean
//!
//! ```text
//! ā = (1 + Σ_{d ∈ A} W_d W_dᵀ / ν_d)⁻¹ Σ_{d ∈ A} W_d (z_d - μ_d) / ν_d
//! ```
//!
//! and the chance of knowing another item is `μ_d + W_d ā`, kept between 0 and 1. Items that nobody was asked about play no role.
//!
//! The covariance itself, D x D, is never made. A pass multiplies it by a few vectors V: with `a_r = Vᵀ (z_r - μ)`,
//! `Σ_r (z_r - μ) a_rᵀ` is a sum over rows that visits stored cells only. Vectors that are multiplied and made orthogonal again and again turn into
//! the leading axes (subspace iteration), and the small matrix `Vᵀ S V` has their eigenvalues.

use serde::{Deserialize, Serialize};

use crate::math::{cholesky, cholesky_solve, eigen, packed};
use crate::{Batch, Context, RatingsSeen, Real, Result, RowTask, Source, Statistics, gather};
use rand::RngExt;

/// Axes that are kept. On `MovieLens` eight found as many known films as twenty.
const AXES: usize = 8;
/// Vectors that are multiplied: a few more, so that the last axes are found sooner.
const VECTORS: usize = AXES + 4;
/// Passes over the rows.
const PASSES: usize = 6;
/// Loadings are kept to so many parts of one.
const PRECISION: f64 = 1e4;
/// The least chance of knowing an item.
const LEAST: f64 = 1e-3;

impl RatingsSeen {
    /// Looks at every row a few times and keeps which items the same people know; nothing is kept if people are too few to tell.
    ///
    /// ```
    /// use mereo_core::{Absent, Context, RatingsSeen, Sparse, Table};
    /// // Half of the people know the first six items, the others the last six.
    /// let items = |r: u32| (0..6).map(move |i| 6 * (r % 2) + i);
    /// let cells: Vec<u32> = (0..60).flat_map(items).collect();
    /// let (starts, values) = ((0..=60).map(|r| 6 * r).collect(), vec![3.0f32; 360]);
    /// let table = Table::from(Sparse::new(12, starts, cells, values, Absent::Unobserved)?);
    /// let context = Context::new(0);
    /// let seen = RatingsSeen::of(&table, &context)?.unwrap().with_together(&table, &context)?;
    /// let chances = seen.chances(&[0], &[7]);
    /// assert!(chances[1] > 0.9 && chances[8] < 0.1);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn with_together<T: Real>(
        mut self,
        source: &dyn Source<T>,
        context: &Context,
    ) -> Result<Self> {
        let columns = self.counts.len();
        let freedom = (self.people - 1.0).min(columns as f64) - AXES as f64;
        if freedom < 1.0 {
            return Ok(self);
        }
        let mean: Vec<f64> = self.counts.iter().map(|count| count / self.people).collect();
        let mut random = context.random("together", [0, 0]);
        let mut vectors: Vec<f64> =
            (0..columns * VECTORS).map(|_| random.random::<f64>() - 0.5).collect();
        let mut products = Vec::new();
        for pass in 0..PASSES {
            if pass > 0 {
                vectors = products;
            }
            orthogonalise(&mut vectors);
            products = multiply(source, &mean, self.people, &vectors, context)?;
        }
        let mut small = [0.0; VECTORS * VECTORS];
        for (v, p) in vectors.chunks(VECTORS).zip(products.chunks(VECTORS)) {
            for (i, v) in v.iter().enumerate() {
                for (j, p) in p.iter().enumerate() {
                    small[i * VECTORS + j] += v * p;
                }
            }
        }
        let found = eigen(&small, VECTORS)?;
        let total: f64 = mean.iter().map(|p| p * (1.0 - p)).sum();
        let noise = ((total - found.values[..AXES].iter().sum::<f64>()) / freedom).max(0.0);
        self.together = Vec::with_capacity(columns * AXES);
        for own in vectors.chunks(VECTORS) {
            for (value, axis) in found.values.iter().zip(found.vectors.chunks(VECTORS)).take(AXES) {
                let along: f64 = own.iter().zip(axis).map(|(v, q)| v * q).sum();
                let loading = along * (value - noise).max(0.0).sqrt();
                self.together.push((loading * PRECISION).round() / PRECISION);
            }
        }
        Ok(self)
    }

    /// How likely somebody knows each item who knows some and does not know others; the share of people who rated it if nothing is
    /// kept of which items go together, or nothing is said.
    pub fn chances(&self, known: &[usize], unknown: &[usize]) -> Vec<f64> {
        let share = |d: usize| self.counts[d] / self.people;
        let axes = self.together.len() / self.counts.len().max(1);
        if axes == 0 {
            return (0..self.counts.len()).map(share).collect();
        }
        let loading = |d: usize| &self.together[d * axes..][..axes];
        let mut precision = vec![0.0; packed(axes)];
        (0..axes).for_each(|i| precision[packed(i) + i] = 1.0);
        let mut found = vec![0.0; axes];
        let said = known.iter().map(|&d| (d, 1.0)).chain(unknown.iter().map(|&d| (d, 0.0)));
        for (d, z) in said {
            let w = loading(d);
            // Of an item that all or none know, as if half a person more did and half did not.
            let mean = (self.counts[d] + 0.5) / (self.people + 1.0);
            let all = mean * (1.0 - mean);
            let noise = (all - w.iter().map(|w| w * w).sum::<f64>()).max(0.1 * all);
            for i in 0..axes {
                found[i] += w[i] * (z - mean) / noise;
                for j in 0..=i {
                    precision[packed(i) + j] += w[i] * w[j] / noise;
                }
            }
        }
        match cholesky(&mut precision, axes) {
            Some(_) => cholesky_solve(&precision, axes, &mut found),
            None => found.fill(0.0),
        }
        let moved = |d: usize| loading(d).iter().zip(&found).map(|(w, a)| w * a).sum::<f64>();
        (0..self.counts.len()).map(|d| (share(d) + moved(d)).clamp(LEAST, 1.0)).collect()
    }

    /// Complains about loadings that are not numbers, or not of these columns.
    pub(crate) fn check_together(&self) -> bool {
        let columns = self.counts.len().max(1);
        self.together.len().is_multiple_of(columns)
            && self.together.len() / columns <= 64
            && self.together.iter().all(|w| w.abs() <= 1.0)
    }
}

/// Makes the columns of `[D, VECTORS]` orthogonal, of length 1; those that depend on others become zero.
fn orthogonalise(vectors: &mut [f64]) {
    let dot = |vectors: &[f64], i: usize, j: usize| -> f64 {
        vectors.chunks(VECTORS).map(|row| row[i] * row[j]).sum()
    };
    for j in 0..VECTORS {
        let before = dot(vectors, j, j);
        // Twice, since what is left after the first time may be small.
        for _ in 0..2 {
            for i in 0..j {
                let along = dot(vectors, i, j);
                vectors.chunks_mut(VECTORS).for_each(|row| row[j] -= along * row[i]);
            }
        }
        let left = dot(vectors, j, j);
        let scale = if left > 1e-20 * before { left.sqrt().recip() } else { 0.0 };
        vectors.chunks_mut(VECTORS).for_each(|row| row[j] *= scale);
    }
}

/// The covariance of what people know times vectors, `[D, VECTORS]`.
fn multiply<T: Real>(
    source: &dyn Source<T>,
    mean: &[f64],
    people: f64,
    vectors: &[f64],
    context: &Context,
) -> Result<Vec<f64>> {
    let mut origin = vec![0.0; VECTORS];
    for (mean, row) in mean.iter().zip(vectors.chunks(VECTORS)) {
        origin.iter_mut().zip(row).for_each(|(sum, v)| *sum += mean * v);
    }
    let task = TogetherTask { origin, vectors: vectors.to_vec() };
    let TogetherStatistics { mut sums, total } = gather(source, context, &task)?;
    for (mean, row) in mean.iter().zip(sums.chunks_mut(VECTORS)) {
        row.iter_mut().zip(&total).for_each(|(sum, all)| *sum = (*sum - mean * all) / people);
    }
    Ok(sums)
}

/// Asks rows for the product of their covariance with vectors.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TogetherTask {
    /// The mean row, along each vector.
    origin: Vec<f64>,
    /// `[D, VECTORS]`.
    vectors: Vec<f64>,
}

/// What rows answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TogetherStatistics {
    /// Where people stand along the vectors, added up over those who know each item: `[D, VECTORS]`.
    sums: Vec<f64>,
    /// The same over all.
    total: Vec<f64>,
}

impl Statistics for TogetherStatistics {
    fn merge(&mut self, other: &Self) {
        let all = self.sums.iter_mut().zip(&other.sums);
        all.chain(self.total.iter_mut().zip(&other.total)).for_each(|(a, b)| *a += b);
    }

    fn reset(&mut self) {
        self.sums.fill(0.0);
        self.total.fill(0.0);
    }
}

impl<T: Real> RowTask<T> for TogetherTask {
    const NAME: &'static str = "together";
    type Statistics = TogetherStatistics;

    fn statistics(&self) -> TogetherStatistics {
        TogetherStatistics {
            sums: vec![0.0; self.vectors.len()],
            total: vec![0.0; self.origin.len()],
        }
    }

    fn accumulate(&self, batch: &Batch<'_, T>, statistics: &mut TogetherStatistics) {
        let width = self.origin.len().max(1);
        let mut along = vec![0.0; width];
        for row in 0..batch.rows {
            let weight = batch.weight(row);
            if weight == 0.0 {
                continue;
            }
            along.iter_mut().zip(&self.origin).for_each(|(a, origin)| *a = -origin);
            batch.for_each_observed(row, |column, _| {
                let own = &self.vectors[column * width..][..width];
                along.iter_mut().zip(own).for_each(|(a, v)| *a += v);
            });
            along.iter_mut().for_each(|a| *a *= weight);
            batch.for_each_observed(row, |column, _| {
                let own = &mut statistics.sums[column * width..][..width];
                own.iter_mut().zip(&along).for_each(|(sum, a)| *sum += a);
            });
            statistics.total.iter_mut().zip(&along).for_each(|(sum, a)| *sum += a);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Absent, Sparse, Table};

    /// People of two kinds: each knows most of the items of their own kind, few of the other's, and the last item half of the time.
    fn people(count: usize) -> Table<f32> {
        let mut random = Context::new(3).random("people", [0, 0]);
        let (mut starts, mut items) = (vec![0], Vec::new());
        for person in 0..count {
            for d in 0..21u32 {
                let own = d / 10 == (person % 2) as u32;
                let chance = if d == 20 { 0.5 } else { f64::from(u8::from(own)) * 0.7 + 0.1 };
                if random.random::<f64>() < chance {
                    items.push(d);
                }
            }
            starts.push(items.len());
        }
        let values = vec![3.0; items.len()];
        Table::from(Sparse::new(21, starts, items, values, Absent::Unobserved).unwrap())
    }

    fn seen(table: &Table<f32>, context: &Context) -> RatingsSeen {
        let seen = RatingsSeen::of(table, context).unwrap().unwrap();
        seen.with_together(table, context).unwrap()
    }

    #[test]
    fn an_item_that_is_not_known_makes_those_that_the_same_people_know_less_likely() {
        let seen = seen(&people(300), &Context::new(0));
        let (before, after) = (seen.chances(&[], &[]), seen.chances(&[], &[0, 1]));
        assert!((1..10).all(|d| after[d] < before[d] - 0.1), "{before:?} {after:?}");
        assert!((10..20).all(|d| after[d] > before[d] + 0.1), "{before:?} {after:?}");
        assert!((after[20] - before[20]).abs() < 0.1);
        let known = seen.chances(&[0, 1], &[]);
        assert!((2..10).all(|d| known[d] > 0.7) && (10..20).all(|d| known[d] < 0.3), "{known:?}");
    }

    #[test]
    fn chances_are_as_the_data_has_them() {
        // Of people whose answers to four items are alike, the share who know another one.
        let table = people(4000);
        let seen = seen(&table, &Context::new(0));
        let crate::Cells::Sparse(cells) = table.cells() else { unreachable!("it is sparse") };
        let knows = |row: usize, d: u32| cells.row(row).0.contains(&d);
        let fits =
            |row: &usize| knows(*row, 0) && knows(*row, 1) && !knows(*row, 10) && !knows(*row, 11);
        let rows: Vec<usize> = (0..4000).filter(fits).collect();
        let share =
            |d: u32| rows.iter().filter(|row| knows(**row, d)).count() as f64 / rows.len() as f64;
        let chances = seen.chances(&[0, 1], &[10, 11]);
        for d in [2, 5, 9, 12, 15, 19, 20] {
            assert!((chances[d as usize] - share(d)).abs() < 0.1, "{d} {chances:?} {}", share(d));
        }
    }

    #[test]
    fn merged_halves_equal_the_whole() {
        let task = TogetherTask {
            origin: (0..VECTORS).map(|i| i as f64).collect(),
            vectors: (0..21 * VECTORS).map(|i| (i % 5) as f64).collect(),
        };
        let of = |table: &Table<f32>| {
            let mut sums = RowTask::<f32>::statistics(&task);
            let mut lane = table.lane(0..table.batches()).unwrap();
            while let Some(batch) = lane.next_batch().unwrap() {
                task.accumulate(&batch, &mut sums);
            }
            sums
        };
        let whole = people(90);
        let (left, right): (Vec<usize>, Vec<usize>) = (0..90).partition(|row| row % 3 == 0);
        let mut merged = of(&whole.select_rows(&left));
        merged.merge(&of(&whole.select_rows(&right)));
        let expected = of(&whole);
        assert_eq!((merged.sums, merged.total), (expected.sums, expected.total));
    }

    #[test]
    fn weight_two_is_the_row_twice_and_threads_change_nothing() {
        let table = people(200);
        let twice: Vec<usize> = (0..200).chain((0..200).filter(|row| row % 4 == 0)).collect();
        let weights = (0..200).map(|row| if row % 4 == 0 { 2.0 } else { 1.0 }).collect();
        let weighted = seen(&table.clone().with_weights(weights).unwrap(), &Context::new(0));
        let repeated = seen(&table.select_rows(&twice), &Context::new(0));
        let (a, b) = (weighted.chances(&[0, 12], &[3]), repeated.chances(&[0, 12], &[3]));
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 0.01), "{a:?} {b:?}");
        for threads in [1, 2, 7] {
            let context = Context::new(0).with_threads(threads).unwrap();
            assert_eq!(seen(&table, &context), seen(&table, &Context::new(0)));
        }
    }

    #[test]
    fn people_who_are_too_few_tell_nothing_and_broken_loadings_are_refused() {
        let few = seen(&people(9), &Context::new(0));
        assert!(few.together.is_empty());
        assert_eq!(few.chances(&[0], &[1])[2], few.counts[2] / few.people);
        let good = seen(&people(100), &Context::new(0));
        assert!(good.check(21).is_ok() && good.together.len() == 21 * AXES);
        let wrong = |together: Vec<f64>| RatingsSeen { together, ..good.clone() };
        for bad in [vec![0.0; 22], vec![f64::NAN; 21], vec![1e9; 21], vec![0.0; 21 * 65]] {
            assert!(wrong(bad).check(21).is_err());
        }
        // An item that everybody knows, and one that nobody does.
        let sure = RatingsSeen {
            counts: [vec![100.0, 0.0], vec![50.0; 19]].concat(),
            ..wrong(vec![0.0; 21])
        };
        assert!(sure.chances(&[1], &[0]).iter().all(|p| p.is_finite() && (0.0..=1.0).contains(p)));
    }
}
