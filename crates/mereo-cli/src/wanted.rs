//! Which model is wanted, of what size: what `fit` and `demo` hand to the library.

use mereo::AnyModel;
use mereo_core::{
    Context, Error, Manifest, Observer, Plan, Real, Result, SizeTried, Source, Training,
};
use mereo_data::steps::{StepKind, Steps};
use mereo_linear::{
    Fa, FaParams, Nmf, NmfParams, Pca, PcaParams, Ppca, PpcaParams, factor, nmf, pca,
};
use mereo_mixture::{
    Covariance, DeepGmm, DeepGmmParams, Gmm, GmmParams, Student, StudentParams, deep, gaussian,
    student,
};
use mereo_parts::mcvq::SizeRule;
use mereo_parts::{Classes, Mcfa, McfaParams, Mcvq, McvqParams, mcfa, mcvq};
use mereo_quantize::{Cvq, CvqParams, Gvq, GvqParams, Vq, VqParams, cvq, gvq, vq};

use crate::data::{Held, memory, own_names};
use crate::fitted::Fitted;

/// How many starts are tried if nobody says. MCVQ and MCFA take turns among seeded, scouted and agreed
/// ones, so three try each; k-means is cheap, and its starts differ.
pub(crate) mod restarts {
    pub(crate) const MCVQ: usize = 3;
    pub(crate) const MCFA: usize = 3;
    pub(crate) const VQ: usize = 4;
    pub(crate) const GMM: usize = 2;
    /// Its passes cost more, and its start is the same but for the clusters of the top layer.
    pub(crate) const DEEP_GMM: usize = 1;
    /// Where there is a closed form, or a start from one that is hard to beat.
    pub(crate) const LINEAR: usize = 1;
    pub(crate) const GVQ: usize = 2;
    pub(crate) const CVQ: usize = 4;
}

/// How often the means of a model are about in memory while it is learned: means and variances of
/// the state at hand, the best so far, and the sums of a few lanes.
const COPIES: usize = 12;

/// A size that is to be found: what is given of it, and what the best is best in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SizeSearch {
    /// Parts and states.
    pub(crate) given: [Option<usize>; 2],
    pub(crate) rule: SizeRule,
}

/// A model to be learned, with all that the user chose for it.
#[derive(Clone)]
pub(crate) enum Wanted {
    /// With what is to be found out about its size first.
    Mcvq(McvqParams, Option<SizeSearch>),
    Mcfa(McfaParams),
    Vq(VqParams),
    Gmm(GmmParams),
    Student(StudentParams),
    DeepGmm(DeepGmmParams),
    Pca(PcaParams),
    Ppca(PpcaParams),
    Fa(FaParams),
    Nmf(NmfParams),
    Gvq(GvqParams),
    Cvq(CvqParams),
}

