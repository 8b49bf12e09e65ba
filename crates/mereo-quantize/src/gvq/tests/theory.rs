//! What the mathematics says must hold.

use mereo_core::{
    Cells, Context, Dense, Facts, Learner, Manifest, Plan, Silent, Statistics, Table, encode,
    reconstruct, score,
};

use super::super::binary::WARM_PASSES;
use super::super::learner::{GvqLearner, Units};
use super::*;
use crate::fixture::Fixture;
use crate::{Association, VqParams, vq};
use mereo_core::math::Array;

fn model_of(feature: &[f64], origin: &[f64], n: usize, penalty: f64) -> Gvq {
    let params = GvqParams { penalty, ..GvqParams::new(n) };
    let feature = Array::new([1, n, origin.len()], feature.to_vec());
    Gvq::new(feature, Array::new([1, origin.len()], origin.to_vec()), &params)
}

#[test]
fn an_iteration_agrees_with_an_independent_implementation() {
    let fixture = Fixture::open("gvq_mstep.json");
    let across = |name: &str| -> Vec<f64> {
        let f = fixture.get(name);
        (0..35).map(|p| f[p % 7 * 5 + p / 7]).collect()
    };
    let lambda = fixture.get("it_lam")[0];
    let table = Table::from(Dense::new(60, 7, fixture.get("X")).unwrap());
    let model = model_of(&across("it_F0"), &fixture.get("it_o0"), 5, lambda);
    let params = GvqParams { penalty: lambda, ..GvqParams::new(5) };
    let units = Units { centre: vec![0.0; 7], scale: 1.0 };
    let learner = GvqLearner {
        params: params.clone(),
        units,
        facts: Facts::default(),
        holes: false,
        scouting: false,
    };
    let mut state = super::super::learner::State {
        feature: Array::new([1, 5, 7], across("it_F0")),
        origin: Array::new([1, 7], fixture.get("it_o0")),
        unused: false,
        reseeds: 0,
    };
    let pass = mereo_core::Pass { restart: 0, pass: 0 };
    let (mut statistics, mut work) = (learner.statistics(), learner.workspace());
    let mut history = Vec::new();
    for turn in 0..10 {
        let prepared = learner.prepare(&state, pass);
        statistics.reset();
        let mut lane = mereo_core::Source::<f64>::lane(&table, 0..1).unwrap();
        let batch = lane.next_batch().unwrap().unwrap();
        learner.accumulate(&prepared, &batch, &mut work, &mut statistics);
        if turn == 0 {
            model.for_each_state(&batch, |row, set, state| {
                assert_eq!((set, state), (0, fixture.get("it_codes")[row] as u64), "row {row}");
            });
            let sum: f64 = fixture.get("it_assoc_energy").iter().sum();
            assert!((statistics.energy() - sum).abs() < 1e-8 * sum);
        }
        learner.update(&mut state, &statistics, pass);
        // The objective after the M-step, at the states of the E-step.
        let after = learner.prepare(&state, pass);
        let mut squares = 0.0;
        let mut look = vec![0.0; 7];
        for (row, (set, code)) in
            statistics_states(&prepared, &batch, lambda).into_iter().enumerate()
        {
            after.sets.sum(set, code, &mut look);
            let x = &fixture.get("X")[row * 7..(row + 1) * 7];
            squares += x.iter().zip(&look).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
            squares += lambda * f64::from(code.count_ones());
        }
        history.push(squares);
        if turn == 0 {
            for (a, b) in state.feature.iter().zip(across("it_F1")) {
                assert!((a - b).abs() < 1e-6, "{a} {b}");
            }
            for (a, b) in state.origin.iter().zip(fixture.get("it_o1")) {
                assert!((a - b).abs() < 1e-6, "{a} {b}");
            }
        }
    }
    for (a, b) in history.iter().zip(fixture.get("it_obj_history")) {
        assert!((a - b).abs() < 1e-7 * b, "{history:?}");
    }
}

