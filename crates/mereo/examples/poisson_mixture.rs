//! A model that mereo does not ship, written against its public interface: a mixture of Poisson
//! distributions, for counts. It fits, streams, saves, opens and obeys the laws of every model.
//!
//! A row is made by one of N components, j with probability `b_j`, and its counts are independent given j:
//! `log P(x | j) = Σ_d (x_d log λ_jd - λ_jd - log x_d!)`. Setting the derivatives of the expected log
//! likelihood to zero gives `b_j = Σ_c r_cj / C` and `λ_jd = Σ_c r_cj x_cd / Σ_c r_cj` over the rows that observe
//! column d, `r_cj ∝ b_j P(x_c | j)` being the posterior. A hundredth of the column's mean is added as if one more
//! row had it, so that no rate is 0.

use std::path::Path;

use mereo::slots::Survey;
use mereo::{
    Batch, Context, Encode, Facts, Learner, Manifest, Model, ModelFile, Observer, Options,
    ParamInfo, Params, Pass, Plan, Real, Reconstruct, Result, Score, ScoreKind, Source, Start,
    Statistics, Tensor, Training, learn, math, read_options, sample_rows,
};
use serde::{Deserialize, Serialize};

mereo::params! {
    /// What users choose.
    pub struct PoissonParams {
        /// Number of components.
        pub components: usize;
    }
}

impl Params for PoissonParams {
    type Model = PoissonMixture;
    const RESTARTS: usize = 3;

    fn declared() -> Vec<ParamInfo> {
        PoissonParams::declared()
    }
    fn from_options(options: &Options) -> Result<Self> {
        read_options(&Self::declared(), options)
    }
    fn check(&self) -> Result<()> {
        match self.components {
            0 => Err(mereo::Error::option("components", "at least 1 is needed")),
            _ => Ok(()),
        }
    }
    fn vectors(&self, _columns: usize) -> (&'static str, usize) {
        ("components", self.components)
    }
}

/// What was learned: priors `[N]` and rates `[N, D]`. It is also the state of learning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoissonMixture {
    prior: Vec<f64>,
    rate: Vec<f64>,
}

impl PoissonMixture {
    /// Writes the posterior of a row's component and returns the row's log probability.
    fn posterior<T: Real>(&self, batch: &Batch<'_, T>, row: usize, out: &mut [f64]) -> f64 {
        let columns = batch.columns;
        for (j, (log, prior)) in out.iter_mut().zip(&self.prior).enumerate() {
            *log = prior.max(1e-300).ln();
            batch.for_each_observed(row, |d, x| {
                let (x, rate) = (x.to_f64(), self.rate[j * columns + d]);
                *log += x * rate.ln() - rate - math::ln_gamma(x + 1.0);
            });
        }
        math::softmax(out)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(bound = "T: Real")]
struct PoissonLearner<T> {
    components: usize,
    survey: Survey<T>,
}

/// Per component: weight, and per column the weight that observes it and the sum of counts.
#[derive(Serialize, Deserialize)]
struct Sums {
    bound: f64,
    total: Vec<f64>,
    seen: Vec<f64>,
    counts: Vec<f64>,
}

impl Statistics for Sums {
    fn merge(&mut self, other: &Self) {
        self.bound += other.bound;
        let pairs = [(&mut self.total, &other.total), (&mut self.seen, &other.seen)];
        for (own, other) in pairs.into_iter().chain([(&mut self.counts, &other.counts)]) {
            own.iter_mut().zip(other).for_each(|(a, b)| *a += b);
        }
    }
    fn reset(&mut self) {
        self.bound = 0.0;
        [&mut self.total, &mut self.seen, &mut self.counts].map(|sums| sums.fill(0.0));
    }
}

impl<T: Real> Learner<T> for PoissonLearner<T> {
    const NAME: &'static str = "poisson mixture";
    type State = PoissonMixture;
    type Prepared = PoissonMixture;
    type Statistics = Sums;
    type Workspace = Vec<f64>;

    fn facts(&self) -> Facts {
        self.survey.facts()
    }
    fn prepare(&self, state: &PoissonMixture, _: Pass) -> PoissonMixture {
        state.clone()
    }
    fn statistics(&self) -> Sums {
        let zeros = vec![0.0; self.components * self.survey.reference.len()];
        Sums { bound: 0.0, total: vec![0.0; self.components], seen: zeros.clone(), counts: zeros }
    }
    fn workspace(&self) -> Vec<f64> {
        vec![0.0; self.components]
    }
    fn accumulate(&self, m: &PoissonMixture, batch: &Batch<'_, T>, r: &mut Vec<f64>, sums: &mut Sums) {
        for row in 0..batch.rows {
            let weight = batch.weight(row);
            sums.bound += weight * m.posterior(batch, row, r);
            for (j, r) in r.iter().enumerate() {
                sums.total[j] += weight * r;
                batch.for_each_observed(row, |d, x| {
                    sums.seen[j * batch.columns + d] += weight * r;
                    sums.counts[j * batch.columns + d] += weight * r * x.to_f64();
                });
            }
        }
    }
    fn bound(&self, sums: &Sums) -> f64 {
        sums.bound
    }
    fn update(&self, state: &mut PoissonMixture, sums: &Sums, _: Pass) -> Vec<String> {
        let mean = &self.survey.moments.mean;
        let whole: f64 = sums.total.iter().sum();
        state.prior = sums.total.iter().map(|n| n / whole).collect();
        for (i, rate) in state.rate.iter_mut().enumerate() {
            let few = 0.01 * mean[i % mean.len()].max(1e-3);
            *rate = (sums.counts[i] + few) / (sums.seen[i] + 0.01);
        }
        Vec::new()
    }
}

impl Model for PoissonMixture {
    const KIND: &'static str = "poisson-mixture";
    const TITLE: &'static str = "A mixture of Poisson distributions";
    const ABOUT: &'static str = "Counts that one of N components makes, column by column.";
    const EXAMPLES: &'static [&'static str] = &["mereo fit poisson-mixture counts.csv --components 3"];
    type Params = PoissonParams;
    mereo::capabilities!(encode, reconstruct, score);

