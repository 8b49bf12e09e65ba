//! What was learned, and what it can do.

use std::path::Path;

use mereo_core::math::{HALF_LOG_TWO_PI, packed as pairs};
use mereo_core::slots::{Form, Frame, RowCells};
use mereo_core::{
    Appearance, Batch, CellPrediction, ClassView, Encode, Error, Explain, Manifest, ModelFile,
    Parts, PartsView, PredictCells, Random, Real, Reconstruct, Result, Sample, Score, ScoreKind,
    Tensor, draw,
};
use rand_distr::{Distribution, StandardNormal};

use super::coefficients::Coefficients;
use super::learner::State;
use super::normal::{Normal, place, width};
use super::posterior::{shift_offset, spread_at};
use crate::classes::{ClassLayer, FactorWork, class_prior_of};
use crate::gate::{has_gates_of_rows, say_gates_of_rows};
use crate::per_row::{PerRow, ROUNDS_ALONE, RowAppearance, RowWork};

/// How far up and down each factor a part's looks are shown, in deviations of the factor.
const SHOWN: f64 = 2.0;

/// A learned MCFA model.
#[derive(Debug, Clone, PartialEq)]
pub struct Mcfa {
    parts: usize,
    factors: usize,
    columns: usize,
    gate: Vec<f64>,
    gate_prior: Vec<f64>,
    loading: Vec<f64>,
    offset: Vec<f64>,
    noise: Vec<f64>,
    /// `[K, D, packed J + 1]`: how sure loadings and offset of each column are; empty if they are known.
    covariance: Vec<f64>,
    gates_of_rows: bool,
    classes: Option<ClassLayer>,
    /// What each part can look like, `[K, 1 + 2J, D]`: see [`Appearance::Factors`].
    appearance: Vec<f64>,
    /// The offset is the look that stands for the part, `[K, 1 + 2J]`.
    look_prior: Vec<f64>,
}

/// The numbers of a model, lent out.
#[derive(Clone, Copy)]
pub(crate) struct Tensors<'a> {
    pub(crate) parts: usize,
    pub(crate) factors: usize,
    pub(crate) columns: usize,
    /// `[D, K]`.
    pub(crate) gate_prior: &'a [f64],
    /// `[K, D, J]`.
    pub(crate) loading: &'a [f64],
    /// `[K, D]`.
    pub(crate) offset: &'a [f64],
    pub(crate) noise: &'a [f64],
    /// `[K, D, packed J + 1]`, or empty.
    pub(crate) covariance: &'a [f64],
}

/// What was found of one row.
pub(crate) struct Found<'a> {
    pub(crate) row: usize,
    /// `[K, V]`.
    pub(crate) codes: &'a [f64],
    /// Its own gates, `[K, D]`, if it has them.
    gates: Option<Vec<&'a [f64]>>,
    /// How likely each class is, `[N]`, if there are classes.
    pub(crate) classes: &'a [f64],
    pub(crate) bound: f64,
}

impl Mcfa {
    pub(crate) fn from_state(state: State, parts: usize, factors: usize) -> Self {
        let State { gate, loading, offset, noise, classes, posterior } = state;
        let gate_prior = gate.clone();
        let model = Self::new(factors, [gate, gate_prior, loading, offset, noise], parts);
        Self { classes, covariance: posterior.map_or_else(Vec::new, |p| p.covariance), ..model }
    }

    fn new(factors: usize, tensors: [Vec<f64>; 5], parts: usize) -> Self {
        let [gate, gate_prior, loading, offset, noise] = tensors;
        let columns = gate.len() / parts;
        let mut looks = Vec::with_capacity(parts * (1 + 2 * factors) * columns);
        let mut look_prior = Vec::new();
        for part in 0..parts {
            let at = |d: usize| part * columns + d;
            looks.extend_from_slice(&offset[at(0)..at(columns)]);
            look_prior.push(1.0);
            for f in 0..factors {
                for side in [SHOWN, -SHOWN] {
                    let look = |d: usize| offset[at(d)] + side * loading[at(d) * factors + f];
                    looks.extend((0..columns).map(look));
                    look_prior.push(0.0);
                }
            }
        }
        Self {
            parts,
            factors,
            columns,
            gate,
            gate_prior,
            loading,
            offset,
            noise,
            covariance: Vec::new(),
            gates_of_rows: false,
            classes: None,
            appearance: looks,
            look_prior,
        }
    }

