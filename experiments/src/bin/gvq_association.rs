//! GVQ, Figures 4a, 4b and 5: how near to a row each association solver comes, as a function of
//! connectivity, dimension and similarity; then how long the exact one takes.
//!
//! `cargo xtask experiments gvq_association`; the number of problems at each point may follow. Figures
//! are written to `target/figures`.

use std::time::Instant;

use mereo_core::{Context, Random, Result};
use mereo_experiments::plot::{Curve, draw_curves};
use mereo_experiments::seeds;
use mereo_quantize::Association;
use mereo_quantize::associate::{Couplings, Directed, Problem, ones};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

/// A problem as the paper makes them.
struct Made {
    d: usize,
    feature: Vec<f64>,
    target: Vec<f64>,
    couplings: Couplings,
    bias: Vec<f64>,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

impl Made {
    /// n features, each column of d connected with k of them, of this mean; noise as given.
    fn new(n: usize, d: usize, k: usize, mean: f64, noise: f64, random: &mut Random) -> Self {
        let mut feature = vec![0.0; n * d];
        for c in 0..d {
            let mut order: Vec<usize> = (0..n).collect();
            for i in 0..k {
                order.swap(i, random.random_range(i..n));
                let normal: f64 = StandardNormal.sample(random);
                feature[order[i] * d + c] = mean + normal;
            }
        }
        let couplings = Couplings::of_features(n, &feature);
        let mut made = Self { d, feature, target: Vec::new(), couplings, bias: vec![0.0; n] };
        made.bias = made.another(noise, random);
        made
    }

    /// The biases of another row made of the same features.
    fn another(&mut self, noise: f64, random: &mut Random) -> Vec<f64> {
        let (n, d) = (self.bias.len(), self.d);
        let state: Vec<bool> = (0..n).map(|_| random.random()).collect();
        let row = |i: usize| &self.feature[i * d..(i + 1) * d];
        let cell = |c: usize| {
            let normal: f64 = StandardNormal.sample(random);
            noise * normal + (0..n).filter(|&i| state[i]).map(|i| row(i)[c]).sum::<f64>()
        };
        self.target = (0..d).map(cell).collect();
        (0..n).map(|i| dot(row(i), row(i)) - 2.0 * dot(row(i), &self.target)).collect()
    }

    fn problem(&self) -> Problem<'_> {
        let directed = Directed { feature: &self.feature, target: &self.target, penalty: 0.0 };
        Problem { couplings: &self.couplings, bias: &self.bias, directed: Some(directed) }
    }

    /// The mean absolute error of a column.
    fn error(&self, state: u64) -> f64 {
        let mut left = self.target.clone();
        for i in ones(state) {
            for (x, f) in left.iter_mut().zip(&self.feature[i * self.d..]) {
                *x -= f;
            }
        }
        left.iter().map(|x| x.abs()).sum::<f64>() / self.d as f64
    }
}

/// One point of a figure: mean error of each solver, returned, and how often it was optimal.
fn point(
    label: &str,
    solvers: &[Association],
    trials: u64,
    make: impl Fn(&mut Random) -> Made,
) -> Vec<f64> {
    let mut sums = vec![(0.0, 0usize, 0usize, 0usize); solvers.len()];
    let mut ready: Vec<_> = solvers.iter().map(|s| s.solver()).collect();
    let mut exact = Association::Exact.solver();
    for trial in 0..trials {
        let made = make(&mut Context::new(trial).random(label, [0, 0]));
        let best = exact.solve(&made.problem());
        for (solver, sum) in ready.iter_mut().zip(&mut sums) {
            let answer = solver.solve(&made.problem());
            let optimal = answer.energy <= best.energy + 1e-7 * (1.0 + best.energy.abs());
            sum.0 += made.error(answer.state) / trials as f64;
            sum.1 += usize::from(optimal);
            sum.2 += usize::from(answer.settled);
            sum.3 += usize::from(answer.settled && optimal);
        }
    }
    print!("{label:<12}");
    for (solver, (error, optimal, settled, right)) in solvers.iter().zip(&sums) {
        print!(" {:>6.3} {:>4.0}%", error, 100.0 * *optimal as f64 / trials as f64);
        if *solver == Association::Br {
            print!(" ({right}/{settled})");
        }
    }
    println!();
    sums.iter().map(|sum| sum.0).collect()
}

