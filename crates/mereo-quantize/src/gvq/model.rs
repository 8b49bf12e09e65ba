//! What was learned, and what it can do.

use std::path::Path;

use mereo_core::math::{Array, HALF_LOG_TWO_PI};
use mereo_core::{
    Batch, Encode, Error, Manifest, ModelFile, Random, Real, Reconstruct, Result, Sample, Score,
    ScoreKind, Tensor, draw,
};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::eye::{Eye, Usage};
use super::sets::{Explainer, Sets};
use super::{GvqParams, squashed};
use crate::associate::{Association, MOST_FEATURES, ones};

/// Most numbers in all codes of binary data: they are all made to explain rows.
pub(super) const MOST_CODE_NUMBERS: usize = 1 << 24;
/// The largest magnitude of a feature or origin: squares of sums of these stay finite.
const LARGEST: f64 = 1e130;

/// Learned features.
///
/// ```
/// use mereo_core::{Context, Dense, Manifest, ModelFile, Table, Tensor, encode, reconstruct};
/// use mereo_quantize::Gvq;
/// let mut file = ModelFile::new(Manifest::new("gvq"));
/// file.insert("feature", Tensor::new(vec![1, 2, 2], vec![1.0, 0.0, 0.0, 3.0]));
/// file.insert("origin", Tensor::new(vec![1, 2], vec![5.0, 5.0]));
/// let model = Gvq::from_file(file, "by hand".as_ref())?;
/// let table = Table::from(Dense::new(2, 2, vec![5.1, 8.2, 6.0, f64::NAN])?);
/// let context = Context::new(0);
/// // Both features of the one set, then which set it is.
/// assert_eq!(encode::<f64>(&model, &table, &context)?.values(), [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]);
/// assert_eq!(reconstruct::<f64>(&model, &table, &context)?.values(), [5.0, 8.0, 6.0, 5.0]);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Gvq {
    pub(super) sets: Sets,
    beta: Option<f64>,
    association: Association,
    /// Shares of rows of each set, `[M]`, and of those that use each feature, `[M, n]`.
    set_prior: Vec<f64>,
    usage: Array<2>,
    variance: Option<f64>,
}

impl PartialEq for Gvq {
    fn eq(&self, other: &Self) -> bool {
        let of = |m: &Self| (m.sets.penalty, m.beta);
        of(self) == of(other)
            && self.sets.feature == other.sets.feature
            && self.sets.origin == other.sets.origin
            && self.set_prior == other.set_prior
            && self.usage == other.usage
            && self.variance == other.variance
    }
}

impl Gvq {
    pub(super) fn new(feature: Array<3>, origin: Array<2>, params: &GvqParams) -> Self {
        let [sets, features, _] = feature.shape();
        Self {
            sets: Sets::new(feature, origin, params.penalty),
            beta: params.beta,
            association: params.association,
            set_prior: vec![1.0 / sets as f64; sets],
            usage: Array::new([sets, features], vec![0.5; sets * features]),
            variance: None,
        }
    }

    /// The same with the shares and the noise that rows showed.
    pub(super) fn with_usage(mut self, told: &Usage, floor: f64) -> Self {
        let rows: f64 = told.usage.column(0).sum();
        for (m, usage) in told.usage.rows().enumerate() {
            self.set_prior[m] = (usage[0] + 0.5) / (rows + 0.5 * self.sets.sets() as f64);
            for (own, with) in self.usage.row_mut(m).iter_mut().zip(&usage[1..]) {
                // Half a row more on either side: nothing is impossible.
                *own = (with + 0.5) / (usage[0] + 1.0);
            }
        }
        let variance = told.squares / told.observed.max(f64::MIN_POSITIVE);
        self.variance = Some(variance.max(floor));
        self
    }

    /// Origins and features, `[M, 1 + n, D]`, the origin of each set first.
    pub(crate) fn vectors(&self) -> Vec<f64> {
        let Sets { feature, origin, .. } = &self.sets;
        let mut vectors = Vec::with_capacity(origin.len() + feature.len());
        for (set, origin) in origin.rows().enumerate() {
            vectors.extend_from_slice(origin);
            vectors.extend_from_slice(feature.at([set]));
        }
        vectors
    }

    /// The same with other vectors, `[M, 1 + n, D]`, the origin of each set first.
    pub(crate) fn with_vectors(&self, vectors: &[f64]) -> Self {
        let [sets, features, _] = self.sets.shape();
        let sets = Sets::of_vectors(sets, features, vectors, self.sets.penalty);
        Self { sets, ..self.clone() }
    }

