//! `mereo map`: rows on a page, so that a person can look at them.

mod args;
mod made;
mod onto;
mod points;

use std::path::Path;
use std::process::ExitCode;

use mereo_core::{Error, Result};

pub(crate) use args::MapArgs;
pub(crate) use points::show;

use crate::output::{self, Voice};

pub(crate) fn run(args: &MapArgs, voice: Voice) -> Result<ExitCode> {
    if let Some(csv) = &args.csv {
        output::Format::of(csv, false)?;
        output::check_output(csv, &inputs(args))?;
    }
    match &args.onto {
        Some(map) => onto::run(args, map, voice),
        None => {
            let Some(path) = &args.output else {
                let problem = "a new map needs a file: say one with -o";
                return Err(Error::option("output", problem));
            };
            output::check_output(path, &inputs(args))?;
            made::run(args, path, voice)
        }
    }
}

fn inputs(args: &MapArgs) -> Vec<&Path> {
    let paths = [Some(&args.data), args.model.as_ref(), args.onto.as_ref()];
    paths.into_iter().flatten().map(std::path::PathBuf::as_path).collect()
}
