//! The one list of models. Adding a model is adding it here.

use std::fmt::Write as _;
use std::path::Path;

use mereo_core::{
    Answer, Context, Error, Lent, Model, ModelFile, Observer, Options, ParamInfo, Params, Plan,
    Result, SizeTried, Training,
};
use serde_json::Value;

use crate::AnyModel;

/// Calls a macro with every model: `name: Type, ...`. Whatever must be done for each model, tests
/// above all, is made from this list.
///
/// ```
/// macro_rules! count {
///     ($($name:ident: $model:ty),* $(,)?) => { [$(stringify!($name)),*].len() };
/// }
/// assert_eq!(mereo::for_each_model!(count), mereo::models().len());
/// ```
#[macro_export]
macro_rules! for_each_model {
    ($callback:ident) => {
        $callback! {
            mcvq: $crate::parts::Mcvq,
            mcfa: $crate::parts::Mcfa,
            vq: $crate::quantize::Vq,
            gmm: $crate::mixture::Gmm,
            student: $crate::mixture::Student,
            deep_gmm: $crate::mixture::DeepGmm,
            pca: $crate::linear::Pca,
            ppca: $crate::linear::Ppca,
            fa: $crate::linear::Fa,
            nmf: $crate::linear::Nmf,
            gvq: $crate::quantize::Gvq,
            cvq: $crate::quantize::Cvq,
            aspect: $crate::ratings::Aspect,
            urp: $crate::ratings::Urp,
            bfa: $crate::ratings::Bfa,
            ae: $crate::neural::Ae,
            vae: $crate::neural::Vae,
        }
    };
}

/// A kind of model: what it is called, what it is, what can be chosen for it and what it can do.
#[derive(Debug, Clone, Copy)]
pub struct ModelKind {
    /// Its name in model files, and that of the program's subcommand.
    pub name: &'static str,
    /// What it is, in a line.
    pub title: &'static str,
    /// What it is, in a paragraph.
    pub about: &'static str,
    /// Command lines that show how it is learned.
    pub examples: &'static [&'static str],
    /// What it can do, by the names of verbs.
    pub capabilities: &'static [&'static str],
    /// How many starts are tried if nobody says.
    pub restarts: usize,
    /// Whether a column in smaller units has more of a say.
    pub units_matter: bool,
    /// Whether it can learn from rows that come in portions, with some options at least.
    pub in_portions: bool,
    params: fn() -> Vec<ParamInfo>,
    chosen: fn(&Options) -> Result<AnyParams>,
    load: fn(ModelFile, &Path) -> Result<AnyModel>,
}

impl ModelKind {
    /// The kind of a type.
    ///
    /// ```
    /// let kind = mereo::ModelKind::of::<mereo::quantize::Vq>();
    /// assert_eq!((kind.name, kind.params()[0].name), ("vq", "states"));
    /// ```
    pub fn of<M: Model>() -> Self {
        Self {
            name: M::KIND,
            title: M::TITLE,
            about: M::ABOUT,
            examples: M::EXAMPLES,
            capabilities: M::CAPABILITIES,
            restarts: M::Params::RESTARTS,
            units_matter: M::Params::UNITS_MATTER,
            in_portions: M::Params::IN_PORTIONS,
            params: M::Params::declared,
            chosen: |options| Ok(AnyParams::new::<M>(M::Params::from_options(options)?)),
            load: |file, path| M::from_file(file, path).map(AnyModel::new),
        }
    }

    /// Everything that can be chosen for it.
    pub fn params(&self) -> Vec<ParamInfo> {
        (self.params)()
    }

    /// What was chosen, by name, with defaults for the rest.
    ///
    /// ```
    /// let kind = mereo::model("gmm").unwrap();
    /// let chosen = serde_json::from_str(r#"{"components": 3, "covariance": "full"}"#).unwrap();
    /// assert_eq!(kind.chosen(&chosen)?.kind().name, "gmm");
    /// assert!(kind.chosen(&Default::default()).is_err());
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn chosen(&self, options: &Options) -> Result<AnyParams> {
        (self.chosen)(options)
    }

