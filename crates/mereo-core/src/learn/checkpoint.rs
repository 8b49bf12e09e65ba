//! Learning that survives being killed.
//!
//! A checkpoint holds the whole state of the loop. It is not a model file and promises nothing
//! across versions: it is read back by the same program on the same data, or refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::Pieces;
use super::jumps::Jumps;
use super::observe::Restart;
use crate::{Error, Fingerprint, Result, write_atomically};

const MAGIC: &[u8; 8] = b"mereo-c4";

/// Where and how often to keep the state of the loop, and whether to go on from what is there.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    /// The file.
    pub path: PathBuf,
    /// Least time between two writes.
    pub every: Duration,
    /// Whether to go on from an existing file (one that does not exist is no error).
    pub resume: bool,
    /// What is done of the start under way.
    pub pieces: Pieces,
}

impl Checkpoints {
    /// Keeps a checkpoint in this file about every ten seconds.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            every: Duration::from_secs(10),
            resume: false,
            pieces: Pieces::default(),
        }
    }
}

/// Tells one run from another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Identity {
    /// The data.
    pub(super) data: Option<Fingerprint>,
    /// The seed.
    pub(super) seed: u64,
    /// How long and how often to learn.
    pub(super) plan: (usize, usize, f64),
    /// A digest of the learner: all that the user chose for the model.
    pub(super) learner: u128,
}

impl Identity {
    /// What differs first between the run of a checkpoint and this one, for users.
    fn differs_in(&self, stored: &Self) -> Option<String> {
        let data = match (self.data, stored.data) {
            (Some(own), Some(other)) => own.differs_in(&other).map(|what| format!("other {what}")),
            (own, other) => (own != other).then(|| "other data".to_owned()),
        };
        data.or_else(|| (self.seed != stored.seed).then(|| "another seed".to_owned()))
            .or_else(|| (self != stored).then(|| "other options".to_owned()))
    }
}

/// Everything that the loop needs to go on as if nothing had happened.
#[derive(Debug, Deserialize)]
pub(super) struct Progress<S> {
    /// The restart that is under way.
    pub(super) restart: usize,
    /// Where it is; none if it was not started yet.
    pub(super) current: Option<Current<S>>,
    /// Restarts that ended.
    pub(super) ended: Vec<Restart>,
    /// The best of them.
    pub(super) best: Option<(usize, S)>,
}

/// The restart under way: its state, how it was started and the bounds so far, its jumps, and what
/// runs remember of their rows.
pub(super) type Current<S> = (S, Restart, Jumps<S>, Vec<Vec<f64>>);

/// The same, borrowed.
pub(super) type CurrentRef<'a, S> = (&'a S, &'a Restart, &'a Jumps<S>, Vec<Vec<f64>>);

/// Packs what [`load`] reads back as a [`Progress`], without owning any of it.
pub(super) fn packed<S: Serialize>(
    identity: &Identity,
    restart: usize,
    current: Option<CurrentRef<'_, S>>,
    ended: &[Restart],
    best: Option<&(usize, S)>,
) -> Result<Vec<u8>> {
    bytes_of(&(identity, (restart, current, ended, best)))
}

/// Values packed one after another are packed together.
fn bytes_of<V: Serialize>(value: &V) -> Result<Vec<u8>> {
    postcard::to_stdvec(value).map_err(|e| refuse(Path::new(""), e))
}

/// Writes a checkpoint of packed progress. That it cannot be written (the disk is full, say) is no reason to end what took long:
/// it is what comes back, to be told.
pub(super) fn save(
    path: &Path,
    progress: &[u8],
    pieces: &BTreeMap<String, Vec<u8>>,
) -> Option<String> {
    let write = || {
        let body = [progress, &bytes_of(pieces)?].concat();
        write_atomically(path, |out| {
            out.write_all(MAGIC)?;
            out.write_all(&xxh3_128(&body).to_le_bytes())?;
            out.write_all(&body)
        })
    };
    write().err().map(|e| format!("learning goes on without a new checkpoint: {e}"))
}

pub(super) fn load<S: DeserializeOwned>(
    path: &Path,
    identity: &Identity,
    pieces: &Pieces,
) -> Result<Option<Progress<S>>> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::io(path, e)),
    };
    let Some((magic, rest)) = bytes.split_first_chunk::<8>() else {
        return Err(refuse(path, "the file is too short"));
    };
    if magic != MAGIC {
        return Err(refuse(path, "it is not a checkpoint of this version of mereo"));
    }
    let Some((sum, body)) = rest.split_first_chunk::<16>() else {
        return Err(refuse(path, "the file is too short"));
    };
    // States are trusted to fit together, so a file that somebody changed must not get this far.
    if u128::from_le_bytes(*sum) != xxh3_128(body) {
        return Err(refuse(path, "it is damaged; remove it to start anew"));
    }
    let (stored, body): (Identity, &[u8]) =
        postcard::take_from_bytes(body).map_err(|e| refuse(path, e))?;
    if let Some(what) = identity.differs_in(&stored) {
        return Err(refuse(
            path,
            format!("it belongs to {what}; give the same, or remove it to start anew"),
        ));
    }
    let (progress, done) = postcard::from_bytes(body).map_err(|e| refuse(path, e))?;
    pieces.restore(done);
    Ok(Some(progress))
}

fn refuse(path: &Path, problem: impl std::fmt::Display) -> Error {
    Error::Checkpoint { path: path.to_path_buf(), problem: problem.to_string() }
}
