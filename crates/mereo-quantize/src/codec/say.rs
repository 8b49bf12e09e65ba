//! A sheet said with features, block by block.
//!
//! A block is its guess ([`super::guess`], nothing if blocks are said by themselves), plus an origin
//! and features. Which, is what minimises the squared error and, for every bit that the coder would
//! take to say it, a penalty λ:
//!
//! `min_{m,s} ‖x - guess - o_m - Σ_i s_i f_mi‖² + λ (bits of m + Σ_i bits of s_i)`.
//!
//! No feature's bits depend on another's, so they are no more than a change of bias: the solvers of
//! [`associate`](crate::associate) apply unchanged.

use mereo_core::math::dot;
use mereo_core::{Dense, Result};

use super::bits::Counter;
use super::guess::guess;
use super::picture::CodecParams;
use super::plane::Plane;
use super::sheet::Sheet;
use super::states::{Made, Near, Prices, States};
use crate::associate::exact::Exact;
use crate::associate::local::Local;
use crate::associate::{Problem, Solver};
use crate::gvq::sets::Sets;

/// Nodes that the search for what a block is made of may visit.
const NODES: usize = 2000;

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
pub(super) struct Speaker<'a> {
    pub(super) sheet: &'a Sheet,
    pub(super) params: &'a CodecParams,
    pub(super) side: usize,
}

/// What was said.
pub(super) struct Said {
    pub(super) made: Vec<Made>,
    /// What was to be said of each block.
    pub(super) wanted: Vec<f64>,
    /// How many blocks have each origin and feature.
    pub(super) used: Vec<u32>,
    /// What blocks would be farther off without each of them, less what saying it costs.
    pub(super) worth: Vec<f64>,
    pub(super) squares: f64,
    pub(super) bits: f64,
}

impl Speaker<'_> {
    pub(super) fn size(&self) -> usize {
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
    pub(super) fn wanted_of_the_picture(&self) -> Result<Dense<f32>> {
        let (size, blocks) = (self.size(), self.sheet.blocks(self.side));
        let (mut guessed, mut wanted) = (vec![0.0; size], vec![0.0; size]);
        let mut rows = Vec::with_capacity(blocks * size);
        for at in 0..blocks {
            self.want(self.sheet, at, &mut guessed, &mut wanted);
            rows.extend(wanted.iter().map(|&x| x as f32));
        }
        Dense::new(blocks, size, rows)
    }

    /// Says all blocks with these vectors, at the prices of these models; also what the models
    /// learned.
    pub(super) fn say(&self, vectors: &[f64], models: Option<&States>) -> (Said, States) {
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
        for set in 0..self.sets.sets() {
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
