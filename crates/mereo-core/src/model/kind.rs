//! What every model is: a type that learns, is kept in a file, and says what it can do.

use std::any::Any;
use std::fmt::Debug;
use std::path::Path;

use super::{
    ClassView, Classify, ComponentsView, Encode, Estimate, Explain, Features, Layers, LevelsView,
    Manifest, ModelFile, Params, PartsView, Predict, PredictCells, Reconstruct, Sample, Score,
    SizeTried,
};
use crate::{Context, Observer, Plan, Real, Result, Source, Training};

/// A kind of model. Implementing it, and standing in the facade's one list, is all that a model
/// needs for the program, the report, the tests and other front ends to know it.
///
/// Capabilities are asked one by one: each method gives the capability, or nothing if a model of
/// this kind does not have it. [`capabilities!`](crate::capabilities) writes those of a type that always has them.
pub trait Model: Clone + Debug + PartialEq + Send + Sync + 'static {
    /// Its name in model files, and that of the program's subcommand.
    const KIND: &'static str;
    /// What it is, in a line.
    const TITLE: &'static str;
    /// What it is, in a paragraph.
    const ABOUT: &'static str;
    /// Command lines that show how it is learned.
    const EXAMPLES: &'static [&'static str] = &[];
    /// What models of this kind can do, by the names of verbs.
    const CAPABILITIES: &'static [&'static str];
    /// What users choose for it.
    type Params: Params;

    /// Learns it from rows.
    fn fit<T: Real>(
        params: &Self::Params,
        source: &dyn Source<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Training)>;

    /// Finds what was left open of its size, trying several.
    fn find_size<T: Real>(
        params: Self::Params,
        _source: &dyn Source<T>,
        _plan: &Plan,
        _context: &Context,
        _observer: &mut dyn Observer,
    ) -> Result<(Self::Params, Vec<SizeTried>)> {
        Ok((params, Vec::new()))
    }

    /// Takes it out of a file; `path` is what errors call that.
    fn from_file(file: ModelFile, path: &Path) -> Result<Self>;

    /// Puts it into a file.
    fn to_file(&self, manifest: Manifest) -> ModelFile;

    /// Number of columns of the rows it was learned from.
    fn columns(&self) -> usize;

    /// Rows to codes.
    fn encoder<T: Real>(&self) -> Option<&dyn Encode<T>> {
        None
    }

    /// Rows to rows.
    fn reconstructor<T: Real>(&self) -> Option<&dyn Reconstruct<T>> {
        None
    }

    /// Rows to log densities.
    fn scorer<T: Real>(&self) -> Option<&dyn Score<T>> {
        None
    }

    /// Rows to log densities in a way of the user's choice.
    fn estimator<T: Real>(&self) -> Option<&dyn Estimate<T>> {
        None
    }

    /// Rows to classes.
    fn classifier<T: Real>(&self) -> Option<&dyn Classify<T>> {
        None
    }

    /// Which part is responsible for each cell.
    fn explainer<T: Real>(&self) -> Option<&dyn Explain<T>> {
        None
    }

    /// Cells to what they may be.
    fn cell_predictor<T: Real>(&self) -> Option<&dyn PredictCells<T>> {
        None
    }

    /// Rows to the distributions of their cells.
    fn predictor<T: Real>(&self) -> Option<&dyn Predict<T>> {
        None
    }

    /// New rows.
    fn sampler(&self) -> Option<&dyn Sample> {
        None
    }

    /// The share of the rows that show a state which observe each column, `[K, J, D]`, where that was kept.
    fn observed(&self) -> Option<&[f64]> {
        None
    }

    /// The share of each level in each state, where columns are words: see [`LevelsView`].
    fn levels(&self) -> Option<LevelsView<'_>> {
        None
    }

    /// Parts and their states.
    fn parts(&self) -> Option<PartsView<'_>> {
        None
    }

    /// Components that rows are sums of.
    fn components(&self) -> Option<ComponentsView<'_>> {
        None
    }

    /// The classes that states depend on.
    fn classes(&self) -> Option<ClassView<'_>> {
        None
    }

    /// The same with these classes in each part: for each part, classes and their weights.
    fn hybrid(&self, _blend: &[Vec<(usize, f64)>]) -> Option<Result<Self>> {
        None
    }

    /// Layers of components that rows pass through.
    fn layers(&self) -> Option<&dyn Layers> {
        None
    }

    /// Binary features that rows are sums of.
    fn features(&self) -> Option<&dyn Features> {
        None
    }

    /// How many numbers can be chosen freely: what AIC and BIC count.
    fn free_parameters(&self) -> Option<usize> {
        None
    }

    /// Whether most of what there is to see is how rows of one state differ, not the states' means.
    fn varies_within_states(&self) -> bool {
        false
    }
}