/// The states of rows at prepared features.
fn statistics_states(
    prepared: &super::super::learner::Prepared<f64>,
    batch: &mereo_core::Batch<'_, f64>,
    penalty: f64,
) -> Vec<(usize, u64)> {
    let sets = &prepared.sets;
    let model = model_of(&sets.feature, &sets.origin, sets.features(), penalty);
    let mut out = Vec::new();
    model.for_each_state(batch, |_, set, state| out.push((set, state)));
    out
}

#[test]
fn the_bound_never_falls() {
    fn check<T: Real>(name: &str, params: &GvqParams, table: &Table<T>, slack: f64) {
        for seed in 0..3 {
            let plan = Plan { tolerance: 0.0, passes: 30, restarts: 2, ..Plan::default() };
            let (_, training) =
                fit(params, table, &plan, &Context::new(seed), &mut Silent).unwrap();
            // Binary data is learned warm at first.
            let settled = params.beta.map_or(0, |_| WARM_PASSES);
            for restart in &training.restarts {
                assert!(restart.bounds.len() > settled + 1, "{name}: {:?}", restart.bounds);
                for pair in restart.bounds[settled..].windows(2) {
                    let fall = pair[0] - pair[1];
                    assert!(fall <= slack * (1.0 + pair[0].abs()), "{name}: {pair:?}");
                }
            }
        }
    }
    let (wide, _) = planted::<f64>(300, 5, 9, 0.3, 1);
    let (narrow, _) = planted::<f32>(300, 5, 9, 0.3, 1);
    let plain = GvqParams { scouts: 2, ..GvqParams::new(6) };
    check("plain", &plain, &wide, 1e-10);
    check("f32", &plain, &narrow, 1e-5);
    check("penalty", &GvqParams { penalty: 0.7, ..plain.clone() }, &wide, 1e-10);
    check("sets", &GvqParams { sets: 3, features: 2, ..plain.clone() }, &wide, 1e-10);
    check("holes", &plain, &with_holes(&wide, 0.3, 1), 1e-10);
    check("many", &GvqParams { features: 14, ..plain.clone() }, &wide, 1e-10);
    let binary = binary_rows(200, 1);
    let params = GvqParams { beta: Some(4.5), sets: 2, features: 3, ..plain };
    check("binary", &params, &binary, 1e-9);
    check("binary with holes", &params, &with_holes(&binary, 0.2, 1), 1e-9);
}

/// Rows of 0 and 1 made of strokes, some of them flipped.
fn binary_rows(rows: usize, seed: u64) -> Table<f64> {
    let mut random = Context::new(seed).random("binary", [0, 0]);
    let mut values = Vec::new();
    for _ in 0..rows {
        let state: Vec<bool> = (0..3).map(|_| random.random()).collect();
        for c in 0..12 {
            let on = state[c / 4] || c == 0;
            let flipped = random.random::<f64>() < 0.03;
            values.push(f64::from(u8::from(on != flipped)));
        }
    }
    Table::from(Dense::new(rows, 12, values).unwrap())
}

#[test]
fn binary_features_are_found() {
    let table = binary_rows(400, 2);
    let params = GvqParams { beta: Some(4.5), ..GvqParams::new(3) };
    let (model, _) = learned(&params, &table, 0).unwrap();
    // Only the flips are left to explain, and codes are nearly 0 or 1.
    assert!(model.variance().unwrap() < 0.045, "{:?}", model.variance());
    let codes = reconstruct::<f64>(&model, &table, &Context::new(0)).unwrap();
    assert!(codes.values().iter().all(|v| !(0.15..0.85).contains(v)));
    assert!(model.feature().iter().all(|f| (0.0..=1.0).contains(f)));
}

#[test]
fn planted_features_are_found() {
    let mut found = 0;
    for seed in 0..20 {
        let (table, truth) = planted::<f64>(800, 8, 16, 0.3, seed);
        let (model, _) = learned(&GvqParams::new(8), &table, seed).unwrap();
        found += usize::from(model.variance().unwrap() <= 1.02 * truth);
    }
    assert!(found >= 19, "{found} of 20");
}

