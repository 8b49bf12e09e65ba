//! Codes of all rows, for what is learned of codes.

use mereo_core::math::{cholesky, packed};
use mereo_core::{Batch, Real, RowTask, Statistics};
use serde::{Deserialize, Serialize};

use crate::network::{Network, Trace};
use crate::units::{Cells, Units};

/// Asks for the codes of rows.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "T: Real")]
pub(crate) struct CodesTask<T> {
    pub(crate) units: Units,
    pub(crate) encoder: Network,
    pub(crate) parameters: Vec<T>,
    pub(crate) code: usize,
}

/// Codes, row after row, and the rows' weights.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Codes {
    pub(crate) width: usize,
    pub(crate) values: Vec<f64>,
    pub(crate) weights: Vec<f64>,
}

impl Statistics for Codes {
    fn merge(&mut self, other: &Self) {
        self.values.extend_from_slice(&other.values);
        self.weights.extend_from_slice(&other.weights);
    }

    fn reset(&mut self) {
        self.values.clear();
        self.weights.clear();
    }
}

impl<T: Real> RowTask<T> for CodesTask<T> {
    const NAME: &'static str = "codes";
    type Statistics = Codes;

    fn statistics(&self) -> Codes {
        Codes { width: self.code, values: Vec::new(), weights: Vec::new() }
    }

    fn accumulate(&self, batch: &Batch<'_, T>, codes: &mut Codes) {
        let (mut cells, mut trace) = (Cells::default(), Trace::new());
        self.units.write(batch, &mut cells);
        let made = self.encoder.forward(&self.parameters, batch.rows, &cells.inputs, &mut trace);
        for (row, made) in made.chunks_exact(self.encoder.outputs()).enumerate() {
            if batch.weight(row) > 0.0 {
                codes.values.extend(made[..self.code].iter().map(|z| z.to_f64()));
                codes.weights.push(batch.weight(row));
            }
        }
    }
}

impl Codes {
    /// Mean of the codes, and a root `[k, k]` of their covariance: `root · normal numbers` has it.
    pub(crate) fn normal(&self) -> (Vec<f64>, Vec<f64>) {
        let k = self.width;
        let total: f64 = self.weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let mut mean = vec![0.0; k];
        for (code, w) in self.values.chunks_exact(k).zip(&self.weights) {
            mean.iter_mut().zip(code).for_each(|(m, z)| *m += w / total * z);
        }
        // Packed: the lower triangle, row after row.
        let mut covariance = vec![0.0; packed(k)];
        for (code, w) in self.values.chunks_exact(k).zip(&self.weights) {
            for i in 0..k {
                let left = w / total * (code[i] - mean[i]);
                let own = &mut covariance[packed(i)..=packed(i) + i];
                own.iter_mut().enumerate().for_each(|(j, c)| *c += left * (code[j] - mean[j]));
            }
        }
        let variances: Vec<f64> = (0..k).map(|i| covariance[packed(i) + i]).collect();
        let largest = variances.iter().copied().fold(0.0, f64::max);
        (0..k).for_each(|i| covariance[packed(i) + i] += 1e-9 * largest);
        // Codes that do not vary are drawn where they are; where rounding spoils the root, each for itself.
        let found = largest > 0.0 && cholesky(&mut covariance, k).is_some();
        let mut root = vec![0.0; k * k];
        for i in 0..k {
            if found {
                root[i * k..=i * k + i].copy_from_slice(&covariance[packed(i)..=packed(i) + i]);
            } else {
                root[i * k + i] = variances[i].max(0.0).sqrt();
            }
        }
        (mean, root)
    }
}