    pub(crate) fn with_gates_of_rows(mut self, yes: bool) -> Self {
        self.gates_of_rows = yes;
        self
    }

    /// Whether every row has a gate of its own, with `gate_prior` as its prior, instead of `gate`.
    pub fn has_gates_of_rows(&self) -> bool {
        self.gates_of_rows
    }

    /// The classes that factors depend on, if they do.
    pub fn class_view(&self) -> Option<ClassView<'_>> {
        let classes = self.classes.as_ref()?;
        Some(ClassView { prior: &classes.prior, class_state_prior: &classes.class_state_prior })
    }

    /// The same parts without classes, the factors of each centred where a class has them, or at the
    /// mean of several by weight: half of a smile is half a smile. `blend` has for each part the
    /// classes and their weights. Where factors are centred is said by the offset.
    ///
    /// ```
    /// # use mereo_core::{Manifest, ModelFile, Parts, Tensor};
    /// # let mut file = ModelFile::new(Manifest::new("mcfa"));
    /// # file.insert("gate", Tensor::new(vec![1, 1], vec![1.0]));
    /// # file.insert("loading", Tensor::new(vec![1, 1, 1], vec![2.0]));
    /// # file.insert("offset", Tensor::new(vec![1, 1], vec![5.0]));
    /// # file.insert("noise", Tensor::new(vec![1, 1], vec![1.0]));
    /// # file.insert("class_prior", Tensor::new(vec![2], vec![0.5, 0.5]));
    /// # file.insert("factor_mean", Tensor::new(vec![2, 1, 1], vec![1.0, -1.0]));
    /// # let model = mereo_parts::Mcfa::from_file(file, "by hand".as_ref())?;
    /// // One column of one part; its factor is centred at 1 in class 0 and at -1 in class 1.
    /// assert_eq!(model.hybrid(&[vec![(0, 1.0)]])?.offset(), [7.0]);
    /// assert_eq!(model.hybrid(&[vec![(0, 1.0), (1, 1.0)]])?.offset(), [5.0]);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn hybrid(&self, blend: &[Vec<(usize, f64)>]) -> Result<Self> {
        let Some(classes) = &self.classes else {
            return Err(Error::option("class", "this model has no classes"));
        };
        let centre = classes.blend(self.parts, blend)?;
        let (j, mut offset) = (self.factors, self.offset.clone());
        let mut covariance = self.covariance.clone();
        for (i, offset) in offset.iter_mut().enumerate() {
            let (part, d) = (i / self.columns, i % self.columns);
            let own = &centre[part * j..(part + 1) * j];
            *offset += self.loading_of(part, d).iter().zip(own).map(|(l, v)| l * v).sum::<f64>();
            if let Some(covariance) = covariance.get_mut(i * pairs(j + 1)..(i + 1) * pairs(j + 1)) {
                shift_offset(covariance, own);
            }
        }
        let [gate, gate_prior] = [&self.gate, &self.gate_prior].map(Clone::clone);
        let (loading, noise) = (self.loading.clone(), self.noise.clone());
        let model = Self::new(j, [gate, gate_prior, loading, offset, noise], self.parts);
        Ok(Self { covariance, ..model })
    }

    /// All that was learned, lent out.
    pub(crate) fn tensors(&self) -> Tensors<'_> {
        Tensors {
            parts: self.parts,
            factors: self.factors,
            columns: self.columns,
            gate_prior: &self.gate_prior,
            loading: &self.loading,
            offset: &self.offset,
            noise: &self.noise,
            covariance: &self.covariance,
        }
    }

    /// Number of columns, D.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of factors of each part, J.
    pub fn factors(&self) -> usize {
        self.factors
    }

    /// `[K, D, J]`: how each column moves with each factor.
    pub fn loading(&self) -> &[f64] {
        &self.loading
    }

    /// `[K, D]`: what each part looks like when its factors are 0.
    pub fn offset(&self) -> &[f64] {
        &self.offset
    }

    /// `[K, D]`: the variance of each column about what its part makes of it.
    pub fn noise(&self) -> &[f64] {
        &self.noise
    }

    /// `[K, D, (J + 1)(J + 2)/2]`: the covariance of each column's loadings and offset, the lower triangle row by row, if they were averaged over.
    pub fn covariance(&self) -> Option<&[f64]> {
        (!self.covariance.is_empty()).then_some(&self.covariance)
    }

    /// Takes a model out of a file: `gate`, `loading`, `offset`, `noise` and, if it differs from the
    /// gate, `gate_prior`. With a `class_prior`, `factor_mean` says where factors are in each class; `covariance` says how sure loadings and offset of
    /// each column are, if they are not taken for known.
    pub fn from_file(mut file: ModelFile, path: &Path) -> Result<Self> {
        let shape = match file.get("loading") {
            Some(loading) if loading.shape.len() == 3 => loading.shape.clone(),
            _ => vec![1; 3],
        };
        let loading = file.take_means("loading", &shape, path)?;
        let (parts, columns, factors) = (shape[0], shape[1], shape[2]);
        let offset = file.take_means("offset", &shape[..2], path)?;
        let noise = file.take_variances("noise", &shape[..2], path)?;
        let gate = file.take_distributions("gate", &[columns, parts], path)?;
        let gate_prior = match file.get("gate_prior") {
            Some(_) => file.take_distributions("gate_prior", &[columns, parts], path)?,
            None => gate.clone(),
        };
        let own = has_gates_of_rows(&file.manifest.params);
        let classes = match class_prior_of(&mut file, own, path)? {
            None => None,
            Some(prior) => {
                let shape = [prior.len(), parts, factors];
                let class_state_prior = file.take_means("factor_mean", &shape, path)?;
                Some(ClassLayer { prior, class_state_prior })
            }
        };
        let covariance = match file.get("covariance") {
            None => Vec::new(),
            Some(_) if own => {
                let problem = "`covariance` goes with a gate that all rows share";
                return Err(Error::model_file(path, problem));
            }
            Some(_) => file.take_covariances("covariance", &[parts, columns], factors + 1, path)?,
        };
        let model = Self::new(factors, [gate, gate_prior, loading, offset, noise], parts);
        Ok(Self { classes, covariance, ..model }.with_gates_of_rows(own))
    }

    /// The model as a file, to be given more to say about itself.
    pub fn to_file(&self, manifest: Manifest) -> ModelFile {
        let (k, j, d) = (self.parts, self.factors, self.columns);
        let mut file = ModelFile::new(manifest);
        if self.gates_of_rows {
            say_gates_of_rows(&mut file.manifest.params);
        }
        file.insert("gate", Tensor::new(vec![d, k], self.gate.clone()));
        file.insert("gate_prior", Tensor::new(vec![d, k], self.gate_prior.clone()));
        file.insert("loading", Tensor::new(vec![k, d, j], self.loading.clone()));
        file.insert("offset", Tensor::new(vec![k, d], self.offset.clone()));
        file.insert("noise", Tensor::new(vec![k, d], self.noise.clone()));
        if let Some(covariance) = self.covariance() {
            file.insert("covariance", Tensor::new(vec![k, d, pairs(j + 1)], covariance.to_vec()));
        }
        if let Some(ClassLayer { prior, class_state_prior }) = &self.classes {
            let n = prior.len();
            file.insert("class_prior", Tensor::new(vec![n], prior.clone()));
            file.insert("factor_mean", Tensor::new(vec![n, k, j], class_state_prior.clone()));
        }
        file
    }

    fn loading_of(&self, part: usize, column: usize) -> &[f64] {
        let i = part * self.columns + column;
        &self.loading[i * self.factors..(i + 1) * self.factors]
    }

    /// What a part with this code makes of a column.
    fn appearance(&self, part: usize, column: usize, code: &[f64]) -> f64 {
        let moved = self.loading_of(part, column).iter().zip(&code[1..]);
        self.offset[part * self.columns + column] + moved.map(|(l, m)| l * m).sum::<f64>()
    }

    /// The covariance of a column's loadings and offset under a part; nothing if they are known.
    fn covariance_of(&self, part: usize, column: usize) -> Option<&[f64]> {
        let (i, small) = (part * self.columns + column, pairs(self.factors + 1));
        self.covariance.get(i * small..(i + 1) * small)
    }

    /// The variance of a column about what a part makes of it, `ψ + m̃ᵀ C m̃`, given where its factors are.
    fn noise_at(&self, part: usize, column: usize, factors: &[f64]) -> f64 {
        let unsure = self.covariance_of(part, column).map_or(0.0, |c| spread_at(c, factors));
        self.noise[part * self.columns + column] + unsure.max(0.0)
    }

    /// Finds codes (and gates, if rows have their own) of a batch's rows, in double precision.
    pub(crate) fn find<T: Real>(&self, batch: &Batch<'_, T>, visit: impl FnMut(&Found<'_>)) {
        if self.gates_of_rows { self.find_own(batch, visit) } else { self.find_tied(batch, visit) }
    }

    /// Row by row, differences before squares: right for whatever model and data there are.
    fn find_tied<T: Real>(&self, batch: &Batch<'_, T>, mut visit: impl FnMut(&Found<'_>)) {
        let (j, v) = (self.factors, width(self.factors));
        let normal = Normal { factors: j };
        // What each observed column costs beside its error: ½ log 2π and KL(g_d ‖ a_d).
        let cost: Vec<f64> = (0..self.columns)
            .map(|d| {
                let at = d * self.parts..(d + 1) * self.parts;
                let pairs = self.gate[at.clone()].iter().zip(&self.gate_prior[at]);
                let divergence: f64 = pairs
                    .filter(|(g, _)| **g > 0.0)
                    .map(|(g, a)| g * (g / a.max(1e-300)).ln())
                    .sum();
                HALF_LOG_TWO_PI + divergence
            })
            .collect();
        // In units of the noise.
        let inverse: Vec<f64> = self.noise.iter().map(|n| 1.0 / n.sqrt()).collect();
        let scaled: Vec<f64> =
            self.loading.iter().enumerate().map(|(i, l)| l * inverse[i / j]).collect();
        let pairs_of = |part: usize, d: usize, out: &mut [f64]| {
            let gate = self.gate[d * self.parts + part];
            let i = part * self.columns + d;
            let loading = &scaled[i * j..(i + 1) * j];
            let unsure = self.covariance_of(part, d);
            for r in 0..j {
                for c in 0..=r {
                    let once = if r == c { 0.5 } else { 1.0 };
                    let spread = unsure.map_or(0.0, |u| u[place(r, c)] * inverse[i] * inverse[i]);
                    out[place(r, c)] -= once * gate * (loading[r] * loading[c] + spread);
                }
            }
        };
        let mut of_all = vec![0.0; self.parts * pairs(j)];
        for (part, out) in of_all.chunks_exact_mut(pairs(j)).enumerate() {
            (0..self.columns).for_each(|d| pairs_of(part, d, out));
        }
        let (mut cells, mut natural) = (RowCells::default(), vec![0.0; v]);
        let mut codes = vec![0.0; self.parts * v];
        let classes = self.classes.as_ref().map(|classes| classes.of_factors(self.parts, 0.0));
        let mut work = FactorWork::default();
        for row in 0..batch.rows {
            cells.take(batch, row);
            let complete = cells.iter().count() == self.columns;
            let mut bound = -cells.iter().map(|(d, _)| cost[d]).sum::<f64>();
            for (part, code) in codes.chunks_exact_mut(v).enumerate() {
                natural.fill(0.0);
                for (d, x) in cells.iter() {
                    let (gate, i) = (self.gate[d * self.parts + part], part * self.columns + d);
                    let apart = ((x - self.offset[i]) * inverse[i]).clamp(-1e140, 1e140);
                    natural[0] -= gate * (0.5 * apart * apart - inverse[i].ln());
                    for (h, l) in natural[1..=j].iter_mut().zip(&scaled[i * j..(i + 1) * j]) {
                        *h += gate * l * apart;
                    }
                    if let Some(unsure) = self.covariance_of(part, d) {
                        let (precision, offset) = (inverse[i] * inverse[i], &unsure[pairs(j)..]);
                        natural[0] -= 0.5 * gate * precision * offset[j];
                        for (h, c) in natural[1..=j].iter_mut().zip(offset) {
                            *h -= gate * precision * c;
                        }
                    }
                    if !complete {
                        pairs_of(part, d, &mut natural[1 + j..]);
                    }
                }
                if complete {
                    let at = part * pairs(j)..(part + 1) * pairs(j);
                    natural[1 + j..].copy_from_slice(&of_all[at]);
                }
                bound += self.code(&normal, part, &mut natural, code);
            }
            if let Some(classes) = &classes {
                bound = classes.infer(&mut codes, bound, None, &mut work);
            }
            visit(&Found { row, codes: &codes, gates: None, classes: &work.posterior, bound });
        }
    }

    /// A code, whatever the numbers: a model by hand can have noise so small beside its loadings
    /// that squares overflow, and then says as much as nothing.
    fn code(&self, normal: &Normal, part: usize, natural: &mut [f64], code: &mut [f64]) -> f64 {
        for n in natural.iter_mut() {
            *n = if n.is_finite() { n.clamp(-1e300, 1e300) } else { -1e300 };
        }
        let norm = normal.code(part, natural, code);
        if norm.is_finite() && code.iter().all(|c| c.is_finite()) {
            return norm;
        }
        code.fill(0.0);
        code[0] = 1.0;
        for r in 0..self.factors {
            code[1 + self.factors + place(r, r)] = 1.0;
        }
        natural[0]
    }

    /// Mean and variance of each column under the model: a good frame to measure data in.
    fn frame(&self, form: &Form) -> Frame<f64> {
        let (mut centre, mut variance) = (vec![0.0; self.columns], vec![0.0; self.columns]);
        for d in 0..self.columns {
            let share = |k: usize| self.gate_prior[d * self.parts + k];
            centre[d] = (0..self.parts).map(|k| share(k) * self.offset[k * self.columns + d]).sum();
            for k in 0..self.parts {
                let i = k * self.columns + d;
                let moved: f64 = self.loading_of(k, d).iter().map(|l| l * l).sum();
                let apart = self.offset[i] - centre[d];
                variance[d] += share(k) * (self.noise[i] + moved + apart * apart);
            }
        }
        if *form == Form::Zero {
            centre.fill(0.0);
        }
        Frame::new(&centre, &variance)
    }

    /// With gates of the rows' own.
    fn find_own<T: Real>(&self, batch: &Batch<'_, T>, mut visit: impl FnMut(&Found<'_>)) {
        let (j, v) = (self.factors, width(self.factors));
        let frame = self.frame(&Form::of_batch(batch));
        let coefficients = Coefficients {
            loading: &self.loading,
            offset: &self.offset,
            noise: &self.noise,
            covariance: &self.covariance,
            factors: j,
            frame: &frame,
        };
        let kernel = PerRow::new(self.parts, v, &frame, &self.gate_prior, |part, v, d| {
            coefficients.of(part, v, d)
        });
        let (mut cells, mut work) = (Vec::new(), RowWork::default());
        let wide = batch.widen(&mut cells);
        let mut codes = vec![0.0; self.parts * v];
        for block in kernel.blocks(batch.rows) {
            let first = block.start;
            kernel.open(&wide, block, &mut work);
            for _ in 0..ROUNDS_ALONE {
                kernel.round(&Normal { factors: j }, &mut work);
            }
            for row in 0..work.rows {
                let mut bound = kernel.bound(row, &work);
                batch.for_each_observed(first + row, |d, _| {
                    bound -= HALF_LOG_TWO_PI + frame.scale(d).ln();
                });
                let mut gates = Vec::with_capacity(self.parts);
                for part in 0..self.parts {
                    let i = part * work.rows + row;
                    codes[part * v..(part + 1) * v]
                        .copy_from_slice(&work.codes[i * v..(i + 1) * v]);
                    gates.push(&work.gates[i * self.columns..(i + 1) * self.columns]);
                }
                let (row, gates, classes) = (first + row, Some(gates), &[][..]);
                visit(&Found { row, codes: &codes, gates, classes, bound });
            }
        }
    }
}

