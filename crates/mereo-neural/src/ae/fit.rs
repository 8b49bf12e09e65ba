//! Learning from a source.

use mereo_core::slots::Survey;
use mereo_core::{
    Context, Error, Learned, Observer, Plan, Real, Result, Source, Start, Status, Stop, Training,
    descend, gather,
};

use super::learner::AeLearner;
use super::{Ae, AeClasses, AeParams, Loss, classify, codebooks, stack};
use crate::coder::Coder;
use crate::codes::CodesTask;
use crate::describe;
use crate::noise::Replaced;
use crate::optimise::Walker;
use crate::units::{Range, Units};
use crate::weights::Weights;

mereo_core::fit_here! {
    /// Learns an auto-encoder.
    ///
    /// ```
    /// use mereo_core::{Context, Dense, Plan, Silent, Table};
    /// use mereo_neural::{AeParams, ae};
    /// // Points on a curve: one number says where.
    /// let values = (0..200).flat_map(|i| {
    ///     let at = f64::from(i) / 100.0 - 1.0;
    ///     [at, at * at, at.sin()]
    /// });
    /// let table = Table::from(Dense::new(200, 3, values.collect())?);
    /// let params = AeParams { encoder: Some("dense 16, tanh".into()), rate: 1e-2, ..AeParams::new(1) };
    /// let plan = Plan { passes: 40, ..Plan::default() };
    /// let (model, training) = ae::fit(&params, &table, &plan, &Context::new(0), &mut Silent)?;
    /// assert_eq!(model.code(), 1);
    /// assert!(training.bound_per_row() > -0.5);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    fit(AeParams) -> Ae, by fit_as
}

fn fit_as<T: Real>(
    params: &AeParams,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<(Ae, Training)> {
    params.check()?;
    let plan = &Plan { passes: params.epochs.unwrap_or(plan.passes), ..plan.clone() };
    let survey = Survey::of(source, context)?;
    let range = Range::of(source, context)?;
    let plain = params.loss == Loss::CrossEntropy;
    if plain {
        range.check_unit(source)?;
    }
    let picture = source.about().picture;
    let units = Units::of(&survey, picture.is_some(), plain);
    let columns = source.columns();
    let code = params.code_of(columns);
    let encoder = describe::encoder(params.encoder.as_deref(), columns, picture, (code, code))?;
    let decoder = describe::decoder(params.decoder.as_deref(), &encoder, code, columns, picture)?;
    if params.stacked && !stack::fits(&encoder, &decoder) {
        let problem = "layers are learned one by one only if the decoder mirrors the encoder; leave --decoder out";
        return Err(Error::option("stacked", problem));
    }
    let inward = |value: f64| -> Vec<f64> {
        (0..columns).map(|d| (value - units.centre[d]) / units.scale[d]).collect()
    };
    // In tables nothing is the mean, and far out is two spreads away.
    let replaced = if picture.is_some() || plain {
        Replaced {
            nothing: inward(0.0),
            darkest: inward(range.least),
            brightest: inward(range.most),
        }
    } else {
        Replaced {
            nothing: vec![0.0; columns],
            darkest: vec![-2.0; columns],
            brightest: vec![2.0; columns],
        }
    };
    let learner = AeLearner {
        units,
        below: None,
        encoder,
        decoder,
        loss: params.loss,
        noise: params.noise()?,
        replaced,
        emphasis: params.emphasis,
        pace: params.pace(),
        facts: survey.facts(),
        seed: context.seed(),
    };
    let start = |restart: usize| {
        if params.stacked {
            return stack::start(&learner, source, plan, restart, context);
        }
        let mut random = context.random("first weights", [restart as u64, 0]);
        let mut parameters: Vec<T> = learner.encoder.start(&mut random);
        parameters.extend(learner.decoder.start::<T>(&mut random));
        Ok(Start { state: Walker::new(parameters), how: "random".into() })
    };
    let Learned { state, mut training } =
        descend(&learner, start, source, plan, context, observer)?;
    training.held_out.clone_from(&state.held_out);
    training.likelihood_unknown = true;
    let parameters = state.chosen();
    let split = learner.encoder.parameters();
    let task = CodesTask {
        units: learner.units.clone(),
        encoder: learner.encoder.clone(),
        parameters: parameters[..split].to_vec(),
        code,
    };
    // Who asked for a stop keeps a whole model: what remains is short, and must not be stopped again.
    let context = &context.clone().stopped_by(&Stop::default());
    let codes = gather(source, context, &task)?;
    let books = codebooks::learn(params, &codes, context)?;
    let classifier = match params.classes {
        AeClasses::None => None,
        AeClasses::Labels => {
            let passes = if training.status == Status::Interrupted { 1 } else { plan.passes };
            let plan = Plan { passes, ..plan.clone() };
            Some(classify::learn(&learner, &parameters[..split], source, &plan, context)?)
        }
    };
    let (mean, root) = codes.normal();
    let AeLearner { units, encoder, decoder, loss, .. } = learner;
    let model = Ae::new(super::model::Parts {
        coder: Coder {
            units,
            encoder: (encoder, Weights::of(&parameters[..split])),
            decoder: (decoder, Weights::of(&parameters[split..])),
            code,
        },
        loss,
        code_mean: mean,
        code_root: root,
        classifier,
        books,
    });
    Ok((model, training))
}
