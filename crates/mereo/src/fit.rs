//! Learning a model: steps, size, passes, and all that its file will say.

use std::path::PathBuf;

use mereo_core::{
    ColumnKind, Context, Error, Fingerprint, Manifest, Members, Observer, Options, OwnColumns,
    Params, Plan, Portions, RatingsSeen, Real, Result, Silent, Source, Status, Training,
    column_name,
};
use mereo_data::steps::{StepKind, Steps};

use crate::average::{MOST_MEMBERS, training_of};
use crate::data_of::{Held, memory};
use crate::fitted::{Borrowed, own_names};
use crate::models::{AnyParams, Rows, model};
use crate::numbers::{Selected, without_words};
use crate::seen::Seen;
use crate::tables::Unfold;
use crate::{AnyModel, Fitted, models};

/// How often the means of a model are about in memory while it is learned: means and variances of
/// the state at hand, the best so far, and the sums of a few shards.
const COPIES: usize = 12;

/// A model to be learned: what was chosen for it, how rows are prepared, and how long to learn.
///
/// ```
/// use mereo::Fit;
/// use mereo::parts::McvqParams;
/// let toy = mereo::data::toy::World::Shapes.make(Some(300), 0)?;
/// let fitted = Fit::new(McvqParams::new(3, 9)).restarts(1).passes(20).seed(1).run(&toy.table)?;
/// assert_eq!(fitted.model.kind(), "mcvq");
/// # Ok::<(), mereo::Error>(())
/// ```
#[derive(Debug)]
pub struct Fit {
    params: AnyParams,
    /// What was asked for; if nothing was said, what the model wants of the data.
    steps: Option<Vec<StepKind>>,
    plan: Plan,
    context: Context,
    unfold: bool,
    average: Option<usize>,
}

impl Fit {
    /// A model with these parameters, and everything else at its default: the starts that this
    /// kind of model wants, no preparation, seed 0, one thread.
    pub fn new<P: Params>(params: P) -> Self {
        Self::of(AnyParams::new::<P::Model>(params))
    }

    /// The same for parameters of any kind of model.
    pub fn of(params: AnyParams) -> Self {
        let plan = Plan { restarts: params.kind().restarts, ..Plan::default() };
        Self { params, steps: None, plan, context: Context::new(0), unfold: false, average: None }
    }

    /// A model by its name, with options by theirs.
    ///
    /// ```
    /// let options = serde_json::from_str(r#"{"components": 2}"#).unwrap();
    /// let toy = mereo::data::toy::World::Shapes.make(Some(300), 0)?;
    /// assert_eq!(mereo::Fit::named("pca", &options)?.run(&toy.table)?.model.kind(), "pca");
    /// assert!(mereo::Fit::named("oracle", &options).is_err());
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn named(name: &str, options: &Options) -> Result<Self> {
        let Some(kind) = model(name) else {
            let names: Vec<_> = models().iter().map(|kind| kind.name).collect();
            let problem = format!("`{name}` is not known; choose {}", names.join(", "));
            return Err(Error::option("model", problem));
        };
        kind.chosen(options).map(Self::of)
    }

    /// How many starts to try; the best bound wins.
    #[must_use]
    pub fn restarts(mut self, restarts: usize) -> Self {
        self.plan.restarts = restarts;
        self
    }

    /// Most passes of each start.
    #[must_use]
    pub fn passes(mut self, passes: usize) -> Self {
        self.plan.passes = passes;
        self
    }

    /// Everything about starts, passes and checkpoints.
    #[must_use]
    pub fn plan(mut self, plan: Plan) -> Self {
        self.plan = plan;
        self
    }

