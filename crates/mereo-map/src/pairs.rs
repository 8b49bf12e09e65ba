//! Maps whose distances are as the data's, pair by pair: metric scaling and Sammon's mapping.
//!
//! With `δ_ij` the distance of two rows and `d_ij = |y_i - y_j|` that of their points, the costs are, each
//! divided by what it would be if all points were in one place:
//!
//! - **squares**: `Σ (d² - δ²)²`, of which principal coordinates minimise a relative; far pairs decide;
//! - **distances**: `Σ (d - δ)²`, usually called stress;
//! - **Sammon**: `Σ (d - δ)²/δ`: the nearer a pair, the more its error counts.
//!
//! Sums are over pairs `i < j`, each counting `w_i w_j` times for rows with weights. The gradient is
//! `∇_i = Σ_j c_ij (y_i - y_j)` with `c = 4 (d² - δ²)`, `2 (d - δ)/d` and `2 (d - δ)/(δ d)`; where two points
//! coincide a direction to part them does not exist and none is taken.
//!
//! Rows that are equal would make Sammon's cost infinite unless their points are equal too; so they
//! are one point that counts as often as there are rows. L-BFGS goes downhill, from principal
//! coordinates and from random places, and the best end is taken.

use mereo_core::math::{minimise, widest};
use mereo_core::{Context, Error, Place, Result, Status, map_in_parallel};
use rand_distr::{Distribution, StandardNormal};

use crate::Given;
use crate::journey::{Journey, Keeper, Saved, Step};
use crate::params::{PairCost, PairParams};
use crate::pcoa::coordinates;
use crate::rows::square_distance;

/// Most rows: all pairs are held in memory.
pub(crate) const MOST: usize = 30_000;
/// Steps between two looks at whether to go on. L-BFGS begins anew there, so that a checkpoint is
/// points alone.
const STRETCH: usize = 50;
/// Pairs for each piece of work.
const PIECE: usize = 1 << 18;
/// Pairs looked at together.
const BLOCK: usize = 64;

/// All pairs of rows, in units of their mean distance.
pub(crate) struct Pairs {
    count: usize,
    /// `δ_ij` for `i < j`, row by row.
    delta: Vec<f32>,
    weights: Vec<f64>,
    cost: PairCost,
    /// The mean distance, and the cost of all points in one place.
    unit: f64,
    norm: f64,
    /// First and last row of each piece of work.
    pieces: Vec<(usize, usize)>,
}

fn start_of(count: usize, i: usize) -> usize {
    // Pairs (0, 1..), (1, 2..), ...: i rows of count - 1, count - 2, ...
    i * (2 * count - i - 1) / 2
}

impl Pairs {
    pub(crate) fn new(given: &Given<'_>, cost: PairCost) -> Self {
        let count = given.count();
        let exact = |i: usize, j: usize| match given {
            Given::Rows(rows) => square_distance(rows.row(i), rows.row(j)).sqrt(),
            Given::Distances(distances) => distances.between(i, j),
        };
        let weights = given.weights().map_or_else(|| vec![1.0; count], <[f64]>::to_vec);
        let mut pieces = Vec::new();
        let mut first = 0;
        while first < count {
            let mut end = first + 1;
            while end < count && start_of(count, end) - start_of(count, first) < PIECE {
                end += 1;
            }
            pieces.push((first, end));
            first = end;
        }
        let sums = map_in_parallel(pieces.len(), |p| {
            let (mut sum, mut weight) = (0.0, 0.0);
            for i in pieces[p].0..pieces[p].1 {
                for j in i + 1..count {
                    let w = weights[i] * weights[j];
                    sum += w * exact(i, j);
                    weight += w;
                }
            }
            (sum, weight)
        });
        let (sum, weight) = sums.iter().fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        let unit = if sum > 0.0 { sum / weight } else { 1.0 };
        let parts = map_in_parallel(pieces.len(), |p| {
            let mut delta = Vec::new();
            let mut norm = 0.0;
            for i in pieces[p].0..pieces[p].1 {
                for j in i + 1..count {
                    let d = (exact(i, j) / unit) as f32;
                    delta.push(d);
                    let d = f64::from(d);
                    norm += weights[i] * weights[j] * cost.when_together(d);
                }
            }
            (delta, norm)
        });
        let norm: f64 = parts.iter().map(|p| p.1).sum();
        let mut delta = Vec::with_capacity(count * count.saturating_sub(1) / 2);
        parts.into_iter().for_each(|(d, _)| delta.extend(d));
        let norm = if norm > 0.0 { norm } else { 1.0 };
        Self { count, delta, weights, cost, unit, norm, pieces }
    }

