//! Variational auto-encoders against their theory.

use mereo_core::slots::Survey;
use mereo_core::{
    Asked, Batch, Block, ColumnKind, Context, Descender, Facts, Likelihood, Look, Pass, Plan,
    Prediction, Random, Silent, Table, draw_missing, estimate, predict, reconstruct, sample, score,
    surprise,
};
use mereo_testing::{table, with_holes};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use super::layout::Layout;
use super::learner::VaeLearner;
use super::*;
use crate::describe;
use crate::optimise::Walker;
use crate::units::Units;

fn plan(passes: usize) -> Plan {
    Plan { passes, ..Plan::default() }
}

/// Rows of a linear Gaussian world: `x = Wz + noise`.
fn linear(rows: usize) -> Vec<f64> {
    let mut random = Context::new(5).random("world", [0, 0]);
    let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
    (0..rows)
        .flat_map(|_| {
            let z = normal();
            [2.0 * z + 0.5 * normal(), -z + 0.5 * normal(), 0.5 * z + 0.5 * normal()]
        })
        .collect()
}

fn learner(kind: DecoderKind, variance: Variance, importance: usize) -> VaeLearner {
    let encoder = describe::encoder(Some("dense 6, tanh"), 5, None, (3, 6)).unwrap();
    let decoder = describe::decoder(None, &encoder, 3, 5, None).unwrap();
    let params = VaeParams::new(3);
    let plain = kind == DecoderKind::Bernoulli;
    VaeLearner {
        units: Units {
            centre: if plain { vec![0.5; 5] } else { vec![0.1, -0.2, 0.3, 0.0, 1.0] },
            scale: if plain { vec![1.0; 5] } else { vec![1.0, 2.0, 0.5, 1.5, 1.0] },
        },
        encoder,
        decoder,
        kind,
        layout: None,
        fixed: (variance == Variance::Unit).then(|| vec![0.7; 5]),
        floor: 1e-3,
        binarise: false,
        code: 3,
        draws: if importance > 1 { 1 } else { 2 },
        importance,
        warm: 3,
        pace: params.pace(),
        facts: Facts { weight: 1.0, fingerprint: None },
        seed: 4,
    }
}

#[test]
fn gradients_of_every_bound_are_those_of_finite_differences() {
    let mut random = Context::new(2).random("numbers", [0, 0]);
    for (variance, importance) in
        [(Variance::Learned, 1), (Variance::Unit, 4), (Variance::Learned, 4)]
    {
        let learner = mixed_learner(variance, importance);
        let what = format!("own {variance:?} {importance}");
        slopes_are_right(&learner, &mixed_cells(), &mut random, &what);
    }
    for kind in [DecoderKind::Gaussian, DecoderKind::Bernoulli] {
        for (variance, importance) in [
            (Variance::Learned, 1),
            (Variance::Unit, 1),
            (Variance::Learned, 4),
            (Variance::Unit, 4),
        ] {
            let learner = learner(kind, variance, importance);
            let mut cells: Vec<f64> = (0..15).map(|_| random.random::<f64>() * 2.0 - 1.0).collect();
            if kind == DecoderKind::Bernoulli {
                cells.iter_mut().for_each(|x| *x = f64::from(u8::from(*x > 0.0)));
            }
            cells[3] = f64::NAN;
            let what = format!("{kind:?} {variance:?} {importance}");
            slopes_are_right(&learner, &cells, &mut random, &what);
        }
    }
}

/// A number, a count, three words, a count, yes or no, one word alone, a number.
fn mixed_kinds() -> Vec<ColumnKind> {
    let levels = |all: &[&str]| all.iter().map(|&level| level.to_owned()).collect();
    vec![
        ColumnKind::Number,
        ColumnKind::Count,
        ColumnKind::Category { levels: levels(&["red", "green", "blue"]) },
        ColumnKind::Count,
        ColumnKind::YesNo { levels: levels(&["no", "yes"]) },
        ColumnKind::Category { levels: levels(&["only"]) },
        ColumnKind::Number,
    ]
}

fn mixed_cells() -> Vec<f64> {
    let nan = f64::NAN;
    vec![
        0.4, 3.0, 2.0, 0.0, 1.0, 0.0, -0.7, //
        nan, 1.0, nan, 2.0, 0.0, nan, 0.2, //
        1.1, nan, 0.0, 5.0, nan, 0.0, nan,
    ]
}

