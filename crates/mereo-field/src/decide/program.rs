//! The best state as the chapter's integer and linear programs (9.1.6), for small fields.
//!
//! With one-hot vectors `h_i` (`z_im` is 1 if variable i has label m), the score is
//! `Σ_im β_im z_im + Σ θ_ij[m, n] q_ijmn` where `q = z_im z_jn`. Example 9.5 makes that linear by saying of each q
//! that it is 0 or 1, at most either z and at least `z_im + z_jn - 1`. The constraints used here,
//!
//! `Σ_m z_im = 1`, `Σ_n q_ijmn = z_im`, `Σ_m q_ijmn = z_jn`, all numbers at least 0,
//!
//! imply those (each q is part of a sum that is z; and `z_im + z_jn - 1 ≤ q` since what is not at (m, n) in row
//! m and column n adds up to no more than the rest) and allow the same whole numbers. Numbers in between
//! make the linear program, whose value no state exceeds; if it comes out whole it is the best state. The
//! integer program is solved by branching on a label that came out in between.

use mereo_core::{Error, Result};

use crate::pairwise::largest;
use crate::{Decided, Kind, Marginals, Pairwise};

/// Most unknowns of a program.
const MOST_UNKNOWNS: usize = 4000;
/// Numbers nearer to 0 than this are taken for 0.
const TINY: f64 = 1e-9;

/// What the linear program says.
#[derive(Debug, Clone, PartialEq)]
pub struct Relaxed {
    /// How much of each label each variable has.
    pub shares: Marginals,
    /// No state's energy is below this.
    pub bound: f64,
    /// Whether all shares are whole, so that they are a state of least energy.
    pub whole: bool,
}

/// Solves the linear program.
///
/// ```
/// use mereo_field::{Field, decide::program};
/// // Three variables that all want to differ cannot: each gives half to either label.
/// let mut field = Field::new(vec![vec![0.0; 2]; 3])?;
/// for (a, b) in [(0, 1), (1, 2), (2, 0)] {
///     field.couple(a, b, vec![0.0, 1.0, 1.0, 0.0])?;
/// }
/// let relaxed = program::linear(&field)?;
/// assert!(!relaxed.whole && (relaxed.bound + 3.0).abs() < 1e-9);
/// assert!((program::integer(&field)?.energy + 2.0).abs() < 1e-9);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn linear<F: Pairwise>(field: &F) -> Result<Relaxed> {
    check(field)?;
    let nothing = vec![None; field.variables()];
    Ok(relax(field, &nothing))
}

/// Solves the integer program: the state of least energy.
pub fn integer<F: Pairwise>(field: &F) -> Result<Decided> {
    check(field)?;
    let mut best: Option<(Vec<usize>, f64)> = None;
    let mut open = vec![vec![None; field.variables()]];
    while let Some(fixed) = open.pop() {
        let relaxed = relax(field, &fixed);
        let rounded = relaxed.shares.likeliest();
        let energy = field.energy(&rounded);
        if best.as_ref().is_none_or(|(_, least)| energy < *least) {
            best = Some((rounded, energy));
        }
        let least = best.as_ref().map_or(f64::INFINITY, |b| b.1);
        if relaxed.whole || relaxed.bound >= least - TINY * (1.0 + least.abs()) {
            continue;
        }
        // The variable that is least decided takes each of its labels, the likeliest last: it is
        // looked at first.
        let most = |i: usize| relaxed.shares.of(i)[largest(relaxed.shares.of(i))];
        let undecided = (0..field.variables()).filter(|&i| fixed[i].is_none());
        let Some(i) = undecided.min_by(|&a, &b| most(a).total_cmp(&most(b))) else { continue };
        let mut labels: Vec<usize> = (0..field.labels(i)).collect();
        labels.sort_by(|&a, &b| relaxed.shares.of(i)[a].total_cmp(&relaxed.shares.of(i)[b]));
        for label in labels {
            let mut next = fixed.clone();
            next[i] = Some(label);
            open.push(next);
        }
    }
    let (labels, energy) = best.unwrap_or_default();
    Ok(Decided { kind: Kind::Exact, ..Decided::exact(labels, energy) })
}

