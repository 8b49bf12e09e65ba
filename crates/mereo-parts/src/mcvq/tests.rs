//! MCVQ against an independent implementation, against enumeration, and against its theory.

use mereo_core::slots::Form;
use mereo_core::{Context, Dense, Learner, Pass, Plan, Schedule, Silent, Source, Start, Table, learn};

use super::fit::Ground;
use super::learner::{McvqLearner, State};
use super::{McvqParams, fit};
use crate::Gate;

/// Tensors of a reference file, by path.
struct Fixture(serde_json::Value);

impl Fixture {
    fn open(name: &str) -> Self {
        let path = format!("{}/tests/fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"));
        Self(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
    }

    fn get(&self, path: &str) -> Vec<f64> {
        self.0.pointer(path).and_then(|v| v.get("data")).unwrap().as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    }
}

fn close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!((f - e).abs() <= 1e-8 * (1.0 + e.abs()), "{what}[{i}]: found {f}, expected {e}");
    }
}

#[test]
fn agrees_with_the_reference_implementation() {
    for name in ["mcvq_standard", "mcvq_standard_masked"] {
        let fixture = Fixture::open(name);
        let mask = fixture.get("/inputs/mask");
        let values: Vec<f64> = fixture
            .get("/inputs/X")
            .iter()
            .zip(&mask)
            .map(|(x, m)| if *m == 1.0 { *x } else { f64::NAN })
            .collect();
        let table = Table::from(Dense::new(24, 10, values).unwrap());
        let context = Context::new(0);
        let ground = Ground::survey(&table, &context).unwrap();
        let begin = State {
            gate: fixture.get("/inputs/g"),
            state_prior: fixture.get("/inputs/b"),
            mean: fixture.get("/inputs/mu"),
            variance: fixture.get("/inputs/var"),
            reseeds: 0,
        };
        let start = |_: &dyn Source<f64>, _: usize, _: &Context| {
            Ok(Start { state: begin.clone(), how: "given".into() })
        };
        let learner = McvqLearner {
            start: &start,
            reference: vec![1.0; 10],
            reseed: false,
            ..ground.learner(&McvqParams::new(3, 3), Gate::Standard, Schedule::constant(1e-3))
        };
        for passes in [1, 2, 10] {
            let plan = Plan { passes, tolerance: 0.0, ..Plan::default() };
            let learned = learn(&learner, &table, &plan, &context, &mut Silent).unwrap();
            let at = |what: &str| fixture.get(&format!("/outputs/{passes}/{what}"));
            close(&learned.state.mean, &at("mu"), "mu");
            close(&learned.state.variance, &at("var"), "var");
            close(&learned.state.gate, &at("g"), "g");
            close(&learned.state.state_prior, &at("b"), "b");
        }
    }
}
