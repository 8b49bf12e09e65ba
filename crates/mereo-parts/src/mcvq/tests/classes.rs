//! The class layer against an independent implementation, enumeration and its theory.

use mereo_core::{Absent, Classify, Likelihood, ModelFile, Real, classify};
use rand_distr::StandardNormal;

use super::*;
use crate::Classes;
use crate::classes::{ClassLayer, ClassPlan};
use crate::fixtures::sparse;

fn labels_of(of_row: Vec<Option<u32>>, classes: usize) -> mereo_core::Labels {
    mereo_core::Labels { names: (0..classes).map(|n| format!("c{n}")).collect(), of_row }
}

#[test]
fn labelled_classes_agree_with_the_reference_implementation() {
    let fixture = Fixture::open("hier_sup");
    let of_row = fixture.get("/inputs/y").iter().map(|&y| Some(y as u32)).collect();
    let table = Table::from(Dense::new(24, 10, fixture.get("/inputs/X")).unwrap())
        .with_labels(labels_of(of_row, 2))
        .unwrap();
    let context = Context::new(0);
    let survey = Survey::of(&table, &context).unwrap();
    let params = McvqParams::new(3, 3);
    let starts = McvqStarts { params: &params, survey: &survey };
    let layer = ClassLayer {
        prior: fixture.get("/inputs/beta"),
        class_state_prior: fixture.get("/inputs/b"),
    };
    let begin = State {
        gate: fixture.get("/inputs/g"),
        state_prior: layer.marginal(),
        mean: fixture.get("/inputs/mu"),
        variance: fixture.get("/inputs/var"),
        level: Vec::new(),
        observed: Vec::new(),
        reseeds: 0,
        classes: Some(layer),
    };
    let start = |_: usize| Ok(Start { state: begin.clone(), how: "given".into() });
    let learner = McvqLearner {
        reference: vec![1.0; 10],
        reseed: false,
        classes: Some(ClassPlan { classes: 2, labelled: true, pseudo_count: 0.0 }),
        ..starts.learner(Gate::Standard, Schedule::constant(1e-3))
    };
    for passes in [1, 2, 10] {
        let plan = Plan { passes, tolerance: 0.0, ..Plan::default() };
        let state = learn(&learner, start, &table, &plan, &context, &mut Silent).unwrap().state;
        let at = |what: &str| fixture.get(&format!("/outputs/{passes}/{what}"));
        let layer = state.classes.unwrap();
        close(&state.mean, &at("mu"), "mu");
        close(&state.variance, &at("var"), "var");
        close(&state.gate, &at("g"), "g");
        close(&layer.class_state_prior, &at("b"), "b");
        close(&layer.prior, &at("beta"), "beta");
    }
}

/// Four parts of four columns and six states; each class has two favourite states in each part,
/// which it shows with probability `faithful`.
pub(super) fn planted<T: Real>(rows: usize, classes: usize, faithful: f64, seed: u64) -> Table<T> {
    planted_with(rows, classes, 2, faithful, seed)
}

/// The same with so many favourites. With one, a class fixes nearly every part, and all columns go
/// together: there is next to nothing to tell parts from.
fn planted_with<T: Real>(
    rows: usize,
    classes: usize,
    favourites: usize,
    faithful: f64,
    seed: u64,
) -> Table<T> {
    let mut random = Context::new(seed).random("planted classes", [0, 0]);
    let (mut cells, mut of_row) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let class = random.random_range(0..classes);
        let shown: Vec<usize> = (0..4)
            .map(|part| {
                let favourite = (2 * class + random.random_range(0..favourites) + part) % 6;
                if random.random::<f64>() < faithful {
                    favourite
                } else {
                    random.random_range(0..6)
                }
            })
            .collect();
        for column in 0..16 {
            let look = ((shown[column / 4] * (column % 4 + 2)) % 7) as f64;
            let noise: f64 = random.sample(StandardNormal);
            cells.push(T::from_f64(look + 0.2 * noise));
        }
        of_row.push(Some(class as u32));
    }
    let table = Table::from(Dense::new(rows, 16, cells).unwrap());
    table.with_labels(labels_of(of_row, classes)).unwrap()
}

