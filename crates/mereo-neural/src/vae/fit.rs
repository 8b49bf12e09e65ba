//! Learning from a source.

use mereo_core::slots::Survey;
use mereo_core::{
    Context, Learned, Observer, Plan, Real, Result, Source, Start, Training, descend,
};

use super::layout::Layout;
use super::learner::VaeLearner;
use super::{DecoderKind, Vae, VaeParams, Variance};
use crate::coder::Coder;
use crate::describe;
use crate::optimise::Walker;
use crate::units::{Range, Units};
use crate::weights::Weights;

mereo_core::fit_here! {
    /// Learns a variational auto-encoder.
    ///
    /// ```
    /// use mereo_core::{Context, Dense, Plan, Silent, Table, score};
    /// use mereo_neural::{VaeParams, vae};
    /// let values = (0..200).flat_map(|i| {
    ///     let at = f64::from(i) / 100.0 - 1.0;
    ///     [at, at * at, at.sin()]
    /// });
    /// let table = Table::from(Dense::new(200, 3, values.collect())?);
    /// let params = VaeParams { encoder: Some("dense 16, tanh".into()), rate: 1e-2, ..VaeParams::new(1) };
    /// let plan = Plan { passes: 40, ..Plan::default() };
    /// let (model, training) = vae::fit(&params, &table, &plan, &Context::new(0), &mut Silent)?;
    /// let scores = score::<f64>(&model, &table, &Context::new(0))?;
    /// assert!((scores.mean - training.bound_per_row()).abs() < 0.5);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    fit(VaeParams) -> Vae, by fit_as
}

fn fit_as<T: Real>(
    params: &VaeParams,
    source: &dyn Source<T>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<(Vae, Training)> {
    params.check()?;
    let plan = &Plan { passes: params.epochs.unwrap_or(plan.passes), ..plan.clone() };
    let survey = match params.decoder_kind {
        DecoderKind::Own => Survey::of_kinds(source, context)?,
        DecoderKind::Gaussian | DecoderKind::Bernoulli => Survey::of(source, context)?,
    };
    let layout = Layout::of(&survey.typical);
    let plain = params.decoder_kind == DecoderKind::Bernoulli;
    if plain {
        let range = Range::of(source, context)?;
        range.check_unit(source)?;
        if !params.binarise {
            range.check_binary(source)?;
        }
    }
    let picture = source.about().picture.filter(|_| layout.is_none());
    let units = Units::of(&survey, picture.is_some(), plain);
    let (columns, code) = (source.columns(), params.code_of(source.columns()));
    let width = layout.as_ref().map_or(columns, Layout::width);
    let numbers = layout.as_ref().map_or_else(|| (0..columns).collect(), |l| l.numbers().to_vec());
    let encoder = describe::encoder(params.encoder.as_deref(), width, picture, (code, 2 * code))?;
    let decoder = describe::decoder(params.decoder.as_deref(), &encoder, code, width, picture)?;
    let fixed = (params.variance == Variance::Unit)
        .then(|| numbers.iter().map(|&d| (1.0 / units.scale[d]).powi(2)).collect());
    let learner = VaeLearner {
        units,
        encoder,
        decoder,
        kind: params.decoder_kind,
        layout,
        fixed,
        floor: params.variance_floor,
        binarise: params.binarise,
        code,
        draws: params.draws,
        importance: params.importance,
        warm: params.warm,
        pace: params.pace(),
        facts: survey.facts(),
        seed: context.seed(),
    };
    let start = |restart: usize| {
        let mut random = context.random("first weights", [restart as u64, 0]);
        let mut parameters: Vec<T> = learner.encoder.start(&mut random);
        parameters.extend(learner.decoder.start::<T>(&mut random));
        // Variances begin at those of the columns.
        parameters.resize(learner.ends()[2], T::ZERO);
        Ok(Start { state: Walker::new(parameters), how: "random".into() })
    };
    let Learned { state, mut training } =
        descend(&learner, start, source, plan, context, observer)?;
    training.held_out.clone_from(&state.held_out);
    let parameters = state.chosen();
    let [end, both, _] = learner.ends();
    let noise = (!plain).then(|| {
        let variances = learner.variances(&parameters[both..]);
        // Of columns that are no numbers nothing is said.
        let mut noise = vec![1.0; columns];
        for (v, &d) in variances.iter().zip(&numbers) {
            noise[d] = v * learner.units.scale[d].powi(2);
        }
        noise
    });
    let VaeLearner { units, encoder, decoder, layout, .. } = learner;
    let kinds = source.about().kinds.clone().unwrap_or_default();
    let model = Vae::new(super::model::Parts {
        coder: Coder {
            units,
            encoder: (encoder, Weights::of(&parameters[..end])),
            decoder: (decoder, Weights::of(&parameters[end..both])),
            code,
        },
        layout: layout.map(|layout| (layout, kinds)),
        noise,
        binarise: params.binarise,
    });
    Ok((model, training))
}
