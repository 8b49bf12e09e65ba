//! The model as a file and back: `docs/model-file.md` says what is in it.

use std::path::Path;

use mereo_core::slots::{StoredKinds, refuse_words};
use mereo_core::{About, Error, Manifest, ModelFile, Result, Tensor};

use super::Mcvq;
use crate::classes::{ClassLayer, class_prior_of};
use crate::gate::{has_gates_of_rows, say_gates_of_rows};

impl Mcvq {
    /// Takes a model out of a file: `gate`, `state_prior`, `mean`, `variance` and, if it differs
    /// from the gate, `gate_prior`. With a `class_prior`, `state_prior` is one for each class.
    pub fn from_file(mut file: ModelFile, path: &Path) -> Result<Self> {
        let shape = match file.get("mean") {
            Some(mean) if mean.shape.len() == 3 => mean.shape.clone(),
            _ => vec![1; 3],
        };
        let mut mean = file.take_means("mean", &shape, path)?;
        let (parts, states, columns) = (shape[0], shape[1], shape[2]);
        let mut variance = file.take_variances("variance", &shape, path)?;
        let gates_of_rows = has_gates_of_rows(&file.manifest.params);
        let kinds = if gates_of_rows {
            let about = About { kinds: file.manifest.kinds.clone(), ..About::default() };
            refuse_words(&about, columns).map_err(|e| Error::model_file(path, e))?;
            StoredKinds::numbers(columns)
        } else {
            let looks = (&mut *mean, &mut *variance);
            StoredKinds::from_file(&mut file, &shape[..2], looks, columns, path)?
        };
        let classes = match class_prior_of(&mut file, gates_of_rows, path)? {
            None => None,
            Some(prior) => {
                let shape = [prior.len(), parts, states];
                let class_state_prior = file.take_distributions("state_prior", &shape, path)?;
                Some(ClassLayer { prior, class_state_prior })
            }
        };
        let state_prior = match &classes {
            None => file.take_distributions("state_prior", &shape[..2], path)?,
            Some(classes) => classes.marginal(),
        };
        let gate = file.take_distributions("gate", &[columns, parts], path)?;
        let gate_prior = match file.get("gate_prior") {
            Some(_) => file.take_distributions("gate_prior", &[columns, parts], path)?,
            None => gate.clone(),
        };
        let observed = match file.get("observed") {
            Some(_) => file.take_shaped("observed", &shape, path)?,
            None => Vec::new(),
        };
        if let Some(share) = observed.iter().find(|share| !(0.0..=1.0).contains(*share)) {
            let problem = format!("`observed` has {share} in it, which is no share");
            return Err(Error::model_file(path, problem));
        }
        Ok(Self {
            parts,
            states,
            columns,
            gate,
            gate_prior,
            state_prior,
            mean,
            variance,
            gates_of_rows,
            classes,
            kinds,
            observed,
        })
    }

    /// The model as a file, to be given more to say about itself.
    pub fn to_file(&self, manifest: Manifest) -> ModelFile {
        let (k, j, d) = (self.parts, self.states, self.columns);
        let mut file = ModelFile::new(manifest);
        if self.gates_of_rows {
            say_gates_of_rows(&mut file.manifest.params);
        }
        file.insert("gate", Tensor::new(vec![d, k], self.gate.clone()));
        file.insert("gate_prior", Tensor::new(vec![d, k], self.gate_prior.clone()));
        match &self.classes {
            None => file.insert("state_prior", Tensor::new(vec![k, j], self.state_prior.clone())),
            Some(ClassLayer { prior, class_state_prior }) => {
                let n = prior.len();
                file.insert("class_prior", Tensor::new(vec![n], prior.clone()));
                file.insert("state_prior", Tensor::new(vec![n, k, j], class_state_prior.clone()));
            }
        }
        file.insert("mean", Tensor::new(vec![k, j, d], self.mean.clone()));
        file.insert("variance", Tensor::new(vec![k, j, d], self.variance.clone()));
        self.kinds.to_file(&mut file, &[k, j]);
        if !self.observed.is_empty() {
            file.insert("observed", Tensor::new(vec![k, j, d], self.observed.clone()));
        }
        file
    }
}
