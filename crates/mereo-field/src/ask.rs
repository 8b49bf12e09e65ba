//! A field asked by any method, hidden variables given the observed ones.

use mereo_core::{Context, Error, Result};
use serde::{Deserialize, Serialize};

use crate::decide::{ExpansionParams, TrwsParams, program};
use crate::infer::{BeliefParams, GibbsParams, MeanFieldParams};
use crate::{Decided, Field, Inferred, Kind, Marginals, Pairwise, decide, infer};

/// Most joint states that are gone through when nobody chose a method.
const FEW_STATES: f64 = (1u64 << 20) as f64;

/// A way of asking.
///
/// ```
/// use mereo_field::Method;
/// assert_eq!("mean-field".parse::<Method>()?, Method::MeanField);
/// assert!("guess".parse::<Method>().unwrap_err().to_string().contains("trws"));
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Exactly: by message passing without loops, else by going through all states.
    Exact,
    /// The nearest distribution without couplings.
    MeanField,
    /// Loopy belief propagation.
    Bp,
    /// Draws.
    Gibbs,
    /// The best state by single changes.
    Icm,
    /// The best state by a smallest cut.
    Cut,
    /// A good state by alpha-expansion.
    Expansion,
    /// A good state and a bound, by tree-reweighted messages.
    Trws,
    /// A bound by the linear program.
    Linear,
    /// The best state by the integer program.
    Integer,
}

impl Method {
    /// Their names, as they are parsed.
    pub const NAMES: [&'static str; 10] = [
        "exact",
        "mean-field",
        "bp",
        "gibbs",
        "icm",
        "cut",
        "expansion",
        "trws",
        "linear",
        "integer",
    ];

    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Exact,
        Self::MeanField,
        Self::Bp,
        Self::Gibbs,
        Self::Icm,
        Self::Cut,
        Self::Expansion,
        Self::Trws,
        Self::Linear,
        Self::Integer,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        let at = Self::ALL.iter().position(|m| *m == self).unwrap_or(0);
        Self::NAMES[at]
    }

    /// What suits a field: exactly if it has no loops or few states, else by mean field.
    pub fn of(field: &Field) -> Self {
        let states: f64 = (0..field.variables()).map(|i| field.labels(i) as f64).product();
        if states <= FEW_STATES || infer::is_forest(field) { Self::Exact } else { Self::MeanField }
    }
}

impl std::str::FromStr for Method {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let at = Self::NAMES.iter().position(|name| *name == text).ok_or_else(|| {
            let problem = format!("`{text}` is not known; choose {}", Self::NAMES.join(", "));
            Error::option("method", problem)
        })?;
        Ok(Self::ALL[at])
    }
}

/// What a field answers. Everything is of all variables, the observed ones included.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The distribution of each variable, if the method finds distributions.
    pub marginals: Option<Marginals>,
    /// A joint state: of least energy, or as near to it as the method comes.
    pub map: Vec<usize>,
    /// Its energy.
    pub energy: f64,
    /// A number that no state's energy is below, where the method has one.
    pub bound: Option<f64>,
    /// `log Σ_H exp s(H, X)`, or what is known of it.
    pub log_z: Option<f64>,
    /// Minus that: variational, Bethe's or exact.
    pub free_energy: Option<f64>,
    /// How far marginals and log Z can be trusted or, where there are none, the state.
    pub kind: Kind,
    /// What the method watched, sweep by sweep.
    pub trace: Vec<f64>,
    /// Whether it came to rest.
    pub converged: bool,
}

