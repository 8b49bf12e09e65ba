//! What was learned, and what it can do.

use mereo_core::math::{HALF_LOG_TWO_PI, Matrix, product_tn};
use mereo_core::slots::{
    Cells, Evidence, Family, Form, Frame, Mixed, SlotParams, SlotWork, StoredKinds, log_count_base,
    responsibilities, shown_level,
};
use mereo_core::{
    Appearance, Batch, Block, CellPrediction, ClassView, Encode, Error, Explain, Normal, Parts,
    PartsView, PredictCells, Random, Real, Reconstruct, Result, Sample, Score, ScoreKind, draw,
};

use super::learner::State;
use crate::classes::{ClassLayer, ClassWork};

/// A learned MCVQ model.
#[derive(Debug, Clone, PartialEq)]
pub struct Mcvq {
    pub(super) parts: usize,
    pub(super) states: usize,
    pub(super) columns: usize,
    pub(super) gate: Vec<f64>,
    pub(super) gate_prior: Vec<f64>,
    /// `[K, J]`; with classes, over all of them.
    pub(super) state_prior: Vec<f64>,
    pub(super) mean: Vec<f64>,
    pub(super) variance: Vec<f64>,
    pub(super) gates_of_rows: bool,
    pub(super) classes: Option<ClassLayer>,
    /// What columns hold, and shares of levels.
    pub(super) kinds: StoredKinds,
    /// The share of the rows that show a state which observe a column, `[K, J, D]`; empty if that was not kept.
    pub(super) observed: Vec<f64>,
}

impl Mcvq {
    pub(crate) fn from_state(state: State, parts: usize, states: usize) -> Self {
        let State { gate, mut state_prior, mean, variance, classes, observed, .. } = state;
        let columns = gate.len() / parts;
        if let Some(classes) = &classes {
            state_prior = classes.marginal();
        }
        let gate_prior = gate.clone();
        Self {
            parts,
            states,
            columns,
            gate,
            gate_prior,
            state_prior,
            mean,
            variance,
            gates_of_rows: false,
            classes,
            kinds: StoredKinds::numbers(columns),
            observed,
        }
    }

    /// The same with columns of other kinds than numbers.
    pub(crate) fn with_kinds(mut self, kinds: StoredKinds) -> Self {
        self.kinds = kinds;
        self
    }

