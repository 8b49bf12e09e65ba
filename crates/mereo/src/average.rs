//! Several models of one kind as one: an average.
//!
//! Learning from other seeds ends at other models that fit the rows about as well. What they agree on is in the data, and what
//! they do not is chance, so that their average predicts better than each of them. Members count equally:
//!
//! - a row's log density is that of the mixture of all, `log 1/N Σ_i exp log P_i(x)`. It is exact if every member's is,
//!   and a bound if members have bounds: a mean of lower bounds on densities is one of their mean;
//! - a cell is predicted by the mixture of what members predict, so that the mean is the mean of means, and levels have
//!   the mean of their probabilities. That a row fits one member better than another is not counted: such weights are
//!   as sure of themselves as densities of many cells are, and leave of most averages a single member;
//! - a reconstruction is the mean of the members'; of words, what most of them say;
//! - a code is the members' codes one after another;
//! - a sample is that of a member at random.
//!
//! Its bound in learning is the mean of the members' bounds, which by Jensen's inequality its log likelihood is never below.

use std::any::Any;
use std::path::Path;

use mereo_core::{
    Asked, Batch, CellPrediction, ClassView, ComponentsView, Context, DynModel, Encode, Error,
    Estimate, Features, Layers, LevelsView, Likelihood, Manifest, Members, ModelFile, OnRows,
    PartsView, Predict, PredictCells, Random, Real, Reconstruct, Result, RowLikelihood, Sample,
    Score, ScoreKind, Status, Tensor, Training, prediction_starts,
};
use rand::RngExt;

use crate::AnyModel;
use crate::models::model;

/// Most members of an average.
pub const MOST_MEMBERS: usize = 256;

/// Models of one kind over the same columns, which count equally.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Average {
    members: Vec<AnyModel>,
}

impl Average {
    /// What model files call it.
    pub(crate) const KIND: &'static str = "average";

    /// An average of at least one member; all must be of one kind and have the same columns.
    pub(crate) fn new(members: Vec<AnyModel>) -> Result<Self> {
        let kind = members.first().map(|first| (first.kind(), first.columns()));
        match kind {
            Some(kind) if members.iter().all(|m| (m.kind(), m.columns()) == kind) => {
                Ok(Self { members })
            }
            _ => {
                let problem = "it takes models of one kind, at least one, with the same columns";
                Err(Error::option("average", problem))
            }
        }
    }

    /// The members.
    pub(crate) fn members(&self) -> &[AnyModel] {
        &self.members
    }

