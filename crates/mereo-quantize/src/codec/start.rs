//! Where rounds begin.
//!
//! *Codebooks, and features without guesses and prices*, are learned as of any table: nothing is left
//! to do for rounds but to say blocks once.
//!
//! *Features that are guessed or priced* are learned in rounds, which only need to begin somewhere good.
//! By stages: blocks are parted into sets by their nearest means; the blocks of a set, less their mean,
//! are explained by the nearest of a few means (or by nothing, if nothing is nearer), what is left by the
//! nearest of a few others, and so on; the means of all stages are the features. One stage is good for
//! pictures most of whose blocks need nothing, many are for what is made of several things, and random
//! states, as features of tables begin with, for texture. It is not known beforehand which a picture is, so
//! restarts differ in it.

use mereo_core::{Context, Dense, Error, Observer, Plan, Record, Result, Silent, Stop, Table};

use super::picture::CodecParams;
use crate::associate::Association;
use crate::gvq::{self, GvqParams};
use crate::vq::{self, VqParams};

/// What restarts begin with, in turn: so many stages, or random states.
const STARTS: [Option<usize>; KINDS] = [Some(8), Some(1), None];
pub(super) const KINDS: usize = 3;
/// The bits that a feature of random states takes to be on, about.
const FIRST_PRICE: f64 = 3.0;
/// Passes over blocks for the means of a stage.
const STAGE_PASSES: usize = 10;
/// Codebooks are soon learned: so many starts for each that was asked for.
const CODEBOOK_STARTS: usize = 4;

/// Tells what share of all passes is done, should none be spared.
struct Passes<'a>(&'a mut (dyn FnMut(f64) + Send));

impl Observer for Passes<'_> {
    fn passed(&mut self, record: &Record) {
        let of_restart = (record.pass + 1) as f64 / (record.passes + 1) as f64;
        (self.0)((record.restart as f64 + of_restart) / record.restarts as f64);
    }
}

/// Origins and features `[M, 1 + n, size]` of blocks, learned as of any table. If they must come, one
/// pass will do for who asks for a stop before there was any.
pub(super) fn learned(
    blocks: Dense<f32>,
    params: &CodecParams,
    must_end: bool,
    context: &Context,
    told: &mut (dyn FnMut(f64) + Send),
) -> Result<Vec<f64>> {
    let CodecParams { features, sets, restarts, .. } = *params;
    let blocks = Table::from(blocks);
    let mut fit = |restarts: usize, passes: usize, context: &Context| {
        let mut told = Passes(told);
        let plan = Plan { restarts, passes, ..Plan::default() };
        if features == 0 {
            let fitted = vq::fit(&VqParams::new(sets), &blocks, &plan, context, &mut told)?;
            return Ok(fitted.0.mean().to_vec());
        }
        let params = GvqParams { sets, ..GvqParams::new(features) };
        Ok(gvq::fit(&params, &blocks, &plan, context, &mut told)?.0.vectors())
    };
    let restarts = if features == 0 { CODEBOOK_STARTS * restarts } else { restarts };
    match fit(restarts, Plan::default().passes, context) {
        Err(Error::Interrupted) if must_end => {
            fit(1, 1, &context.clone().stopped_by(&Stop::default()))
        }
        learned => learned,
    }
}

/// What rounds begin with; restarts differ in it.
pub(super) fn for_rounds(
    blocks: &Dense<f32>,
    params: &CodecParams,
    restart: usize,
    must_end: bool,
    context: &Context,
) -> Result<Vec<f64>> {
    if params.features == 0 {
        return learned(blocks.clone(), params, must_end, context, &mut |_| ());
    }
    let own = context.with_seed(context.seed().wrapping_add(restart as u64));
    match STARTS[restart % STARTS.len()] {
        Some(stages) => by_stages(blocks, params, stages, &own),
        None => of_random_states(blocks, params, &own),
    }
}

fn of_random_states(
    blocks: &Dense<f32>,
    params: &CodecParams,
    context: &Context,
) -> Result<Vec<f64>> {
    let params = GvqParams {
        sets: params.sets,
        penalty: FIRST_PRICE * params.penalty,
        association: Association::Mf,
        scouts: 1,
        ..GvqParams::new(params.features)
    };
    let plan = Plan { passes: 1, ..Plan::default() };
    let blocks = Table::from(blocks.clone());
    Ok(gvq::fit(&params, &blocks, &plan, context, &mut Silent)?.0.vectors())
}