fn check<F: Pairwise>(field: &F) -> Result<()> {
    let mut unknowns: usize = (0..field.variables()).map(|i| field.labels(i)).sum();
    field.for_each_edge(|i, link| unknowns += field.labels(i) * field.labels(link.to));
    if unknowns > MOST_UNKNOWNS {
        let problem = format!(
            "the program would have {unknowns} unknowns, and at most {MOST_UNKNOWNS} are solved for; \
             choose trws"
        );
        return Err(Error::option("method", problem));
    }
    Ok(())
}

/// The linear program with some variables fixed.
fn relax<F: Pairwise>(field: &F, fixed: &[Option<usize>]) -> Relaxed {
    let n = field.variables();
    let mut starts = vec![0];
    for i in 0..n {
        starts.push(starts[i] + field.labels(i));
    }
    let mut gain: Vec<f64> = (0..n).flat_map(|i| field.unary(i).iter().copied()).collect();
    let mut rows: Vec<(Vec<(usize, f64)>, f64)> = Vec::new();
    for i in 0..n {
        rows.push(((starts[i]..starts[i + 1]).map(|z| (z, 1.0)).collect(), 1.0));
        if let Some(label) = fixed[i] {
            let others = (0..field.labels(i)).filter(|&m| m != label);
            rows.extend(others.map(|m| (vec![(starts[i] + m, 1.0)], 0.0)));
        }
    }
    field.for_each_edge(|a, link| {
        let (first, b) = (gain.len(), link.to);
        let (rows_a, rows_b) = (field.labels(a), field.labels(b));
        for m in 0..rows_a {
            gain.extend((0..rows_b).map(|k| field.pair(link, m, k)));
            let mut row: Vec<(usize, f64)> =
                (0..rows_b).map(|k| (first + m * rows_b + k, 1.0)).collect();
            row.push((starts[a] + m, -1.0));
            rows.push((row, 0.0));
        }
        // The last column follows from the rest.
        for k in 0..rows_b - 1 {
            let mut row: Vec<(usize, f64)> =
                (0..rows_a).map(|m| (first + m * rows_b + k, 1.0)).collect();
            row.push((starts[b] + k, -1.0));
            rows.push((row, 0.0));
        }
    });
    let (value, solution) = simplex(&gain, &rows);
    let mut shares = Marginals::new((0..n).map(|i| field.labels(i)));
    for i in 0..n {
        shares.of_mut(i).copy_from_slice(&solution[starts[i]..starts[i + 1]]);
    }
    let whole = shares.values().iter().all(|z| z.min(1.0 - z).abs() < 1e-6);
    Relaxed { shares, bound: -value, whole }
}

