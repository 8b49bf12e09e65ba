//! How good a map is.
//!
//! With the k nearest rows of a row in the data, `N_i`, and in the map, `V_i`:
//!
//! - **neighbour recall**: the share of `N_i` that is in `V_i`;
//! - **trustworthiness** (Venna and Kaski): rows that are neighbours in the map only are wrong by as many
//!   places as they come after the k-th in the data:
//!   `1 - 2/(n k (2n - 3k - 1)) Σ_i Σ_{j in V_i, not N_i} (rank_data(i, j) - k)`;
//! - **continuity**: the same with data and map exchanged, for neighbours that the map tore apart;
//! - **rank correlation** (Spearman) of distances in the data and in the map;
//! - **label agreement**: the share of neighbours in the map that have the row's label.
//!
//! 1 is best for all. Of many rows, some are measured, evenly spread, against all.

use mereo_core::{Labels, map_in_parallel};
use serde::{Deserialize, Serialize};

use crate::Given;
use crate::neighbours::smallest;
use crate::rows::square_distance;

/// Neighbours by which maps are measured.
const NEIGHBOURS: usize = 10;
/// Rows that are measured, and work that is allowed for it.
const LEAST_MEASURED: usize = 200;
const MOST_MEASURED: usize = 2000;
const WORK: usize = 4_000_000_000;
/// Pairs whose distances are ranked.
const PAIRS: usize = 200_000;
/// Pairs that are kept to be looked at.
const SHOWN: usize = 2000;

/// How good a map is: 1 is best.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// How many neighbours are compared.
    pub neighbours: usize,
    /// How many rows were measured.
    pub measured: usize,
    /// The share of a row's neighbours in the data that are its neighbours in the map.
    pub neighbour_recall: f64,
    /// Whether neighbours in the map are neighbours in the data.
    pub trustworthiness: f64,
    /// Whether neighbours in the data are neighbours in the map.
    pub continuity: f64,
    /// Spearman's correlation of distances.
    pub rank_correlation: f64,
    /// The share of neighbours in the map with the row's label, where rows have labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_agreement: Option<f64>,
}

impl Quality {
    /// A map in which nothing can be wrong.
    pub(crate) const PERFECT: Self = Self {
        neighbours: 0,
        measured: 0,
        neighbour_recall: 1.0,
        trustworthiness: 1.0,
        continuity: 1.0,
        rank_correlation: 1.0,
        label_agreement: None,
    };
}

/// Measures a map of rows, or of things at distances: points `[rows, dimensions]`.
///
/// ```
/// use mereo_core::{Dense, Table};
/// use mereo_map::{Given, Rows, quality};
/// let values: Vec<f64> = (0..40).map(|i| f64::from(i * i)).collect();
/// let rows = Rows::read(&Table::from(Dense::new(40, 1, values.clone())?))?;
/// let good = quality(&Given::Rows(&rows), &values, 1, None);
/// assert_eq!((good.trustworthiness, good.neighbour_recall), (1.0, 1.0));
/// let shuffled: Vec<f64> = (0..40).map(|i| f64::from((i * 17) % 40)).collect();
/// assert!(quality(&Given::Rows(&rows), &shuffled, 1, None).trustworthiness < 0.7);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn quality(
    given: &Given<'_>,
    points: &[f64],
    dimensions: usize,
    labels: Option<&Labels>,
) -> Quality {
    measure(given, points, dimensions, labels).0
}

/// The same, and some pairs of distances in the data and in the map, one after another.
pub(crate) fn measure(
    given: &Given<'_>,
    points: &[f64],
    dimensions: usize,
    labels: Option<&Labels>,
) -> (Quality, Vec<f64>) {
    let n = given.count();
    let k = NEIGHBOURS.min(n.saturating_sub(1) / 2).max(1).min(n.saturating_sub(1));
    if k == 0 {
        return (Quality { measured: n, ..Quality::PERFECT }, Vec::new());
    }
    let columns = if let Given::Rows(rows) = given { rows.columns() } else { 1 };
    let allowed = WORK / (n * (columns + 8));
    let count = allowed.clamp(LEAST_MEASURED, MOST_MEASURED).min(n);
    let measured: Vec<usize> = (0..count).map(|m| m * n / count).collect();
    let apart = (PAIRS / count).max(1);
    let found = map_in_parallel(count, |m| {
        let i = measured[m];
        let far: Vec<f64> = (0..n).map(|j| given.square(i, j)).collect();
        let own = &points[i * dimensions..(i + 1) * dimensions];
        let shown: Vec<f64> =
            points.chunks_exact(dimensions).map(|p| square_distance(own, p)).collect();
        let (near, near_shown) = (nearest(&far, i, k), nearest(&shown, i, k));
        let both = near.iter().filter(|j| near_shown.contains(j)).count();
        let intruders = late(&far, i, k, &near_shown, &near);
        let lost = late(&shown, i, k, &near, &near_shown);
        let agreed = labels.and_then(|labels| {
            let own = labels.of_row[i]?;
            let of: Vec<u32> =
                near_shown.iter().filter_map(|&j| labels.of_row[j as usize]).collect();
            let same = of.iter().filter(|&&l| l == own).count();
            (!of.is_empty()).then(|| same as f64 / of.len() as f64)
        });
        let step = (n - 1).div_ceil(apart).max(1);
        let others = (0..n - 1).skip(m % step).step_by(step).map(|j| if j < i { j } else { j + 1 });
        let pairs: Vec<(f64, f64)> = others.map(|j| (far[j], shown[j])).collect();
        (both, intruders, lost, agreed, pairs)
    });
    let total = (count * k) as f64;
    let worst = total * (2.0 * n as f64 - 3.0 * k as f64 - 1.0) / 2.0;
    let share = |wrong: f64| if worst > 0.0 { (1.0 - wrong / worst).max(0.0) } else { 1.0 };
    let agreed: Vec<f64> = found.iter().filter_map(|f| f.3).collect();
    let pairs: Vec<(f64, f64)> = found.iter().flat_map(|f| f.4.iter().copied()).collect();
    let step = pairs.len().div_ceil(SHOWN).max(1);
    let shown = pairs.iter().step_by(step).flat_map(|p| [p.0.sqrt(), p.1.sqrt()]).collect();
    let quality = Quality {
        neighbours: k,
        measured: count,
        neighbour_recall: found.iter().map(|f| f.0).sum::<usize>() as f64 / total,
        trustworthiness: share(found.iter().map(|f| f.1).sum()),
        continuity: share(found.iter().map(|f| f.2).sum()),
        rank_correlation: rank_correlation(&pairs),
        label_agreement: (!agreed.is_empty())
            .then(|| agreed.iter().sum::<f64>() / agreed.len() as f64),
    };
    (quality, shown)
}