impl<T: Real> Encode<T> for Mcfa {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    fn code_width(&self) -> usize {
        self.parts * self.factors
    }

    /// The posterior means of the factors, part by part.
    fn encode_batch(&self, batch: &Batch<'_, T>, codes: &mut [T]) {
        let j = self.factors;
        self.find(batch, |found| {
            let out = &mut codes[found.row * self.parts * j..(found.row + 1) * self.parts * j];
            for (out, code) in out.chunks_exact_mut(j).zip(found.codes.chunks_exact(width(j))) {
                for (out, m) in out.iter_mut().zip(&code[1..]) {
                    *out = T::from_f64(m.clamp(-T::LARGEST, T::LARGEST));
                }
            }
        });
    }
}

impl<T: Real> Reconstruct<T> for Mcfa {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    /// `x̂_d = Σ_k g_dk (ρ_kd + λ_kd · m_k)`, with the row's own gates if it has them.
    fn reconstruct_batch(&self, batch: &Batch<'_, T>, out: &mut [T]) {
        let v = width(self.factors);
        self.find(batch, |found| {
            let out = &mut out[found.row * self.columns..(found.row + 1) * self.columns];
            for (d, out) in out.iter_mut().enumerate() {
                let x: f64 = (0..self.parts)
                    .map(|part| {
                        let gate = found
                            .gates
                            .as_ref()
                            .map_or(self.gate[d * self.parts + part], |g| g[part][d]);
                        gate * self.appearance(part, d, &found.codes[part * v..(part + 1) * v])
                    })
                    .sum();
                *out = T::from_f64(if x.is_nan() { 0.0 } else { x.clamp(-T::LARGEST, T::LARGEST) });
            }
        });
    }
}

