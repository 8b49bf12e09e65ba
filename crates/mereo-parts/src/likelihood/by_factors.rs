//! Densities of a factor analyser's rows: the causes are the factors of all parts.

use mereo_core::math::{HALF_LOG_TWO_PI, exp_in_place, packed, softmax};
use mereo_core::slots::RowCells;
use mereo_core::{
    Batch, Classify, Context, Error, Estimate, Likelihood, Random, Real, Result, RowLikelihood,
};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};

use super::{
    Hidden, LARGEST_SQUARE, LogSum, Proposal, by_drawing, by_the_bound, check_samples, in_shares,
    log_of_product, of_row,
};
use crate::Mcfa;
use crate::classes::{ClassLayer, FactorWork};
use crate::mcfa::{Normal, Tensors, factor, place, spread_at, width};
use crate::per_row::RowAppearance;

/// How often gates and factors are found anew for the proposal.
const ROUNDS: usize = 12;
/// Shares of the proposal: about the posterior, about it and wider, the prior.
const SHARES: [f64; 3] = [0.6, 0.25, 0.15];
/// How much wider than the posterior's covariance the first two are: a posterior that takes gates
/// and factors for independent is surer than it should be.
const WIDER: [f64; 2] = [1.15, 1.8];

/// A model, ready to be asked for the densities of rows.
struct Factors<'a> {
    model: Tensors<'a>,
    classes: ClassLayer,
    log_class: Vec<f64>,
    /// One over the noise's deviation, and the loadings in units of it, `[K, D]` and `[K, D, J]`.
    inverse: Vec<f64>,
    loading: Vec<f64>,
    /// `log a - ½ log 2πψ`, `[K, D]`.
    base: Vec<f64>,
    /// How sure loadings and offsets are, in units of the noise, `[K, D, packed J + 1]`; empty if they are known.
    covariance: Vec<f64>,
}

impl<'a> Factors<'a> {
    fn new(model: &'a Mcfa) -> Self {
        let log = |p: &f64| p.max(1e-300).ln();
        let view = model.class_view();
        let model = model.tensors();
        let Tensors { parts, factors, columns, gate_prior, loading, noise, covariance, .. } = model;
        let unsure = packed(factors + 1);
        let classes = match view {
            Some(view) => ClassLayer {
                prior: view.prior.to_vec(),
                class_state_prior: view.class_state_prior.to_vec(),
            },
            None => ClassLayer::alike(1, &vec![0.0; parts * factors]),
        };
        let inverse: Vec<f64> = noise.iter().map(|n| 1.0 / n.sqrt()).collect();
        Self {
            log_class: classes.prior.iter().map(log).collect(),
            classes,
            loading: loading.iter().enumerate().map(|(i, l)| l * inverse[i / factors]).collect(),
            base: (0..parts * columns)
                .map(|i| {
                    let gate = gate_prior[i % columns * parts + i / columns];
                    log(&gate) - 0.5 * noise[i].ln() - HALF_LOG_TWO_PI
                })
                .collect(),
            covariance: covariance.iter().enumerate().map(|(i, c)| c / noise[i / unsure]).collect(),
            inverse,
            model,
        }
    }
}

/// One row seen through a model.
struct Row<'a> {
    of: &'a Factors<'a>,
    cells: RowCells,
    /// Of observed columns, O of them: `(x - ρ)/√ψ` and the base of the log density, `[K, O]`, and
    /// the loadings in units of the noise, `[K, O, J]`.
    errors: Vec<f64>,
    base: Vec<f64>,
    loading: Vec<f64>,
    /// How sure these are, `[K, O, packed J + 1]`, or empty.
    covariance: Vec<f64>,
    /// The row's own gates, `[K, O]`.
    gates: Vec<f64>,
    /// Codes of the parts, `[K, V]`, and factors of their covariances, packed.
    codes: Vec<f64>,
    lower: Vec<f64>,
    classes: FactorWork,
    /// Shares of the proposal's components, class by class for each of [`SHARES`].
    shares: Vec<f64>,
    /// Drawn factors, `[.., K, J]`.
    causes: Vec<f64>,
    logs: Vec<f64>,
    apart: Vec<f64>,
}

