//! What every piece of work is given: the seed, the threads, and a way to be stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::parallel::install;
use crate::{Error, Result};

/// The random numbers of one purpose. They are counter-based: which numbers come depends on
/// the seed and the purpose alone, never on what else was drawn or on which thread.
pub type Random = ChaCha8Rng;

/// An index drawn with probability proportional to these weights; none if all are 0.
///
/// ```
/// use mereo_core::{Context, draw};
/// let mut random = Context::new(0).random("example", [0, 0]);
/// assert_eq!(draw(&[0.0, 2.0, 0.0], &mut random), Some(1));
/// assert_eq!(draw(&[0.0], &mut random), None);
/// ```
pub fn draw(weights: &[f64], random: &mut Random) -> Option<usize> {
    let total: f64 = weights.iter().sum();
    if !(total > 0.0) {
        return None;
    }
    let mut left = random.random::<f64>() * total;
    for (index, &weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return Some(index);
        }
    }
    weights.iter().rposition(|&w| w > 0.0)
}

/// A flag that asks running work to stop soon and keep what it has.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks for a stop.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether a stop was asked for.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Seed, threads and stop flag: handed to everything that works, so that nothing is global.
///
/// ```
/// use mereo_core::Context;
/// let context = Context::new(7).with_threads(2)?;
/// assert_eq!(context.seed(), 7);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Context {
    seed: u64,
    pool: Option<Arc<rayon::ThreadPool>>,
    stop: Stop,
}

impl Context {
    /// A context with this seed that works on the calling thread alone.
    pub fn new(seed: u64) -> Self {
        Self { seed, pool: None, stop: Stop::default() }
    }

    /// Works on this many threads; 0 means as many as the machine has cores.
    pub fn with_threads(mut self, threads: usize) -> Result<Self> {
        const MOST: usize = 1024;
        if threads > MOST {
            return Err(Error::option(
                "threads",
                format!("{threads} is more than the {MOST} allowed"),
            ));
        }
        let threads = if threads == 0 {
            std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
        } else {
            threads
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|e| {
            Error::option("threads", format!("{threads} threads could not be started: {e}"))
        })?;
        self.pool = Some(Arc::new(pool));
        Ok(self)
    }

    /// The same threads and stop flag with another seed.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Self {
        Self { seed, ..self.clone() }
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The flag that stops work done in this context.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// The random numbers for one purpose, told by a name and two numbers (a restart and a
    /// part, say).
    pub fn random(&self, purpose: &str, numbers: [u64; 2]) -> Random {
        let mut name = 0u64;
        for byte in purpose.bytes() {
            name = name.rotate_left(7).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(byte);
        }
        let mut seed = [0u8; 32];
        for (slot, word) in seed.chunks_mut(8).zip([self.seed, name, numbers[0], numbers[1]]) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        ChaCha8Rng::from_seed(seed)
    }

    /// The same, stopped by another context's flag.
    #[must_use]
    pub fn stopped_by(mut self, stop: &Stop) -> Self {
        self.stop = stop.clone();
        self
    }

    /// Runs work on this context's threads.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        let Some(pool) = &self.pool else { return work() };
        let (mut work, mut result) = (Some(work), None);
        install(pool, &mut || result = work.take().map(|work| work()));
        result.expect("work that was installed is done")
    }
}