    /// The states asked for single cells.
    pub(crate) fn cells(&self) -> Cells<'_> {
        Cells::new(self.columns, &self.mean, &self.variance, self.kinds.mixed())
    }

    /// Gives rows gates of their own, or not: how a model was learned is how it sees new rows.
    pub(crate) fn with_gates_of_rows(mut self, yes: bool) -> Self {
        self.gates_of_rows = yes;
        self
    }

    /// Whether every row has a gate of its own, with `gate_prior` as its prior, instead of `gate`.
    pub fn has_gates_of_rows(&self) -> bool {
        self.gates_of_rows
    }

    /// All that was learned, lent out.
    pub(crate) fn tensors(&self) -> Tensors<'_> {
        Tensors {
            parts: self.parts,
            states: self.states,
            columns: self.columns,
            gate: &self.gate,
            gate_prior: &self.gate_prior,
            state_prior: &self.state_prior,
            mean: &self.mean,
            variance: &self.variance,
            mixed: self.kinds.mixed(),
        }
    }

    /// The share of the rows that show a state which observe each column, `[K, J, D]`, if it was kept.
    pub(super) fn observed_shares(&self) -> Option<&[f64]> {
        (!self.observed.is_empty()).then_some(&*self.observed)
    }

    /// The classes that states depend on, if they do.
    pub fn class_view(&self) -> Option<ClassView<'_>> {
        let classes = self.classes.as_ref()?;
        Some(ClassView { prior: &classes.prior, class_state_prior: &classes.class_state_prior })
    }

    /// The same parts with one prior over states: in each part that of a class, or a mix of several
    /// by weight. `blend` has for each part the classes and their weights.
    ///
    /// ```
    /// # use mereo_core::{Manifest, ModelFile, Parts, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("mcvq"));
    /// # file.insert("gate", Tensor::new(vec![1, 1], vec![1.0]));
    /// # file.insert("mean", Tensor::new(vec![1, 2, 1], vec![0.0, 1.0]));
    /// # file.insert("variance", Tensor::new(vec![1, 2, 1], vec![1.0, 1.0]));
    /// # file.insert("class_prior", Tensor::new(vec![2], vec![0.5, 0.5]));
    /// # file.insert("state_prior", Tensor::new(vec![2, 1, 2], vec![1.0, 0.0, 0.2, 0.8]));
    /// # let model = mereo_parts::Mcvq::from_file(file, "by hand".as_ref())?;
    /// // One part of two states; class 0 shows the first alone, class 1 mostly the second.
    /// let hybrid = model.hybrid(&[vec![(0, 1.0), (1, 3.0)]])?;
    /// assert_eq!(hybrid.parts().state_prior, [0.4, 0.6000000000000001]);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn hybrid(&self, blend: &[Vec<(usize, f64)>]) -> Result<Self> {
        let Some(classes) = &self.classes else {
            return Err(Error::option("class", "this model has no classes"));
        };
        let state_prior = classes.blend(self.parts, blend)?;
        Ok(Self { state_prior, classes: None, ..self.clone() })
    }

    /// How strongly a column belongs to a part.
    pub(super) fn gate(&self, column: usize, part: usize) -> f64 {
        self.gate[column * self.parts + part]
    }

    /// Number of columns, D.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// `[K, J, D]`: the variance of each state in each column.
    pub fn variance(&self) -> &[f64] {
        &self.variance
    }

    /// Mean and variance of each column under the model: a good frame to measure data in.
    pub(super) fn frame<T: Real>(&self, form: &Form) -> Frame<T> {
        let (mut centre, mut variance) = (vec![0.0; self.columns], vec![0.0; self.columns]);
        self.for_each_share(|i, d, share| centre[d] += share * self.mean[i]);
        self.for_each_share(|i, d, share| {
            variance[d] += share * (self.variance[i] + (self.mean[i] - centre[d]).powi(2));
        });
        if *form == Form::Zero {
            centre.fill(0.0);
        }
        Frame::new(&centre, &variance)
    }

    /// Visits every entry of `[K, J, D]` with its column and how much it makes of that column.
    fn for_each_share(&self, mut visit: impl FnMut(usize, usize, f64)) {
        for (slot, &b) in self.state_prior.iter().enumerate() {
            for d in 0..self.columns {
                let share = b * self.gate[d * self.parts + slot / self.states];
                visit(slot * self.columns + d, d, share);
            }
        }
    }

    /// The logarithms of the states' priors; with classes those come after the evidence.
    pub(super) fn log_prior(&self) -> Vec<f64> {
        match self.classes {
            None => self.state_prior.iter().map(|b| b.max(1e-300).ln()).collect(),
            Some(_) => vec![0.0; self.state_prior.len()],
        }
    }

    /// Codes of a batch and what comes with them, in the units of the frame. In double precision
    /// whatever the data: a model file may come from anywhere.
    pub(crate) fn infer<T: Real>(&self, batch: &Batch<'_, T>) -> Inferred {
        let (evidence, frame) = self.evidence(batch);
        self.resolve(evidence, batch.rows, frame)
    }

    /// The evidence of a batch for every state, `[K, J, R]`, in the units of the frame.
    pub(super) fn evidence<T: Real>(&self, batch: &Batch<'_, T>) -> (Vec<f64>, Frame<f64>) {
        if self.kinds.mixed().is_some() && matches!(batch.block, Block::Sparse { .. }) {
            // Words are looked up in dense rows.
            let values = self.values_of(&self.cells(), batch);
            return self.evidence(&self.dense_batch(&values, batch.rows));
        }
        let form = Form::of_batch(batch);
        let frame = self.frame(&form);
        let log_prior = self.log_prior();
        let params = SlotParams {
            parts: self.parts,
            states: self.states,
            gate: Some(&self.gate),
            mean: &self.mean,
            variance: &self.variance,
            log_prior: &log_prior,
            mixed: self.kinds.mixed(),
        };
        let (mut work, mut cells) = (SlotWork::default(), Vec::new());
        Evidence::in_frame(&params, &frame, &form).evaluate(&batch.widen(&mut cells), &mut work);
        // A model by hand can have variances so small beside its means that squares overflow: what
        // is then infinite, or no number at all, is evidence against the state as strong as can be.
        for e in &mut work.slots {
            *e = if *e > -1e300 { e.min(1e300) } else { -1e300 };
        }
        (work.slots, frame)
    }

    /// Codes from evidence.
    pub(super) fn resolve(&self, mut codes: Vec<f64>, rows: usize, frame: Frame<f64>) -> Inferred {
        let mut log_norms = vec![0.0; self.parts * rows];
        if let Some(classes) = &self.classes {
            let mut work = ClassWork::default();
            let prepared = classes.prepare(self.states, 0.0);
            prepared.infer(&mut codes, &mut log_norms, None, None, &mut work, None);
            return Inferred { codes, log_norms: work.log_norms, classes: work.posterior, frame };
        }
        responsibilities(&mut codes, &mut log_norms, self.states, rows, None);
        let of_row = |row: usize| log_norms.chunks_exact(rows).map(|part| part[row]).sum();
        let log_norms = (0..rows).map(of_row).collect();
        Inferred { codes, log_norms, classes: Vec::new(), frame }
    }
}

