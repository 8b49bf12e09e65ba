//! What was learned, and what it can do.

use mereo_core::math::packed as pairs;
use mereo_core::{
    Appearance, Batch, CellPrediction, ClassView, Encode, Error, Explain, Parts, PartsView,
    PredictCells, Random, Real, Reconstruct, Result, Sample, Score, ScoreKind, draw,
};
use rand_distr::{Distribution, StandardNormal};

use super::learner::State;
use super::normal::{place, width};
use super::posterior::{shift_offset, spread_at};
use crate::classes::ClassLayer;

/// How far up and down each factor a part's looks are shown, in deviations of the factor.
const SHOWN: f64 = 2.0;

/// A learned MCFA model.
#[derive(Debug, Clone, PartialEq)]
pub struct Mcfa {
    pub(super) parts: usize,
    pub(super) factors: usize,
    pub(super) columns: usize,
    pub(super) gate: Vec<f64>,
    pub(super) gate_prior: Vec<f64>,
    pub(super) loading: Vec<f64>,
    pub(super) offset: Vec<f64>,
    pub(super) noise: Vec<f64>,
    /// `[K, D, packed J + 1]`: how sure loadings and offset of each column are; empty if they are known.
    pub(super) covariance: Vec<f64>,
    pub(super) gates_of_rows: bool,
    pub(super) classes: Option<ClassLayer>,
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

impl Mcfa {
    pub(crate) fn from_state(state: State, parts: usize, factors: usize) -> Self {
        let State { gate, loading, offset, noise, classes, posterior } = state;
        let gate_prior = gate.clone();
        let model = Self::new(factors, [gate, gate_prior, loading, offset, noise], parts);
        Self { classes, covariance: posterior.map_or_else(Vec::new, |p| p.covariance), ..model }
    }

    pub(super) fn new(factors: usize, tensors: [Vec<f64>; 5], parts: usize) -> Self {
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

    pub(super) fn loading_of(&self, part: usize, column: usize) -> &[f64] {
        let i = part * self.columns + column;
        &self.loading[i * self.factors..(i + 1) * self.factors]
    }

    /// What a part with this code makes of a column.
    fn appearance(&self, part: usize, column: usize, code: &[f64]) -> f64 {
        let moved = self.loading_of(part, column).iter().zip(&code[1..]);
        self.offset[part * self.columns + column] + moved.map(|(l, m)| l * m).sum::<f64>()
    }

    /// The covariance of a column's loadings and offset under a part; nothing if they are known.
    pub(super) fn covariance_of(&self, part: usize, column: usize) -> Option<&[f64]> {
        let (i, small) = (part * self.columns + column, pairs(self.factors + 1));
        self.covariance.get(i * small..(i + 1) * small)
    }

    /// The variance of a column about what a part makes of it, `ψ + m̃ᵀ C m̃`, given where its factors are.
    fn noise_at(&self, part: usize, column: usize, factors: &[f64]) -> f64 {
        let unsure = self.covariance_of(part, column).map_or(0.0, |c| spread_at(c, factors));
        self.noise[part * self.columns + column] + unsure
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
