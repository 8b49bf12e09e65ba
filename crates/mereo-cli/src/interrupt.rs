//! Signals. Whatever the program is at, a signal leaves no half-written file behind. While it learns,
//! the first one asks for a stop that keeps the best so far, and the second kills.

use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mereo_core::{Error, Result, Stop, abandon_files};

use crate::output::{self, Voice};

/// What a program that was interrupted answers, by custom: 128 and the number of the signal.
const CODE: u8 = 130;

/// How long after a signal there may be something to keep after all, before the program gives up
/// because nothing was learned yet: a pass may be about to end.
const PATIENCE: Duration = Duration::from_millis(1500);

/// The work that can be stopped and keeps what it has, once there is such work.
static STOP: OnceLock<(Stop, Voice)> = OnceLock::new();

/// Whether that work has something to keep.
static LEARNED: AtomicBool = AtomicBool::new(false);

/// The exit code of an interrupted program.
pub(crate) fn exit_code() -> ExitCode {
    ExitCode::from(CODE)
}

/// Says where the best so far is kept; the exit code.
pub(crate) fn kept(path: &Path, voice: Voice) -> ExitCode {
    voice.say(format_args!("mereo: interrupted; the best so far is kept in {}", path.display()));
    exit_code()
}

/// Turns signals from now on into asking for a stop.
pub(crate) fn watch(stop: &Stop, voice: Voice) {
    // There is one piece of such work in a run of the program.
    let _ = STOP.set((stop.clone(), voice));
}

/// Says that there is something to keep if the work is stopped.
pub(crate) fn learned() {
    LEARNED.store(true, Ordering::Relaxed);
}

/// Takes care of signals from the beginning of the program to its end. Those that the program was told
/// to ignore by whoever started it (`nohup`) stay ignored.
pub(crate) fn guard() -> Result<()> {
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU};
        let all = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU];
        let ignored = ignored_signals();
        let ours = all.into_iter().filter(|&signal| match ignored {
            Some(mask) => mask >> (signal - 1) & 1 == 0,
            // Where the system does not say, the one that matters to `nohup` is left alone.
            None => signal != SIGHUP,
        });
        let mut signals = signal_hook::iterator::Signals::new(ours)
            .map_err(|e| Error::io("the handler of signals", e))?;
        std::thread::spawn(move || {
            for signal in signals.forever() {
                came(signal);
            }
        });
    }
    #[cfg(not(unix))]
    ctrlc::set_handler(|| came(2))
        .map_err(|e| Error::io("the handler of signals", std::io::Error::other(e)))?;
    Ok(())
}

/// The signals that are ignored, as Linux tells them: one bit each.
#[cfg(unix)]
fn ignored_signals() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

/// Whether a signal asks for an end that keeps what there is.
fn is_polite(signal: i32) -> bool {
    /// Hang-up, interrupt, terminate.
    const POLITE: [i32; 3] = [1, 2, 15];
    POLITE.contains(&signal)
}

/// What happens on a signal, on a thread of its own.
fn came(signal: i32) {
    let polite = is_polite(signal);
    let Some((stop, voice)) = STOP.get().filter(|(stop, _)| polite && !stop.asked()) else {
        end(signal)
    };
    stop.ask();
    if LEARNED.load(Ordering::Relaxed) {
        voice.say("\nmereo: stopping, and keeping the best so far (once more to kill)");
        return;
    }
    voice.say("\nmereo: stopping (once more to kill)");
    std::thread::spawn(move || {
        std::thread::sleep(PATIENCE);
        if !LEARNED.load(Ordering::Relaxed) {
            output::complain(&Error::Interrupted);
            end(i32::from(CODE) - 128);
        }
    });
}

/// Ends the program at once, and leaves no half-written file.
fn end(signal: i32) -> ! {
    abandon_files();
    std::process::exit(128 + signal)
}