impl<T: Real> Score<T> for Mcfa {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    fn score_kind(&self) -> ScoreKind {
        ScoreKind::Bound
    }

    fn score_batch(&self, batch: &Batch<'_, T>, out: &mut [f64]) {
        self.find(batch, |found| {
            out[found.row] = if found.bound.is_finite() { found.bound } else { -f64::MAX };
        });
    }
}

impl<T: Real> PredictCells<T> for Mcfa {
    fn expects_columns(&self) -> Option<usize> {
        Some(self.columns)
    }

    /// `Σ_k g_dk N(ρ_kd + λ_kd · m_k, ψ_kd + λ_kdᵀ Ω_k λ_kd)`, with the row's own gates if it has them; if loadings are not known for
    /// sure the variance is that of `posterior.rs`.
    fn predict_cells_batch(
        &self,
        batch: &Batch<'_, T>,
        cells: &[(usize, usize)],
        visit: &mut dyn FnMut(usize, &CellPrediction),
    ) {
        let (j, v) = (self.factors, width(self.factors));
        let mut at = 0;
        self.find(batch, |found| {
            while let Some(&(_, column)) = cells.get(at).filter(|cell| cell.0 == found.row) {
                let share = |(part, code): (usize, &[f64])| {
                    let loading = self.loading_of(part, column);
                    let unsure = self.covariance_of(part, column);
                    let mut spread = 0.0;
                    for r in 0..j {
                        for c in 0..j {
                            let at = place(r.max(c), r.min(c));
                            let own = code[1 + j + at] - code[1 + r] * code[1 + c];
                            let second = loading[r] * loading[c] + unsure.map_or(0.0, |u| u[at]);
                            spread += second * own;
                        }
                    }
                    let gate = self.gate[column * self.parts + part];
                    mereo_core::Normal {
                        weight: found.gates.as_ref().map_or(gate, |g| g[part][column]),
                        mean: self.appearance(part, column, code),
                        variance: self.noise_at(part, column, &code[1..=j]) + spread.max(0.0),
                    }
                };
                let shares = found.codes.chunks_exact(v).enumerate().map(share).collect();
                visit(at, &CellPrediction::normals(shares));
                at += 1;
            }
        });
    }
}