/// A model behind a pointer: what [`Model`] says, without its types. Front ends use the facade's
/// `AnyModel`, which holds one.
pub trait DynModel: Debug + Send + Sync {
    /// See [`Model::KIND`].
    fn kind(&self) -> &'static str;
    /// See [`Model::columns`].
    fn columns(&self) -> usize;
    /// See [`Model::to_file`].
    fn to_file(&self, manifest: Manifest) -> ModelFile;
    /// The model itself.
    fn as_any(&self) -> &dyn Any;
    /// A copy.
    fn boxed(&self) -> Box<dyn DynModel>;
    /// Whether another model is the same.
    fn equals(&self, other: &dyn DynModel) -> bool;
    /// See [`Model::sampler`].
    fn sampler(&self) -> Option<&dyn Sample>;
    /// See [`Model::observed`].
    fn observed(&self) -> Option<&[f64]>;
    /// See [`Model::levels`].
    fn levels(&self) -> Option<LevelsView<'_>>;
    /// See [`Model::parts`].
    fn parts(&self) -> Option<PartsView<'_>>;
    /// See [`Model::components`].
    fn components(&self) -> Option<ComponentsView<'_>>;
    /// See [`Model::classes`].
    fn classes(&self) -> Option<ClassView<'_>>;
    /// See [`Model::hybrid`].
    fn hybrid(&self, blend: &[Vec<(usize, f64)>]) -> Option<Result<Box<dyn DynModel>>>;
    /// See [`Model::layers`].
    fn layers(&self) -> Option<&dyn Layers>;
    /// See [`Model::features`].
    fn features(&self) -> Option<&dyn Features>;
    /// See [`Model::free_parameters`].
    fn free_parameters(&self) -> Option<usize>;
    /// See [`Model::varies_within_states`].
    fn varies_within_states(&self) -> bool;
    /// The capabilities that take rows of single precision.
    fn on_f32(&self) -> OnRows<'_, f32>;
    /// The capabilities that take rows of double precision.
    fn on_f64(&self) -> OnRows<'_, f64>;
}

/// The capabilities of a model that take rows.
#[derive(Clone, Copy)]
pub struct OnRows<'a, T: Real> {
    /// See [`Model::encoder`].
    pub encoder: Option<&'a dyn Encode<T>>,
    /// See [`Model::reconstructor`].
    pub reconstructor: Option<&'a dyn Reconstruct<T>>,
    /// See [`Model::scorer`].
    pub scorer: Option<&'a dyn Score<T>>,
    /// See [`Model::estimator`].
    pub estimator: Option<&'a dyn Estimate<T>>,
    /// See [`Model::classifier`].
    pub classifier: Option<&'a dyn Classify<T>>,
    /// See [`Model::explainer`].
    pub explainer: Option<&'a dyn Explain<T>>,
    /// See [`Model::cell_predictor`].
    pub cell_predictor: Option<&'a dyn PredictCells<T>>,
    /// See [`Model::predictor`].
    pub predictor: Option<&'a dyn Predict<T>>,
}

impl<T: Real> Debug for OnRows<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OnRows").finish_non_exhaustive()
    }
}

impl<'a, T: Real> OnRows<'a, T> {
    fn of<M: Model>(model: &'a M) -> Self {
        Self {
            encoder: model.encoder(),
            reconstructor: model.reconstructor(),
            scorer: model.scorer(),
            estimator: model.estimator(),
            classifier: model.classifier(),
            explainer: model.explainer(),
            cell_predictor: model.cell_predictor(),
            predictor: model.predictor(),
        }
    }
}

