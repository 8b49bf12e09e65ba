//! The one entry point for contributors: `cargo xtask VERB`.
//!
//! It has no dependencies, so that it compiles in seconds. All checks share the dev profile, so
//! that what the project depends on compiles once.

mod bench;
mod browser;
mod command;
mod experiments;
mod python;
mod supply;

use std::process::ExitCode;
use std::time::Instant;

use command::{Outcome, cargo, exists};

const HELP: &str = "\
cargo xtask VERB

  test                     every check: format, licences, lints, tests, documentation, reports in a browser, the Python package
  python                   the Python package alone: its wheel, in an environment of its own, and its tests
  bench                    benchmarks, and the peers beside us
  fuzz [SECONDS] [NAME..]  hostile input for readers and loaders, SECONDS on each (default 300)
  experiments [NAME [..]]  the papers' tables and figures, all of them, or one with its arguments
  docs                     the library's documentation; a warning is an error";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest = arguments.get(1..).unwrap_or_default();
    let began = Instant::now();
    let outcome = match arguments.first().map(String::as_str) {
        Some("test") if rest.is_empty() => test(),
        Some("python") if rest.is_empty() => python::run(),
        Some("bench") if rest.is_empty() => bench::run(),
        Some("fuzz") => fuzz(rest),
        Some("experiments") => experiments::run(rest.first(), rest.get(1..).unwrap_or_default()),
        Some("docs") if rest.is_empty() => docs(),
        Some("help" | "--help" | "-h") => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{HELP}");
            return ExitCode::from(2);
        }
    };
    let seconds = began.elapsed().as_secs();
    match outcome {
        Ok(()) => {
            println!("\nxtask {}: all is well, in {seconds} s", arguments.join(" "));
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("\nxtask {}: failed after {seconds} s: {failure}", arguments.join(" "));
            ExitCode::from(failure.code)
        }
    }
}

/// Programs without tests: that they are sound Rust the lints have seen, and optimising each of
/// them would take longer than all tests.
const UNTESTED: [&str; 4] = ["--exclude", "mereo-experiments", "--exclude", "mereo-benches"];

/// Every check, the quick ones first.
fn test() -> Outcome {
    cargo("fmt --all --check").run()?;
    supply::run()?;
    cargo("clippy --workspace --all-targets -- --deny warnings").run()?;
    docs()?;
    // Everything at once: building package by package would choose features, and compile what
    // we depend on, anew for each.
    cargo("build --workspace --all-targets").with(UNTESTED).run()?;
    if exists("cargo-nextest") {
        cargo("nextest run --workspace").with(UNTESTED).run()?;
    } else {
        println!("\ncargo-nextest is not installed: cargo's own runner does the same, one by one");
        cargo("test --workspace --lib --bins --tests --examples").with(UNTESTED).run()?;
    }
    cargo("test --workspace --doc").run()?;
    browser::run()?;
    python::run()
}

/// Only libraries: the program `mereo` and the library `mereo` would write the same page.
fn docs() -> Outcome {
    cargo("doc --no-deps --workspace --lib").set("RUSTDOCFLAGS", "--deny warnings").run()
}

fn fuzz(arguments: &[String]) -> Outcome {
    cargo("run --release --package mereo-fuzz --").with(arguments).run()
}
