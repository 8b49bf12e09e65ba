//! The program `mereo`. All of it is in the library beside this file, so that other front ends have it too.

use std::process::ExitCode;

fn main() -> ExitCode {
    mereo_cli::run_program(std::env::args_os())
}
