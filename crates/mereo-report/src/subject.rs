//! What a report is about: what the caller hands over.

use mereo_core::{ComponentsView, Dense, Labels, Manifest, PartsView, Picture, Scores};

/// What a report shows. The caller computes it; this crate only draws.
///
/// ```
/// use mereo_core::{ComponentsView, Dense, Manifest};
/// use mereo_report::Subject;
/// let manifest = Manifest::new("mcvq");
/// let samples = Dense::new(1, 2, vec![0.5, 1.5])?;
/// let subject = Subject { samples: Some(&samples), ..Subject::new("Flowers", &manifest) };
/// assert!(subject.parts.is_none());
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The page's title: whatever the user calls the model or its data.
    pub title: &'a str,
    /// What the model file says about itself.
    pub manifest: &'a Manifest,
    /// The model's parts; one part with gates of 1 for a codebook or a mixture.
    pub parts: Option<PartsView<'a>>,
    /// The components that a linear model's rows are sums of, in the data's units.
    pub components: Option<ComponentsView<'a>>,
    /// The model's binary features, if it is made of such.
    pub features: Option<FeaturesView<'a>>,
    /// The layers of a deep mixture, the top one first, and then its paths.
    pub layers: &'a [ShownLayer<'a>],
    /// Mean of each column of the data. Without it, the mean that the model implies.
    pub column_mean: Option<&'a [f64]>,
    /// Standard deviation of each column of the data. With it, states are compared with the mean
    /// in these units, otherwise in the data's own.
    pub column_deviation: Option<&'a [f64]>,
    /// A few rows beside what the model makes of them.
    pub rows: Option<ShownRows<'a>>,
    /// For each state of each part, `[K, J]`, the names of rows that show it most clearly.
    pub typical: Option<&'a [Vec<String>]>,
    /// For each state of each part, `[K, J]`, where it stands out from the whole, most conspicuous column first: in
    /// place of bars in deviations.
    pub states: Option<&'a [Vec<Look>]>,
    /// Which columns go together.
    pub together: Option<Together<'a>>,
    /// A few rows that the model drew.
    pub samples: Option<&'a Dense<f64>>,
    /// Series of pictures of a kind of model's own.
    pub galleries: &'a [Gallery<'a>],
    /// The classes that states depend on, if they do.
    pub classes: Option<ShownClasses<'a>>,
    /// The log densities of many rows.
    pub scores: Option<&'a Scores>,
    /// This model and others, by their likelihoods and parameters; this one is the first.
    pub compared: &'a [Compared<'a>],
    /// What the command lines on the page call the model file.
    pub model_file: Option<&'a str>,
    /// What the command lines on the page call the data.
    pub data_file: Option<&'a str>,
}

impl<'a> Subject<'a> {
    /// A subject of which nothing is known but its manifest.
    ///
    /// ```
    /// use mereo_core::Manifest;
    /// use mereo_report::Subject;
    /// assert_eq!(Subject::new("Flowers", &Manifest::new("vq")).title, "Flowers");
    /// ```
    pub fn new(title: &'a str, manifest: &'a Manifest) -> Self {
        Self {
            title,
            manifest,
            parts: None,
            components: None,
            features: None,
            layers: &[],
            column_mean: None,
            column_deviation: None,
            rows: None,
            typical: None,
            states: None,
            together: None,
            samples: None,
            galleries: &[],
            classes: None,
            scores: None,
            compared: &[],
            model_file: None,
            data_file: None,
        }
    }
}

/// What a state is like in a column, in the user's words.
///
/// ```
/// use mereo_report::Look;
/// let look = Look { column: 0, value: "61".into(), usually: "44".into(), share: None, below: false };
/// assert!(look.share.is_none());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// The column.
    pub column: usize,
    /// What it is in the state: a number or a word.
    pub value: String,
    /// What it usually is, or how common the word usually is.
    pub usually: String,
    /// The share of the word in the state, and its usual share.
    pub share: Option<(f64, f64)>,
    /// Whether a number is lower than usual.
    pub below: bool,
}

/// How strongly columns go together.
///
/// ```
/// use mereo_core::Manifest;
/// use mereo_report::{Subject, Together, render};
/// let together = Together { columns: &[0, 1], strength: &[1.0, 0.8, 0.8, 1.0] };
/// let manifest = Manifest { columns: Some(vec!["age".into(), "income".into()]), ..Manifest::new("mcvq") };
/// let page = render(&Subject { together: Some(together), ..Subject::new("a", &manifest) });
/// assert!(page.contains("Columns that go together") && page.contains("0.80"));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Together<'a> {
    /// The columns, in the order in which they are shown.
    pub columns: &'a [usize],
    /// From 0 to 1 for every pair of these, row after row.
    pub strength: &'a [f64],
}