    /// Takes members out of a file, each by the loader of its kind; `path` is what errors call the file.
    pub(crate) fn from_file(file: ModelFile, path: &Path) -> Result<Self> {
        let Some(Members { model: name, count }) = file.manifest.members.clone() else {
            let problem = "its manifest does not say what it is an average of (`members`)";
            return Err(Error::model_file(path, problem));
        };
        if count == 0 || count > MOST_MEMBERS {
            let problem =
                format!("it is an average of {count} members, expected 1 to {MOST_MEMBERS}");
            return Err(Error::model_file(path, problem));
        }
        let Some(kind) = model(&name) else {
            let problem =
                format!("it is an average of `{name}` models, which this mereo does not know");
            return Err(Error::model_file(path, problem));
        };
        let own = member_manifest(&name, &file.manifest);
        let mut tensors: Vec<Vec<(String, Tensor)>> = (0..count).map(|_| Vec::new()).collect();
        for (name, tensor) in file.into_tensors() {
            // As everywhere, tensors that nobody asks for are ignored.
            let place = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('.'));
            if let Some((number, name)) = place
                && let Some(member) = number.parse::<usize>().ok().filter(|at| *at < count)
            {
                tensors[member].push((name.to_owned(), tensor));
            }
        }
        let mut members = Vec::new();
        for (number, tensors) in tensors.into_iter().enumerate() {
            let mut file = ModelFile::new(own.clone());
            tensors.into_iter().for_each(|(name, tensor)| file.insert(&name, tensor));
            let member = kind.load(file, path).map_err(|e| match e {
                Error::ModelFile { path, problem } => {
                    Error::ModelFile { path, problem: format!("member {number}: {problem}") }
                }
                other => other,
            })?;
            members.push(member);
        }
        let columns = members[0].columns();
        match members.iter().position(|member| member.columns() != columns) {
            Some(other) => {
                let problem = format!(
                    "member {other} has {} columns, member 0 has {columns}",
                    members[other].columns()
                );
                Err(Error::model_file(path, problem))
            }
            None => Ok(Self { members }),
        }
    }

    fn on_rows<T: Real>(&self) -> OnRows<'_, T>
    where
        Self: Encode<T> + Reconstruct<T> + Score<T> + Estimate<T> + PredictCells<T> + Predict<T>,
    {
        let all = |can: fn(&AnyModel) -> bool| self.members.iter().all(can);
        OnRows {
            encoder: all(|m| m.encoder::<T>().is_some()).then_some(self as _),
            reconstructor: all(|m| m.reconstructor::<T>().is_some()).then_some(self as _),
            scorer: all(|m| m.scorer::<T>().is_some()).then_some(self as _),
            estimator: all(|m| m.estimator::<T>().is_some()).then_some(self as _),
            classifier: None,
            explainer: None,
            cell_predictor: all(|m| m.cell_predictor::<T>().is_some()).then_some(self as _),
            predictor: all(|m| m.predictor::<T>().is_some()).then_some(self as _),
        }
    }
}

/// What names of members' tensors begin with, before their number.
const PREFIX: &str = "member";

/// What a member reads of the manifest of an average.
fn member_manifest(kind: &str, manifest: &Manifest) -> Manifest {
    Manifest {
        params: manifest.params.clone(),
        kinds: manifest.kinds.clone(),
        ..Manifest::new(kind)
    }
}

impl DynModel for Average {
    fn kind(&self) -> &'static str {
        Self::KIND
    }

    fn columns(&self) -> usize {
        self.members[0].columns()
    }

    fn to_file(&self, manifest: Manifest) -> ModelFile {
        let kind = self.members[0].kind();
        let own = member_manifest(kind, &manifest);
        let mut file = ModelFile::new(manifest);
        Self::KIND.clone_into(&mut file.manifest.model);
        file.manifest.members = Some(Members { model: kind.to_owned(), count: self.members.len() });
        for (number, member) in self.members.iter().enumerate() {
            let part = member.to_file(own.clone());
            // What a member must say of itself to be read again.
            file.manifest.params.clone_from(&part.manifest.params);
            for (name, tensor) in part.into_tensors() {
                file.insert(&format!("{PREFIX}{number}.{name}"), tensor);
            }
        }
        file
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn boxed(&self) -> Box<dyn DynModel> {
        Box::new(self.clone())
    }

    fn equals(&self, other: &dyn DynModel) -> bool {
        other.as_any().downcast_ref::<Self>() == Some(self)
    }

    fn sampler(&self) -> Option<&dyn Sample> {
        self.members.iter().all(|m| m.sampler().is_some()).then_some(self)
    }

    fn observed(&self) -> Option<&[f64]> {
        None
    }

    fn levels(&self) -> Option<LevelsView<'_>> {
        None
    }

    fn parts(&self) -> Option<PartsView<'_>> {
        None
    }

    fn components(&self) -> Option<ComponentsView<'_>> {
        None
    }

    fn classes(&self) -> Option<ClassView<'_>> {
        None
    }

    fn hybrid(&self, _blend: &[Vec<(usize, f64)>]) -> Option<Result<Box<dyn DynModel>>> {
        None
    }

    fn layers(&self) -> Option<&dyn Layers> {
        None
    }

    fn features(&self) -> Option<&dyn Features> {
        None
    }

    fn free_parameters(&self) -> Option<usize> {
        None
    }

    fn varies_within_states(&self) -> bool {
        false
    }

    fn on_f32(&self) -> OnRows<'_, f32> {
        self.on_rows()
    }

    fn on_f64(&self) -> OnRows<'_, f64> {
        self.on_rows()
    }
}