impl<M: Model> DynModel for M {
    fn kind(&self) -> &'static str {
        M::KIND
    }

    fn columns(&self) -> usize {
        Model::columns(self)
    }

    fn to_file(&self, manifest: Manifest) -> ModelFile {
        Model::to_file(self, manifest)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn boxed(&self) -> Box<dyn DynModel> {
        Box::new(self.clone())
    }

    fn equals(&self, other: &dyn DynModel) -> bool {
        other.as_any().downcast_ref::<M>() == Some(self)
    }

    fn sampler(&self) -> Option<&dyn Sample> {
        Model::sampler(self)
    }

    fn observed(&self) -> Option<&[f64]> {
        Model::observed(self)
    }

    fn levels(&self) -> Option<LevelsView<'_>> {
        Model::levels(self)
    }

    fn parts(&self) -> Option<PartsView<'_>> {
        Model::parts(self)
    }

    fn components(&self) -> Option<ComponentsView<'_>> {
        Model::components(self)
    }

    fn classes(&self) -> Option<ClassView<'_>> {
        Model::classes(self)
    }

    fn hybrid(&self, blend: &[Vec<(usize, f64)>]) -> Option<Result<Box<dyn DynModel>>> {
        let hybrid = Model::hybrid(self, blend)?;
        Some(hybrid.map(|model| Box::new(model) as Box<dyn DynModel>))
    }

    fn layers(&self) -> Option<&dyn Layers> {
        Model::layers(self)
    }

    fn features(&self) -> Option<&dyn Features> {
        Model::features(self)
    }

    fn free_parameters(&self) -> Option<usize> {
        Model::free_parameters(self)
    }

    fn varies_within_states(&self) -> bool {
        Model::varies_within_states(self)
    }

    fn on_f32(&self) -> OnRows<'_, f32> {
        OnRows::of(self)
    }

    fn on_f64(&self) -> OnRows<'_, f64> {
        OnRows::of(self)
    }
}

/// Inside `impl Model`: the capabilities that a type always has, by the names of verbs. After `;`, names of
/// those that the implementation gives itself, because they depend on the model at hand.
///
/// ```text
/// mereo_core::capabilities!(encode, reconstruct, score, sample, parts);
/// mereo_core::capabilities!(encode, reconstruct, sample; score);
/// ```
#[macro_export]
macro_rules! capabilities {
    ($($always:ident),* $(; $($sometimes:ident),*)?) => {
        const CAPABILITIES: &'static [&'static str] =
            &[$(stringify!($always),)* $($(stringify!($sometimes),)*)?];
        $($crate::capabilities!(@ $always);)*
    };
    (@ encode) => {
        fn encoder<T: $crate::Real>(&self) -> Option<&dyn $crate::Encode<T>> {
            Some(self)
        }
    };
    (@ reconstruct) => {
        fn reconstructor<T: $crate::Real>(&self) -> Option<&dyn $crate::Reconstruct<T>> {
            Some(self)
        }
    };
    (@ score) => {
        fn scorer<T: $crate::Real>(&self) -> Option<&dyn $crate::Score<T>> {
            Some(self)
        }
    };
    (@ estimate) => {
        fn estimator<T: $crate::Real>(&self) -> Option<&dyn $crate::Estimate<T>> {
            Some(self)
        }
    };
    (@ explain) => {
        fn explainer<T: $crate::Real>(&self) -> Option<&dyn $crate::Explain<T>> {
            Some(self)
        }
    };
    (@ cells) => {
        fn cell_predictor<T: $crate::Real>(&self) -> Option<&dyn $crate::PredictCells<T>> {
            Some(self)
        }
    };
    (@ predict) => {
        fn predictor<T: $crate::Real>(&self) -> Option<&dyn $crate::Predict<T>> {
            Some(self)
        }
    };
    (@ sample) => {
        fn sampler(&self) -> Option<&dyn $crate::Sample> {
            Some(self)
        }
    };
    (@ parts) => {
        fn parts(&self) -> Option<$crate::PartsView<'_>> {
            Some($crate::Parts::parts(self))
        }
    };
    (@ components) => {
        fn components(&self) -> Option<$crate::ComponentsView<'_>> {
            Some($crate::Components::component_view(self))
        }
    };
    (@ layers) => {
        fn layers(&self) -> Option<&dyn $crate::Layers> {
            Some(self)
        }
    };
    (@ features) => {
        fn features(&self) -> Option<&dyn $crate::Features> {
            Some(self)
        }
    };
}