fn mixed_learner(variance: Variance, importance: usize) -> VaeLearner {
    let data = table::<f64>(7, &mixed_cells()).with_kinds(mixed_kinds()).unwrap();
    let survey = Survey::of_kinds(&data, &Context::new(0)).unwrap();
    let layout = Layout::of(&survey.typical).unwrap();
    // Two numbers, two counts, three words, one for yes and no, one.
    assert_eq!(layout.width(), 9);
    let encoder = describe::encoder(Some("dense 6, tanh"), 9, None, (3, 6)).unwrap();
    VaeLearner {
        decoder: describe::decoder(None, &encoder, 3, 9, None).unwrap(),
        encoder,
        units: Units::of(&survey, false, false),
        layout: Some(layout),
        fixed: (variance == Variance::Unit).then(|| vec![0.7; 2]),
        ..learner(DecoderKind::Own, variance, importance)
    }
}

fn slopes_are_right(learner: &VaeLearner, cells: &[f64], random: &mut Random, what: &str) {
    let weights = [1.0, 2.0, 0.5];
    let batch = Batch {
        first_row: 0,
        rows: 3,
        columns: cells.len() / 3,
        block: Block::Dense { values: cells, complete: false },
        weights: Some(&weights),
        labels: None,
    };
    // With warm 3 the fourth pass is the first with the whole prior: there slopes are of the bound.
    let pass = Pass { restart: 0, pass: 3 };
    let mut state = Walker::new(
        (0..learner.ends()[2]).map(|_| random.random::<f64>() - 0.5).collect::<Vec<f64>>(),
    );
    let told = |state: &Walker<f64>| {
        let mut slopes = Descender::<f64>::gradient(learner);
        let mut work = Descender::<f64>::workspace(learner);
        learner.accumulate(state, pass, Look::Learn, &batch, &mut work, &mut slopes);
        slopes
    };
    let found = told(&state).gradient;
    let scale = found.iter().fold(1.0f64, |m, g| m.max(g.abs()));
    for at in 0..found.len() {
        let own = state.parameters[at];
        let mut moved = |by: f64| {
            state.parameters[at] = own + by;
            told(&state).bound
        };
        let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        state.parameters[at] = own;
        assert!((slope - found[at]).abs() < 1e-6 * scale, "{what} {at}: {} {slope}", found[at]);
    }
}

#[test]
fn a_linear_world_is_scored_as_its_own_density_scores_it() {
    let cells = linear(1500);
    let data = table::<f64>(3, &cells);
    let params = VaeParams {
        encoder: Some("dense 32, tanh".into()),
        rate: 1e-2,
        schedule: crate::RateSchedule::Cosine,
        ..VaeParams::new(1)
    };
    let (model, training) = fit(&params, &data, &plan(60), &Context::new(1), &mut Silent).unwrap();
    // The density of N(0, WWᵀ + I/4) itself: its mean over rows is minus the entropy, up to the sample.
    let w = [2.0, -1.0, 0.5];
    let square: f64 = w.iter().map(|w| w * w).sum();
    let exact: f64 = cells
        .chunks_exact(3)
        .map(|x| {
            let along: f64 = x.iter().zip(w).map(|(x, w)| x * w).sum();
            let norm: f64 = x.iter().map(|x| x * x).sum();
            let inner = 4.0 * norm - 16.0 * along * along / (1.0 + 4.0 * square);
            let log_det = (1.0 + 4.0 * square).ln() - 3.0 * 4f64.ln();
            -0.5 * (inner + log_det + 3.0 * std::f64::consts::TAU.ln())
        })
        .sum::<f64>()
        / 1500.0;
    let context = Context::new(0);
    let bound = score::<f64>(&model, &data, &context).unwrap().mean;
    let estimated = estimate::<f64>(&model, Likelihood::Importance(500), &data, &context).unwrap();
    let (mean, error) = (estimated.mean, estimated.standard_error.unwrap());
    assert!(bound <= mean + 0.02 && mean < exact + 0.05, "{bound} {mean} {exact}");
    assert!(mean > exact - 0.15, "{mean} against {exact}");
    assert!(error > 0.0 && error < 0.01, "{error}");
    assert!((training.bound_per_row() - bound).abs() < 0.1);
    let prior = estimate::<f64>(&model, Likelihood::Prior(4000), &data, &context).unwrap();
    assert!((prior.mean - mean).abs() < 0.1, "{} {mean}", prior.mean);
    // Samples have the world's moments.
    let drawn = sample(&model, 4000, true, &context).unwrap();
    let moment = |a: usize, b: usize| -> f64 {
        (0..4000).map(|r| drawn.row(r)[a] * drawn.row(r)[b]).sum::<f64>() / 4000.0
    };
    assert!((moment(0, 0) - 4.25).abs() < 0.8, "{}", moment(0, 0));
    assert!((moment(0, 1) + 2.0).abs() < 0.5, "{}", moment(0, 1));
    assert!(estimate::<f64>(&model, Likelihood::Exact, &data, &context).is_err());
}

