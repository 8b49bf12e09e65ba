//! What single cells may be, given what their rows observe: not a number but a distribution, of
//! which the mean makes squared errors small, the median absolute ones, and the deviation says how sure
//! the model is.

use super::capability::check_columns;
use crate::math::{normal_cdf, normal_log_density};
use crate::{
    Absent, Batch, Block, Context, Error, Place, Random, Real, Result, Source, draw,
    map_in_parallel,
};
use rand_distr::{Distribution, StandardNormal};

/// Rows that are looked at together.
const ROWS: usize = 512;
/// Shares of a mixture below this say nothing.
const NO_SHARE: f64 = 1e-12;
/// Quantiles are found to this share of the distribution's spread.
const NEAR: f64 = 1e-10;

/// A share of a mixture of Gaussians.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Normal {
    /// How much of the mixture it is.
    pub weight: f64,
    /// Its mean.
    pub mean: f64,
    /// Its variance, above 0.
    pub variance: f64,
}

/// What a cell may be.
///
/// ```
/// use mereo_core::{Normal, CellPrediction};
/// // Nine in ten loathe it, one in ten loves it.
/// let film = CellPrediction::normals(vec![
///     Normal { weight: 0.9, mean: 1.0, variance: 0.25 },
///     Normal { weight: 0.1, mean: 5.0, variance: 0.25 },
/// ]);
/// assert!((film.mean() - 1.4).abs() < 1e-12);
/// assert!((film.median() - 1.0).abs() < 0.1);
/// let stars = film.on_levels(&[1.0, 2.0, 3.0, 4.0, 5.0]);
/// assert_eq!(stars.median(), 1.0);
/// assert!((stars.probabilities()[4] - 0.0841).abs() < 1e-3);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum CellPrediction {
    /// A number: a mixture of Gaussians whose weights add up to 1.
    Normals(Vec<Normal>),
    /// One of a few values, rising, each with its probability.
    Levels(Vec<(f64, f64)>),
}

impl CellPrediction {
    /// A mixture of Gaussians; weights are made to add up to 1, and shares that say nothing are left out.
    /// Nothing at all is a standard Gaussian.
    pub fn normals(mut shares: Vec<Normal>) -> Self {
        let sound = |s: &Normal| s.mean.is_finite() && s.variance.is_finite();
        shares.retain(|s| s.weight > NO_SHARE && sound(s));
        let total: f64 = shares.iter().map(|s| s.weight).sum();
        if !(total > 0.0) {
            return Self::Normals(vec![Normal { weight: 1.0, mean: 0.0, variance: 1.0 }]);
        }
        for s in &mut shares {
            s.weight /= total;
            s.variance = s.variance.max(f64::MIN_POSITIVE);
        }
        Self::Normals(shares)
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        // About one of the values, so that offsets cost no precision.
        match self {
            Self::Normals(shares) => {
                let centre = shares.first().map_or(0.0, |s| s.mean);
                centre + shares.iter().map(|s| s.weight * (s.mean - centre)).sum::<f64>()
            }
            Self::Levels(levels) => {
                let centre = levels.first().map_or(0.0, |l| l.0);
                centre + levels.iter().map(|(x, p)| p * (x - centre)).sum::<f64>()
            }
        }
    }

