//! The strength of a Potts field from label pictures.
//!
//! Each pixel's label given its neighbours has probability `∝ exp(w n_m)`, `n_m` the neighbours that have label
//! m (those across count `1/√2`): its log is concave in w, with derivative `n_x - Σ_m P(m) n_m`. The mean-field
//! likelihood compares how many neighbours agree with how many do under mean field, of a grid of the same
//! size whose labels are as frequent as those seen.

use mereo_core::math::{minimise, softmax};
use mereo_core::{Context, Error, Result};

use crate::grid::STEPS;
use crate::infer::MeanFieldParams;
use crate::{Coupling, Grid, Neighbours, Pairwise, Unary, Weights, grid_mean_field};

/// A picture of labels, row by row.
#[derive(Debug, Clone, Copy)]
pub struct LabelPicture<'a> {
    /// Its height.
    pub height: usize,
    /// Its width.
    pub width: usize,
    /// A label for each pixel.
    pub labels: &'a [u8],
}

/// How strongly neighbours agree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PottsCoupling {
    /// The weight that two different neighbours cost.
    pub weight: f64,
    /// The share of neighbours that differ in the examples.
    pub differ: f64,
}

/// The largest strength that is learned: pictures of one label would have it infinite.
const MOST: f64 = 20.0;

fn check(pictures: &[LabelPicture<'_>], labels: usize) -> Result<()> {
    let fits = |p: &LabelPicture<'_>| {
        p.labels.len() == p.height * p.width && p.labels.iter().all(|m| usize::from(*m) < labels)
    };
    if pictures.iter().all(|p| p.labels.is_empty()) || !pictures.iter().all(fits) {
        let problem =
            format!("expected pictures of labels below {labels}, with at least one pixel");
        return Err(Error::option("examples", problem));
    }
    Ok(())
}

/// Neighbour by neighbour, the label and how much it counts.
fn around(
    p: &LabelPicture<'_>,
    neighbours: Neighbours,
    (y, x): (usize, usize),
    mut visit: impl FnMut(usize, f64),
) {
    for (d, (down, right)) in STEPS[..neighbours.count()].iter().enumerate() {
        for sign in [-1, 1] {
            let there = y.checked_add_signed(sign * down).zip(x.checked_add_signed(sign * right));
            if let Some((y, x)) = there.filter(|&(y, x)| y < p.height && x < p.width) {
                let counts = if d < 2 { 1.0 } else { std::f64::consts::FRAC_1_SQRT_2 };
                visit(usize::from(p.labels[y * p.width + x]), counts);
            }
        }
    }
}