impl<T: Real> Encode<T> for Average {
    fn expects_columns(&self) -> Option<usize> {
        Some(DynModel::columns(self))
    }

    fn code_width(&self) -> usize {
        self.members.iter().filter_map(AnyModel::encoder::<T>).map(Encode::code_width).sum()
    }

    fn code_names(&self) -> Option<Vec<String>> {
        let mut names = Vec::new();
        for (number, member) in self.members.iter().enumerate() {
            let own = member.encoder::<T>()?.code_names()?;
            names.extend(own.into_iter().map(|name| format!("{PREFIX}{number}.{name}")));
        }
        Some(names)
    }

    fn encode_batch(&self, batch: &Batch<'_, T>, codes: &mut [T]) {
        let width = Encode::<T>::code_width(self).max(1);
        let mut first = 0;
        for encoder in self.members.iter().filter_map(AnyModel::encoder::<T>) {
            let own = encoder.code_width();
            let mut part = vec![T::ZERO; batch.rows * own];
            encoder.encode_batch(batch, &mut part);
            for (code, part) in codes.chunks_mut(width).zip(part.chunks(own.max(1))) {
                code[first..first + own].copy_from_slice(part);
            }
            first += own;
        }
    }
}

/// How many levels each column has, as a member says it; nothing if all columns are numbers.
fn levels_of<T: Real>(member: &AnyModel) -> Vec<usize> {
    match member.predictor::<T>() {
        Some(predictor) => predictor.levels(),
        None => member.levels().map_or_else(Vec::new, |view| view.counts.to_vec()),
    }
}

impl<T: Real> Reconstruct<T> for Average {
    fn expects_columns(&self) -> Option<usize> {
        Some(DynModel::columns(self))
    }

    fn reconstruct_batch(&self, batch: &Batch<'_, T>, out: &mut [T]) {
        let each = 1.0 / self.members.len() as f64;
        let columns = DynModel::columns(self).max(1);
        let levels = levels_of::<T>(&self.members[0]);
        let words: Vec<usize> =
            (0..levels.len()).filter(|&d| levels[d] > 0 && d < columns).collect();
        let mut votes = vec![Vec::new(); words.len() * batch.rows];
        let mut sums = vec![0.0; out.len()];
        for member in self.members.iter().filter_map(AnyModel::reconstructor::<T>) {
            member.reconstruct_batch(batch, out);
            sums.iter_mut().zip(&*out).for_each(|(sum, x)| *sum += each * x.to_f64());
            for (row, out) in out.chunks(columns).enumerate() {
                for (word, &d) in words.iter().enumerate() {
                    votes[row * words.len() + word].push(out[d].to_f64());
                }
            }
        }
        if self.members.len() == 1 {
            return;
        }
        out.iter_mut().zip(sums).for_each(|(out, sum)| *out = T::from_f64(sum));
        for (at, votes) in votes.iter().enumerate() {
            out[at / words.len() * columns + words[at % words.len()]] =
                T::from_f64(most_voted(votes));
        }
    }
}

/// The value that is there most often, the smallest of equals.
fn most_voted(votes: &[f64]) -> f64 {
    let count = |value: f64| votes.iter().filter(|v| **v == value).count();
    let better = |best: f64, value: f64| {
        let (own, most) = (count(value), count(best));
        if own > most || (own == most && value < best) { value } else { best }
    };
    votes.iter().copied().reduce(better).unwrap_or(0.0)
}

/// `log 1/N Σ exp x`, of one number itself.
fn log_mean_exp(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = values.clone().fold(f64::NEG_INFINITY, f64::max);
    if !most.is_finite() {
        return most;
    }
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += (value - most).exp();
        count += 1.0;
    }
    most + (sum / f64::max(count, 1.0)).ln()
}

impl<T: Real> Score<T> for Average {
    fn expects_columns(&self) -> Option<usize> {
        Some(DynModel::columns(self))
    }

