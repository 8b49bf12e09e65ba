//! Which columns go together, and how strongly: a number from 0 to 1 for every pair, whatever the columns hold.
//!
//! Two numbers: the absolute value of their correlation. Two columns of words: Cramér's V with its bias taken off,
//! `V² = max(0, χ²/n - (r-1)(c-1)/(n-1)) / (min(r', c') - 1)` with `r' = r - (r-1)²/(n-1)`. A number and a word: the
//! correlation ratio η with its bias taken off, `η² = 1 - (1 - SS_between/SS)(n-1)/(n-r)`. Rows count that observe both.

use mereo_core::{Real, Result, Table};

use super::dense;

/// Rows that are looked at.
const MOST_ROWS: usize = 5_000;
/// Rows that observe both columns, below which nothing is said.
const FEWEST: usize = 5;

/// How strongly columns go together.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Together {
    /// The columns' names.
    pub columns: Vec<String>,
    /// A number from 0 to 1 for every pair, `[D, D]`; 1 of a column with itself.
    pub strength: Vec<f64>,
}

impl Together {
    /// Pairs of columns, the strongest first.
    pub fn pairs(&self) -> Vec<(usize, usize, f64)> {
        let n = self.columns.len();
        let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b)));
        let mut pairs: Vec<_> = pairs.map(|(a, b)| (a, b, self.strength[a * n + b])).collect();
        pairs.sort_by(|x, y| y.2.total_cmp(&x.2).then((x.0, x.1).cmp(&(y.0, y.1))));
        pairs
    }
}

/// How strongly the columns of a table go together.
///
/// ```
/// use mereo::{ColumnKind, Dense, Table, together};
/// let levels = vec!["no".to_owned(), "yes".to_owned()];
/// let cells = (0..60).map(f64::from).flat_map(|i| [i % 2.0, 3.0 * (i % 2.0) + 0.01 * i, (i / 2.0).floor() % 3.0]);
/// let table = Table::from(Dense::new(60, 3, cells.collect())?)
///     .with_kinds(vec![ColumnKind::YesNo { levels }, ColumnKind::Number, ColumnKind::Number])?;
/// let told = together(&table)?;
/// assert_eq!((told.pairs()[0].0, told.pairs()[0].1), (0, 1));
/// assert!(told.pairs()[0].2 > 0.95 && told.strength[2] < 0.1);
/// # Ok::<(), mereo::Error>(())
/// ```
pub fn together<T: Real>(table: &Table<T>) -> Result<Together> {
    let cells = dense(table)?;
    let columns = table.columns();
    let step = table.rows().div_ceil(MOST_ROWS).max(1);
    let of_column = |d: usize| -> Vec<f64> {
        (0..table.rows()).step_by(step).map(|row| cells.row(row)[d].to_f64()).collect()
    };
    let values: Vec<Vec<f64>> = (0..columns).map(of_column).collect();
    let levels = |d: usize| table.about().kind(d).levels().len();
    let mut strength = vec![0.0; columns * columns];
    for a in 0..columns {
        strength[a * columns + a] = 1.0;
        for b in a + 1..columns {
            let both = values[a].iter().zip(&values[b]).filter(|(x, y)| !x.is_nan() && !y.is_nan());
            let both: Vec<(f64, f64)> = both.map(|(x, y)| (*x, *y)).collect();
            let found = match (levels(a), levels(b)) {
                _ if both.len() < FEWEST => 0.0,
                (0, 0) => correlation(&both),
                (0, n) => ratio(both.iter().map(|(x, y)| (*y, *x)), n),
                (n, 0) => ratio(both.iter().copied(), n),
                (n, m) => cramer(&both, n, m),
            };
            let found = if found.is_finite() { found.clamp(0.0, 1.0) } else { 0.0 };
            strength[a * columns + b] = found;
            strength[b * columns + a] = found;
        }
    }
    Ok(Together { columns: (0..columns).map(|d| table.name(d)).collect(), strength })
}