    /// The same model with rows explained by another solver.
    ///
    /// ```
    /// # use mereo_core::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("gvq"));
    /// # file.insert("feature", Tensor::new(vec![1, 1, 1], vec![1.0]));
    /// # file.insert("origin", Tensor::new(vec![1, 1], vec![5.0]));
    /// use mereo_quantize::{Association, Gvq};
    /// let model = Gvq::from_file(file, "by hand".as_ref())?.with_association(Association::Br)?;
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn with_association(mut self, association: Association) -> Result<Self> {
        association.check(self.sets.features(), self.sets.columns())?;
        if self.beta.is_some() && !matches!(association, Association::Auto | Association::Exact) {
            let problem =
                format!("{} cannot explain binary data; use auto or exact", association.name());
            return Err(Error::option("association", problem));
        }
        self.association = association;
        Ok(self)
    }

    /// Number of columns, D.
    pub fn columns(&self) -> usize {
        self.sets.columns()
    }

    /// Number of sets, M.
    pub fn sets(&self) -> usize {
        self.sets.sets()
    }

    /// Number of features of each set, n.
    pub fn features(&self) -> usize {
        self.sets.features()
    }

    /// `[M, n, D]`: the features.
    pub fn feature(&self) -> &[f64] {
        &self.sets.feature
    }

    /// `[M, D]`: the origins.
    pub fn origin(&self) -> &[f64] {
        &self.sets.origin
    }

    /// What each feature that is on costs.
    pub fn penalty(&self) -> f64 {
        self.sets.penalty
    }

    /// The steepness of binary data's codes.
    pub fn beta(&self) -> Option<f64> {
        self.beta
    }

    /// `[M]`: the share of rows of each set.
    pub fn set_prior(&self) -> &[f64] {
        &self.set_prior
    }

    /// `[M, n]`: the share of a set's rows that use each feature.
    pub fn usage(&self) -> &[f64] {
        &self.usage
    }

    /// The mean squared error of a cell, if the model knows.
    pub fn variance(&self) -> Option<f64> {
        self.variance
    }

