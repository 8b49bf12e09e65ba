//! Every layer's gradient against finite differences.

use mereo_core::{Context, Picture};
use rand::RngExt;

use crate::describe::{decoder, encoder};
use crate::layers::Given;
use crate::loss::{cross_entropy, gaussian, squared};
use crate::network::{Network, Trace};
use crate::optimise::{Optimiser, Pace, RateSchedule, Walker};

/// A loss of outputs, which it replaces by slopes.
type Of<'a> = Box<dyn Fn(&mut [f64]) -> f64 + 'a>;

/// Numbers from -1 to 1.
fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut random = Context::new(seed).random("numbers", [0, 0]);
    (0..count).map(|_| random.random::<f64>() * 2.0 - 1.0).collect()
}

/// `Σ (y c + y²/2)` of what a network makes of rows, c being fixed numbers.
fn value(network: &Network, parameters: &[f64], rows: usize, inputs: &[f64], by: &[f64]) -> f64 {
    let mut trace = Trace::new();
    let made = network.forward(parameters, rows, inputs, &mut trace);
    made.iter().zip(by).map(|(y, c)| y * c + y * y / 2.0).sum()
}

fn check(network: &Network, what: &str) {
    let rows = 3;
    let (mut parameters, mut inputs) =
        (numbers(network.parameters(), 1), numbers(rows * network.inputs(), 2));
    let by = numbers(rows * network.outputs(), 3);
    let mut trace = Trace::new();
    let made = network.forward(&parameters, rows, &inputs, &mut trace).to_vec();
    let slopes: Vec<f64> = made.iter().zip(&by).map(|(y, c)| c + y).collect();
    let mut gradient = vec![0.0; parameters.len()];
    let given = Given { parameters: &parameters, rows, inputs: &inputs };
    let back = network.backward(given, &slopes, &mut gradient, true, &mut trace).to_vec();
    let step = 1e-5;
    let scale = gradient.iter().chain(&back).fold(1e-3f64, |m, g| m.max(g.abs()));
    let compare = |found: f64, up: f64, down: f64, where_: &str| {
        let slope = (up - down) / (2.0 * step);
        assert!((found - slope).abs() < 1e-6 * scale, "{what} {where_}: {found} against {slope}");
    };
    for at in (0..parameters.len()).step_by(1 + parameters.len() / 150) {
        let own = parameters[at];
        parameters[at] = own + step;
        let up = value(network, &parameters, rows, &inputs, &by);
        parameters[at] = own - step;
        let down = value(network, &parameters, rows, &inputs, &by);
        parameters[at] = own;
        compare(gradient[at], up, down, "parameter");
    }
    for at in (0..inputs.len()).step_by(1 + inputs.len() / 100) {
        let own = inputs[at];
        inputs[at] = own + step;
        let up = value(network, &parameters, rows, &inputs, &by);
        inputs[at] = own - step;
        let down = value(network, &parameters, rows, &inputs, &by);
        inputs[at] = own;
        compare(back[at], up, down, "input");
    }
}

#[test]
fn gradients_of_layers_are_those_of_finite_differences() {
    for text in
        ["dense 7", "dense 5, relu, dense 9", "dense 6, sigmoid", "dense 8, tanh, dense 1, tanh"]
    {
        check(&encoder(Some(text), 5, None, (3, 4)).unwrap(), text);
    }
}

#[test]
fn gradients_of_convolutions_are_too_whatever_their_sizes_and_strides() {
    for (height, width, channels) in [(5, 7, 1), (6, 6, 3), (1, 9, 2), (4, 1, 1)] {
        let picture = Some(Picture { height, width, channels });
        let cells = height * width * channels;
        for text in [
            "conv 2x3",
            "conv 3x3/2, tanh",
            "conv 2x2/2",
            "conv 1x5/3, sigmoid, conv 2x3/2",
            "conv 2x4",
        ] {
            let network = encoder(Some(text), cells, picture, (2, 2)).unwrap();
            check(&network, &format!("{height} x {width} x {channels}: {text}"));
            let mirror = decoder(None, &network, 2, cells, picture).unwrap();
            check(&mirror, &format!("mirror of {height} x {width} x {channels}: {text}"));
        }
    }
    let picture = Some(Picture { height: 7, width: 5, channels: 2 });
    let network = encoder(None, 70, picture, (3, 3)).unwrap();
    let own = Some("dense 48, tanh, deconv 3x3/2, tanh, conv 4x3, tanh");
    check(&decoder(own, &network, 3, 70, picture).unwrap(), "deconv and conv");
}

