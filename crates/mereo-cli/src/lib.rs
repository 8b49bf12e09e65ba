//! The program `mereo`: learns the parts that data is made of, and shows them.
//!
//! One file a verb; what they share stands in `args` and `output`; the library does the work.

mod args;
mod ask;
mod classify;
mod completions;
mod compress;
mod decompress;
mod demo;
mod denoise;
mod encode;
mod evaluate;
mod explain;
mod field;
mod fill;
mod fit;
mod given;
mod groups;
mod hybrid;
mod inspect;
mod interrupt;
mod map;
mod models;
mod odd;
mod output;
mod patches;
mod predict;
mod progress;
mod recommend;
mod reconstruct;
mod report;
mod sample;
mod score;
mod segment;
mod show;
mod similar;
mod suggest;
mod toy;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use mereo_core::{Error, Result};

use args::{Cli, Verb};
use output::Voice;

/// Runs the program with these arguments, the first of which is its name.
pub fn run_program(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(mut message) => {
            suggest::mend(&mut message, &arguments);
            return usage(&message);
        }
    };
    if cli.force {
        output::force();
    }
    let voice = Voice::new(cli.quiet);
    let outcome = interrupt::guard().and_then(|()| run(cli.verb, voice));
    match outcome {
        Ok(code) => code,
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => {
            // Whoever was reading has seen enough.
            ExitCode::SUCCESS
        }
        Err(error) => {
            output::complain(&error);
            match error {
                Error::Interrupted => interrupt::exit_code(),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

fn run(verb: Verb, voice: Voice) -> Result<ExitCode> {
    match verb {
        Verb::Demo(args) => demo::run(&args, voice),
        Verb::Toy(args) => toy::run(&args, voice),
        Verb::Patches(args) => patches::run(&args, voice),
        Verb::Inspect(args) => inspect::run(&args, voice),
        Verb::Fill(args) => fill::run(&args, voice),
        Verb::Odd(args) => odd::run(&args, voice),
        Verb::Groups(args) => groups::run(&args, voice),
        Verb::Fit(args) => fit::run(&args, voice),
        Verb::Models(args) => models::run(&args),
        Verb::Classify(args) => classify::run(&args, voice),
        Verb::Explain(args) => explain::run(&args, voice),
        Verb::Score(args) => score::run(&args, voice),
        Verb::Encode(args) => encode::run(&args, voice),
        Verb::Reconstruct(args) => reconstruct::run(&args, voice),
        Verb::Predict(args) => predict::run(&args, voice),
        Verb::Recommend(args) => recommend::run(&args, voice),
        Verb::Ask(args) => ask::run(&args, voice),
        Verb::Evaluate(args) => evaluate::run(&args, voice),
        Verb::Similar(args) => similar::run(&args, voice),
        Verb::Sample(args) => sample::run(&args, voice),
        Verb::Compress(args) => compress::run(&args, voice),
        Verb::Decompress(args) => decompress::run(&args, voice),
        Verb::Denoise(args) => denoise::run(&args, voice),
        Verb::Segment(args) => segment::run(&args, voice),
        Verb::Field(args) => field::run(&args, voice),
        Verb::Map(args) => map::run(&args, voice),
        Verb::Show(args) => show::run(&args),
        Verb::Report(args) => report::run(&args, voice),
        Verb::Completions(args) => completions::run(&args),
    }
}

/// Help and version go to standard output, usage errors to standard error.
fn usage(message: &clap::Error) -> ExitCode {
    if message.use_stderr() {
        output::complain_about_usage(message);
    } else {
        // Nobody left to read it is no error.
        let _ = message.print();
    }
    ExitCode::from(u8::try_from(message.exit_code()).unwrap_or(2))
}
