//! What happens on the way to a map: told to whoever watches, kept in checkpoints, stopped if asked.

use std::path::Path;
use std::time::Instant;

use mereo_core::{
    Checkpoints, Context, Error, Manifest, ModelFile, Restart, Result, Status, Tensor,
};
use serde::{Deserialize, Serialize};

/// The kind that a checkpoint calls itself.
const KIND: &str = "map-checkpoint";

/// How far a map has come.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Which start, from 0, and of how many.
    pub start: usize,
    /// How many starts there are.
    pub starts: usize,
    /// Steps taken from this start.
    pub step: usize,
    /// Most steps from this start.
    pub steps: usize,
    /// What the map costs now.
    pub cost: f64,
    /// What went wrong that does not end the journey: a checkpoint that could not be written.
    pub warning: Option<String>,
}

/// How a map is made: seed, threads, stop flag, checkpoints and somebody who watches.
pub struct Journey<'a> {
    /// Seed, threads and stop flag.
    pub context: &'a Context,
    /// Where the state is kept, if it is.
    pub checkpoints: Option<&'a Checkpoints>,
    /// Told after every few steps.
    pub watch: &'a mut (dyn FnMut(&Step) + Send),
}

impl std::fmt::Debug for Journey<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journey").field("context", &self.context).finish_non_exhaustive()
    }
}

/// All that is needed to go on as if nothing had happened.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Saved {
    /// What happened so far.
    pub(crate) past: Past,
    /// Where points are; nothing before a start.
    pub(crate) position: Vec<f64>,
    /// How they were moving, where that matters.
    pub(crate) update: Vec<f64>,
    pub(crate) gain: Vec<f64>,
    /// The best points of starts that ended.
    pub(crate) best: Vec<f64>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Past {
    identity: String,
    /// The start under way and the steps taken from it.
    pub(crate) start: usize,
    pub(crate) step: usize,
    /// The costs on the way.
    pub(crate) costs: Vec<f64>,
    pub(crate) ended: Vec<Restart>,
    pub(crate) best: Option<usize>,
    /// A check on the tensors, which must not be changed by anybody.
    sum: u64,
}

/// Writes and reads checkpoints.
pub(crate) struct Keeper<'a> {
    checkpoints: Option<&'a Checkpoints>,
    identity: String,
    last: Instant,
    warning: Option<String>,
}

impl<'a> Keeper<'a> {
    /// Keeps checkpoints of what this identity tells from all else.
    pub(crate) fn new(checkpoints: Option<&'a Checkpoints>, identity: String) -> Self {
        Self { checkpoints, identity, last: Instant::now(), warning: None }
    }

    /// What is to be gone on from, if that is wanted and there.
    pub(crate) fn resume(&self) -> Result<Option<Saved>> {
        let Some(checkpoints) = self.checkpoints.filter(|c| c.resume) else { return Ok(None) };
        let path = &checkpoints.path;
        if !path.exists() {
            return Ok(None);
        }
        let mut file = ModelFile::read(path).map_err(|e| refuse(path, e))?;
        if file.manifest.model != KIND {
            return Err(refuse(path, "it is not the checkpoint of a map"));
        }
        let params = std::mem::take(&mut file.manifest.params);
        let past: Past = serde_json::from_value(params).map_err(|e| refuse(path, e))?;
        if past.identity != self.identity {
            return Err(refuse(
                path,
                "it belongs to other data, another seed or other options; give those, or remove \
                 it to start anew",
            ));
        }
        let tensor = |name: &str| file.get(name).map_or(Vec::new(), |t| t.values.clone());
        let [position, update, gain, best] = ["position", "update", "gain", "best"].map(tensor);
        let saved = Saved { past, position, update, gain, best };
        if saved.past.sum != saved.sum() {
            return Err(refuse(path, "it is damaged; remove it to start anew"));
        }
        Ok(Some(saved))
    }

    /// Keeps the state if it is time to, or in any case.
    pub(crate) fn keep(&mut self, saved: &Saved, anyway: bool) -> Result<()> {
        let Some(checkpoints) = self.checkpoints else { return Ok(()) };
        if !anyway && self.last.elapsed() < checkpoints.every {
            return Ok(());
        }
        self.last = Instant::now();
        let path = &checkpoints.path;
        let past = Past { identity: self.identity.clone(), sum: saved.sum(), ..saved.past.clone() };
        let mut manifest = Manifest::new(KIND);
        manifest.params = serde_json::to_value(past).map_err(|e| refuse(path, e))?;
        let mut file = ModelFile::new(manifest);
        for (name, values) in saved.tensors() {
            if !values.is_empty() {
                file.insert(name, Tensor::new(vec![values.len()], values.clone()));
            }
        }
        // That it cannot be written (the disk is full, say) is no reason to end what took long.
        self.warning = file
            .write(path)
            .err()
            .map(|e| format!("the map is made on without a new checkpoint: {e}"));
        Ok(())
    }

    /// What went wrong when the last checkpoint was written, told once.
    pub(crate) fn warning(&mut self) -> Option<String> {
        self.warning.take()
    }
}

impl Saved {
    fn tensors(&self) -> [(&'static str, &Vec<f64>); 4] {
        [
            ("position", &self.position),
            ("update", &self.update),
            ("gain", &self.gain),
            ("best", &self.best),
        ]
    }

    fn sum(&self) -> u64 {
        let mut sum = 0xcbf2_9ce4_8422_2325u64;
        for (_, values) in self.tensors() {
            for word in
                std::iter::once(values.len() as u64).chain(values.iter().map(|v| v.to_bits()))
            {
                sum = (sum ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(5);
            }
        }
        sum
    }

    /// Ends the start that is under way.
    pub(crate) fn end(&mut self, name: &str, status: Status) {
        let bounds: Vec<f64> = self.past.costs.iter().map(|c| -c).collect();
        let cost = self.past.costs.last().copied().unwrap_or(f64::INFINITY);
        let better = self.past.best.is_none_or(|b| {
            let best = self.past.ended[b].bounds.last().copied().unwrap_or(f64::NEG_INFINITY);
            -cost > best
        });
        if better {
            self.past.best = Some(self.past.ended.len());
            self.best.clone_from(&self.position);
        }
        self.past.ended.push(Restart { start: name.to_owned(), status, settled_from: 0, bounds });
        self.past.start += 1;
        (self.past.step, self.past.costs) = (0, Vec::new());
        (self.position, self.update, self.gain) = (Vec::new(), Vec::new(), Vec::new());
    }
}

fn refuse(path: &Path, problem: impl std::fmt::Display) -> Error {
    Error::Checkpoint { path: path.to_path_buf(), problem: problem.to_string() }
}
