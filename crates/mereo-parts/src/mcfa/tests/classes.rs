//! Classes of factors against the models of each class alone, and against their theory.

use mereo_core::{Classify, Likelihood, Manifest, ModelFile, Real, classify};
use rand_distr::StandardNormal;

use super::*;
use crate::Classes;
use crate::classes::{ClassLayer, ClassPlan};

fn labels_of(of_row: Vec<Option<u32>>, classes: usize) -> mereo_core::Labels {
    mereo_core::Labels { names: (0..classes).map(|n| format!("c{n}")).collect(), of_row }
}

/// A class model of random numbers.
pub(super) fn random_class_model(
    seed: u64,
    classes: usize,
    [parts, factors, columns]: [usize; 3],
) -> Mcfa {
    let model = random_model(seed, parts, factors, columns);
    let mut random = Context::new(seed).random("class model", [0, 0]);
    let raw: Vec<f64> = (0..classes).map(|_| random.random_range(0.1..1.0)).collect();
    let total: f64 = raw.iter().sum();
    let state = State {
        gate: mereo_core::Parts::parts(&model).gate.to_vec(),
        loading: model.loading().to_vec(),
        offset: model.offset().to_vec(),
        noise: model.noise().to_vec(),
        classes: Some(ClassLayer {
            prior: raw.iter().map(|p| p / total).collect(),
            class_state_prior: (0..classes * parts * factors)
                .map(|_| random.random_range(-2.0..2.0))
                .collect(),
        }),
        posterior: None,
    };
    Mcfa::from_state(state, parts, factors)
}

/// The model of one class alone.
pub(super) fn one_class(model: &Mcfa, class: usize) -> Mcfa {
    model.hybrid(&vec![vec![(class, 1.0)]; model.tensors().parts]).unwrap()
}

/// Three groups of eight columns with two factors each, which classes centre elsewhere.
fn planted<T: Real>(rows: usize, apart: f64, seed: u64) -> Table<T> {
    let mut random = Context::new(seed).random("planted classes", [0, 0]);
    let (mut cells, mut of_row) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let class = random.random_range(0..3usize);
        let s: Vec<f64> = (0..6)
            .map(|f| {
                let centre = apart * (((class * (f + 2)) % 3) as f64 - 1.0);
                centre + random.sample::<f64, _>(StandardNormal)
            })
            .collect();
        for d in 0..24 {
            let part = d / 8;
            let slope = |f: usize| ((d * (f + 3) + f) % 7) as f64 / 3.0 - 1.0;
            let noise: f64 = random.sample(StandardNormal);
            let x = slope(0) * s[2 * part] + slope(1) * s[2 * part + 1];
            cells.push(T::from_f64(x + 0.3 * noise));
        }
        of_row.push(Some(class as u32));
    }
    let table = Table::from(Dense::new(rows, 24, cells).unwrap());
    table.with_labels(labels_of(of_row, 3)).unwrap()
}

fn with_classes(classes: Classes) -> McfaParams {
    McfaParams { classes, scouts: 4, ..McfaParams::new(3, 2) }
}

fn learned(params: &McfaParams, table: &Table<f64>, seed: u64) -> Mcfa {
    let plan = Plan { passes: 60, ..Plan::default() };
    fit(params, table, &plan, &Context::new(seed), &mut Silent).unwrap().0
}

fn counts(model: &Mcfa, table: &Table<f64>) -> Vec<Vec<usize>> {
    let found = classify::<f64>(model, Likelihood::Bound, table, &Context::new(0)).unwrap();
    let truth = &table.about().labels.as_ref().unwrap().of_row;
    let mut counts = vec![vec![0; 3]; found.columns()];
    for (row, label) in truth.iter().enumerate() {
        let of_row = found.row(row);
        let best = (0..of_row.len()).fold(0, |b, n| if of_row[n] > of_row[b] { n } else { b });
        counts[best][label.unwrap() as usize] += 1;
    }
    counts
}

fn accuracy(model: &Mcfa, table: &Table<f64>) -> f64 {
    let counts = counts(model, table);
    (0..3).map(|n| counts[n][n]).sum::<usize>() as f64 / table.rows() as f64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn classes_follow_from_the_bounds_of_each(seed in 0u64..1000, missing in 0.0f64..0.9) {
        let model = random_class_model(seed, 3, [2, 2, 5]);
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
            prop_assert!((scores.rows[row] - total).abs() < 1e-8 * (1.0 + total.abs()));
            for (found, expected) in found.row(row).iter().zip(&logs) {
                prop_assert!((found - expected).abs() < 1e-8);
            }
        }
    }

    #[test]
    fn the_bound_with_classes_never_falls(
        seed in 0u64..1000,
        missing in prop_oneof![Just(0.0), 0.0f64..0.7],
        labelled in 0.0f64..1.0,
        pseudo_count in prop_oneof![Just(0.0), Just(0.5)],
    ) {
        let mut random = Context::new(seed).random("labels", [0, 0]);
        let of_row = (0..40)
            .map(|_| (random.random::<f64>() < labelled).then(|| random.random_range(0..3)))
            .collect();
        let table = small_table(seed, 40, 8, missing).with_labels(labels_of(of_row, 3)).unwrap();
        let context = Context::new(seed);
        let params = McfaParams::new(3, 2);
        let survey = Survey::of(&table, &context).unwrap();
        let starts = McfaStarts { params: &params, survey: &survey };
        let layer = random_class_model(seed, 3, [3, 2, 1]).class_view().map(|view| {
            ClassLayer { prior: view.prior.to_vec(), class_state_prior: view.class_state_prior.to_vec() }
        });
        let start = |restart: usize| {
            let sample = start_sample(&table, &survey.form, &context)?;
            let mut start = seeded(&starts, starts.survey, &sample, restart, &context)?;
            start.state.classes = layer.clone();
            Ok(start)
        };
        let learner = McfaLearner {
            classes: Some(ClassPlan { classes: 3, labelled: true, pseudo_count }),
            ..starts.learner(Some(Gate::Standard), Schedule::constant(0.01))
        };
        let plan = Plan { passes: 25, tolerance: 0.0, ..Plan::default() };
        let learned = learn(&learner, start, &table, &plan, &context, &mut Silent).unwrap();
        let bounds = &learned.training.restarts[0].bounds;
        for pair in bounds.windows(2) {
            prop_assert!(pair[1] >= pair[0] - 1e-8 * (1.0 + pair[0].abs()), "{bounds:?}");
        }
        // What learning calls the bound is what the model says of its rows, and its priors.
        let told = learned.training.bound;
        prop_assert!(told.is_finite());
    }
}