    /// The seed of everything random.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.context = self.context.with_seed(seed);
        self
    }

    /// Seed, threads and stop flag.
    #[must_use]
    pub fn context(mut self, context: &Context) -> Self {
        self.context = context.clone();
        self
    }

    /// Preparation of the rows, learned from them, kept with the model and undone on the way out. If nothing is said, there is
    /// none but for ratings (sparse tables in which what is not stored is unknown, of at most 64 levels), whose means of rows and columns are taken away (`remove-means`) for
    /// [models that want it](mereo_core::Params::wants_means_removed). No steps at all switch that off.
    ///
    /// ```
    /// # use mereo::{Fit, parts::McvqParams};
    /// let toy = mereo::data::toy::World::Ratings.make(Some(200), 0)?;
    /// let fit = || Fit::new(McvqParams::new(2, 3)).restarts(1).passes(5);
    /// let names = |fit: Fit| fit.run(&toy.table).map(|f| f.steps.map(|s| s.names().collect::<Vec<_>>()));
    /// assert_eq!(names(fit())?, Some(vec!["remove-means"]));
    /// assert_eq!(names(fit().prepare(&[]))?, None);
    /// # Ok::<(), mereo::Error>(())
    /// ```
    #[must_use]
    pub fn prepare(mut self, steps: &[StepKind]) -> Self {
        self.steps = Some(steps.to_vec());
        self
    }

    /// The steps that rows go through, given the scale if they are ratings.
    fn steps_for(&self, ratings: Option<&RatingsSeen>) -> &[StepKind] {
        match &self.steps {
            Some(steps) => steps,
            None if ratings.is_some_and(|seen| !seen.levels.is_empty())
                && self.params.wants_means_removed() =>
            {
                &[StepKind::RemoveMeans]
            }
            None => &[],
        }
    }

    /// Unfolds every column of words into columns of 0 and 1, for models of numbers: what comes out is folded
    /// again.
    #[must_use]
    pub fn unfold(mut self) -> Self {
        self.unfold = true;
        self
    }

    /// Learns so many models and makes an average of them: member i is what would be learned with the i-th seed after this
    /// one's. What members agree on is in the data, so that their average predicts better than each.
    ///
    /// ```
    /// # use mereo::{Context, Dense, Fit, Table, mixture::GmmParams};
    /// let table = Table::from(Dense::new(4, 1, vec![0.0, 1.0, 8.0, 9.0])?);
    /// let fitted = Fit::new(GmmParams::new(2)).seed(5).average(3).run(&table)?;
    /// let alone = Fit::new(GmmParams::new(2)).seed(7).run(&table)?;
    /// assert_eq!(fitted.model.members()[2], alone.model);
    /// # Ok::<(), mereo::Error>(())
    /// ```
    #[must_use]
    pub fn average(mut self, members: usize) -> Self {
        self.average = Some(members);
        self
    }

    /// What was chosen for the model.
    pub fn params(&self) -> &AnyParams {
        &self.params
    }

    /// Learns from a table or any other source.
    pub fn run<T: Real>(&self, source: &dyn Source<T>) -> Result<Fitted> {
        self.observed(Held::Stream(Box::new(Borrowed(source))), &mut Silent)
    }

    /// Learns from rows that are given away (prepared in memory, if they are there), telling an
    /// observer. Nothing that is kept depends on clocks or threads.
    pub fn observed<T: Real>(
        &self,
        held: Held<'_, T>,
        observer: &mut dyn Observer,
    ) -> Result<Fitted> {
        self.learned(held, &self.plan, observer)
    }

    /// Learns from one more portion of rows that come in several, none of which is seen again: the model of all so far. The first
    /// is learned from as if it were everything; how later ones change the model, [`Portions`] says. What
    /// portions keep changes only if all goes well.
    ///
    /// ```
    /// use mereo::{Fit, Held, Portions, Silent, Source};
    /// use mereo::quantize::VqParams;
    /// let (fit, portions) = (Fit::new(VqParams::new(9)), Portions::default());
    /// for seed in 0..3 {
    ///     let toy = mereo::data::toy::World::Shapes.make(Some(200), seed)?;
    ///     let fitted = fit.portion(&portions, Held::Table(toy.table), &mut Silent)?;
    ///     assert_eq!(fitted.manifest.training.unwrap().rows, 200 * (seed as usize + 1));
    /// }
    /// let nmf = Fit::new(mereo::linear::NmfParams::new(2));
    /// let toy = mereo::data::toy::World::Shapes.make(Some(200), 0)?;
    /// assert!(nmf.portion(&Portions::default(), Held::Table(toy.table), &mut Silent).is_err());
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn portion<T: Real>(
        &self,
        portions: &Portions,
        held: Held<'_, T>,
        observer: &mut dyn Observer,
    ) -> Result<Fitted> {
        let kind = self.params.kind();
        if !self.params.in_portions() {
            let with = if kind.in_portions { " with these options" } else { "" };
            let verb = format!("learn from portions of rows{with}");
            return Err(Error::Incapable { model: kind.name.to_owned(), verb });
        }
        if self.steps.as_ref().is_some_and(|steps| !steps.is_empty()) || self.unfold {
            let problem =
                "steps are learned from all rows at once: prepare portions before they come";
            return Err(Error::option("prepare", problem));
        }
        if self.average.is_some() {
            let problem = "members are learned one after another, and portions are seen once";
            return Err(Error::option("average", problem));
        }
        let own = portions.copied();
        let names = held.source().about().names.as_deref();
        own.choose(&format!("{} {:?}", self.params.to_json()?, own_names(names)))?;
        let plan = Plan { portions: Some(own.clone()), ..self.plan.clone() };
        let mut fitted = self.learned(held, &plan, observer)?;
        fitted.manifest.unobserved = own.unobserved(fitted.manifest.unobserved);
        portions.take(&own);
        Ok(fitted)
    }

    fn learned<T: Real>(
        &self,
        held: Held<'_, T>,
        plan: &Plan,
        observer: &mut dyn Observer,
    ) -> Result<Fitted> {
        self.params.check()?;
        self.check_average()?;
        let mut manifest = Manifest::new(self.params.kind().name);
        let about = held.source().about();
        manifest.id.clone_from(&about.id_name);
        manifest.label.clone_from(&about.label_name);
        manifest.formats.clone_from(&about.formats);
        let held = match about.kinds.clone().filter(|_| about.is_mixed() && self.unfold) {
            Some(kinds) => {
                let names = (0..kinds.len()).map(|c| column_name(about.names.as_deref(), c));
                let own = OwnColumns { columns: names.collect(), kinds };
                let unfold = Unfold::of(&own.kinds);
                manifest.unfolded = Some(own);
                Held::Stream(unfold.source(held.into_source()))
            }
            None => held,
        };
        let (held, left_out) = self.leave_words_out(held)?;
        manifest.left_out = left_out;
        let raw = held.source();
        let mut kinds = raw.about().kinds.iter().flatten();
        if let Some(kind) = kinds.find(|k| !k.levels().is_empty() || **k == ColumnKind::Count)
            && self.params.takes_words()
            && self.steps.as_ref().is_some_and(|steps| !steps.is_empty())
        {
            let problem = format!(
                "steps prepare numbers, and there is a column of another kind ({}): leave it out, or learn without \
                 steps, as columns of every kind are brought to one scale while learning",
                kind.name()
            );
            return Err(Error::option("prepare", problem));
        }
        self.check_memory(raw.columns())?;
        manifest.columns = own_names(raw.about().names.as_deref()).map(<[String]>::to_vec);
        manifest.kinds = raw.about().is_mixed().then(|| raw.about().kinds.clone()).flatten();
        manifest.picture = raw.about().picture;
        // An average has no classes of its own: members may number theirs in any order.
        if self.params.wants_labels() && self.average.is_none() {
            manifest.classes = raw.about().labels.as_ref().map(|labels| labels.names.clone());
        }
        manifest.absent = raw.absent();
        manifest.id.clone_from(&raw.about().id_name);
        manifest.keys.clone_from(&raw.about().keys);
        manifest.ratings = match RatingsSeen::of(raw, &self.context)? {
            // Which items the same people know is for questions, which take a model of single cells.
            Some(seen) if self.params.kind().capabilities.contains(&"cells") => {
                Some(seen.with_together(raw, &self.context)?)
            }
            seen => seen,
        };
        // Means of people who come in later portions are not known when the first is learned from.
        let none = plan.portions.is_some();
        let steps = match if none { &[] } else { self.steps_for(manifest.ratings.as_ref()) } {
            [] => None,
            kinds => Some(Steps::learn(kinds, raw, &self.context)?),
        };
        if let Some(steps) = &steps {
            manifest.fingerprint = Some(Fingerprint::of(raw, &self.context)?.to_string());
            manifest.steps =
                serde_json::to_value(steps).map_err(|e| Error::option("prepare", e))?;
        }
        let ready: Box<dyn Source<T> + '_> = match (held, &steps) {
            (held, None) => held.into_source(),
            (Held::Table(table), Some(steps)) => Box::new(steps.apply(table)?),
            (Held::Stream(source), Some(steps)) => Box::new(steps.source(source)?),
        };
        let context = &self.context;
        let ready = Seen::new(ready);
        let mut rows = Rows { source: T::lend(&ready), plan, context, observer };
        let (params, sizes) = self.params.sized(&mut rows)?;
        manifest.params = params.to_json()?;
        manifest.sizes = sizes;
        let (model, training) = match self.average {
            None => params.fit(&mut rows)?,
            Some(members) => averaged(&params, members, &mut rows)?,
        };
        model.kind().clone_into(&mut manifest.model);
        manifest.members = model
            .members()
            .first()
            .map(|first| Members { model: first.kind().to_owned(), count: model.members().len() });
        if steps.is_none() {
            manifest.fingerprint = training.fingerprint.map(|own| own.to_string());
        }
        manifest.training = Some(training);
        manifest.unobserved = ready.unobserved();
        drop(ready);
        Ok(Fitted { path: PathBuf::new(), model, manifest, steps })
    }

    /// Complains about averages that cannot be.
    fn check_average(&self) -> Result<()> {
        match self.average {
            Some(members) if members == 0 || members > MOST_MEMBERS => {
                let problem = format!("{members} members; give 1 to {MOST_MEMBERS}");
                Err(Error::option("average", problem))
            }
            Some(_) if self.plan.checkpoints.is_some() => {
                let problem = "members are learned one after another, and there is no checkpoint of several: learn \
                               without one";
                Err(Error::option("average", problem))
            }
            _ => Ok(()),
        }
    }

    /// Leaves columns of words out if the model takes numbers only; tells which.
    fn leave_words_out<'a, T: Real>(
        &self,
        held: Held<'a, T>,
    ) -> Result<(Held<'a, T>, Vec<String>)> {
        let source = held.source();
        if self.params.takes_words() || source.absent().is_some() {
            return Ok((held, Vec::new()));
        }
        let (keep, left_out) = without_words(source.about(), source.columns());
        if left_out.is_empty() {
            return Ok((held, left_out));
        }
        if keep.is_empty() {
            let problem = format!(
                "{} learns from numbers, and all columns are words: use mcvq, or gmm with diagonal covariances",
                self.params.kind().name
            );
            return Err(Error::option("model", problem));
        }
        Ok((Held::Stream(Box::new(Selected::new(held.into_source(), keep))), left_out))
    }

    /// Complains about a model that the machine could not hold while it is learned.
    fn check_memory(&self, columns: usize) -> Result<()> {
        let (option, vectors) = self.params.vectors(columns);
        // Of members that were learned, means and variances are kept.
        let copies = COPIES + 2 * self.average.unwrap_or(0);
        let bytes = [columns, copies, size_of::<f64>()]
            .into_iter()
            .fold(vectors as u64, |product, factor| product.saturating_mul(factor as u64));
        if bytes <= memory().unwrap_or(1 << 36) {
            return Ok(());
        }
        let problem = format!(
            "{vectors} states of {columns} columns take about {} GB to learn, more than this \
             machine's memory; ask for fewer",
            bytes >> 30
        );
        Err(Error::option(option, problem))
    }
}

/// Learns an average of so many members, with one seed after another. If learning is interrupted, those that
/// there are by then are it.
fn averaged(
    params: &AnyParams,
    members: usize,
    rows: &mut Rows<'_, '_>,
) -> Result<(AnyModel, Training)> {
    let (mut models, mut trainings) = (Vec::new(), Vec::new());
    for member in 0..members {
        let context = rows.context.with_seed(rows.context.seed().wrapping_add(member as u64));
        let mut own = Rows {
            source: rows.source,
            plan: rows.plan,
            context: &context,
            observer: &mut *rows.observer,
        };
        match params.fit(&mut own) {
            Err(Error::Interrupted) if !models.is_empty() => break,
            learned => {
                let (model, training) = learned?;
                models.push(model);
                trainings.push(training);
            }
        }
        if rows.context.stop().asked() {
            break;
        }
    }
    let stopped = models.len() < members;
    let mut training = training_of(&trainings).ok_or(Error::Interrupted)?;
    if stopped {
        training.status = Status::Interrupted;
    }
    Ok((AnyModel::average(models)?, training))
}