    /// The standard deviation.
    ///
    /// ```
    /// use mereo_core::{Normal, CellPrediction};
    /// let sure = CellPrediction::normals(vec![Normal { weight: 1.0, mean: 3.0, variance: 4.0 }]);
    /// assert_eq!(sure.deviation(), 2.0);
    /// ```
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        let variance: f64 = match self {
            Self::Normals(shares) => {
                shares.iter().map(|s| s.weight * (s.variance + (s.mean - mean).powi(2))).sum()
            }
            Self::Levels(levels) => levels.iter().map(|(x, p)| p * (x - mean).powi(2)).sum(),
        };
        variance.sqrt()
    }

    /// The median: of levels, the least that at least half of the probability is at or below.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Where this much of the probability is at or below.
    ///
    /// ```
    /// use mereo_core::{Normal, CellPrediction};
    /// let one = CellPrediction::normals(vec![Normal { weight: 1.0, mean: 10.0, variance: 1.0 }]);
    /// assert!((one.quantile(0.975) - 11.959964).abs() < 1e-6);
    /// assert_eq!(CellPrediction::Levels(vec![(1.0, 0.5), (2.0, 0.5)]).quantile(0.6), 2.0);
    /// ```
    pub fn quantile(&self, share: f64) -> f64 {
        match self {
            Self::Levels(levels) => {
                let mut below = 0.0;
                for (x, p) in levels {
                    below += p;
                    // Half is half, whatever was rounded.
                    if below >= share - 1e-12 {
                        return *x;
                    }
                }
                levels.last().map_or(0.0, |l| l.0)
            }
            Self::Normals(shares) => {
                let reach = |s: &Normal, side: f64| s.mean + side * 40.0 * s.variance.sqrt();
                let mut low = shares.iter().map(|s| reach(s, -1.0)).fold(f64::INFINITY, f64::min);
                let mut high =
                    shares.iter().map(|s| reach(s, 1.0)).fold(f64::NEG_INFINITY, f64::max);
                let least = NEAR * (high - low);
                let mut x = self.mean();
                // Newton's steps, and halves where one would lead out of what is known.
                for _ in 0..200 {
                    let (below, density) = self.below(x);
                    if below < share {
                        low = x;
                    } else {
                        high = x;
                    }
                    let step = (share - below) / density;
                    // Nor any number, where nothing is left to find and nothing is near.
                    if !(step.abs() > least) || high - low <= least {
                        return x;
                    }
                    let next = x + step;
                    x = if next > low && next < high { next } else { 0.5 * (low + high) };
                }
                x
            }
        }
    }

    /// The probability of at most x, and the density at x.
    fn below(&self, x: f64) -> (f64, f64) {
        match self {
            Self::Levels(levels) => (levels.iter().filter(|l| l.0 <= x).map(|l| l.1).sum(), 0.0),
            Self::Normals(shares) => shares.iter().fold((0.0, 0.0), |(below, density), s| {
                let deviation = s.variance.sqrt();
                let z = (x - s.mean) / deviation;
                let own = (-0.5 * z * z).exp() / (deviation * (std::f64::consts::TAU).sqrt());
                (below + s.weight * normal_cdf(z), density + s.weight * own)
            }),
        }
    }

    /// The log density at a value; of levels, the log probability of the one nearest to it.
    ///
    /// ```
    /// use mereo_core::{Normal, CellPrediction};
    /// let one = CellPrediction::normals(vec![Normal { weight: 1.0, mean: 0.0, variance: 1.0 }]);
    /// assert!((one.log_density(0.0) + 0.918_938_5).abs() < 1e-6);
    /// ```
    pub fn log_density(&self, x: f64) -> f64 {
        match self {
            Self::Levels(levels) => {
                let nearest =
                    levels.iter().min_by(|a, b| (a.0 - x).abs().total_cmp(&(b.0 - x).abs()));
                nearest.map_or(f64::MIN, |(_, p)| p.max(f64::MIN_POSITIVE).ln())
            }
            Self::Normals(shares) => {
                let logs = shares
                    .iter()
                    .map(|s| s.weight.ln() + normal_log_density(x, s.mean, s.variance));
                let most = logs.clone().fold(f64::NEG_INFINITY, f64::max);
                if !most.is_finite() {
                    return -f64::MAX;
                }
                most + logs.map(|l| (l - most).exp()).sum::<f64>().ln()
            }
        }
    }

    /// The same on a scale of levels, which must rise: a number counts for the level nearest to it, and beyond the
    /// ends for the ends.
    #[must_use]
    pub fn on_levels(&self, levels: &[f64]) -> Self {
        let mut before = 0.0;
        let shared = levels.iter().enumerate().map(|(i, &level)| {
            let to = match levels.get(i + 1) {
                Some(next) => self.below(0.5 * (level + next)).0,
                None => 1.0,
            };
            let own = (to - before).max(0.0);
            before = to;
            (level, own)
        });
        Self::Levels(shared.collect())
    }

    /// The probabilities of levels; nothing of numbers.
    pub fn probabilities(&self) -> Vec<f64> {
        match self {
            Self::Levels(levels) => levels.iter().map(|l| l.1).collect(),
            Self::Normals(_) => Vec::new(),
        }
    }

    /// What `scale x + shift` may be, the scale being above 0: undoes what was done to the data.
    ///
    /// ```
    /// use mereo_core::{Normal, CellPrediction};
    /// let one = CellPrediction::normals(vec![Normal { weight: 1.0, mean: 1.0, variance: 1.0 }]);
    /// let moved = one.moved(2.0, 10.0);
    /// assert_eq!((moved.mean(), moved.deviation()), (12.0, 2.0));
    /// ```
    #[must_use]
    pub fn moved(&self, scale: f64, shift: f64) -> Self {
        match self {
            Self::Levels(levels) => {
                Self::Levels(levels.iter().map(|(x, p)| (scale * x + shift, *p)).collect())
            }
            Self::Normals(shares) => {
                let moved = |s: &Normal| Normal {
                    weight: s.weight,
                    mean: scale * s.mean + shift,
                    variance: scale * scale * s.variance,
                };
                Self::Normals(shares.iter().map(moved).collect())
            }
        }
    }

    /// A value at random.
    pub fn draw(&self, random: &mut Random) -> f64 {
        match self {
            Self::Levels(levels) => {
                let chosen = draw(&self.probabilities(), random).unwrap_or(0);
                levels.get(chosen).map_or(0.0, |l| l.0)
            }
            Self::Normals(shares) => {
                let weights: Vec<f64> = shares.iter().map(|s| s.weight).collect();
                let chosen = shares[draw(&weights, random).unwrap_or(0)];
                let normal: f64 = StandardNormal.sample(random);
                chosen.mean + chosen.variance.sqrt() * normal
            }
        }
    }

    /// Several predictions of the same cell as one, each counting as much: what an average over models says.
    /// Numbers and levels are not mixed: the first says which it is.
    ///
    /// ```
    /// use mereo_core::CellPrediction;
    /// let [one, other] = [(0.2, 0.8), (0.6, 0.4)].map(|(a, b)| CellPrediction::Levels(vec![(1.0, a), (2.0, b)]));
    /// assert_eq!(CellPrediction::average(&[one, other]).probabilities(), [0.4, 0.6000000000000001]);
    /// ```
    pub fn average(all: &[Self]) -> Self {
        let each = 1.0 / all.len().max(1) as f64;
        match all.first() {
            Some(Self::Levels(_)) => {
                let mut sum: Vec<(f64, f64)> = Vec::new();
                let shares = all.iter().filter_map(|one| match one {
                    Self::Levels(levels) => Some(levels),
                    Self::Normals(_) => None,
                });
                for &(x, p) in shares.flatten() {
                    match sum.binary_search_by(|l| l.0.total_cmp(&x)) {
                        Ok(at) => sum[at].1 += each * p,
                        Err(at) => sum.insert(at, (x, each * p)),
                    }
                }
                Self::Levels(sum)
            }
            _ => Self::normals(
                all.iter()
                    .filter_map(|one| match one {
                        Self::Normals(shares) => Some(shares),
                        Self::Levels(_) => None,
                    })
                    .flatten()
                    .map(|s| Normal { weight: each * s.weight, ..*s })
                    .collect(),
            ),
        }
    }
}

