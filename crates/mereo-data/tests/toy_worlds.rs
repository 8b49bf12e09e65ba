//! What holds in every toy world.

use mereo_core::Cells;
use mereo_data::toy::{Toy, Truth, World};

fn small(world: World, seed: u64) -> Toy {
    world.make(Some(40), seed).unwrap()
}

#[test]
fn the_truth_fits_the_table() {
    for world in World::ALL {
        let Toy { table, truth } = world.make(None, 5).unwrap();
        assert_eq!(table.rows(), world.default_rows());
        assert_eq!((truth.world.as_str(), truth.seed), (world.name(), 5));
        assert_eq!(truth.part_of_column.len(), table.columns());
        assert_eq!(truth.states.len(), table.rows());
        assert_eq!(truth.state_names.len(), truth.parts.len());
        assert_eq!(truth.labels, table.about().labels);
        for part in 0..truth.parts.len() {
            let owned = truth.part_of_column.iter().filter(|p| **p == Some(part as u32)).count();
            assert!(owned >= 20, "{world}: part {part} has {owned} columns");
            // Every state is seen, and none beyond the last.
            let mut seen = vec![false; truth.state_names[part].len()];
            truth.states.iter().for_each(|row| seen[row[part] as usize] = true);
            assert!(seen.iter().all(|&s| s), "{world}: part {part}");
        }
        let known: Vec<usize> =
            truth.part_of_column.iter().map(|p| p.map_or(99, |p| p as usize)).collect();
        assert_eq!(truth.recovery(&known).unwrap().matched, 1.0);
    }
}

#[test]
fn a_seed_gives_the_same_world_and_another_seed_another() {
    for world in World::ALL {
        assert_eq!(small(world, 7), small(world, 7));
        assert_ne!(small(world, 7).table, small(world, 8).table);
    }
}

#[test]
fn more_rows_leave_the_earlier_ones_alone() {
    for world in World::ALL {
        let many = world.make(Some(60), 3).unwrap();
        let first: Vec<usize> = (0..40).collect();
        assert_eq!(many.table.select_rows(&first), small(world, 3).table);
        assert_eq!(many.truth.states[..40], small(world, 3).truth.states[..]);
    }
}

#[test]
fn the_truth_survives_json() {
    for world in World::ALL {
        let truth = small(world, 1).truth;
        let text = serde_json::to_string(&truth).unwrap();
        assert_eq!(serde_json::from_str::<Truth>(&text).unwrap(), truth);
    }
}

#[test]
fn impossible_wishes_are_errors() {
    assert!("cubes".parse::<World>().is_err());
    for world in World::ALL {
        assert_eq!(world.name().parse::<World>().unwrap(), world);
        assert!(world.make(Some(0), 0).is_err());
        assert!(world.make(Some(usize::MAX), 0).is_err());
        for bad in [f64::NAN, -0.1, f64::INFINITY] {
            assert!(small(world, 0).with_noise(bad, 0).is_err());
            assert!(small(world, 0).with_missing(bad, 0).is_err());
        }
    }
    assert!(small(World::Ratings, 0).with_noise(0.1, 0).is_err());
    assert!(small(World::Documents, 0).with_missing(0.1, 0).is_err());
}

#[test]
fn noise_and_missing_cells_are_as_many_as_asked_for() {
    let clean = World::Shapes.make(None, 0).unwrap();
    let noisy = clean.clone().with_noise(0.5, 1).unwrap();
    let holes = noisy.clone().with_missing(0.3, 2).unwrap();
    let values = |toy: &Toy| match toy.table.cells() {
        Cells::Dense(cells) => cells.values().to_vec(),
        Cells::Sparse(_) => unreachable!(),
    };
    let (clean, noisy, holes) = (values(&clean), values(&noisy), values(&holes));
    let count = clean.len() as f64;
    let error = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>() / count
    };
    assert!((error(&clean, &noisy).sqrt() - 0.5).abs() < 0.01);
    let missing = holes.iter().filter(|v| v.is_nan()).count() as f64;
    assert!((missing / count - 0.3).abs() < 0.01);
    assert!(holes.iter().zip(&noisy).all(|(h, n)| h.is_nan() || h == n));

    let all = World::Ratings.make(None, 0).unwrap();
    let fewer = all.clone().with_missing(0.5, 0).unwrap();
    let stored = |toy: &Toy| match toy.table.cells() {
        Cells::Sparse(cells) => cells.values().len() as f64,
        Cells::Dense(_) => unreachable!(),
    };
    assert!((stored(&fewer) / stored(&all) - 0.5).abs() < 0.01);
    assert_eq!(fewer.table.about().names, all.table.about().names);
}

#[test]
fn expressions_are_what_they_are_called() {
    let truth = World::Faces.make(None, 0).unwrap().truth;
    let labels = truth.labels.as_ref().unwrap();
    let share = |class: &str, part: &str, states: &[&str]| {
        let part = truth.parts.iter().position(|p| p == part).unwrap();
        let rows: Vec<usize> = (0..truth.states.len())
            .filter(|&r| labels.names[labels.of_row[r].unwrap() as usize] == class)
            .collect();
        let hits = rows
            .iter()
            .filter(|&&r| {
                let state = &truth.state_names[part][truth.states[r][part] as usize];
                states.contains(&state.as_str())
            })
            .count();
        hits as f64 / rows.len() as f64
    };
    assert!(share("scream", "mouth", &["scream"]) > 0.8);
    assert!(share("smile", "mouth", &["smile", "grin"]) > 0.8);
    assert!(share("anger", "brows", &["frowning"]) > 0.8);
    assert!(share("anger", "mouth", &["tight", "frown"]) > 0.8);
    assert_eq!(share("sunglasses", "eyes", &["sunglasses"]), 1.0);
    assert!(share("neutral", "eyes", &["sunglasses"]) < 0.05);
}