/// The absolute value of a correlation.
fn correlation(both: &[(f64, f64)]) -> f64 {
    let n = both.len() as f64;
    let (mx, my) = both.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x / n, b + y / n));
    let mut sums = [0.0f64; 3];
    for (x, y) in both {
        sums[0] += (x - mx).powi(2);
        sums[1] += (y - my).powi(2);
        sums[2] += (x - mx) * (y - my);
    }
    sums[2].abs() / (sums[0] * sums[1]).sqrt()
}

/// The correlation ratio of numbers among words.
fn ratio(both: impl Iterator<Item = (f64, f64)>, levels: usize) -> f64 {
    let (mut count, mut sum) = (vec![0.0; levels], vec![0.0; levels]);
    let (mut n, mut all, mut values) = (0.0f64, 0.0, Vec::new());
    for (word, x) in both {
        let Some(count) = count.get_mut(word as usize) else { continue };
        *count += 1.0;
        sum[word as usize] += x;
        n += 1.0;
        all += x;
        values.push(x);
    }
    let mean = all / n;
    let total: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    let used = count.iter().filter(|c| **c > 0.0).count() as f64;
    let between = count.iter().zip(&sum).filter(|(c, _)| **c > 0.0);
    let between: f64 = between.map(|(c, s)| c * (s / c - mean).powi(2)).sum();
    if !(total > 0.0) || n <= used {
        return 0.0;
    }
    (1.0 - (1.0 - between / total) * (n - 1.0) / (n - used)).max(0.0).sqrt()
}

/// Cramér's V with its bias taken off.
fn cramer(both: &[(f64, f64)], a: usize, b: usize) -> f64 {
    let mut table = vec![0.0; a * b];
    let (mut rows, mut columns, mut n) = (vec![0.0; a], vec![0.0; b], 0.0);
    for &(x, y) in both {
        let (x, y) = (x as usize, y as usize);
        if x < a && y < b {
            table[x * b + y] += 1.0;
            rows[x] += 1.0;
            columns[y] += 1.0;
            n += 1.0;
        }
    }
    let used = |counts: &[f64]| counts.iter().filter(|c| **c > 0.0).count() as f64;
    let (r, c) = (used(&rows), used(&columns));
    if n < 2.0 || r < 2.0 || c < 2.0 {
        return 0.0;
    }
    let mut square = 0.0;
    for x in (0..a).filter(|&x| rows[x] > 0.0) {
        for y in (0..b).filter(|&y| columns[y] > 0.0) {
            let expected = rows[x] * columns[y] / n;
            square += (table[x * b + y] - expected).powi(2) / expected;
        }
    }
    let excess = (square / n - (r - 1.0) * (c - 1.0) / (n - 1.0)).max(0.0);
    let least = (r - (r - 1.0).powi(2) / (n - 1.0)).min(c - (c - 1.0).powi(2) / (n - 1.0));
    (excess / (least - 1.0).max(f64::MIN_POSITIVE)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_nothing_to_do_with_each_other_is_near_nothing_and_copies_are_one() {
        let pair = |i: i32| (f64::from((i * 7) % 3), f64::from((i * 5 / 3) % 4));
        let apart: Vec<(f64, f64)> = (0..1200).map(pair).collect();
        let same: Vec<(f64, f64)> =
            (0..1200).map(|i| (f64::from(i % 3), f64::from(i % 3))).collect();
        assert!(cramer(&apart, 3, 4) < 0.1, "{}", cramer(&apart, 3, 4));
        assert!((cramer(&same, 3, 3) - 1.0).abs() < 1e-9);
        assert!((correlation(&same) - 1.0).abs() < 1e-12);
        assert!((ratio(same.iter().copied(), 3) - 1.0).abs() < 1e-12);
        assert!(ratio((0..90).map(|i| (f64::from(i % 3), f64::from(i / 3))), 3) < 1e-9);
        // One level alone says nothing, and a level that no row has does no harm.
        assert!(cramer(&[(0.0, 1.0); 9], 2, 3).abs() < 1e-12);
        assert!(ratio([(0.0, 2.0); 9].into_iter(), 5).abs() < 1e-12);
    }
}