/// Cells to what they may be.
pub trait PredictCells<T: Real>: Sync {
    /// Columns that rows must have, if the model knows: data of another width is an error.
    fn expects_columns(&self) -> Option<usize> {
        None
    }

    /// Calls `visit(i, prediction)` for every cell `cells[i]`, a row of the batch and a column: what it may
    /// be, given all that its row observes. Cells come in rising order of rows.
    fn predict_cells_batch(
        &self,
        batch: &Batch<'_, T>,
        cells: &[(usize, usize)],
        visit: &mut dyn FnMut(usize, &CellPrediction),
    );
}

/// What some cells (row, column) may be, in the order in which they are asked for; `tell` says what is wanted of each.
/// Rows that nobody asks about are not looked at.
///
/// ```
/// use mereo_core::{Batch, Context, Dense, Normal, PredictCells, CellPrediction, Table, predict_cells};
/// /// Every cell is about as large as its row's first.
/// struct First;
/// impl PredictCells<f64> for First {
///     fn predict_cells_batch(
///         &self,
///         batch: &Batch<'_, f64>,
///         cells: &[(usize, usize)],
///         visit: &mut dyn FnMut(usize, &CellPrediction),
///     ) {
///         for (i, &(row, _)) in cells.iter().enumerate() {
///             let mut mean = 0.0;
///             batch.for_each_observed(row, |column, x| if column == 0 { mean = x });
///             visit(i, &CellPrediction::normals(vec![Normal { weight: 1.0, mean, variance: 1.0 }]));
///         }
///     }
/// }
/// let table = Table::from(Dense::new(2, 2, vec![1.0, f64::NAN, 7.0, f64::NAN])?);
/// let means = predict_cells(&First, &table, &[(1, 1), (0, 1)], &Context::new(0), CellPrediction::mean)?;
/// assert_eq!(means, [7.0, 1.0]);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn predict_cells<T: Real, R: Send>(
    model: &dyn PredictCells<T>,
    source: &dyn Source<T>,
    cells: &[(usize, usize)],
    context: &Context,
    tell: impl Fn(&CellPrediction) -> R + Sync,
) -> Result<Vec<R>> {
    check_columns(model.expects_columns(), source)?;
    if let Some(&(row, column)) =
        cells.iter().find(|(row, column)| *row >= source.rows() || *column >= source.columns())
    {
        let size = format!("a cell of {} rows x {} columns", source.rows(), source.columns());
        return Err(Error::found(Place::at_row(row).column(column), "a cell asked for", size));
    }
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by_key(|&i| cells[i]);
    // Cells by the batch that their rows are in.
    let batch_rows = source.batch_rows().max(1);
    let same = |a: &usize, b: &usize| cells[*a].0 / batch_rows == cells[*b].0 / batch_rows;
    let wanted: Vec<&[usize]> = order.chunk_by(same).collect();
    let found = context.install(|| {
        map_in_parallel(wanted.len(), |piece| {
            let own = wanted[piece];
            let number = cells[own[0]].0 / batch_rows;
            let mut lane = source.lane(number..number + 1)?;
            let mut found = Vec::with_capacity(own.len());
            if let Some(batch) = lane.next_batch()? {
                if context.stop().asked() {
                    return Err(Error::Interrupted);
                }
                predict_some(model, &batch, own, cells, &mut |i, p| found.push((i, tell(p))));
            }
            Ok(found)
        })
    });
    let mut all = Vec::with_capacity(cells.len());
    for piece in found {
        all.extend(piece?);
    }
    all.sort_by_key(|(i, _)| *i);
    if all.len() != cells.len() {
        return Err(Error::found(
            Place::default(),
            format!("predictions of {} cells", all.len()),
            format!("one of each of {}", cells.len()),
        ));
    }
    Ok(all.into_iter().map(|(_, told)| told).collect())
}