/// The numbers of a model, lent out.
#[derive(Clone, Copy)]
pub(crate) struct Tensors<'a> {
    pub(crate) parts: usize,
    pub(crate) states: usize,
    pub(crate) columns: usize,
    /// `[D, K]`.
    pub(crate) gate: &'a [f64],
    pub(crate) gate_prior: &'a [f64],
    /// `[K, J]`, over all classes.
    pub(crate) state_prior: &'a [f64],
    /// `[K, J, D]`.
    pub(crate) mean: &'a [f64],
    pub(crate) variance: &'a [f64],
    /// What states say in columns that are not numbers.
    pub(crate) mixed: Option<Mixed<'a>>,
}

/// What a model sees in a batch of R rows.
pub(crate) struct Inferred {
    /// Codes, `[K, J, R]`.
    pub(crate) codes: Vec<f64>,
    /// The log normaliser of each row, in the units of the frame, `[R]`.
    pub(crate) log_norms: Vec<f64>,
    /// The classes' posterior, `[N, R]`, if there are classes.
    pub(crate) classes: Vec<f64>,
    pub(crate) frame: Frame<f64>,
}

impl<T: Real> Encode<T> for Mcvq {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    fn code_width(&self) -> usize {
        self.parts * self.states
    }

    fn encode_batch(&self, batch: &Batch<'_, T>, codes: &mut [T]) {
        if self.gates_of_rows {
            let width = self.parts * self.states;
            return self.find_rows(batch, |found| {
                let rows = codes.chunks_exact_mut(width).skip(found.first).take(found.work.rows);
                for (row, code) in rows.enumerate() {
                    for (part, code) in code.chunks_exact_mut(self.states).enumerate() {
                        let pairs = code.iter_mut().zip(found.code(part, row));
                        pairs.for_each(|(m, &c)| *m = T::from_f64(c));
                    }
                }
            });
        }
        let Inferred { codes: found, .. } = self.infer(batch);
        for (row, code) in codes.chunks_exact_mut(self.parts * self.states).enumerate() {
            for (slot, m) in code.iter_mut().enumerate() {
                *m = T::from_f64(found[slot * batch.rows + row]);
            }
        }
    }
}

impl<T: Real> Reconstruct<T> for Mcvq {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    /// `x̂_d = Σ_k g_dk Σ_j m_kj μ_kjd`, with the row's own gates if it has them; of words the level that these
    /// shares make most probable.
    fn reconstruct_batch(&self, batch: &Batch<'_, T>, out: &mut [T]) {
        if self.gates_of_rows {
            return self.find_rows(batch, |found| {
                let (start, length) = (found.first * self.columns, found.work.rows * self.columns);
                found.reconstruct(self, &mut out[start..start + length]);
            });
        }
        let Inferred { codes, frame, .. } = self.infer(batch);
        let (slots, columns) = (self.parts * self.states, self.columns);
        let mut gated = vec![0.0; slots * columns];
        for (i, gated) in gated.iter_mut().enumerate() {
            let (slot, d) = (i / columns, i % columns);
            let gate = self.gate[d * self.parts + slot / self.states];
            *gated = gate * frame.inward(d, self.mean[i]);
        }
        let mut inner = vec![0.0; batch.rows * columns];
        product_tn(
            &mut inner,
            Matrix::new(&codes, slots, batch.rows),
            Matrix::new(&gated, slots, columns),
            false,
        );
        for (i, (out, x)) in out.iter_mut().zip(inner).enumerate() {
            *out = T::from_f64(frame.outward(i % columns, x).clamp(-T::LARGEST, T::LARGEST));
        }
        let cells = self.cells();
        for words in self.kinds.kinds().words() {
            let gate = &self.gate[words.column * self.parts..][..self.parts];
            for row in 0..batch.rows {
                let made = shares_of(gate, self.states, |slot| codes[slot * batch.rows + row]);
                let level = cells.most_probable(words.column, &made);
                out[row * columns + words.column] = T::from_f64(level);
            }
        }
    }
}

