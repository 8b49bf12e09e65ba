//! Bound and gradient of a few rows.

use mereo_core::math::{HALF_LOG_TWO_PI, exp_in_place, softmax, widest};
use mereo_core::{Batch, Context, Deal, Descender, Facts, Look, Pass, Real, Status, Told};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::DecoderKind;
use super::layout::Layout;
use crate::layers::Given;
use crate::loss::{cross_entropy, gaussian, scale_rows};
use crate::network::{Network, Trace};
use crate::optimise::{Pace, Walker};
use crate::slopes::Slopes;
use crate::units::{Cells, Units, random_of};

/// The largest logarithm of a variance of the posterior, either way.
const FARTHEST: f64 = 15.0;

/// Cells given codes: what decoders are asked for.
#[derive(Debug)]
pub(crate) struct Likelihoods<'a, T> {
    form: Form<'a>,
    /// `1/v` and `-½ log 2πv - log s` by column, of a Gaussian: densities are in the data's units.
    precision: Vec<T>,
    constants: Vec<f64>,
}

/// What cells are.
#[derive(Debug)]
enum Form<'a> {
    Bernoulli,
    Gaussian,
    Own(&'a Layout),
}

impl<'a, T: Real> Likelihoods<'a, T> {
    pub(super) fn bernoulli() -> Self {
        Self { form: Form::Bernoulli, precision: Vec::new(), constants: Vec::new() }
    }

    /// Variances are in the units of the network.
    pub(super) fn gaussian(variance: impl Iterator<Item = f64>, units: &Units) -> Self {
        Self::new(Form::Gaussian, variance.zip(&units.scale))
    }

    /// Of columns of several kinds: variances of the numbers.
    pub(super) fn own(
        layout: &'a Layout,
        variance: impl Iterator<Item = f64>,
        units: &Units,
    ) -> Self {
        let scales = layout.numbers().iter().map(|&d| &units.scale[d]);
        Self::new(Form::Own(layout), variance.zip(scales))
    }

    fn new<'s>(form: Form<'a>, variances: impl Iterator<Item = (f64, &'s f64)>) -> Self {
        let (mut precision, mut constants) = (Vec::new(), Vec::new());
        for (v, scale) in variances {
            precision.push(T::from_f64(1.0 / v));
            constants.push(-HALF_LOG_TWO_PI - 0.5 * v.ln() - scale.ln());
        }
        Self { form, precision, constants }
    }

    /// Replaces what was decoded by slopes, and writes the log density of each draw; rows have `draws` each.
    pub(super) fn of(
        &self,
        targets: &[T],
        complete: bool,
        outputs: &mut [T],
        (columns, draws): (usize, usize),
        scratch: &mut Vec<T>,
        sums: &mut Vec<f64>,
    ) {
        let by = (&*self.precision, &*self.constants);
        match self.form {
            Form::Bernoulli => {
                cross_entropy(targets, outputs, columns, draws, None, scratch, sums);
            }
            Form::Gaussian => gaussian(targets, outputs, columns, draws, by, complete, sums),
            Form::Own(layout) => layout.log_densities(targets, outputs, draws, by, sums),
        }
    }
}

/// Rows as a variational auto-encoder sees them, and codes drawn for them.
#[derive(Debug)]
pub(crate) struct Drawn<T> {
    pub(super) cells: Cells<T>,
    pub(super) inputs: Vec<T>,
    /// What densities are of: NaN where a cell is missing.
    pub(super) targets: Vec<T>,
    pub(super) trace: Trace<T>,
    /// `[R, k]`: mean and deviation of the posterior.
    pub(super) mean: Vec<T>,
    pub(super) deviation: Vec<T>,
    log_variance: Vec<T>,
    /// `[R, n, k]`: normal numbers, and the codes that they make.
    pub(super) normal: Vec<T>,
    pub(super) codes: Vec<T>,
}