    /// The cost of points (`[dimensions, count]`, in units of the mean distance) and its gradient.
    pub(crate) fn cost(&self, points: &[f64], gradient: &mut [f64]) -> f64 {
        let n = self.count;
        let parts = map_in_parallel(self.pieces.len(), |p| {
            let (first, end) = self.pieces[p];
            // Rows before the first have no pair here.
            let mut part = vec![0.0; (n - first) * points.len() / n.max(1)];
            let mut cost = 0.0;
            for i in first..end {
                let from = start_of(n, i);
                let delta = &self.delta[from..from + n - i - 1];
                cost += self.row(i, delta, points, first, &mut part);
            }
            (cost, part)
        });
        gradient.fill(0.0);
        let mut cost = 0.0;
        for (part, &(first, _)) in parts.iter().zip(&self.pieces) {
            cost += part.0;
            let width = n - first;
            for (all, own) in gradient.chunks_exact_mut(n).zip(part.1.chunks_exact(width)) {
                all[first..].iter_mut().zip(own).for_each(|(a, o)| *a += o);
            }
        }
        gradient.iter_mut().for_each(|g| *g /= self.norm);
        cost / self.norm
    }

    /// Adds what row i has to do with the rows behind it.
    fn row(&self, i: usize, delta: &[f32], points: &[f64], first: usize, part: &mut [f64]) -> f64 {
        match self.cost {
            PairCost::Squares => self.row_by(i, delta, points, first, part, |square, delta| {
                let off = square - delta * delta;
                (off * off, 4.0 * off)
            }),
            PairCost::Distances => self.row_by(i, delta, points, first, part, |square, delta| {
                let d = square.sqrt();
                let off = d - delta;
                (off * off, 2.0 * off / d.max(1e-100))
            }),
            PairCost::Sammon => self.row_by(i, delta, points, first, part, |square, delta| {
                let d = square.sqrt();
                let off = d - delta;
                (off * off / delta, 2.0 * off / (delta * d.max(1e-100)))
            }),
        }
    }

    #[inline(always)]
    fn row_by(
        &self,
        i: usize,
        delta: &[f32],
        points: &[f64],
        first: usize,
        part: &mut [f64],
        pair: impl Fn(f64, f64) -> (f64, f64),
    ) -> f64 {
        let n = self.count;
        let width = n - first;
        let mut total = 0.0;
        widest(
            #[inline(always)]
            || {
                let mut cost = [0.0; 8];
                for (block, delta) in delta.chunks(BLOCK).enumerate() {
                    let from = i + 1 + block * BLOCK;
                    let len = delta.len();
                    let mut square = [0.0; BLOCK];
                    let mut pull = [0.0; BLOCK];
                    for axis in points.chunks_exact(n) {
                        let (own, others) = (axis[i], &axis[from..from + len]);
                        for (s, y) in square.iter_mut().zip(others) {
                            *s += (own - y) * (own - y);
                        }
                    }
                    let weights = &self.weights[from..from + len];
                    let mut costs = [0.0; BLOCK];
                    for k in 0..len {
                        let (c, p) = pair(square[k], f64::from(delta[k]));
                        costs[k] = weights[k] * c;
                        pull[k] = weights[k] * p;
                    }
                    for chunk in costs.as_chunks::<8>().0 {
                        for k in 0..8 {
                            cost[k] += chunk[k];
                        }
                    }
                    let weight = self.weights[i];
                    for (axis, part) in points.chunks_exact(n).zip(part.chunks_exact_mut(width)) {
                        let (own, others) = (axis[i], &axis[from..from + len]);
                        let mut sums = [0.0; 8];
                        let theirs = &mut part[from - first..from - first + len];
                        let mut moves = [0.0; BLOCK];
                        for k in 0..len {
                            moves[k] = weight * pull[k] * (own - others[k]);
                        }
                        for (t, m) in theirs.iter_mut().zip(&moves) {
                            *t -= m;
                        }
                        for chunk in moves.as_chunks::<8>().0 {
                            for k in 0..8 {
                                sums[k] += chunk[k];
                            }
                        }
                        part[i - first] += sums.iter().sum::<f64>();
                    }
                }
                total = cost.iter().sum::<f64>();
            },
        );
        total * self.weights[i]
    }
}

