//! Pieces of work before the first pass that are worth keeping.
//!
//! A start may take longer than many passes. Whoever makes one asks for each longer piece of it by a name, and tells it when it is
//! done; if the loop keeps checkpoints they hold the pieces too, and a run that goes on finds what was done.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{pack, unpack};

/// What is written together with the pieces: called with them, it writes a checkpoint.
type Write = Box<dyn Fn(&BTreeMap<String, Vec<u8>>) -> Option<String> + Send>;

/// Finished pieces of a start, by their names. Clones share them.
///
/// ```
/// use mereo_core::Pieces;
/// let pieces = Pieces::default();
/// assert_eq!(pieces.get::<f64>("a third"), None);
/// pieces.keep(&[("a third", &(1.0 / 3.0))]);
/// assert_eq!(pieces.get::<f64>("a third"), Some(1.0 / 3.0));
/// ```
#[derive(Clone, Default)]
pub struct Pieces(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    done: BTreeMap<String, Vec<u8>>,
    /// How a checkpoint is written while a start is made, how often, and when it was last.
    write: Option<(Write, Duration, Instant)>,
    warning: Option<String>,
}

impl Pieces {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A piece that was kept before.
    pub fn get<P: DeserializeOwned>(&self, name: &str) -> Option<P> {
        let kept = self.kept();
        kept.done.get(name).and_then(|bytes| unpack(bytes).ok())
    }

    /// Keeps pieces, all of them or none, in the place of those of the same names; and writes a checkpoint if one is due.
    pub fn keep<P: Serialize>(&self, pieces: &[(&str, &P)]) {
        let packed =
            pieces.iter().map(|(name, piece)| Some(((*name).to_owned(), pack(piece).ok()?)));
        // What cannot be packed is made anew by a run that goes on.
        let Some(packed) = packed.collect::<Option<Vec<_>>>() else { return };
        let Kept { done, write, warning } = &mut *self.kept();
        done.extend(packed);
        if let Some((write, every, last)) = write
            && last.elapsed() >= *every
        {
            *warning = write(done);
            *last = Instant::now();
        }
    }

    /// Forgets all pieces: what they were for is over.
    pub fn forget(&self) {
        self.kept().done.clear();
    }

    /// All pieces, as checkpoints hold them.
    pub(super) fn all(&self) -> BTreeMap<String, Vec<u8>> {
        self.kept().done.clone()
    }

    pub(super) fn restore(&self, done: BTreeMap<String, Vec<u8>>) {
        self.kept().done = done;
    }

    /// From now on finished pieces are written as often as this.
    pub(super) fn written_by(&self, write: Write, every: Duration, last: Instant) {
        self.kept().write = Some((write, every, last));
    }

    /// From now on they are not; says when that was done last, and what went wrong then.
    pub(super) fn rest(&self) -> (Option<Instant>, Option<String>) {
        let mut kept = self.kept();
        (kept.write.take().map(|(_, _, last)| last), kept.warning.take())
    }
}

impl std::fmt::Debug for Pieces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.kept().done.keys()).finish()
    }
}