impl<T: Real> Drawn<T> {
    pub(super) fn new() -> Self {
        Self {
            cells: Cells::default(),
            inputs: Vec::new(),
            targets: Vec::new(),
            trace: Trace::new(),
            mean: Vec::new(),
            deviation: Vec::new(),
            log_variance: Vec::new(),
            normal: Vec::new(),
            codes: Vec::new(),
        }
    }

    /// Rows in units, as inputs and targets; grey cells drawn if they are to be.
    pub(super) fn take(
        &mut self,
        (units, layout): (&Units, Option<&Layout>),
        kind: DecoderKind,
        binarise: bool,
        batch: &Batch<'_, T>,
        (context, number): (&Context, u64),
    ) {
        units.write(batch, &mut self.cells);
        let d = units.columns();
        self.targets.clear();
        self.targets.extend_from_slice(&self.cells.values);
        self.inputs.clear();
        if let Some(layout) = layout {
            let width = layout.width();
            self.inputs.resize(batch.rows * width, T::ZERO);
            let each = self.inputs.chunks_exact_mut(width).zip(self.targets.chunks_exact_mut(d));
            for ((inputs, targets), cells) in each.zip(self.cells.values.chunks_exact(d)) {
                layout.write(units, cells, inputs, targets);
            }
            return;
        }
        self.inputs.extend_from_slice(&self.cells.inputs);
        if kind != DecoderKind::Bernoulli {
            return;
        }
        let each = self.targets.chunks_exact_mut(d).zip(self.inputs.chunks_exact_mut(d));
        for ((targets, inputs), &key) in each.zip(&self.cells.keys) {
            for (x, &centre) in targets.iter_mut().zip(&units.centre) {
                // From the mean back to the cell, exactly 0 or 1 where it was that.
                let cell = x.to_f64() + centre;
                let near = cell.round();
                *x = T::from_f64(if (cell - near).abs() < 1e-6 { near } else { cell });
            }
            if binarise {
                let mut random = random_of(context, "binarise", key, number);
                for ((x, input), &centre) in targets.iter_mut().zip(inputs).zip(&units.centre) {
                    let drawn: f32 = random.random();
                    if !x.is_missing() {
                        *x = if f64::from(drawn) < x.to_f64() { T::ONE } else { T::ZERO };
                        *input = T::from_f64(x.to_f64() - centre);
                    }
                }
            }
        }
    }

    /// The posterior of each row.
    pub(super) fn infer(&mut self, encoder: &Network, parameters: &[T], rows: usize, code: usize) {
        let made = encoder.forward(parameters, rows, &self.inputs, &mut self.trace);
        self.mean.clear();
        self.log_variance.clear();
        let most = T::from_f64(FARTHEST);
        for row in made.chunks_exact(2 * code) {
            self.mean.extend_from_slice(&row[..code]);
            self.log_variance.extend(row[code..].iter().map(|&l| {
                if l > most {
                    most
                } else if l < -most {
                    -most
                } else {
                    l
                }
            }));
        }
        let half = T::from_f64(0.5);
        self.deviation.clear();
        self.deviation.extend(self.log_variance.iter().map(|&l| half * l));
        exp_in_place(&mut self.deviation);
    }

    /// Draws `n` codes a row.
    pub(super) fn draw(&mut self, n: usize, code: usize, purpose: &str, by: (&Context, u64)) {
        let (context, number) = by;
        let rows = self.cells.keys.len();
        self.normal.clear();
        for &key in &self.cells.keys {
            let mut random = random_of(context, purpose, key, number);
            self.normal.extend((0..n * code).map(|_| {
                let drawn: f32 = StandardNormal.sample(&mut random);
                T::from_f64(f64::from(drawn))
            }));
        }
        self.codes.clear();
        for row in 0..rows {
            let own = row * code..(row + 1) * code;
            let (mean, deviation) = (&self.mean[own.clone()], &self.deviation[own]);
            for draw in self.normal[row * n * code..(row + 1) * n * code].chunks_exact(code) {
                let each = draw.iter().zip(mean.iter().zip(deviation));
                self.codes.extend(each.map(|(&u, (&m, &s))| m + s * u));
            }
        }
    }

