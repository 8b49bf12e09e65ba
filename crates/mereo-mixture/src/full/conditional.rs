//! Missing cells given the others: see the [module](super).

use mereo_core::Real;
use mereo_core::math::{cholesky, cholesky_inverse, cholesky_solve, packed};

/// Rows of a block that miss the same cells.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    pub(super) missing: Vec<usize>,
    pub(super) observed: Vec<usize>,
    /// Rising.
    pub(super) rows: Vec<usize>,
}

/// The patterns of the rows with holes among `[R, D]` values.
pub(super) fn patterns<T: Real>(values: &[T], columns: usize, out: &mut Vec<Pattern>) {
    out.clear();
    let holes =
        |row: usize| values[row * columns..(row + 1) * columns].iter().map(|x| x.is_missing());
    let mut rows: Vec<usize> =
        (0..values.len() / columns).filter(|&row| holes(row).any(|hole| hole)).collect();
    rows.sort_by(|&a, &b| holes(a).cmp(holes(b)).then(a.cmp(&b)));
    for row in rows {
        match out.last_mut() {
            Some(last) if holes(last.rows[0]).eq(holes(row)) => last.rows.push(row),
            _ => {
                let (missing, observed) =
                    (0..columns).partition(|&d| values[row * columns + d].is_missing());
                out.push(Pattern { missing, observed, rows: vec![row] });
            }
        }
    }
}

/// What one component makes of the missing cells of one pattern.
pub(super) struct Conditional<'a> {
    pattern: &'a Pattern,
    columns: usize,
    /// `[D, D]`: the covariance, or the precision where fewer cells are missing than observed.
    matrix: &'a [f64],
    by_precision: bool,
    /// Packed: of `Σ_OO` or of `P_MM`.
    factor: Vec<f64>,
    /// `log |P_MM|`.
    pub(super) log_determinant: f64,
    /// By what the component's covariance is larger than the matrix says.
    scale: f64,
}

impl<'a> Conditional<'a> {
    /// Of the covariance Σ times a scale, which does not change what is expected. Nothing if numbers
    /// are too extreme for an answer. `log_determinant` is `log |Σ|`.
    pub(super) fn new(
        pattern: &'a Pattern,
        covariance: &'a [f64],
        precision: &'a [f64],
        log_determinant: f64,
        scale: f64,
        columns: usize,
    ) -> Option<Self> {
        let by_precision = pattern.missing.len() <= pattern.observed.len();
        let (matrix, kept) = if by_precision {
            (precision, &pattern.missing)
        } else {
            (covariance, &pattern.observed)
        };
        let mut factor = Vec::with_capacity(packed(kept.len()));
        for (i, &row) in kept.iter().enumerate() {
            // The lower triangle alone is sure to be there.
            factor.extend(kept[..=i].iter().map(|&column| matrix[row * columns + column]));
        }
        let own = cholesky(&mut factor, kept.len())?;
        let log_determinant = if by_precision { own } else { own - log_determinant };
        let log_determinant = log_determinant - pattern.missing.len() as f64 * scale.ln();
        Some(Self { pattern, columns, matrix, by_precision, factor, log_determinant, scale })
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        self.matrix[i.max(j) * self.columns + i.min(j)]
    }

    /// Fills a row of differences from the mean; `room` is where that is worked out.
    pub(super) fn fill<T: Real>(&self, row: &mut [T], room: &mut Vec<f64>) {
        let Pattern { missing, observed, .. } = self.pattern;
        room.clear();
        if self.by_precision {
            room.extend(
                missing.iter().map(|&m| {
                    -observed.iter().map(|&o| self.at(m, o) * row[o].to_f64()).sum::<f64>()
                }),
            );
            cholesky_solve(&self.factor, missing.len(), room);
            for (&m, y) in missing.iter().zip(&*room) {
                row[m] = T::from_f64(*y);
            }
        } else {
            room.extend(observed.iter().map(|&o| row[o].to_f64()));
            cholesky_solve(&self.factor, observed.len(), room);
            for &m in missing {
                row[m] =
                    T::from_f64(observed.iter().zip(&*room).map(|(&o, v)| self.at(m, o) * v).sum());
            }
        }
    }

    /// Adds the covariance of the missing cells, so many times, to the lower triangle of a matrix
    /// whose rows are `stride` long.
    pub(super) fn add_covariance(&self, times: f64, out: &mut [f64], stride: usize) {
        let Pattern { missing, observed, .. } = self.pattern;
        let times = times * self.scale;
        if self.by_precision {
            let n = missing.len();
            let (mut inverse, mut work) = (vec![0.0; packed(n)], vec![0.0; n]);
            cholesky_inverse(&self.factor, n, &mut inverse, &mut work);
            for (i, &row) in missing.iter().enumerate() {
                for (j, &column) in missing[..=i].iter().enumerate() {
                    out[row * stride + column] += times * inverse[packed(i) + j];
                }
            }
        } else {
            let mut explained = vec![0.0; observed.len()];
            for (j, &column) in missing.iter().enumerate() {
                for (v, &o) in explained.iter_mut().zip(observed) {
                    *v = self.at(o, column);
                }
                cholesky_solve(&self.factor, observed.len(), &mut explained);
                for &row in &missing[j..] {
                    let known: f64 =
                        observed.iter().zip(&explained).map(|(&o, v)| self.at(row, o) * v).sum();
                    out[row * stride + column] += times * (self.at(row, column) - known);
                }
            }
        }
    }
}