impl<'a> Row<'a> {
    fn new(of: &'a Factors<'a>) -> Self {
        Self {
            of,
            cells: RowCells::default(),
            errors: Vec::new(),
            base: Vec::new(),
            loading: Vec::new(),
            covariance: Vec::new(),
            gates: Vec::new(),
            codes: Vec::new(),
            lower: Vec::new(),
            classes: FactorWork::default(),
            shares: Vec::new(),
            causes: Vec::new(),
            logs: Vec::new(),
            apart: Vec::new(),
        }
    }

    fn take<T: Real>(&mut self, batch: &Batch<'_, T>, row: usize) {
        let Factors { model, inverse, loading, base, covariance, .. } = self.of;
        let Tensors { parts, factors, columns, offset, .. } = *model;
        self.cells.take(batch, row);
        self.errors.clear();
        self.base.clear();
        self.loading.clear();
        self.covariance.clear();
        let unsure = packed(factors + 1);
        for part in 0..parts {
            for (d, x) in self.cells.iter() {
                let i = part * columns + d;
                self.errors.push(((x - offset[i]) * inverse[i]).clamp(-1e140, 1e140));
                self.base.push(base[i]);
                self.loading.extend_from_slice(&loading[i * factors..(i + 1) * factors]);
                let own = covariance.get(i * unsure..(i + 1) * unsure);
                self.covariance.extend_from_slice(own.unwrap_or(&[]));
            }
        }
    }

    fn observed(&self) -> usize {
        self.errors.len() / self.of.model.parts
    }

    /// Finds the row's own gates and codes, by turns from the prior of the gates.
    fn find(&mut self) {
        let Tensors { parts, factors: j, columns, gate_prior, .. } = self.of.model;
        let (observed, wide) = (self.observed(), width(j));
        self.gates.clear();
        for part in 0..parts {
            let prior = self.cells.iter().map(|(d, _)| gate_prior[d * parts + part]);
            self.gates.extend(prior);
        }
        debug_assert!(observed <= columns);
        self.codes.resize(parts * wide, 0.0);
        let classes = self.of.classes.of_factors(parts, 0.0);
        let mut natural = vec![0.0; wide];
        let mut of_column = vec![0.0; parts];
        for round in 0..ROUNDS {
            let mut norm = 0.0;
            for (part, code) in self.codes.chunks_exact_mut(wide).enumerate() {
                natural.fill(0.0);
                for i in part * observed..(part + 1) * observed {
                    let (gate, loading) = (self.gates[i], &self.loading[i * j..(i + 1) * j]);
                    for r in 0..j {
                        natural[1 + r] += gate * loading[r] * self.errors[i];
                        for c in 0..=r {
                            let once = if r == c { 0.5 } else { 1.0 };
                            natural[1 + j + place(r, c)] -= once * gate * loading[r] * loading[c];
                        }
                    }
                }
                natural.iter_mut().for_each(|n| *n = n.clamp(-1e300, 1e300));
                norm += Normal { factors: j }.code(part, &natural, code);
            }
            if round + 1 == ROUNDS {
                self.factor_covariances();
            }
            classes.infer(&mut self.codes, norm, None, &mut self.classes);
            for o in 0..observed {
                for (part, log) in of_column.iter_mut().enumerate() {
                    let i = part * observed + o;
                    let (loading, error) = (&self.loading[i * j..(i + 1) * j], self.errors[i]);
                    let code = &self.codes[part * wide..(part + 1) * wide];
                    let mut square = error * error;
                    for r in 0..j {
                        square -= 2.0 * error * loading[r] * code[1 + r];
                        for c in 0..=r {
                            let twice = if r == c { 1.0 } else { 2.0 };
                            let pair = code[1 + j + place(r, c)];
                            square += twice * loading[r] * loading[c] * pair;
                        }
                    }
                    *log = self.base[i] - 0.5 * square.clamp(0.0, LARGEST_SQUARE);
                }
                softmax(&mut of_column);
                for (part, &gate) in of_column.iter().enumerate() {
                    self.gates[part * observed + o] = gate;
                }
            }
        }
    }

    /// The factors of the covariances of codes without classes.
    fn factor_covariances(&mut self) {
        let j = self.of.model.factors;
        self.lower.clear();
        for code in self.codes.chunks_exact(width(j)) {
            let start = self.lower.len();
            for r in 0..j {
                for c in 0..=r {
                    let second = code[1 + j + place(r, c)];
                    self.lower.push(second - code[1 + r] * code[1 + c]);
                }
            }
            factor(&mut self.lower[start..], j, 1e-30);
        }
    }