pub(super) fn with_classes(classes: Classes) -> McvqParams {
    McvqParams { classes, scouts: 6, ..McvqParams::new(4, 6) }
}

fn accuracy(model: &Mcvq, table: &Table<f64>) -> f64 {
    let found = classify::<f64>(model, Likelihood::Bound, table, &Context::new(0)).unwrap();
    let truth = &table.about().labels.as_ref().unwrap().of_row;
    let right = (0..table.rows()).filter(|&row| {
        let of_row = found.row(row);
        let best = (0..of_row.len()).fold(0, |b, n| if of_row[n] > of_row[b] { n } else { b });
        Some(best as u32) == truth[row]
    });
    right.count() as f64 / table.rows() as f64
}

/// The adjusted Rand index of the most likely classes and the labels.
fn agreement(model: &Mcvq, table: &Table<f64>) -> f64 {
    let found = classify::<f64>(model, Likelihood::Bound, table, &Context::new(0)).unwrap();
    let truth = &table.about().labels.as_ref().unwrap().of_row;
    let mut counts = vec![vec![0; 8]; found.columns()];
    for (row, label) in truth.iter().enumerate() {
        let of_row = found.row(row);
        let best = (0..of_row.len()).fold(0, |b, n| if of_row[n] > of_row[b] { n } else { b });
        counts[best][label.unwrap() as usize] += 1;
    }
    mereo_core::math::adjusted_rand_index(&counts)
}

fn learned(params: &McvqParams, table: &Table<f64>, seed: u64) -> Mcvq {
    let plan = Plan { restarts: 2, ..Plan::default() };
    fit(params, table, &plan, &Context::new(seed), &mut Silent).unwrap().0
}

#[test]
fn learned_classes_are_the_planted_ones_whatever_the_seed() {
    for favourites in [1, 2] {
        let table = planted_with::<f64>(600, 3, favourites, 0.9, 3);
        let params = with_classes(Classes::Learned(3));
        let found: Vec<f64> =
            (0..6).map(|seed| agreement(&learned(&params, &table, seed), &table)).collect();
        let low = found.iter().copied().fold(f64::INFINITY, f64::min);
        let high = found.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert!(high - low <= 0.02 && low > 0.9, "{favourites} favourites: {found:?}");
    }
}

#[test]
fn a_few_labels_name_the_classes() {
    let whole = planted::<f64>(600, 3, 0.8, 5);
    let full = whole.about().labels.clone().unwrap();
    let few: Vec<Option<u32>> =
        full.of_row.iter().enumerate().map(|(r, l)| l.filter(|_| r < 30)).collect();
    let some = whole.clone().with_labels(labels_of(few, 3)).unwrap();
    let alone = whole.select_rows(&(0..30).collect::<Vec<_>>());
    let params = with_classes(Classes::Labels);
    let test = planted::<f64>(2000, 3, 0.8, 6);
    let [labelled, few, fewest] =
        [&whole, &some, &alone].map(|table| accuracy(&learned(&params, table, 1), &test));
    assert!(labelled > 0.9 && few > labelled - 0.05, "{labelled} {few} {fewest}");
    assert!(few > fewest, "unlabelled rows help: {few} {fewest}");
}

/// A class model of random numbers.
pub(super) fn random_class_model(
    seed: u64,
    classes: usize,
    [parts, states, columns]: [usize; 3],
) -> Mcvq {
    let mut state = random_state_of(&random_model(seed, parts, states, columns));
    let priors: Vec<f64> = (0..classes)
        .flat_map(|n| {
            random_state_of(&random_model(seed * 31 + n as u64 + 1, parts, states, 1)).state_prior
        })
        .collect();
    let prior = random_state_of(&random_model(seed + 77, 1, classes, 1)).state_prior;
    state.classes = Some(ClassLayer { prior, class_state_prior: priors });
    Mcvq::from_state(state, parts, states)
}

