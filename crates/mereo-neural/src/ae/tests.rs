//! Auto-encoders against their theory.

use mereo_core::{
    Checkpoints, Context, Dense, Labels, Likelihood, Manifest, Picture, Plan, Silent, Status,
    Table, classify, encode, reconstruct,
};
use mereo_testing::table;

use super::*;

fn plan(passes: usize) -> Plan {
    Plan { passes, ..Plan::default() }
}

/// Rows on a plane, bent a little.
fn plane(rows: usize) -> Vec<f64> {
    (0..rows)
        .flat_map(|i| {
            let (a, b) = ((i % 17) as f64 / 8.0 - 1.0, (i % 23) as f64 / 11.0 - 1.0);
            [a, b, a + b, a - b, 0.5 * a * b]
        })
        .collect()
}

fn error(model: &Ae, rows: &Table<f64>, truth: &[f64]) -> f64 {
    let made = reconstruct::<f64>(model, rows, &Context::new(0)).unwrap();
    let squares = made.values().iter().zip(truth).map(|(a, b)| (a - b).powi(2));
    squares.sum::<f64>() / truth.len() as f64
}

#[test]
fn a_code_of_two_tells_a_plane() {
    let cells = plane(400);
    let data = table::<f64>(5, &cells);
    let params = AeParams { rate: 5e-3, ..AeParams::new(2) };
    let (model, training) = fit(&params, &data, &plan(60), &Context::new(1), &mut Silent).unwrap();
    assert!(error(&model, &data, &cells) < 0.01, "{}", error(&model, &data, &cells));
    let bounds = &training.restarts[0].bounds;
    assert!(bounds[bounds.len() - 1] > 0.05 * bounds[0], "{bounds:?}");
}

#[test]
fn a_rate_too_high_is_called_so_and_the_last_good_state_is_kept() {
    let data = table::<f64>(5, &plane(400));
    for optimiser in ["sgd", "adam"] {
        let optimiser = optimiser.parse().unwrap();
        let params = AeParams { rate: 1e6, optimiser, batch: 16, ..AeParams::new(2) };
        let (model, training) =
            fit(&params, &data, &plan(30), &Context::new(1), &mut Silent).unwrap();
        assert_eq!(training.status, Status::Diverged);
        assert!(training.bound.is_finite());
        let bytes = model.to_file(Manifest::new("ae")).to_bytes().unwrap();
        let file = mereo_core::ModelFile::from_bytes(&bytes, "a".as_ref()).unwrap();
        assert!(Ae::from_file(file, "a".as_ref()).is_ok());
    }
}

#[test]
fn learning_stops_when_rows_held_out_gain_no_more() {
    let data = table::<f64>(5, &plane(60));
    let params = AeParams { held_out: 0.3, patience: 2, rate: 0.02, ..AeParams::new(5) };
    let (_, training) = fit(&params, &data, &plan(2000), &Context::new(1), &mut Silent).unwrap();
    assert_eq!(training.status, Status::EarlyStop);
    assert_eq!(training.held_out.len(), training.passes + 1);
}

#[test]
fn a_resumed_run_ends_where_the_other_did() {
    let data = table::<f32>(5, &plane(300));
    let params = AeParams { noise: Some("mask:0.2".into()), batch: 64, ..AeParams::new(2) };
    let whole = fit(&params, &data, &plan(8), &Context::new(0), &mut Silent).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut checkpoints = Checkpoints::new(folder.path().join("run.ck"));
    checkpoints.every = std::time::Duration::ZERO;
    checkpoints.resume = true;
    let kept = Plan { checkpoints: Some(checkpoints), ..plan(8) };
    let context = Context::new(0);
    let mut watcher = mereo_testing::StopAt(context.stop().clone(), 3);
    fit(&params, &data, &kept, &context, &mut watcher).unwrap();
    let resumed = fit(&params, &data, &kept, &Context::new(0), &mut Silent).unwrap();
    assert_eq!(resumed, whole);
}

#[test]
fn stacked_stages_that_were_learned_are_not_learned_again() {
    let data = table::<f32>(5, &plane(300));
    let encoder = Some("dense 8, tanh, dense 6, tanh".to_owned());
    let params = AeParams { stacked: true, encoder, batch: 64, ..AeParams::new(2) };
    let whole = fit(&params, &data, &plan(6), &Context::new(0), &mut Silent).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ck");
    let kept = || {
        let mut checkpoints = Checkpoints::new(&path);
        checkpoints.every = std::time::Duration::ZERO;
        checkpoints.resume = true;
        checkpoints
    };
    // Stopped while stages are learned: once a stage is in the file, the run ends.
    let context = Context::new(0);
    let (stop, checkpoints) = (context.stop().clone(), kept());
    let pieces = checkpoints.pieces.clone();
    let done = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            for _ in 0..60_000 {
                if pieces.get::<Vec<Vec<f32>>>("stage 0 of start 0").is_some() {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            stop.ask();
        });
        let plan = Plan { checkpoints: Some(checkpoints), ..plan(6) };
        let done = fit(&params, &data, &plan, &context, &mut Silent);
        watch.join().unwrap();
        done
    });
    // Whether it was stopped in a stage or in what followed is a matter of time; the file has the first stage or more.
    assert!(path.exists());
    assert!(matches!(done, Ok(_) | Err(mereo_core::Error::Interrupted)), "{done:?}");
    let plan = Plan { checkpoints: Some(kept()), ..plan(6) };
    let resumed = fit(&params, &data, &plan, &Context::new(0), &mut Silent).unwrap();
    assert_eq!(resumed, whole);
}

