//! Where k-means begins: greedy k-means++.
//!
//! The first start is a row drawn by weight. Each further one is drawn with probability proportional to the squared distance
//! from the starts so far (Arthur and Vassilvitskii), and of a few such candidates, `2 + ⌊log J⌋`, the one that leaves the
//! smallest sum of squared distances is taken. One candidate alone ends at distortions a tenth to four tenths higher where rows
//! fall into clusters: it misses some and has two starts in others, which Lloyd's passes cannot mend.
//!
//! All distances of a step are one product: with cells z in units, 0 where missing, and o 1 where observed,
//! `Σ_d o (z-c)² = Σ_d z² - 2 Σ_d z c + Σ_d o c²`.

use rand::RngExt;

use crate::math::{Matrix, product_nt};
use crate::{Random, draw, in_parallel};

/// Rows that are measured in one piece.
const BLOCK: usize = 512;

/// Rows to choose starts from, measured in units about a centre, so that nothing is lost to offsets.
pub(super) struct Spread<'a> {
    /// `[R, D]`, 0 where missing.
    pub(super) cells: Vec<f64>,
    /// 1 where a cell is observed, `[R, D]`; nothing if all are.
    pub(super) observed: Option<Vec<f64>>,
    pub(super) columns: usize,
    /// `[R]`.
    pub(super) weights: &'a [f64],
}

impl Spread<'_> {
    /// The numbers of the rows that starts are made of. If fewer rows differ than there are starts, some are chosen again.
    pub(super) fn starts(&self, count: usize, random: &mut Random) -> Vec<usize> {
        let rows = self.weights.len();
        let squares: Vec<f64> = match self.columns {
            0 => vec![0.0; rows],
            columns => self
                .cells
                .chunks_exact(columns)
                .map(|row| row.iter().map(|z| z * z).sum())
                .collect(),
        };
        let candidates = 2 + (count as f64).ln() as usize;
        let first = draw(self.weights, random).unwrap_or(0);
        let mut nearest = vec![f64::INFINITY; rows];
        let mut starts = Vec::with_capacity(count);
        let mut chosen = vec![first];
        while starts.len() < count {
            let distance = self.distances(&chosen, &squares);
            let left = |c: usize| -> f64 {
                let near = nearest.iter().zip(self.weights).enumerate();
                near.map(|(r, (n, w))| w * n.min(distance[r * chosen.len() + c])).sum()
            };
            let sums: Vec<f64> = (0..chosen.len()).map(left).collect();
            let best =
                (0..sums.len()).fold(0, |best, c| if sums[c] < sums[best] { c } else { best });
            for (near, distance) in nearest.iter_mut().zip(distance.chunks_exact(chosen.len())) {
                *near = near.min(distance[best]);
            }
            starts.push(chosen[best]);
            let chance: Vec<f64> = nearest.iter().zip(self.weights).map(|(d, w)| d * w).collect();
            chosen = draw_some(&chance, candidates, random);
            if chosen.is_empty() {
                // Fewer distinct rows than starts: any row will do, the state stays empty or shares.
                chosen.push(draw(self.weights, random).unwrap_or(0));
            }
        }
        starts
    }

    /// Squared distances of all rows from some of them, `[R, C]`.
    fn distances(&self, chosen: &[usize], squares: &[f64]) -> Vec<f64> {
        let (columns, count) = (self.columns, chosen.len());
        let mut distance = vec![0.0; squares.len() * count];
        if columns == 0 {
            return distance;
        }
        let row = |values: &[f64], r: usize| values[r * columns..(r + 1) * columns].to_vec();
        let there: Vec<f64> = chosen.iter().flat_map(|&c| row(&self.cells, c)).collect();
        let square: Vec<f64> = there.iter().map(|z| z * z).collect();
        let whole: Vec<f64> = square.chunks_exact(columns).map(|z| z.iter().sum()).collect();
        let doubled: Vec<f64> = there.iter().map(|z| -2.0 * z).collect();
        in_parallel(distance.chunks_mut(BLOCK * count).enumerate(), |(block, out)| {
            let (first, rows) = (block * BLOCK, out.len() / count);
            let range = first * columns..(first + rows) * columns;
            let cells = Matrix::new(&self.cells[range.clone()], rows, columns);
            product_nt(out, cells, Matrix::new(&doubled, count, columns), false);
            if let Some(observed) = &self.observed {
                let observed = Matrix::new(&observed[range], rows, columns);
                product_nt(out, observed, Matrix::new(&square, count, columns), true);
            }
            for (out, own) in out.chunks_exact_mut(count).zip(&squares[first..]) {
                for (out, whole) in out.iter_mut().zip(&whole) {
                    let other = if self.observed.is_some() { 0.0 } else { *whole };
                    let distance = own + *out + other;
                    // What is smaller is rounding: the rows are the same.
                    *out = if distance > 1e-13 * (own + whole) { distance } else { 0.0 };
                }
            }
        });
        distance
    }
}

