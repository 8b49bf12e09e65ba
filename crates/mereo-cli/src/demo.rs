//! `mereo demo`: learns a toy world and shows what was found.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use mereo::{Fit, Fitted, Held, Names, write_report};
use mereo_core::{Error, Result, Source, Status};
use mereo_data::toy::{Toy, Truth, World};
use mereo_parts::McvqParams;

use crate::args::Threads;
use crate::output::{self, Voice};
use crate::{fit, interrupt, progress};

/// Columns shared, out of those that either has, from which on a planted part counts as found.
const FOUND: f64 = 0.5;

/// Learn a toy world and write a report on it
///
/// A toy world is data whose parts are known: pictures of shapes, cartoon faces, ratings of films,
/// words in documents. The demo learns its parts from nothing but the rows, says how well they
/// agree with those that were planted, and writes a page to look at. It takes less than a minute.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo demo
  mereo demo shapes
  mereo demo ratings --out /tmp/ratings")]
pub(crate) struct DemoArgs {
    /// The world
    #[arg(value_name = "WORLD", value_parser = crate::toy::world(), default_value = "faces")]
    world: World,

    /// The folder for report.html and model.safetensors
    #[arg(long, value_name = "DIR", default_value = "mereo-demo")]
    out: PathBuf,

    /// The seed of the world and of learning
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    #[command(flatten)]
    threads: Threads,
}

/// Parts and states that suit each world. Faces vary also in skin and light, which want parts of
/// their own.
fn size(world: World) -> (usize, usize) {
    match world {
        World::Shapes => (3, 9),
        World::Faces => (7, 8),
        World::Ratings => (6, 5),
        World::Documents => (6, 3),
    }
}

pub(crate) fn run(args: &DemoArgs, voice: Voice) -> Result<ExitCode> {
    let began = Instant::now();
    std::fs::create_dir_all(&args.out).map_err(|e| Error::io(&args.out, e))?;
    let model_path = args.out.join("model.safetensors");
    let report_path = args.out.join("report.html");
    for path in [&model_path, &report_path] {
        output::check_output(path, &[])?;
    }
    let context = args.threads.context(args.seed)?;
    interrupt::watch(context.stop(), voice);

    let Toy { table, truth } = args.world.make(None, args.seed)?;
    let (parts, states) = size(args.world);
    output::print(&format!(
        "The toy world `{}`: {} rows of {} columns, made of {} parts ({}).\n\
         Learning {parts} parts of {states} states each from the rows alone ...\n",
        args.world,
        table.rows(),
        table.columns(),
        truth.parts.len(),
        truth.parts.join(", ")
    ))?;
    let fit = Fit::new(McvqParams::new(parts, states)).context(&context);
    let fitted = {
        let mut observer = progress::observer(table.rows(), voice);
        fit.observed(Held::Table(table.clone()), &mut *observer)?
    };
    fitted.save(&model_path)?;
    let Some(training) = fitted.training() else { return Err(Error::Interrupted) };
    let learned = fit::in_words(&fitted, &model_path, training, began.elapsed().as_secs_f64());
    let interrupted = training.status == Status::Interrupted;
    // The report is wanted also of what was learned before an interruption.
    let context = args.threads.context(args.seed)?;
    let title = format!("The toy world “{}”", args.world);
    let data_name = format!("toy:{}", args.world);
    let names = Names {
        title: &title,
        model: &model_path.to_string_lossy(),
        data: (args.seed == 0).then_some(&*data_name),
    };
    write_report(&fitted, &[], Some(&table as &dyn Source<f32>), &names, &report_path, &context)?;
    output::print(&format!(
        "\n{learned}\n{}\nThe report to look at: {}\n",
        recovery(&fitted, &truth)?,
        report_path.display()
    ))?;
    Ok(if interrupted { interrupt::exit_code() } else { ExitCode::SUCCESS })
}

/// How well the learned parts agree with those that were planted, in words.
fn recovery(fitted: &Fitted, truth: &Truth) -> Result<String> {
    let view = fitted.model.parts().ok_or_else(|| fitted.incapable("show parts"))?;
    let learned = view.part_of_column();
    let matched = truth.recovery(&learned)?.matched;
    // Columns of each planted part in each learned one.
    let mut counts = vec![vec![0usize; view.parts]; truth.parts.len()];
    for (planted, &learned) in truth.part_of_column.iter().zip(&learned) {
        if let Some(planted) = *planted {
            counts[planted as usize][learned] += 1;
        }
    }
    let mut text = String::new();
    let mut found = 0;
    for (name, own) in truth.parts.iter().zip(&counts) {
        let best = (0..view.parts).max_by_key(|&part| own[part]).unwrap_or(0);
        let planted: usize = own.iter().sum();
        let of_learned: usize = counts.iter().map(|own| own[best]).sum();
        let shared = own[best];
        let either = planted + of_learned - shared;
        let is_found = shared as f64 > FOUND * either as f64;
        found += usize::from(is_found);
        let told = if is_found { format!("is part {best}") } else { "was not found".to_owned() };
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {name:<12} {told}: {shared} of its {planted} columns");
    }
    Ok(format!(
        "{found} of {} planted parts found, {:.0}% of the columns in the part they belong to:\n{text}",
        truth.parts.len(),
        100.0 * matched
    ))
}