/// Rows to be shown as pictures, line by line.
///
/// ```
/// use mereo_core::{Dense, Manifest, Picture};
/// use mereo_report::{Gallery, Subject, render};
/// let rows = Dense::new(2, 4, vec![0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0])?;
/// let gallery = Gallery {
///     id: "between",
///     short: "Between",
///     heading: "From one to another",
///     about: "What lies between.",
///     rows: &rows,
///     across: 2,
///     signed: false,
///     picture: None,
/// };
/// let picture = Some(Picture { height: 2, width: 2, channels: 1 });
/// let manifest = Manifest { picture, ..Manifest::new("vae") };
/// let page = render(&Subject { galleries: &[gallery], samples: Some(&rows), ..Subject::new("a", &manifest) });
/// assert!(page.contains("From one to another"));
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Gallery<'a> {
    /// Its anchor on the page.
    pub id: &'static str,
    /// What the table of contents calls it.
    pub short: &'a str,
    /// Its heading.
    pub heading: &'a str,
    /// What is to be seen, in a sentence or two.
    pub about: &'a str,
    /// The rows.
    pub rows: &'a Dense<f64>,
    /// How many stand in a line.
    pub across: usize,
    /// Whether numbers are weights about 0, each row in a unit of its own, and not cells.
    pub signed: bool,
    /// The shape of its pictures, if it is not that of the model's rows.
    pub picture: Option<Picture>,
}

/// A model's likelihood, and how many numbers it took to reach it.
///
/// ```
/// use mereo_core::Manifest;
/// use mereo_report::{Compared, Subject, render};
/// let one = Compared { name: "a", kind: "gmm", parameters: Some(4), learned: Some(-1.5), aic: None, bic: None, shown: None };
/// let two = Compared { name: "b", parameters: Some(9), learned: Some(-1.2), ..one };
/// let manifest = Manifest::new("gmm");
/// let page = render(&Subject { compared: &[one, two], ..Subject::new("a", &manifest) });
/// assert!(page.contains("Likelihood against parameters"));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Compared<'a> {
    /// What the model is called.
    pub name: &'a str,
    /// What kind of model it is.
    pub kind: &'a str,
    /// How many numbers were free to be learned, if that was counted.
    pub parameters: Option<usize>,
    /// Nats a row of the rows that it was learned from.
    pub learned: Option<f64>,
    /// Akaike's criterion.
    pub aic: Option<f64>,
    /// The Bayesian one.
    pub bic: Option<f64>,
    /// Nats a row of the rows shown.
    pub shown: Option<f64>,
}

/// A layer of a deep mixture.
///
/// ```
/// use mereo_report::ShownLayer;
/// let layer = ShownLayer { name: "Layer 1", usage: &[0.25, 0.75], appearance: None };
/// assert_eq!(layer.usage.len(), 2);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ShownLayer<'a> {
    /// What it is called.
    pub name: &'a str,
    /// How common each of its components is.
    pub usage: &'a [f64],
    /// What each of them makes of one and the same draw.
    pub appearance: Option<&'a Dense<f64>>,
}

/// Rows that were drawn from a class or a hybrid of several.
#[derive(Debug, Clone, Copy)]
pub struct Drawn<'a> {
    /// What it is called.
    pub name: &'a str,
    /// The rows.
    pub rows: &'a Dense<f64>,
    /// The command line that draws more; empty if there is none.
    pub command: &'a str,
}

/// Classes that the states of parts depend on.
///
/// ```
/// use mereo_report::ShownClasses;
/// let names = ["day".to_owned(), "night".to_owned()];
/// let classes = ShownClasses::new(&names, &[0.5, 0.5], &[1.0, 0.0, 0.2, 0.8]);
/// assert!(classes.samples.is_empty());
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ShownClasses<'a> {
    /// Their names.
    pub names: &'a [String],
    /// How common each is, `[classes]`.
    pub prior: &'a [f64],
    /// How common each state is in each, `[classes, parts, states]`, or where each factor is centred.
    pub class_state_prior: &'a [f64],
    /// Rows drawn from each.
    pub samples: &'a [Drawn<'a>],
    /// Rows drawn from hybrids of several.
    pub hybrids: &'a [Drawn<'a>],
    /// Names of the data's labels, and rows of each label in each class, `[labels, classes]`.
    pub labels: &'a [String],
    /// See `labels`.
    pub counts: &'a [usize],
}

