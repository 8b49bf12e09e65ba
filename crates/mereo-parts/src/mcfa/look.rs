//! Codes of a batch's rows, and what they tell: the E-step.

use std::ops::Range;

use mereo_core::math::{Matrix, packed as pairs, product, product_nt, widest};
use mereo_core::slots::SlotStatistics;
use mereo_core::{Batch, Real};

use super::learner::{McfaLearner, McfaStatistics, Prepared, Work};
use super::normal::{LANES, place, width};
use crate::per_row::RowAppearance;

impl<T: Real> McfaLearner<T> {
    /// Codes of rows in which every cell is observed: one covariance for all.
    pub(super) fn look_complete(
        &self,
        prepared: &Prepared<T>,
        batch: &Batch<'_, T>,
        work: &mut Work<T>,
        statistics: &mut McfaStatistics<T>,
    ) {
        let (rows, j) = (batch.rows, self.factors);
        let weight: f64 = batch.weights.map_or(rows as f64, |w| w.iter().sum());
        let mut square = vec![T::ZERO; j * j];
        let mut mean = vec![T::ZERO; j * rows];
        for (part, (omega, log_norm)) in prepared.complete.iter().enumerate() {
            let natural = &work.natural[part * (1 + j) * rows..(part + 1) * (1 + j) * rows];
            let narrow: Vec<T> = omega.iter().map(|&v| T::from_f64(v)).collect();
            product(
                &mut mean,
                Matrix::new(&narrow, j, j),
                Matrix::new(&natural[rows..], j, rows),
                false,
            );
            for row in 0..rows {
                let fit: f64 = (0..j)
                    .map(|f| mean[f * rows + row].to_f64() * natural[(1 + f) * rows + row].to_f64())
                    .sum();
                statistics.bound +=
                    batch.weight(row) * (natural[row].to_f64() + 0.5 * fit + log_norm);
            }
            let start = (1 + part * j) * rows;
            let weighed = &mut work.linear.slots[start..start + j * rows];
            for (i, (out, &m)) in weighed.iter_mut().zip(&mean).enumerate() {
                *out = batch.weights.map_or(m, |w| m * T::from_f64(w[i % rows]));
            }
            product_nt(
                &mut square,
                Matrix::new(weighed, j, rows),
                Matrix::new(&mean, j, rows),
                false,
            );
            let sums = &mut statistics.complete[part * pairs(j)..(part + 1) * pairs(j)];
            for r in 0..j {
                for c in 0..=r {
                    sums[place(r, c)] += square[r * j + c].to_f64() + weight * omega[r * j + c];
                }
            }
        }
    }

