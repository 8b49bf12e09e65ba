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
//! Features begin ([`super::start`]) with blocks less what the original picture would guess. But the
//! reader guesses from what was said, so they are learned again from that: saying all blocks and
//! least squares on what was to be said take turns, and the round that cost least is kept. A few
//! rounds tell which of several starts is best; only that one goes on. The bits
//! of a round are those of the coder's models at the end of the round before: models that are
//! still learning would price what happened to come first too low, and rounds would not settle.
//!
//! A feature must pay for itself too. The blocks B that have it would be farther off without it by
//! `Σ_{c∈B} ‖x_c - said_c + f‖² - ‖x_c - said_c‖²`; its own numbers, and saying of every block
//! whether it is there, take bits. One that saves less than λ times these is dropped.

use std::sync::{Mutex, PoisonError};

use mereo_core::math::dot;
use mereo_core::{Context, Dense, Error, Result, map_in_parallel};

use super::bits::Counter;
use super::guess::guess;
use super::picture::CodecParams;
use super::plane::{Plane, Rounding};
use super::sheet::Sheet;
use super::start;
use super::states::{Made, Near, Prices, States};
use crate::associate::exact::Exact;
use crate::associate::local::Local;
use crate::associate::{Problem, Solver, ones};
use crate::gvq::sets::Sets;
use crate::squares::Squares;

/// Nodes that the search for what a block is made of may visit.
const NODES: usize = 2000;
/// Rounds of saying and learning again, and after how many of them the best start is chosen.
const ROUNDS: usize = 32;
const FIRST_ROUNDS: usize = 6;
/// The rounds after which features must pay, and the share of them that may be dropped at once: those
/// that are left take over what others did.
const PAY_FROM: usize = 2;
const MOST_DROPPED: f64 = 0.15;

/// Learns the features of a sheet's blocks and says the blocks with them; who listens is told what share
/// of that is done. Asked to stop, it is soon done; a sheet that must end is then said all the same.
pub(super) fn plane(
    sheet: &Sheet,
    params: &CodecParams,
    must_end: bool,
    context: &Context,
    told: &mut (dyn FnMut(f64) + Send),
) -> Result<Plane> {
    let speaker = Speaker { sheet, params, side: params.block as usize };
    let blocks = speaker.wanted_of_the_picture()?;
    let stopped = || context.stop().asked();
    if !speaker.has_rounds() {
        let vectors = start::learned(blocks, params, must_end, context, told)?;
        let mut talk = Talk::of(&speaker, vectors)?;
        talk.round()?;
        return Ok(talk.best.without_unused());
    }
    if stopped() && !must_end {
        return Err(Error::Interrupted);
    }
    // Codebooks begin as their own restarts end.
    let starts = if params.features == 0 { 1 } else { params.restarts };
    let all = starts * FIRST_ROUNDS + ROUNDS - FIRST_ROUNDS;
    let progress = Mutex::new((0usize, told));
    let go_on = |talk: &mut Talk<'_>, rounds: usize| -> Result<()> {
        for _ in 0..rounds {
            talk.round()?;
            let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
            progress.0 += 1;
            let share = progress.0 as f64 / all as f64;
            (progress.1)(share);
            if stopped() {
                break;
            }
        }
        Ok(())
    };
    let begin = |restart: usize| -> Result<Talk<'_>> {
        let vectors = if params.features == 0 {
            start::learned(blocks.clone(), params, must_end, context, &mut |_| ())?
        } else {
            start::for_rounds(&blocks, params, restart, context)?
        };
        let mut talk = Talk::of(&speaker, vectors)?;
        go_on(&mut talk, FIRST_ROUNDS)?;
        Ok(talk)
    };
    // A few at a time: each keeps all that it has to say in memory.
    let mut best: Option<Talk<'_>> = None;
    for first in (0..starts).step_by(start::KINDS) {
        let many = start::KINDS.min(starts - first);
        for talk in context.install(|| map_in_parallel(many, |i| begin(first + i))) {
            match talk {
                Ok(talk) if best.as_ref().is_none_or(|best| talk.least < best.least) => {
                    best = Some(talk);
                }
                // A start that a stop left no time for is none.
                Ok(_) | Err(Error::Interrupted) => {}
                Err(error) => return Err(error),
            }
        }
        if stopped() {
            break;
        }
    }
    let mut talk = best.ok_or(Error::Interrupted)?;
    if !stopped() {
        go_on(&mut talk, ROUNDS - FIRST_ROUNDS)?;
    }
    Ok(talk.best.without_unused())
}