impl Sample for Mcfa {
    fn columns(&self) -> usize {
        self.columns
    }

    fn sample_row(&self, random: &mut Random, noise: bool, row: &mut [f64]) {
        let mut codes = vec![0.0; self.parts * (1 + self.factors)];
        let centre = self.classes.as_ref().map(|c| c.of(draw(&c.prior, random).unwrap_or(0)));
        for (part, code) in codes.chunks_exact_mut(1 + self.factors).enumerate() {
            for (f, s) in code[1..].iter_mut().enumerate() {
                let normal: f64 = StandardNormal.sample(random);
                *s = normal + centre.map_or(0.0, |c| c[part * self.factors + f]);
            }
        }
        let look = |part: usize, d: usize| {
            self.appearance(
                part,
                d,
                &codes[part * (1 + self.factors)..(part + 1) * (1 + self.factors)],
            )
        };
        for (d, x) in row.iter_mut().enumerate() {
            let prior = &self.gate_prior[d * self.parts..(d + 1) * self.parts];
            *x = if noise {
                let part = draw(prior, random).unwrap_or(0);
                let normal: f64 = StandardNormal.sample(random);
                let own = &codes[part * (1 + self.factors)..(part + 1) * (1 + self.factors)];
                look(part, d) + self.noise_at(part, d, &own[1..]).sqrt() * normal
            } else {
                prior.iter().enumerate().map(|(part, a)| a * look(part, d)).sum()
            };
        }
    }
}