    fn score_kind(&self) -> ScoreKind {
        let kinds = || self.members.iter().filter_map(AnyModel::scorer::<T>).map(Score::score_kind);
        if kinds().any(|kind| kind == ScoreKind::Estimate) {
            ScoreKind::Estimate
        } else if kinds().any(|kind| kind == ScoreKind::Bound) {
            ScoreKind::Bound
        } else {
            ScoreKind::Exact
        }
    }

    fn takes_levels(&self) -> bool {
        self.members[0].scorer::<T>().is_some_and(Score::takes_levels)
    }

    fn score_batch(&self, batch: &Batch<'_, T>, out: &mut [f64]) {
        let mut scores = Vec::new();
        for scorer in self.members.iter().filter_map(AnyModel::scorer::<T>) {
            let mut own = vec![0.0; out.len()];
            scorer.score_batch(batch, &mut own);
            scores.push(own);
        }
        for (row, out) in out.iter_mut().enumerate() {
            *out = log_mean_exp(scores.iter().map(|own| own[row]));
        }
    }
}

impl<T: Real> Estimate<T> for Average {
    fn expects_columns(&self) -> Option<usize> {
        Some(DynModel::columns(self))
    }

    fn check_likelihood(&self, how: Likelihood) -> Result<()> {
        let mut all = self.members.iter().filter_map(AnyModel::estimator::<T>);
        all.try_for_each(|member| member.check_likelihood(how))
    }

    fn estimate_batch(
        &self,
        how: Likelihood,
        batch: &Batch<'_, T>,
        context: &Context,
        out: &mut [RowLikelihood],
    ) {
        let mut found = Vec::new();
        for estimator in self.members.iter().filter_map(AnyModel::estimator::<T>) {
            let mut own = vec![RowLikelihood::default(); out.len()];
            estimator.estimate_batch(how, batch, context, &mut own);
            found.push(own);
        }
        let n = found.len() as f64;
        for (row, out) in out.iter_mut().enumerate() {
            let log = log_mean_exp(found.iter().map(|own| own[row].log));
            *out = RowLikelihood { log, ..RowLikelihood::default() };
            for own in found.iter().map(|own| own[row]) {
                // A member's share of the density. Members draw with the same random numbers, so that errors may go
                // together: they are added, not their squares.
                let share = if log.is_finite() { (own.log - log).exp() / n } else { 1.0 / n };
                out.standard_error += share * own.standard_error;
                out.effective_samples += share * own.effective_samples;
            }
        }
    }
}

impl<T: Real> PredictCells<T> for Average {
    fn expects_columns(&self) -> Option<usize> {
        Some(DynModel::columns(self))
    }

    fn predict_cells_batch(
        &self,
        batch: &Batch<'_, T>,
        cells: &[(usize, usize)],
        visit: &mut dyn FnMut(usize, &CellPrediction),
    ) {
        let predictors = || self.members.iter().filter_map(AnyModel::cell_predictor::<T>);
        if let [only] = &*self.members {
            if let Some(only) = only.cell_predictor::<T>() {
                only.predict_cells_batch(batch, cells, visit);
            }
            return;
        }
        let mut said: Vec<Vec<CellPrediction>> = vec![Vec::new(); cells.len()];
        for predictor in predictors() {
            predictor.predict_cells_batch(batch, cells, &mut |i, told| said[i].push(told.clone()));
        }
        for (i, said) in said.iter().enumerate() {
            visit(i, &CellPrediction::average(said));
        }
    }
}

impl<T: Real> Predict<T> for Average {
    fn expects_columns(&self) -> Option<usize> {
        Some(DynModel::columns(self))
    }

    fn levels(&self) -> Vec<usize> {
        levels_of::<T>(&self.members[0])
    }