impl<'a> ShownClasses<'a> {
    /// Classes of which nothing is known but their priors over states.
    pub fn new(names: &'a [String], prior: &'a [f64], class_state_prior: &'a [f64]) -> Self {
        Self {
            names,
            prior,
            class_state_prior,
            samples: &[],
            hybrids: &[],
            labels: &[],
            counts: &[],
        }
    }
}

/// A few rows of data and what the model makes of them.
///
/// ```
/// use mereo_core::Dense;
/// use mereo_report::ShownRows;
/// let original = Dense::new(1, 2, vec![1.0, f64::NAN])?;
/// let filled = Dense::new(1, 2, vec![0.9, 2.0])?;
/// let rows = ShownRows { reconstruction: Some(&filled), ..ShownRows::new(&original) };
/// assert_eq!(rows.original.rows(), 1);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ShownRows<'a> {
    /// The rows as they were observed; `NaN` where a cell is missing.
    pub original: &'a Dense<f64>,
    /// The rows as the model makes them, every cell filled.
    pub reconstruction: Option<&'a Dense<f64>>,
    /// The part responsible for each cell, `[rows, columns]`.
    pub responsible: Option<&'a [u32]>,
    /// The state that each part chose, `[rows, parts]`.
    pub states: Option<&'a [u32]>,
    /// A class for each of these rows.
    pub labels: Option<&'a Labels>,
    /// The log density of each of these rows.
    pub scores: Option<&'a [f64]>,
    /// Where each of these rows stands in the data, from 0.
    pub numbers: Option<&'a [usize]>,
    /// What each of these rows is called.
    pub names: Option<&'a [String]>,
    /// Why each of these rows is shown, in a word.
    pub notes: Option<&'a [&'a str]>,
    /// How rare each cell is given the others of its row, `[rows, columns]`.
    pub chances: Option<&'a [f64]>,
}

impl<'a> ShownRows<'a> {
    /// Rows of which nothing is known but their cells.
    ///
    /// ```
    /// use mereo_core::Dense;
    /// use mereo_report::ShownRows;
    /// let original = Dense::new(1, 1, vec![1.0])?;
    /// assert!(ShownRows::new(&original).reconstruction.is_none());
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn new(original: &'a Dense<f64>) -> Self {
        Self {
            original,
            reconstruction: None,
            responsible: None,
            states: None,
            labels: None,
            scores: None,
            numbers: None,
            names: None,
            notes: None,
            chances: None,
        }
    }
}

/// Sets of binary features, and what is known of their use.
///
/// ```
/// use mereo_report::FeaturesView;
/// let view = FeaturesView {
///     sets: 1,
///     features: 2,
///     feature: &[1.0, 0.0, 0.0, 3.0],
///     origin: &[5.0, 5.0],
///     usage: &[0.5, 0.25],
///     set_prior: &[1.0],
///     common: &[],
///     rows: None,
///     curve: &[],
/// };
/// assert_eq!(view.feature.len() / view.origin.len(), view.features);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct FeaturesView<'a> {
    /// Number of sets, M.
    pub sets: usize,
    /// Number of features of each, n.
    pub features: usize,
    /// What each feature adds, `[M, n, D]`.
    pub feature: &'a [f64],
    /// What each set starts from, `[M, D]`.
    pub origin: &'a [f64],
    /// The share of a set's rows that use each feature, `[M, n]`.
    pub usage: &'a [f64],
    /// The share of rows of each set, `[M]`.
    pub set_prior: &'a [f64],
    /// The most used combinations, the most used first.
    pub common: &'a [Combination],
    /// The set and the features (feature 0 the lowest bit) of each shown row.
    pub rows: Option<&'a [(usize, u64)]>,
    /// Bits a row and root-mean-square error as features are added.
    pub curve: &'a [(f64, f64)],
}

/// A combination of features that rows are made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Combination {
    /// Its set.
    pub set: usize,
    /// Its features, feature 0 the lowest bit.
    pub state: u64,
    /// The share of rows that it makes.
    pub share: f64,
    /// What it looks like.
    pub look: Vec<f64>,
}
