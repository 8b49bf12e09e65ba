//! The best state of a field of two labels by a smallest cut, if neighbours rather agree.
//!
//! An edge with energies `e_mn = -θ[m, n]` is
//! `e_00 + (e_10 - e_00) x_a + (e_11 - e_10) x_b + (e_01 + e_10 - e_00 - e_11) (1 - x_a) x_b`
//! (put in the four states), so what an edge adds to its ends' own costs is paid if `x_a = 0, x_b = 1`: an
//! arc from b to a, of capacity `e_01 + e_10 - e_00 - e_11`. That must not be negative: the field is then
//! called submodular, and a smallest cut, with 1 on the source's side, is a state of least energy
//! (Kolmogorov and Zabih 2004).
//!
//! Capacities are whole numbers, the largest about 2^52: rounding can only prefer one of two states whose
//! energies differ in the sixteenth digit.

use mereo_core::{Error, Result};

use crate::flow::{Graph, smallest_cut};
use crate::{Decided, Pairwise};

/// The sum of all capacities is below this.
const MOST: f64 = (1u64 << 60) as f64;
/// The largest capacity, as long as their sum stays below the most.
const FINEST: f64 = (1u64 << 52) as f64;

/// A graph that cuts are found on again and again.
pub(crate) struct Topology {
    graph: Graph,
    capacity: Vec<i64>,
}

/// What a cut is to be the smallest of: costs of label 1 above label 0 of each variable, and energies
/// of each edge.
pub(crate) struct Terms {
    pub(crate) cost: Vec<f64>,
    /// `(e_01 + e_10 - e_00 - e_11)` of each edge, at least 0.
    pub(crate) apart: Vec<f64>,
}

impl Terms {
    pub(crate) fn new(variables: usize) -> Self {
        Self { cost: vec![0.0; variables], apart: Vec::new() }
    }

    /// Adds an edge's energies; says whether it is submodular. If not, what it gains by disagreeing is
    /// dropped.
    pub(crate) fn edge(&mut self, a: usize, b: usize, e: [[f64; 2]; 2]) -> bool {
        let apart = e[0][1] + e[1][0] - e[0][0] - e[1][1];
        self.cost[a] += e[1][0] - e[0][0];
        self.cost[b] += e[1][1] - e[1][0];
        self.apart.push(apart.max(0.0));
        let size = e.iter().flatten().map(|e| e.abs()).fold(0.0, f64::max);
        apart >= -1e-12 * size
    }
}

impl Topology {
    pub(crate) fn new(variables: usize, edges: &[(usize, usize)]) -> Self {
        let graph = Graph::new(variables, edges);
        Self { graph, capacity: vec![0; 2 * edges.len()] }
    }

    /// Whether each variable has label 1 in a state of least energy. `terms` have the edges in the
    /// order in which they were given.
    pub(crate) fn cut(&mut self, terms: &Terms) -> Vec<bool> {
        let all = || terms.cost.iter().map(|c| c.abs()).chain(terms.apart.iter().copied());
        let (sum, most) = all().fold((0.0f64, 0.0f64), |(s, m), v| (s + v, m.max(v)));
        let scale = if most > 0.0 { (FINEST / most).min(MOST / sum) } else { 1.0 };
        self.capacity.fill(0);
        for (apart, arcs) in terms.apart.iter().zip(&self.graph.arcs) {
            self.capacity[arcs[1] as usize] += (apart * scale).round() as i64;
        }
        let excess = terms.cost.iter().map(|cost| (-cost * scale).round() as i64);
        smallest_cut(&self.graph, excess, &mut self.capacity)
    }
}

/// The state of least energy of a submodular field of two labels.
///
/// ```
/// use mereo_field::{Field, decide, infer};
/// let mut field = Field::new(vec![vec![0.0, 1.0], vec![0.4, 0.0]])?;
/// field.couple(0, 1, vec![1.0, 0.0, 0.0, 1.0])?;
/// assert_eq!(decide::cut(&field)?.labels, infer::enumerate_best(&field)?.labels);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn cut<F: Pairwise>(field: &F) -> Result<Decided> {
    let n = field.variables();
    if let Some(i) = (0..n).find(|&i| field.labels(i) != 2) {
        let problem = format!(
            "variable {i} has {} labels, and a cut tells two apart; choose expansion or trws",
            field.labels(i)
        );
        return Err(Error::option("method", problem));
    }
    let mut terms = Terms::new(n);
    let (mut edges, mut bad) = (Vec::new(), None);
    for i in 0..n {
        terms.cost[i] += field.unary(i)[0] - field.unary(i)[1];
    }
    field.for_each_edge(|a, link| {
        edges.push((a, link.to));
        let e = [0, 1].map(|m| [0, 1].map(|n| -field.pair(link, m, n)));
        if !terms.edge(a, link.to, e) {
            bad.get_or_insert((a, link.to));
        }
    });
    if let Some((a, b)) = bad {
        let problem = format!(
            "variables {a} and {b} would rather differ, and a cut is exact only where neighbours \
             would rather agree; choose trws, expansion or exact"
        );
        return Err(Error::option("method", problem));
    }
    let ones = Topology::new(n, &edges).cut(&terms);
    let labels: Vec<usize> = ones.into_iter().map(usize::from).collect();
    let energy = field.energy(&labels);
    Ok(Decided::exact(labels, energy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::enumerate_best;
    use crate::testing::{random_field, random_submodular};
    use mereo_core::Context;

    #[test]
    fn cuts_equal_brute_force() {
        for seed in 0..1000 {
            let field = random_submodular(&Context::new(seed), 2 + seed as usize % 9, 3.0);
            let (a, b) = (cut(&field).unwrap(), enumerate_best(&field).unwrap());
            assert!((a.energy - b.energy).abs() < 1e-9, "seed {seed}: {} {}", a.energy, b.energy);
        }
    }

    #[test]
    fn fields_that_cannot_be_cut_are_named() {
        let field = random_field(&Context::new(2), 6, 2, 2.0);
        assert!(cut(&field).unwrap_err().to_string().contains("rather differ"));
        let field = random_field(&Context::new(2), 3, 4, 2.0);
        assert!(cut(&field).is_err());
    }
}
