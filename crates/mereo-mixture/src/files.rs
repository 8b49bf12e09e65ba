//! Tensors that the model files share.

use std::path::Path;

use mereo_core::math::whitening;
use mereo_core::{Error, ModelFile, Result};

/// How far a covariance may be from its transpose, relative to its variances.
const SYMMETRIC: f64 = 1e-6;

/// The shape of `mean`, or one that taking it will complain about.
pub(crate) fn mean_shape(file: &ModelFile) -> [usize; 2] {
    match file.get("mean").map(|t| t.shape.as_slice()) {
        Some(&[n, d]) => [n, d],
        _ => [1, 1],
    }
}

/// Whether rows can be measured by a covariance: the inverse of its root has squares that are
/// numbers.
pub(crate) fn can_whiten(covariance: &[f64], d: usize) -> bool {
    covariance.iter().all(|v| v.abs() <= 1e300)
        && whitening(covariance, d).is_some_and(|w| w.matrix.iter().all(|w| w.abs() <= 1e150))
}

/// Takes `[n, d, d]` numbers that must be covariances.
pub(crate) fn take_covariances(
    file: &mut ModelFile,
    name: &str,
    n: usize,
    d: usize,
    path: &Path,
) -> Result<Vec<f64>> {
    let values = file.take_shaped(name, &[n, d, d], path)?;
    let bad = |component: usize, problem: &str| {
        Error::model_file(
            path,
            format!("matrix {component} of `{name}` is no covariance: {problem}"),
        )
    };
    for (component, matrix) in values.chunks_exact(d * d).enumerate() {
        let variance = |i: usize| matrix[i * d + i];
        if let Some(i) = (0..d).find(|&i| !(1e-300..=1e300).contains(&variance(i))) {
            let problem =
                format!("its variance {i} is {}, expected one from 1e-300 to 1e300", variance(i));
            return Err(bad(component, &problem));
        }
        for i in 0..d {
            for j in 0..i {
                let apart = (matrix[i * d + j] - matrix[j * d + i]).abs();
                if !(apart <= SYMMETRIC * variance(i).sqrt() * variance(j).sqrt()) {
                    return Err(bad(component, &format!("it is not symmetric at ({i}, {j})")));
                }
            }
        }
        if !can_whiten(matrix, d) {
            return Err(bad(component, "it is not positive definite"));
        }
    }
    Ok(values)
}