    /// `log P(x | s)` at these factors.
    fn log_density(&mut self, cause: usize) -> f64 {
        let Tensors { parts, factors: j, .. } = self.of.model;
        let observed = self.observed();
        let causes = &self.causes[cause * parts * j..(cause + 1) * parts * j];
        self.logs.clear();
        let unsure = packed(j + 1);
        for (i, (error, base)) in self.errors.iter().zip(&self.base).enumerate() {
            let own = &causes[i / observed * j..][..j];
            let look: f64 =
                self.loading[i * j..(i + 1) * j].iter().zip(own).map(|(l, s)| l * s).sum();
            let apart = error - look;
            let mut log = base - 0.5 * (apart * apart).min(LARGEST_SQUARE);
            if let Some(covariance) = self.covariance.get(i * unsure..(i + 1) * unsure) {
                // Averaged over what loadings and offset may be, the cell is Gaussian with more noise.
                let variance = 1.0 + spread_at(covariance, own);
                log = base - 0.5 * (variance.ln() + (apart * apart / variance).min(LARGEST_SQUARE));
            }
            self.logs.push(log);
        }
        let mut log = 0.0;
        for o in 0..observed {
            let column = || (0..parts).map(|k| k * observed + o);
            let best = column().fold(f64::NEG_INFINITY, |best, i| best.max(self.logs[i]));
            column().for_each(|i| self.logs[i] -= best);
            log += best;
        }
        exp_in_place(&mut self.logs);
        // Means over parts are from 1/K to 1: their product can be small but never large.
        let mean = |o: usize| {
            let sum: f64 = (0..parts).map(|k| self.logs[k * observed + o]).sum();
            sum / parts as f64
        };
        log + log_of_product((0..observed).map(mean)) + observed as f64 * (parts as f64).ln()
    }

    /// `|C^-1 (s - m)|²` of a cause, with C the factors of the covariances, and m a class's means.
    fn square_from(&mut self, cause: usize, class: usize) -> f64 {
        let Tensors { parts, factors: j, .. } = self.of.model;
        let (slots, packed) = (parts * j, j * (j + 1) / 2);
        let s = &self.causes[cause * slots..(cause + 1) * slots];
        let mean = &self.classes.means[class * slots..(class + 1) * slots];
        self.apart.clear();
        self.apart.extend(s.iter().zip(mean).map(|(s, m)| s - m));
        let mut square = 0.0;
        for (part, apart) in self.apart.chunks_exact_mut(j).enumerate() {
            let lower = &self.lower[part * packed..(part + 1) * packed];
            for r in 0..j {
                for c in 0..r {
                    apart[r] -= lower[place(r, c)] * apart[c];
                }
                apart[r] /= lower[place(r, r)];
                square += apart[r] * apart[r];
            }
        }
        square
    }
}