/// A map of all rows: points, what they cost as the formulas above have it without the division, and
/// the way there.
pub(crate) struct Scaled {
    pub(crate) points: Vec<f64>,
    pub(crate) cost: f64,
    pub(crate) relative: f64,
    pub(crate) saved: Saved,
}

pub(crate) fn scale(
    given: &Given<'_>,
    cost: PairCost,
    params: &PairParams,
    dimensions: usize,
    identity: String,
    journey: &mut Journey<'_>,
) -> Result<Scaled> {
    let rows = given.count();
    if rows > MOST {
        return Err(Error::found(
            Place::default(),
            format!("{rows} rows"),
            format!("at most {MOST}, since all pairs are looked at; learn from fewer landmarks"),
        ));
    }
    // Equal rows are one point, where unequal points would cost without end, or where all are equal.
    let first_of = first_equals(given);
    let (first_of, merged) = if cost == PairCost::Sammon || first_of.iter().all(|&i| i == 0) {
        let distinct: Vec<usize> = (0..rows).filter(|&i| first_of[i] == i).collect();
        let mut weights = vec![0.0; rows];
        for (i, &first) in first_of.iter().enumerate() {
            weights[first] += given.weights().map_or(1.0, |w| w[i]);
        }
        let weights: Vec<f64> = distinct.iter().map(|&i| weights[i]).collect();
        let merged = (distinct.len() < rows).then(|| given.select(&distinct, Some(weights)));
        (first_of, merged.transpose()?)
    } else {
        ((0..rows).collect(), None)
    };
    let kept = merged.as_ref().map(crate::Owned::lend);
    let given = kept.as_ref().unwrap_or(given);
    let n = given.count();
    let pairs = Pairs::new(given, cost);
    let mut keeper = Keeper::new(journey.checkpoints, identity);
    let mut saved = keeper.resume()?.unwrap_or_default();
    let starts = params.starts.max(1);
    let mut interrupted = false;
    while saved.past.start < starts && !interrupted {
        let start = saved.past.start;
        if saved.position.is_empty() {
            saved.position = first_points(given, &pairs, dimensions, start, journey.context)?;
            let mut gradient = vec![0.0; saved.position.len()];
            saved.past.costs.push(pairs.cost(&saved.position, &mut gradient));
        }
        let status = loop {
            let before = saved.past.costs.last().copied().unwrap_or(f64::INFINITY);
            let left = params.steps.saturating_sub(saved.past.step);
            if left == 0 {
                break Status::PassLimit;
            }
            if journey.context.stop().asked() {
                interrupted = true;
                break Status::Interrupted;
            }
            let stretch = STRETCH.min(left);
            let after = minimise(&mut saved.position, stretch, 1e-12, |x, g| pairs.cost(x, g));
            saved.past.step += stretch;
            saved.past.costs.push(after);
            let step = saved.past.step;
            let warning = keeper.warning();
            (journey.watch)(&Step {
                start,
                starts,
                step,
                steps: params.steps,
                cost: after,
                warning,
            });
            keeper.keep(&saved, false)?;
            if before - after <= params.tolerance * after || after < 1e-24 {
                break Status::Converged;
            }
        };
        let name = if start == 0 { "principal coordinates" } else { "random" };
        if status == Status::Interrupted {
            keeper.keep(&saved, true)?;
        }
        saved.end(name, status);
    }
    if !interrupted {
        keeper.keep(&saved, true)?;
    }
    let mut points = vec![0.0; rows * dimensions];
    let place: Vec<usize> = (0..rows).filter(|&i| first_of[i] == i).collect();
    let slot = |i: usize| place.partition_point(|&p| p < first_of[i]);
    for (i, out) in points.chunks_exact_mut(dimensions).enumerate() {
        for (k, o) in out.iter_mut().enumerate() {
            *o = saved.best[k * n + slot(i)] * pairs.unit;
        }
    }
    let best = saved.past.best.unwrap_or(0);
    let relative = -saved.past.ended[best].bounds.last().copied().unwrap_or(0.0);
    let unit = match cost {
        PairCost::Squares => pairs.unit.powi(4),
        PairCost::Distances => pairs.unit.powi(2),
        PairCost::Sammon => 1.0 / pairs.norm,
    };
    // Of rows as far apart as numbers go the cost is as large as numbers go.
    let cost = (relative * pairs.norm * unit).min(f64::MAX);
    Ok(Scaled { points, cost, relative, saved })
}

