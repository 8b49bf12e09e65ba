//! Repulsion by a tree (Barnes and Hut): points that are far away together act as one.
//!
//! Space is halved along every dimension again and again until a cell holds few points. A cell of side
//! s at a distance d counts as one point of its mass at its middle if `s < θ d`.

use mereo_core::in_parallel;

use super::forces::weight;

/// How far a cell must be, in units of its side, to count as one point: s < θ d.
const THETA: f64 = 0.5;
/// The same for so many degrees of freedom and more, whose forces fall off faster.
const NARROW: f64 = 0.3;
const NARROW_DEGREES: f64 = 2.0;
/// Points in a cell that is not divided, and most divisions.
const LEAF: usize = 8;
const DEEPEST: usize = 48;
/// Points that are worked on together.
const PIECE: usize = 256;

/// A cell of the tree.
struct Cell<const D: usize> {
    middle: [f64; D],
    mass: f64,
    side: f64,
    /// Its points, in the tree's order.
    points: (u32, u32),
    /// The cell that follows if this one is not looked into.
    skip: u32,
    leaf: bool,
}

/// Points in a tree.
pub(crate) struct Tree<const D: usize> {
    cells: Vec<Cell<D>>,
    sorted: Vec<[f64; D]>,
}

impl<const D: usize> Tree<D> {
    pub(crate) fn new(points: &[f64]) -> Self {
        let all = points.as_chunks::<D>().0;
        let (mut low, mut high) = ([f64::INFINITY; D], [f64::NEG_INFINITY; D]);
        for p in all {
            for d in 0..D {
                low[d] = low[d].min(p[d]);
                high[d] = high[d].max(p[d]);
            }
        }
        let side = (0..D).map(|d| high[d] - low[d]).fold(0.0, f64::max) * (1.0 + 1e-12);
        let mut tree = Self { cells: Vec::new(), sorted: all.to_vec() };
        let mut room = all.to_vec();
        tree.divide(0, all.len(), low, side, 0, &mut room);
        tree
    }

    fn divide(
        &mut self,
        from: usize,
        to: usize,
        low: [f64; D],
        side: f64,
        depth: usize,
        room: &mut [[f64; D]],
    ) {
        let points = &self.sorted[from..to];
        let mut middle = [0.0; D];
        for p in points {
            for d in 0..D {
                middle[d] += p[d] / points.len() as f64;
            }
        }
        let leaf = to - from <= LEAF || depth >= DEEPEST || !(side > 0.0);
        let own = self.cells.len();
        let mass = (to - from) as f64;
        self.cells.push(Cell {
            middle,
            mass,
            side,
            points: (from as u32, to as u32),
            skip: 0,
            leaf,
        });
        if !leaf {
            let half = side / 2.0;
            let which = |p: &[f64; D]| {
                (0..D).map(|d| usize::from(p[d] >= low[d] + half) << d).sum::<usize>()
            };
            let mut counts = [0usize; 9];
            points.iter().for_each(|p| counts[which(p) + 1] += 1);
            for k in 0..8 {
                counts[k + 1] += counts[k];
            }
            let mut next = counts;
            for p in points {
                let k = which(p);
                room[from + next[k]] = *p;
                next[k] += 1;
            }
            self.sorted[from..to].copy_from_slice(&room[from..to]);
            for k in 0..1 << D {
                if counts[k + 1] > counts[k] {
                    let mut corner = low;
                    for d in 0..D {
                        corner[d] += if k >> d & 1 == 1 { half } else { 0.0 };
                    }
                    self.divide(
                        from + counts[k],
                        from + counts[k + 1],
                        corner,
                        half,
                        depth + 1,
                        room,
                    );
                }
            }
        }
        self.cells[own].skip = self.cells.len() as u32;
    }

    /// Adds the forces of all points at one place, and gives the sum of their w.
    pub(crate) fn at(&self, own: &[f64; D], degrees: f64, out: &mut [f64; D]) -> f64 {
        let theta = if degrees >= NARROW_DEGREES { NARROW } else { THETA };
        let (mut total, mut k) = (0.0, 0);
        let mut feel = |other: &[f64; D], mass: f64, out: &mut [f64; D]| {
            let mut square = 0.0;
            for d in 0..D {
                square += (own[d] - other[d]) * (own[d] - other[d]);
            }
            let (w, push) = weight(square, degrees);
            total += mass * w;
            for d in 0..D {
                out[d] += mass * push * (own[d] - other[d]);
            }
        };
        while let Some(cell) = self.cells.get(k) {
            let mut square = 0.0;
            for d in 0..D {
                square += (own[d] - cell.middle[d]) * (own[d] - cell.middle[d]);
            }
            if cell.side * cell.side < theta * theta * square {
                feel(&cell.middle, cell.mass, out);
                k = cell.skip as usize;
            } else if cell.leaf {
                for p in &self.sorted[cell.points.0 as usize..cell.points.1 as usize] {
                    feel(p, 1.0, out);
                }
                k = cell.skip as usize;
            } else {
                k += 1;
            }
        }
        total
    }
}

/// Adds the repulsion of all points on each, and gives Z.
pub(crate) fn add<const D: usize>(points: &[f64], degrees: f64, out: &mut [f64]) -> f64 {
    let tree = Tree::<D>::new(points);
    let all = points.as_chunks::<D>().0;
    let mut sums = vec![0.0; all.len().div_ceil(PIECE)];
    let pieces = out.chunks_mut(PIECE * D).zip(all.chunks(PIECE)).zip(&mut sums);
    in_parallel(pieces, |((out, points), sum)| {
        for (out, point) in out.as_chunks_mut::<D>().0.iter_mut().zip(points) {
            // The point met itself.
            *sum += tree.at(point, degrees, out) - 1.0;
        }
    });
    sums.iter().sum()
}
