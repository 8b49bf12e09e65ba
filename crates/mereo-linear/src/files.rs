//! Tensors that the model files share.

use std::path::Path;

use mereo_core::{ModelFile, Result};

/// The shape of `component`, or one that taking it will complain about.
pub(crate) fn component_shape(file: &ModelFile) -> [usize; 2] {
    match file.get("component").map(|t| t.shape.as_slice()) {
        Some(&[n, d]) => [n, d],
        _ => [1, 1],
    }
}

/// Takes `component [N, D]` and `mean [D]`.
pub(crate) fn take_components(file: &mut ModelFile, path: &Path) -> Result<(Vec<f64>, Vec<f64>)> {
    let shape = component_shape(file);
    let component = file.take_means("component", &shape, path)?;
    let mean = file.take_means("mean", &shape[1..], path)?;
    Ok((component, mean))
}

/// Takes `noise`, `[D]` or `[1]`.
pub(crate) fn take_noise(file: &mut ModelFile, columns: usize, path: &Path) -> Result<Vec<f64>> {
    let shared = file.get("noise").is_some_and(|t| t.shape == [1]);
    let width = if shared { 1 } else { columns };
    let noise = file.take_variances("noise", &[width], path)?;
    Ok(if shared { vec![noise[0]; columns] } else { noise })
}