/// Predicts the cells `cells[own[..]]`, all of rows of this batch and sorted, looking at no other rows.
fn predict_some<T: Real>(
    model: &dyn PredictCells<T>,
    batch: &Batch<'_, T>,
    own: &[usize],
    cells: &[(usize, usize)],
    visit: &mut dyn FnMut(usize, &CellPrediction),
) {
    let row_of = |i: &usize| cells[*i].0;
    let rows: Vec<&[usize]> = own.chunk_by(|a, b| row_of(a) == row_of(b)).collect();
    for some in rows.chunks(ROWS) {
        let mut picked = Picked::default();
        let (mut asked, mut number) = (Vec::new(), Vec::new());
        for (at, row) in some.iter().enumerate() {
            picked.take(batch, row_of(&row[0]) - batch.first_row);
            asked.extend(row.iter().map(|&i| (at, cells[i].1)));
            number.extend_from_slice(row);
        }
        let lent = picked.lend(batch, some.len());
        model.predict_cells_batch(&lent, &asked, &mut |i, prediction| visit(number[i], prediction));
    }
}

/// Some rows of a batch, copied.
struct Picked<T> {
    values: Vec<T>,
    indices: Vec<u32>,
    starts: Vec<usize>,
    absent: Option<Absent>,
}

impl<T> Default for Picked<T> {
    fn default() -> Self {
        Self { values: Vec::new(), indices: Vec::new(), starts: vec![0], absent: None }
    }
}