#[test]
fn planted_features_are_found_in_half_the_cells() {
    let (table, truth) = planted::<f64>(800, 4, 12, 0.2, 3);
    let (model, _) = learned(&GvqParams::new(4), &with_holes(&table, 0.5, 3), 0).unwrap();
    assert!(model.variance().unwrap() <= 1.1 * truth, "{:?} {truth}", model.variance());
}

#[test]
fn sets_of_one_feature_are_vector_quantisation() {
    let (table, _) = planted::<f64>(300, 4, 3, 0.5, 4);
    let params = GvqParams { sets: 4, ..GvqParams::new(1) };
    let plan = Plan { tolerance: 0.0, passes: 200, ..Plan::default() };
    let (model, _) = fit(&params, &table, &plan, &Context::new(0), &mut Silent).unwrap();
    // An origin with and without its feature: 8 codes, each the mean of the rows nearest to it.
    let codes: Vec<Vec<f64>> = (0..8).map(|k| model.appearance(k / 2, (k % 2) as u64)).collect();
    let Cells::Dense(cells) = table.cells() else { panic!("not dense") };
    let mut sums = vec![(0.0, vec![0.0; 3]); 8];
    let mut squares = 0.0;
    for r in 0..300 {
        let apart = |code: &Vec<f64>| -> f64 {
            code.iter().zip(cells.row(r)).map(|(a, b)| (a - b).powi(2)).sum()
        };
        let nearest = (0..8).min_by(|&a, &b| apart(&codes[a]).total_cmp(&apart(&codes[b])));
        let nearest = nearest.unwrap();
        squares += apart(&codes[nearest]);
        sums[nearest].0 += 1.0;
        sums[nearest].1.iter_mut().zip(cells.row(r)).for_each(|(s, x)| *s += x);
    }
    for (code, (count, sum)) in codes.iter().zip(&sums) {
        for (c, s) in code.iter().zip(sum) {
            assert!(*count == 0.0 || (c - s / count).abs() < 1e-9);
        }
    }
    // And it is as good as k-means with as many means.
    let plan = Plan { restarts: 10, ..Plan::default() };
    let (means, _) =
        vq::fit(&VqParams::new(8), &table, &plan, &Context::new(0), &mut Silent).unwrap();
    assert!(squares / 900.0 < 1.1 * means.variance(), "{} {}", squares / 900.0, means.variance());
}

#[test]
fn a_large_penalty_switches_everything_off() {
    let (table, _) = planted::<f64>(100, 3, 4, 0.3, 5);
    let sparse = GvqParams { penalty: 1e6, ..GvqParams::new(3) };
    let (model, _) = learned(&sparse, &table, 0).unwrap();
    let codes = encode::<f64>(&model, &table, &Context::new(0)).unwrap();
    assert!(codes.values().iter().all(|&s| s == 0.0));
    let moderate = |penalty: f64| {
        let (model, _) = learned(&GvqParams { penalty, ..GvqParams::new(3) }, &table, 0).unwrap();
        encode::<f64>(&model, &table, &Context::new(0)).unwrap().values().iter().sum::<f64>()
    };
    assert!(moderate(0.5) <= moderate(0.0));
}

#[test]
fn a_masked_cell_equals_a_column_less() {
    let (table, _) = planted::<f64>(40, 4, 6, 0.3, 6);
    let (model, _) = learned(&GvqParams::new(4), &table, 0).unwrap();
    // Without its last column the model is another, of which the masked rows know nothing else.
    let cut =
        |v: &[f64]| -> Vec<f64> { v.chunks(6).flat_map(|row| row[..5].iter().copied()).collect() };
    let small = model_of(&cut(model.feature()), &cut(model.origin()), 4, 0.0);
    let Cells::Dense(cells) = table.cells() else { panic!("not dense") };
    let masked: Vec<f64> = cells
        .values()
        .chunks(6)
        .flat_map(|row| row[..5].iter().copied().chain(std::iter::once(f64::NAN)))
        .collect();
    let masked = Table::from(Dense::new(40, 6, masked).unwrap());
    let narrow = Table::from(Dense::new(40, 5, cut(cells.values())).unwrap());
    let context = Context::new(0);
    for association in Association::NAMES.map(|name| name.parse::<Association>().unwrap()) {
        let of = |model: &Gvq, table: &Table<f64>| {
            let model = model.clone().with_association(association).unwrap();
            encode::<f64>(&model, table, &context).unwrap()
        };
        assert_eq!(of(&model, &masked), of(&small, &narrow), "{association:?}");
    }
}

