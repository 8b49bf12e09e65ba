//! Loadings and offsets that are averaged over, against quadrature, draws and their theory.

use mereo_core::math::{normal_log_density, packed};
use mereo_core::{
    CellPrediction, Learner, Likelihood, Manifest, Pass, Source, estimate, predict_cells,
};
use rand_distr::{Distribution, StandardNormal};

use super::super::posterior::Units;
use super::classes::random_class_model;
use super::*;

/// A model with covariances of this size, of full rank.
fn unsure_model(seed: u64, [parts, factors, columns]: [usize; 3], size: f64) -> Mcfa {
    unsure(&random_model(seed, parts, factors, columns), seed, size)
}

/// The same model, its loadings not known for sure.
fn unsure(model: &Mcfa, seed: u64, size: f64) -> Mcfa {
    let mut random = Context::new(seed).random("covariances", [0, 0]);
    let n = model.factors() + 1;
    let mut covariance = Vec::new();
    for _ in model.noise() {
        let root: Vec<f64> = (0..n * n).map(|_| random.random_range(-1.0..1.0)).collect();
        for r in 0..n {
            for c in 0..=r {
                let own: f64 = (0..n).map(|i| root[r * n + i] * root[c * n + i]).sum();
                covariance.push(size * (own + f64::from(u8::from(r == c)) * 0.1));
            }
        }
    }
    let mut file = model.to_file(Manifest::new("mcfa"));
    let shape = vec![model.noise().len() / model.columns(), model.columns(), packed(n)];
    file.insert("covariance", mereo_core::Tensor::new(shape, covariance));
    Mcfa::from_file(file, "test".as_ref()).unwrap()
}

/// Mostly unknown cells, of columns some of which hardly any row observes.
fn ratings(seed: u64) -> Table<f64> {
    let table = small_table(seed, 60, 12, 0.7);
    sparse(&table, Absent::Unobserved)
}

struct Setting {
    learner: McfaLearner<f64>,
    start: State,
}

fn setting(table: &Table<f64>, gate: Gate, seed: u64) -> Setting {
    let context = Context::new(seed);
    let params = McfaParams::new(2, 2);
    let survey = Survey::of(table, &context).unwrap();
    let starts = McfaStarts { params: &params, survey: &survey };
    let units = Units::of(&survey).unwrap();
    let sample = start_sample(table, &survey.form, &context).unwrap();
    let mut start = seeded(&starts, starts.survey, &sample, 0, &context).unwrap().state;
    start.posterior = Some(units.first(&start, &survey.moments.weight, &survey.frame));
    let learner = McfaLearner {
        shrinkage: None,
        units: Some(units),
        ..starts.learner(Some(gate), Schedule::constant(1e-4))
    };
    Setting { learner, start }
}

/// F of a state.
fn bound(learner: &McfaLearner<f64>, state: &State, table: &Table<f64>) -> f64 {
    let prepared = learner.prepare(state, Pass { restart: 0, pass: 500 });
    let (mut work, mut sums) = (learner.workspace(), learner.statistics());
    let mut lane = table.lane(0..table.batches()).unwrap();
    while let Some(batch) = lane.next_batch().unwrap() {
        learner.accumulate(&prepared, &batch, &mut work, &mut sums);
    }
    mereo_core::Statistics::finish(&mut sums);
    learner.bound(&sums)
}

fn learned(setting: &Setting, table: &Table<f64>, passes: usize) -> (State, Vec<f64>) {
    let start = |_: usize| Ok(Start { state: setting.start.clone(), how: String::new() });
    let plan = Plan { passes, tolerance: 0.0, ..Plan::default() };
    let context = Context::new(0);
    let found = learn(&setting.learner, start, table, &plan, &context, &mut Silent).unwrap();
    (found.state, found.training.restarts.into_iter().next().unwrap().bounds)
}

#[test]
fn the_bound_never_falls() {
    for seed in 0..12 {
        let table = ratings(seed);
        for gate in [Gate::Standard, Gate::RTied, Gate::Annealed { from: 0.5, passes: 8 }] {
            let (_, bounds) = learned(&setting(&table, gate, seed), &table, 30);
            for pair in bounds.windows(2) {
                assert!(pair[1] >= pair[0] - 1e-8 * (1.0 + pair[0].abs()), "{gate:?} {bounds:?}");
            }
        }
    }
}

