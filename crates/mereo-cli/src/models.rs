//! `mereo models`: the models that can be learned, and what can be chosen for each.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use mereo::{ModelKind, models};
use mereo_core::Result;
use serde_json::{Value, json};

use crate::output;

/// List the models that can be learned
///
/// For each its name, what it is, what it can do and what can be chosen for it, with defaults. `mereo fit
/// MODEL --help` says more about one. --json prints all of it for programs.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo models
  mereo models --json | jq '.[] | .name'
  mereo fit gmm --help")]
pub(crate) struct ModelsArgs {
    /// Print a JSON list: name, about, params, capabilities of each
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ModelsArgs) -> Result<ExitCode> {
    if args.json {
        output::print_json(&Value::Array(models().iter().map(in_json).collect()))?;
    } else {
        output::print(&models().iter().map(in_words).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn in_json(kind: &ModelKind) -> Value {
    json!({
        "name": kind.name,
        "title": kind.title,
        "about": kind.about,
        "params": kind.params(),
        "restarts": kind.restarts,
        "capabilities": kind.capabilities,
        "examples": kind.examples,
    })
}

fn in_words(kind: &ModelKind) -> String {
    let mut text = format!("{}  {}\n", kind.name, kind.title);
    // Writing to a string does not fail.
    let _ = writeln!(text, "  can {}", kind.capabilities.join(", "));
    let options = kind.params().into_iter().map(|info| match &info.default {
        None => format!("--{} (needed)", info.option()),
        Some(Value::Null | Value::Bool(_)) => format!("--{}", info.option()),
        Some(Value::String(text)) => format!("--{} {text}", info.option()),
        Some(other) => format!("--{} {other}", info.option()),
    });
    let _ = writeln!(text, "  {}", options.collect::<Vec<_>>().join(", "));
    text
}