    fn predict_batch(&self, batch: &Batch<'_, T>, asked: Asked, out: &mut [f64]) {
        let levels = levels_of::<T>(&self.members[0]);
        let starts = prediction_starts(&levels);
        let width = starts[levels.len()].max(1);
        let mut said = Vec::new();
        for predictor in self.members.iter().filter_map(AnyModel::predictor::<T>) {
            predictor.predict_batch(batch, asked, out);
            said.push(out.to_vec());
        }
        if said.len() == 1 {
            return;
        }
        let each = 1.0 / said.len() as f64;
        let mean = |at: usize| said.iter().map(|own| each * own[at]).sum::<f64>();
        for row in 0..batch.rows {
            for (column, &count) in levels.iter().enumerate() {
                let first = row * width + starts[column];
                let own = first..row * width + starts[column + 1];
                own.for_each(|at| out[at] = mean(at));
                if count == 0 {
                    // The variance of a mixture: the mean of variances and the variance of means.
                    let centre = out[first];
                    let square =
                        |own: &Vec<f64>| own[first + 1].powi(2) + (own[first] - centre).powi(2);
                    out[first + 1] = said.iter().map(|own| each * square(own)).sum::<f64>().sqrt();
                }
            }
        }
    }

    fn surprise_batch(&self, batch: &Batch<'_, T>, out: &mut [f64]) {
        let mut said = Vec::new();
        for predictor in self.members.iter().filter_map(AnyModel::predictor::<T>) {
            predictor.surprise_batch(batch, out);
            said.push(out.to_vec());
        }
        for (at, out) in out.iter_mut().enumerate().filter(|(_, own)| !own.is_nan()) {
            *out = -log_mean_exp(said.iter().map(|own| -own[at]));
        }
    }

    fn draw_batch(&self, batch: &Batch<'_, T>, random: &dyn Fn(usize) -> Random, out: &mut [T]) {
        let n = self.members.len();
        // The member of each row; its own draws go on from there.
        let chosen = |row: usize| if n == 1 { 0 } else { random(row).random_range(0..n) };
        let chosen: Vec<usize> = (0..batch.rows).map(chosen).collect();
        let after = |row: usize| {
            let mut own = random(row);
            if n > 1 {
                let _: usize = own.random_range(0..n);
            }
            own
        };
        let width = DynModel::columns(self).max(1);
        let mut drawn = out.to_vec();
        for (number, member) in self.members.iter().enumerate().filter(|(i, _)| chosen.contains(i))
        {
            let Some(predictor) = member.predictor::<T>() else { continue };
            predictor.draw_batch(batch, &after, &mut drawn);
            let rows = out.chunks_mut(width).zip(drawn.chunks(width)).zip(&chosen);
            for ((out, drawn), _) in rows.filter(|(_, own)| **own == number) {
                out.copy_from_slice(drawn);
            }
        }
    }
}

impl Sample for Average {
    fn columns(&self) -> usize {
        self.members[0].columns()
    }

    fn sample_row(&self, random: &mut Random, noise: bool, row: &mut [f64]) {
        let n = self.members.len();
        let member = if n == 1 { 0 } else { random.random_range(0..n) };
        if let Some(sampler) = self.members[member].sampler() {
            sampler.sample_row(random, noise, row);
        }
    }
}

/// How an average came to be, from how its members did.
pub(crate) fn training_of(members: &[Training]) -> Option<Training> {
    let best = (0..members.len())
        .fold(0, |best, i| if members[i].bound > members[best].bound { i } else { best });
    let mut own = members.first()?.clone();
    own.passes = members[best].passes;
    own.best = best;
    let worst = |status: Status| members.iter().any(|m| m.status == status).then_some(status);
    own.status = [Status::Interrupted, Status::Diverged, Status::PassLimit]
        .into_iter()
        .find_map(worst)
        .unwrap_or(members[best].status);
    if members.len() > 1 {
        own.bound = members.iter().map(|m| m.bound).sum::<f64>() / members.len() as f64;
        own.log_likelihood = None;
        own.held_out.clear();
    }
    own.restarts = members.iter().filter_map(|m| m.restarts.get(m.best).cloned()).collect();
    Some(own)
}
