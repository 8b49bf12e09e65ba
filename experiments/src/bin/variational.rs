//! Burda, Grosse and Salakhutdinov's table 1 on MNIST: the log likelihood of test digits under variational
//! auto-encoders with one stochastic layer (2 x 200 tanh, 50 codes), cells drawn by their grey.
//!
//! `cargo xtask experiments variational [EPOCHS [ROWS [TEST [DRAWS]]]]` (20 passes over 60,000 rows, 500 test digits of
//! 5,000 draws each if nobody says). Published after 3,280 passes: -86.76 nats, and -85.54 with five weighted draws.

use std::time::Instant;

use mereo_core::{Context, Likelihood, Plan, Result, Silent, estimate, score};
use mereo_experiments::{digits, test_digits};
use mereo_neural::{DecoderKind, RateSchedule, VaeParams, vae};

fn main() -> Result<()> {
    let given = |at: usize, default: usize| {
        std::env::args().nth(at).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (epochs, rows, tests, draws) =
        (given(1, 20), given(2, 60_000), given(3, 500), given(4, 5000));
    let (Some(train), Some(test)) = (digits(0, rows)?, test_digits(tests)?) else { return Ok(()) };
    let context = Context::new(0).with_threads(0)?;
    println!("{rows} digits, {epochs} passes; {tests} test digits, {draws} draws each\n");
    println!(
        "{:<12} {:>10} {:>10} {:>10} {:>8} {:>12} {:>10}",
        "bound", "learned", "test", "estimate", "error", "rows/second", "published"
    );
    for (importance, published) in [(1, "-86.76"), (5, "-85.54")] {
        let params = VaeParams {
            encoder: Some("dense 200, tanh, dense 200, tanh".into()),
            decoder_kind: DecoderKind::Bernoulli,
            binarise: true,
            importance,
            batch: 100,
            schedule: RateSchedule::Cosine,
            ..VaeParams::new(50)
        };
        let plan = Plan { passes: epochs, ..Plan::default() };
        let began = Instant::now();
        let (model, training) = vae::fit(&params, &train, &plan, &context, &mut Silent)?;
        let seconds = began.elapsed().as_secs_f64();
        let bound = score::<f32>(&model, &test, &context)?.mean;
        let found = estimate::<f32>(&model, Likelihood::Importance(draws), &test, &context)?;
        println!(
            "{:<12} {:>10.2} {bound:>10.2} {:>10.2} {:>8.3} {:>12.0} {published:>10}",
            if importance == 1 { "plain".to_owned() } else { format!("{importance} weighted") },
            training.bound_per_row(),
            found.mean,
            found.standard_error.unwrap_or(f64::NAN),
            (rows * epochs) as f64 / seconds
        );
    }
    Ok(())
}
