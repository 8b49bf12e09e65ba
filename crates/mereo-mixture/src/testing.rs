//! What the tests of all mixtures share.

use mereo_core::{
    Context, Dense, Encode, Manifest, ModelFile, Observer, Plan, Real, Reconstruct, Record, Result,
    Sample, Score, Table, Training, encode, reconstruct, sample, score,
};
pub(crate) use mereo_testing::{blobs, close, odd_tables, table, with_holes};

use crate::deep::{self, DeepGmm, DeepGmmParams, Em, LayerKind, Search};
use crate::gaussian::{self, Covariance, Gmm, GmmParams};
use crate::student::{self, Student, StudentParams};

/// A mixture to be learned.
#[derive(Debug, Clone)]
pub(crate) enum Wanted {
    Gmm(Covariance, bool),
    /// With full covariances that are drawn towards one in common.
    Shrunk,
    Student,
    Deep(Vec<LayerKind>, Em, Search),
    /// With mini-batches first.
    Swept(Vec<LayerKind>),
}

/// One of each, and of hard ones.
pub(crate) fn all_kinds() -> Vec<Wanted> {
    use Covariance::{Diagonal, Full, LowRank, Spherical, Tied};
    use LayerKind as K;
    let mut kinds: Vec<Wanted> =
        [Spherical, Diagonal, Tied, Full, LowRank].map(|c| Wanted::Gmm(c, false)).into();
    kinds.extend([Spherical, Diagonal, Full].map(|c| Wanted::Gmm(c, true)));
    kinds.extend([Wanted::Shrunk, Wanted::Student]);
    kinds.push(Wanted::Deep(vec![K::Full, K::Full], Em::Soft, Search::Full));
    kinds.push(Wanted::Deep(vec![K::Full, K::Full, K::Full], Em::Hard, Search::Full));
    kinds.push(Wanted::Deep(vec![K::Full, K::Scale], Em::Soft, Search::Full));
    kinds.push(Wanted::Deep(vec![K::Diagonal, K::Diagonal], Em::Hard, Search::Coordinate));
    kinds.push(Wanted::Deep(vec![K::Full, K::Orthogonal], Em::Soft, Search::Full));
    kinds.push(Wanted::Swept(vec![K::Full, K::Full, K::Scale]));
    kinds
}

impl Wanted {
    /// Whether the bound that learning reports is the log likelihood.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self, Self::Gmm(_, false) | Self::Student)
    }

    pub(crate) fn learn<T: Real>(
        &self,
        components: usize,
        table: &Table<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<(Learned, Training)> {
        Ok(match self {
            Self::Gmm(covariance, hard) => {
                let params = GmmParams {
                    hard: *hard,
                    factors: 1,
                    ..GmmParams::with(components, *covariance)
                };
                let (model, training) = gaussian::fit(&params, table, plan, context, observer)?;
                (Learned::Gmm(model), training)
            }
            Self::Shrunk => {
                let params = GmmParams {
                    shrinkage: Some(7.0),
                    ..GmmParams::with(components, Covariance::Full)
                };
                let (model, training) = gaussian::fit(&params, table, plan, context, observer)?;
                (Learned::Gmm(model), training)
            }
            Self::Student => {
                let params = StudentParams::new(components);
                let (model, training) = student::fit(&params, table, plan, context, observer)?;
                (Learned::Student(model), training)
            }
            Self::Deep(kinds, ..) | Self::Swept(kinds) => {
                let mut sizes = vec![2; kinds.len()];
                sizes[0] = components;
                let mut params =
                    DeepGmmParams { layer_kind: kinds.clone(), ..DeepGmmParams::new(&sizes) };
                match self {
                    Self::Deep(_, em, search) => (params.em, params.search) = (*em, *search),
                    _ => params.sweeps = 1,
                }
                let (model, training) = deep::fit(&params, table, plan, context, observer)?;
                (Learned::Deep(model), training)
            }
        })
    }
}

/// A mixture that was learned.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Learned {
    Gmm(Gmm),
    Student(Student),
    Deep(DeepGmm),
}

macro_rules! with {
    ($any:expr, $model:ident => $body:expr) => {
        match $any {
            Learned::Gmm($model) => $body,
            Learned::Student($model) => $body,
            Learned::Deep($model) => $body,
        }
    };
}

impl Learned {
    pub(crate) fn scores<T: Real>(&self, table: &Table<T>) -> Vec<f64> {
        with!(self, m => score(m as &dyn Score<T>, table, &Context::new(0)).unwrap().rows)
    }

    pub(crate) fn codes<T: Real>(&self, table: &Table<T>) -> Vec<f64> {
        let codes = with!(self, m => encode(m as &dyn Encode<T>, table, &Context::new(0)).unwrap());
        codes.values().iter().map(|r| r.to_f64()).collect()
    }

    pub(crate) fn filled<T: Real>(&self, table: &Table<T>) -> Vec<f64> {
        let rows = with!(self, m => reconstruct(m as &dyn Reconstruct<T>, table, &Context::new(0)).unwrap());
        rows.values().iter().map(|x| x.to_f64()).collect()
    }

    pub(crate) fn samples(&self, rows: usize, noise: bool) -> Dense<f64> {
        with!(self, m => sample(m as &dyn Sample, rows, noise, &Context::new(0)).unwrap())
    }

    pub(crate) fn file(&self) -> ModelFile {
        with!(self, m => m.to_file(Manifest::new("any")))
    }

    /// The same, read from a file.
    pub(crate) fn read(&self, file: ModelFile) -> Result<Self> {
        let path = "m.safetensors".as_ref();
        Ok(match self {
            Self::Gmm(_) => Self::Gmm(Gmm::from_file(file, path)?),
            Self::Student(_) => Self::Student(Student::from_file(file, path)?),
            Self::Deep(_) => Self::Deep(DeepGmm::from_file(file, path)?),
        })
    }
}

/// Rows whose columns go together.
pub(crate) fn slanted(rows: usize, columns: usize, seed: u64) -> Vec<f64> {
    let mut values = blobs(rows, columns, 2, seed);
    for row in values.chunks_exact_mut(columns) {
        for i in 1..columns {
            row[i] = 0.8 * row[i - 1] + 0.5 * row[i];
        }
    }
    values
}

/// Keeps the bounds of all passes, and whether components were seeded or revived in them.
#[derive(Default)]
pub(crate) struct Bounds(pub(crate) Vec<(f64, bool)>);

impl Observer for Bounds {
    fn passed(&mut self, record: &Record) {
        let unusual = record
            .notes
            .iter()
            .any(|n| n.contains("seeded") || n.contains("revived") || n.contains("a step of"));
        self.0.push((record.bound, unusual));
    }
}