/// The model of one class alone.
pub(super) fn one_class(model: &Mcvq, class: usize) -> Mcvq {
    model.hybrid(&vec![vec![(class, 1.0)]; model.parts().parts]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn classes_follow_from_the_bounds_of_each(seed in 0u64..1000, missing in 0.0f64..0.9) {
        let model = random_class_model(seed, 3, [2, 3, 5]);
        let table = small_table(seed, 6, 5, missing);
        let context = Context::new(0);
        let prior = model.class_view().unwrap().prior.to_vec();
        let by_class: Vec<Vec<f64>> = (0..3)
            .map(|n| score::<f64>(&one_class(&model, n), &table, &context).unwrap().rows)
            .collect();
        let found = classify::<f64>(&model, Likelihood::Bound, &table, &context).unwrap();
        let scores = score::<f64>(&model, &table, &context).unwrap();
        for row in 0..6 {
            let mut logs: Vec<f64> = (0..3).map(|n| prior[n].ln() + by_class[n][row]).collect();
            let total = mereo_core::math::softmax(&mut logs);
            prop_assert!((scores.rows[row] - total).abs() < 1e-9 * (1.0 + total.abs()));
            for (found, expected) in found.row(row).iter().zip(&logs) {
                prop_assert!((found - expected).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn the_bound_with_classes_never_falls(
        seed in 0u64..1000,
        missing in 0.0f64..0.7,
        labelled in 0.0f64..1.0,
        pseudo_count in prop_oneof![Just(0.0), Just(0.5)],
    ) {
        let mut random = Context::new(seed).random("labels", [0, 0]);
        let of_row = (0..40)
            .map(|_| (random.random::<f64>() < labelled).then(|| random.random_range(0..3)))
            .collect();
        let table = small_table(seed, 40, 8, missing).with_labels(labels_of(of_row, 3)).unwrap();
        let context = Context::new(seed);
        let params = McvqParams::new(3, 3);
        let survey = Survey::of(&table, &context).unwrap();
        let starts = McvqStarts { params: &params, survey: &survey };
        let layer = random_class_model(seed, 3, [3, 3, 1]).class_view().map(|view| {
            ClassLayer { prior: view.prior.to_vec(), class_state_prior: view.class_state_prior.to_vec() }
        });
        let start = |restart: usize| {
            let mut start = seeded(&starts, starts.survey, &sample(&table, &survey.form, &context)?, restart, &context)?;
            start.state.classes = layer.clone();
            Ok(start)
        };
        let learner = McvqLearner {
            reseed: false,
            classes: Some(ClassPlan { classes: 3, labelled: true, pseudo_count }),
            ..starts.learner(Gate::Standard, Schedule::constant(0.01))
        };
        let plan = Plan { passes: 25, tolerance: 0.0, ..Plan::default() };
        let learned = learn(&learner, start, &table, &plan, &context, &mut Silent).unwrap();
        let bounds = &learned.training.restarts[0].bounds;
        for pair in bounds.windows(2) {
            prop_assert!(pair[1] >= pair[0] - 1e-8 * (1.0 + pair[0].abs()), "{bounds:?}");
        }
    }
}

#[test]
fn without_labels_one_class_is_none() {
    let table = planted::<f64>(200, 3, 0.8, 2);
    let learned = |classes| {
        learned(&McvqParams { class_pseudo_count: 0.0, ..with_classes(classes) }, &table, 0)
    };
    let (none, one) = (learned(Classes::None), learned(Classes::Learned(1)));
    let score = |model: &Mcvq| score::<f64>(model, &table, &Context::new(0)).unwrap().mean;
    assert!((score(&none) - score(&one)).abs() < 1e-3, "{} {}", score(&none), score(&one));
}

#[test]
fn weights_threads_and_files_keep_classes() {
    let table = planted::<f64>(150, 3, 0.8, 2);
    let params = with_classes(Classes::Labels);
    let plan = Plan { passes: 30, ..Plan::default() };
    let mut twice: Vec<usize> = (0..150).collect();
    twice.extend(0..50);
    let weights = (0..150).map(|r| if r < 50 { 2.0 } else { 1.0 }).collect();
    let weighted = table.clone().with_weights(weights).unwrap();
    // The same start for both, as which rows start a model depends on how they are stored.
    let context = Context::new(0);
    let fit_on = |table: &Table<f64>, context: &Context| {
        fit(&params, table, &plan, context, &mut Silent).unwrap().0
    };
    let (a, b) = (fit_on(&weighted, &context), fit_on(&table.select_rows(&twice), &context));
    let (a, b) = (accuracy(&a, &table), accuracy(&b, &table));
    assert!((a - b).abs() < 0.05, "{a} {b}");
    let bytes = |threads: usize, classes: Classes| {
        let context = Context::new(4).with_threads(threads).unwrap();
        let params = with_classes(classes);
        let (model, _) = fit(&params, &table, &plan, &context, &mut Silent).unwrap();
        model
            .to_file(mereo_core::Manifest::new(<Mcvq as mereo_core::Model>::KIND))
            .to_bytes()
            .unwrap()
    };
    for classes in [Classes::Labels, Classes::Learned(3)] {
        let one = bytes(1, classes);
        assert!(one == bytes(2, classes) && one == bytes(7, classes));
        let file = ModelFile::from_bytes(&one, "x".as_ref()).unwrap();
        let model = Mcvq::from_file(file, "x".as_ref()).unwrap();
        assert_eq!(Classify::<f64>::classes(&model), 3);
        assert_eq!(
            model
                .to_file(mereo_core::Manifest::new(<Mcvq as mereo_core::Model>::KIND))
                .to_bytes()
                .unwrap(),
            one
        );
    }
}

#[test]
fn sparse_rows_learn_classes_as_dense_ones() {
    let of_row = (0..40).map(|row| (row % 4 > 0).then_some(row % 3)).collect();
    let dense = small_table(7, 40, 8, 0.4).with_labels(labels_of(of_row, 3)).unwrap();
    let labels = dense.about().labels.clone().unwrap();
    let stored = sparse(&dense, Absent::Unobserved).with_labels(labels).unwrap();
    let context = Context::new(7);
    let mut begin = random_state_of(&random_model(7, 3, 3, 8));
    begin.classes = Some(ClassLayer::alike(3, &begin.state_prior));
    let learned = |table: &Table<f64>| {
        let survey = Survey::of(table, &context).unwrap();
        let params = McvqParams::new(3, 3);
        let starts = McvqStarts { params: &params, survey: &survey };
        let start = |_: usize| Ok(Start { state: begin.clone(), how: String::new() });
        let learner = McvqLearner {
            reseed: false,
            classes: Some(ClassPlan { classes: 3, labelled: true, pseudo_count: 0.5 }),
            ..starts.learner(Gate::Standard, Schedule::constant(0.01))
        };
        let plan = Plan { passes: 10, tolerance: 0.0, ..Plan::default() };
        let learned = learn(&learner, start, table, &plan, &context, &mut Silent).unwrap();
        let model = Mcvq::from_state(learned.state, 3, 3);
        let found = classify::<f64>(&model, Likelihood::Bound, table, &context).unwrap();
        (learned.training.bound, found)
    };
    let ((a, of_dense), (b, of_stored)) = (learned(&dense), learned(&stored));
    assert!((a - b).abs() < 1e-6 * (1.0 + a.abs()), "{a} {b}");
    for (a, b) in of_dense.values().iter().zip(of_stored.values()) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
}

#[test]
fn rows_of_weight_0_and_labels_of_nobody_do_no_harm() {
    let table = planted::<f64>(60, 3, 0.8, 2);
    let mut labels = table.about().labels.clone().unwrap();
    labels.names.push("nobody".into());
    labels.of_row[7] = None;
    let weights = (0..60).map(|r| f64::from(u8::from(r % 9 != 0))).collect();
    let table = table.with_labels(labels).unwrap().with_weights(weights).unwrap();
    for pseudo_count in [0.0, 0.5] {
        let params =
            McvqParams { class_pseudo_count: pseudo_count, ..with_classes(Classes::Labels) };
        let model = learned(&params, &table, 0);
        let found = classify::<f64>(&model, Likelihood::Bound, &table, &Context::new(0)).unwrap();
        assert!(found.is_complete());
        assert_eq!(found.columns(), 4);
    }
    let bare = Table::from(Dense::new(2, 1, vec![1.0, 2.0]).unwrap());
    let error =
        fit(&with_classes(Classes::Labels), &bare, &Plan::default(), &Context::new(0), &mut Silent);
    assert!(error.unwrap_err().to_string().contains("no labels"));
}