/// For every row the first row that is equal to it.
fn first_equals(given: &Given<'_>) -> Vec<usize> {
    let n = given.count();
    match given {
        Given::Rows(rows) => {
            let mut order: Vec<usize> = (0..n).collect();
            let key = |i: usize| rows.row(i).iter().map(|x| x + 0.0);
            order.sort_by(|&a, &b| {
                key(a).partial_cmp(key(b)).unwrap_or(std::cmp::Ordering::Equal).then(a.cmp(&b))
            });
            let mut first_of: Vec<usize> = (0..n).collect();
            for pair in order.windows(2) {
                if square_distance(rows.row(pair[0]), rows.row(pair[1])) == 0.0 {
                    first_of[pair[1]] = first_of[pair[0]];
                }
            }
            first_of
        }
        Given::Distances(distances) => {
            let mut first_of: Vec<usize> = (0..n).collect();
            for i in 0..n {
                if let Some(j) = (0..i).find(|&j| distances.between(i, j) == 0.0) {
                    first_of[i] = first_of[j];
                }
            }
            first_of
        }
    }
}

/// Where points begin: `[dimensions, count]`, in units of the mean distance.
fn first_points(
    given: &Given<'_>,
    pairs: &Pairs,
    dimensions: usize,
    start: usize,
    context: &Context,
) -> Result<Vec<f64>> {
    let n = given.count();
    let mut random = context.random("scaling", [start as u64, 0]);
    let mut out = vec![0.0; n * dimensions];
    let spread = (0.5 / dimensions as f64).sqrt();
    let principal = if start == 0 { Some(coordinates(given, dimensions, context)?) } else { None };
    for k in 0..dimensions {
        for i in 0..n {
            let noise: f64 = StandardNormal.sample(&mut random);
            out[k * n + i] = match &principal {
                Some(found) if found.values[k] > 0.0 => {
                    found.points[i * dimensions + k] / pairs.unit
                }
                // Points that begin on a line would never leave it.
                Some(_) => 1e-2 * spread * noise,
                None => spread * noise,
            };
        }
    }
    Ok(out)
}