/// Every number that is learned stands where the bound is largest: a little more or less of any of them lowers it.
#[test]
fn where_passes_end_nothing_can_be_bettered() {
    let table = ratings(5);
    let setting = setting(&table, Gate::Standard, 5);
    let (state, _) = learned(&setting, &table, 3000);
    let best = bound(&setting.learner, &state, &table);
    let try_one = |what: &str, change: &dyn Fn(&mut State, f64)| {
        for by in [-1e-2, 1e-2] {
            let mut other = state.clone();
            change(&mut other, by);
            let found = bound(&setting.learner, &other, &table);
            assert!(found < best + 1e-6, "{what} {by}: {found} {best}");
            assert!(found != best, "{what} does not matter");
        }
    };
    for i in [0, 7, 13, 23] {
        try_one("loading", &|state, by| state.loading[2 * i] += by);
        try_one("offset", &|state, by| state.offset[i] += by);
        try_one("noise", &|state, by| state.noise[i] *= 1.0 + by);
        for at in [0, 2, 5] {
            try_one("covariance", &|state, by| {
                state.posterior.as_mut().unwrap().covariance[6 * i + at] *= 1.0 + by;
            });
        }
    }
    for i in 0..4 {
        try_one("centre", &|state, by| state.posterior.as_mut().unwrap().centre[i] += by);
        try_one("precision", &|state, by| {
            state.posterior.as_mut().unwrap().precision[i] *= 1.0 + 10.0 * by;
        });
    }
}

#[test]
fn a_row_s_bound_is_as_quadrature_says() {
    // One part, one factor: log ∫ N(s; 0, 1) exp(Σ_d E_q(l)[log N(x_d; λs + ρ, ψ)]) ds.
    let model = unsure_model(3, [1, 1, 4], 0.2);
    let covariance = model.covariance().unwrap();
    let cells = [0.4, f64::NAN, -1.1, 2.0];
    let table = Table::from(Dense::new(1, 4, cells.to_vec()).unwrap());
    let (steps, reach) = (20_000, 10.0);
    let mut total = 0.0;
    for i in 0..steps {
        let s = -reach + 2.0 * reach * (f64::from(i) + 0.5) / f64::from(steps);
        let mut log = normal_log_density(s, 0.0, 1.0);
        for d in [0, 2, 3] {
            let noise = model.noise()[d];
            let c = &covariance[3 * d..3 * d + 3];
            let unsure = c[0] * s * s + 2.0 * c[1] * s + c[2];
            let look = model.offset()[d] + model.loading()[d] * s;
            log += normal_log_density(cells[d], look, noise) - 0.5 * unsure / noise;
        }
        total += log.exp() * 2.0 * reach / f64::from(steps);
    }
    let found = score::<f64>(&model, &table, &Context::new(0)).unwrap().rows[0];
    assert!((found - total.ln()).abs() < 1e-8, "{found} {}", total.ln());
}

#[test]
fn predictions_have_the_moments_of_draws() {
    let model = unsure_model(4, [1, 2, 3], 0.3);
    let covariance = model.covariance().unwrap();
    // Nothing is known of the row: factors are as the prior has them.
    let table = Table::from(Dense::new(1, 3, vec![f64::NAN; 3]).unwrap());
    let tell = |p: &CellPrediction| (p.mean(), p.deviation().powi(2));
    let told = predict_cells::<f64, _>(&model, &table, &[(0, 1)], &Context::new(0), tell).unwrap();
    let mut random = Context::new(1).random("draws", [0, 0]);
    let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
    let mut lower = covariance[6..12].to_vec();
    mereo_core::math::cholesky(&mut lower, 3).unwrap();
    let (draws, mut sum, mut squares) = (400_000, 0.0, 0.0);
    for _ in 0..draws {
        let e = [normal(), normal(), normal()];
        let apart = |r: usize| (0..=r).map(|c| lower[packed(r) + c] * e[c]).sum::<f64>();
        let s = [normal(), normal()];
        let x = (0..2).map(|f| (model.loading()[2 + f] + apart(f)) * s[f]).sum::<f64>()
            + model.offset()[1]
            + apart(2)
            + model.noise()[1].sqrt() * normal();
        sum += x;
        squares += x * x;
    }
    let mean = sum / f64::from(draws);
    let variance = squares / f64::from(draws) - mean * mean;
    assert!((told[0].0 - mean).abs() < 0.02, "{told:?} {mean}");
    assert!((told[0].1 / variance - 1.0).abs() < 0.02, "{told:?} {variance}");
    // And so do rows that are drawn from the model.
    let drawn = sample(&model, 100_000, true, &Context::new(2)).unwrap();
    let cells: Vec<f64> = (0..100_000).map(|r| drawn.row(r)[1]).collect();
    let mean = cells.iter().sum::<f64>() / 1e5;
    let variance = cells.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e5;
    assert!((told[0].1 / variance - 1.0).abs() < 0.03, "{told:?} {variance}");
}