    /// Puts one row with its posterior, or with the prior in its place, where codes can be drawn for it alone.
    pub(super) fn row(&self, row: usize, code: usize, columns: usize, prior: bool, one: &mut Self) {
        let (cells, own) = (row * columns..(row + 1) * columns, row * code..(row + 1) * code);
        one.cells.keys.clear();
        one.cells.keys.push(self.cells.keys[row]);
        one.targets.clear();
        one.targets.extend_from_slice(&self.targets[cells]);
        one.cells.complete = !one.targets.iter().any(|x| x.is_missing());
        for (to, from, at) in [
            (&mut one.mean, &self.mean, T::ZERO),
            (&mut one.deviation, &self.deviation, T::ONE),
            (&mut one.log_variance, &self.log_variance, T::ZERO),
        ] {
            to.clear();
            to.extend(from[own.clone()].iter().map(|&v| if prior { at } else { v }));
        }
    }

    /// `KL(q ‖ p(z))` of a row.
    pub(super) fn divergence(&self, row: usize, code: usize) -> f64 {
        let own = row * code..(row + 1) * code;
        let each = self.mean[own.clone()].iter().zip(&self.log_variance[own]);
        each.map(|(m, l)| {
            let (m, l) = (m.to_f64(), l.to_f64());
            0.5 * (l.exp() + m * m - 1.0 - l)
        })
        .sum()
    }

    /// `log p(z) - log q(z|x)` of a draw.
    pub(super) fn log_ratio(&self, row: usize, draw: usize, n: usize, code: usize) -> f64 {
        let at = (row * n + draw) * code;
        let logs = &self.log_variance[row * code..(row + 1) * code];
        let each = self.codes[at..at + code].iter().zip(&self.normal[at..at + code]).zip(logs);
        each.map(|((z, u), l)| {
            let (z, u) = (z.to_f64(), u.to_f64());
            0.5 * (u * u - z * z + l.to_f64())
        })
        .sum()
    }
}

/// Learns an encoder, a decoder and variances.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct VaeLearner {
    pub(super) units: Units,
    pub(super) encoder: Network,
    pub(super) decoder: Network,
    pub(super) kind: DecoderKind,
    /// Where columns stand that are of several kinds.
    pub(super) layout: Option<Layout>,
    /// Variances in the units of the network, if they are not learned.
    pub(super) fixed: Option<Vec<f64>>,
    pub(super) floor: f64,
    pub(super) binarise: bool,
    pub(super) code: usize,
    pub(super) draws: usize,
    pub(super) importance: usize,
    pub(super) warm: usize,
    pub(super) pace: Pace,
    pub(super) facts: Facts,
    pub(super) seed: u64,
}

impl VaeLearner {
    /// Parameters of the encoder, of both networks, and of all.
    pub(super) fn ends(&self) -> [usize; 3] {
        let encoder = self.encoder.parameters();
        let both = encoder + self.decoder.parameters();
        let variances = match (&self.layout, self.kind) {
            _ if self.fixed.is_some() => 0,
            (Some(layout), _) => layout.numbers().len(),
            (None, DecoderKind::Bernoulli) => 0,
            (None, _) => self.units.columns(),
        };
        [encoder, both, both + variances]
    }

    /// Variances in the units of the network, from their parameters.
    pub(super) fn variances<T: Real>(&self, logs: &[T]) -> Vec<f64> {
        match &self.fixed {
            Some(fixed) => fixed.clone(),
            None => logs.iter().map(|l| self.floor + l.to_f64().clamp(-60.0, 60.0).exp()).collect(),
        }
    }

    fn likelihoods<T: Real>(&self, logs: &[T]) -> Likelihoods<'_, T> {
        let variances = self.variances(logs).into_iter();
        match (&self.layout, self.kind) {
            (Some(layout), _) => Likelihoods::own(layout, variances, &self.units),
            (None, DecoderKind::Bernoulli) => Likelihoods::bernoulli(),
            (None, _) => Likelihoods::gaussian(variances, &self.units),
        }
    }

    /// How much the prior weighs in a pass.
    fn weight_of_prior(&self, pass: Pass) -> f64 {
        if self.warm == 0 {
            1.0
        } else {
            ((pass.pass + 1) as f64 / (self.warm + 1) as f64).min(1.0)
        }
    }
}