impl Hidden for Row<'_> {
    fn draw(&mut self, from: Proposal, samples: usize, random: &mut Random) -> usize {
        let Factors { model: Tensors { parts, factors: j, .. }, classes, .. } = self.of;
        let (n, j, slots) = (classes.classes(), *j, parts * j);
        let priors = |share: f64| classes.prior.iter().map(move |b| share * b);
        self.shares.clear();
        if from == Proposal::Posterior {
            self.find();
            for share in &SHARES[..2] {
                self.shares.extend(self.classes.posterior.iter().map(|z| share * z));
            }
            self.shares.extend(priors(SHARES[2]));
        } else {
            self.shares.extend(priors(1.0));
        }
        let about = self.shares.len() - n;
        self.causes.clear();
        let packed = j * (j + 1) / 2;
        let mut normal = vec![0.0; j];
        let counts = in_shares(&self.shares, samples, random.random());
        for (component, count) in counts.into_iter().enumerate() {
            for part in (0..count).flat_map(|_| 0..*parts) {
                normal.iter_mut().for_each(|e| *e = StandardNormal.sample(random));
                let at = |class: usize| class * slots + part * j;
                if component >= about {
                    let centre = &classes.class_state_prior[at(component - about)..][..j];
                    self.causes.extend(normal.iter().zip(centre).map(|(e, v)| e + v));
                    continue;
                }
                let wide = WIDER[component / n].sqrt();
                let mean = &self.classes.means[at(component % n)..][..j];
                let lower = &self.lower[part * packed..(part + 1) * packed];
                for r in 0..j {
                    let moved: f64 = (0..=r).map(|c| lower[place(r, c)] * normal[c]).sum();
                    self.causes.push(mean[r] + wide * moved);
                }
            }
        }
        samples
    }

    fn weigh(&mut self, cause: usize, by_class: &mut [f64]) -> (f64, f64) {
        let Factors { model: Tensors { parts, factors: j, .. }, classes, log_class, .. } = self.of;
        let (n, j, slots) = (classes.classes(), *j, parts * j);
        let log = self.log_density(cause);
        let plain = -HALF_LOG_TWO_PI * slots as f64;
        let mut proposal = LogSum::EMPTY;
        let about = self.shares.len() - n;
        if about > 0 {
            let diagonal = self.lower.chunks_exact(j * (j + 1) / 2);
            let root: f64 =
                diagonal.flat_map(|l| (0..j).map(move |r| l[place(r, r)].ln())).sum::<f64>();
            for class in 0..n {
                let square = self.square_from(cause, class);
                for (index, wide) in WIDER.iter().enumerate() {
                    let density =
                        plain - root - 0.5 * slots as f64 * wide.ln() - 0.5 * square / wide;
                    proposal.add(self.shares[index * n + class].ln() + density, 1.0);
                }
            }
        }
        let s = &self.causes[cause * slots..(cause + 1) * slots];
        for (class, out) in by_class.iter_mut().enumerate() {
            let centre = classes.of(class);
            let square: f64 = s.iter().zip(centre).map(|(s, v)| (s - v) * (s - v)).sum();
            let prior = plain - 0.5 * square;
            proposal.add(self.shares[about + class].ln() + prior, 1.0);
            *out = log_class[class] + prior + log;
        }
        (1.0, proposal.log())
    }
}

/// `log P(x, n)` for every class, by draws.
fn joint(
    row: &mut Row<'_>,
    how: Likelihood,
    random: &mut Random,
    by_class: &mut [f64],
) -> RowLikelihood {
    let (from, samples) = match how {
        Likelihood::Prior(samples) => (Proposal::Prior, samples),
        Likelihood::Importance(samples) => (Proposal::Posterior, samples),
        Likelihood::Bound | Likelihood::Exact => (Proposal::Posterior, 1),
    };
    by_drawing(row, from, samples, random, by_class)
}

fn check_way(how: Likelihood) -> Result<()> {
    if how == Likelihood::Exact {
        let problem =
            "factors are continuous and cannot be gone through one by one; use importance";
        return Err(Error::option("likelihood", problem));
    }
    check_samples(how)
}

impl<T: Real> Estimate<T> for Mcfa {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    fn check_likelihood(&self, how: Likelihood) -> Result<()> {
        check_way(how)
    }

    fn estimate_batch(
        &self,
        how: Likelihood,
        batch: &Batch<'_, T>,
        context: &Context,
        out: &mut [RowLikelihood],
    ) {
        if how == Likelihood::Bound {
            return by_the_bound(self, batch, out);
        }
        let factors = Factors::new(self);
        let mut row = Row::new(&factors);
        let mut by_class = vec![0.0; factors.classes.classes()];
        for (r, out) in out.iter_mut().enumerate() {
            row.take(batch, r);
            *out = joint(&mut row, how, &mut of_row(batch, r, context), &mut by_class);
        }
    }
}

impl<T: Real> Classify<T> for Mcfa {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns())
    }

    /// One, if there is no class layer.
    fn classes(&self) -> usize {
        self.class_view().map_or(1, |classes| classes.prior.len())
    }

    fn check_rule(&self, how: Likelihood) -> Result<()> {
        check_way(how)
    }

    fn classify_batch(
        &self,
        how: Likelihood,
        batch: &Batch<'_, T>,
        context: &Context,
        out: &mut [f64],
    ) {
        let classes = Classify::<T>::classes(self);
        if how == Likelihood::Bound {
            out.fill(1.0);
            return self.find(batch, |found| {
                let out = &mut out[found.row * classes..(found.row + 1) * classes];
                out.iter_mut().zip(found.classes).for_each(|(out, z)| *out = *z);
            });
        }
        let factors = Factors::new(self);
        let mut row = Row::new(&factors);
        for (r, out) in out.chunks_exact_mut(classes).enumerate() {
            row.take(batch, r);
            joint(&mut row, how, &mut of_row(batch, r, context), out);
            softmax(out);
        }
    }
}
