//! Telling how learning goes: a bar with an ETA on a terminal, a few plain lines elsewhere.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use mereo_core::{Observer, Record, Silent};

use crate::output::Voice;

/// Least seconds between two plain lines.
const EVERY: f64 = 5.0;

/// Whoever watches learning, as fits where standard error goes.
pub(crate) fn observer(rows: usize, voice: Voice) -> Box<dyn Observer> {
    if voice.is_quiet() {
        Box::new(Silent)
    } else if std::io::stderr().is_terminal() {
        Box::new(Bar::new(rows))
    } else {
        Box::new(Lines { rows, voice, told: 0.0 })
    }
}

fn per_row(bound: f64, rows: usize) -> f64 {
    bound / rows.max(1) as f64
}

/// A bar over all passes that may be needed: the ETA is that of the worst case, and restarts that
/// converge early bring it down.
struct Bar {
    rows: usize,
    bar: ProgressBar,
}

impl Bar {
    fn new(rows: usize) -> Self {
        let style = "{spinner} {msg} {wide_bar} {percent:>3}% at most {eta} left";
        let style = ProgressStyle::with_template(style)
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .progress_chars("━╸ ");
        let bar = ProgressBar::new(1).with_style(style).with_message("surveying the data");
        bar.enable_steady_tick(Duration::from_millis(120));
        Self { rows, bar }
    }
}

impl Observer for Bar {
    fn starting(&mut self, restart: usize, restarts: usize) {
        self.bar.set_message(format!("making start {} of {restarts}", restart + 1));
    }

    fn passed(&mut self, record: &Record) {
        let each = record.passes as u64 + 1;
        self.bar.set_length(each * record.restarts as u64);
        self.bar.set_position(record.restart as u64 * each + record.pass as u64 + 1);
        self.bar.set_message(format!(
            "restart {} of {}, pass {}, bound {:.4} nats a row",
            record.restart + 1,
            record.restarts,
            record.pass,
            per_row(record.bound, self.rows)
        ));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A line for each start, and one now and then.
struct Lines {
    rows: usize,
    voice: Voice,
    told: f64,
}

impl Observer for Lines {
    fn starting(&mut self, restart: usize, restarts: usize) {
        self.voice.say(format_args!("start {} of {restarts}", restart + 1));
    }

    fn passed(&mut self, record: &Record) {
        if record.seconds - self.told < EVERY {
            return;
        }
        self.told = record.seconds;
        let done = (record.restart * (record.passes + 1) + record.pass + 1) as f64;
        let all = (record.restarts * (record.passes + 1)) as f64;
        self.voice.say(format_args!(
            "restart {} of {}, pass {}, bound {:.4} nats a row, {:.0} s, at most {:.0} s left",
            record.restart + 1,
            record.restarts,
            record.pass,
            per_row(record.bound, self.rows),
            record.seconds,
            record.seconds / done * (all - done)
        ));
    }
}