impl<T: Real> Picked<T> {
    fn take(&mut self, batch: &Batch<'_, T>, row: usize) {
        match batch.block {
            Block::Dense { values, .. } => {
                self.values
                    .extend_from_slice(&values[row * batch.columns..(row + 1) * batch.columns]);
            }
            Block::Sparse { starts, indices, values, absent } => {
                let range = starts[row] - starts[0]..starts[row + 1] - starts[0];
                self.values.extend_from_slice(&values[range.clone()]);
                self.indices.extend_from_slice(&indices[range]);
                self.starts.push(self.values.len());
                self.absent = Some(absent);
            }
        }
    }

    fn lend(&self, batch: &Batch<'_, T>, rows: usize) -> Batch<'_, T> {
        let block = match (self.absent, batch.block) {
            (Some(absent), _) => Block::Sparse {
                starts: &self.starts,
                indices: &self.indices,
                values: &self.values,
                absent,
            },
            (None, Block::Dense { complete, .. }) => {
                Block::Dense { values: &self.values, complete }
            }
            (None, Block::Sparse { .. }) => Block::Dense { values: &[], complete: true },
        };
        Batch { first_row: 0, rows, columns: batch.columns, block, weights: None, labels: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(weight: f64, mean: f64, variance: f64) -> Normal {
        Normal { weight, mean, variance }
    }

    #[test]
    fn quantiles_are_where_the_probability_says() {
        let narrow_and_far = CellPrediction::normals(vec![
            normal(1.0, 0.0, 1.0),
            normal(2.0, 1e6, 1e-4),
            normal(0.5, -300.0, 25.0),
        ]);
        for share in [0.01, 0.14, 0.2, 0.5, 0.9] {
            let x = narrow_and_far.quantile(share);
            let below = narrow_and_far.below(x).0;
            // As near as numbers of a million with deviations of a hundredth can be.
            assert!((below - share).abs() < 1e-3, "{share}: {x}, {below}");
        }
        let one = CellPrediction::normals(vec![normal(1.0, 3.0, 4.0)]);
        assert!((one.median() - 3.0).abs() < 1e-9);
    }

    #[test]
    fn levels_share_out_all_of_the_probability() {
        let wide = CellPrediction::normals(vec![normal(0.3, -10.0, 1.0), normal(0.7, 3.2, 2.0)]);
        let stars = wide.on_levels(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let all = stars.probabilities();
        assert!((all.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(all[0] > 0.3);
        assert!(stars.mean() >= 1.0 && stars.mean() <= 5.0);
    }

    #[test]
    fn draws_have_the_mean_and_the_deviation() {
        let two = CellPrediction::normals(vec![normal(0.25, 0.0, 1.0), normal(0.75, 4.0, 0.25)]);
        let mut random = Context::new(1).random("draws", [0, 0]);
        let draws: Vec<f64> = (0..40_000).map(|_| two.draw(&mut random)).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let square = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        assert!((mean - two.mean()).abs() < 0.04, "{mean}");
        assert!((square.sqrt() - two.deviation()).abs() < 0.03, "{square}");
    }

    #[test]
    fn nothing_known_is_no_panic() {
        let nothing = CellPrediction::normals(vec![normal(0.0, f64::NAN, 0.0)]);
        assert!(nothing.median().abs() < 1e-9);
        assert_eq!(CellPrediction::Levels(Vec::new()).median(), 0.0);
        assert!(nothing.on_levels(&[]).probabilities().is_empty());
    }
}