fn differing(pictures: &[LabelPicture<'_>], neighbours: Neighbours) -> f64 {
    let (mut differ, mut all) = (0.0, 0.0);
    for p in pictures {
        for at in 0..p.labels.len() {
            around(p, neighbours, (at / p.width, at % p.width), |label, counts| {
                all += counts;
                differ += if label == usize::from(p.labels[at]) { 0.0 } else { counts };
            });
        }
    }
    if all > 0.0 { differ / all } else { 0.0 }
}

/// The strength that makes the pseudo-likelihood of label pictures largest.
///
/// ```
/// use mereo_field::Neighbours;
/// use mereo_field::learn::{LabelPicture, potts_pseudo_likelihood};
/// let labels = [0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1];
/// let picture = LabelPicture { height: 4, width: 4, labels: &labels };
/// let learned = potts_pseudo_likelihood(&[picture], 2, Neighbours::Four)?;
/// assert!(learned.weight > 0.5);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn potts_pseudo_likelihood(
    pictures: &[LabelPicture<'_>],
    labels: usize,
    neighbours: Neighbours,
) -> Result<PottsCoupling> {
    check(pictures, labels)?;
    let pixels: f64 = pictures.iter().map(|p| p.labels.len() as f64).sum();
    let (mut counts, mut shares) = (vec![0.0; labels], vec![0.0; labels]);
    let mut weight = [1.0];
    minimise(&mut weight, 60, 1e-10, |w, gradient| {
        // A weak pull towards 0 keeps pictures of one label from asking for more and more.
        let mut value = 0.5 * w[0] * w[0] / pixels;
        gradient[0] = w[0] / pixels;
        for p in pictures {
            for at in 0..p.labels.len() {
                counts.fill(0.0);
                let place = (at / p.width, at % p.width);
                around(p, neighbours, place, |label, c| counts[label] += c);
                shares.iter_mut().zip(&counts).for_each(|(s, c)| *s = w[0] * c);
                let own = usize::from(p.labels[at]);
                value += (softmax(&mut shares) - w[0] * counts[own]) / pixels;
                let expected: f64 = shares.iter().zip(&counts).map(|(s, c)| s * c).sum();
                gradient[0] += (expected - counts[own]) / pixels;
            }
        }
        value
    });
    let differ = differing(pictures, neighbours);
    Ok(PottsCoupling { weight: weight[0].clamp(0.0, MOST), differ })
}

/// The strength at which neighbours differ as often under mean field as in label pictures.
///
/// Without anything observed mean field's labels are all alike above a critical strength and all even
/// below it, so the grid is given the pictures' own labels with this much doubt, in nats: what is learned
/// is the strength for cleaning pictures with such doubt.
pub fn potts_mean_field(
    pictures: &[LabelPicture<'_>],
    labels: usize,
    neighbours: Neighbours,
    doubt: f64,
    context: &Context,
) -> Result<PottsCoupling> {
    check(pictures, labels)?;
    let differ = differing(pictures, neighbours);
    let params =
        MeanFieldParams { sweeps: 100, tolerance: 1e-5, trace: false, ..Default::default() };
    let expected = |weight: f64| -> Result<f64> {
        let (mut apart, mut all) = (0.0, 0.0);
        for p in pictures.iter().filter(|p| !p.labels.is_empty()) {
            let table = (0..labels * labels)
                .map(|k| if k / labels == k % labels { doubt } else { 0.0 })
                .collect();
            let unary = Unary::Table(table, p.labels.iter().map(|m| u16::from(*m)).collect());
            let size = (p.height, p.width);
            let grid = Grid::new(
                size,
                labels,
                neighbours,
                unary,
                Coupling::Potts,
                Weights::Shared(weight),
            )?;
            let mean = grid_mean_field(&grid, None, &params, context)?;
            grid.for_each_edge(|i, link| {
                let pairs = mean.marginals.of(i).iter().zip(mean.marginals.of(link.to));
                let counts = grid.weight(link.edge) / weight;
                apart += counts * (1.0 - pairs.map(|(a, b)| a * b).sum::<f64>());
                all += counts;
            });
        }
        Ok(if all > 0.0 { apart / all } else { 0.0 })
    };
    // Neighbours differ the less, the stronger they are coupled.
    let (mut low, mut high) = (1e-6, MOST);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if expected(middle)? > differ {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(PottsCoupling { weight: f64::midpoint(low, high), differ })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mereo_core::draw;

    /// A picture drawn from a Potts field by Gibbs sampling.
    fn drawn(size: usize, labels: usize, weight: f64) -> Vec<u8> {
        let mut random = Context::new(4).random("potts", [0, 0]);
        let mut picture: Vec<u8> = (0..size * size)
            .map(|_| draw(&vec![1.0; labels], &mut random).unwrap() as u8)
            .collect();
        for _ in 0..200 {
            for at in 0..size * size {
                let mut scores = vec![0.0; labels];
                let p = LabelPicture { height: size, width: size, labels: &picture };
                around(&p, Neighbours::Four, (at / size, at % size), |m, c| {
                    scores[m] += weight * c;
                });
                softmax(&mut scores);
                picture[at] = draw(&scores, &mut random).unwrap() as u8;
            }
        }
        picture
    }

    #[test]
    fn pseudo_likelihood_finds_the_strength_that_pictures_were_drawn_with() {
        for (labels, weight) in [(2, 0.6), (3, 0.7)] {
            let picture = drawn(64, labels, weight);
            let p = LabelPicture { height: 64, width: 64, labels: &picture };
            let found = potts_pseudo_likelihood(&[p], labels, Neighbours::Four).unwrap();
            assert!((found.weight - weight).abs() < 0.06, "{labels}: {}", found.weight);
        }
    }

    #[test]
    fn mean_field_strength_makes_neighbours_differ_as_often() {
        let picture = drawn(48, 2, 0.8);
        let p = LabelPicture { height: 48, width: 48, labels: &picture };
        let found = potts_mean_field(&[p], 2, Neighbours::Four, 1.0, &Context::new(0)).unwrap();
        assert!(found.weight > 0.1 && found.weight < 3.0, "{}", found.weight);
    }

    #[test]
    fn pictures_of_one_label_have_a_finite_strength() {
        let p = LabelPicture { height: 4, width: 4, labels: &[0; 16] };
        let found = potts_pseudo_likelihood(&[p], 2, Neighbours::Eight).unwrap();
        assert!(found.weight.is_finite() && found.differ == 0.0);
        let single = LabelPicture { height: 1, width: 1, labels: &[1] };
        assert!(potts_pseudo_likelihood(&[single], 2, Neighbours::Four).is_ok());
        assert!(potts_pseudo_likelihood(&[], 2, Neighbours::Four).is_err());
    }
}
