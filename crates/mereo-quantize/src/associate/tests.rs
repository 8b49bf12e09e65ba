//! The solvers against enumeration, and against an independent implementation on trees.

use mereo_core::Context;
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use super::exact::Exact;
use super::*;
use crate::fixture::Fixture;

/// Every solver.
fn all() -> [Association; 9] {
    Association::NAMES.map(|name| name.parse().unwrap())
}

/// A random problem of n features in d dimensions, as the paper makes them.
struct Made {
    couplings: Couplings,
    bias: Vec<f64>,
    feature: Vec<f64>,
    target: Vec<f64>,
    penalty: f64,
}

impl Made {
    fn new(n: usize, d: usize, mean: f64, penalty: f64, random: &mut Random) -> Self {
        let mut normal = || -> f64 { StandardNormal.sample(&mut *random) };
        let feature: Vec<f64> = (0..n * d).map(|_| mean + normal()).collect();
        let noise: Vec<f64> = (0..d).map(|_| 0.3 * normal()).collect();
        let state: Vec<bool> = (0..n).map(|_| random.random()).collect();
        let target = (0..d)
            .map(|c| {
                noise[c] + (0..n).filter(|&i| state[i]).map(|i| feature[i * d + c]).sum::<f64>()
            })
            .collect();
        Self::of(n, feature, target, penalty)
    }

    fn of(n: usize, feature: Vec<f64>, target: Vec<f64>, penalty: f64) -> Self {
        let d = target.len();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        let row = |i: usize| &feature[i * d..(i + 1) * d];
        let bias =
            (0..n).map(|i| dot(row(i), row(i)) - 2.0 * dot(row(i), &target) + penalty).collect();
        let couplings = Couplings::of_features(n, &feature);
        Self { couplings, bias, feature, target, penalty }
    }

    fn problem(&self) -> Problem<'_> {
        let (feature, target, penalty) = (&*self.feature, &*self.target, self.penalty);
        Problem {
            couplings: &self.couplings,
            bias: &self.bias,
            directed: Some(Directed { feature, target, penalty }),
        }
    }
}

/// Goes through every state.
fn brute_force(problem: &Problem<'_>) -> Answer {
    let mut best = Answer::nothing();
    for state in 0..=low(problem.bias.len()) {
        best.offer(state, problem.energy(state));
    }
    best
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-8 * (1.0 + a.abs().max(b.abs()))
}

#[test]
fn exact_is_exact_on_a_thousand_problems() {
    let mut random = Context::new(1).random("test", [0, 0]);
    let (mut exact, mut auto) = (Exact::new(1 << 30), Association::Auto.solver());
    for trial in 0..1200 {
        let n = random.random_range(1..=if trial % 40 == 0 { 20 } else { 14 });
        let d = random.random_range(1..=2 * n);
        let mean = [0.0, 2.0, 5.0][trial % 3];
        let penalty = [0.0, 0.5, 20.0][trial / 3 % 3];
        let made = Made::new(n, d, mean, penalty, &mut random);
        let right = brute_force(&made.problem());
        let answer = exact.solve(&made.problem());
        assert!(answer.settled, "trial {trial}: n {n}, d {d}");
        // With few dimensions auto may run out of nodes, and must still find the best.
        for answer in [answer, auto.solve(&made.problem())] {
            assert!(close(answer.energy, right.energy), "trial {trial}: {answer:?} {right:?}");
            assert!(close(answer.energy, made.problem().energy(answer.state)));
        }
    }
}

#[test]
fn couplings_of_any_sign_are_solved_exactly() {
    let mut random = Context::new(2).random("test", [0, 0]);
    let mut exact = Exact::new(1 << 30);
    for _ in 0..200 {
        let n = random.random_range(10..=14);
        let mut draw = || StandardNormal.sample(&mut random);
        let weight: Vec<f64> = (0..n * n).map(|_| draw()).collect();
        let bias: Vec<f64> = (0..n).map(|_| draw()).collect();
        let couplings = Couplings::new(n, &weight);
        let problem = Problem { couplings: &couplings, bias: &bias, directed: None };
        let answer = exact.solve(&problem);
        assert!(answer.settled && close(answer.energy, brute_force(&problem).energy));
    }
}