/// How likely each state of each part is to have made a cell, by its column's gate and the row's code.
pub(super) fn shares_of(gate: &[f64], states: usize, code: impl Fn(usize) -> f64) -> Vec<f64> {
    let slots = gate.iter().enumerate();
    slots
        .flat_map(|(k, g)| (k * states..(k + 1) * states).map(|s| g * code(s)).collect::<Vec<_>>())
        .collect()
}

impl<T: Real> Score<T> for Mcvq {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    fn score_kind(&self) -> ScoreKind {
        ScoreKind::Bound
    }

    fn score_batch(&self, batch: &Batch<'_, T>, out: &mut [f64]) {
        if self.gates_of_rows {
            return self.find_rows(batch, |found| {
                for row in 0..found.work.rows {
                    out[found.first + row] = found.bound(batch, row);
                }
            });
        }
        let Inferred { log_norms, frame, .. } = self.infer(batch);
        // What each observed column costs beside its error in the frame: ½ log 2π, the logarithm
        // of its scale, and KL(g_d ‖ a_d).
        let cost: Vec<f64> = self
            .gate
            .chunks_exact(self.parts)
            .zip(self.gate_prior.chunks_exact(self.parts))
            .enumerate()
            .map(|(d, (g, a))| {
                let divergence: f64 = g
                    .iter()
                    .zip(a)
                    .filter(|(g, _)| **g > 0.0)
                    .map(|(g, a)| g * (g / a.max(1e-300)).ln())
                    .sum();
                divergence
                    + match self.kinds.kinds().family(d) {
                        Family::Number => HALF_LOG_TWO_PI + frame.scale(d).ln(),
                        Family::Count | Family::Words { .. } => 0.0,
                    }
            })
            .collect();
        for (row, (out, norm)) in out.iter_mut().zip(log_norms).enumerate() {
            *out = norm;
            batch.for_each_observed(row, |d, x| match self.kinds.kinds().family(d) {
                Family::Number => *out -= cost[d],
                // What evidence leaves out: see `mereo_core::slots`.
                Family::Count => *out += log_count_base(x.to_f64(), frame.rate(d)) - cost[d],
                Family::Words { levels, .. } => {
                    if shown_level(x.to_f64(), levels).is_some() {
                        *out -= cost[d];
                    }
                }
            });
        }
    }
}

impl<T: Real> PredictCells<T> for Mcvq {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    /// The mixture that gate and code imply: `Σ_k g_dk Σ_j m_kj N(μ_kjd, σ²_kjd)`.
    fn predict_cells_batch(
        &self,
        batch: &Batch<'_, T>,
        cells: &[(usize, usize)],
        visit: &mut dyn FnMut(usize, &CellPrediction),
    ) {
        let mixture = |column: usize, gate: &dyn Fn(usize) -> f64, code: &dyn Fn(usize) -> f64| {
            let share = |slot: usize| {
                let i = slot * self.columns + column;
                let weight = gate(slot / self.states) * code(slot);
                Normal { weight, mean: self.mean[i], variance: self.variance[i] }
            };
            CellPrediction::normals((0..self.parts * self.states).map(share).collect())
        };
        if self.gates_of_rows {
            let mut at = 0;
            return self.find_rows(batch, |found| {
                while let Some(&(row, column)) =
                    cells.get(at).filter(|cell| cell.0 < found.first + found.work.rows)
                {
                    let row = row - found.first;
                    let gate = |part: usize| found.gates(part, row)[column];
                    let code =
                        |slot: usize| found.code(slot / self.states, row)[slot % self.states];
                    visit(at, &mixture(column, &gate, &code));
                    at += 1;
                }
            });
        }
        let Inferred { codes, .. } = self.infer(batch);
        for (at, &(row, column)) in cells.iter().enumerate() {
            let gate = |part: usize| self.gate[column * self.parts + part];
            let code = |slot: usize| codes[slot * batch.rows + row];
            visit(at, &mixture(column, &gate, &code));
        }
    }
}

