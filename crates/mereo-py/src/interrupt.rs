//! Long work without the interpreter's lock, which Ctrl-C can stop.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use mereo::Stop;
use pyo3::prelude::*;

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// Runs work on a thread of its own while this one looks for signals: only Python's main thread is told of
/// them. Ctrl-C asks the work to stop; its result comes back with the exception that is to be raised.
pub(crate) fn watched<R: Send>(
    py: Python<'_>,
    stop: &Stop,
    work: impl FnOnce() -> R + Send,
) -> (R, Option<PyErr>) {
    py.detach(|| {
        std::thread::scope(|scope| {
            let (done, wait) = channel();
            let worker = scope.spawn(move || {
                let result = work();
                // Nobody waits if a panic is on its way.
                let _ = done.send(());
                result
            });
            let mut interrupted = None;
            while wait.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if interrupted.is_none()
                    && let Err(signal) = Python::attach(|py| py.check_signals())
                {
                    stop.ask();
                    interrupted = Some(signal);
                }
            }
            match worker.join() {
                Ok(result) => (result, interrupted),
                Err(panic) => resume_unwind(panic),
            }
        })
    })
}