#[test]
fn no_solver_is_better_than_exact_or_lies_about_energies() {
    let mut random = Context::new(3).random("test", [0, 0]);
    let mut solvers = all().map(|a| (a, a.solver()));
    for trial in 0..60 {
        let n = random.random_range(1..=9);
        let d = random.random_range(1..=8);
        let made = Made::new(n, d, f64::from(trial % 4), f64::from(trial % 2), &mut random);
        let right = brute_force(&made.problem());
        for (kind, solver) in &mut solvers {
            let answer = solver.solve(&made.problem());
            assert!(close(answer.energy, made.problem().energy(answer.state)), "{kind:?}");
            assert!(answer.energy >= right.energy - 1e-8, "{kind:?}");
            // What was solved before must not matter.
            assert_eq!(kind.solver().solve(&made.problem()), answer, "{kind:?}");
            if answer.settled && *kind == Association::Exact {
                assert!(close(answer.energy, right.energy), "{kind:?}");
            }
        }
    }
}

#[test]
fn units_and_zero_features_change_nothing() {
    let mut random = Context::new(4).random("test", [0, 0]);
    for trial in 0..20 {
        let made = Made::new(7, 5, 1.0, 0.0, &mut random);
        for unit in [2f64.powi(-200), 2f64.powi(200)] {
            let scaled = |v: &[f64]| v.iter().map(|x| x * unit).collect::<Vec<_>>();
            let other = Made::of(7, scaled(&made.feature), scaled(&made.target), 0.0);
            for kind in all() {
                let (a, b) =
                    (kind.solver().solve(&made.problem()), kind.solver().solve(&other.problem()));
                assert_eq!(a.state, b.state, "{kind:?}, trial {trial}, {unit:e}");
            }
        }
    }
    let nothing = Made::of(12, vec![0.0; 24], vec![1.0, f64::from(2u8)], 0.0);
    for kind in all() {
        let answer = kind.solver().solve(&nothing.problem());
        assert_eq!(answer.energy, 0.0, "{kind:?}");
    }
}

#[test]
fn local_search_with_pairs_solves_similar_features() {
    let mut random = Context::new(5).random("test", [0, 0]);
    for trial in 0..20 {
        let made = Made::new(24, 12, 5.0, 0.0, &mut random);
        let right = Association::Exact.solver().solve(&made.problem());
        let found = Association::Local.solver().solve(&made.problem());
        assert!(right.settled && close(found.energy, right.energy), "trial {trial}");
    }
}

#[test]
fn running_out_of_nodes_is_said() {
    let mut random = Context::new(6).random("test", [0, 0]);
    let made = Made::new(40, 4, 2.0, 0.0, &mut random);
    let answer = Exact::new(100).solve(&made.problem());
    assert!(!answer.settled);
    assert!(close(answer.energy, made.problem().energy(answer.state)));
}

#[test]
fn trees_agree_with_an_independent_implementation() {
    let fixture = Fixture::open("gvq_trees.json");
    for t in 0..10 {
        let get = |name: &str| fixture.get(&format!("c{t}_{name}"));
        let couplings = Couplings::new(6, &get("W"));
        let bias = get("h");
        let problem = Problem { couplings: &couplings, bias: &bias, directed: None };
        let code = get("s").iter().enumerate().map(|(i, &s)| (s as u64) << i).sum::<u64>();
        for kind in [Association::Br, Association::Exact, Association::Auto] {
            let answer = kind.solver().solve(&problem);
            assert!(answer.settled && answer.state == code, "{kind:?} on chain {t}");
            assert!(close(answer.energy, get("E")[0]));
        }
        let found = bp::Bp::default().marginals(&problem, 1.0, 12);
        for (found, right) in found.iter().zip(get("marg_sigma1")) {
            assert!((found - right).abs() < 1e-9, "chain {t}: {found} {right}");
        }
    }
    for t in 0..10 {
        let get = |name: &str| fixture.get(&format!("d{t}_{name}"));
        let f = get("F");
        let feature: Vec<f64> = (0..30).map(|p| f[p % 5 * 6 + p / 5]).collect();
        let made = Made::of(6, feature, get("x"), 0.0);
        let answer = Association::Dbr.solver().solve(&made.problem());
        assert_eq!(answer.state, get("code")[0] as u64, "tree {t}");
        assert!(answer.settled);
        let found = dbp::Dbp::default().marginals(&made.problem(), 1.0, 12);
        for (found, right) in found.iter().zip(get("marg_sigma1")) {
            assert!((found - right).abs() < 1e-8, "tree {t}: {found} {right}");
        }
    }
}