/// Rounds of saying and learning again.
struct Talk<'a> {
    speaker: &'a Speaker<'a>,
    vectors: Vec<f64>,
    /// The vectors as the reader will have them.
    plane: Plane,
    models: Option<States>,
    /// What was said in the last round, and what the models learned of it.
    last: Option<(Said, States)>,
    rounds: usize,
    /// What cost least, and how much.
    best: Plane,
    least: f64,
}

impl<'a> Talk<'a> {
    fn of(speaker: &'a Speaker<'a>, vectors: Vec<f64>) -> Result<Self> {
        let mut used = vec![1; vectors.len() / speaker.size()];
        if speaker.params.penalty > 0.0 {
            used = speaker.say(&vectors, None).0.used;
        }
        let plane = speaker.round(&vectors, &used)?;
        let best = plane.clone();
        let (models, last, rounds, least) = (None, None, 0, f64::INFINITY);
        Ok(Self { speaker, vectors, plane, models, last, rounds, best, least })
    }

    /// Learns from the round before, and says all blocks.
    fn round(&mut self) -> Result<()> {
        let (speaker, penalty) = (self.speaker, self.speaker.params.penalty);
        if let Some((mut said, mut learned)) = self.last.take() {
            if self.rounds > PAY_FROM {
                speaker.drop_features(&mut said, &self.plane.vector_bits(), &mut self.vectors);
            }
            let turned = speaker.learn_again(&said, &mut self.vectors);
            for (set, turned) in turned.into_iter().enumerate() {
                // What was learned of a feature is not true of it turned round.
                learned.forget(set, turned);
            }
            self.models = Some(learned);
            self.plane = speaker.round(&self.vectors, &said.used)?;
        }
        let (said, learned) = speaker.say(&self.plane.vectors(), self.models.as_ref());
        let bits = said.bits + self.plane.vector_bits().iter().sum::<f64>();
        let cost = said.squares + penalty * bits;
        if cost < self.least {
            self.least = cost;
            self.best = self.plane.clone().with_states(said.made.clone());
        }
        self.last = Some((said, learned));
        self.rounds += 1;
        Ok(())
    }
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
    for (at, look) in plane.looks().chunks_exact(side * side).enumerate() {
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
    /// How many blocks have each origin and feature.
    used: Vec<u32>,
    /// What blocks would be farther off without each of them, less what saying it costs.
    worth: Vec<f64>,
    squares: f64,
    bits: f64,
}

impl Speaker<'_> {
    /// Whether features are learned again from what was said: without a guess and a price there is
    /// nothing new.
    fn has_rounds(&self) -> bool {
        self.params.guess || self.params.penalty > 0.0
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

    /// What is to be said of all blocks, guessed from the picture itself.
    fn wanted_of_the_picture(&self) -> Result<Dense<f32>> {
        let (size, blocks) = (self.size(), self.sheet.blocks(self.side));
        let (mut guessed, mut wanted) = (vec![0.0; size], vec![0.0; size]);
        let mut rows = Vec::with_capacity(blocks * size);
        for at in 0..blocks {
            self.want(self.sheet, at, &mut guessed, &mut wanted);
            rows.extend(wanted.iter().map(|&x| x as f32));
        }
        Dense::new(blocks, size, rows)
    }

    /// Vectors rounded, given how many blocks have each.
    fn round(&self, vectors: &[f64], used: &[u32]) -> Result<Plane> {
        let CodecParams { sets, features, bits, penalty, .. } = *self.params;
        let sets = u32::try_from(sets).unwrap_or(u32::MAX);
        let rounding = Rounding { bits, penalty, used };
        Plane::round(sets, features as u8, Some(self.side), vectors, &rounding)
    }

    /// Says all blocks with these vectors, at the prices of these models; also what the models
    /// learned.
    fn say(&self, vectors: &[f64], models: Option<&States>) -> (Said, States) {
        let (size, blocks) = (self.size(), self.sheet.blocks(self.side));
        let CodecParams { features: n, sets, penalty, guess: guessed, .. } = *self.params;
        let across = self.sheet.width.div_ceil(self.side);
        let mut explainer = Explainer::new(Sets::of_vectors(sets, n, vectors, 0.0), penalty);
        let mut states = States::new(sets as u32, n, across);
        let mut heard = Sheet::empty(self.sheet.width, self.sheet.height);
        let mut counter = Counter::default();
        let (mut before, mut look) = (vec![0.0; size], vec![0.0; size]);
        let mut said = Said {
            made: Vec::with_capacity(blocks),
            wanted: vec![0.0; blocks * size],
            used: vec![0; sets * (n + 1)],
            worth: vec![0.0; sets * (n + 1)],
            squares: 0.0,
            bits: 0.0,
        };
        for at in 0..blocks {
            let wanted = &mut said.wanted[at * size..(at + 1) * size];
            self.want(&heard, at, &mut before, wanted);
            let near = states.near(&said.made, at);
            let made = explainer.explain(wanted, &near, models.unwrap_or(&states));
            explainer.sets.sum(made.0 as usize, made.1, &mut look);
            let off: Vec<f64> = wanted.iter().zip(&look).map(|(x, l)| x - l).collect();
            said.squares += dot(&off, &off);
            let first = made.0 as usize * (n + 1);
            said.used[first] += 1;
            for i in 0..n {
                let on = made.1 >> i & 1;
                let bits = explainer.chosen.features.get(i).map_or(0.0, |bits| bits[on as usize]);
                let worth = &mut said.worth[first + 1 + i];
                *worth -= penalty * bits;
                if on == 1 {
                    said.used[first + 1 + i] += 1;
                    let feature = &vectors[(first + 1 + i) * size..][..size];
                    *worth += dot(feature, feature) + 2.0 * dot(feature, &off);
                }
            }
            // Counting does not fail.
            let _ = states.code(&near, made, &mut counter);
            said.made.push(made);
            hear(&mut heard, at, self.side, &look, guessed, &mut before);
        }
        said.bits = counter.bits;
        (said, states)
    }

    /// Drops features that cost more than they are worth; those that cost most beyond it first.
    fn drop_features(&self, said: &mut Said, bits: &[f64], vectors: &mut [f64]) {
        let (n, size) = (self.params.features, self.size());
        if self.params.penalty == 0.0 {
            return;
        }
        let net = |v: usize| said.worth[v] - self.params.penalty * bits[v];
        let features = (0..bits.len()).filter(|v| v % (n + 1) > 0 && said.used[*v] > 0);
        let all = features.clone().count();
        let mut dropped: Vec<usize> = features.filter(|&v| net(v) < 0.0).collect();
        dropped.sort_by(|&a, &b| net(a).total_cmp(&net(b)));
        dropped.truncate((MOST_DROPPED * all as f64).ceil() as usize);
        for v in dropped {
            vectors[v * size..(v + 1) * size].fill(0.0);
            for (set, state) in &mut said.made {
                if *set as usize == v / (n + 1) {
                    *state &= !(1 << (v % (n + 1) - 1));
                }
            }
        }
    }

    /// Least squares on what was to be said, given what it was said with. A feature that more than
    /// half of the blocks have is turned round, into what the others lack; which were, set by set.
    fn learn_again(&self, said: &Said, vectors: &mut [f64]) -> Vec<u64> {
        let (size, n) = (self.size(), self.params.features);
        let mut all = vec![0; self.params.sets];
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
            all[set] = turned;
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
        all
    }
}

/// Finds what a block is made of.
struct Explainer {
    sets: Sets,
    penalty: f64,
    solver: Exact,
    local: Local,
    left: Vec<f64>,
    bias: Vec<f64>,
    prices: Prices,
    /// The prices of the set that was chosen, if anything has one.
    chosen: Prices,
}

impl Explainer {
    fn new(sets: Sets, penalty: f64) -> Self {
        Self {
            sets,
            penalty,
            solver: Exact::new(NODES),
            local: Local::default(),
            left: Vec::new(),
            bias: Vec::new(),
            prices: Prices::default(),
            chosen: Prices::default(),
        }
    }

    /// The set and the state of least squared error and price.
    fn explain(&mut self, wanted: &[f64], near: &Near, models: &States) -> Made {
        let (mut best, mut least) = ((0, 0), f64::INFINITY);
        for set in 0..self.sets.sets {
            self.sets.bias(set, wanted, &mut self.left, &mut self.bias);
            let mut energy = dot(&self.left, &self.left);
            if self.penalty > 0.0 {
                models.price(near, set as u32, &mut self.prices);
                energy += self.penalty * self.prices.set;
                for (bias, [off, on]) in self.bias.iter_mut().zip(&self.prices.features) {
                    energy += self.penalty * off;
                    *bias += self.penalty * (on - off);
                }
            }
            let mut state = 0;
            if !self.bias.is_empty() {
                let couplings = &self.sets.couplings[set];
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
                std::mem::swap(&mut self.prices, &mut self.chosen);
            }
        }
        best
    }
}
