//! A sheet said with features: learned, then block by block.
//!
//! A block is its guess ([`super::guess`], nothing if blocks are said by themselves), plus an origin
//! and features. Which, is what minimises the squared error and, for every bit that the coder would
//! take to say it, a penalty λ:
//!
//! `min_{m,s} ‖x - guess - o_m - Σ_i s_i f_mi‖² + λ (bits of m + Σ_i bits of s_i)`.
//!
//! No feature's bits depend on another's, so they are no more than a change of bias: the solvers of
//! [`associate`](crate::associate) apply unchanged.
//!
//! Features are first learned from blocks less what the original picture would guess. But the
//! reader guesses from what was said, so they are learned again from that: saying all blocks and
//! least squares on what was to be said take turns, and the round that cost least is kept. The bits
//! of a round are those of the coder's models at the end of the round before: models that are
//! still learning would price what happened to come first too low, and rounds would not settle.

use mereo_core::math::dot;
use mereo_core::{Context, Dense, Plan, Result, Silent, Table};

use super::bits::Counter;
use super::guess::guess;
use super::picture::CodecParams;
use super::plane::Plane;
use super::sheet::Sheet;
use super::states::{Made, Near, States};
use crate::associate::exact::Exact;
use crate::associate::local::Local;
use crate::associate::{Couplings, Problem, Solver, ones};
use crate::gvq::{self, GvqParams};
use crate::squares::Squares;
use crate::vq::{self, VqParams};

/// Nodes that the search for what a block is made of may visit.
const NODES: usize = 2000;
/// Rounds of saying and learning again.
const ROUNDS: usize = 16;
/// Passes of learning before them, and short runs that these start from the best of.
const FIRST_PASSES: usize = 1;
const FIRST_SCOUTS: usize = 5;
/// The bits that a feature takes to be on, about, before there are models that know.
const FIRST_PRICE: f64 = 3.0;

/// Learns the features of a sheet's blocks and says the blocks with them.
pub(super) fn plane(sheet: &Sheet, params: &CodecParams, context: &Context) -> Result<Plane> {
    let speaker = Speaker { sheet, params, side: params.block as usize };
    let mut vectors = speaker.first_vectors(context)?;
    let mut models = None;
    let mut best = (f64::INFINITY, vectors.clone(), None);
    for _ in 0..speaker.rounds() {
        if context.stop().asked() {
            break;
        }
        let (said, learned) = speaker.say(&vectors, models.as_ref());
        let cost = said.squares + params.penalty * said.bits;
        if cost < best.0 {
            best = (cost, vectors.clone(), Some(learned.clone()));
        }
        // What was learned of a feature is not true of it turned round.
        let turned = speaker.learn_again(&said, &mut vectors);
        models = (!turned).then_some(learned);
    }
    let (_, vectors, models) = best;
    let sets = u32::try_from(params.sets).unwrap_or(u32::MAX);
    let plane = Plane::round(sets, params.features as u8, params.bits, &vectors)?;
    let (said, _) = speaker.say(&plane.vectors(), models.as_ref());
    Ok(plane.with_states(said.made))
}

/// A sheet put together again from what was said.
pub(super) fn heard(
    plane: &Plane,
    width: usize,
    height: usize,
    side: usize,
    guessed: bool,
) -> Sheet {
    let mut sheet = Sheet::empty(width, height);
    let mut block = vec![0.0; side * side];
    for (at, look) in plane.looks(side * side).chunks_exact(side * side).enumerate() {
        hear(&mut sheet, at, side, look, guessed, &mut block);
    }
    sheet
}

/// Puts a block onto a sheet: its guess and what was said of it.
fn hear(sheet: &mut Sheet, at: usize, side: usize, look: &[f64], guessed: bool, block: &mut [f64]) {
    if guessed {
        guess(sheet, at, side, block);
        for (b, l) in block.iter_mut().zip(look) {
            *b = (*b + l).clamp(0.0, 255.0);
        }
        sheet.put(at, side, block);
    } else {
        sheet.put(at, side, look);
    }
}

/// One who says a sheet.
struct Speaker<'a> {
    sheet: &'a Sheet,
    params: &'a CodecParams,
    side: usize,
}

