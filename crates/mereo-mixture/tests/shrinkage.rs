//! Mixtures of tables that are mostly unknown: components are not believed too readily.

use mereo_core::{Absent, Context, Parts, Plan, Silent, Sparse, Table};
use mereo_mixture::{Covariance, GmmParams, gaussian};

/// Ratings of 120 viewers of 40 films, a few each, of two tastes; the last film nobody rated.
fn ratings() -> Table<f64> {
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for user in 0..120usize {
        for film in 0..39usize {
            if (user * 31 + film * 17).is_multiple_of(5 + film) {
                let likes = (user + film).is_multiple_of(2);
                indices.push(film as u32);
                values.push(if likes { 3.0 } else { 1.0 } + ((user * 7 + film * 3) % 3) as f64);
            }
        }
        starts.push(values.len());
    }
    Table::from(Sparse::new(40, starts, indices, values, Absent::Unobserved).unwrap())
}

#[test]
fn the_bound_with_its_prior_never_falls_and_rare_columns_stay_near_their_mean() {
    let plan = Plan { passes: 60, tolerance: 0.0, ..Plan::default() };
    for covariance in [Covariance::Diagonal, Covariance::Spherical] {
        let fit = |shrinkage: Option<f64>| {
            let params = GmmParams { shrinkage, ..GmmParams::with(4, covariance) };
            gaussian::fit(&params, &ratings(), &plan, &Context::new(0), &mut Silent).unwrap()
        };
        let ((shrunk, training), (free, other)) = (fit(None), fit(Some(0.0)));
        for pair in training.restarts[0].bounds.windows(2) {
            assert!(pair[1] >= pair[0] - 1e-9 * pair[0].abs(), "{pair:?}");
        }
        // Without a prior the likelihood is higher.
        assert!(training.log_likelihood.unwrap() < other.bound && other.log_likelihood.is_none());
        let spread = |model: &mereo_mixture::Gmm| -> f64 {
            let of = |d: usize| {
                let means: Vec<f64> = (0..4).map(|s| model.parts().mean[s * 40 + d]).collect();
                means.iter().copied().fold(0.0, f64::max)
                    - means.iter().copied().fold(9.0, f64::min)
            };
            (34..39).map(of).sum()
        };
        assert!(spread(&shrunk) < 0.6 * spread(&free), "{} {}", spread(&shrunk), spread(&free));
    }
}

#[test]
fn shrinkage_that_makes_no_sense_is_refused() {
    let wrong = |covariance, shrinkage| {
        GmmParams { shrinkage: Some(shrinkage), ..GmmParams::with(2, covariance) }.check().is_err()
    };
    assert!(wrong(Covariance::Diagonal, f64::NAN) && wrong(Covariance::Tied, 1.0));
    assert!(!wrong(Covariance::Diagonal, 3.0) && !wrong(Covariance::Full, 3.0));
}
