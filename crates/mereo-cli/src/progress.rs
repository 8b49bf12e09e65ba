//! Telling how learning goes: a bar with an ETA on a terminal, a few plain lines elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use mereo_core::{Observer, Record, Silent};

use crate::interrupt;
use crate::output::Voice;

/// Least time between two plain lines.
const EVERY: Duration = Duration::from_secs(5);

/// Whoever watches learning, as fits where standard error goes.
pub(crate) fn observer(rows: usize, voice: Voice) -> Box<dyn Observer> {
    let told: Box<dyn Observer> = if voice.is_quiet() {
        Box::new(Silent)
    } else if std::io::stderr().is_terminal() {
        Box::new(Bar::new(rows, voice))
    } else {
        Box::new(Lines { rows, voice, told: Instant::now(), first: None, trying: None })
    };
    Box::new(Kept(told))
}

/// After the first pass there is something to keep, should the program be stopped.
struct Kept(Box<dyn Observer>);

impl Observer for Kept {
    fn starting(&mut self, restart: usize, restarts: usize) {
        self.0.starting(restart, restarts);
    }

    fn trying(&mut self, what: &str, number: usize, most: usize) {
        self.0.trying(what, number, most);
    }

    fn warned(&mut self, warning: &str) {
        self.0.warned(warning);
    }

    fn passed(&mut self, record: &Record) {
        interrupt::learned();
        self.0.passed(record);
    }
}

fn per_row(bound: f64, rows: usize) -> f64 {
    bound / rows.max(1) as f64
}

/// A bar over all passes that may be needed: the ETA is that of the worst case, and restarts that
/// converge early bring it down.
struct Bar {
    rows: usize,
    voice: Voice,
    line: ProgressBar,
    /// Whether no pass was seen since the last start, which took a time of its own.
    fresh: bool,
    /// What is only tried, and how far the search for the best of it is.
    trying: Option<String>,
}

impl Bar {
    fn new(rows: usize, voice: Voice) -> Self {
        Self {
            rows,
            voice,
            line: bar(1, STARTING, "surveying the data"),
            fresh: true,
            trying: None,
        }
    }
}

/// How the bar looks while there is nothing to count, and while there is.
const STARTING: &str = "{spinner} {msg}";
const TRYING: &str = "{spinner} {msg} {wide_bar} {elapsed} so far";
const PASSING: &str = "{spinner} {msg} {wide_bar} {percent:>3}% at most {eta} left";

fn bar(length: u64, template: &str, what: &str) -> ProgressBar {
    let line = ProgressBar::new(length).with_style(style(template));
    line.set_message(what.to_owned());
    line.enable_steady_tick(Duration::from_millis(120));
    line
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("━╸ ")
}

impl Observer for Bar {
    fn starting(&mut self, restart: usize, restarts: usize) {
        self.line.set_style(style(STARTING));
        self.line.set_message(format!("making start {} of {restarts}", restart + 1));
        self.fresh = true;
        self.trying = None;
    }

    fn trying(&mut self, what: &str, number: usize, most: usize) {
        self.line.set_style(style(TRYING));
        self.line.set_length(most as u64);
        self.line.set_position(number as u64 - 1);
        self.line.set_message(attempt(what, number, most));
        self.trying = Some(attempt(what, number, most));
    }

    fn warned(&mut self, warning: &str) {
        self.line.suspend(|| self.voice.say(format_args!("warning: {warning}")));
    }