    /// What a set and a state (feature 0 the lowest bit) look like.
    ///
    /// ```
    /// # use mereo_core::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("gvq"));
    /// # file.insert("feature", Tensor::new(vec![1, 2, 1], vec![1.0, 2.0]));
    /// # file.insert("origin", Tensor::new(vec![1, 1], vec![5.0]));
    /// let model = mereo_quantize::Gvq::from_file(file, "by hand".as_ref())?;
    /// assert_eq!(model.appearance(0, 0b11), [8.0]);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn appearance(&self, set: usize, state: u64) -> Vec<f64> {
        let mut out = vec![0.0; self.sets.columns()];
        self.write_look(set, state, &mut out);
        out
    }

    fn write_look(&self, set: usize, state: u64, out: &mut [f64]) {
        self.sets.sum(set, state, out);
        if let Some(beta) = self.beta {
            squashed::to_codes(out, beta);
        }
    }

    /// The same with only so many features of each set, those that change rows most; of the others
    /// the origin takes what they add on average.
    ///
    /// ```
    /// # use mereo_core::{Manifest, ModelFile, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("gvq"));
    /// # file.insert("feature", Tensor::new(vec![1, 2, 1], vec![1.0, 2.0]));
    /// # file.insert("origin", Tensor::new(vec![1, 1], vec![5.0]));
    /// let model = mereo_quantize::Gvq::from_file(file, "by hand".as_ref())?;
    /// let weaker = model.strongest(1);
    /// assert_eq!((weaker.feature(), weaker.origin()), (&[0.0, 2.0][..], &[5.5][..]));
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    #[must_use]
    pub fn strongest(&self, features: usize) -> Self {
        let [sets, n, _] = self.sets.shape();
        let (mut feature, mut origin) = (self.sets.feature.clone(), self.sets.origin.clone());
        for set in 0..sets {
            let (usage, square) = (self.usage.row(set), self.sets.square.row(set));
            let change = |i: usize| usage[i] * (1.0 - usage[i]) * square[i];
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by(|&a, &b| change(b).total_cmp(&change(a)).then(a.cmp(&b)));
            for &i in order.iter().skip(features) {
                let gone = feature.at_mut([set, i]);
                if self.beta.is_none() {
                    let origin = origin.row_mut(set).iter_mut();
                    origin.zip(&*gone).for_each(|(o, f)| *o += usage[i] * f);
                }
                gone.fill(0.0);
            }
        }
        Self { sets: Sets::new(feature, origin, self.sets.penalty), ..self.clone() }
    }

    /// Takes a model out of a file: `feature [M, n, D]`, `origin [M, D]`, and if they are there
    /// `penalty [1]`, `beta [1]`, `set_prior [M]`, `usage [M, n]` and `variance [1]`. `path` is what
    /// errors call the file.
    ///
    /// ```
    /// use mereo_core::{Manifest, ModelFile};
    /// let empty = ModelFile::new(Manifest::new("gvq"));
    /// let error = mereo_quantize::Gvq::from_file(empty, "a.safetensors".as_ref()).unwrap_err();
    /// assert!(error.to_string().contains("the tensor `feature` is missing"));
    /// ```
    pub fn from_file(mut file: ModelFile, path: &Path) -> Result<Self> {
        let bad = |problem: String| Error::model_file(path, problem);
        let feature = file.take("feature", 3, path)?;
        let [sets, n, d] = feature.shape[..] else {
            return Err(bad("`feature` has no three indices".into()));
        };
        if n > MOST_FEATURES {
            return Err(bad(format!("its sets have {n} features, more than {MOST_FEATURES}")));
        }
        let origin = file.take_shaped("origin", &[sets, d], path)?;
        for (name, values) in [("feature", &feature.values), ("origin", &origin)] {
            if let Some(at) = values.iter().position(|v| v.abs() > LARGEST) {
                let problem = format!(
                    "`{name}` holds {:e} at position {at}, expected a magnitude of at most {LARGEST:e}",
                    values[at]
                );
                return Err(bad(problem));
            }
        }
        let mut one = |name: &str, least: f64, most: f64| -> Result<Option<f64>> {
            if file.get(name).is_none() {
                return Ok(None);
            }
            let value = file.take_shaped(name, &[1], path)?[0];
            if !(least..=most).contains(&value) {
                let expected = format!("a number from {least} to {most:e}");
                return Err(bad(format!("`{name}` holds {value}, expected {expected}")));
            }
            Ok(Some(value))
        };
        let penalty = one("penalty", 0.0, 1e200)?.unwrap_or(0.0);
        let beta = one("beta", 0.1, 100.0)?;
        let variance = one("variance", 1e-300, 1e300)?;
        if beta.is_some() {
            let numbers = (n < 24).then(|| (sets << n).checked_mul(d)).flatten();
            if numbers.is_none_or(|numbers| numbers > MOST_CODE_NUMBERS) {
                let problem = format!(
                    "its binary codes, {sets} times 2^{n} of {d} columns, are more than the \
                     {MOST_CODE_NUMBERS} numbers allowed"
                );
                return Err(bad(problem));
            }
        }
        let set_prior = match file.get("set_prior") {
            Some(_) => file.take_distributions("set_prior", &[sets], path)?,
            None => vec![1.0 / sets as f64; sets],
        };
        let usage = match file.get("usage") {
            Some(_) => file.take_shaped("usage", &[sets, n], path)?,
            None => vec![0.5; sets * n],
        };
        if let Some(at) = usage.iter().position(|u| !(0.0..=1.0).contains(u)) {
            return Err(bad(format!(
                "`usage` holds {} at position {at}, expected a share",
                usage[at]
            )));
        }
        Ok(Self {
            sets: Sets::new(
                Array::new([sets, n, d], feature.values),
                Array::new([sets, d], origin),
                penalty,
            ),
            beta,
            association: Association::Auto,
            set_prior,
            usage: Array::new([sets, n], usage),
            variance,
        })
    }

    /// The model as a file, to be given more to say about itself.
    ///
    /// ```
    /// use mereo_core::{Context, Dense, Manifest, Plan, Silent, Table};
    /// use mereo_quantize::{Gvq, GvqParams, gvq};
    /// let table = Table::from(Dense::new(3, 1, vec![0.0, 1.0, 5.0])?);
    /// let (model, _) =
    ///     gvq::fit(&GvqParams::new(2), &table, &Plan::default(), &Context::new(0), &mut Silent)?;
    /// let file = model.to_file(Manifest::new("gvq"));
    /// assert_eq!(Gvq::from_file(file, "memory".as_ref())?, model);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn to_file(&self, manifest: Manifest) -> ModelFile {
        let mut file = ModelFile::new(manifest);
        file.insert("feature", self.sets.feature.to_tensor());
        file.insert("origin", self.sets.origin.to_tensor());
        file.insert("set_prior", Tensor::new(vec![self.sets.sets()], self.set_prior.clone()));
        file.insert("usage", self.usage.to_tensor());
        let numbers = [
            ("penalty", Some(self.sets.penalty)),
            ("beta", self.beta),
            ("variance", self.variance),
        ];
        for (name, number) in numbers {
            if let Some(number) = number {
                file.insert(name, Tensor::new(vec![1], vec![number]));
            }
        }
        file
    }

    /// Ready to explain rows.
    pub(super) fn eye(&self) -> Eye<'_> {
        let codes = self.beta.map_or_else(Vec::new, |beta| {
            squashed::codes(&self.vectors(), self.sets.sets(), self.sets.columns(), beta)
        });
        Eye { model: self, explainer: Explainer::new(self.association), codes }
    }

    /// Calls `visit(row, set, state)` for each row of a batch.
    ///
    /// ```
    /// # use mereo_core::{Dense, Manifest, ModelFile, Source, Table, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("gvq"));
    /// # file.insert("feature", Tensor::new(vec![1, 2, 1], vec![1.0, 2.0]));
    /// # file.insert("origin", Tensor::new(vec![1, 1], vec![5.0]));
    /// let model = mereo_quantize::Gvq::from_file(file, "by hand".as_ref())?;
    /// let table = Table::from(Dense::new(1, 1, vec![7.0])?);
    /// if let Some(batch) = table.lane(0..1)?.next_batch()? {
    ///     model.for_each_state(&batch, |row, set, state| assert_eq!((row, set, state), (0, 0, 0b10)));
    /// }
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn for_each_state<T: Real>(
        &self,
        batch: &Batch<'_, T>,
        mut visit: impl FnMut(usize, usize, u64),
    ) {
        let mut eye = self.eye();
        for row in 0..batch.rows {
            let found = eye.explain(batch, row);
            visit(row, found.set, found.state);
        }
    }
}