/// Maximises `gain · x` over `x ≥ 0` with equations whose right sides are not negative: the simplex
/// method in a table, first to make what is missing in the equations vanish, then for the gain. The
/// program must have a solution. Bland's rule keeps it from going in circles.
fn simplex(gain: &[f64], rows: &[(Vec<(usize, f64)>, f64)]) -> (f64, Vec<f64>) {
    let (n, m) = (gain.len(), rows.len());
    let width = n + 1;
    // Artificial unknowns begin as the basis; their columns are not needed once they left it.
    let mut table = vec![0.0; m * width];
    for (row, (terms, right)) in table.chunks_exact_mut(width).zip(rows) {
        terms.iter().for_each(|&(x, c)| row[x] += c);
        row[n] = *right;
    }
    let mut basis: Vec<usize> = (n..n + m).collect();
    let mut missing = vec![0.0; width];
    for row in table.chunks_exact(width) {
        missing.iter_mut().zip(row).for_each(|(s, v)| *s += v);
    }
    climb(&mut table, &mut basis, &mut missing, width);
    // Artificial unknowns that are still there are 0: any unknown can take their place.
    for r in 0..m {
        if basis[r] >= n
            && let Some(x) = (0..n).find(|&x| table[r * width + x].abs() > 1e-7)
        {
            pivot(&mut table, &mut basis, &mut missing, width, r, x);
        }
    }
    let mut profit: Vec<f64> = gain.iter().copied().chain([0.0]).collect();
    for (r, &x) in basis.iter().enumerate() {
        let share = gain.get(x).copied().unwrap_or(0.0);
        if share != 0.0 {
            let row = &table[r * width..(r + 1) * width];
            profit.iter_mut().zip(row).for_each(|(p, v)| *p -= share * v);
        }
    }
    climb(&mut table, &mut basis, &mut profit, width);
    let mut solution = vec![0.0; n];
    for (r, &x) in basis.iter().enumerate() {
        if x < n {
            solution[x] = table[r * width + n].max(0.0);
        }
    }
    (gain.iter().zip(&solution).map(|(g, x)| g * x).sum(), solution)
}

/// Exchanges unknowns as long as one promises a gain.
fn climb(table: &mut [f64], basis: &mut [usize], profit: &mut [f64], width: usize) {
    let n = width - 1;
    while let Some(enter) = (0..n).find(|&x| profit[x] > TINY) {
        let mut leave: Option<(f64, usize)> = None;
        for r in 0..basis.len() {
            let along = table[r * width + enter];
            if along > TINY {
                let room = table[r * width + n] / along;
                let nearer = leave.is_none_or(|(least, at)| {
                    room < least - 1e-12 || (room <= least + 1e-12 && basis[r] < basis[at])
                });
                if nearer {
                    leave = Some((room, r));
                }
            }
        }
        // A field's program is bounded: shares are at most 1.
        let Some((_, r)) = leave else { return };
        pivot(table, basis, profit, width, r, enter);
    }
}

fn pivot(
    table: &mut [f64],
    basis: &mut [usize],
    profit: &mut [f64],
    width: usize,
    r: usize,
    enter: usize,
) {
    let scale = 1.0 / table[r * width + enter];
    table[r * width..(r + 1) * width].iter_mut().for_each(|v| *v *= scale);
    let line = table[r * width..(r + 1) * width].to_vec();
    let subtract = |row: &mut [f64]| {
        let share = row[enter];
        if share != 0.0 {
            row.iter_mut().zip(&line).for_each(|(v, l)| *v -= share * l);
            row[enter] = 0.0;
        }
    };
    for (at, row) in table.chunks_exact_mut(width).enumerate() {
        if at != r {
            subtract(row);
        }
    }
    subtract(profit);
    basis[r] = enter;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::enumerate_best;
    use crate::testing::{random_field, random_submodular, random_tree};
    use mereo_core::Context;

    #[test]
    fn the_integer_program_finds_the_best_state_and_the_linear_one_bounds_it() {
        for seed in 0..100 {
            let field = random_field(&Context::new(seed), 5, 3, 3.0);
            let best = enumerate_best(&field).unwrap().energy;
            let (whole, relaxed) = (integer(&field).unwrap(), linear(&field).unwrap());
            assert!((whole.energy - best).abs() < 1e-7, "seed {seed}: {} {best}", whole.energy);
            assert!(relaxed.bound <= best + 1e-7, "seed {seed}");
        }
    }

    #[test]
    fn the_linear_program_is_tight_on_trees_and_submodular_fields() {
        for seed in 0..60 {
            let context = Context::new(seed);
            for field in [random_tree(&context, 6, 3, 3.0), random_submodular(&context, 6, 3.0)] {
                let best = enumerate_best(&field).unwrap().energy;
                assert!((linear(&field).unwrap().bound - best).abs() < 1e-7, "seed {seed}");
            }
        }
    }
}
