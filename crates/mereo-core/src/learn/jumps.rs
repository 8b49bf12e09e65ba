//! Jumps away from where passes no longer gain much, and back if they do not pay.
//!
//! Passes climb to the nearest top. A learner that can tell a state worth trying some way off (a mean that is
//! hardly missed, moved to where errors are largest) offers it by [`Learner::jump`](super::Learner::jump). The loop keeps the
//! state it jumps from, *home*, and gives the other [`TRIAL`] passes. It stays there if they reach a bound above home's by more
//! than home would have gained meanwhile, had each pass gained as much as the last; else it goes home. A jump that cannot get
//! there any more, were every pass that is left to gain as much as the last one did, is given up at once: gains of passes
//! shrink. So the bound of the best state never falls, and it is what records tell during a trial.

use serde::{Deserialize, Serialize};

/// Passes that a jump is given.
const TRIAL: usize = 8;

/// The jumps of one restart.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Jumps<S> {
    /// How many were given up.
    pub(super) failed: usize,
    /// Where the last began, while it is on trial.
    home: Option<Home<S>>,
    /// What the last pass gained at the home that was just returned to.
    returned: Option<f64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Home<S> {
    state: S,
    bound: f64,
    /// What the last pass before the jump gained.
    gain: f64,
    /// The bounds of the trial so far.
    trial: Vec<f64>,
}

/// What a pass told of the jump on trial.
pub(super) enum Trial<S> {
    /// There is none.
    None,
    /// Not enough so far; the bound is home's.
    Going(f64),
    /// It pays.
    Pays,
    /// It does not: this is home, and its bound.
    Failed(S, f64),
}

impl<S> Jumps<S> {
    pub(super) fn new() -> Self {
        Self { failed: 0, home: None, returned: None }
    }

    /// Jumps: keeps the state that is left, its bound, and what the last pass gained there.
    pub(super) fn leave(&mut self, home: S, bound: f64, gain: f64) {
        self.home = Some(Home { state: home, bound, gain, trial: Vec::new() });
    }

    /// Judges the jump on trial by the bound that was reached.
    pub(super) fn judge(&mut self, bound: f64) -> Trial<S> {
        let Some(home) = &mut self.home else { return Trial::None };
        home.trial.push(bound);
        let passes = home.trial.len();
        let wanted = home.bound + passes.saturating_sub(1) as f64 * home.gain.max(0.0);
        if bound > wanted {
            self.home = None;
            return Trial::Pays;
        }
        let hopeless = match home.trial[..] {
            // NaN is hopeless too.
            [.., before, last] => {
                let left = TRIAL.saturating_sub(passes) as f64;
                !(last + left * (last - before).max(0.0) > wanted)
            }
            _ => bound.is_nan(),
        };
        if !hopeless && passes <= TRIAL {
            return Trial::Going(home.bound);
        }
        match self.go_home() {
            Some((state, bound)) => Trial::Failed(state, bound),
            None => Trial::None,
        }
    }

    /// Whether a jump is on trial.
    pub(super) fn are_on_trial(&self) -> bool {
        self.home.is_some()
    }

    /// Gives up what is on trial, if anything is.
    pub(super) fn go_home(&mut self) -> Option<(S, f64)> {
        let Home { state, bound, gain, .. } = self.home.take()?;
        self.failed += 1;
        self.returned = Some(gain);
        Some((state, bound))
    }

    /// What the last pass gained at home, if this is the first look at it after a return.
    pub(super) fn returned(&mut self) -> Option<f64> {
        self.returned.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verdicts on a trial with these bounds, from a home at 0 where a pass gains this much.
    fn verdicts(gain: f64, bounds: &[f64]) -> String {
        let mut jumps = Jumps::new();
        jumps.leave("home", 0.0, gain);
        let word = |bound: &f64| match jumps.judge(*bound) {
            Trial::None => 'n',
            Trial::Going(home) => {
                assert_eq!(home, 0.0);
                'g'
            }
            Trial::Pays => 'p',
            Trial::Failed("home", _) => 'f',
            Trial::Failed(..) => unreachable!(),
        };
        bounds.iter().map(word).collect()
    }

    #[test]
    fn a_jump_pays_when_it_is_above_what_home_would_have_reached() {
        assert_eq!(verdicts(0.0, &[-3.0, -1.0, 0.5, 1.0]), "ggpn");
        // Home would have gained 1 a pass: two passes on, 1.5 is not enough, and 5 is.
        assert_eq!(verdicts(1.0, &[-3.0, -1.0, 1.5, 5.0]), "gggp");
    }

    #[test]
    fn a_jump_that_cannot_get_there_any_more_is_given_up() {
        assert_eq!(verdicts(0.0, &[-100.0, -90.0, -89.0]), "gfn");
        assert_eq!(verdicts(0.0, &[-10.0, -5.0, f64::NAN]), "ggf");
        let slow: Vec<f64> = (0..20).map(|i| -10.0 + f64::from(i) * 1.2).collect();
        assert_eq!(verdicts(0.0, &slow[..9]), "gf".to_owned() + &"n".repeat(7));
    }
}