/// Memory for looking at rows.
#[derive(Debug)]
pub(crate) struct Work<T> {
    drawn: Drawn<T>,
    decoder: Trace<T>,
    outputs: Vec<T>,
    scratch: Vec<T>,
    sums: Vec<f64>,
    shares: Vec<f64>,
    by_codes: Vec<T>,
    by_posterior: Vec<T>,
}

impl<T: Real> Descender<T> for VaeLearner {
    const NAME: &'static str = "vae";
    type State = Walker<T>;
    type Gradient = Slopes<T>;
    type Workspace = Work<T>;

    fn facts(&self) -> Facts {
        self.facts
    }

    fn deal(&self) -> Deal {
        self.pace.deal()
    }

    fn gradient(&self) -> Slopes<T> {
        Slopes::new(self.ends()[2])
    }

    fn workspace(&self) -> Work<T> {
        Work {
            drawn: Drawn::new(),
            decoder: Trace::new(),
            outputs: Vec::new(),
            scratch: Vec::new(),
            sums: Vec::new(),
            shares: Vec::new(),
            by_codes: Vec::new(),
            by_posterior: Vec::new(),
        }
    }

    fn accumulate(
        &self,
        state: &Walker<T>,
        pass: Pass,
        look: Look,
        batch: &Batch<'_, T>,
        work: &mut Work<T>,
        slopes: &mut Slopes<T>,
    ) {
        let (rows, k, d) = (batch.rows, self.code, self.units.columns());
        let n = self.draws.max(self.importance);
        let [end, both, _] = self.ends();
        let (own, rest) = (&state.parameters[..end], &state.parameters[end..both]);
        let logs = &state.parameters[both..];
        let context = Context::new(self.seed);
        // Rows are judged by the same draws at every pass.
        let number = match look {
            Look::Learn => ((pass.restart as u64) << 32) | pass.pass as u64,
            Look::Judge => u64::MAX,
        };
        let Work { drawn, decoder, outputs, scratch, sums, shares, by_codes, by_posterior } = work;
        let seen = (&self.units, self.layout.as_ref());
        drawn.take(seen, self.kind, self.binarise, batch, (&context, number));
        drawn.infer(&self.encoder, own, rows, k);
        drawn.draw(n, k, "draws", (&context, number));
        let made = self.decoder.forward(rest, rows * n, &drawn.codes, decoder);
        outputs.clear();
        outputs.extend_from_slice(made);
        let likelihoods = self.likelihoods(logs);
        let complete = drawn.cells.complete;
        likelihoods.of(&drawn.targets, complete, outputs, (d, n), scratch, sums);
        let beta = self.weight_of_prior(pass);
        let weighted = self.importance > 1;
        shares.clear();
        for row in 0..rows {
            let (weight, of) = (batch.weight(row), &sums[row * n..(row + 1) * n]);
            if weighted {
                let ratios: Vec<f64> =
                    (0..n).map(|draw| drawn.log_ratio(row, draw, n, k)).collect();
                let mut logs: Vec<f64> = of.iter().zip(&ratios).map(|(p, r)| p + r).collect();
                slopes.bound += weight * (softmax(&mut logs) - (n as f64).ln());
                let mut logs: Vec<f64> =
                    of.iter().zip(&ratios).map(|(p, r)| p + beta * r).collect();
                softmax(&mut logs);
                shares.extend(logs.iter().map(|share| weight * share));
            } else {
                let mean = of.iter().sum::<f64>() / n as f64;
                slopes.bound += weight * (mean - drawn.divergence(row, k));
                shares.extend(std::iter::repeat_n(weight / n as f64, n));
            }
        }
        if look == Look::Judge {
            return;
        }
        let (by_encoder, by_rest) = slopes.gradient.split_at_mut(end);
        let (by_decoder, by_logs) = by_rest.split_at_mut(both - end);
        if !by_logs.is_empty() {
            let widths = (self.decoder.outputs(), d, n);
            by_variances(outputs, &drawn.targets, widths, shares, &likelihoods, logs, by_logs);
        }
        scale_rows(outputs, self.decoder.outputs(), |row| shares[row]);
        let given = Given { parameters: rest, rows: rows * n, inputs: &drawn.codes };
        let back = self.decoder.backward(given, outputs, by_decoder, true, decoder);
        by_codes.clear();
        by_codes.extend_from_slice(back);
        by_posterior.clear();
        by_posterior.resize(rows * 2 * k, T::ZERO);
        let (half, beta) = (T::from_f64(0.5), T::from_f64(beta));
        for row in 0..rows {
            let (by_mean, by_log) = by_posterior[row * 2 * k..(row + 1) * 2 * k].split_at_mut(k);
            let at = row * k..(row + 1) * k;
            let (mean, deviation) = (&drawn.mean[at.clone()], &drawn.deviation[at.clone()]);
            for draw in 0..n {
                let share = T::from_f64(shares[row * n + draw]);
                let own = (row * n + draw) * k..(row * n + draw + 1) * k;
                let (codes, normal) = (&drawn.codes[own.clone()], &drawn.normal[own.clone()]);
                let by_codes = &by_codes[own];
                for i in 0..k {
                    let mut slope = by_codes[i];
                    if weighted {
                        slope -= share * beta * codes[i];
                        by_log[i] += share * beta * half;
                    }
                    by_mean[i] += slope;
                    by_log[i] += slope * half * deviation[i] * normal[i];
                }
            }
            if !weighted {
                let weight = T::from_f64(batch.weight(row)) * beta;
                for i in 0..k {
                    by_mean[i] -= weight * mean[i];
                    by_log[i] -= weight * half * (deviation[i] * deviation[i] - T::ONE);
                }
            }
            // A variance at its limit has no slope.
            for (l, slope) in drawn.log_variance[at].iter().zip(by_log) {
                if l.to_f64().abs() >= FARTHEST {
                    *slope = T::ZERO;
                }
            }
        }
        let given = Given { parameters: own, rows, inputs: &drawn.inputs };
        self.encoder.backward(given, by_posterior, by_encoder, false, &mut drawn.trace);
    }