#[test]
fn learned_classes_are_the_planted_ones_whatever_the_seed() {
    let table = planted::<f64>(500, 2.5, 3);
    let params = with_classes(Classes::Learned(3));
    let found: Vec<f64> = (0..5)
        .map(|seed| {
            let model = learned(&params, &table, seed);
            mereo_core::math::adjusted_rand_index(&counts(&model, &table))
        })
        .collect();
    let low = found.iter().copied().fold(f64::INFINITY, f64::min);
    let high = found.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    assert!(high - low <= 0.02 && low > 0.9, "{found:?}");
}

#[test]
fn a_few_labels_name_the_classes() {
    let whole = planted::<f64>(500, 1.5, 5);
    let full = whole.about().labels.clone().unwrap();
    let few = full.of_row.iter().enumerate().map(|(r, l)| l.filter(|_| r < 20)).collect();
    let some = whole.clone().with_labels(labels_of(few, 3)).unwrap();
    let params = with_classes(Classes::Labels);
    let test = planted::<f64>(2000, 1.5, 6);
    let [labelled, few] = [&whole, &some].map(|table| accuracy(&learned(&params, table, 1), &test));
    assert!(labelled > 0.9 && few > labelled - 0.05, "{labelled} {few}");
}

#[test]
fn threads_files_and_stores_keep_classes() {
    let table = planted::<f64>(150, 1.5, 2);
    let plan = Plan { passes: 15, ..Plan::default() };
    for classes in [Classes::Labels, Classes::Learned(3)] {
        let bytes = |threads: usize| {
            let context = Context::new(4).with_threads(threads).unwrap();
            let (model, _) =
                fit(&with_classes(classes), &table, &plan, &context, &mut Silent).unwrap();
            model.to_file(Manifest::new(<Mcfa as mereo_core::Model>::KIND)).to_bytes().unwrap()
        };
        let one = bytes(1);
        assert!(one == bytes(2) && one == bytes(7));
        let file = ModelFile::from_bytes(&one, "x".as_ref()).unwrap();
        let model = Mcfa::from_file(file, "x".as_ref()).unwrap();
        assert_eq!(Classify::<f64>::classes(&model), 3);
        assert_eq!(
            model.to_file(Manifest::new(<Mcfa as mereo_core::Model>::KIND)).to_bytes().unwrap(),
            one
        );
        // The same rows stored sparsely: the same classes of each.
        let stored = sparse(&table, Absent::Unobserved);
        let context = Context::new(0);
        let [a, b] = [&table, &stored]
            .map(|rows| classify::<f64>(&model, Likelihood::Bound, rows, &context).unwrap());
        for (a, b) in a.values().iter().zip(b.values()) {
            assert!((a - b).abs() < 1e-9);
        }
    }
}

#[test]
fn a_class_is_drawn_where_its_factors_are() {
    let model = random_class_model(3, 2, [2, 1, 4]);
    let rows = 20_000;
    for class in 0..2 {
        let one = one_class(&model, class);
        let drawn = sample(&one, rows, false, &Context::new(1)).unwrap();
        let view = mereo_core::Parts::parts(&one);
        for d in 0..4 {
            let expected: f64 = (0..2).map(|k| view.gate_of(d)[k] * one.offset()[k * 4 + d]).sum();
            let mean = (0..rows).map(|r| drawn.row(r)[d]).sum::<f64>() / rows as f64;
            assert!((mean - expected).abs() < 0.05, "{mean} {expected}");
        }
    }
    // All classes together are their mixture.
    let prior = model.class_view().unwrap().prior.to_vec();
    let all = sample(&model, rows, false, &Context::new(2)).unwrap();
    for d in 0..4 {
        let of = |class: usize| -> f64 {
            let one = one_class(&model, class);
            let view = mereo_core::Parts::parts(&one);
            (0..2).map(|k| view.gate_of(d)[k] * one.offset()[k * 4 + d]).sum()
        };
        let expected = prior[0] * of(0) + prior[1] * of(1);
        let mean = (0..rows).map(|r| all.row(r)[d]).sum::<f64>() / rows as f64;
        assert!((mean - expected).abs() < 0.08, "{mean} {expected}");
    }
}

#[test]
fn gates_of_rows_and_classes_do_not_go_together() {
    let params =
        McfaParams { gate: Gate::Factorised { from: 0 }, ..with_classes(Classes::Learned(2)) };
    assert!(params.check().unwrap_err().to_string().contains("gate that all rows share"));
    let mut manifest = Manifest::new(<Mcfa as mereo_core::Model>::KIND);
    manifest.params = serde_json::json!({ "gate": "factorised" });
    let file = random_class_model(1, 2, [2, 1, 3]).to_file(manifest);
    let error = Mcfa::from_file(file, "by hand".as_ref()).unwrap_err().to_string();
    assert!(error.contains("class_prior"), "{error}");
}