impl Sample for Mcvq {
    fn columns(&self) -> usize {
        self.columns
    }

    fn sample_row(&self, random: &mut Random, noise: bool, row: &mut [f64]) {
        let class_state_prior = match &self.classes {
            None => &self.state_prior[..],
            Some(classes) => classes.of(draw(&classes.prior, random).unwrap_or(0)),
        };
        let states: Vec<usize> = class_state_prior
            .chunks_exact(self.states)
            .enumerate()
            .map(|(part, prior)| part * self.states + draw(prior, random).unwrap_or(0))
            .collect();
        let cells = self.cells();
        for (d, x) in row.iter_mut().enumerate() {
            let prior = &self.gate_prior[d * self.parts..(d + 1) * self.parts];
            if noise {
                *x = cells.draw(states[draw(prior, random).unwrap_or(0)], d, random);
            } else if let Family::Words { .. } = self.kinds.kinds().family(d) {
                let chosen = |slot: usize| f64::from(u8::from(states.contains(&slot)));
                *x = cells.most_probable(d, &shares_of(prior, self.states, chosen));
            } else {
                *x = prior
                    .iter()
                    .zip(&states)
                    .map(|(a, slot)| a * self.mean[slot * self.columns + d])
                    .sum();
            }
        }
    }
}

impl Parts for Mcvq {
    fn parts(&self) -> PartsView<'_> {
        PartsView {
            columns: self.columns,
            parts: self.parts,
            states: self.states,
            appearance: Appearance::States,
            gate: &self.gate,
            state_prior: &self.state_prior,
            mean: &self.mean,
        }
    }
}

impl<T: Real> Explain<T> for Mcvq {
    /// The part with the largest `a_dk N(x_d; μ, σ²)` at each part's most likely state, or the
    /// largest gate if the row has gates of its own.
    fn responsible_parts_batch(&self, batch: &Batch<'_, T>, out: &mut [u32]) {
        let columns_part = self.parts().part_of_column();
        if self.gates_of_rows {
            return self.find_rows(batch, |found| {
                for row in 0..found.work.rows {
                    let start = (found.first + row) * self.columns;
                    let out = &mut out[start..start + self.columns];
                    out.iter_mut().zip(&columns_part).for_each(|(out, part)| *out = *part as u32);
                    batch.for_each_observed(found.first + row, |d, _| {
                        let gate = |part: usize| found.gates(part, row)[d];
                        let best = (1..self.parts)
                            .fold(0, |best, k| if gate(k) > gate(best) { k } else { best });
                        out[d] = best as u32;
                    });
                }
            });
        }
        let Inferred { codes, .. } = self.infer(batch);
        let cells = self.cells();
        for (row, out) in out.chunks_exact_mut(self.columns).enumerate() {
            for (part, out) in columns_part.iter().zip(&mut *out) {
                *out = *part as u32;
            }
            let chosen: Vec<usize> = (0..self.parts)
                .map(|part| {
                    let m = |slot: usize| codes[slot * batch.rows + row];
                    let slots = part * self.states..(part + 1) * self.states;
                    slots.clone().fold(slots.start, |best, s| if m(s) > m(best) { s } else { best })
                })
                .collect();
            batch.for_each_observed(row, |d, x| {
                let mut best = f64::NEG_INFINITY;
                for (part, &slot) in chosen.iter().enumerate() {
                    let log = self.gate_prior[d * self.parts + part].ln()
                        + cells.densities.cell(slot, d, x.to_f64());
                    if log > best {
                        (best, out[d]) = (log, part as u32);
                    }
                }
            });
        }
    }
}
