//! What rows tell, added up; and how it travels.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, Result};

/// The first byte of statistics that travel: the version of how they are written.
const VERSION: u8 = 1;

/// What rows tell, added up. Adding must not depend on how rows were cut into batches, beyond
/// rounding. Statistics serialise, so that they can be gathered wherever rows are: what is read
/// back must merge as what was written would have.
pub trait Statistics: Send + Sync + Serialize + DeserializeOwned {
    /// Adds what other rows told.
    fn merge(&mut self, other: &Self);

    /// Back to nothing, keeping the memory.
    fn reset(&mut self);

    /// Called once on the sum over all rows, for statistics that keep quick partial sums.
    fn finish(&mut self) {}
}

/// Numbers that are simply added up.
///
/// ```
/// use mereo_core::Statistics;
/// let mut sums = vec![1.0, 2.0];
/// sums.merge(&vec![3.0, 4.0]);
/// assert_eq!(sums, [4.0, 6.0]);
/// ```
impl Statistics for Vec<f64> {
    fn merge(&mut self, other: &Self) {
        self.iter_mut().zip(other).for_each(|(a, b)| *a += b);
    }

    fn reset(&mut self) {
        self.fill(0.0);
    }
}

/// Anything that travels between processes, as bytes: versioned and compact.
///
/// ```
/// let bytes = mereo_core::pack(&vec![1.5f64, 2.5])?;
/// assert_eq!(bytes.len(), 1 + 1 + 16);
/// assert_eq!(mereo_core::unpack::<Vec<f64>>(&bytes)?, [1.5, 2.5]);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn pack<V: Serialize>(value: &V) -> Result<Vec<u8>> {
    postcard::to_extend(value, vec![VERSION]).map_err(|e| travelled(&e))
}

/// Reads back what [`pack`] wrote.
///
/// ```
/// assert!(mereo_core::unpack::<f64>(&[99, 0, 0]).is_err());
/// ```
pub fn unpack<V: DeserializeOwned>(bytes: &[u8]) -> Result<V> {
    match bytes.split_first() {
        Some((&VERSION, body)) => postcard::from_bytes(body).map_err(|e| travelled(&e)),
        _ => Err(travelled(&"they were not written by this version of mereo")),
    }
}

fn travelled(problem: &dyn std::fmt::Display) -> Error {
    Error::option("statistics", format!("these bytes cannot be used: {problem}"))
}