/// Asks a field, given what was observed.
///
/// ```
/// use mereo_core::Context;
/// use mereo_field::{FieldFile, Kind, Method, ask};
/// let text = br#"{"variables": [{"labels": 2}, {"labels": 2}],
///     "edges": [{"a": 0, "b": 1, "table": [[1, 0], [0, 1]]}], "observed": {"1": 0}}"#;
/// let file = FieldFile::from_bytes(text, "field.json".as_ref())?;
/// let answer = ask(&file.field, &file.observed, Method::Exact, &Context::new(0))?;
/// assert_eq!((answer.map, answer.kind), (vec![0, 0], Kind::Exact));
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn ask(
    field: &Field,
    observed: &[Option<usize>],
    method: Method,
    context: &Context,
) -> Result<Answer> {
    let given = field.given(observed)?;
    let hidden = &given.field;
    let (inferred, decided): (Option<Inferred>, Decided) = match method {
        Method::Exact if infer::is_forest(hidden) => {
            (Some(infer::tree(hidden)?), infer::tree_best(hidden)?)
        }
        Method::Exact => (Some(infer::enumerate(hidden)?), infer::enumerate_best(hidden)?),
        Method::MeanField => {
            let params = MeanFieldParams { sweeps: 2000, ..MeanFieldParams::default() };
            likeliest(hidden, infer::mean_field(hidden, None, &params, context)?)
        }
        Method::Bp => {
            let params = BeliefParams::default();
            let mut beliefs = infer::belief(hidden, &params, context)?;
            if !beliefs.converged {
                // Going only part of the way often helps.
                let damped = BeliefParams { damping: 0.5, sweeps: 1000, ..params.clone() };
                beliefs = infer::belief(hidden, &damped, context)?;
            }
            (Some(beliefs), infer::belief_best(hidden, &params, context)?)
        }
        Method::Gibbs => likeliest(hidden, infer::gibbs(hidden, &GibbsParams::default(), context)?),
        Method::Icm => (None, decide::icm(hidden, None, 10_000)),
        Method::Cut => (None, decide::cut(hidden)?),
        Method::Expansion => {
            (None, decide::expansion(hidden, None, &ExpansionParams::default(), context))
        }
        Method::Trws => (None, decide::trws(hidden, &TrwsParams::default(), context)?),
        Method::Integer => (None, program::integer(hidden)?),
        Method::Linear => {
            let relaxed = program::linear(hidden)?;
            let labels = relaxed.shares.likeliest();
            let energy = hidden.energy(&labels);
            let kind = if relaxed.whole { Kind::Exact } else { Kind::Bound };
            let bound = Some(relaxed.bound.min(energy));
            (None, Decided { labels, energy, bound, kind, trace: Vec::new() })
        }
    };
    let mut map: Vec<usize> = observed.iter().map(|label| label.unwrap_or(0)).collect();
    for (&i, &label) in given.hidden.iter().zip(&decided.labels) {
        map[i] = label;
    }
    let marginals = inferred.as_ref().map(|inferred| {
        let mut all = Marginals::new((0..field.variables()).map(|i| field.labels(i)));
        for (i, label) in observed.iter().enumerate() {
            if let Some(label) = label {
                all.of_mut(i)[*label] = 1.0;
            }
        }
        for (at, &i) in given.hidden.iter().enumerate() {
            all.of_mut(i).copy_from_slice(inferred.marginals.of(at));
        }
        all
    });
    let log_z = inferred.as_ref().and_then(|i| i.log_z).map(|z| z + given.constant);
    Ok(Answer {
        marginals,
        energy: field.energy(&map),
        map,
        bound: decided.bound.map(|bound| bound - given.constant),
        log_z,
        free_energy: log_z.map(|z| -z),
        kind: inferred.as_ref().map_or(decided.kind, |i| i.kind),
        converged: inferred.as_ref().is_none_or(|i| i.converged),
        trace: inferred.map_or(decided.trace, |i| i.trace),
    })
}

/// The likeliest labels of marginals as the state.
fn likeliest(field: &Field, inferred: Inferred) -> (Option<Inferred>, Decided) {
    let labels = inferred.marginals.likeliest();
    let energy = field.energy(&labels);
    (Some(inferred), Decided::estimate(labels, energy, Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random_field;

    #[test]
    fn every_method_keeps_its_word_beside_enumeration() {
        for seed in 0..100 {
            let context = Context::new(seed);
            let field = random_field(&context, 6, 2 + seed as usize % 2, 1.0 + seed as f64 / 20.0);
            let mut observed = vec![None; 6];
            if seed % 2 == 1 {
                observed[seed as usize % 6] = Some(1);
            }
            let exact = ask(&field, &observed, Method::Exact, &context).unwrap();
            let log_z = exact.log_z.unwrap();
            for method in Method::ALL {
                let answer = match ask(&field, &observed, method, &context) {
                    Ok(answer) => answer,
                    Err(error) if method == Method::Cut => {
                        assert!(error.to_string().contains("method"));
                        continue;
                    }
                    Err(error) => panic!("{method:?}: {error}"),
                };
                assert!(answer.energy >= exact.energy - 1e-9, "{method:?}");
                assert!((field.energy(&answer.map) - answer.energy).abs() < 1e-9);
                if let Some(bound) = answer.bound {
                    assert!(bound <= exact.energy + 1e-6, "{method:?} {bound} {}", exact.energy);
                }
                match (answer.kind, answer.log_z) {
                    (Kind::Exact, Some(z)) => assert!((z - log_z).abs() < 1e-8),
                    (Kind::Bound, Some(z)) => assert!(z <= log_z + 1e-8),
                    (Kind::Exact, None) => assert!((answer.energy - exact.energy).abs() < 1e-6),
                    _ => {}
                }
                for (i, label) in observed.iter().enumerate() {
                    assert!(label.is_none_or(|label| answer.map[i] == label));
                }
            }
        }
    }

    #[test]
    fn nothing_hidden_is_a_state() {
        let field = random_field(&Context::new(1), 3, 2, 1.0);
        let observed = [Some(0), Some(1), Some(0)];
        for method in Method::ALL {
            let answer = ask(&field, &observed, method, &Context::new(0)).unwrap();
            assert_eq!(answer.map, [0, 1, 0]);
            assert!((answer.energy - field.energy(&[0, 1, 0])).abs() < 1e-12);
        }
    }
}
