//! What is Student's t's own; [`crate::tests`] has what all mixtures must show.

use mereo_core::{Context, Plan, Silent};

use super::{StudentParams, fit};
use crate::gaussian::{self, Covariance, GmmParams};
use crate::testing::{close, slanted, table};

#[test]
fn with_many_degrees_of_freedom_it_is_gaussian() {
    let data = table::<f64>(3, &slanted(4000, 3, 1));
    let plan = Plan { passes: 60, ..Plan::default() };
    let context = Context::new(0);
    let (model, training) =
        fit(&StudentParams::new(2), &data, &plan, &context, &mut Silent).unwrap();
    let params = GmmParams::with(2, Covariance::Full);
    let (_, other) = gaussian::fit(&params, &data, &plan, &context, &mut Silent).unwrap();
    assert!(model.degrees().iter().all(|v| *v > 20.0), "{:?}", model.degrees());
    close(&[training.bound / 4000.0], &[other.bound / 4000.0], 1e-2, "bound");
}

#[test]
fn far_rows_are_explained_better_than_by_gaussians() {
    let mut values = slanted(500, 2, 2);
    for row in values.chunks_exact_mut(2).step_by(25) {
        row[0] *= 30.0;
    }
    let data = table::<f64>(2, &values);
    let (plan, context) = (Plan::default(), Context::new(0));
    let (_, student) = fit(&StudentParams::new(2), &data, &plan, &context, &mut Silent).unwrap();
    let params = GmmParams::with(2, Covariance::Full);
    let (_, gauss) = gaussian::fit(&params, &data, &plan, &context, &mut Silent).unwrap();
    assert!(student.bound > gauss.bound + 100.0, "{} {}", student.bound, gauss.bound);
}
