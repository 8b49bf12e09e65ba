//! What is the Deep mixture's own; [`crate::tests`] has what all mixtures must show. Results of an
//! independent implementation are kept as data in `tests/fixtures/dgmm.json`.

use std::collections::HashMap;

use mereo_core::slots::{Frame, Survey};
use mereo_core::{
    Context, Encode, Learner, Manifest, ModelFile, Pass, Plan, Score, Silent, Source, Statistics,
    Table, Tensor, encode, score,
};

use super::affine::Affine;
use super::kronecker::Kronecker;
use super::layers::{Layer, Layers};
use super::learner::{DeepLearner, State};
use super::node::{Above, Node};
use super::search::Paths;
use super::{DeepGmm, DeepGmmParams, Em, LayerKind, MStep, Search, fit};
use crate::full::{Shapes, Whitened, Work, take_rows};
use crate::testing::{Bounds, close, slanted, table, with_holes};
use mereo_core::math::Array;

const D: usize = 4;
const SIZES: [usize; 3] = [3, 2, 2];

struct Fixture(HashMap<String, serde_json::Value>);

impl Fixture {
    fn open() -> Self {
        let path =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/dgmm.json");
        Self(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
    }

    fn get(&self, name: &str) -> Vec<f64> {
        self.0[name].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    }

    fn layers(&self) -> Layers {
        let layers = (1..=3).map(|l| Layer {
            kind: LayerKind::Full,
            transform: Array::new([SIZES[l - 1], D, D], self.get(&format!("A{l}"))),
            bias: Array::new([SIZES[l - 1], D], self.get(&format!("b{l}"))),
        });
        Layers { columns: D, layers: layers.collect(), path_weight: self.get("pi") }
    }

    fn data(&self) -> Table<f64> {
        table(D, &self.get("X"))
    }
}

/// A learner in the data's own units without a floor.
fn learner(params: DeepGmmParams, data: &Table<f64>) -> DeepLearner<f64> {
    let frame = Frame::new(&[0.0; D], &[1.0; D]);
    let survey = Survey::of(data, &Context::new(0)).unwrap();
    DeepLearner { params, survey, frame, log_scale: 0.0, rows: data.rows(), seed: 0 }
}

fn params(em: Em, steps: usize) -> DeepGmmParams {
    DeepGmmParams { em, steps, variance_floor: 0.0, ..DeepGmmParams::new(&SIZES) }
}

/// Path moments and the bound of a model.
fn moments(
    learner: &DeepLearner<f64>,
    layers: &Layers,
    data: &Table<f64>,
) -> (Vec<Array<2>>, f64, Vec<f64>) {
    let at = Pass { restart: 0, pass: 0 };
    let state = State { layers: layers.clone(), reseeds: 0 };
    let prepared = learner.prepare(&state, at);
    let (mut statistics, mut work) = (learner.statistics(), learner.workspace());
    let mut lane = data.lane(0..data.batches()).unwrap();
    while let Some(batch) = lane.next_batch().unwrap() {
        learner.accumulate(&prepared, &batch, &mut work, &mut statistics);
    }
    statistics.finish();
    let total = statistics.paths.moments.total.clone();
    (learner.path_moments(layers, &statistics.paths.moments), learner.bound(&statistics), total)
}

#[test]
fn densities_and_responsibilities_agree_with_the_reference() {
    let fixture = Fixture::open();
    let (model, data) = (DeepGmm::new(fixture.layers(), false), fixture.data());
    let scores = score(&model as &dyn Score<f64>, &data, &Context::new(0)).unwrap();
    close(&scores.rows, &fixture.get("logpdf"), 1e-10, "log density");
    close(model.path_mean(), &fixture.get("path_mean"), 1e-12, "path mean");
    let codes = encode(&model as &dyn Encode<f64>, &data, &Context::new(0)).unwrap();
    for (r, joint) in fixture.get("log_joint").chunks(12).enumerate() {
        let expected: Vec<f64> = joint.iter().map(|l| (l - scores.rows[r]).exp()).collect();
        close(codes.row(r), &expected, 1e-9, "responsibility");
    }
}

#[test]
fn soft_path_moments_agree_with_the_reference() {
    let fixture = Fixture::open();
    let (data, context) = (fixture.data(), Context::new(0));
    let params = params(Em::Soft, 1);
    let learner = learner(params, &data);
    let (found, bound, total) = moments(&learner, &fixture.layers(), &data);
    // The reference's own sums are 2e-7 away from the definition; ours must agree with that.
    close(
        &found.iter().flatten().copied().collect::<Vec<_>>(),
        &fixture.get("soft_T"),
        1e-6,
        "path moments",
    );
    let model = DeepGmm::new(fixture.layers(), false);
    let codes = encode(&model as &dyn Encode<f64>, &data, &context).unwrap();
    let rows = fixture.get("X");
    let by_definition: Vec<f64> = (0..12 * 25)
        .map(|at| {
            let (path, i, j) = (at / 25, at / 5 % 5, at % 5);
            let cell = |row: usize, d: usize| if d < D { rows[row * D + d] } else { 1.0 };
            (0..300).map(|row| codes.row(row)[path] * cell(row, i) * cell(row, j)).sum()
        })
        .collect();
    close(
        &found.iter().flatten().copied().collect::<Vec<_>>(),
        &by_definition,
        1e-10,
        "path moments",
    );
    close(&[bound], &[fixture.get("logpdf").iter().sum()], 1e-10, "bound");
    let weights: Vec<f64> = total.iter().map(|t| t / 300.0).collect();
    close(&weights, &fixture.get("soft_pi_new"), 1e-9, "path weights");
}

/// The component of a layer as the M-step sees it.
fn node(layers: &Layers, layer: usize, component: usize, moments: &[Array<2>]) -> Node {
    let (_, below) = layers.around(layer);
    let width = D + 1;
    let upper = layers.up(0..layer).unwrap();
    let lower = layers.up(layer + 1..3).unwrap();
    let mut node = Node { columns: D, count: 0.0, above: Vec::new() };
    for (u, map) in upper.iter().enumerate() {
        let mut sums = Array::zeros([width, width]);
        for (q, lower) in lower.iter().enumerate() {
            let path = (u * SIZES[layer] + component) * below + q;
            let turned = super::affine::congruent(&lower.extended(), &moments[path]);
            sums.iter_mut().zip(&turned).for_each(|(s, m)| *s += m);
        }
        node.count += sums[width * width - 1];
        node.above.push(Above { map: map.clone(), moments: sums });
    }
    node
}

fn theta(map: &Affine) -> Array<2> {
    let extended = map.inverse().unwrap().extended();
    Array::new([D, D + 1], extended[..D * (D + 1)].to_vec())
}

#[test]
fn objectives_and_gradients_of_components_agree_with_the_reference_and_with_differences() {
    let fixture = Fixture::open();
    let layers = fixture.layers();
    // From the reference's own moments.
    let moments: Vec<Array<2>> =
        fixture.get("soft_T").chunks(25).map(|t| Array::new([5, 5], t.to_vec())).collect();
    for layer in 0..3 {
        for component in 0..SIZES[layer] {
            let node = node(&layers, layer, component, &moments);
            let at = theta(&layers.layers[layer].map(component));
            let mut gradient = Array::zeros([D, D + 1]);
            let value = node.value(&at, &mut gradient);
            let name = format!("node{}_{component}", layer + 1);
            close(&[value], &fixture.get(&format!("{name}_obj")), 1e-12, &name);
            let q: Vec<f64> = gradient.chunks(D + 1).flat_map(|r| r[..D].to_vec()).collect();
            close(&q, &fixture.get(&format!("{name}_gradQ")), 1e-12, "gradient of Q");
            let bias: Vec<f64> = gradient.chunks(D + 1).map(|r| r[D]).collect();
            close(&bias, &fixture.get(&format!("{name}_gradq")), 1e-12, "gradient of q");
            for i in 0..at.len() {
                let step = 1e-6;
                let (mut up, mut down, mut none) = (at.clone(), at.clone(), gradient.clone());
                up[i] += step;
                down[i] -= step;
                let slope =
                    (node.value(&up, &mut none) - node.value(&down, &mut none)) / (2.0 * step);
                close(&[gradient[i]], &[slope], 1e-6, "difference");
            }
        }
    }
}

#[test]
fn a_hard_pass_is_as_good_as_the_reference_layer_by_layer() {
    let fixture = Fixture::open();
    let data = fixture.data();
    let params = params(Em::Hard, 2000);
    let learner = learner(params, &data);
    let mut layers = fixture.layers();
    let (moments, before, total) = moments(&learner, &layers, &data);
    close(&[before], &fixture.get("em_obj_before"), 1e-10, "bound before");
    close(&total, &fixture.get("em_hard_counts"), 1e-12, "rows of paths");
    // The expected log likelihood with these rows and path weights.
    let objective = |layers: &Layers| -> f64 {
        let (mean, covariance) = layers.collapse();
        let mut sum = 0.0;
        for (p, count) in total.iter().enumerate().filter(|(_, n)| **n > 0.0) {
            let white = mereo_core::math::whitening(&covariance[p * 16..(p + 1) * 16], D).unwrap();
            let about = Affine {
                matrix: Array::new([D, D], white.matrix.clone()),
                offset: (0..D)
                    .map(|i| {
                        -(0..D).map(|j| white.matrix[i * D + j] * mean[p * D + j]).sum::<f64>()
                    })
                    .collect(),
            };
            let turned = super::affine::congruent(&about.extended(), &moments[p]);
            let squares: f64 = (0..D).map(|i| turned[i * (D + 1) + i]).sum();
            let log = (2.0 * std::f64::consts::PI).ln() * D as f64 + white.log_determinant;
            sum += count * (count / 300.0).ln() - 0.5 * (squares + count * log);
        }
        sum
    };
    for (layer, expected) in fixture.get("em_obj_after_each_layer").into_iter().enumerate() {
        learner.update_layer(&mut layers, layer, &moments, None);
        let found = objective(&layers);
        assert!(found >= expected - 1e-7 * expected.abs(), "layer {layer}: {found} {expected}");
        if layer == 0 {
            close(&[found], &[expected], 1e-9, "top layer");
            let expected = fixture.get("em_A1");
            for (found, expected) in layers.layers[0].transform.chunks(16).zip(expected.chunks(16))
            {
                let square = |a: &[f64]| -> Vec<f64> {
                    (0..16)
                        .map(|i| (0..4).map(|k| a[i / 4 * 4 + k] * a[i % 4 * 4 + k]).sum())
                        .collect()
                };
                close(&square(found), &square(expected), 1e-7, "AAᵀ");
            }
            close(&layers.layers[0].bias, &fixture.get("em_b1"), 1e-7, "bias");
        }
    }
}

#[test]
fn coordinate_search_agrees_with_the_reference() {
    let fixture = Fixture::open();
    let (layers, data) = (fixture.layers(), fixture.data());
    let (mean, covariance) = layers.collapse();
    let shapes = Shapes {
        weight: &layers.path_weight,
        mean: &mean,
        covariance: &covariance,
        scale: None,
        degrees: None,
        blur: 0.0,
    };
    let whitened = Whitened::<f64>::new(&shapes, D, true);
    let tries = Paths { whitened: &whitened, sizes: &SIZES };
    let mut work = Work::default();
    let mut lane = data.lane(0..1).unwrap();
    let batch = lane.next_batch().unwrap().unwrap();
    take_rows(&batch, 0..batch.rows, |_, x| x, &mut work.values);
    whitened.begin(&mut work);
    for sweeps in [1, 3] {
        let mut path = vec![0; 300];
        let mut value = tries.values(&path, &mut work);
        tries.ascend(&mut path, &mut value, sweeps, &mut work);
        let expected = fixture.get(&format!("ca{sweeps}_path"));
        assert!(path.iter().zip(&expected).all(|(p, e)| *p == *e as usize), "paths");
        close(&value, &fixture.get(&format!("ca{sweeps}_val")), 1e-10, "values");
    }
}

#[test]
fn the_flat_mixture_has_the_same_density() {
    use LayerKind::{Full, Scale};
    let context = Context::new(0);
    let plan = Plan { passes: 10, ..Plan::default() };
    let whole = table::<f64>(3, &slanted(200, 3, 4));
    let holes = table::<f64>(3, &with_holes(slanted(200, 3, 4), 4));
    for (sizes, kinds) in [([3, 2, 2], [Full; 3]), ([3, 1, 2], [Full, Full, Scale])] {
        let params = DeepGmmParams { layer_kind: kinds.to_vec(), ..DeepGmmParams::new(&sizes) };
        for data in [&whole, &holes] {
            let (model, _) = fit(&params, data, &plan, &context, &mut Silent).unwrap();
            let flat = model.flat();
            assert_eq!(flat.components(), sizes.iter().product::<usize>());
            let deep = score(&model as &dyn Score<f64>, data, &context).unwrap().rows;
            let alone = score(&flat as &dyn Score<f64>, data, &context).unwrap().rows;
            close(&alone, &deep, 1e-10, "density");
        }
    }
}

#[test]
fn the_kronecker_form_is_the_sum_over_paths() {
    let (d, width) = (2, 3);
    let number = |i: usize| ((i * 7919) % 31) as f64 / 31.0 - 0.4;
    let pairs: Vec<(Array<2>, Array<2>)> = (0..3)
        .map(|u| {
            let omega = (0..d * d).map(|i| number(u + i)).collect();
            let phi = (0..width * width).map(|i| number(5 * u + i)).collect();
            (Array::new([d, d], omega), Array::new([width, width], phi))
        })
        .collect();
    let linear: Vec<f64> = (0..d * width).map(|i| number(i + 9)).collect();
    let theta: Vec<f64> = (0..d * width).map(|i| number(3 * i)).collect();
    let mut expected = linear.clone();
    for (omega, phi) in &pairs {
        for (at, out) in expected.iter_mut().enumerate() {
            for (of, value) in theta.iter().enumerate() {
                let (i, j, k, l) = (at / width, at % width, of / width, of % width);
                *out += omega.row(i)[k] * value * phi.row(j)[l];
            }
        }
    }
    let mut gradient = vec![0.0; d * width];
    let value = Kronecker::new(&pairs, d).quadratic(&linear, &theta, &mut gradient);
    close(&gradient, &expected, 1e-14, "gradient");
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let half = 0.5 * (dot(&theta, &expected) + dot(&theta, &linear));
    close(&[value], &[half], 1e-14, "value");
}

#[test]
fn the_kronecker_form_has_the_same_optimum() {
    let fixture = Fixture::open();
    let data = fixture.data();
    let params = params(Em::Soft, 1);
    let layers = fixture.layers();
    let (moments, _, _) = moments(&learner(params, &data), &layers, &data);
    for layer in 1..3 {
        for component in 0..SIZES[layer] {
            let (node, now) =
                (node(&layers, layer, component, &moments), layers.layers[layer].map(component));
            for (steps, tolerance) in [(3, 1e-9), (2000, 1e-4)] {
                let by = |m_step| node.solve(LayerKind::Full, &now, m_step, steps).unwrap();
                let (sum, one) = (by(MStep::Lbfgs), by(MStep::Kronecker));
                close(&one.matrix, &sum.matrix, tolerance, "transform");
                close(&one.offset, &sum.offset, tolerance, "bias");
                let mut none = Array::zeros([D, D + 1]);
                let (a, b) =
                    (node.value(&theta(&sum), &mut none), node.value(&theta(&one), &mut none));
                close(&[b], &[a], 1e-9, "value");
            }
        }
    }
}

#[test]
fn a_step_along_the_gradient_climbs_and_rests_at_the_optimum() {
    let fixture = Fixture::open();
    let data = fixture.data();
    let params = params(Em::Soft, 1);
    let layers = fixture.layers();
    let (moments, _, _) = moments(&learner(params, &data), &layers, &data);
    for layer in 0..3 {
        for component in 0..SIZES[layer] {
            let node = node(&layers, layer, component, &moments);
            let now = layers.layers[layer].map(component);
            let mut none = Array::zeros([D, D + 1]);
            let mut value = |map: &Affine| node.value(&theta(map), &mut none);
            for kind in [LayerKind::Full, LayerKind::Diagonal, LayerKind::Scale] {
                let mut map = now.clone();
                if kind != LayerKind::Full {
                    map.matrix = Array::identity(D);
                }
                // Nothing where a column would turn around.
                let small = node.ascend(kind, &map, 1e-3);
                assert!(small.is_some() || kind != LayerKind::Full);
                let climbs = small.is_none_or(|small| value(&small) > value(&map));
                assert!(climbs, "{kind:?} of layer {layer}");
            }
            let best = node.solve(LayerKind::Full, &now, MStep::Lbfgs, 5000).unwrap();
            let still = node.ascend(LayerKind::Full, &best, 1.0).unwrap();
            close(&still.matrix, &best.matrix, 1e-3, "optimum");
        }
    }
}

#[test]
fn mini_batches_raise_the_bound() {
    let data = table::<f64>(3, &slanted(2000, 3, 4));
    for layers in [&[3, 2][..], &[2, 2, 2]] {
        let params = DeepGmmParams { sweeps: 4, ..DeepGmmParams::new(layers) };
        let plan = Plan { passes: 64, tolerance: 0.0, ..Plan::default() };
        let mut bounds = Bounds::default();
        let (model, training) = fit(&params, &data, &plan, &Context::new(0), &mut bounds).unwrap();
        let bounds: Vec<f64> = bounds.0.iter().map(|b| b.0 / 2000.0).collect();
        let sweep = |n: usize| bounds[16 * n..16 * (n + 1)].iter().sum::<f64>() / 16.0;
        assert!(sweep(1) > sweep(0) && sweep(3) > sweep(1), "{layers:?} {bounds:?}");
        // The last pass sees all rows. EM alone, from the same start, gets as far or less.
        let em = DeepGmmParams { sweeps: 0, ..params };
        let plan = Plan { passes: 4, ..plan };
        let (_, alone) = fit(&em, &data, &plan, &Context::new(0), &mut Silent).unwrap();
        assert!(training.bound >= alone.bound - 20.0, "{} {}", training.bound, alone.bound);
        let scores = score(&model as &dyn Score<f64>, &data, &Context::new(0)).unwrap();
        assert!(training.bound <= scores.rows.iter().sum::<f64>() + 1e-6);
    }
}

#[test]
fn an_unused_component_is_revived_and_found_useful() {
    let fixture = Fixture::open();
    let data = fixture.data();
    let params = DeepGmmParams { variance_floor: 1e-6, ..params(Em::Soft, 10) };
    let learner = learner(params, &data);
    for layer in 0..3 {
        // One component is so far away that no row takes it.
        let mut state = State { layers: fixture.layers(), reseeds: 0 };
        state.layers.layers[layer].bias[D..2 * D].fill(1e4);
        let mut notes = Vec::new();
        let mut last = f64::NEG_INFINITY;
        for pass in 0..10 {
            let at = Pass { restart: 0, pass };
            let prepared = learner.prepare(&state, at);
            let (mut statistics, mut work) = (learner.statistics(), learner.workspace());
            let mut lane = data.lane(0..data.batches()).unwrap();
            while let Some(batch) = lane.next_batch().unwrap() {
                learner.accumulate(&prepared, &batch, &mut work, &mut statistics);
            }
            statistics.finish();
            last = learner.bound(&statistics);
            notes.extend(learner.update(&mut state, &statistics, at));
        }
        let said = format!("unused component 1 of layer {} revived", layer + 1);
        assert!(notes.iter().any(|note| note.starts_with(&said)), "{notes:?}");
        assert!(state.layers.usage(layer)[1] > 0.05, "{:?}", state.layers.usage(layer));
        assert!(last.is_finite());
    }
}

#[test]
fn layers_stay_of_their_kind() {
    let data = table::<f64>(3, &slanted(300, 3, 4));
    let plan = Plan { passes: 8, ..Plan::default() };
    for kind in [LayerKind::Scale, LayerKind::Diagonal, LayerKind::Orthogonal] {
        let params = DeepGmmParams {
            layer_kind: vec![LayerKind::Full, kind],
            ..DeepGmmParams::new(&[2, 3])
        };
        let (model, _) = fit(&params, &data, &plan, &Context::new(0), &mut Silent).unwrap();
        let file = model.to_file(Manifest::new("deep-gmm"));
        let again = DeepGmm::from_file(file, "memory".as_ref()).unwrap();
        assert_eq!(again.free_parameters(), model.free_parameters(), "{kind:?}");
        assert_eq!(again, model, "{kind:?}");
    }
}

#[test]
fn a_file_says_of_what_kind_layers_are_unless_its_numbers_say_otherwise() {
    let kinds = |said: &[&str], transform: Vec<f64>| {
        let mut manifest = Manifest::new("deep-gmm");
        manifest.params = serde_json::json!({ "layer_kind": said });
        let mut file = ModelFile::new(manifest);
        file.insert("layer1.transform", Tensor::new(vec![1, 2, 2], transform));
        file.insert("layer1.bias", Tensor::new(vec![1, 2], vec![0.0; 2]));
        file.insert("path_weight", Tensor::new(vec![1], vec![1.0]));
        DeepGmm::from_file(file, "memory".as_ref()).unwrap().kind(0)
    };
    let (one, two, slanted) =
        (vec![1.0, 0.0, 0.0, 1.0], vec![1.0, 0.0, 0.0, 2.0], vec![1.0, 0.0, 1.0, 2.0]);
    assert_eq!(kinds(&[], one.clone()), LayerKind::Scale);
    assert_eq!(kinds(&["full"], one.clone()), LayerKind::Full);
    assert_eq!(kinds(&["orthogonal"], one), LayerKind::Orthogonal);
    assert_eq!(kinds(&["scale"], two.clone()), LayerKind::Diagonal);
    assert_eq!(kinds(&["nonsense"], two), LayerKind::Diagonal);
    assert_eq!(kinds(&["diagonal"], slanted), LayerKind::Full);
}

#[test]
fn the_likelihood_that_is_told_is_that_of_the_model() {
    let data = table::<f64>(3, &slanted(200, 3, 4));
    for (em, search) in
        [(Em::Soft, Search::Full), (Em::Hard, Search::Full), (Em::Hard, Search::Coordinate)]
    {
        let params = DeepGmmParams { em, search, sweeps: 1, ..DeepGmmParams::new(&[3, 2]) };
        let plan = Plan { passes: 20, ..Plan::default() };
        let (model, training) = fit(&params, &data, &plan, &Context::new(0), &mut Silent).unwrap();
        let scores = score(&model as &dyn Score<f64>, &data, &Context::new(0)).unwrap();
        let told = training.log_likelihood.unwrap();
        close(&[told], &[scores.rows.iter().sum()], 1e-10, "likelihood");
        assert!(told > training.bound);
    }
}

#[test]
fn likelihoods_of_more_paths_than_can_be_summed_are_not_known() {
    let data = table::<f64>(1, &slanted(20, 1, 4));
    let params = DeepGmmParams {
        em: Em::Hard,
        search: Search::Coordinate,
        ..DeepGmmParams::new(&[17, 16, 16])
    };
    let plan = Plan { passes: 1, ..Plan::default() };
    let (_, training) = fit(&params, &data, &plan, &Context::new(0), &mut Silent).unwrap();
    assert_eq!(training.log_likelihood, None);
}

#[test]
fn one_component_on_top_of_another_has_the_freedom_of_one() {
    let data = table::<f64>(3, &slanted(100, 3, 4));
    let plan = Plan { passes: 3, ..Plan::default() };
    for (layers, free) in [(&[1][..], 9), (&[1, 1], 9), (&[1, 1, 1], 9), (&[1, 2], 19)] {
        let params = DeepGmmParams::new(layers);
        let (model, _) = fit(&params, &data, &plan, &Context::new(0), &mut Silent).unwrap();
        assert_eq!(model.free_parameters(), free, "{layers:?}");
        assert_eq!(model.flat().free_parameters(), free, "{layers:?}");
    }
}

#[test]
fn factorised_path_weights_count_one_for_each_component() {
    let data = table::<f64>(3, &slanted(100, 3, 4));
    let plan = Plan { passes: 3, ..Plan::default() };
    let own = DeepGmmParams::new(&[3, 2, 2]);
    let factorised = DeepGmmParams { factorised: true, ..own.clone() };
    let learned = |params| fit(params, &data, &plan, &Context::new(0), &mut Silent).unwrap().0;
    let (own, model) = (learned(&own), learned(&factorised));
    assert_eq!(own.free_parameters() - model.free_parameters(), 11 - (2 + 1 + 1));
    let mut manifest = Manifest::new(<DeepGmm as mereo_core::Model>::KIND);
    manifest.params = serde_json::json!({ "factorised": true });
    let again = DeepGmm::from_file(model.to_file(manifest.clone()), "memory".as_ref()).unwrap();
    assert_eq!(again, model);
    // Weights that are no products say otherwise.
    let other = DeepGmm::from_file(own.to_file(manifest), "memory".as_ref()).unwrap();
    assert_eq!(other.free_parameters(), own.free_parameters());
}

#[test]
fn a_mixture_of_scales_is_found_by_a_scale_layer() {
    // One covariance at two contrasts: a layer of two scales says it with one full transform.
    let mut values = slanted(2000, 3, 9);
    let centre: Vec<f64> =
        (0..3).map(|d| values.iter().skip(d).step_by(3).sum::<f64>() / 2000.0).collect();
    for (r, row) in values.chunks_exact_mut(3).enumerate() {
        let by = if r % 4 < 2 { 1.0 } else { 0.1 };
        row.iter_mut().zip(&centre).for_each(|(x, m)| *x = by * (*x - m));
    }
    let data = table::<f64>(3, &values);
    let layer_kind = vec![LayerKind::Full, LayerKind::Scale];
    let params = DeepGmmParams { layer_kind, ..DeepGmmParams::new(&[1, 2]) };
    let (model, _) = fit(&params, &data, &Plan::default(), &Context::new(0), &mut Silent).unwrap();
    let (a, b) = (model.transform(1)[0].abs(), model.transform(1)[9].abs());
    let ratio = (a / b).max(b / a);
    assert!((ratio - 10.0).abs() < 1.0, "{ratio}");
}
