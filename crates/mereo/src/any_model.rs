//! Any model that mereo knows.

use std::path::Path;

use mereo_core::{
    ClassView, Classify, ComponentsView, DynModel, Encode, Error, Estimate, Explain, Features,
    Layers, LevelsView, Manifest, Model, ModelFile, PartsView, Predict, PredictCells, Real,
    Reconstruct, Result, Sample, Score,
};
use mereo_map::Map;

use crate::average::Average;
use crate::models::model;
use crate::segment::Colours;

/// A model of any kind, and what it can do. Each question answers with the capability, or with
/// nothing if a model of this kind does not have it.
///
/// ```
/// use mereo::AnyModel;
/// use mereo::{Context, Dense, Manifest, ModelFile, Table, Tensor, score};
/// // A model file needs no more than its tensors and the kind of model that they are.
/// let mut file = ModelFile::new(Manifest::new("vq"));
/// file.insert("mean", Tensor::new(vec![1, 2], vec![0.0, 0.0]));
/// file.insert("state_prior", Tensor::new(vec![1], vec![1.0]));
/// file.insert("variance", Tensor::new(vec![1], vec![1.0]));
/// let (model, _) = AnyModel::from_file(file, "by hand".as_ref())?;
/// let table = Table::from(Dense::new(1, 2, vec![0.0f64, 0.0])?);
/// let scores = model.scorer::<f64>().map(|s| score(s, &table, &Context::new(0))).transpose()?;
/// assert!((scores.map_or(0.0, |s| s.mean) + 1.837877).abs() < 1e-6);
/// # Ok::<(), mereo::Error>(())
/// ```
#[derive(Debug)]
pub struct AnyModel(Box<dyn DynModel>);

impl Clone for AnyModel {
    fn clone(&self) -> Self {
        Self(self.0.boxed())
    }
}

impl PartialEq for AnyModel {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&*other.0)
    }
}

impl From<Box<dyn DynModel>> for AnyModel {
    fn from(model: Box<dyn DynModel>) -> Self {
        Self(model)
    }
}

impl AnyModel {
    /// A model of a type that is known here.
    ///
    /// ```
    /// # use mereo::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("vq"));
    /// # file.insert("mean", Tensor::new(vec![2, 2], vec![0.0, 0.0, 3.0, 3.0]));
    /// # file.insert("state_prior", Tensor::new(vec![2], vec![0.5, 0.5]));
    /// # file.insert("variance", Tensor::new(vec![1], vec![1.0]));
    /// use mereo::AnyModel;
    /// use mereo::quantize::Vq;
    /// let model = AnyModel::new(Vq::from_file(file, "by hand".as_ref())?);
    /// assert!(model.downcast_ref::<Vq>().is_some());
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn new<M: Model>(model: M) -> Self {
        Self(Box::new(model))
    }

    /// The model itself, if it is of this type.
    pub fn downcast_ref<M: Model>(&self) -> Option<&M> {
        self.0.as_any().downcast_ref()
    }

    /// Several models of one kind and the same columns as one: what they predict on the average. See
    /// [`Fit::average`](crate::Fit::average).
    ///
    /// ```
    /// # use mereo::{AnyModel, Context, Dense, Fit, Table, mixture::GmmParams};
    /// let table = Table::from(Dense::new(4, 1, vec![0.0, 1.0, 8.0, 9.0])?);
    /// let of = |components| Fit::new(GmmParams::new(components)).run(&table).map(|fitted| fitted.model);
    /// let average = AnyModel::average(vec![of(1)?, of(2)?])?;
    /// assert_eq!((average.kind(), average.members().len()), ("average", 2));
    /// assert!(AnyModel::average(Vec::new()).is_err());
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn average(members: Vec<Self>) -> Result<Self> {
        Ok(Self(Box::new(Average::new(members)?)))
    }

    /// The members of an average; nothing of any other model.
    pub fn members(&self) -> &[Self] {
        self.0.as_any().downcast_ref::<Average>().map_or(&[], Average::members)
    }

