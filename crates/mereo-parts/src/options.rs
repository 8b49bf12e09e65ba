//! What users choose for the gate, in words.

use mereo_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::{Classes, Gate};

/// How boldly columns change parts, or whether every row shares its columns out anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateChoice {
    /// The papers' standard update: gently.
    Standard,
    /// Gently at first, then ever more boldly.
    Annealed,
    /// At once.
    RTied,
    /// Not at all: every row has a gate of its own.
    Factorised,
}

mereo_core::choices!(GateChoice, "gate":
    Standard = "standard", Annealed = "annealed", RTied = "r-tied", Factorised = "factorised");

impl GateChoice {
    /// The gate that was chosen, with passes to warm it up if that was said.
    pub(crate) fn gate(self, warm: Option<usize>) -> Result<Gate> {
        if warm.is_some() && self != Self::Factorised {
            return Err(Error::option("warm", "only a factorised gate can be warmed up"));
        }
        Ok(match self {
            Self::Standard => Gate::Standard,
            Self::Annealed => Gate::Annealed { from: 0.02, passes: 40 },
            Self::RTied => Gate::RTied,
            Self::Factorised => Gate::Factorised { from: warm.unwrap_or(0) },
        })
    }
}

impl mereo_core::ParamValue for Classes {
    fn param_type() -> mereo_core::ParamType {
        mereo_core::ParamType::CountOr(vec!["none", "labels"])
    }
}

/// As users say it: a number, or a word.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum SaidClasses {
    Number(usize),
    Word(String),
}

impl From<Classes> for SaidClasses {
    fn from(classes: Classes) -> Self {
        match classes {
            Classes::None => Self::Word("none".to_owned()),
            Classes::Learned(number) => Self::Number(number),
            Classes::Labels => Self::Word("labels".to_owned()),
        }
    }
}

impl TryFrom<SaidClasses> for Classes {
    type Error = String;

    fn try_from(said: SaidClasses) -> std::result::Result<Self, String> {
        match said {
            SaidClasses::Number(number) => Ok(Self::Learned(number)),
            SaidClasses::Word(word) => match word.as_str() {
                "none" => Ok(Self::None),
                "labels" => Ok(Self::Labels),
                _ => Err(format!("`{word}` is neither a number of classes nor labels")),
            },
        }
    }
}
