//! `mereo completions`: what shells need to complete the program's options.

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use mereo_core::Result;

use crate::args::Cli;
use crate::output;

/// Print what a shell needs to complete mereo's verbs and options
///
/// The text goes to standard output; where it belongs depends on the shell.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo completions bash > ~/.local/share/bash-completion/completions/mereo
  mereo completions zsh > ~/.zfunc/_mereo
  mereo completions fish > ~/.config/fish/completions/mereo.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs) -> Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "mereo", &mut text);
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}