    fn fit<T: Real>(
        params: &PoissonParams,
        source: &dyn Source<T>,
        plan: &Plan,
        context: &Context,
        observer: &mut dyn Observer,
    ) -> Result<(Self, Training)> {
        let survey = Survey::of(source, context)?;
        if let Some(d) = survey.moments.mean.iter().position(|mean| *mean < 0.0) {
            return Err(mereo::Error::found(
                mereo::Place::default().column(d),
                "numbers below 0",
                "counts",
            ));
        }
        let learner = PoissonLearner::<T> { components: params.components, survey };
        // Each component begins at a row drawn at random, half-way to the columns' means.
        let start = |restart: usize| {
            let own = context.with_seed(context.seed().wrapping_add(restart as u64));
            let rows = sample_rows(source, params.components, "poisson start", &own)?;
            let mean = &learner.survey.moments.mean;
            let mut rate = mean.repeat(params.components);
            let mut lane = rows.lane(0..Source::batches(&rows))?;
            while let Some(batch) = lane.next_batch()? {
                for row in 0..batch.rows {
                    let at = (batch.first_row + row) * batch.columns;
                    batch.for_each_observed(row, |d, x| {
                        rate[at + d] = 0.5 * (rate[at + d] + x.to_f64());
                    });
                }
            }
            rate.iter_mut().for_each(|rate| *rate = rate.max(1e-3));
            let prior = vec![1.0 / params.components as f64; params.components];
            Ok(Start { state: Self { prior, rate }, how: "rows".to_owned() })
        };
        let learned = learn(&learner, start, source, plan, context, observer)?;
        Ok((learned.state, learned.training))
    }
    fn from_file(mut file: ModelFile, path: &Path) -> Result<Self> {
        let rate = file.take("rate", 2, path)?;
        let prior = file.take_distributions("prior", &rate.shape[..1], path)?;
        Ok(Self { prior, rate: rate.values })
    }
    fn to_file(&self, manifest: Manifest) -> ModelFile {
        let mut file = ModelFile::new(manifest);
        file.insert("prior", Tensor::new(vec![self.prior.len()], self.prior.clone()));
        file.insert("rate", Tensor::new(vec![self.prior.len(), self.columns()], self.rate.clone()));
        file
    }
    fn columns(&self) -> usize {
        self.rate.len() / self.prior.len()
    }
}

impl<T: Real> Encode<T> for PoissonMixture {
    fn code_width(&self) -> usize {
        self.prior.len()
    }
    fn encode_batch(&self, batch: &Batch<'_, T>, codes: &mut [T]) {
        let mut r = vec![0.0; self.prior.len()];
        for (row, code) in codes.chunks_exact_mut(r.len()).enumerate() {
            self.posterior(batch, row, &mut r);
            code.iter_mut().zip(&r).for_each(|(c, &r)| *c = T::from_f64(r));
        }
    }
}

impl<T: Real> Reconstruct<T> for PoissonMixture {
    fn reconstruct_batch(&self, batch: &Batch<'_, T>, out: &mut [T]) {
        let mut r = vec![0.0; self.prior.len()];
        for (row, out) in out.chunks_exact_mut(batch.columns).enumerate() {
            self.posterior(batch, row, &mut r);
            for (d, x) in out.iter_mut().enumerate() {
                let made = r.iter().zip(self.rate.iter().skip(d).step_by(batch.columns));
                *x = T::from_f64(made.map(|(r, rate)| r * rate).sum());
            }
        }
    }
}

impl<T: Real> Score<T> for PoissonMixture {
    fn score_kind(&self) -> ScoreKind {
        // A probability, where other models have densities.
        ScoreKind::Bound
    }
    fn score_batch(&self, batch: &Batch<'_, T>, out: &mut [f64]) {
        let mut r = vec![0.0; self.prior.len()];
        out.iter_mut().enumerate().for_each(|(row, s)| *s = self.posterior(batch, row, &mut r));
    }
}

fn main() -> Result<()> {
    let counts: Vec<f64> = (0..600).map(|i| f64::from((i % 3) * 4 + (i * 7) % 3)).collect();
    let table = mereo::Table::from(mereo::Dense::new(200, 3, counts)?);
    let fitted = mereo::Fit::new(PoissonParams { components: 2 }).run(&table)?;
    println!("{} nats a row", fitted.training().map_or(f64::NAN, Training::bound_per_row));
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_obeys_the_laws() {
        // The rates of counts are not moved by an offset as the counts are.
        let laws = mereo_testing::Laws { offsets: false, ..mereo_testing::Laws::default() };
        mereo_testing::check_model::<super::PoissonMixture>(laws);
    }
}