#[test]
fn weight_two_equals_the_row_twice() {
    let (table, _) = planted::<f64>(60, 3, 5, 0.3, 7);
    let twice: Vec<usize> = (0..60).flat_map(|r| std::iter::repeat_n(r, 1 + r % 3)).collect();
    let weights = (0..60).map(|r| f64::from(1 + r % 3)).collect();
    let weighted = table.clone().with_weights(weights).unwrap();
    let repeated = table.select_rows(&twice);
    // From the same features a pass tells the same.
    let params = GvqParams::new(3);
    let told = |table: &Table<f64>| {
        let units = Units { centre: vec![0.0; 5], scale: 1.0 };
        let learner = GvqLearner {
            params: params.clone(),
            units,
            facts: Facts::default(),
            holes: false,
            scouting: false,
        };
        let mut state = super::super::learner::State {
            feature: Array::new([1, 3, 5], (0..15).map(|i| f64::from(i * 7 % 5) - 2.0).collect()),
            origin: Array::new([1, 5], vec![0.5; 5]),
            unused: false,
            reseeds: 0,
        };
        let (mut statistics, mut work) = (learner.statistics(), learner.workspace());
        let pass = mereo_core::Pass { restart: 0, pass: 0 };
        let prepared = learner.prepare(&state, pass);
        let mut lane = mereo_core::Source::<f64>::lane(table, 0..1).unwrap();
        let batch = lane.next_batch().unwrap().unwrap();
        learner.accumulate(&prepared, &batch, &mut work, &mut statistics);
        let bound = Learner::<f64>::bound(&learner, &statistics);
        learner.update(&mut state, &statistics, pass);
        (bound, state)
    };
    let ((a, x), (b, y)) = (told(&weighted), told(&repeated));
    assert!((a - b).abs() < 1e-9 * a.abs());
    for (a, b) in x.feature.iter().chain(&*x.origin).zip(y.feature.iter().chain(&*y.origin)) {
        assert!((a - b).abs() < 1e-9);
    }
    // And rows of weight 0 are not there.
    let some = (0..60).map(|r| f64::from(u8::from(r % 2 == 0))).collect();
    let half: Vec<usize> = (0..60).step_by(2).collect();
    let (a, _) = learned(&params, &table.clone().with_weights(some).unwrap(), 0).unwrap();
    let (b, _) = learned(&params, &table.select_rows(&half), 0).unwrap();
    assert!((a.variance().unwrap() - b.variance().unwrap()).abs() < 1e-9);
}

#[test]
fn an_offset_of_a_million_changes_nothing() {
    let (table, _) = planted::<f64>(200, 3, 5, 0.2, 8);
    let Cells::Dense(cells) = table.cells() else { panic!("not dense") };
    let (model, _) = learned(&GvqParams::new(3), &table, 0).unwrap();
    let context = Context::new(0);
    let codes = encode::<f64>(&model, &table, &context).unwrap();
    for (offset, scale) in [(1e6, 1.0), (0.0, 1e-30), (0.0, 1e30)] {
        let values = cells.values().iter().map(|x| x * scale + offset).collect();
        let moved = Table::from(Dense::new(200, 5, values).unwrap());
        let (other, _) = learned(&GvqParams::new(3), &moved, 0).unwrap();
        for (a, b) in model.feature().iter().zip(other.feature()) {
            assert!((a - b / scale).abs() < 1e-7, "{offset} {scale}: {a} {b}");
        }
        for (a, b) in model.origin().iter().zip(other.origin()) {
            assert!((a - (b - offset) / scale).abs() < 1e-7, "{offset} {scale}: {a} {b}");
        }
        assert_eq!(encode::<f64>(&other, &moved, &context).unwrap(), codes, "{offset} {scale}");
    }
}