/// Some indices, each drawn with probability proportional to these weights; none if all are 0.
fn draw_some(weights: &[f64], count: usize, random: &mut Random) -> Vec<usize> {
    let mut sum = 0.0;
    let sums: Vec<f64> = weights
        .iter()
        .map(|w| {
            sum += w;
            sum
        })
        .collect();
    if !(sum > 0.0 && sum.is_finite()) {
        return Vec::new();
    }
    let last = weights.iter().rposition(|&w| w > 0.0).unwrap_or(0);
    let place = |at: f64| sums.partition_point(|&s| s <= at).min(last);
    (0..count).map(|_| place(random.random::<f64>() * sum)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Context;

    fn spread(
        cells: &[f64],
        columns: usize,
        weights: &[f64],
        count: usize,
        seed: u64,
    ) -> Vec<usize> {
        let missing = cells.iter().any(|x| x.is_nan());
        let there = |x: &f64| if x.is_nan() { 0.0 } else { 1.0 };
        let spread = Spread {
            cells: cells.iter().map(|x| if x.is_nan() { 0.0 } else { *x }).collect(),
            observed: missing.then(|| cells.iter().map(there).collect()),
            columns,
            weights,
        };
        spread.starts(count, &mut Context::new(seed).random("spread", [0, 0]))
    }

    #[test]
    fn every_cluster_gets_a_start() {
        let cells: Vec<f64> =
            (0..400).map(|i| f64::from(i % 4) * 100.0 + f64::from(i / 4) * 0.01).collect();
        for seed in 0..20 {
            let mut found: Vec<usize> =
                spread(&cells, 1, &[1.0; 400], 4, seed).iter().map(|r| r % 4).collect();
            found.sort_unstable();
            assert_eq!(found, [0, 1, 2, 3], "seed {seed}");
        }
    }

    #[test]
    fn rows_of_weight_0_start_nothing_and_equal_rows_are_no_reason_to_fail() {
        for seed in 0..20 {
            assert!(!spread(&[0.0, 5.0, 9.0], 1, &[1.0, 0.0, 1.0], 3, seed).contains(&1));
            assert_eq!(spread(&[7.0; 3], 1, &[1.0; 3], 5, seed).len(), 5);
            assert_eq!(spread(&[], 0, &[1.0; 3], 2, seed).len(), 2);
        }
    }

    #[test]
    fn distances_are_over_the_cells_that_a_row_observes() {
        let weights = [1.0; 3];
        let spread = Spread {
            cells: vec![0.0, 0.0, 3.0, 0.0, 0.0, 4.0],
            observed: Some(vec![1.0, 1.0, 1.0, 0.0, 1.0, 1.0]),
            columns: 2,
            weights: &weights,
        };
        // Rows (0, 0), (3, missing) and (0, 4); a start has the centre where it misses a cell.
        let squares = [0.0, 9.0, 16.0];
        assert_eq!(
            spread.distances(&[0, 1, 2], &squares),
            [0.0, 9.0, 16.0, 9.0, 0.0, 9.0, 16.0, 25.0, 0.0]
        );
    }
}
