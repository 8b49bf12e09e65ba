//! The model as a file and back: `docs/model-file.md` says what is in it.

use std::path::Path;

use mereo_core::math::packed as pairs;
use mereo_core::{Error, Manifest, ModelFile, Result, Tensor};

use super::Mcfa;
use crate::classes::{ClassLayer, class_prior_of};
use crate::gate::{has_gates_of_rows, say_gates_of_rows};

impl Mcfa {
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
        let mut model = Self::new(factors, [gate, gate_prior, loading, offset, noise], parts);
        (model.covariance, model.classes) = (covariance, classes);
        Ok(model.with_gates_of_rows(own))
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
}