impl<T: Real> Encode<T> for Gvq {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.sets.columns())
    }

    fn code_width(&self) -> usize {
        self.usage.len() + 1
    }

    fn code_names(&self) -> Option<Vec<String>> {
        let n = self.sets.features();
        let names = (0..self.usage.len()).map(|i| format!("set{}.feature{}", i / n, i % n));
        Some(names.chain(std::iter::once("set".to_owned())).collect())
    }

    /// 1 for each feature that is on and 0 for the others, set by set, then the number of the set
    /// that the row is made of.
    fn encode_batch(&self, batch: &Batch<'_, T>, codes: &mut [T]) {
        let (n, width) = (self.sets.features(), self.usage.len() + 1);
        codes.fill(T::ZERO);
        self.for_each_state(batch, |row, set, state| {
            let code = &mut codes[row * width..(row + 1) * width];
            ones(state).for_each(|i| code[set * n + i] = T::ONE);
            code[width - 1] = T::from_f64(set as f64);
        });
    }
}

impl<T: Real> Reconstruct<T> for Gvq {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.sets.columns())
    }

    /// The sum of the row's features and the origin.
    fn reconstruct_batch(&self, batch: &Batch<'_, T>, out: &mut [T]) {
        let d = self.sets.columns();
        let mut look = vec![0.0; d];
        self.for_each_state(batch, |row, set, state| {
            self.write_look(set, state, &mut look);
            for (x, &l) in out[row * d..(row + 1) * d].iter_mut().zip(&look) {
                *x = T::from_f64(l);
            }
        });
    }
}

impl<T: Real> Score<T> for Gvq {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.sets.columns())
    }

    fn score_kind(&self) -> ScoreKind {
        ScoreKind::Bound
    }

    /// `log P(m) Π_i P(s_i|m) N(x; code, σ² I)` over the observed cells: one term of the density. A
    /// model that does not know its noise takes 1.
    fn score_batch(&self, batch: &Batch<'_, T>, out: &mut [f64]) {
        let variance = self.variance.unwrap_or(1.0);
        let log = |share: f64| share.max(f64::MIN_POSITIVE).ln();
        let mut eye = self.eye();
        for (row, out) in out.iter_mut().enumerate() {
            let found = eye.explain(batch, row);
            let on = f64::from(found.state.count_ones());
            let squares = (found.energy - self.sets.penalty * on).clamp(0.0, 1e290);
            let cells = eye.explainer.observed.len() as f64;
            *out = -0.5 * squares / variance - cells * (HALF_LOG_TWO_PI + 0.5 * variance.ln());
            // A row that shows nothing says nothing, whatever it could be made of.
            if cells > 0.0 {
                *out += log(self.set_prior[found.set]);
                for (i, &usage) in self.usage.row(found.set).iter().enumerate() {
                    *out += log(if found.state >> i & 1 == 1 { usage } else { 1.0 - usage });
                }
            }
        }
    }
}

impl Sample for Gvq {
    fn columns(&self) -> usize {
        self.sets.columns()
    }

    fn sample_row(&self, random: &mut Random, noise: bool, row: &mut [f64]) {
        let set = draw(&self.set_prior, random).unwrap_or(0);
        let state = self.usage.row(set).iter().enumerate().fold(0u64, |state, (i, &usage)| {
            state | u64::from(random.random::<f64>() < usage) << i
        });
        self.write_look(set, state, row);
        if noise {
            let deviation = self.variance.unwrap_or(0.0).sqrt();
            for x in row {
                let normal: f64 = StandardNormal.sample(random);
                *x += deviation * normal;
            }
        }
    }
}