fn by_stages(
    blocks: &Dense<f32>,
    params: &CodecParams,
    stages: usize,
    context: &Context,
) -> Result<Vec<f64>> {
    let (size, n) = (blocks.columns(), params.features);
    // One mean of what has no mean would be nothing.
    let stages = stages.min(n / 2).max(1);
    let origins = means(blocks.values(), size, params.sets, context)?;
    let mut parted = vec![Vec::new(); params.sets];
    for block in blocks.values().chunks_exact(size) {
        let set = nearest(block, &origins, f64::INFINITY).unwrap_or(0);
        let origin = &origins[set * size..(set + 1) * size];
        parted[set].extend(block.iter().zip(origin).map(|(x, o)| x - *o as f32));
    }
    let mut vectors = Vec::with_capacity(params.sets * (n + 1) * size);
    for (mut rest, origin) in parted.into_iter().zip(origins.chunks_exact(size)) {
        vectors.extend_from_slice(origin);
        for stage in 0..stages {
            let features = n * (stage + 1) / stages - n * stage / stages;
            let means = means(&rest, size, features, context)?;
            for block in rest.chunks_exact_mut(size) {
                let nothing: f64 = block.iter().map(|&x| f64::from(x).powi(2)).sum();
                if let Some(near) = nearest(block, &means, nothing) {
                    let mean = &means[near * size..(near + 1) * size];
                    block.iter_mut().zip(mean).for_each(|(x, m)| *x -= *m as f32);
                }
            }
            vectors.extend(means);
        }
    }
    Ok(vectors)
}

/// So many means of blocks, zeros beyond as many as there are blocks.
fn means(blocks: &[f32], size: usize, many: usize, context: &Context) -> Result<Vec<f64>> {
    let rows = blocks.len() / size;
    let mut means = Vec::new();
    if rows > 0 {
        let table = Table::from(Dense::new(rows, size, blocks.to_vec())?);
        let plan = Plan { passes: STAGE_PASSES, ..Plan::default() };
        // Soon done: whoever asks for a stop need not wait for long.
        let unstopped = context.clone().stopped_by(&Stop::default());
        let params = VqParams::new(many.min(rows));
        means.extend_from_slice(vq::fit(&params, &table, &plan, &unstopped, &mut Silent)?.0.mean());
    }
    means.resize(many * size, 0.0);
    Ok(means)
}

/// The nearest of some means, if any is nearer than so much.
fn nearest(block: &[f32], means: &[f64], mut least: f64) -> Option<usize> {
    let mut best = None;
    for (number, mean) in means.chunks_exact(block.len()).enumerate() {
        let apart: f64 = block.iter().zip(mean).map(|(&x, m)| (f64::from(x) - m).powi(2)).sum();
        if apart < least {
            (best, least) = (Some(number), apart);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_find_what_blocks_are_sums_of() {
        // One of two, and one of two others: four kinds of blocks about a mean.
        let (a, b) = ([8.0f32, 0.0, -8.0, 0.0], [0.0f32, 2.0, 0.0, -2.0]);
        let mut values = Vec::new();
        for kind in 0..40 {
            let (s, t) = (1.0 - 2.0 * (kind % 2) as f32, 1.0 - (kind / 2 % 2) as f32 * 2.0);
            values.extend((0..4).map(|i| 100.0 + s * a[i] + t * b[i]));
        }
        let blocks = Dense::new(40, 4, values.clone()).unwrap();
        let params = CodecParams { features: 4, ..CodecParams::default() };
        let context = Context::new(0);
        for restart in 0..3 {
            let vectors = for_rounds(&blocks, &params, restart, false, &context).unwrap();
            assert_eq!(vectors.len(), 5 * 4);
        }
        // In one stage the means are the kinds themselves.
        let vectors = by_stages(&blocks, &params, 1, &context).unwrap();
        for block in values.chunks_exact(4) {
            let less: Vec<f32> = block.iter().map(|x| x - 100.0).collect();
            assert!(nearest(&less, &vectors[4..], 1e-4).is_some(), "{vectors:?}");
        }
        // In two stages of two, sums are.
        let vectors = by_stages(&blocks, &params, 2, &context).unwrap();
        let sums: Vec<f64> = [(0, 2), (0, 3), (1, 2), (1, 3)]
            .iter()
            .flat_map(|(i, j)| {
                let of = |k: usize| vectors[4 * (k + 1)..4 * (k + 2)].to_vec();
                of(*i).into_iter().zip(of(*j)).map(|(x, y)| x + y).collect::<Vec<f64>>()
            })
            .collect();
        for block in values.chunks_exact(4) {
            let less: Vec<f32> = block.iter().map(|x| x - 100.0).collect();
            assert!(nearest(&less, &sums, 1e-4).is_some(), "{vectors:?}");
        }
    }

    #[test]
    fn few_blocks_make_few_features() {
        let blocks = Dense::new(2, 4, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 9.0]).unwrap();
        let params = CodecParams { features: 8, sets: 3, ..CodecParams::default() };
        for restart in 0..3 {
            let vectors = for_rounds(&blocks, &params, restart, false, &Context::new(0)).unwrap();
            assert_eq!(vectors.len(), 3 * 9 * 4);
            assert!(vectors.iter().all(|v| v.is_finite()));
        }
    }
}
