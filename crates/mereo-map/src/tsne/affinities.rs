//! How likely rows are neighbours, `p_ij`, and what follows from it for points.

use mereo_core::math::widest;
use mereo_core::{Error, Result, in_parallel, map_in_parallel};

use super::forces::Repulsion;
use crate::neighbours::Neighbours;
use crate::params::Affinity;

/// Neighbours that are kept for each of perplexity.
const PER_PERPLEXITY: f64 = 3.0;
/// Neighbours that are kept where a width is given.
const OF_WIDTH: usize = 90;
/// Halvings of the bisection.
const HALVINGS: usize = 100;
/// Rows that are worked on together.
const PIECE: usize = 512;

/// An affinity that these rows allow.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Widths {
    Perplexities(Vec<f64>),
    Width(f64),
}

impl Affinity {
    /// What is meant for so many rows; an error if they do not allow it.
    pub(crate) fn for_rows(&self, rows: usize) -> Result<Widths> {
        let others = rows.saturating_sub(1) as f64;
        let allowed = |perplexity: f64| {
            if perplexity <= others {
                return Ok(perplexity);
            }
            let most = others.max(0.0);
            Err(Error::option(
                "perplexity",
                format!(
                    "{perplexity} neighbours are more than the {most} others that each of {rows} \
                     rows has; about {:.0} is a good choice",
                    (most / PER_PERPLEXITY).clamp(1.0, 30.0)
                ),
            ))
        };
        Ok(match self {
            Self::Auto => Widths::Perplexities(vec![(others / PER_PERPLEXITY).clamp(1.0, 30.0)]),
            Self::Perplexity(perplexity) => Widths::Perplexities(vec![allowed(*perplexity)?]),
            Self::Multiscale(several) => {
                Widths::Perplexities(several.iter().map(|p| allowed(*p)).collect::<Result<_>>()?)
            }
            Self::Width(width) => Widths::Width(*width),
        })
    }
}

impl Widths {
    /// How many neighbours count.
    pub(crate) fn neighbours(&self, rows: usize) -> usize {
        let wanted = match self {
            Self::Perplexities(several) => {
                let largest = several.iter().copied().fold(1.0, f64::max);
                (PER_PERPLEXITY * largest).floor() as usize
            }
            Self::Width(_) => OF_WIDTH,
        };
        wanted.clamp(1, rows.saturating_sub(1).max(1))
    }

    /// Writes `p_{j|i}` of neighbours at these squared distances, nearest first.
    pub(crate) fn probabilities(&self, squares: &[f64], out: &mut [f64]) {
        match self {
            Self::Width(width) => {
                weigh(squares, 1.0 / (2.0 * width * width), out);
            }
            Self::Perplexities(several) => {
                let mut one = vec![0.0; out.len()];
                out.fill(0.0);
                for &perplexity in several {
                    by_perplexity(squares, perplexity, &mut one);
                    let share = 1.0 / several.len() as f64;
                    out.iter_mut().zip(&one).for_each(|(o, p)| *o += share * p);
                }
            }
        }
    }
}

/// `exp(-β d²)`, made to add up to 1; gives the entropy in nats.
fn weigh(squares: &[f64], beta: f64, out: &mut [f64]) -> f64 {
    let least = squares.first().copied().unwrap_or(0.0);
    let (mut sum, mut moment) = (0.0, 0.0);
    for (p, d) in out.iter_mut().zip(squares) {
        let apart = d - least;
        let off = if apart == 0.0 { 0.0 } else { beta * apart };
        *p = (-off).exp();
        sum += *p;
        moment += if *p > 0.0 { *p * off } else { 0.0 };
    }
    out.iter_mut().for_each(|p| *p /= sum);
    sum.ln() + moment / sum
}