fn nearest(squares: &[f64], own: usize, k: usize) -> Vec<u32> {
    let mut all: Vec<(f64, u32)> =
        squares.iter().enumerate().map(|(j, &d)| (d, j as u32)).collect();
    all.swap_remove(own);
    smallest(&mut all, k);
    all.into_iter().map(|(_, j)| j).collect()
}

/// How many places after the k-th those of `some` come that are not in `known`.
fn late(squares: &[f64], own: usize, k: usize, some: &[u32], known: &[u32]) -> f64 {
    let mut sum = 0.0;
    for &j in some.iter().filter(|j| !known.contains(j)) {
        let at = squares[j as usize];
        let before = squares.iter().filter(|&&d| d < at).count();
        // The row itself is not counted; of equals, the first come first.
        let own_before = usize::from(squares[own] < at);
        let equal = squares[..j as usize].iter().filter(|&&d| d == at).count();
        let own_equal = usize::from(squares[own] == at && own < j as usize);
        sum += (before - own_before + equal - own_equal + 1).saturating_sub(k) as f64;
    }
    sum
}

/// Spearman's: the correlation of ranks, equals sharing theirs.
fn rank_correlation(pairs: &[(f64, f64)]) -> f64 {
    let ranks = |of: &dyn Fn(&(f64, f64)) -> f64| {
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        order.sort_by(|&a, &b| of(&pairs[a]).total_cmp(&of(&pairs[b])));
        let mut ranks = vec![0.0; pairs.len()];
        let mut from = 0;
        while from < order.len() {
            let value = of(&pairs[order[from]]);
            let mut to = from;
            while to < order.len() && of(&pairs[order[to]]) == value {
                to += 1;
            }
            let shared = (from + to - 1) as f64 / 2.0;
            order[from..to].iter().for_each(|&p| ranks[p] = shared);
            from = to;
        }
        ranks
    };
    let (a, b) = (ranks(&|p| p.0), ranks(&|p| p.1));
    let mean = (pairs.len() as f64 - 1.0) / 2.0;
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(&b) {
        ab += (a - mean) * (b - mean);
        aa += (a - mean).powi(2);
        bb += (b - mean).powi(2);
    }
    // Where all distances are equal, the map cannot be wrong about their order.
    if aa > 0.0 && bb > 0.0 { ab / (aa * bb).sqrt() } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Distances;

    #[test]
    fn measures_are_those_of_the_definition() {
        // Five things on a line; the map exchanges the last two.
        let at = [0.0, 1.0, 2.5, 4.5, 7.0];
        let distances: Vec<f64> =
            at.iter().flat_map(|a| at.iter().map(move |b: &f64| (a - b).abs())).collect();
        let given = Distances::new(5, distances).unwrap();
        let found = quality(&Given::Distances(&given), &[0.0, 1.0, 2.5, 7.0, 4.5], 1, None);
        assert_eq!(found.neighbours, 2);
        // Neighbours in the data: 0:{1,2} 1:{0,2} 2:{1,3} 3:{2,4} 4:{3,2}; in the map: 2:{1,4}, 3:{4,2},
        // 4:{2,3}. Only row 2 is wrong: 4 is its neighbour in place of 3, with rank 4 (0 and 3 before).
        assert!((found.neighbour_recall - 0.9).abs() < 1e-12);
        let worst = 10.0 * (10.0 - 6.0 - 1.0) / 2.0;
        assert!((found.trustworthiness - (1.0 - 2.0 / worst)).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn equal_ranks_are_shared() {
        assert_eq!(rank_correlation(&[(1.0, 2.0), (1.0, 2.0), (3.0, 5.0)]), 1.0);
        assert_eq!(rank_correlation(&[(1.0, 5.0), (2.0, 4.0), (3.0, 3.0)]), -1.0);
        assert_eq!(rank_correlation(&[(1.0, 1.0), (1.0, 1.0)]), 1.0);
    }
}