#[test]
fn hidden_cells_are_filled_by_what_the_others_tell() {
    let cells = linear(1500);
    let holes = with_holes(cells.clone(), 3);
    let data = table::<f64>(3, &holes);
    let params = VaeParams {
        encoder: Some("dense 32, tanh".into()),
        rate: 1e-2,
        importance: 5,
        schedule: crate::RateSchedule::Cosine,
        ..VaeParams::new(1)
    };
    let model = fit(&params, &data, &plan(60), &Context::new(1), &mut Silent).unwrap().0;
    let made = reconstruct::<f64>(&model, &data, &Context::new(0)).unwrap();
    let (mut filled, mut by_mean, mut count) = (0.0, 0.0, 0.0);
    for (at, x) in holes.iter().enumerate().filter(|(at, x)| x.is_nan() && at % 3 == 0) {
        assert!(x.is_nan());
        filled += (made.values()[at] - cells[at]).powi(2);
        by_mean += cells[at].powi(2);
        count += 1.0;
    }
    assert!(count > 30.0);
    // Given the other two, the first column's variance is 4/(1 + 4 · 1.25) + ¼ = 0.92; by its mean 4.25.
    assert!(
        filled / count < 1.5 && by_mean / count > 3.0,
        "{} {}",
        filled / count,
        by_mean / count
    );
}

#[test]
fn more_draws_make_the_bound_tighter() {
    let data = table::<f64>(3, &linear(300));
    let of = |importance: usize| {
        let params = VaeParams { importance, rate: 5e-3, ..VaeParams::new(2) };
        fit(&params, &data, &plan(30), &Context::new(1), &mut Silent).unwrap().1.bound_per_row()
    };
    assert!(of(20) > of(1) - 0.05, "{} {}", of(20), of(1));
}

#[test]
fn grey_cells_are_refused_by_a_bernoulli_or_called_chances() {
    let cells: Vec<f64> = (0..200).map(|i| f64::from(i % 5) / 4.0).collect();
    let data = table::<f64>(4, &cells);
    let params = VaeParams { decoder_kind: DecoderKind::Bernoulli, ..VaeParams::new(2) };
    let error = fit(&params, &data, &plan(2), &Context::new(1), &mut Silent).unwrap_err();
    assert!(error.to_string().contains("binarise"), "{error}");
    let params = VaeParams { binarise: true, ..params };
    let (model, training) = fit(&params, &data, &plan(5), &Context::new(1), &mut Silent).unwrap();
    assert!(training.bound.is_finite());
    let made = sample(&model, 20, true, &Context::new(0)).unwrap();
    assert!(made.values().iter().all(|x| *x == 0.0 || *x == 1.0));
}

/// Two sorts of rows: words, counts and numbers go together.
fn two_sorts(rows: usize) -> (Vec<f64>, Vec<f64>) {
    let mut random = Context::new(8).random("sorts", [0, 0]);
    let (mut whole, mut holes) = (Vec::new(), Vec::new());
    for row in 0..rows {
        let second = random.random::<f64>() < 0.5;
        let mut coin = |p: f64| f64::from(u8::from(random.random::<f64>() < p));
        let own = if second {
            [4.0 + coin(0.5), 9.0 + coin(0.5), 2.0, coin(0.95)]
        } else {
            [-4.0 - coin(0.5), coin(0.5), coin(0.5), coin(0.05)]
        };
        whole.extend(own);
        let hidden = row % 7;
        holes.extend(own.iter().enumerate().map(|(d, &x)| if d == hidden { f64::NAN } else { x }));
    }
    (whole, holes)
}

fn sorts_table(cells: &[f64]) -> Table<f64> {
    let kinds = mixed_kinds();
    let kinds = [0, 1, 2, 4].map(|d| kinds[d].clone()).to_vec();
    table::<f64>(4, cells).with_kinds(kinds).unwrap()
}