#[test]
fn estimates_agree_with_integrals() {
    let (mut within, mut all) = (0, 0);
    for seed in 0..60 {
        let model = unsure_model(seed, [2, 1, 5], 0.3);
        let gate = mereo_core::Parts::parts(&model).gate.to_vec();
        let table = small_table(seed, 1, 5, 0.2);
        let Cells::Dense(cells) = table.cells() else { unreachable!() };
        let exact = integrated_log_density(&model, &gate, cells.row(0));
        let how = Likelihood::Importance(8000);
        let drawn = estimate::<f64>(&model, how, &table, &Context::new(seed)).unwrap();
        let error = drawn.standard_error.unwrap();
        within += usize::from((drawn.mean - exact).abs() <= 2.0 * error + 1e-6);
        all += 1;
        let bound = score::<f64>(&model, &table, &Context::new(0)).unwrap().rows[0];
        assert!(bound <= exact + 1e-6, "{bound} {exact}");
    }
    assert!(f64::from(within as u32) >= 0.93 * f64::from(all), "{within} of {all}");
}

#[test]
fn loadings_that_are_known_are_as_if_nobody_asked() {
    let plain = random_model(7, 2, 2, 6);
    let known = unsure(&plain, 7, 0.0);
    let table = small_table(7, 5, 6, 0.4);
    let context = Context::new(0);
    let scores = |model: &Mcfa| score::<f64>(model, &table, &context).unwrap().rows;
    for (a, b) in scores(&plain).iter().zip(scores(&known)) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }
    let filled = |model: &Mcfa| reconstruct::<f64>(model, &table, &context).unwrap();
    for (a, b) in filled(&plain).values().iter().zip(filled(&known).values()) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }
}

#[test]
fn a_class_alone_is_as_sure_of_its_offset_as_of_its_loadings() {
    let model = unsure(&random_class_model(1, 2, [2, 2, 4]), 1, 0.2);
    let view = model.class_view().unwrap();
    let centre = view.class_state_prior[..4].to_vec();
    let alone = model.hybrid(&[vec![(0, 1.0)], vec![(0, 1.0)]]).unwrap();
    for (i, (own, other)) in
        model.covariance().unwrap().chunks(6).zip(alone.covariance().unwrap().chunks(6)).enumerate()
    {
        // A look at factors s of the class alone is one at s + v of the whole model.
        let v = &centre[i / 4 * 2..i / 4 * 2 + 2];
        for s in [[0.0, 0.0], [0.7, -1.2]] {
            let moved = [s[0] + v[0], s[1] + v[1]];
            let (a, b) = (crate::mcfa::spread_at(own, &moved), crate::mcfa::spread_at(other, &s));
            assert!((a - b).abs() < 1e-10, "{a} {b}");
        }
    }
}

#[test]
fn columns_that_hardly_anybody_observes_are_less_sure() {
    let mut cells = Vec::new();
    let mut random = Context::new(3).random("rows", [0, 0]);
    for row in 0..300 {
        let s: f64 = StandardNormal.sample(&mut random);
        for d in 0..20 {
            let noise: f64 = StandardNormal.sample(&mut random);
            let seen = if d == 19 { row < 3 } else { random.random::<f64>() < 0.2 };
            // Loadings are from 0.5 to 1.5.
            let x = (0.5 + f64::from(d % 7) / 6.0) * s + 0.5 * noise;
            cells.push(if seen { x } else { f64::NAN });
        }
    }
    let table = Table::from(Dense::new(300, 20, cells).unwrap());
    let plan = Plan { passes: 100, restarts: 1, ..Plan::default() };
    let params = McfaParams::new(1, 1);
    let context = Context::new(0);
    let (model, _) = fit(&params, &table, &plan, &context, &mut Silent).unwrap();
    let covariance = model.covariance().expect("most cells are unknown");
    assert!(covariance[19 * 3] > 3.0 * covariance[0], "{} {}", covariance[19 * 3], covariance[0]);
    // All columns move with the factor, and so, before it is known better, does the last.
    let usual = model.loading()[..19].iter().sum::<f64>() / 19.0;
    let last = model.loading()[19];
    assert!((usual.abs() - 1.0).abs() < 0.2 && (last / usual - 1.0).abs() < 0.5, "{usual} {last}");
    // Whoever asks for shrinkage gets that instead.
    let shrunk = McfaParams { shrinkage: Some(5.0), ..params.clone() };
    let (model, _) = fit(&shrunk, &table, &plan, &context, &mut Silent).unwrap();
    assert!(model.covariance().is_none());
    let both = McfaParams { bayesian: Some(true), ..shrunk };
    assert!(fit(&both, &table, &plan, &context, &mut Silent).is_err());
}

#[test]
fn files_bring_beliefs_back_and_impossible_ones_are_refused() {
    let model = unsure_model(2, [2, 1, 3], 0.1);
    let file = model.to_file(Manifest::new("mcfa"));
    assert_eq!(Mcfa::from_file(file.clone(), "test".as_ref()).unwrap(), model);
    let mut wrong = file.clone();
    let mut covariance = model.covariance().unwrap().to_vec();
    covariance[3] = -1.0;
    wrong.insert("covariance", mereo_core::Tensor::new(vec![2, 3, 3], covariance));
    let problem = Mcfa::from_file(wrong, "test".as_ref()).unwrap_err().to_string();
    assert!(problem.contains("row 1 of `covariance`"), "{problem}");
}