    fn bound(&self, slopes: &Slopes<T>) -> f64 {
        slopes.bound
    }

    fn step(&self, state: &mut Walker<T>, slopes: &Slopes<T>, weight: f64, at: f64) {
        state.step(&self.pace, &slopes.gradient, slopes.bound, weight, at);
    }

    fn end_pass(&self, state: &mut Walker<T>, told: Told, pass: Pass) -> Option<Status> {
        state.end_pass(&self.pace, told, pass)
    }
}

/// `½ Σ f ((x - D)²/v² - 1/v) e^l` by column of numbers, which stand first, from slopes `(x - D)/v` and shares f of the draws.
fn by_variances<T: Real>(
    slopes: &[T],
    targets: &[T],
    (width, d, n): (usize, usize, usize),
    shares: &[f64],
    likelihoods: &Likelihoods<'_, T>,
    logs: &[T],
    out: &mut [T],
) {
    let growth: Vec<T> =
        logs.iter().map(|l| T::from_f64(0.5 * l.to_f64().clamp(-60.0, 60.0).exp())).collect();
    widest(
        #[inline(always)]
        || {
            for (row, slopes) in slopes.chunks_exact(width).enumerate() {
                let share = T::from_f64(shares[row]);
                let targets = &targets[row / n * d..(row / n + 1) * d];
                for c in 0..out.len() {
                    let term = slopes[c] * slopes[c] - likelihoods.precision[c];
                    let term = share * term * growth[c];
                    out[c] += if targets[c].is_missing() { T::ZERO } else { term };
                }
            }
        },
    );
}