    fn passed(&mut self, record: &Record) {
        if let Some(trying) = &self.trying {
            self.line.set_message(format!("{trying}, {}", restart_and_pass(record)));
            return;
        }
        self.line.set_length(all_passes(record) as u64);
        self.line.set_position(passes_done(record) as u64);
        if self.fresh {
            self.line.set_style(style(PASSING));
            self.line.reset_eta();
            self.fresh = false;
        }
        self.line.set_message(format!(
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
        self.line.finish_and_clear();
    }
}

/// A line for each start, and one now and then.
struct Lines {
    rows: usize,
    voice: Voice,
    /// When the last line was said.
    told: Instant,
    /// Seconds and passes at the first pass since the last start.
    first: Option<(f64, usize)>,
    /// What is only tried, and when the first of it was.
    trying: Option<(String, Instant)>,
}

impl Observer for Lines {
    fn starting(&mut self, restart: usize, restarts: usize) {
        self.voice.say(format_args!("start {} of {restarts}", restart + 1));
        self.told = Instant::now();
        self.first = None;
        self.trying = None;
    }

    fn trying(&mut self, what: &str, number: usize, most: usize) {
        let began = self.trying.take().map_or_else(Instant::now, |(_, began)| began);
        self.trying = Some((attempt(what, number, most), began));
    }

    fn warned(&mut self, warning: &str) {
        self.voice.say(format_args!("warning: {warning}"));
    }

    fn passed(&mut self, record: &Record) {
        if let Some((trying, began)) = &self.trying {
            if self.told.elapsed() >= EVERY {
                self.told = Instant::now();
                let (seconds, pass) = (began.elapsed().as_secs_f64(), restart_and_pass(record));
                self.voice.say(format_args!("{trying}, {pass}, {seconds:.0} s so far"));
            }
            return;
        }
        let done = passes_done(record);
        let (seconds, passes) = *self.first.get_or_insert((record.seconds, done));
        if self.told.elapsed() < EVERY || done == passes {
            return;
        }
        self.told = Instant::now();
        let each = (record.seconds - seconds) / (done - passes) as f64;
        self.voice.say(format_args!(
            "restart {} of {}, pass {}, bound {:.4} nats a row, {:.0} s, at most {:.0} s left",
            record.restart + 1,
            record.restarts,
            record.pass,
            per_row(record.bound, self.rows),
            record.seconds,
            each * (all_passes(record) - done) as f64
        ));
    }
}

/// How far a search is: how many it will be in the end nobody knows, only how many at most.
fn attempt(what: &str, number: usize, most: usize) -> String {
    format!("finding the size: trying {what}, number {number} of at most {most}")
}

fn restart_and_pass(record: &Record) -> String {
    format!("restart {} of {}, pass {}", record.restart + 1, record.restarts, record.pass)
}

/// Telling what share of some work is done, from 0 to 1.
pub(crate) fn share(what: &str, voice: Voice) -> Share {
    let seen = !voice.is_quiet() && std::io::stderr().is_terminal();
    let line = seen.then(|| bar(1000, SHARING, what));
    Share {
        what: what.to_owned(),
        voice,
        line,
        began: Instant::now(),
        told: Instant::now(),
        warned: None,
    }
}

/// A bar, or a line now and then.
pub(crate) struct Share {
    what: String,
    voice: Voice,
    line: Option<ProgressBar>,
    began: Instant,
    told: Instant,
    warned: Option<String>,
}

const SHARING: &str = "{spinner} {msg} {wide_bar} {percent:>3}% about {eta} left";

impl Share {
    pub(crate) fn set(&mut self, share: f64) {
        if let Some(line) = &self.line {
            line.set_position((1000.0 * share) as u64);
        } else if self.told.elapsed() >= EVERY {
            self.told = Instant::now();
            let seconds = self.began.elapsed().as_secs_f64();
            self.voice.say(format_args!(
                "{}: {:.0}%, {seconds:.0} s, about {:.0} s left",
                self.what,
                100.0 * share,
                seconds * (1.0 / share - 1.0)
            ));
        }
    }
}

impl Share {
    /// Says what went wrong, if it did not say the same before.
    pub(crate) fn warn(&mut self, warning: &str) {
        if self.warned.as_deref() == Some(warning) {
            return;
        }
        let say = || self.voice.say(format_args!("warning: {warning}"));
        match &self.line {
            Some(line) => line.suspend(say),
            None => say(),
        }
        self.warned = Some(warning.to_owned());
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.line.iter().for_each(ProgressBar::finish_and_clear);
    }
}

/// Passes of all restarts, should none converge early. The last of each only measures the bound.
fn all_passes(record: &Record) -> usize {
    record.passes.saturating_add(1).saturating_mul(record.restarts)
}

/// Those that are behind us.
fn passes_done(record: &Record) -> usize {
    record.passes.saturating_add(1).saturating_mul(record.restart) + record.pass + 1
}