#[test]
fn slopes_of_losses_are_those_of_finite_differences() {
    let (rows, columns) = (3, 21);
    let mut cells: Vec<f64> = numbers(rows * columns, 5).iter().map(|x| x.abs()).collect();
    cells[4] = f64::NAN;
    let outputs: Vec<f64> = numbers(rows * columns, 6).iter().map(|y| 9.0 * y).collect();
    let weights: Vec<f64> = numbers(rows * columns, 7).iter().map(|w| 1.0 + w.abs()).collect();
    let precision: Vec<f64> = numbers(columns, 8).iter().map(|w| 1.0 + w.abs()).collect();
    let constants: Vec<f64> = numbers(columns, 9);
    let all: [(&str, Of<'_>); 4] = [
        (
            "squared",
            Box::new(|y| {
                let mut sums = Vec::new();
                squared(&cells, y, columns, Some(&weights), &mut sums);
                sums.iter().sum()
            }),
        ),
        (
            "cross-entropy",
            Box::new(|y| {
                let (mut sums, mut scratch) = (Vec::new(), Vec::new());
                cross_entropy(&cells, y, columns, 1, Some(&weights), &mut scratch, &mut sums);
                sums.iter().sum()
            }),
        ),
        (
            "bernoulli",
            Box::new(|y| {
                let (mut sums, mut scratch) = (Vec::new(), Vec::new());
                cross_entropy(&cells, y, columns, 1, None, &mut scratch, &mut sums);
                sums.iter().sum()
            }),
        ),
        (
            "gaussian",
            Box::new(|y| {
                let mut sums = Vec::new();
                gaussian(&cells, y, columns, 1, (&precision, &constants), false, &mut sums);
                sums.iter().sum()
            }),
        ),
    ];
    for (what, of) in all {
        let mut slopes = outputs.clone();
        of(&mut slopes);
        assert_eq!(slopes[4], 0.0, "{what}: a missing cell pulls");
        for at in 0..outputs.len() {
            let moved = |by: f64| {
                let mut y = outputs.clone();
                y[at] += by;
                of(&mut y)
            };
            let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((slope - slopes[at]).abs() < 1e-6 * (1.0 + slope.abs()), "{what} {at}");
        }
    }
}

/// What `PyTorch` made of the same networks.
fn torch() -> serde_json::Value {
    serde_json::from_str(include_str!("../tests/fixtures/torch_layers.json")).unwrap()
}

fn list(value: &serde_json::Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn same(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (at, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!((f - e).abs() < 1e-12 * (1.0 + e.abs()), "{what} {at}: {f} against {e}");
    }
}

#[test]
fn networks_and_their_gradients_are_those_of_pytorch() {
    for case in torch()["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let (code, rows) =
            (case["code"].as_u64().unwrap() as usize, case["rows"].as_u64().unwrap());
        let rows = rows as usize;
        let picture = case["picture"].as_array().map(|sides| {
            let side = |at: usize| sides[at].as_u64().unwrap() as usize;
            Picture { height: side(0), width: side(1), channels: side(2) }
        });
        let inputs = list(&case["inputs"]);
        let columns = picture.and_then(|p| p.columns()).unwrap_or(inputs.len() / rows);
        let mut network = encoder(case["text"].as_str(), columns, picture, (code, code)).unwrap();
        if case["decoder"] == true {
            network = decoder(None, &network, code, columns, picture).unwrap();
        }
        let parameters = list(&case["parameters"]);
        let mut trace = Trace::new();
        let outputs = network.forward(&parameters, rows, &inputs, &mut trace).to_vec();
        same(&outputs, &list(&case["outputs"]), name);
        let mut gradient = vec![0.0; parameters.len()];
        let given = Given { parameters: &parameters, rows, inputs: &inputs };
        // The value is half the sum of squares, so that slopes are what came out.
        let back = network.backward(given, &outputs, &mut gradient, true, &mut trace);
        same(back, &list(&case["by_inputs"]), name);
        same(&gradient, &list(&case["by_parameters"]), name);
    }
}

#[test]
fn the_cross_entropy_is_that_of_pytorch() {
    let told = &torch()["losses"];
    let (cells, mut outputs) = (list(&told["cells"]), list(&told["outputs"]));
    let (mut sums, mut scratch) = (Vec::new(), Vec::new());
    cross_entropy(&cells, &mut outputs, 9, 1, None, &mut scratch, &mut sums);
    same(&[sums.iter().sum()], &[told["cross_entropy"].as_f64().unwrap()], "cross-entropy");
    same(&outputs, &list(&told["slopes"]), "slopes");
}

#[test]
fn steps_are_those_of_pytorch() {
    let goal = [0.5, 1.0, -1.0, 2.0];
    for (name, optimiser, rate, weight_decay) in [
        ("adam", Optimiser::Adam, 0.05, 0.0),
        ("adam with decay", Optimiser::Adam, 0.05, 0.1),
        ("sgd", Optimiser::Sgd, 0.001, 0.0),
    ] {
        let pace = Pace {
            optimiser,
            rate,
            momentum: 0.9,
            schedule: RateSchedule::Constant,
            weight_decay,
            batch: 1,
            held_out: 0.0,
            patience: 1,
        };
        let mut walker = Walker::new(vec![1.0, -2.0, 3.0, 0.5]);
        for expected in torch()["walks"][name].as_array().unwrap() {
            let pairs = walker.parameters.iter().zip(goal);
            let gradient: Vec<f64> =
                pairs.map(|(p, g): (&f64, f64)| -4.0 * (p - g).powi(3)).collect();
            walker.step(&pace, &gradient, 0.0, 1.0, 0.0);
            same(&walker.parameters, &list(expected), name);
        }
    }
}
