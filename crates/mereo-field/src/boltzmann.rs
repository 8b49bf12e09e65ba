//! Boltzmann machines (9.1.1): variables that are 1 or -1, coupled in pairs.
//!
//! `log P(U) = Σ_(ij) θ_ij U_i U_j + Σ_i b_i U_i - log Z`, each edge counted once. As a field with two labels,
//! 0 for -1 and 1 for 1, an edge's table is `θ` where labels agree and `-θ` where they do not.

use mereo_core::Result;

use crate::Field;

/// A Boltzmann machine.
///
/// ```
/// use mereo_field::{Boltzmann, infer};
/// // Two variables that rather agree, and one that one of them would rather not be like.
/// let machine = Boltzmann { bias: vec![0.0; 3], edges: vec![(0, 1, 1.0), (1, 2, -0.5)] };
/// let field = machine.field()?;
/// let given = field.given(&[Some(1), None, None])?;
/// let exact = infer::enumerate(&given.field)?;
/// assert!(exact.marginals.of(0)[1] > 0.5 && exact.marginals.of(1)[1] < 0.5);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Boltzmann {
    /// How much each variable would rather be 1 than -1.
    pub bias: Vec<f64>,
    /// Which variables are coupled, and how strongly they would rather agree.
    pub edges: Vec<(usize, usize, f64)>,
}

impl Boltzmann {
    /// The machine as a field.
    pub fn field(&self) -> Result<Field> {
        let mut field = Field::new(self.bias.iter().map(|b| vec![-b, *b]).collect())?;
        for &(a, b, strength) in &self.edges {
            field.couple(a, b, vec![strength, -strength, -strength, strength])?;
        }
        Ok(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pairwise;
    use crate::infer::{MeanFieldParams, mean_field, tree};
    use mereo_core::Context;

    /// Onsager: `log 2 + 1/(2π²) ∫∫ log(cosh² 2β - sinh 2β (cos a + cos b))` over `[0, π]²`, a site, of an
    /// endless square lattice.
    fn onsager(beta: f64) -> f64 {
        let n = 400;
        let angle = |k: usize| (k as f64 + 0.5) * std::f64::consts::PI / n as f64;
        let (c, s) = ((2.0 * beta).cosh().powi(2), (2.0 * beta).sinh());
        let sum: f64 = (0..n)
            .flat_map(|i| (0..n).map(move |j| (i, j)))
            .map(|(i, j)| (c - s * (angle(i).cos() + angle(j).cos())).ln())
            .sum();
        2f64.ln() + sum / (2.0 * (n * n) as f64)
    }

    /// A cylinder of rings of spins as a chain: a ring is a variable with a label for each state.
    fn ring_chain(spins: usize, rings: usize, beta: f64) -> Field {
        let states = 1usize << spins;
        let agree = |a: usize, b: usize| spins as f64 - 2.0 * f64::from((a ^ b).count_ones());
        let turn = |a: usize| (a >> 1) | ((a & 1) << (spins - 1));
        let own: Vec<f64> = (0..states).map(|a| beta * agree(a, turn(a))).collect();
        let table: Vec<f64> = (0..states)
            .flat_map(|a| (0..states).map(move |b| (a, b)))
            .map(|(a, b)| beta * agree(a, b))
            .collect();
        let mut field = Field::new(vec![own; rings]).unwrap();
        for i in 1..rings {
            field.couple(i - 1, i, table.clone()).unwrap();
        }
        field
    }

    #[test]
    fn rings_of_spins_come_near_onsagers_free_energy() {
        // A ring of 8 is off by what correlations of its length leave; at the critical strength that
        // is π/12/64 = 0.004 (conformal invariance), away from it far less.
        for (beta, off) in [(0.2, 1e-4), (0.35, 2e-3), (0.440_686_793, 5e-3), (0.6, 2e-3)] {
            let [short, long] =
                [6, 14].map(|rings| tree(&ring_chain(8, rings, beta)).unwrap().log_z.unwrap());
            // The ends cancel in the difference.
            let site = (long - short) / (8.0 * 8.0);
            let endless = onsager(beta);
            assert!((site - endless).abs() < off, "{beta}: {site} {endless}");
        }
    }

    #[test]
    fn mean_field_is_the_chapters_update() {
        let machine = Boltzmann {
            bias: vec![0.1, -0.2, 0.3, 0.0],
            edges: vec![(0, 1, 0.5), (1, 2, -0.4), (2, 3, 0.3), (3, 0, 0.2)],
        };
        let params = MeanFieldParams { tolerance: 1e-14, sweeps: 5000, ..Default::default() };
        let field = machine.field().unwrap();
        let mean = mean_field(&field, None, &params, &Context::new(0)).unwrap();
        let pi: Vec<f64> = (0..field.variables()).map(|i| mean.marginals.of(i)[1]).collect();
        for i in 0..4 {
            let mut a = machine.bias[i];
            for &(p, q, strength) in &machine.edges {
                if p == i {
                    a += strength * (2.0 * pi[q] - 1.0);
                } else if q == i {
                    a += strength * (2.0 * pi[p] - 1.0);
                }
            }
            assert!((pi[i] - 1.0 / (1.0 + (-2.0 * a).exp())).abs() < 1e-12);
        }
    }
}
