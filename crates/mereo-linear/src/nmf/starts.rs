//! Where learning starts: the non-negative double singular value decomposition, or at random.

use mereo_core::math::{Matrix, product_nt};
use mereo_core::slots::Frame;
use mereo_core::{Batch, Context, Real, Result, RowTask, Source, Start, Statistics, gather};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::NmfParams;
use super::learner::State;
use crate::blocks::BlockWork;
use crate::spectrum::{Spectrum, Way};

/// What a component has where its direction has nothing, cells being about 1.
const LEAST: f64 = 0.01;

pub(super) fn start<T: Real>(
    params: &NmfParams,
    source: &dyn Source<T>,
    inverse: T,
    restart: usize,
    context: &Context,
) -> Result<Start<State>> {
    let (n, d) = (params.components, source.columns());
    let mut random = context.random("nmf start", [restart as u64, 0]);
    let mut component: Vec<f64> = (0..n * d).map(|_| random.random::<f64>() + LEAST).collect();
    if restart > 0 {
        return Ok(Start { state: State { component }, how: "random".into() });
    }
    let unit = 1.0 / inverse.to_f64();
    let frame = Frame::new(&vec![0.0; d], &vec![unit * unit; d]);
    let known = n.min(d).min(source.rows());
    let way = Way::of(source.rows(), d, known);
    let spectrum = Spectrum::of(source, &frame, known, false, way, context)?;
    let directions = spectrum.directions.iter().map(|&v| T::from_f64(v)).collect();
    let sides = gather(source, context, &SidesTask { frame, directions })?;
    for (j, own) in component.chunks_exact_mut(d).take(known).enumerate() {
        let direction = &spectrum.directions[j * d..(j + 1) * d];
        let length = |sign: f64| -> f64 {
            direction.iter().map(|v| (sign * v).max(0.0).powi(2)).sum::<f64>().sqrt()
        };
        let [above, below] = sides.squares[j].map(f64::sqrt);
        let (up, down) = (length(1.0) * above, length(-1.0) * below);
        let sign = if up >= down { 1.0 } else { -1.0 };
        let largest =
            direction.iter().map(|v| (sign * v).max(0.0)).fold(f64::MIN_POSITIVE, f64::max);
        for (w, v) in own.iter_mut().zip(direction) {
            *w = (sign * v / largest).max(LEAST);
        }
    }
    Ok(Start { state: State { component }, how: "singular vectors".into() })
}

/// Asks rows on which side of directions `[L, D]` they are.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct SidesTask<T> {
    frame: Frame<T>,
    directions: Vec<T>,
}

impl<T: Real> RowTask<T> for SidesTask<T> {
    const NAME: &'static str = "nmf sides";
    type Statistics = Sides<T>;

    fn statistics(&self) -> Sides<T> {
        let directions = self.directions.len() / self.frame.columns().max(1);
        let squares = vec![[0.0; 2]; directions];
        Sides { squares, blocks: BlockWork::default(), places: Vec::new() }
    }

    fn accumulate(&self, batch: &Batch<'_, T>, sides: &mut Sides<T>) {
        let Sides { squares, blocks, places } = sides;
        let (n, d) = (squares.len(), batch.columns);
        blocks.for_each(batch, &self.frame, |block| {
            places.resize(block.rows * n, T::ZERO);
            let cells = Matrix::new(block.values, block.rows, d);
            product_nt(places, cells, Matrix::new(&self.directions, n, d), false);
            for (row, places) in places.chunks_exact(n).enumerate() {
                let weight = batch.weight(block.first + row);
                for (side, place) in squares.iter_mut().zip(places) {
                    let place = place.to_f64();
                    side[usize::from(place < 0.0)] += weight * place * place;
                }
            }
        });
    }
}

/// For each direction the squares of the rows' places along it, on its positive side and on its
/// negative one.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct Sides<T> {
    squares: Vec<[f64; 2]>,
    #[serde(skip)]
    blocks: BlockWork<T, T>,
    #[serde(skip)]
    places: Vec<T>,
}

impl<T: Real> Statistics for Sides<T> {
    fn merge(&mut self, other: &Self) {
        for (own, theirs) in self.squares.iter_mut().zip(&other.squares) {
            own[0] += theirs[0];
            own[1] += theirs[1];
        }
    }

    fn reset(&mut self) {
        self.squares.fill([0.0; 2]);
    }
}
