//! What a user can ask for.

use std::fmt;
use std::str::FromStr;

use mereo_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// A step that a user asks for, before anything is learned.
///
/// ```
/// use mereo_data::steps::StepKind;
/// assert_eq!("scale:-1,1".parse::<StepKind>()?, StepKind::Scale { low: -1.0, high: 1.0 });
/// assert_eq!(StepKind::RemoveRowMeans.to_string(), "remove-row-means");
/// assert!("scale:1,-1".parse::<StepKind>().is_err());
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum StepKind {
    /// `scale:LOW,HIGH` (0,1 if not said): each column from its smallest and largest value to
    /// this range.
    Scale {
        /// Where the smallest value goes.
        low: f64,
        /// Where the largest value goes.
        high: f64,
    },
    /// `scale-all:LOW,HIGH` (0,1 if not said): all columns alike, from the smallest and largest
    /// value of the table to this range. For pictures.
    ScaleAll {
        /// Where the smallest value goes.
        low: f64,
        /// Where the largest value goes.
        high: f64,
    },
    /// `standardise`: each column to mean 0 and standard deviation 1.
    Standardise,
    /// `equalise`: each row's values to their ranks, from 0 to 1, so that all rows have the
    /// same histogram. For pictures in different light.
    Equalise,
    /// `normalise-counts`: each row times a factor, so that all have the same total. For
    /// documents of different length.
    NormaliseCounts,
    /// `remove-row-means`: each row minus its mean. For users who rate high or low.
    RemoveRowMeans,
    /// `remove-means`: each cell minus what its column is like and what its row is like, means that are drawn towards the mean of
    /// all cells by five cells. For ratings, of items and users of which little is known.
    RemoveMeans,
    /// `remove-column-means`: each column minus its mean.
    RemoveColumnMeans,
    /// `log`: `log(1 + x)`, which leaves 0 alone. For counts.
    Log,
}

/// The largest magnitude of a range's ends, and the narrowest range.
const RANGE: (f64, f64) = (1e9, 1e-9);

impl StepKind {
    /// The names of all kinds as users write them, without ranges.
    pub const NAMES: [&str; 9] = [
        "scale",
        "scale-all",
        "standardise",
        "equalise",
        "normalise-counts",
        "remove-row-means",
        "remove-means",
        "remove-column-means",
        "log",
    ];

    pub(super) fn check(self) -> Result<Self> {
        match self {
            // Written so that NaN fails.
            Self::Scale { low, high } | Self::ScaleAll { low, high }
                if !(low.abs() <= RANGE.0 && high.abs() <= RANGE.0 && high - low >= RANGE.1) =>
            {
                let problem = format!("`{self}`: expected LOW,HIGH with LOW below HIGH");
                Err(Error::option("steps", problem))
            }
            _ => Ok(self),
        }
    }
}

/// The error for a step that would fill a table of counts.
pub(super) fn would_fill(name: &str) -> Error {
    Error::option(
        "steps",
        format!(
            "`{name}` would fill the cells that a table of counts does not store; \
             use `normalise-counts` or `log`"
        ),
    )
}

impl FromStr for StepKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let unknown = || {
            let names = Self::NAMES.join(", ");
            Error::option("steps", format!("there is no `{text}`; there are {names}"))
        };
        let (name, range) = text.split_once(':').map_or((text, None), |(n, r)| (n, Some(r)));
        let ends = match range {
            None => (0.0, 1.0),
            Some(range) => {
                let ends = range.split_once(',').and_then(|(low, high)| {
                    Some((low.trim().parse().ok()?, high.trim().parse().ok()?))
                });
                ends.ok_or_else(|| {
                    Error::option(
                        "steps",
                        format!("`{text}`: expected two numbers, as in `{name}:-1,1`"),
                    )
                })?
            }
        };
        let (low, high) = ends;
        match (name, range) {
            ("scale", _) => Self::Scale { low, high }.check(),
            ("scale-all", _) => Self::ScaleAll { low, high }.check(),
            ("standardise", None) => Ok(Self::Standardise),
            ("equalise", None) => Ok(Self::Equalise),
            ("normalise-counts", None) => Ok(Self::NormaliseCounts),
            ("remove-row-means", None) => Ok(Self::RemoveRowMeans),
            ("remove-means", None) => Ok(Self::RemoveMeans),
            ("remove-column-means", None) => Ok(Self::RemoveColumnMeans),
            ("log", None) => Ok(Self::Log),
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for StepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scale { low, high } => write!(f, "scale:{low},{high}"),
            Self::ScaleAll { low, high } => write!(f, "scale-all:{low},{high}"),
            Self::Standardise => f.write_str("standardise"),
            Self::Equalise => f.write_str("equalise"),
            Self::NormaliseCounts => f.write_str("normalise-counts"),
            Self::RemoveRowMeans => f.write_str("remove-row-means"),
            Self::RemoveMeans => f.write_str("remove-means"),
            Self::RemoveColumnMeans => f.write_str("remove-column-means"),
            Self::Log => f.write_str("log"),
        }
    }
}

impl TryFrom<String> for StepKind {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<StepKind> for String {
    fn from(kind: StepKind) -> Self {
        kind.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_and_written() {
        for name in StepKind::NAMES {
            let kind: StepKind = name.parse().unwrap();
            assert!(kind.to_string().starts_with(name));
            assert_eq!(kind.to_string().parse::<StepKind>().unwrap(), kind);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "scal", "scale:", "scale:1", "scale:0,0", "scale:2,1", "scale:NaN,1"] {
            assert!(text.parse::<StepKind>().is_err(), "{text}");
        }
        for text in ["scale:0,inf", "log:0,1", "standardise:1,2", "scale:-1e300,1e300"] {
            assert!(text.parse::<StepKind>().is_err(), "{text}");
        }
    }
}