/// One figure: a point for each value of x, made by `make(x, random)`.
fn draw_figure(
    name: &str,
    (title, below): (&str, &str),
    solvers: &[Association],
    trials: u64,
    values: &[f64],
    make: impl Fn(f64, &mut Random) -> Made,
) -> Result<()> {
    head(&format!("{title}, by {below}"), solvers);
    let mut curves: Vec<Curve> =
        solvers.iter().map(|s| (s.name().to_owned(), Vec::new())).collect();
    for &x in values {
        let errors = point(&format!("{x:.2}"), solvers, trials, |random| make(x, random));
        for (curve, error) in curves.iter_mut().zip(errors) {
            curve.1.push((x, error));
        }
    }
    draw_curves(name, title, (below, "mean absolute error"), &curves)
}

fn head(title: &str, solvers: &[Association]) {
    println!(
        "\n{title}\nmean absolute error and share of optimal answers; BR also settled and right"
    );
    let names: Vec<String> = solvers.iter().map(|s| format!("{:>12}", s.name())).collect();
    println!("{:<12}{}", "", names.concat());
}

fn main() -> Result<()> {
    use Association::{Auto, Bp, Br, Dbp, Dbr, Exact, Gibbs, Local, Mf};
    let trials = seeds(300);
    // The paper's noise is N(0, 1/10): its variance is a tenth.
    let noise = 0.1f64.sqrt();
    let solvers = [Exact, Local, Mf, Gibbs, Br, Bp, Dbr, Dbp];
    let parents = [2.0, 4.0, 6.0, 8.0, 10.0, 12.0].map(|k| k / 12.0);
    let title = ("Figure 4a: n = 12, d = 4, f ~ N(2,1)", "connectivity k/n");
    draw_figure("gvq-4a", title, &solvers, trials, &parents, |x, random| {
        Made::new(12, 4, (12.0 * x).round() as usize, 2.0, noise, random)
    })?;
    println!(
        "a throw-away implementation that is not mereo's nor the paper's (which prints a figure):"
    );
    println!("           exact .226 .230 .223 .210 at .33 .50 .67 1; DBR .227 .282 .564 1.433;");
    println!("           MF .294 .401 .488 .626; BR .283 .419 .589 .689");

    let solvers = [Exact, Auto, Local, Mf, Gibbs, Br, Bp];
    let dimensions = [3.0, 6.0, 9.0, 12.0, 15.0, 22.0].map(|d| d / 15.0);
    let title = ("Figure 4b: n = 15, f ~ N(0,1), fully connected", "dimension d/n");
    draw_figure("gvq-4b", title, &solvers, trials, &dimensions, |x, random| {
        Made::new(15, (15.0 * x).round() as usize, 15, 0.0, noise, random)
    })?;

    let solvers = [Exact, Auto, Local, Mf, Gibbs, Br, Bp, Dbp];
    let title = ("Figure 5: n = 10, d = 4, f ~ N(γ,1)", "similarity γ");
    draw_figure("gvq-5", title, &solvers, trials, &[0.0, 2.0, 4.0, 6.0, 8.0], |x, random| {
        Made::new(10, 4, 10, x, noise, random)
    })?;

    println!(
        "\nTime of a problem (one thread, features prepared once for 50 rows), share proven optimal"
    );
    println!(
        "a throw-away implementation that is not mereo's nor the paper's (which tells no times):"
    );
    println!("1.3 µs at n = 12, d = n; 4.5 at n = 20, d = n/2; 2.4 at n = 40, d = n");
    for (n, d, mean) in [(12, 12, 0.0), (20, 10, 0.0), (40, 40, 0.0), (40, 20, 0.0), (40, 40, 5.0)]
    {
        print!("n {n}, d {d}, f ~ N({mean},1):");
        for kind in [Auto, Exact] {
            let mut solver = kind.solver();
            let (mut micros, mut proven) = (0.0, 0);
            for t in 0..10 {
                let mut random = Context::new(t).random("time", [0, 0]);
                let mut made = Made::new(n, d, n, mean, 0.1, &mut random);
                let biases: Vec<Vec<f64>> =
                    (0..50).map(|_| made.another(0.1, &mut random)).collect();
                let began = Instant::now();
                for bias in biases {
                    made.bias = bias;
                    proven += usize::from(solver.solve(&made.problem()).settled);
                }
                micros += began.elapsed().as_secs_f64() * 1e6 / 500.0;
            }
            print!("  {} {micros:.1} µs, {proven} of 500", kind.name());
        }
        println!();
    }

    println!("\nSimilar features, n = 40, d = 40, f ~ N(5,1): share of optimal answers");
    let solvers = [Local, Mf, Gibbs, Br];
    head("", &solvers);
    point("γ 5", &solvers, trials.min(30), |r| Made::new(40, 40, 40, 5.0, noise, r));
    Ok(())
}