    pub(crate) fn load(&self, file: ModelFile, path: &Path) -> Result<AnyModel> {
        (self.load)(file, path)
    }
}

/// All models, in the order in which they are listed to people.
///
/// ```
/// assert!(mereo::models().iter().any(|kind| kind.name == "mcvq"));
/// ```
pub fn models() -> Vec<ModelKind> {
    macro_rules! kinds {
        ($($name:ident: $model:ty),* $(,)?) => { vec![$(ModelKind::of::<$model>()),*] };
    }
    for_each_model!(kinds)
}

/// All models, what can be chosen for each and what it can do, as a page: `docs/models.md` is this.
///
/// ```
/// assert!(mereo::models_in_markdown().contains("## mcvq"));
/// ```
pub fn models_in_markdown() -> String {
    // Writing to a string does not fail.
    let mut text = "# The models\n\n<!-- Written by `cargo run --example models_page`; a test says if it is old. -->\n\n\
        | model | what it is | it can |\n|---|---|---|\n"
        .to_owned();
    for kind in models() {
        let can = kind.capabilities.join(", ");
        let _ = writeln!(text, "| [`{0}`](#{0}) | {1} | {can} |", kind.name, kind.title);
    }
    for kind in models() {
        let _ = writeln!(text, "\n## {}\n\n{}. {}\n", kind.name, kind.title, kind.about);
        text.push_str("| option | default | what it means |\n|---|---|---|\n");
        for info in kind.params() {
            let default = match &info.default {
                None => "needed".to_owned(),
                Some(Value::Null) => String::new(),
                Some(Value::Bool(_)) => "off".to_owned(),
                Some(Value::String(word)) => format!("`{word}`"),
                Some(Value::Array(all)) if all.is_empty() => String::new(),
                Some(other) => format!("`{other}`"),
            };
            let _ = writeln!(text, "| `--{}` | {default} | {} |", info.option(), info.about);
        }
        let _ = writeln!(text, "| `--restarts` | `{}` | How many starts to try |", kind.restarts);
        text.push_str("\n```sh\n");
        for example in kind.examples {
            text.push_str(example);
            text.push('\n');
        }
        text.push_str("```\n");
    }
    text
}

/// A kind of model by its name.
///
/// ```
/// assert!(mereo::model("gmm").is_some() && mereo::model("oracle").is_none());
/// ```
pub fn model(name: &str) -> Option<ModelKind> {
    models().into_iter().find(|kind| kind.name == name)
}

/// Everything that can be asked of rows that are elsewhere.
///
/// ```
/// let names: Vec<_> = mereo::answers().iter().map(|answer| answer.name()).collect();
/// assert!(names.contains(&"survey") && names.contains(&"mcvq"));
/// ```
pub fn answers() -> Vec<Answer> {
    let mut all = mereo_core::slots::answers();
    all.extend(mereo_data::answers());
    all.extend(mereo_parts::answers());
    all.extend(mereo_quantize::answers());
    all.extend(mereo_mixture::answers());
    all.extend(mereo_linear::answers());
    all.extend(mereo_ratings::answers());
    all.extend(mereo_neural::answers());
    all
}

/// What was chosen for a model of any kind.
///
/// ```
/// use mereo::AnyParams;
/// use mereo::quantize::{Vq, VqParams};
/// let params = AnyParams::new::<Vq>(VqParams::new(3));
/// assert_eq!(params.to_json()?["states"], 3);
/// # Ok::<(), mereo::Error>(())
/// ```
#[derive(Debug)]
pub struct AnyParams(Box<dyn DynParams>);

