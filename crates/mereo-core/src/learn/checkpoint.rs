//! Learning that survives being killed.
//!
//! A checkpoint holds the whole state of the loop. It is not a model file and promises nothing
//! across versions: it is read back by the same program on the same data, or refused.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::observe::Restart;
use crate::source::Fnv;
use crate::{Error, Result, write_atomically};

const MAGIC: &[u8; 8] = b"mereo-c2";

/// Where and how often to keep the state of the loop, and whether to go on from what is there.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    /// The file.
    pub path: PathBuf,
    /// Least time between two writes.
    pub every: Duration,
    /// Whether to go on from an existing file (one that does not exist is no error).
    pub resume: bool,
}

impl Checkpoints {
    /// Keeps a checkpoint in this file about every ten seconds.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), every: Duration::from_secs(10), resume: false }
    }
}

/// Everything that the loop needs to go on as if nothing had happened.
#[derive(Debug, Deserialize)]
pub(super) struct Progress<S> {
    /// The restart that is under way.
    pub(super) restart: usize,
    /// Its state, how it was started, the bounds so far, and what lanes remember of their rows;
    /// none if it was not started yet.
    pub(super) current: Option<(S, Restart, Vec<Vec<f64>>)>,
    /// Restarts that ended.
    pub(super) ended: Vec<Restart>,
    /// The best of them.
    pub(super) best: Option<(usize, S)>,
}

/// Writes what [`load`] reads back as a [`Progress`], without owning any of it.
pub(super) fn save<S: Serialize>(
    path: &Path,
    identity: u64,
    restart: usize,
    current: Option<(&S, &Restart, Vec<Vec<f64>>)>,
    ended: &[Restart],
    best: Option<&(usize, S)>,
) -> Result<()> {
    let body =
        postcard::to_stdvec(&(restart, current, ended, best)).map_err(|e| refuse(path, e))?;
    write_atomically(path, |out| {
        out.write_all(MAGIC)?;
        out.write_all(&identity.to_le_bytes())?;
        out.write_all(&sum_of(&body).to_le_bytes())?;
        out.write_all(&body)
    })
}

pub(super) fn load<S: DeserializeOwned>(path: &Path, identity: u64) -> Result<Option<Progress<S>>> {
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
    let Some((stored, body)) = rest.split_first_chunk::<8>() else {
        return Err(refuse(path, "the file is too short"));
    };
    if u64::from_le_bytes(*stored) != identity {
        return Err(refuse(
            path,
            "it belongs to other data, another seed or other options; give those, or remove it to start anew",
        ));
    }
    let Some((sum, body)) = body.split_first_chunk::<8>() else {
        return Err(refuse(path, "the file is too short"));
    };
    // States are trusted to fit together, so a file that somebody changed must not get this far.
    if u64::from_le_bytes(*sum) != sum_of(body) {
        return Err(refuse(path, "it is damaged; remove it to start anew"));
    }
    postcard::from_bytes(body).map(Some).map_err(|e| refuse(path, e))
}

fn sum_of(body: &[u8]) -> u64 {
    let mut hash = Fnv::new();
    // The hash pads with zeros: without the length, zeros at the end would not count.
    hash.add(&(body.len() as u64).to_le_bytes());
    hash.add(body);
    hash.finish()
}

fn refuse(path: &Path, problem: impl std::fmt::Display) -> Error {
    Error::Checkpoint { path: path.to_path_buf(), problem: problem.to_string() }
}