/// What was said.
struct Said {
    made: Vec<Made>,
    /// What was to be said of each block.
    wanted: Vec<f64>,
    squares: f64,
    bits: f64,
}

impl Speaker<'_> {
    /// How often features are learned again: without a guess and a price there is nothing new.
    fn rounds(&self) -> usize {
        if self.params.guess || self.params.penalty > 0.0 { ROUNDS } else { 0 }
    }

    fn size(&self) -> usize {
        self.side * self.side
    }

    /// What is to be said of a block, given what is there before it.
    fn want(&self, before: &Sheet, at: usize, guessed: &mut [f64], out: &mut [f64]) {
        self.sheet.block(at, self.side, out);
        if self.params.guess {
            guess(before, at, self.side, guessed);
            out.iter_mut().zip(guessed).for_each(|(x, g)| *x -= *g);
        }
    }

    /// Origins and features `[M, 1 + n, size]` of blocks less what the picture itself would guess.
    fn first_vectors(&self, context: &Context) -> Result<Vec<f64>> {
        let (size, blocks) = (self.size(), self.sheet.blocks(self.side));
        let (mut guessed, mut wanted) = (vec![0.0; size], vec![0.0; size]);
        let mut rows = Vec::with_capacity(blocks * size);
        for at in 0..blocks {
            self.want(self.sheet, at, &mut guessed, &mut wanted);
            rows.extend(wanted.iter().map(|&x| x as f32));
        }
        let rows = Table::from(Dense::new(blocks, size, rows)?);
        let CodecParams { features, sets, restarts, penalty, .. } = *self.params;
        let mut plan = Plan { restarts, ..Plan::default() };
        if features == 0 {
            plan.restarts *= 4;
            let (model, _) = vq::fit(&VqParams::new(sets), &rows, &plan, context, &mut Silent)?;
            return Ok(model.mean().to_vec());
        }
        let mut params =
            GvqParams { sets, penalty: FIRST_PRICE * penalty, ..GvqParams::new(features) };
        if self.rounds() > 0 {
            (params.scouts, plan.passes) = (FIRST_SCOUTS, FIRST_PASSES);
        }
        let (model, _) = gvq::fit(&params, &rows, &plan, context, &mut Silent)?;
        Ok(model.vectors())
    }

    /// Says all blocks with these vectors, at the prices of these models; also what the models
    /// learned.
    fn say(&self, vectors: &[f64], models: Option<&States>) -> (Said, States) {
        let (size, blocks) = (self.size(), self.sheet.blocks(self.side));
        let CodecParams { features: n, sets, penalty, guess: guessed, .. } = *self.params;
        let across = self.sheet.width.div_ceil(self.side);
        let mut explainer = Explainer::new(vectors, n, size);
        let mut states = States::new(sets as u32, n, across);
        let mut heard = Sheet::empty(self.sheet.width, self.sheet.height);
        let mut counter = Counter::default();
        let (mut before, mut look) = (vec![0.0; size], vec![0.0; size]);
        let mut said = Said {
            made: Vec::with_capacity(blocks),
            wanted: vec![0.0; blocks * size],
            squares: 0.0,
            bits: 0.0,
        };
        for at in 0..blocks {
            let wanted = &mut said.wanted[at * size..(at + 1) * size];
            self.want(&heard, at, &mut before, wanted);
            let near = states.near(&said.made, at);
            let made = explainer.explain(wanted, &near, |set, more| {
                more.clear();
                if penalty == 0.0 {
                    more.resize(n, 0.0);
                    return 0.0;
                }
                let bits = models.unwrap_or(&states).prices(&near, set, more);
                more.iter_mut().for_each(|m| *m *= penalty);
                penalty * bits
            });
            explainer.look(made, &mut look);
            said.squares += wanted.iter().zip(&look).map(|(x, l)| (x - l) * (x - l)).sum::<f64>();
            // Counting does not fail.
            let _ = states.code(&near, made, &mut counter);
            said.made.push(made);
            hear(&mut heard, at, self.side, &look, guessed, &mut before);
        }
        said.bits = counter.bits;
        (said, states)
    }

    /// Least squares on what was to be said, given what it was said with. A feature that more than
    /// half of the blocks have is turned round, into what the others lack; whether any was.
    fn learn_again(&self, said: &Said, vectors: &mut [f64]) -> bool {
        let (size, n) = (self.size(), self.params.features);
        let mut any = false;
        for (set, vectors) in vectors.chunks_exact_mut((n + 1) * size).enumerate() {
            let made = || {
                let all = said.made.iter().zip(said.wanted.chunks_exact(size));
                all.filter(|((s, _), _)| *s as usize == set).map(|((_, state), x)| (*state, x))
            };
            let rows = made().count();
            if rows == 0 {
                continue;
            }
            let often =
                (0..n).filter(|&i| 2 * made().filter(|(s, _)| s >> i & 1 == 1).count() > rows);
            let turned = often.fold(0u64, |mask, i| mask | 1 << i);
            any |= turned != 0;
            let mut squares = Squares::new(n + 1, size, false);
            let mut coefficients = Vec::with_capacity(n + 1);
            for (state, wanted) in made() {
                coefficients.clear();
                coefficients.push((0, 1.0));
                coefficients.extend(ones(state ^ turned).map(|i| (i + 1, 1.0)));
                squares.add_complete(1.0, &coefficients);
                for &(i, _) in &coefficients {
                    let cross = &mut squares.cross[i * size..(i + 1) * size];
                    cross.iter_mut().zip(wanted).for_each(|(c, x)| *c += x);
                }
            }
            squares.solve(vectors);
        }
        any
    }
}