#[test]
fn a_masked_cell_is_told_from_the_rest_only_by_one_that_learned_to() {
    // The fifth column is the sum of the others.
    let cells: Vec<f64> = (0..600)
        .flat_map(|i| {
            let own = [7, 11, 13, 17].map(|m| f64::from(i * 31 % m) / f64::from(m) - 0.5);
            let sum = own.iter().sum::<f64>();
            [own[0], own[1], own[2], own[3], sum, sum]
        })
        .collect();
    let data = table::<f64>(6, &cells);
    let mut holes = cells.clone();
    holes.chunks_exact_mut(6).for_each(|row| row[4] = f64::NAN);
    let hidden = table::<f64>(6, &holes);
    let of = |noise: Option<&str>| {
        let noise = noise.map(str::to_owned);
        let params = AeParams { noise, rate: 5e-3, ..AeParams::new(12) };
        let model = fit(&params, &data, &plan(80), &Context::new(1), &mut Silent).unwrap().0;
        let made = reconstruct::<f64>(&model, &hidden, &Context::new(0)).unwrap();
        (0..600).map(|r| (made.row(r)[4] - cells[r * 6 + 4]).powi(2)).sum::<f64>() / 600.0
    };
    let (plain, denoising) = (of(None), of(Some("mask:0.3")));
    assert!(denoising < 0.5 * plain, "{denoising} against {plain}");
}

#[test]
fn convolutions_learn_pictures_stacked_and_together() {
    // A bar in one of six places.
    let cells: Vec<f64> =
        (0..120).flat_map(|i| (0..36).map(move |p| f64::from(u8::from(p % 6 == i % 6)))).collect();
    let picture = Picture { height: 6, width: 6, channels: 1 };
    let data =
        Table::from(Dense::new(120, 36, cells.clone()).unwrap()).with_picture(picture).unwrap();
    for stacked in [false, true] {
        let encoder = Some("conv 4x3/2, relu, dense 16, tanh".into());
        let params = AeParams {
            encoder,
            stacked,
            rate: 1e-2,
            batch: 16,
            loss: Loss::CrossEntropy,
            ..AeParams::new(3)
        };
        let (model, training) =
            fit(&params, &data, &plan(60), &Context::new(1), &mut Silent).unwrap();
        assert!(error(&model, &data, &cells) < 0.02, "{stacked} {}", error(&model, &data, &cells));
        assert_eq!(training.restarts[0].start, if stacked { "stacked" } else { "random" });
    }
}

#[test]
fn few_labels_teach_classes() {
    let cells: Vec<f64> = (0..300)
        .flat_map(|i| {
            let centre = f64::from(i % 3) * 4.0;
            [centre + f64::from(i % 7) / 7.0, -centre + f64::from(i % 5) / 5.0, f64::from(i % 11)]
        })
        .collect();
    let labels =
        Labels::from_texts((0..300).map(|i| (i < 30).then(|| ["a", "b", "c"][i % 3].to_owned())));
    let data = table::<f64>(3, &cells).with_labels(labels).unwrap();
    let params = AeParams { classes: AeClasses::Labels, ..AeParams::new(2) };
    let model = fit(&params, &data, &plan(20), &Context::new(1), &mut Silent).unwrap().0;
    let chances = classify::<f64>(&model, Likelihood::Bound, &data, &Context::new(0)).unwrap();
    let right = (0..300).filter(|&r| chances.row(r)[r % 3] > 0.5).count();
    assert!(right > 280, "{right}");
    let none = table::<f64>(3, &cells);
    let error = fit(&params, &none, &plan(2), &Context::new(1), &mut Silent).unwrap_err();
    assert!(error.to_string().contains("no row has a label"));
}

#[test]
fn codebooks_store_codes_in_few_bits() {
    let cells = plane(400);
    let data = table::<f64>(5, &cells);
    let of = |codebooks: usize| {
        let params = AeParams { rate: 5e-3, codebooks, entries: 16, ..AeParams::new(2) };
        fit(&params, &data, &plan(60), &Context::new(1), &mut Silent).unwrap().0
    };
    let (one, three) = (of(1), of(3));
    let codes = encode::<f64>(&three, &data, &Context::new(0)).unwrap();
    assert_eq!(codes.columns(), 3);
    assert!(codes.values().iter().all(|n| n.fract() == 0.0 && (0.0..16.0).contains(n)));
    assert!(error(&three, &data, &cells) < 0.5 * error(&one, &data, &cells));
    let usage = three.usage().unwrap();
    assert!(usage.iter().all(|book| (book.iter().sum::<f64>() - 1.0).abs() < 1e-9));
    assert!(usage[0].iter().all(|share| *share > 0.0), "{:?}", usage[0]);
}

#[test]
fn cells_outside_of_their_range_are_named() {
    let data = table::<f64>(2, &[0.0, 1.0, 0.5, 3.0]);
    let params = AeParams { loss: Loss::CrossEntropy, ..AeParams::new(1) };
    let error = fit(&params, &data, &plan(2), &Context::new(1), &mut Silent).unwrap_err();
    assert!(error.to_string().contains("row 1, column `1`: found 3"), "{error}");
}