impl Parts for Mcfa {
    fn parts(&self) -> PartsView<'_> {
        PartsView {
            columns: self.columns,
            parts: self.parts,
            states: 1 + 2 * self.factors,
            appearance: Appearance::Factors,
            gate: &self.gate,
            state_prior: &self.look_prior,
            mean: &self.appearance,
        }
    }
}

impl<T: Real> Explain<T> for Mcfa {
    /// The part with the largest `a_dk N(x_d; ρ + λ·m, ψ)`, or the largest gate if the row has gates
    /// of its own.
    fn responsible_parts_batch(&self, batch: &Batch<'_, T>, out: &mut [u32]) {
        let v = width(self.factors);
        let columns_part = self.parts().part_of_column();
        self.find(batch, |found| {
            let out = &mut out[found.row * self.columns..(found.row + 1) * self.columns];
            out.iter_mut().zip(&columns_part).for_each(|(out, part)| *out = *part as u32);
            batch.for_each_observed(found.row, |d, x| {
                let mut best = f64::NEG_INFINITY;
                for part in 0..self.parts {
                    let log = match &found.gates {
                        Some(gates) => gates[part][d],
                        None => {
                            let code = &found.codes[part * v..(part + 1) * v];
                            let noise = self.noise_at(part, d, &code[1..=self.factors]);
                            let apart = x.to_f64() - self.appearance(part, d, code);
                            self.gate_prior[d * self.parts + part].ln()
                                - 0.5 * (noise.ln() + apart * apart / noise)
                        }
                    };
                    if log > best {
                        (best, out[d]) = (log, part as u32);
                    }
                }
            });
        });
    }
}
