//! Rows that come in portions, none of which is seen again.

use mereo::data::toy::World;
use mereo::linear::{PcaParams, PpcaParams};
use mereo::mixture::{Covariance, GmmParams};
use mereo::parts::McvqParams;
use mereo::quantize::VqParams;
use mereo::{Context, Dense, Error, Fit, Fitted, Held, Portions, Result, Silent, Table};

/// Rows of a toy world, cut into portions.
fn cut(rows: usize, each: usize) -> (Table<f64>, Vec<Table<f64>>) {
    let whole = World::Shapes.make(Some(rows), 5).unwrap().table;
    let (columns, mut values) = (whole.columns(), Vec::new());
    let mut row = vec![0.0f32; whole.columns()];
    let mut lane = mereo::Source::lane(&whole, 0..mereo::Source::batches(&whole)).unwrap();
    while let Some(batch) = lane.next_batch().unwrap() {
        for r in 0..batch.rows {
            batch.dense_row(r, &mut row);
            values.extend(row.iter().map(|&x| f64::from(x)));
        }
    }
    drop(lane);
    let table = |values: &[f64]| {
        Table::from(Dense::new(values.len() / columns, columns, values.to_vec()).unwrap())
    };
    (table(&values), values.chunks(each * columns).map(table).collect())
}

fn learn(fit: &Fit, portions: &[Table<f64>]) -> Result<Fitted> {
    let kept = Portions::default();
    let mut last = None;
    for portion in portions {
        // As if somebody else went on.
        let taken = Portions::from_bytes(&kept.to_bytes()?)?;
        last = Some(fit.portion(&taken, Held::Table(portion.clone()), &mut Silent)?);
        kept.take(&taken);
    }
    Ok(last.unwrap())
}

fn score(fitted: &Fitted, rows: &Table<f64>) -> f64 {
    fitted.score(rows, None, &Context::new(0)).unwrap().mean
}

#[test]
fn principal_components_of_portions_are_those_of_all_rows() {
    let (whole, portions) = cut(900, 170);
    for fit in [Fit::new(PcaParams::new(4)), Fit::new(PpcaParams::new(4))] {
        let (at_once, in_turn) = (fit.run(&whole).unwrap(), learn(&fit, &portions).unwrap());
        let (a, b) = (at_once.manifest.training.unwrap(), in_turn.manifest.training.unwrap());
        assert_eq!((b.rows, b.total_weight()), (900, 900.0));
        assert!((a.bound - b.bound).abs() < 1e-9 * a.bound.abs(), "{} {}", a.bound, b.bound);
        let (a, b) = (
            at_once.model.to_file(mereo::Manifest::new("a")),
            in_turn.model.to_file(mereo::Manifest::new("a")),
        );
        for (name, tensor) in a.tensors() {
            for (x, y) in tensor.values.iter().zip(&b.get(name).unwrap().values) {
                assert!((x - y).abs() < 1e-8, "{name}: {x} {y}");
            }
        }
    }
}

#[test]
fn portions_make_models_better_than_the_first_alone_and_nearly_as_good_as_all_rows() {
    let (whole, portions) = cut(3000, 300);
    let (new, _) = cut(1000, 1000);
    let fits = [
        Fit::new(VqParams::new(40)).restarts(2),
        Fit::new(GmmParams::new(30)).restarts(2),
        Fit::new(McvqParams::new(3, 9)).restarts(3),
    ];
    for fit in fits {
        let name = fit.params().kind().name;
        let first = score(&fit.run(&portions[0]).unwrap(), &new);
        let all = score(&fit.run(&whole).unwrap(), &new);
        let in_turn = score(&learn(&fit, &portions).unwrap(), &new);
        println!("{name}: the first {first:.3}, all at once {all:.3}, in turn {in_turn:.3}");
        assert!(in_turn > first, "{name}: {in_turn} is not above {first}");
        assert!(all - in_turn < 0.5 * (all - first).abs(), "{name}: {in_turn} is far below {all}");
    }
}