#[test]
fn columns_of_every_kind_are_learned_filled_scored_and_sampled() {
    let (whole, holes) = two_sorts(600);
    let data = sorts_table(&holes);
    let params = VaeParams {
        encoder: Some("dense 32, tanh".into()),
        rate: 5e-3,
        schedule: crate::RateSchedule::Cosine,
        ..VaeParams::new(2)
    };
    let context = Context::new(0);
    let (model, _) = fit(&params, &data, &plan(60), &Context::new(1), &mut Silent).unwrap();
    assert_eq!(model.decoder_kind(), DecoderKind::Own);
    // Hidden cells of every column are told by the others.
    let said = predict::<f64>(&model, &data, Asked::Missing, &context).unwrap();
    let made = reconstruct::<f64>(&model, &data, &context).unwrap();
    let (mut right, mut asked) = ([0.0; 4], [0.0; 4]);
    for at in (0..holes.len()).filter(|&at| holes[at].is_nan()) {
        let (row, d) = (at / 4, at % 4);
        let near = match said.cell(row, d).unwrap() {
            Prediction::Number { mean, deviation } => {
                let off = (made.row(row)[d] - mean).abs();
                assert!(deviation > 0.0 && off < 1e-6 * (1.0 + mean.abs()), "{off}");
                (mean - whole[at]).abs() < 2.0
            }
            Prediction::Levels(p) => {
                assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9);
                assert_eq!(made.row(row)[d], Prediction::Levels(p).value());
                let last = p.len() - 1;
                (whole[at] == last as f64) == (p[last] > 0.5)
            }
        };
        asked[d] += 1.0;
        right[d] += f64::from(u8::from(near));
    }
    for d in 0..4 {
        let (right, asked) = (right[d], asked[d]);
        assert!(asked > 60.0 && right / asked > 0.85, "{d}: {right} of {asked}");
    }
    let truth = sorts_table(&whole);
    let bound = score::<f64>(&model, &truth, &context).unwrap().mean;
    let estimated = estimate::<f64>(&model, Likelihood::Importance(300), &truth, &context).unwrap();
    assert!(bound <= estimated.mean + 0.05, "{bound} {}", estimated.mean);
    // The columns each for itself: -log 2 for the yes and no alone, and more than a nat for the words.
    assert!(estimated.mean > -6.0, "{}", estimated.mean);
    // New rows are of both sorts, and words go with numbers.
    let drawn = sample(&model, 400, true, &context).unwrap();
    assert!(Table::from(drawn.clone()).with_kinds(data.about().kinds.clone().unwrap()).is_ok());
    let fits = (0..400).filter(|&r| (drawn.row(r)[0] > 0.0) == (drawn.row(r)[2] == 2.0)).count();
    let second = (0..400).filter(|&r| drawn.row(r)[0] > 0.0).count();
    assert!(fits > 320 && (100..300).contains(&second), "{fits} {second}");
    // A count that does not go with the rest of its row is surprising.
    let odd = sorts_table(&[4.0, 9.0, 2.0, 1.0, 4.0, 0.0, 2.0, 1.0]);
    let cells = surprise::<f64>(&model, &odd, &context).unwrap();
    assert!(cells[5] > cells[1] + 2.0, "{cells:?}");
    let complete = draw_missing::<f64>(&model, &data, 0, &context).unwrap();
    assert!(complete.values().iter().all(|x| x.is_finite()));
}

#[test]
fn a_file_brings_columns_of_every_kind_back() {
    use mereo_core::{Manifest, Model};
    let data = table::<f32>(7, &mixed_cells()).with_kinds(mixed_kinds()).unwrap();
    let params = VaeParams::default();
    let model = fit(&params, &data, &plan(3), &Context::new(1), &mut Silent).unwrap().0;
    assert_eq!(model.code(), 2);
    let path = std::path::Path::new("a file");
    let file = model.to_file(Manifest::new(Vae::KIND));
    assert_eq!(Vae::from_file(file, path).unwrap(), model);
    let mut wrong = model.to_file(Manifest::new(Vae::KIND));
    let levels = wrong.get("share").unwrap().values.len();
    wrong.insert("share", mereo_core::Tensor::new(vec![levels], vec![0.9; levels]));
    let error = Vae::from_file(wrong, path).unwrap_err().to_string();
    assert!(error.contains("`share` adds up to"), "{error}");
}