/// Finds what a block is made of.
struct Explainer<'a> {
    vectors: &'a [f64],
    features: usize,
    size: usize,
    couplings: Vec<Couplings>,
    solver: Exact,
    local: Local,
    left: Vec<f64>,
    bias: Vec<f64>,
}

impl<'a> Explainer<'a> {
    fn new(vectors: &'a [f64], features: usize, size: usize) -> Self {
        let couplings = |set: &[f64]| Couplings::of_features(features, &set[size..]);
        Self {
            vectors,
            features,
            size,
            couplings: vectors.chunks_exact((features + 1) * size).map(couplings).collect(),
            solver: Exact::new(NODES),
            local: Local::default(),
            left: vec![0.0; size],
            bias: Vec::with_capacity(features),
        }
    }

    /// The set and the state of least squared error and price; `price(set, more)` gives the price of
    /// a set, and of its features into `more`.
    fn explain(
        &mut self,
        wanted: &[f64],
        near: &Near,
        price: impl Fn(u32, &mut Vec<f64>) -> f64,
    ) -> Made {
        let (mut best, mut least) = ((0, 0), f64::INFINITY);
        let sets = self.vectors.chunks_exact((self.features + 1) * self.size);
        for (set, vectors) in sets.enumerate() {
            let (origin, features) = vectors.split_at(self.size);
            let left = self.left.iter_mut().zip(wanted).zip(origin);
            left.for_each(|((l, x), o)| *l = x - o);
            let mut energy = price(set as u32, &mut self.bias) + dot(&self.left, &self.left);
            let mut state = 0;
            if self.features > 0 {
                for (bias, f) in self.bias.iter_mut().zip(features.chunks_exact(self.size)) {
                    *bias += dot(f, f) - 2.0 * dot(f, &self.left);
                }
                let couplings = &self.couplings[set];
                let problem = Problem { couplings, bias: &self.bias, directed: None };
                let mut answer = self.solver.solve(&problem);
                if !answer.settled {
                    // Few features are on, and often those that are on nearby.
                    for from in near.states(set as u32) {
                        let other = self.local.descend_from(&problem, from);
                        answer.offer(other.state, other.energy);
                    }
                }
                energy += answer.energy;
                state = answer.state;
            }
            if energy < least {
                (best, least) = ((set as u32, state), energy);
            }
        }
        best
    }

    /// What that looks like.
    fn look(&self, (set, state): Made, out: &mut [f64]) {
        let vectors = &self.vectors[set as usize * (self.features + 1) * self.size..];
        out.copy_from_slice(&vectors[..self.size]);
        for i in ones(state) {
            let feature = &vectors[(i + 1) * self.size..(i + 2) * self.size];
            out.iter_mut().zip(feature).for_each(|(x, f)| *x += f);
        }
    }
}