    /// The kind of model in words: of an average, of how many models of which kind.
    pub fn described(&self) -> String {
        match self.members() {
            [] => self.kind().to_owned(),
            members => format!("average of {} {}", members.len(), members[0].kind()),
        }
    }

    /// Opens a model file.
    ///
    /// ```
    /// let error = mereo::AnyModel::open("no/such.safetensors".as_ref()).unwrap_err();
    /// assert!(error.to_string().starts_with("no/such.safetensors: "));
    /// ```
    pub fn open(path: &Path) -> Result<(Self, Manifest)> {
        Self::from_file(ModelFile::read(path)?, path)
    }

    /// Takes a model out of a file that was read; `path` is what errors call it.
    ///
    /// ```
    /// use mereo::{Manifest, ModelFile};
    /// let file = ModelFile::new(Manifest::new("oracle"));
    /// let error = mereo::AnyModel::from_file(file, "a.safetensors".as_ref()).unwrap_err();
    /// assert!(error.to_string().contains("it holds a `oracle` model"));
    /// ```
    pub fn from_file(file: ModelFile, path: &Path) -> Result<(Self, Manifest)> {
        let manifest = file.manifest.clone();
        let model = if manifest.model == Average::KIND {
            Self(Box::new(Average::from_file(file, path)?))
        } else if let Some(kind) = model(&manifest.model) {
            kind.load(file, path)?
        } else {
            let problem = match &*manifest.model {
                Map::KIND => {
                    "it holds a map, which is asked by `mereo map --onto`, `mereo report` and \
                              `mereo show`"
                        .to_owned()
                }
                Colours::KIND => {
                    "it tells labels of pixels, and is used by `mereo segment --model` and \
                                  `mereo show`"
                        .to_owned()
                }
                other => format!("it holds a `{other}` model, which this mereo does not know"),
            };
            return Err(Error::model_file(path, problem));
        };
        let columns = model.columns();
        if manifest.columns.as_ref().is_some_and(|names| names.len() != columns)
            || manifest.picture.is_some_and(|picture| picture.columns() != Some(columns))
        {
            return Err(Error::model_file(
                path,
                format!("its manifest speaks of other columns than the {columns} of its tensors"),
            ));
        }
        if manifest.keys.as_ref().is_some_and(|keys| keys.len() != columns) {
            let problem = format!("its manifest has other ids than of its {columns} columns");
            return Err(Error::model_file(path, problem));
        }
        if let Some(ratings) = &manifest.ratings {
            ratings.check(columns).map_err(|problem| Error::model_file(path, problem))?;
        }
        let classes = model.classes().map_or(0, |classes| classes.prior.len());
        if let Some(names) = manifest.classes.as_ref().filter(|names| names.len() != classes) {
            let problem =
                format!("its manifest names {} classes, its tensors have {classes}", names.len());
            return Err(Error::model_file(path, problem));
        }
        Ok((model, manifest))
    }

    /// Writes a model file, whole or not at all.
    ///
    /// ```
    /// # fn main() -> mereo::Result<()> {
    /// use mereo::AnyModel;
    /// use mereo::{Context, Dense, Manifest, Plan, Silent, Table};
    /// use mereo::quantize::{VqParams, vq};
    /// let table = Table::from(Dense::new(3, 1, vec![0.0, 1.0, 5.0])?);
    /// let (model, training) =
    ///     vq::fit(&VqParams::new(2), &table, &Plan::default(), &Context::new(0), &mut Silent)?;
    /// let model = AnyModel::new(model);
    /// let folder = tempfile::tempdir().unwrap();
    /// let path = folder.path().join("vq.safetensors");
    /// let manifest = Manifest { training: Some(training), ..Manifest::new(model.kind()) };
    /// model.save(manifest.clone(), &path)?;
    /// assert_eq!(AnyModel::open(&path)?, (model, manifest));
    /// # Ok(())
    /// # }
    /// ```
    pub fn save(&self, manifest: Manifest, path: &Path) -> Result<()> {
        self.0.to_file(manifest).write(path)
    }

    /// The model as a file in memory.
    pub fn to_file(&self, manifest: Manifest) -> ModelFile {
        self.0.to_file(manifest)
    }