/// Where a new row is, at these distances from known points: the same cost, of one point.
pub(crate) fn place(
    cost: PairCost,
    known: &[(f64, usize)],
    points: &[f64],
    weights: Option<&[f64]>,
    out: &mut [f64],
) {
    let d = out.len();
    let mean = known.iter().map(|k| k.0).sum::<f64>() / known.len().max(1) as f64;
    let unit = if mean > 0.0 { mean } else { 1.0 };
    let near = known.iter().fold((f64::INFINITY, 0), |a, &b| if b.0 < a.0 { b } else { a });
    let nearest = &points[near.1 * d..(near.1 + 1) * d];
    if cost == PairCost::Sammon && near.0 == 0.0 {
        // An equal row has its point.
        out.copy_from_slice(nearest);
        return;
    }
    let value = |y: &[f64], g: &mut [f64]| {
        g.fill(0.0);
        let mut total = 0.0;
        for &(delta, j) in known {
            let delta = delta / unit;
            let w = weights.map_or(1.0, |w| w[j]);
            let p = &points[j * d..(j + 1) * d];
            let square: f64 = (0..d).map(|k| (y[k] - p[k] / unit).powi(2)).sum();
            let (c, pull) = match cost {
                PairCost::Squares => {
                    let off = square - delta * delta;
                    (off * off, 4.0 * off)
                }
                PairCost::Distances | PairCost::Sammon => {
                    let length = square.sqrt();
                    let off = length - delta;
                    let share = if cost == PairCost::Sammon { 1.0 / delta } else { 1.0 };
                    (share * off * off, share * 2.0 * off / length.max(1e-100))
                }
            };
            total += w * c;
            (0..d).for_each(|k| g[k] += w * pull * (y[k] - p[k] / unit));
        }
        total
    };
    // From the nearest point, and from the middle of all: the better end.
    let mut best: Option<(f64, Vec<f64>)> = None;
    let middle: Vec<f64> = (0..d)
        .map(|k| known.iter().map(|&(_, j)| points[j * d + k]).sum::<f64>() / known.len() as f64)
        .collect();
    for from in [nearest, &middle] {
        let mut y: Vec<f64> = from.iter().map(|v| v / unit + 1e-4).collect();
        let cost = minimise(&mut y, 60, 1e-10, value);
        if best.as_ref().is_none_or(|b| cost < b.0) {
            best = Some((cost, y));
        }
    }
    if let Some((_, y)) = best {
        out.iter_mut().zip(y).for_each(|(o, y)| *o = y * unit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rows;
    use mereo_core::{Dense, Table};

    pub(crate) fn some_rows(n: usize, columns: usize) -> Rows {
        let mut random = Context::new(5).random("pairs", [n as u64, columns as u64]);
        let values = (0..n * columns).map(|_| StandardNormal.sample(&mut random)).collect();
        Rows::read(&Table::from(Dense::<f64>::new(n, columns, values).unwrap())).unwrap()
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let rows = some_rows(90, 4).with_weights((0..90).map(|i| 0.5 + f64::from(i % 3)).collect());
        let rows = rows.unwrap();
        for cost in [PairCost::Squares, PairCost::Distances, PairCost::Sammon] {
            let pairs = Pairs::new(&Given::Rows(&rows), cost);
            let mut random = Context::new(1).random("at", [0, 0]);
            let at: Vec<f64> = (0..3 * 90).map(|_| StandardNormal.sample(&mut random)).collect();
            let mut gradient = vec![0.0; at.len()];
            pairs.cost(&at, &mut gradient);
            let mut waste = vec![0.0; at.len()];
            for k in (0..at.len()).step_by(17) {
                let mut moved = at.clone();
                moved[k] += 1e-5;
                let up = pairs.cost(&moved, &mut waste);
                moved[k] -= 2e-5;
                let down = pairs.cost(&moved, &mut waste);
                let slope = (up - down) / 2e-5;
                assert!((slope - gradient[k]).abs() < 1e-7 * (1.0 + slope.abs()), "{cost:?} {k}");
            }
        }
    }

    #[test]
    fn weight_two_is_the_row_twice() {
        let rows = some_rows(30, 3);
        let twice: Vec<usize> = (0..30).chain([4, 7]).collect();
        let doubled = rows.select(&twice);
        let weights = (0..30).map(|i| if i == 4 || i == 7 { 2.0 } else { 1.0 }).collect();
        let weighted = rows.clone().with_weights(weights).unwrap();
        for (cost, power) in [(PairCost::Squares, 4), (PairCost::Distances, 2)] {
            let raw = |rows: &Rows, at: &[f64]| {
                let pairs = Pairs::new(&Given::Rows(rows), cost);
                let at: Vec<f64> = at.iter().map(|y| y / pairs.unit).collect();
                pairs.cost(&at, &mut vec![0.0; at.len()]) * pairs.norm * pairs.unit.powi(power)
            };
            let at: Vec<f64> = (0..30).map(|i| f64::from((i * 37) % 11) * 0.1).collect();
            let again: Vec<f64> = twice.iter().map(|&i| at[i]).collect();
            let (a, b) = (raw(&weighted, &at), raw(&doubled, &again));
            assert!((a - b).abs() < 1e-5 * a, "{cost:?} {a} {b}");
        }
    }
}