impl Wanted {
    fn kind(&self) -> &'static str {
        match self {
            Self::Mcvq(..) => Mcvq::KIND,
            Self::Mcfa(_) => Mcfa::KIND,
            Self::Vq(_) => Vq::KIND,
            Self::Gmm(_) => Gmm::KIND,
            Self::Student(_) => Student::KIND,
            Self::DeepGmm(_) => DeepGmm::KIND,
            Self::Pca(_) => Pca::KIND,
            Self::Ppca(_) => Ppca::KIND,
            Self::Fa(_) => Fa::KIND,
            Self::Nmf(_) => Nmf::KIND,
            Self::Gvq(_) => Gvq::KIND,
            Self::Cvq(_) => Cvq::KIND,
        }
    }

    fn params(&self) -> Result<serde_json::Value> {
        match self {
            Self::Mcvq(params, _) => serde_json::to_value(params),
            Self::Mcfa(params) => serde_json::to_value(params),
            Self::Vq(params) => serde_json::to_value(params),
            Self::Gmm(params) => serde_json::to_value(params),
            Self::Student(params) => serde_json::to_value(params),
            Self::DeepGmm(params) => serde_json::to_value(params),
            Self::Pca(params) => serde_json::to_value(params),
            Self::Ppca(params) => serde_json::to_value(params),
            Self::Fa(params) => serde_json::to_value(params),
            Self::Nmf(params) => serde_json::to_value(params),
            Self::Gvq(params) => serde_json::to_value(params),
            Self::Cvq(params) => serde_json::to_value(params),
        }
        .map_err(|e| Error::option("params", e))
    }

    /// Complains about sizes that cannot be learned, before any data is read.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Self::Mcvq(params, _) => params.check(),
            Self::Mcfa(params) => params.check(),
            Self::Vq(params) => params.check(),
            Self::Gmm(params) => params.check(),
            Self::Student(params) => params.check(),
            Self::DeepGmm(params) => params.check(),
            Self::Pca(params) => params.check(),
            Self::Ppca(params) => params.check(),
            Self::Fa(params) => params.check(),
            Self::Nmf(params) => params.check(),
            Self::Gvq(params) => params.check(),
            Self::Cvq(params) => params.check(),
        }
    }

    /// Complains about a model that the machine could not hold while it is learned.
    fn check_memory(&self, columns: usize) -> Result<()> {
        let (option, states) = match self {
            Self::Mcvq(params, _) => ("states", params.parts.saturating_mul(params.states)),
            // Pairs of factors are summed column by column if cells are missing.
            Self::Mcfa(params) => {
                ("factors", params.parts.saturating_mul(params.factors * (params.factors + 3) / 2))
            }
            Self::Vq(params) => ("states", params.states),
            Self::Gmm(params) => match params.covariance {
                Covariance::Spherical | Covariance::Diagonal => ("components", params.components),
                _ => ("components", params.components.saturating_mul(columns)),
            },
            Self::Student(params) => ("components", params.components.saturating_mul(columns)),
            Self::DeepGmm(params) => {
                let paths = params.layers.iter().fold(1usize, |p, n| p.saturating_mul(*n));
                ("layers", paths.saturating_mul(columns))
            }
            Self::Pca(params) => ("components", params.components),
            Self::Ppca(params) => ("components", params.components),
            Self::Fa(params) => ("components", params.components),
            Self::Nmf(params) => ("components", params.components),
            Self::Gvq(params) => ("features", params.sets.saturating_mul(params.features + 1)),
            Self::Cvq(params) => ("states", params.parts.saturating_mul(params.states)),
        };
        let bytes = [columns, COPIES, size_of::<f64>()]
            .into_iter()
            .fold(states as u64, |product, factor| product.saturating_mul(factor as u64));
        if bytes <= memory().unwrap_or(1 << 36) {
            return Ok(());
        }
        let problem = format!(
            "{states} states of {columns} columns take about {} GB to learn, more than this \
             machine's memory; ask for fewer",
            bytes >> 30
        );
        Err(Error::option(option, problem))
    }

    /// The same with its size found, and the sizes tried on the way.
    fn sized<T: Real>(
        &self,
        source: &dyn Source<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Vec<SizeTried>)> {
        let Self::Mcvq(params, Some(SizeSearch { given, rule })) = self else {
            return Ok((self.clone(), Vec::new()));
        };
        let (params, tried) =
            mcvq::choose_size(params, *given, *rule, source, plan, context, observer)?;
        Ok((Self::Mcvq(params, None), tried))
    }

    fn fit<T: Real>(
        &self,
        source: &dyn Source<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<(AnyModel, Training)> {
        Ok(match self {
            Self::Mcvq(params, _) => {
                let (model, training) = mcvq::fit(params, source, plan, context, observer)?;
                (AnyModel::Mcvq(model), training)
            }
            Self::Mcfa(params) => {
                let (model, training) = mcfa::fit(params, source, plan, context, observer)?;
                (AnyModel::Mcfa(model), training)
            }
            Self::Vq(params) => {
                let (model, training) = vq::fit(params, source, plan, context, observer)?;
                (AnyModel::Vq(model), training)
            }
            Self::Gmm(params) => {
                let (model, training) = gaussian::fit(params, source, plan, context, observer)?;
                (AnyModel::Gmm(model), training)
            }
            Self::Student(params) => {
                let (model, training) = student::fit(params, source, plan, context, observer)?;
                (AnyModel::Student(model), training)
            }
            Self::DeepGmm(params) => {
                let (model, training) = deep::fit(params, source, plan, context, observer)?;
                (AnyModel::DeepGmm(model), training)
            }
            Self::Pca(params) => {
                let (model, training) = pca::fit(params, source, plan, context, observer)?;
                (AnyModel::Pca(model), training)
            }
            Self::Ppca(params) => {
                let (model, training) = factor::fit_ppca(params, source, plan, context, observer)?;
                (AnyModel::Ppca(model), training)
            }
            Self::Fa(params) => {
                let (model, training) = factor::fit_fa(params, source, plan, context, observer)?;
                (AnyModel::Fa(model), training)
            }
            Self::Nmf(params) => {
                let (model, training) = nmf::fit(params, source, plan, context, observer)?;
                (AnyModel::Nmf(model), training)
            }
            Self::Gvq(params) => {
                let (model, training) = gvq::fit(params, source, plan, context, observer)?;
                (AnyModel::Gvq(model), training)
            }
            Self::Cvq(params) => {
                let (model, training) = cvq::fit(params, source, plan, context, observer)?;
                (AnyModel::Cvq(model), training)
            }
        })
    }
}