#[test]
fn exact_explanations_are_the_best_of_all_sets_and_states() {
    let mut random = Context::new(20).random("test", [0, 0]);
    for trial in 0..1000 {
        let sets = random.random_range(1..=4);
        // More than are enumerated, so that the sphere decoder has its share.
        let n = random.random_range(1..=if trial % 50 == 0 { 15 } else { 11 });
        let d = random.random_range(1..=12);
        let mean = [0.0, 2.0, 5.0][trial % 3];
        let params =
            GvqParams { sets, penalty: [0.0, 0.3, 8.0][trial / 3 % 3], ..GvqParams::new(n) };
        let feature: Vec<f64> = (0..sets * n * d).map(|_| mean + normal(&mut random)).collect();
        let origin: Vec<f64> = (0..sets * d).map(|_| normal(&mut random)).collect();
        let d = origin.len() / sets;
        let (feature, origin) = (Array::new([sets, n, d], feature), Array::new([sets, d], origin));
        let model = Gvq::new(feature, origin, &params);
        let made = model.appearance(random.random_range(0..sets), random.random_range(0..1 << n));
        let mut row: Vec<f64> = made.iter().map(|x| x + 0.5 * normal(&mut random)).collect();
        if trial % 4 == 0 {
            row.iter_mut().filter(|_| random.random::<f64>() < 0.3).for_each(|x| *x = f64::NAN);
        }
        let energy = |set: usize, state: u64| {
            let look = model.appearance(set, state);
            let seen = row.iter().zip(&look).filter(|(x, _)| !x.is_nan());
            seen.map(|(x, y)| (x - y).powi(2)).sum::<f64>()
                + params.penalty * f64::from(state.count_ones())
        };
        let all = (0..sets).flat_map(|set| (0..1u64 << n).map(move |state| (set, state)));
        let best = all.map(|(set, state)| energy(set, state)).fold(f64::INFINITY, f64::min);
        let table = Table::from(Dense::new(1, d, row.clone()).unwrap());
        for association in [Association::Exact, Association::Auto] {
            let model = model.clone().with_association(association).unwrap();
            let code = encode::<f64>(&model, &table, &Context::new(0)).unwrap();
            let set = code.row(0)[sets * n] as usize;
            let bits = code.row(0)[set * n..(set + 1) * n].iter().enumerate();
            let state = bits.fold(0, |state, (i, &s)| state | u64::from(s == 1.0) << i);
            let found = energy(set, state);
            assert!(found <= best + 1e-8 * (1.0 + best), "trial {trial}: {found} {best}");
        }
    }
}

#[test]
fn the_same_bytes_on_any_number_of_threads() {
    let (table, _) = planted::<f32>(3000, 4, 300, 0.3, 9);
    let holes = with_holes(&table, 0.01, 9);
    let params = GvqParams { sets: 2, scouts: 3, ..GvqParams::new(4) };
    let bytes = |threads: usize, table: &Table<f32>| {
        let context = Context::new(3).with_threads(threads).unwrap();
        let plan = Plan { passes: 5, ..Plan::default() };
        let (model, training) = fit(&params, table, &plan, &context, &mut Silent).unwrap();
        let manifest = Manifest { training: Some(training), ..Manifest::new("gvq") };
        model.to_file(manifest).to_bytes().unwrap()
    };
    for table in [&table, &holes] {
        let one = bytes(1, table);
        assert!(one == bytes(2, table) && one == bytes(7, table));
    }
}

#[test]
fn scores_lie_above_the_learned_bound() {
    let (table, _) = planted::<f64>(400, 4, 6, 0.3, 11);
    for params in [GvqParams::new(4), GvqParams { penalty: 0.5, sets: 2, ..GvqParams::new(3) }] {
        let (model, training) = learned(&params, &table, 0).unwrap();
        let scores = score::<f64>(&model, &table, &Context::new(0)).unwrap();
        assert!(scores.mean >= training.bound / 400.0 - 1e-3, "{} {}", scores.mean, training.bound);
    }
}
