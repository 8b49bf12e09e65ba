//! GVQ, Figures 4a, 4b and 5: how near to a row each association solver comes, as a function of
//! connectivity, dimension and similarity; then how long the exact one takes.
//!
//! `cargo xtask experiments gvq_association`; the number of problems at each point may follow.

use std::time::Instant;

use mereo_core::{Context, Random};
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
        let state: Vec<bool> = (0..n).map(|_| random.random()).collect();
        let target: Vec<f64> = (0..d)
            .map(|c| {
                let normal: f64 = StandardNormal.sample(random);
                let on = (0..n).filter(|&i| state[i]).map(|i| feature[i * d + c]);
                noise * normal + on.sum::<f64>()
            })
            .collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        let row = |i: usize| &feature[i * d..(i + 1) * d];
        let products: Vec<f64> = (0..n * n).map(|p| dot(row(p / n), row(p % n))).collect();
        let bias = (0..n).map(|i| products[i * n + i] - 2.0 * dot(row(i), &target)).collect();
        let couplings = Couplings::of_products(n, &products);
        Self { d, feature, target, couplings, bias }
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

/// One point of a figure: mean error of each solver, and how often it was optimal.
fn point(label: &str, solvers: &[Association], trials: u64, make: impl Fn(&mut Random) -> Made) {
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
}

fn head(title: &str, solvers: &[Association]) {
    println!(
        "\n{title}\nmean absolute error and share of optimal answers; BR also settled and right"
    );
    let names: Vec<String> = solvers.iter().map(|s| format!("{:>12}", s.name())).collect();
    println!("{:<12}{}", "", names.concat());
}

fn main() {
    use Association::{Auto, Bp, Br, Dbp, Dbr, Exact, Gibbs, Local, Mf};
    let trials = seeds(300);
    // The paper's noise is N(0, 1/10): its variance is a tenth.
    let noise = 0.1f64.sqrt();
    let solvers = [Exact, Auto, Local, Mf, Gibbs, Br, Bp, Dbr];
    head("Figure 4a: n = 12, d = 4, f ~ N(2,1), by connectivity k/n", &solvers);
    for k in [2, 4, 6, 8, 10, 12] {
        let label = format!("k/n {:.2}", f64::from(k) / 12.0);
        point(&label, &solvers, trials, |r| Made::new(12, 4, k as usize, 2.0, noise, r));
    }
    println!("reference: exact .226 .230 .223 .210 at .33 .50 .67 1; DBR .227 .282 .564 1.433;");
    println!("           MF .294 .401 .488 .626; BR .283 .419 .589 .689");

    let solvers = [Exact, Auto, Local, Mf, Gibbs, Br, Bp];
    head("Figure 4b: n = 15, f ~ N(0,1), fully connected, by dimension d/n", &solvers);
    for d in [3, 6, 9, 12, 15, 22] {
        let label = format!("d/n {:.2}", f64::from(d) / 15.0);
        point(&label, &solvers, trials, |r| Made::new(15, d as usize, 15, 0.0, noise, r));
    }

    let solvers = [Exact, Auto, Local, Mf, Gibbs, Br, Bp, Dbp];
    head("Figure 5: n = 10, d = 4, f ~ N(γ,1), by similarity γ", &solvers);
    for gamma in [0.0, 2.0, 4.0, 6.0, 8.0] {
        let label = format!("γ {gamma:.0}");
        point(&label, &solvers, trials.min(60), |r| Made::new(10, 4, 10, gamma, noise, r));
    }

    println!("\nTime of a problem (auto, one thread) and share proven optimal");
    for (n, d, mean) in [(12, 12, 0.0), (20, 10, 0.0), (40, 40, 0.0), (40, 20, 0.0), (40, 40, 5.0)]
    {
        let made: Vec<Made> = (0..50)
            .map(|t| Made::new(n, d, n, mean, 0.1, &mut Context::new(t).random("time", [0, 0])))
            .collect();
        let mut solver = Auto.solver();
        let began = Instant::now();
        let proven = made.iter().filter(|m| solver.solve(&m.problem()).settled).count();
        let micros = began.elapsed().as_secs_f64() * 1e6 / 50.0;
        println!("n {n}, d {d}, f ~ N({mean},1): {micros:>9.1} µs, {proven} of 50 proven");
    }

    println!("\nSimilar features, n = 40, d = 40, f ~ N(5,1): share of optimal answers");
    let solvers = [Local, Mf, Gibbs, Br];
    head("", &solvers);
    point("γ 5", &solvers, trials.min(30), |r| Made::new(40, 40, 40, 5.0, noise, r));
}
