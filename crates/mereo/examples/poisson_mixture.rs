//! A model that mereo does not ship, written against its public interface: a mixture of Poisson
//! distributions, for counts. It fits, streams, saves, opens and obeys the laws of every model.
//!
//! A row is made by one of N components, j with probability `b_j`, and `log P(x | j) = Σ_d (x_d log λ_jd - λ_jd - log x_d!)`.
//! With the posterior `r_cj ∝ b_j P(x_c | j)`, the expected log likelihood is largest at `b_j = Σ_c r_cj / C` and
//! `λ_jd = Σ_c r_cj x_cd / Σ_c r_cj`, over the rows that observe column d. A hundredth of a row at the column's mean is added, so
//! that no rate is 0.

use std::path::Path;

use mereo::slots::Survey;
use mereo::{
    Batch, Context, Facts, Learner, Manifest, Model, ModelFile, Observer, ParamInfo, Params, Pass,
    Plan, Real, Result, Score, ScoreKind, Source, Start, Tensor, Training, learn, math,
};
use rand::RngExt;
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

    fn declared() -> Vec<ParamInfo> {
        PoissonParams::declared()
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

impl<T: Real> Learner<T> for PoissonLearner<T> {
    const NAME: &'static str = "poisson mixture";
    type State = PoissonMixture;
    type Prepared = PoissonMixture;
    /// The bound; of each component its weight, and of each column the weight of its rows and the sum of their counts.
    type Statistics = Vec<f64>;
    type Workspace = Vec<f64>;

    fn facts(&self) -> Facts {
        self.survey.facts()
    }
    fn prepare(&self, state: &PoissonMixture, _: Pass) -> PoissonMixture {
        state.clone()
    }
    fn statistics(&self) -> Vec<f64> {
        vec![0.0; 1 + self.components * (1 + 2 * self.survey.reference.len())]
    }
    fn workspace(&self) -> Vec<f64> {
        vec![0.0; self.components]
    }
    #[rustfmt::skip]
    fn accumulate(&self, m: &PoissonMixture, batch: &Batch<'_, T>, r: &mut Vec<f64>, sums: &mut Vec<f64>) {
        let width = 1 + 2 * batch.columns;
        for row in 0..batch.rows {
            let weight = batch.weight(row);
            sums[0] += weight * m.posterior(batch, row, r);
            for (own, r) in sums[1..].chunks_exact_mut(width).zip(&*r) {
                own[0] += weight * r;
                batch.for_each_observed(row, |d, x| {
                    own[1 + 2 * d] += weight * r;
                    own[2 + 2 * d] += weight * r * x.to_f64();
                });
            }
        }
    }
    fn bound(&self, sums: &Vec<f64>) -> f64 {
        sums[0]
    }
    fn update(&self, state: &mut PoissonMixture, sums: &Vec<f64>, _: Pass) -> Vec<String> {
        let mean = &self.survey.moments.mean;
        let rates = state.rate.chunks_exact_mut(mean.len()).zip(&mut state.prior);
        for (own, (rate, prior)) in sums[1..].chunks_exact(1 + 2 * mean.len()).zip(rates) {
            *prior = own[0] / self.survey.moments.rows;
            for (d, rate) in rate.iter_mut().enumerate() {
                *rate = (own[2 + 2 * d] + 0.01 * mean[d].max(1e-3)) / (own[1 + 2 * d] + 0.01);
            }
        }
        Vec::new()
    }
}

impl Model for PoissonMixture {
    const KIND: &'static str = "poisson-mixture";
    const TITLE: &'static str = "A mixture of Poisson distributions";
    const ABOUT: &'static str = "Counts that one of N components makes, column by column.";
    type Params = PoissonParams;
    mereo::capabilities!(score);

    #[rustfmt::skip]
    fn fit<T: Real>(
        params: &PoissonParams, source: &dyn Source<T>, plan: &Plan, context: &Context, observer: &mut dyn Observer,
    ) -> Result<(Self, Training)> {
        let survey = Survey::of(source, context)?;
        let (n, mean) = (params.components, survey.moments.mean.clone());
        let learner = PoissonLearner::<T> { components: n, survey };
        let start = |restart: usize| {
            let mut random = context.random("poisson start", [restart as u64, 0]);
            let near = |i: usize| mean[i % mean.len()].max(1e-3) * random.random_range(0.5..1.5);
            let rate = (0..n * mean.len()).map(near).collect();
            let state = Self { prior: vec![1.0 / n as f64; n], rate };
            Ok(Start { state, how: "near the mean".to_owned() })
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
