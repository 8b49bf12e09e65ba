//! How long a pass takes, as ratios from one run: to the bare matrix products that it cannot do
//! without, and from one thread to two. `cargo xtask bench` runs it; words as arguments choose
//! among the benchmarks by name.

mod data;
mod fields;
mod products;
mod ratings;

use mereo_core::{Context, Observer, Plan, Real, Record, Result, Silent, Source, Training};
use mereo_linear::{FaParams, Loss, NmfParams, PcaParams, factor, nmf, pca};
use mereo_mixture::{Covariance, DeepGmmParams, GmmParams, deep, gaussian};
use mereo_parts::{McvqParams, mcvq};
use mereo_quantize::{GvqParams, VqParams, gvq, vq};

/// Keeps the times between passes.
#[derive(Default)]
struct Clock {
    last: Option<f64>,
    times: Vec<f64>,
}

impl Observer for Clock {
    fn passed(&mut self, record: &Record) {
        if let Some(last) = self.last {
            self.times.push(record.seconds - last);
        }
        self.last = Some(record.seconds);
    }
}

impl Clock {
    /// The shortest, in milliseconds: what a machine that others use too shows now and then.
    fn shortest(&self) -> f64 {
        self.times.iter().copied().fold(f64::INFINITY, f64::min) * 1e3
    }

    /// The median, in milliseconds.
    fn milliseconds(mut self) -> f64 {
        self.times.sort_by(f64::total_cmp);
        self.times[self.times.len() / 2] * 1e3
    }
}

fn plan(passes: usize) -> Plan {
    Plan { restarts: 1, passes, tolerance: 0.0, checkpoints: None, ..Plan::default() }
}

fn time_pass<T: Real, M>(
    source: &dyn Source<T>,
    threads: usize,
    fit: impl Fn(&dyn Source<T>, &Plan, &Context, &mut dyn Observer) -> Result<(M, Training)>,
) -> Result<f64> {
    let mut clock = Clock::default();
    fit(source, &plan(20), &Context::new(0).with_threads(threads)?, &mut clock)?;
    Ok(clock.milliseconds())
}

fn dense<T: Real>(rows: usize, columns: usize, missing: bool) -> Result<()> {
    let table = data::dense::<T>(rows, columns, missing)?;
    let fit =
        |source: &dyn Source<T>, plan: &Plan, context: &Context, observer: &mut dyn Observer| {
            mcvq::fit(&McvqParams::new(6, 12), source, plan, context, observer)
        };
    let bare = products::milliseconds::<T>(rows, columns, 72, if missing { 3 } else { 2 }, 2)?;
    let two = time_pass(&table, 2, fit)?;
    let again = products::milliseconds::<T>(rows, columns, 72, if missing { 3 } else { 2 }, 2)?;
    let one = time_pass(&table, 1, fit)?;
    let bare = bare.min(again);
    let name = if missing { "masked" } else { "dense" };
    println!(
        "mcvq {name} {} {rows} x {columns}, 6 x 12: {two:.1} ms a pass on two threads; bare products {bare:.1} ms; ratio {:.2}; one thread {one:.1} ms, scaling {:.2}",
        T::NAME,
        two / bare,
        one / two,
    );
    Ok(())
}