    /// Codes of rows one by one: a covariance each if cells are missing, and classes, if there are
    /// any, between evidence and codes.
    pub(super) fn look_rows(
        &self,
        prepared: &Prepared<T>,
        batch: &Batch<'_, T>,
        complete: bool,
        work: &mut Work<T>,
        statistics: &mut McfaStatistics<T>,
    ) {
        let (rows, j, normal) = (batch.rows, self.factors, self.normal());
        let (many, wide) = (pairs(j), width(j));
        if !complete {
            prepared.pairs.evaluate(batch, &mut work.pairs);
        }
        let pseudo_count = self.classes.map_or(0.0, |plan| plan.pseudo_count);
        let classes = prepared.classes.as_ref().map(|c| c.of_factors(self.parts, pseudo_count));
        // Rows that come here without classes have holes: they are looked at side by side, but for the last few.
        let alone =
            if classes.is_some() { 0..rows } else { self.look_lanes(batch, work, statistics) };
        let labels = batch.labels.filter(|_| self.classes.is_some_and(|plan| plan.labelled));
        let (mut natural, mut codes) = (vec![0.0; wide], vec![0.0; self.parts * wide]);
        for row in alone {
            let mut norm = 0.0;
            for (part, code) in codes.chunks_exact_mut(wide).enumerate() {
                for v in 0..=j {
                    natural[v] = work.natural[(part * (1 + j) + v) * rows + row].to_f64();
                }
                for t in part * many..(part + 1) * many {
                    natural[1 + j + t % many] = if complete {
                        prepared.complete_pairs[t]
                    } else {
                        work.pairs.slots[t * rows + row].to_f64()
                    };
                }
                norm += normal.code(part, &natural, code);
            }
            let weight = batch.weight(row);
            if let (Some(classes), Some(told)) = (&classes, &mut statistics.classes) {
                let label = labels.and_then(|labels| labels[row]);
                norm = classes.infer(&mut codes, norm, label, &mut work.classes);
                classes.tell(weight, &work.classes, told);
            }
            statistics.bound += weight * norm;
            for (part, code) in codes.chunks_exact(wide).enumerate() {
                for f in 0..j {
                    work.linear.slots[(1 + part * j + f) * rows + row] =
                        T::from_f64(weight * code[1 + f]);
                }
                for t in 0..many {
                    let told = weight * code[1 + j + t];
                    if complete {
                        statistics.complete[part * many + t] += told;
                    } else {
                        work.pairs.slots[(part * many + t) * rows + row] = T::from_f64(told);
                    }
                }
            }
        }
        // The priors' own share, said once a pass.
        if let Some(classes) = classes.filter(|_| batch.first_row == 0) {
            statistics.bound += classes.log_prior;
        }
        if !complete {
            let sums = statistics.pairs.get_or_insert_with(|| {
                SlotStatistics::new(self.parts * many, self.columns(), &self.form.of_presence())
            });
            sums.add(batch, prepared.pairs.frame(), &mut work.pairs);
        }
    }

    /// Codes of rows without classes, a few side by side. Returns the rows that are left.
    fn look_lanes(
        &self,
        batch: &Batch<'_, T>,
        work: &mut Work<T>,
        statistics: &mut McfaStatistics<T>,
    ) -> Range<usize> {
        let (rows, j, normal) = (batch.rows, self.factors, self.normal());
        let (many, wide) = (pairs(j), width(j));
        let (mut natural, mut code) = (vec![[0.0; LANES]; wide], vec![[0.0; LANES]; wide]);
        let Work { linear, pairs, natural: evidence, .. } = work;
        let bound = &mut statistics.bound;
        let end = rows - rows % LANES;
        widest(
            #[inline(always)]
            || {
                for first in (0..end).step_by(LANES) {
                    let weights: [f64; LANES] = std::array::from_fn(|i| batch.weight(first + i));
                    let mut norms = [0.0; LANES];
                    for part in 0..self.parts {
                        let of_pairs = pairs.slots[part * many * rows..].chunks_exact(rows);
                        let of_linear = evidence[part * (1 + j) * rows..].chunks_exact(rows);
                        let slots = of_linear.take(1 + j).chain(of_pairs.take(many));
                        for (lanes, slot) in natural.iter_mut().zip(slots) {
                            for (lane, n) in lanes.iter_mut().zip(&slot[first..first + LANES]) {
                                *lane = n.to_f64();
                            }
                        }
                        let found = normal.codes(&natural, &mut code);
                        norms.iter_mut().zip(found).for_each(|(norm, found)| *norm += found);
                        let of_pairs = pairs.slots[part * many * rows..].chunks_exact_mut(rows);
                        let of_linear =
                            linear.slots[(1 + part * j) * rows..].chunks_exact_mut(rows);
                        let slots = of_linear.take(j).chain(of_pairs.take(many));
                        for (lanes, slot) in code[1..].iter().zip(slots) {
                            let out = slot[first..first + LANES].iter_mut();
                            for ((out, m), weight) in out.zip(lanes).zip(weights) {
                                *out = T::from_f64(weight * m);
                            }
                        }
                    }
                    norms.iter().zip(weights).for_each(|(norm, weight)| *bound += weight * norm);
                }
            },
        );
        end..rows
    }
}
