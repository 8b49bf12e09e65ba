//! Tables that are mostly unknown: columns are not believed too readily.

use mereo_core::Parts;
use mereo_core::{Absent, Context, Plan, Silent, Sparse, Table, Training};
use mereo_parts::{McfaParams, McvqParams, mcfa, mcvq};

/// Ratings of 90 viewers of 40 films, a few each, of two tastes.
fn ratings() -> Table<f64> {
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for user in 0..90usize {
        for film in 0..40usize {
            // The later the film, the rarer it is.
            if (user * 31 + film * 17).is_multiple_of(5 + film) {
                let likes = (user + film).is_multiple_of(2);
                let odd = (user * 7 + film * 3) % 3;
                indices.push(film as u32);
                values.push(if likes { 3.0 } else { 1.0 } + odd as f64);
            }
        }
        starts.push(values.len());
    }
    Table::from(Sparse::new(40, starts, indices, values, Absent::Unobserved).unwrap())
}

fn rises(training: &Training) {
    for restart in &training.restarts {
        let rest = (restart.settled_from + 1).min(restart.bounds.len());
        for pair in restart.bounds[rest..].windows(2) {
            assert!(pair[1] >= pair[0] - 1e-7 * pair[0].abs(), "{:?}", restart.bounds);
        }
    }
}

fn plan() -> Plan {
    Plan { passes: 70, tolerance: 0.0, ..Plan::default() }
}

#[test]
fn the_bound_with_its_prior_never_falls() {
    let (table, context) = (ratings(), Context::new(0));
    let params = McvqParams { scouts: 2, ..McvqParams::new(2, 3) };
    rises(&mcvq::fit(&params, &table, &plan(), &context, &mut Silent).unwrap().1);
    let params = McfaParams { scouts: 2, ..McfaParams::new(2, 2) };
    rises(&mcfa::fit(&params, &table, &plan(), &context, &mut Silent).unwrap().1);
}

#[test]
fn gates_of_rare_columns_stay_soft_and_their_states_near_the_mean() {
    let (table, context) = (ratings(), Context::new(0));
    let fit = |shrinkage: Option<f64>| {
        let params = McvqParams { scouts: 2, shrinkage, ..McvqParams::new(2, 3) };
        mcvq::fit(&params, &table, &plan(), &context, &mut Silent).unwrap().0
    };
    let (shrunk, free) = (fit(None), fit(Some(0.0)));
    let spread = |model: &mereo_parts::Mcvq, d: usize| {
        let means: Vec<f64> = (0..6).map(|s| model.parts().mean[s * 40 + d]).collect();
        means.iter().fold(0.0f64, |most, m| most.max(*m))
            - means.iter().fold(9.0f64, |least, m| least.min(*m))
    };
    let rare = 35..40;
    let all = |model: &mereo_parts::Mcvq| rare.clone().map(|d| spread(model, d)).sum::<f64>();
    assert!(all(&shrunk) < 0.6 * all(&free), "{} {}", all(&shrunk), all(&free));
    let surest = |model: &mereo_parts::Mcvq, d: usize| {
        model.parts().gate_of(d).iter().copied().fold(0.0, f64::max)
    };
    assert!(rare.clone().all(|d| surest(&shrunk, d) < 0.99));
}

#[test]
fn no_shrinkage_where_rows_have_gates_of_their_own() {
    use mereo_parts::Gate;
    let gate = Gate::Factorised { from: 0 };
    let params = McvqParams { gate, shrinkage: Some(1.0), ..McvqParams::new(2, 2) };
    assert!(params.check().is_err());
    assert!(McvqParams { shrinkage: Some(f64::NAN), ..McvqParams::new(2, 2) }.check().is_err());
}