/// The linear models, beside the lines that `peers.py` prints.
fn linear() -> Result<()> {
    let table = data::dense::<f32>(20_000, 361, false)?;
    let context = Context::new(0).with_threads(2)?;
    let mut times = Vec::new();
    for _ in 0..5 {
        let began = std::time::Instant::now();
        pca::fit(&PcaParams::new(50), &table, &plan(1), &context, &mut Silent)?;
        times.push(began.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    println!("PCA of 50, f32 20000 x 361: {:.1} ms in all on two threads", 1e3 * times[2]);
    let factors = time_pass(&table, 2, |source, plan, context, observer| {
        factor::fit_fa(&FaParams::new(24), source, plan, context, observer)
    })?;
    println!("factor analysis of 24, f32 20000 x 361: {factors:.2} ms a pass on two threads");
    let holes = data::dense::<f32>(20_000, 361, true)?;
    let factors = time_pass(&holes, 2, |source, plan, context, observer| {
        factor::fit_fa(&FaParams::new(24), source, plan, context, observer)
    })?;
    println!("factor analysis of 24 with a tenth missing: {factors:.1} ms a pass on two threads");
    let positive = data::positive(&table)?;
    for (loss, name) in [(Loss::Kl, "KL"), (Loss::Frobenius, "Frobenius")] {
        let params = NmfParams { loss, ..NmfParams::new(72) };
        let pass = time_pass(&positive, 2, |source, plan, context, observer| {
            nmf::fit(&params, source, plan, context, observer)
        })?;
        println!("NMF of 72, {name}, f32 20000 x 361: {pass:.1} ms a pass on two threads");
    }
    Ok(())
}

/// A Deep Gaussian mixture: a pass, and its E-step beside the fastest product there is.
fn deep_mixture() -> Result<()> {
    let (rows, columns, paths) = (50_000, 63, 50);
    let context = Context::new(0).with_threads(2)?;
    let table = data::scaled::<f32>(rows, columns)?;
    let params = DeepGmmParams::new(&[10, 5]);
    let pass = time_pass(&table, 2, |source, plan, context, observer| {
        deep::fit(&params, source, plan, context, observer)
    })?;
    println!("deep mixture of 10, 5, f32 {rows} x {columns}: {pass:.0} ms a pass on two threads");
    // Scores are E-steps alone, in double precision.
    let (model, _) = deep::fit(&params, &table, &plan(3), &context, &mut Silent)?;
    let table = data::scaled::<f64>(rows, columns)?;
    let mut times = Vec::new();
    for _ in 0..5 {
        let began = std::time::Instant::now();
        mereo_core::score::<f64>(&model, &table, &context)?;
        times.push(began.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let done = 2.0 * (rows * paths * columns * columns) as f64 / times[2];
    let peak = products::peak::<f64>(2)?;
    println!(
        "its E-step, f64: {:.0} ms, {:.0}% of the speed of large products",
        1e3 * times[2],
        100.0 * done / peak
    );
    Ok(())
}

/// Rows of 256 pixels said with features, beside what `quantisers.py` says of FAISS.
fn features() -> Result<()> {
    let blocks = data::dense::<f32>(100_000, 256, false)?;
    let few = blocks.select_rows(&(0..4000).collect::<Vec<_>>());
    let context = Context::new(0).with_threads(2)?;
    for n in [8, 16] {
        let (model, _) = gvq::fit(&GvqParams::new(n), &few, &plan(10), &context, &mut Silent)?;
        let mut times = Vec::new();
        for _ in 0..5 {
            let began = std::time::Instant::now();
            mereo_core::encode::<f32>(&model, &blocks, &context)?;
            times.push(began.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        println!(
            "GVQ of {n}: {:.1} million blocks of 256 pixels encoded a minute on two threads",
            60.0 * 0.1 / times[2]
        );
    }
    Ok(())
}

/// Whether a benchmark was asked for: all are, unless words of their names are given.
fn asked(name: &str) -> bool {
    let mut words = std::env::args().skip(1).peekable();
    words.peek().is_none() || words.any(|word| name.contains(&word))
}

fn main() -> Result<()> {
    if asked("dense") {
        dense::<f32>(20_000, 361, false)?;
        dense::<f64>(20_000, 361, false)?;
    }
    if asked("masked") {
        dense::<f32>(20_000, 361, true)?;
        dense::<f64>(20_000, 361, true)?;
    }
    let table = data::dense::<f32>(20_000, 361, false)?;
    if asked("mixture") {
        let mixture = time_pass(&table, 2, |source, plan, context, observer| {
            gaussian::fit(&GmmParams::new(60), source, plan, context, observer)
        })?;
        println!("diagonal mixture of 60, f32 20000 x 361: {mixture:.1} ms a pass on two threads");
        let params = GmmParams::with(20, Covariance::Full);
        let mixture = time_pass(&table, 2, |source, plan, context, observer| {
            gaussian::fit(&params, source, plan, context, observer)
        })?;
        println!("full mixture of 20, f32 20000 x 361: {mixture:.0} ms a pass on two threads");
    }
    if asked("deep") {
        deep_mixture()?;
    }
    if asked("k-means") {
        let means = time_pass(&table, 2, |source, plan, context, observer| {
            vq::fit(&VqParams::new(72), source, plan, context, observer)
        })?;
        println!("k-means of 72, f32 20000 x 361: {means:.1} ms a pass on two threads");
    }
    if asked("fields") {
        fields::all()?;
    }
    if asked("linear") {
        linear()?;
    }
    if asked("features") {
        features()?;
    }
    ratings::all()
}
