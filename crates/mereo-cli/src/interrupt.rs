//! Ctrl-C: the first press asks for a stop that keeps the best so far, the second kills.

use std::path::Path;
use std::process::ExitCode;

use mereo_core::{Error, Result, Stop};

use crate::output::Voice;

/// What a program that was interrupted answers, by custom.
const CODE: u8 = 130;

/// The exit code of an interrupted program.
pub(crate) fn exit_code() -> ExitCode {
    ExitCode::from(CODE)
}

/// Says where the best so far is kept; the exit code.
pub(crate) fn kept(path: &Path, voice: Voice) -> ExitCode {
    voice.say(format_args!("mereo: interrupted; the best so far is kept in {}", path.display()));
    exit_code()
}

/// Turns Ctrl-C, and a polite request to terminate, into asking for a stop.
pub(crate) fn watch(stop: &Stop, voice: Voice) -> Result<()> {
    let stop = stop.clone();
    let handler = move || {
        if stop.asked() {
            std::process::exit(i32::from(CODE));
        }
        stop.ask();
        voice.say("\nmereo: stopping, and keeping the best so far (once more to kill)");
    };
    ctrlc::set_handler(handler)
        .map_err(|e| Error::io("the interrupt handler", std::io::Error::other(e)))
}