/// Finds β by bisection of its logarithm so that the entropy is that of the perplexity.
fn by_perplexity(squares: &[f64], perplexity: f64, out: &mut [f64]) {
    let least = squares.first().copied().unwrap_or(0.0);
    let largest = squares.last().copied().unwrap_or(0.0) - least;
    if !(largest > 0.0) {
        out.fill(1.0 / squares.len() as f64);
        return;
    }
    let target = perplexity.min(squares.len() as f64).ln();
    // Entropy falls from log n at β = 0 as β grows.
    let (mut low, mut high) = ((1e-12 / largest).ln(), (1e3 / largest).ln());
    for _ in 0..64 {
        if weigh(squares, high.exp(), out) <= target {
            break;
        }
        high += 5.0;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        let entropy = weigh(squares, middle.exp(), out);
        if (entropy - target).abs() < 1e-10 {
            return;
        }
        if entropy > target {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// `p_ij`, where it is not 0: row by row, columns rising.
pub(crate) struct Affinities {
    starts: Vec<usize>,
    index: Vec<u32>,
    value: Vec<f32>,
    /// `Σ p log p`.
    entropy: f64,
}

impl Affinities {
    pub(crate) fn new(near: &Neighbours, widths: &Widths) -> Self {
        let (count, rows) = (near.count, near.index.len() / near.count.max(1));
        let mut conditional = vec![0.0f64; rows * count];
        in_parallel(conditional.chunks_mut(PIECE * count).enumerate(), |(p, out)| {
            for (k, out) in out.chunks_exact_mut(count).enumerate() {
                widths.probabilities(near.squares(p * PIECE + k), out);
            }
        });
        // Who has a row as its neighbour: sorted by row, since rows are gone through in order.
        let mut of = vec![0usize; rows + 1];
        near.index.iter().for_each(|&j| of[j as usize + 1] += 1);
        for r in 0..rows {
            of[r + 1] += of[r];
        }
        let mut back = vec![(0u32, 0.0f64); rows * count];
        let mut next = of.clone();
        for i in 0..rows {
            for (k, &j) in near.of(i).iter().enumerate() {
                back[next[j as usize]] = (i as u32, conditional[i * count + k]);
                next[j as usize] += 1;
            }
        }
        let pieces = rows.div_ceil(PIECE);
        let parts = map_in_parallel(pieces, |p| {
            let (mut index, mut value, mut ends) = (Vec::new(), Vec::new(), Vec::new());
            let mut own: Vec<(u32, f64)> = Vec::new();
            for i in p * PIECE..((p + 1) * PIECE).min(rows) {
                own.clear();
                let given = &conditional[i * count..(i + 1) * count];
                own.extend(near.of(i).iter().copied().zip(given.iter().copied()));
                own.sort_unstable_by_key(|e| e.0);
                let theirs = &back[of[i]..of[i + 1]];
                let (mut a, mut b) = (0, 0);
                while a < own.len() || b < theirs.len() {
                    let left = own.get(a).map_or(u32::MAX, |e| e.0);
                    let right = theirs.get(b).map_or(u32::MAX, |e| e.0);
                    let j = left.min(right);
                    let mut p = 0.0;
                    if left == j {
                        p += own[a].1;
                        a += 1;
                    }
                    if right == j {
                        p += theirs[b].1;
                        b += 1;
                    }
                    let p = (p / (2.0 * rows as f64)) as f32;
                    if p > 0.0 {
                        index.push(j);
                        value.push(p);
                    }
                }
                ends.push(index.len());
            }
            (index, value, ends)
        });
        let (mut index, mut value, mut starts) = (Vec::new(), Vec::new(), vec![0]);
        for (i, v, ends) in parts {
            let before = index.len();
            starts.extend(ends.iter().map(|e| before + e));
            index.extend(i);
            value.extend(v);
        }
        let entropy = value.iter().map(|&p| f64::from(p) * f64::from(p).ln()).sum();
        Self { starts, index, value, entropy }
    }

    pub(crate) fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    pub(crate) fn row(&self, row: usize) -> (&[u32], &[f32]) {
        let range = self.starts[row]..self.starts[row + 1];
        (&self.index[range.clone()], &self.value[range])
    }

    #[cfg(test)]
    pub(crate) fn total(&self) -> f64 {
        self.value.iter().map(|&p| f64::from(p)).sum()
    }

    /// `C`, from points `[rows, dimensions]`.
    pub(crate) fn divergence(
        &self,
        points: &[f64],
        dimensions: usize,
        repulsion: &mut Repulsion,
        degrees: f64,
    ) -> f64 {
        let rows = self.rows();
        let power = f64::midpoint(degrees, 1.0);
        let sums = map_in_parallel(rows.div_ceil(PIECE), |piece| {
            let mut sum = 0.0;
            for i in piece * PIECE..((piece + 1) * PIECE).min(rows) {
                let own = &points[i * dimensions..(i + 1) * dimensions];
                let (index, value) = self.row(i);
                for (&j, &p) in index.iter().zip(value) {
                    let other = &points[j as usize * dimensions..(j as usize + 1) * dimensions];
                    let square: f64 = own.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum();
                    sum += f64::from(p) * power * (square / degrees).ln_1p();
                }
            }
            sum
        });
        let mut waste = vec![0.0; points.len()];
        let z = repulsion.add(points, &mut waste);
        // p adds up to 1 but for rounding; log Z counts once for each.
        self.entropy + sums.iter().sum::<f64>() + z.max(f64::MIN_POSITIVE).ln()
    }

    /// `2(ν+1) Σ_j (e p_ij - q_ij)(y_i - y_j)/(ν + d²)` with exaggeration e; gives Z.
    pub(crate) fn gradient(
        &self,
        points: &[f64],
        dimensions: usize,
        exaggeration: f64,
        degrees: f64,
        repulsion: &mut Repulsion,
        gradient: &mut [f64],
    ) -> f64 {
        gradient.fill(0.0);
        let z = repulsion.add(points, gradient).max(f64::MIN_POSITIVE);
        let share = -1.0 / z;
        let factor = 2.0 * (degrees + 1.0);
        in_parallel(gradient.chunks_mut(PIECE * dimensions).enumerate(), |(piece, out)| {
            let first = piece * PIECE;
            match dimensions {
                1 => self.attract::<1>(points, first, exaggeration, degrees, share, factor, out),
                2 => self.attract::<2>(points, first, exaggeration, degrees, share, factor, out),
                _ => self.attract::<3>(points, first, exaggeration, degrees, share, factor, out),
            }
        });
        z
    }

    #[allow(clippy::too_many_arguments)]
    fn attract<const D: usize>(
        &self,
        points: &[f64],
        first: usize,
        exaggeration: f64,
        degrees: f64,
        share: f64,
        factor: f64,
        out: &mut [f64],
    ) {
        const LANES: usize = 8;
        let points = points.as_chunks::<D>().0;
        widest(
            #[inline(always)]
            || {
                for (k, out) in out.as_chunks_mut::<D>().0.iter_mut().enumerate() {
                    let own = points[first + k];
                    let (index, value) = self.row(first + k);
                    let mut sums = [[0.0f64; LANES]; D];
                    let (indices, index_rest) = index.as_chunks::<LANES>();
                    let (values, value_rest) = value.as_chunks::<LANES>();
                    for (index, value) in indices.iter().zip(values) {
                        let mut apart = [[0.0f64; LANES]; D];
                        for l in 0..LANES {
                            let other = &points[index[l] as usize];
                            for d in 0..D {
                                apart[d][l] = own[d] - other[d];
                            }
                        }
                        let mut square = [degrees; LANES];
                        for d in 0..D {
                            for l in 0..LANES {
                                square[l] += apart[d][l] * apart[d][l];
                            }
                        }
                        let mut pull = [0.0f64; LANES];
                        for l in 0..LANES {
                            pull[l] = f64::from(value[l]) / square[l];
                        }
                        for d in 0..D {
                            for l in 0..LANES {
                                sums[d][l] += pull[l] * apart[d][l];
                            }
                        }
                    }
                    let mut total = [0.0; D];
                    for d in 0..D {
                        total[d] = sums[d].iter().sum::<f64>();
                    }
                    for (&j, &p) in index_rest.iter().zip(value_rest) {
                        let other = &points[j as usize];
                        let mut square = degrees;
                        for d in 0..D {
                            square += (own[d] - other[d]) * (own[d] - other[d]);
                        }
                        for d in 0..D {
                            total[d] += f64::from(p) / square * (own[d] - other[d]);
                        }
                    }
                    for d in 0..D {
                        out[d] = factor * (exaggeration * total[d] + share * out[d]);
                    }
                }
            },
        );
    }

    /// `out = D^-½ P D^-½ x` with D the rows' sums.
    pub(crate) fn walk(&self, root: &[f64], x: &[f64], out: &mut [f64]) {
        in_parallel(out.chunks_mut(PIECE).enumerate(), |(p, out)| {
            for (k, out) in out.iter_mut().enumerate() {
                let i = p * PIECE + k;
                let (index, value) = self.row(i);
                let sum: f64 = index
                    .iter()
                    .zip(value)
                    .map(|(&j, &p)| f64::from(p) * x[j as usize] / root[j as usize])
                    .sum();
                *out = sum / root[i];
            }
        });
    }
}