/// How to learn it.
pub(crate) struct Task<'a> {
    pub(crate) wanted: &'a Wanted,
    pub(crate) steps: &'a [StepKind],
    pub(crate) plan: &'a Plan,
    pub(crate) context: &'a Context,
}

impl Task<'_> {
    /// Learns from rows; the model is to be saved at `path`. Nothing that is kept depends on
    /// clocks or threads.
    pub(crate) fn learn<T: Real>(
        &self,
        held: Held<T>,
        observer: &mut dyn Observer,
        path: &std::path::Path,
    ) -> Result<(Fitted, Training)> {
        let mut manifest = Manifest::new(self.wanted.kind());
        let raw = held.source();
        self.wanted.check_memory(raw.columns())?;
        manifest.fingerprint = Some(format!("{:016x}", raw.fingerprint()?));
        manifest.columns = own_names(raw.about().names.as_deref()).map(<[String]>::to_vec);
        manifest.picture = raw.about().picture;
        let classes = match self.wanted {
            Wanted::Mcvq(params, _) => params.classes,
            Wanted::Mcfa(params) => params.classes,
            _ => Classes::None,
        };
        if classes == Classes::Labels {
            manifest.classes = raw.about().labels.as_ref().map(|labels| labels.names.clone());
        }
        manifest.absent = raw.absent();
        let steps = match self.steps {
            [] => None,
            kinds => Some(Steps::learn(kinds, raw)?),
        };
        if let Some(steps) = &steps {
            manifest.steps =
                serde_json::to_value(steps).map_err(|e| Error::option("prepare", e))?;
        }
        let ready: Box<dyn Source<T> + '_> = match (held, &steps) {
            (held, None) => held.into_source(),
            (Held::Table(table), Some(steps)) => Box::new(steps.apply(table)?),
            (Held::Stream(source), Some(steps)) => Box::new(steps.source(source)?),
        };
        let (wanted, sizes) = self.wanted.sized(&*ready, self.plan, self.context, observer)?;
        manifest.params = wanted.params()?;
        manifest.sizes = sizes;
        let (model, training) = wanted.fit(&*ready, self.plan, self.context, observer)?;
        drop(ready);
        manifest.training = Some(training.clone());
        Ok((Fitted { path: path.to_path_buf(), model, manifest, steps }, training))
    }
}
