//! One target, fed until the time is up.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use mereo_core::Error;

use crate::allocator::{Memory, watch};
use crate::seeds::Seeds;
use crate::{Limits, save_finding};

/// Where the last panic was, and what it said.
static PANIC: Mutex<(String, String)> = Mutex::new((String::new(), String::new()));

/// What a worker tells at the end.
pub(crate) struct Told {
    pub(crate) executions: u64,
    pub(crate) memory: Memory,
    pub(crate) slowest: Duration,
    pub(crate) outcomes: BTreeMap<&'static str, u64>,
    /// Each kind of finding, and how often it was made.
    pub(crate) findings: BTreeMap<String, u64>,
}

/// Feeds a target. Before each execution its number goes to `progress`, so that whoever watches
/// knows which input killed us, if one does.
pub(crate) fn work(
    name: &str,
    seeds: &Seeds,
    limits: &Limits,
    progress: &Path,
) -> std::io::Result<Told> {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let said = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        if let Ok(mut last) = PANIC.lock() {
            *last = (place, said.unwrap_or_default().to_owned());
        }
    }));
    let target = crate::targets::Target::of(name).expect("checked by whoever called");
    let mut progress = File::create(progress)?;
    let mut told = Told {
        executions: 0,
        memory: Memory::default(),
        slowest: Duration::ZERO,
        outcomes: BTreeMap::new(),
        findings: BTreeMap::new(),
    };
    let began = Instant::now();
    // The seeds themselves are always tried.
    while told.executions < seeds.files().len() as u64 || began.elapsed() < limits.time {
        let input = seeds.input(limits.seed, told.executions);
        progress.seek(SeekFrom::Start(0))?;
        progress.write_all(&told.executions.to_le_bytes())?;
        let start = Instant::now();
        let (outcome, memory) = watch(|| catch_unwind(AssertUnwindSafe(|| target.run(&input))));
        let took = start.elapsed();
        // What each finding is, and what more there is to say about this one.
        let mut found = Vec::new();
        let kind = match outcome {
            Ok(Ok(())) => "ok",
            Ok(Err(error)) => kind_of(&error),
            Err(_) => {
                let (place, said) = PANIC.lock().map(|last| last.clone()).unwrap_or_default();
                found.push((format!("panic at {place}"), said));
                "panic"
            }
        };
        let most = memory.peak.max(memory.largest);
        if most > limits.bytes {
            found.push(("too much memory".to_owned(), format!("{most} bytes")));
        }
        if took > limits.slow {
            found.push(("too slow".to_owned(), format!("{:.1} s", took.as_secs_f64())));
        }
        for (finding, more) in found {
            let finding_more = format!("{finding}: {more}");
            let times = told.findings.entry(finding).or_default();
            *times += 1;
            if *times == 1 {
                save_finding(name, told.executions, &input, &finding_more)?;
            }
        }
        *told.outcomes.entry(kind).or_default() += 1;
        told.memory = told.memory.max(memory);
        told.slowest = told.slowest.max(took);
        told.executions += 1;
    }
    Ok(told)
}

fn kind_of(error: &Error) -> &'static str {
    match error {
        Error::Data { .. } => "data",
        Error::Option { .. } => "option",
        Error::ModelFile { .. } => "model file",
        Error::Checkpoint { .. } => "checkpoint",
        Error::Incapable { .. } => "incapable",
        Error::Io { .. } => "io",
        Error::Interrupted => "interrupted",
        _ => "other",
    }
}
