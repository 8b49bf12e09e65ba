//! Features of a sheet, learned in rounds.
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

use mereo_core::{Context, Error, Result, map_in_parallel};

use super::picture::CodecParams;
use super::plane::{Plane, Rounding};
use super::say::{Said, Speaker};
use super::sheet::Sheet;
use super::start;
use super::states::States;
use crate::associate::ones;
use crate::squares::Squares;

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
        let vectors = start::for_rounds(&blocks, params, restart, must_end, context)?;
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

impl Speaker<'_> {
    /// Whether features are learned again from what was said: without a guess and a price there is
    /// nothing new.
    fn has_rounds(&self) -> bool {
        self.params.guess || self.params.penalty > 0.0
    }

    /// Vectors rounded, given how many blocks have each.
    fn round(&self, vectors: &[f64], used: &[u32]) -> Result<Plane> {
        let CodecParams { sets, features, bits, penalty, .. } = *self.params;
        let sets = u32::try_from(sets).unwrap_or(u32::MAX);
        let rounding = Rounding { bits, penalty, used };
        Plane::round(sets, features as u8, Some(self.side), vectors, &rounding)
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
