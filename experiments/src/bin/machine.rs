//! Forsyth, figure 9.1: a small Boltzmann machine, all marginals by every method beside enumeration; and what the
//! chapter warns of mean field (one mode, no covariance); and a lattice beside Onsager's free energy.
//!
//! `cargo xtask experiments machine`. A curve is written to `target/figures`.

use mereo_core::{Context, Result};
use mereo_experiments::plot::{Curve, draw_curves};
use mereo_field::infer::{BeliefParams, MeanFieldParams, belief, enumerate, mean_field};
use mereo_field::{
    Boltzmann, Coupling, Grid, Marginals, Method, Neighbours, Unary, Weights, ask, grid_mean_field,
};

/// The critical strength of the square lattice, `log(1 + √2)/2`.
const CRITICAL: f64 = 0.440_686_793_509_77;

fn main() -> Result<()> {
    figure()?;
    one_mode()?;
    lattice()
}

/// Four variables in a ring with one edge across.
fn figure() -> Result<()> {
    println!("Figure 9.1's machine: P(U_i = 1), energy of the state found, log Z");
    let bias = vec![0.3, -0.1, 0.2, 0.0];
    for strength in [0.3, 1.0, 2.0] {
        let each = [(0, 1, 1.0), (1, 2, -0.8), (2, 3, 0.6), (3, 0, 0.9), (0, 2, -0.4)];
        let edges = each.map(|(a, b, s)| (a, b, s * strength)).to_vec();
        let field = Boltzmann { bias: bias.clone(), edges }.field()?;
        println!("couplings times {strength}");
        for method in Method::ALL {
            let Ok(answer) = ask(&field, &[None; 4], method, &Context::new(0)) else {
                println!("  {:<11} cannot: neighbours would rather differ", method.name());
                continue;
            };
            let shares = answer.marginals.map_or_else(String::new, |m| {
                (0..4).map(|i| format!(" {:.4}", m.of(i)[1])).collect::<Vec<_>>().concat()
            });
            let log_z = answer.log_z.map_or_else(String::new, |z| format!(" {z:8.4}"));
            println!(
                "  {:<11} {:<8} {:>8.4} {:?}{shares}{log_z}",
                method.name(),
                answer.kind.to_string(),
                answer.energy,
                answer.map
            );
        }
    }
    Ok(())
}

/// Two variables that agree: the truth has two modes and covariance, mean field has one and none.
fn one_mode() -> Result<()> {
    println!("\nTwo variables that rather agree: truth and mean field");
    println!(
        "coupling   P(U = 1)   E[U V]   mean field from either side        its E[U V]   divergence"
    );
    for strength in [0.5, 1.0, 1.5, 2.0] {
        let field = Boltzmann { bias: vec![0.0; 2], edges: vec![(0, 1, strength)] }.field()?;
        let exact = enumerate(&field)?;
        let (mut ends, mut product, mut gap) = (Vec::new(), 0.0, 0.0);
        for lean in [0.4, 0.6] {
            let mut start = Marginals::new([2, 2]);
            (0..2).for_each(|i| start.of_mut(i).copy_from_slice(&[1.0 - lean, lean]));
            let params = MeanFieldParams { sweeps: 10_000, ..MeanFieldParams::default() };
            let mean = mean_field(&field, Some(&start), &params, &Context::new(0))?;
            let one = mean.marginals.of(0)[1];
            ends.push(one);
            product = (2.0 * one - 1.0).powi(2);
            // log Z = D(Q ‖ P) - F.
            gap = exact.log_z.unwrap_or(0.0) - mean.log_z.unwrap_or(0.0);
        }
        println!(
            "{strength:>8}   {:.4}     {:.4}   {:.4} and {:.4}                  {product:.4}       {gap:.4}",
            exact.marginals.of(0)[1],
            strength.tanh(),
            ends[0],
            ends[1]
        );
    }
    Ok(())
}

/// Free energy a site of a 64 x 64 lattice (edges open) by mean field and belief propagation, beside the endless
/// one. Per site a lattice with edges has 1/64 fewer couplings: what it lacks is added as independent ones.
fn lattice() -> Result<()> {
    let side = 64;
    println!("\n{side} x {side} lattice: log Z a site; Onsager's is of an endless one");
    println!("strength   Onsager   mean field (bound)   belief propagation");
    let mut curves = [Vec::new(), Vec::new(), Vec::new()];
    for step in 1..=14 {
        let beta = 0.05 * f64::from(step);
        // A weak field breaks the tie between the two modes.
        let unary = Unary::Table(vec![0.0, 1e-3], vec![0; side * side]);
        let grid = Grid::new(
            (side, side),
            2,
            Neighbours::Four,
            unary,
            Coupling::Potts,
            Weights::Shared(2.0 * beta),
        )?;
        let context = Context::new(0);
        let params =
            MeanFieldParams { sweeps: 2000, tolerance: 1e-7, trace: false, ..Default::default() };
        let mean = grid_mean_field(&grid, None, &params, &context)?;
        let beliefs =
            belief(&grid, &BeliefParams { sweeps: 300, tolerance: 1e-7, damping: 0.0 }, &context)?;
        let sites = (side * side) as f64;
        let couplings = 2.0 * (side * (side - 1)) as f64;
        // Potts of weight 2β is ±β less β an edge.
        let site = |log_z: f64| {
            let missing = 2.0 * sites - couplings;
            (log_z + beta * couplings + missing * beta.cosh().ln()) / sites
        };
        let values = [
            onsager(beta),
            site(mean.log_z.unwrap_or(f64::NAN)),
            site(beliefs.log_z.unwrap_or(f64::NAN)),
        ];
        println!("{beta:>8.2}   {:.5}   {:.5}              {:.5}", values[0], values[1], values[2]);
        curves.iter_mut().zip(values).for_each(|(c, v)| c.push((beta, v)));
    }
    println!("the critical strength is {CRITICAL:.4}; mean field's is 0.25");
    let names = ["Onsager", "mean field", "belief propagation"];
    let curves: Vec<Curve> =
        names.iter().zip(curves).map(|(name, points)| ((*name).to_owned(), points)).collect();
    draw_curves("lattice", "log Z a site of a square lattice", ("strength", "nats"), &curves)
}

fn onsager(beta: f64) -> f64 {
    let n = 400;
    let angle = |k: usize| (k as f64 + 0.5) * std::f64::consts::PI / n as f64;
    let (c, s) = ((2.0 * beta).cosh().powi(2), (2.0 * beta).sinh());
    let pairs = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
    let sum: f64 = pairs.map(|(i, j)| (c - s * (angle(i).cos() + angle(j).cos())).ln()).sum();
    2f64.ln() + sum / (2.0 * (n * n) as f64)
}
