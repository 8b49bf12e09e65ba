//! Mixtures by their names, as the tables of densities call them.

use mereo_core::{Context, Observer, Plan, Real, Result, Score, Table};
use mereo_mixture::deep::LayerKind;
use mereo_mixture::{Covariance, DeepGmmParams, GmmParams, StudentParams, deep, gaussian, student};

/// Rows that covariances are drawn together by.
const SHRINKAGE: f64 = 300.0;

/// A density that was learned.
pub struct Density<T> {
    /// What scores rows.
    pub model: Box<dyn Score<T>>,
    /// How many numbers were free to be learned.
    pub parameters: usize,
    /// How many passes it took.
    pub passes: usize,
}

/// Learns a mixture: `gmm-15` (full covariances), `shrunk-15` (those drawn towards a common one), `low-rank-4`, `student-15`, `deep-10,5` (full layers, the top
/// one first) or `scales-15,5` (as many Gaussians, each at so many contrasts: a lower layer of
/// scales alone). With a floor, that instead of the default one.
///
/// ```
/// use mereo_core::{Context, Dense, Plan, Silent, Table};
/// let table = Table::from(Dense::new(4, 1, vec![0.0, 1.0, 2.0, 4.0])?);
/// let plan = Plan::default();
/// let one = mereo_experiments::densities::learn("gmm-1", &table, None, &plan, &Context::new(0), &mut Silent)?;
/// assert_eq!(one.parameters, 2);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn learn<T: Real>(
    name: &str,
    rows: &Table<T>,
    floor: Option<f64>,
    plan: &Plan,
    context: &Context,
    observer: &mut dyn Observer,
) -> Result<Density<T>> {
    let (kind, sizes) = name.rsplit_once('-').unwrap_or((name, "1"));
    let sizes: Vec<usize> = sizes.split(',').filter_map(|n| n.parse().ok()).collect();
    match kind {
        "gmm" | "shrunk" | "low-rank" => {
            let low_rank = kind == "low-rank";
            let covariance = if low_rank { Covariance::LowRank } else { Covariance::Full };
            let mut params = GmmParams::with(sizes[0], covariance);
            params.shrinkage = (kind == "shrunk").then_some(SHRINKAGE);
            params.variance_floor = floor.unwrap_or(params.variance_floor);
            let (model, training) = gaussian::fit(&params, rows, plan, context, observer)?;
            let parameters = model.free_parameters();
            Ok(Density { model: Box::new(model), parameters, passes: training.passes })
        }
        "student" => {
            let mut params = StudentParams::new(sizes[0]);
            params.variance_floor = floor.unwrap_or(params.variance_floor);
            let (model, training) = student::fit(&params, rows, plan, context, observer)?;
            let parameters = model.free_parameters();
            Ok(Density { model: Box::new(model), parameters, passes: training.passes })
        }
        _ => {
            let mut params = DeepGmmParams::new(&sizes);
            params.variance_floor = floor.unwrap_or(params.variance_floor);
            if kind == "scales" {
                params.layer_kind[1] = LayerKind::Scale;
            }
            let (model, training) = deep::fit(&params, rows, plan, context, observer)?;
            let parameters = model.free_parameters();
            Ok(Density { model: Box::new(model), parameters, passes: training.passes })
        }
    }
}