/// What is done with parameters, whatever model they are for.
trait DynParams: std::fmt::Debug + Send + Sync {
    fn kind(&self) -> ModelKind;
    fn to_json(&self) -> Result<Value>;
    fn check(&self) -> Result<()>;
    fn vectors(&self, columns: usize) -> (&'static str, usize);
    fn wants_labels(&self) -> bool;
    fn takes_words(&self) -> bool;
    fn in_portions(&self) -> bool;
    fn wants_means_removed(&self) -> bool;
    fn sized(&self, rows: &mut Rows<'_, '_>) -> Result<(AnyParams, Vec<SizeTried>)>;
    fn fit(&self, rows: &mut Rows<'_, '_>) -> Result<(AnyModel, Training)>;
}

/// What a model is learned from, and how.
pub(crate) struct Rows<'a, 'o> {
    pub(crate) source: Lent<'a>,
    pub(crate) plan: &'a Plan,
    pub(crate) context: &'a Context,
    pub(crate) observer: &'a mut (dyn Observer + 'o),
}

#[derive(Debug)]
struct Of<M: Model>(M::Params);

impl<M: Model> DynParams for Of<M> {
    fn kind(&self) -> ModelKind {
        ModelKind::of::<M>()
    }

    fn to_json(&self) -> Result<Value> {
        serde_json::to_value(&self.0).map_err(|e| Error::option("params", e))
    }

    fn check(&self) -> Result<()> {
        self.0.check()
    }

    fn vectors(&self, columns: usize) -> (&'static str, usize) {
        self.0.vectors(columns)
    }

    fn wants_labels(&self) -> bool {
        self.0.wants_labels()
    }

    fn takes_words(&self) -> bool {
        self.0.takes_words()
    }

    fn in_portions(&self) -> bool {
        self.0.in_portions()
    }

    fn wants_means_removed(&self) -> bool {
        self.0.wants_means_removed()
    }

    fn sized(&self, rows: &mut Rows<'_, '_>) -> Result<(AnyParams, Vec<SizeTried>)> {
        let Rows { source, plan, context, observer } = rows;
        let params = self.0.clone();
        let (params, tried) = match source {
            Lent::F32(source) => M::find_size(params, *source, plan, context, *observer),
            Lent::F64(source) => M::find_size(params, *source, plan, context, *observer),
        }?;
        Ok((AnyParams::new::<M>(params), tried))
    }

    fn fit(&self, rows: &mut Rows<'_, '_>) -> Result<(AnyModel, Training)> {
        let Rows { source, plan, context, observer } = rows;
        let (model, training) = match source {
            Lent::F32(source) => M::fit(&self.0, *source, plan, context, *observer),
            Lent::F64(source) => M::fit(&self.0, *source, plan, context, *observer),
        }?;
        Ok((AnyModel::new(model), training))
    }
}

impl AnyParams {
    /// What was chosen for a model of this type.
    pub fn new<M: Model>(params: M::Params) -> Self {
        Self(Box::new(Of::<M>(params)))
    }

    /// The kind of model.
    pub fn kind(&self) -> ModelKind {
        self.0.kind()
    }

    /// As model files keep it.
    pub fn to_json(&self) -> Result<Value> {
        self.0.to_json()
    }

    /// Whether a model like this can be learned at all.
    pub fn check(&self) -> Result<()> {
        self.0.check()
    }

    pub(crate) fn vectors(&self, columns: usize) -> (&'static str, usize) {
        self.0.vectors(columns)
    }

    /// Whether columns of words can be learned from; columns that cannot are left out.
    pub fn takes_words(&self) -> bool {
        self.0.takes_words()
    }

    /// Whether it can be learned from rows that come in portions.
    pub fn in_portions(&self) -> bool {
        self.0.in_portions()
    }

    pub(crate) fn wants_labels(&self) -> bool {
        self.0.wants_labels()
    }

    pub(crate) fn wants_means_removed(&self) -> bool {
        self.0.wants_means_removed()
    }

    pub(crate) fn sized(&self, rows: &mut Rows<'_, '_>) -> Result<(Self, Vec<SizeTried>)> {
        self.0.sized(rows)
    }

    pub(crate) fn fit(&self, rows: &mut Rows<'_, '_>) -> Result<(AnyModel, Training)> {
        self.0.fit(rows)
    }
}