#[test]
fn portions_give_the_same_bytes_on_any_number_of_threads() {
    let (_, portions) = cut(2500, 900);
    let fits: [fn() -> Fit; 4] = [
        || Fit::new(VqParams::new(9)).restarts(1),
        || Fit::new(GmmParams::new(4)).restarts(1),
        || Fit::new(McvqParams::new(3, 9)).restarts(1).passes(10),
        || Fit::new(PcaParams::new(3)),
    ];
    for make in fits {
        let bytes = |threads: usize| {
            let context = Context::new(1).with_threads(threads).unwrap();
            let fitted = learn(&make().context(&context), &portions).unwrap();
            fitted.model.to_file(fitted.manifest.clone()).to_bytes().unwrap()
        };
        assert!(bytes(1) == bytes(2) && bytes(1) == bytes(7), "{}", make().params().kind().name);
    }
}

#[test]
fn models_that_cannot_learn_from_portions_say_so_by_name() {
    let (_, portions) = cut(100, 50);
    for kind in mereo::models() {
        let mut options = mereo::Options::default();
        // Sizes of parts and states would be searched for.
        let open = |info: &mereo::ParamInfo| {
            info.default.is_none() || ["parts", "states"].contains(&info.name)
        };
        for info in kind.params().iter().filter(|info| open(info)) {
            let value = if info.name == "layers" { "[2]" } else { "2" };
            options.insert(info.name.to_owned(), serde_json::from_str(value).unwrap());
        }
        let fit = Fit::named(kind.name, &options).unwrap().restarts(1).passes(2);
        match learn(&fit, &portions) {
            Ok(_) => assert!(kind.in_portions, "{}", kind.name),
            Err(Error::Incapable { model, .. }) => {
                assert!(model == kind.name && !kind.in_portions, "{}", kind.name);
            }
            Err(other) => panic!("{}: {other}", kind.name),
        }
    }
    let full = Fit::new(GmmParams::with(2, Covariance::Full));
    let told = learn(&full, &portions).unwrap_err().to_string();
    assert!(told.contains("gmm") && told.contains("these options"), "{told}");
}

#[test]
fn what_was_chosen_stays_and_a_portion_that_fails_leaves_no_trace() {
    let (_, portions) = cut(600, 300);
    let (kept, fit) = (Portions::default(), Fit::new(VqParams::new(5)));
    fit.portion(&kept, Held::Table(portions[0].clone()), &mut Silent).unwrap();
    let before = kept.to_bytes().unwrap();
    let other = Fit::new(VqParams::new(6));
    assert!(other.portion(&kept, Held::Table(portions[1].clone()), &mut Silent).is_err());
    let narrow = Table::from(Dense::new(2, 1, vec![0.0, 1.0]).unwrap());
    assert!(fit.portion(&kept, Held::Table(narrow), &mut Silent).is_err());
    let single = Table::from(Dense::new(2, 121, vec![0.5f32; 242]).unwrap());
    assert!(fit.portion(&kept, Held::Table(single), &mut Silent).is_err());
    assert_eq!(kept.to_bytes().unwrap(), before);
    assert_eq!((kept.seen(), kept.rows()), (1, 300));
}

#[test]
fn weight_two_equals_the_row_twice_in_portions_too() {
    let (_, portions) = cut(400, 200);
    let fit = Fit::new(GmmParams::new(3)).restarts(1).passes(5);
    let twice =
        |portion: &Table<f64>| portion.clone().with_weights(vec![2.0; portion.rows()]).unwrap();
    let heavy: Vec<_> = portions.iter().map(twice).collect();
    let (a, b) = (learn(&fit, &portions).unwrap(), learn(&fit, &heavy).unwrap());
    let (a, b) = (a.manifest.training.unwrap(), b.manifest.training.unwrap());
    assert_eq!((a.total_weight(), b.total_weight()), (400.0, 800.0));
    assert!((2.0 * a.bound - b.bound).abs() < 1e-6 * b.bound.abs(), "{} {}", a.bound, b.bound);
}