    /// The kind of model, as model files say it.
    ///
    /// ```
    /// # fn main() -> mereo::Result<()> {
    /// # use mereo::{Context, Dense, Plan, Silent, Table};
    /// # use mereo::mixture::{GmmParams, gaussian};
    /// # let table = Table::from(Dense::new(3, 1, vec![0.0, 1.0, 5.0])?);
    /// # let (plan, context) = (Plan::default(), Context::new(0));
    /// let (model, _) = gaussian::fit(&GmmParams::new(2), &table, &plan, &context, &mut Silent)?;
    /// assert_eq!(mereo::AnyModel::new(model).kind(), "gmm");
    /// # Ok(())
    /// # }
    /// ```
    pub fn kind(&self) -> &'static str {
        self.0.kind()
    }

    /// Number of columns of the rows it was learned from.
    ///
    /// ```
    /// # use mereo::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("vq"));
    /// # file.insert("mean", Tensor::new(vec![2, 2], vec![0.0, 0.0, 3.0, 3.0]));
    /// # file.insert("state_prior", Tensor::new(vec![2], vec![0.5, 0.5]));
    /// # file.insert("variance", Tensor::new(vec![1], vec![1.0]));
    /// # let (model, _) = mereo::AnyModel::from_file(file, "by hand".as_ref())?;
    /// assert_eq!(model.columns(), 2);
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn columns(&self) -> usize {
        self.0.columns()
    }

    /// Rows to codes.
    ///
    /// ```
    /// use mereo::{Context, Dense, Table, encode};
    /// # use mereo::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("vq"));
    /// # file.insert("mean", Tensor::new(vec![2, 2], vec![0.0, 0.0, 3.0, 3.0]));
    /// # file.insert("state_prior", Tensor::new(vec![2], vec![0.5, 0.5]));
    /// # file.insert("variance", Tensor::new(vec![1], vec![1.0]));
    /// # let (model, _) = mereo::AnyModel::from_file(file, "by hand".as_ref())?;
    /// let table = Table::from(Dense::new(1, 2, vec![4.0f32, 5.0])?);
    /// if let Some(encoder) = model.encoder() {
    ///     assert_eq!(encode(encoder, &table, &Context::new(0))?.row(0), [0.0f32, 1.0]);
    /// }
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn encoder<T: Real>(&self) -> Option<&dyn Encode<T>> {
        T::on_rows(&*self.0).encoder
    }

    /// Rows to rows.
    ///
    /// ```
    /// use mereo::{Context, Dense, Table, reconstruct};
    /// # use mereo::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("vq"));
    /// # file.insert("mean", Tensor::new(vec![2, 2], vec![0.0, 0.0, 3.0, 3.0]));
    /// # file.insert("state_prior", Tensor::new(vec![2], vec![0.5, 0.5]));
    /// # file.insert("variance", Tensor::new(vec![1], vec![1.0]));
    /// # let (model, _) = mereo::AnyModel::from_file(file, "by hand".as_ref())?;
    /// let table = Table::from(Dense::new(1, 2, vec![4.0, f64::NAN])?);
    /// if let Some(reconstructor) = model.reconstructor() {
    ///     let filled = reconstruct(reconstructor, &table, &Context::new(0))?;
    ///     assert_eq!(filled.row(0), [3.0, 3.0]);
    /// }
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn reconstructor<T: Real>(&self) -> Option<&dyn Reconstruct<T>> {
        T::on_rows(&*self.0).reconstructor
    }

    /// Rows to log densities.
    ///
    /// ```
    /// use mereo::{Context, Dense, ScoreKind, Table, score};
    /// # use mereo::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("vq"));
    /// # file.insert("mean", Tensor::new(vec![2, 2], vec![0.0, 0.0, 3.0, 3.0]));
    /// # file.insert("state_prior", Tensor::new(vec![2], vec![0.5, 0.5]));
    /// # file.insert("variance", Tensor::new(vec![1], vec![1.0]));
    /// # let (model, _) = mereo::AnyModel::from_file(file, "by hand".as_ref())?;
    /// let table = Table::from(Dense::new(1, 2, vec![3.0, 3.0])?);
    /// if let Some(scorer) = model.scorer() {
    ///     let scores = score::<f64>(scorer, &table, &Context::new(0))?;
    ///     assert_eq!(scores.kind, ScoreKind::Exact);
    ///     assert!(scores.mean < 0.0);
    /// }
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn scorer<T: Real>(&self) -> Option<&dyn Score<T>> {
        T::on_rows(&*self.0).scorer
    }

    /// Rows to log densities in a way of the user's choice.
    ///
    /// ```
    /// # use mereo::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("vq"));
    /// # file.insert("mean", Tensor::new(vec![2, 2], vec![0.0, 0.0, 3.0, 3.0]));
    /// # file.insert("state_prior", Tensor::new(vec![2], vec![0.5, 0.5]));
    /// # file.insert("variance", Tensor::new(vec![1], vec![1.0]));
    /// # let (model, _) = mereo::AnyModel::from_file(file, "by hand".as_ref())?;
    /// // A codebook has but one way.
    /// assert!(model.estimator::<f64>().is_none());
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn estimator<T: Real>(&self) -> Option<&dyn Estimate<T>> {
        T::on_rows(&*self.0).estimator
    }

    /// The classes that states depend on.
    ///
    /// ```
    /// # use mereo::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("mcvq"));
    /// # file.insert("gate", Tensor::new(vec![1, 1], vec![1.0]));
    /// # file.insert("mean", Tensor::new(vec![1, 2, 1], vec![0.0, 4.0]));
    /// # file.insert("variance", Tensor::new(vec![1, 2, 1], vec![1.0, 1.0]));
    /// # file.insert("class_prior", Tensor::new(vec![2], vec![0.25, 0.75]));
    /// # file.insert("state_prior", Tensor::new(vec![2, 1, 2], vec![1.0, 0.0, 0.2, 0.8]));
    /// # let (model, _) = mereo::AnyModel::from_file(file, "by hand".as_ref())?;
    /// assert_eq!(model.classes().map(|classes| classes.prior), Some(&[0.25, 0.75][..]));
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn classes(&self) -> Option<ClassView<'_>> {
        self.0.classes()
    }

    /// Rows to classes, if the model has any.
    ///
    /// ```
    /// use mereo::{Context, Dense, Likelihood, Table, classify};
    /// # use mereo::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("mcvq"));
    /// # file.insert("gate", Tensor::new(vec![1, 1], vec![1.0]));
    /// # file.insert("mean", Tensor::new(vec![1, 2, 1], vec![0.0, 4.0]));
    /// # file.insert("variance", Tensor::new(vec![1, 2, 1], vec![1.0, 1.0]));
    /// # file.insert("class_prior", Tensor::new(vec![2], vec![0.5, 0.5]));
    /// # file.insert("state_prior", Tensor::new(vec![2, 1, 2], vec![1.0, 0.0, 0.0, 1.0]));
    /// # let (model, _) = mereo::AnyModel::from_file(file, "by hand".as_ref())?;
    /// let table = Table::from(Dense::new(1, 1, vec![4.0])?);
    /// if let Some(classifier) = model.classifier::<f64>() {
    ///     let found = classify(classifier, Likelihood::Exact, &table, &Context::new(0))?;
    ///     assert!(found.row(0)[1] > 0.99);
    /// }
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn classifier<T: Real>(&self) -> Option<&dyn Classify<T>> {
        T::on_rows(&*self.0).classifier
    }

    /// The same parts with one prior over states or factors: in each part that of a class, or a mix of
    /// several by weight. `blend` has for each part the classes and their weights.
    ///
    /// ```
    /// # use mereo::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("mcvq"));
    /// # file.insert("gate", Tensor::new(vec![1, 1], vec![1.0]));
    /// # file.insert("mean", Tensor::new(vec![1, 2, 1], vec![0.0, 4.0]));
    /// # file.insert("variance", Tensor::new(vec![1, 2, 1], vec![1.0, 1.0]));
    /// # file.insert("class_prior", Tensor::new(vec![2], vec![0.5, 0.5]));
    /// # file.insert("state_prior", Tensor::new(vec![2, 1, 2], vec![1.0, 0.0, 0.0, 1.0]));
    /// # let (model, _) = mereo::AnyModel::from_file(file, "by hand".as_ref())?;
    /// let hybrid = model.hybrid(&[vec![(0, 1.0), (1, 1.0)]])?;
    /// assert_eq!(hybrid.parts().map(|p| p.state_prior.to_vec()), Some(vec![0.5, 0.5]));
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn hybrid(&self, blend: &[Vec<(usize, f64)>]) -> Result<Self> {
        match self.0.hybrid(blend) {
            Some(hybrid) => hybrid.map(Self),
            None => Err(Error::Incapable {
                model: self.kind().to_owned(),
                verb: "blend classes".to_owned(),
            }),
        }
    }

    /// New rows.
    ///
    /// ```
    /// use mereo::{Context, sample};
    /// # use mereo::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("vq"));
    /// # file.insert("mean", Tensor::new(vec![2, 2], vec![0.0, 0.0, 3.0, 3.0]));
    /// # file.insert("state_prior", Tensor::new(vec![2], vec![0.5, 0.5]));
    /// # file.insert("variance", Tensor::new(vec![1], vec![1.0]));
    /// # let (model, _) = mereo::AnyModel::from_file(file, "by hand".as_ref())?;
    /// if let Some(sampler) = model.sampler() {
    ///     let rows = sample(sampler, 1, false, &Context::new(0))?;
    ///     assert!(rows.row(0) == [0.0, 0.0] || rows.row(0) == [3.0, 3.0]);
    /// }
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn sampler(&self) -> Option<&dyn Sample> {
        self.0.sampler()
    }

    /// The parts and their states.
    ///
    /// ```
    /// # use mereo::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("vq"));
    /// # file.insert("mean", Tensor::new(vec![2, 2], vec![0.0, 0.0, 3.0, 3.0]));
    /// # file.insert("state_prior", Tensor::new(vec![2], vec![0.5, 0.5]));
    /// # file.insert("variance", Tensor::new(vec![1], vec![1.0]));
    /// # let (model, _) = mereo::AnyModel::from_file(file, "by hand".as_ref())?;
    /// let parts = model.parts();
    /// assert_eq!(parts.map(|p| p.state(0, 1)), Some(&[3.0, 3.0][..]));
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn parts(&self) -> Option<PartsView<'_>> {
        self.0.parts()
    }

    /// How many numbers were free to be learned, of models whose bound is comparable among sizes by
    /// AIC and BIC.
    ///
    /// ```
    /// # use mereo::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("gmm"));
    /// # file.insert("weight", Tensor::new(vec![1], vec![1.0]));
    /// # file.insert("mean", Tensor::new(vec![1, 2], vec![0.0, 0.0]));
    /// # file.insert("variance", Tensor::new(vec![1, 2], vec![1.0, 1.0]));
    /// # let (model, _) = mereo::AnyModel::from_file(file, "by hand".as_ref())?;
    /// assert_eq!(model.free_parameters(), Some(4));
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn free_parameters(&self) -> Option<usize> {
        self.0.free_parameters()
    }

    /// The components that rows are sums of.
    ///
    /// ```
    /// # use mereo::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("nmf"));
    /// # file.insert("component", Tensor::new(vec![1, 2], vec![0.25, 0.75]));
    /// # let (model, _) = mereo::AnyModel::from_file(file, "by hand".as_ref())?;
    /// let components = model.components();
    /// assert_eq!(components.map(|c| c.component), Some(&[0.25, 0.75][..]));
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn components(&self) -> Option<ComponentsView<'_>> {
        self.0.components()
    }

    /// Which part each cell came from; nothing where all columns are one part.
    ///
    /// ```
    /// # use mereo::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("vq"));
    /// # file.insert("mean", Tensor::new(vec![2, 2], vec![0.0, 0.0, 3.0, 3.0]));
    /// # file.insert("state_prior", Tensor::new(vec![2], vec![0.5, 0.5]));
    /// # file.insert("variance", Tensor::new(vec![1], vec![1.0]));
    /// # let (model, _) = mereo::AnyModel::from_file(file, "by hand".as_ref())?;
    /// assert!(model.explainer::<f64>().is_none());
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn explainer<T: Real>(&self) -> Option<&dyn Explain<T>> {
        T::on_rows(&*self.0).explainer
    }

    /// Cells to what they may be.
    ///
    /// ```
    /// use mereo::{Context, Dense, CellPrediction, Table, predict_cells};
    /// # use mereo::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("fa"));
    /// # file.insert("mean", Tensor::new(vec![2], vec![1.0, 2.0]));
    /// # file.insert("component", Tensor::new(vec![1, 2], vec![1.0, 1.0]));
    /// # file.insert("noise", Tensor::new(vec![2], vec![1.0, 1.0]));
    /// # let (model, _) = mereo::AnyModel::from_file(file, "by hand".as_ref())?;
    /// let table = Table::from(Dense::new(1, 2, vec![3.0, f64::NAN])?);
    /// if let Some(cell_predictor) = model.cell_predictor::<f64>() {
    ///     let told = predict_cells(cell_predictor, &table, &[(0, 1)], &Context::new(0), CellPrediction::mean)?;
    ///     assert!((told[0] - 3.0).abs() < 1e-12);
    /// }
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn cell_predictor<T: Real>(&self) -> Option<&dyn PredictCells<T>> {
        T::on_rows(&*self.0).cell_predictor
    }

    /// Rows to the distributions of their cells: probabilities of levels, means and deviations, draws, surprise.
    ///
    /// ```
    /// # use mereo::{Asked, Context, Dense, Manifest, ModelFile, Prediction, Table, Tensor, predict};
    /// # let mut file = ModelFile::new(Manifest::new("gmm"));
    /// # file.insert("weight", Tensor::new(vec![1], vec![1.0]));
    /// # file.insert("mean", Tensor::new(vec![1, 2], vec![0.0, 3.0]));
    /// # file.insert("variance", Tensor::new(vec![1, 2], vec![1.0, 4.0]));
    /// # let (model, _) = mereo::AnyModel::from_file(file, "by hand".as_ref())?;
    /// let table = Table::from(Dense::new(1, 2, vec![0.5, f64::NAN])?);
    /// if let Some(predictor) = model.predictor::<f64>() {
    ///     let said = predict(predictor, &table, Asked::Missing, &Context::new(0))?;
    ///     assert_eq!(said.cell(0, 1), Some(Prediction::Number { mean: 3.0, deviation: 2.0 }));
    ///     assert_eq!(said.cell(0, 0), None);
    /// }
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn predictor<T: Real>(&self) -> Option<&dyn Predict<T>> {
        T::on_rows(&*self.0).predictor
    }

    /// The share of the rows that show a state which observe each column, `[K, J, D]`, where that was kept: by MCVQ of
    /// tables with words or counts and holes.
    ///
    /// ```
    /// # use mereo::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("vq"));
    /// # file.insert("mean", Tensor::new(vec![2, 2], vec![0.0, 0.0, 3.0, 3.0]));
    /// # file.insert("state_prior", Tensor::new(vec![2], vec![0.5, 0.5]));
    /// # file.insert("variance", Tensor::new(vec![1], vec![1.0]));
    /// # let (model, _) = mereo::AnyModel::from_file(file, "by hand".as_ref())?;
    /// assert!(model.observed().is_none());
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn observed(&self) -> Option<&[f64]> {
        self.0.observed()
    }

    /// The share of each level in each state, where columns are words.
    pub fn levels(&self) -> Option<LevelsView<'_>> {
        self.0.levels()
    }

    /// Layers of components that rows pass through.
    pub fn layers(&self) -> Option<&dyn Layers> {
        self.0.layers()
    }

    /// Binary features that rows are sums of.
    pub fn features(&self) -> Option<&dyn Features> {
        self.0.features()
    }

    /// Whether most of what there is to see is how rows of one state differ, not the states' means.
    pub fn varies_within_states(&self) -> bool {
        self.0.varies_within_states()
    }
}
