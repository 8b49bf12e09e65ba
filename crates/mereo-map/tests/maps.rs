//! What every map must keep to.

use std::time::Duration;

use mereo_core::{Checkpoints, Context, Dense, Labels, Manifest, ModelFile, Status, Table};
use mereo_map::{
    Affinity, Distances, Forces, Given, Journey, Map, MapParams, MdsParams, Method, PairCost,
    PairParams, Placer, Rows, Step, TsneParams, TsneStart, fit, procrustes,
};
use rand_distr::{Distribution, StandardNormal};

fn clusters(count: usize, columns: usize, offset: f64) -> Table<f64> {
    let mut random = Context::new(8).random("clusters", [count as u64, columns as u64]);
    let mut values = Vec::new();
    for row in 0..count {
        for column in 0..columns {
            let x: f64 = StandardNormal.sample(&mut random);
            values.push(x + offset + if column == row % 3 { 8.0 } else { 0.0 });
        }
    }
    Table::from(Dense::new(count, columns, values).unwrap())
}

fn labels(count: usize) -> Labels {
    Labels::from_texts((0..count).map(|row| Some((row % 3).to_string())))
}

fn methods() -> Vec<Method> {
    let mut quick = TsneParams::default();
    (quick.early_steps, quick.steps) = (100, 150);
    let mut stress = Method::mds();
    if let Method::Mds(params) = &mut stress {
        params.cost = PairCost::Distances;
    }
    vec![Method::Pcoa, Method::mds(), stress, Method::sammon(), Method::Tsne(quick)]
}

fn mapped(params: &MapParams, given: &Given<'_>, threads: usize) -> Map {
    let context = Context::new(1).with_threads(threads).unwrap();
    let labels = labels(given.count());
    let mut journey = Journey { context: &context, checkpoints: None, watch: &mut |_| () };
    fit(params, given, Some(&labels), &mut journey).unwrap().0
}

fn bytes(map: &Map) -> Vec<u8> {
    map.to_file(Manifest::new(Map::KIND)).unwrap().to_bytes().unwrap()
}

fn distances_of(rows: &Rows) -> Distances {
    let n = rows.rows();
    let given = Given::Rows(rows);
    let values = (0..n * n).map(|k| given.square(k / n, k % n).sqrt()).collect();
    Distances::new(n, values).unwrap()
}

fn worst(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn the_same_bytes_on_any_number_of_threads() {
    let rows = Rows::read(&clusters(1100, 7, 0.0)).unwrap();
    let quick = TsneParams { early_steps: 40, steps: 60, ..TsneParams::default() };
    let few = PairParams { starts: 2, steps: 50, tolerance: 0.0 };
    let cases = [
        (2, Method::Pcoa),
        (2, Method::Mds(MdsParams { cost: PairCost::Squares, pairs: few.clone() })),
        (3, Method::Sammon(few)),
        (2, Method::Tsne(quick.clone())),
        (3, Method::Tsne(TsneParams { forces: Forces::Tree, ..quick.clone() })),
        (1, Method::Tsne(TsneParams { start: TsneStart::Spectral, ..quick })),
    ];
    for (dimensions, method) in cases {
        let params = MapParams { dimensions, ..MapParams::new(method.clone()) };
        let alone = bytes(&mapped(&params, &Given::Rows(&rows), 1));
        for threads in [2, 7] {
            let again = bytes(&mapped(&params, &Given::Rows(&rows), threads));
            assert!(alone == again, "{} on {threads}", method.name());
        }
    }
}

#[test]
fn clusters_are_seen_by_every_method() {
    let rows = Rows::read(&clusters(240, 6, 0.0)).unwrap();
    let distances = distances_of(&rows);
    for method in methods() {
        for given in [Given::Rows(&rows), Given::Distances(&distances)] {
            let map = mapped(&MapParams::new(method.clone()), &given, 2);
            let quality = map.quality();
            assert!(quality.label_agreement.unwrap() > 0.97, "{} {quality:?}", method.name());
            assert!(quality.trustworthiness > 0.75, "{} {quality:?}", method.name());
            assert!(map.points().iter().all(|y| y.is_finite()));
        }
    }
}

#[test]
fn principal_coordinates_of_rows_and_of_their_distances_are_the_same() {
    let rows = Rows::read(&clusters(80, 5, 0.0)).unwrap();
    let distances = distances_of(&rows);
    let params = MapParams { dimensions: 3, ..MapParams::new(Method::Pcoa) };
    let (a, b) = (
        mapped(&params, &Given::Rows(&rows), 1),
        mapped(&params, &Given::Distances(&distances), 1),
    );
    for k in 0..3 {
        let side =
            |map: &Map| map.points().iter().skip(k).step_by(3).copied().collect::<Vec<f64>>();
        let (one, mut other) = (side(&a), side(&b));
        // Directions are turned by their own largest entries, which differ.
        if one[0].signum() != other[0].signum() {
            other.iter_mut().for_each(|y| *y = -*y);
        }
        assert!(worst(&one, &other) < 1e-8);
        assert!((a.eigenvalues()[k] / b.eigenvalues()[k] - 1.0).abs() < 1e-10);
    }
    // As many dimensions as columns show all there is.
    let params = MapParams { dimensions: 5, ..params };
    let all = mapped(&params, &Given::Distances(&distances), 1);
    assert!(
        all.cost().value < 1e-10
            && (all.trace().unwrap() - all.eigenvalues()[..5].iter().sum::<f64>()).abs() < 1e-6
    );
    let shown =
        Rows::read(&Table::from(Dense::new(80, 5, all.points().to_vec()).unwrap())).unwrap();
    for i in 0..80 {
        let (far, near) = (Given::Rows(&shown).square(0, i), Given::Rows(&rows).square(0, i));
        assert!((far - near).abs() < 1e-8 * (1.0 + near));
    }
}

#[test]
fn distances_that_no_points_have_are_told_by_eigenvalues_below_zero() {
    // A square whose diagonals are as long as three sides.
    let d = [0.0, 1.0, 3.0, 1.0, 1.0, 0.0, 1.0, 3.0, 3.0, 1.0, 0.0, 1.0, 1.0, 3.0, 1.0, 0.0];
    let distances = Distances::new(4, d.to_vec()).unwrap();
    let map = mapped(&MapParams::new(Method::Pcoa), &Given::Distances(&distances), 1);
    assert!(map.eigenvalues().last().unwrap() < &-0.1);
    assert!((map.eigenvalues().iter().sum::<f64>() - map.trace().unwrap()).abs() < 1e-9);
}

#[test]
fn an_offset_of_a_million_changes_nothing() {
    for method in methods() {
        let (one, two) = (
            Rows::read(&clusters(150, 4, 0.0)).unwrap(),
            Rows::read(&clusters(150, 4, 1e6)).unwrap(),
        );
        let params = MapParams::new(method.clone());
        let (a, b) =
            (mapped(&params, &Given::Rows(&one), 1), mapped(&params, &Given::Rows(&two), 1));
        // t-SNE amplifies the last bits: its maps are as good, not equal.
        if method.name() == "tsne" {
            assert!((a.cost().value - b.cost().value).abs() < 0.05);
        } else {
            let fit = procrustes(a.points(), b.points(), 2, false).unwrap();
            assert!(fit.explained > 0.999, "{} {}", method.name(), fit.explained);
        }
    }
}

#[test]
fn weights_count_as_rows_do() {
    let rows = Rows::read(&clusters(60, 4, 0.0)).unwrap();
    let twice: Vec<usize> = (0..60).chain(0..10).collect();
    let doubled = rows.select(&twice);
    let weights = (0..60).map(|i| if i < 10 { 2.0 } else { 1.0 }).collect();
    let weighted = rows.clone().with_weights(weights).unwrap();
    for given in [
        Given::Rows(&weighted),
        Given::Distances(
            &distances_of(&rows)
                .with_weights((0..60).map(|i| if i < 10 { 2.0 } else { 1.0 }).collect())
                .unwrap(),
        ),
    ] {
        let (a, b) = (
            mapped(&MapParams::new(Method::Pcoa), &given, 1),
            mapped(&MapParams::new(Method::Pcoa), &Given::Rows(&doubled), 1),
        );
        let fit = procrustes(a.points(), &b.points()[..120], 2, false).unwrap();
        assert!(fit.error < 1e-8, "{}", fit.error);
    }
    // Sammon's cost makes one point of equal rows, so that twice is weight two.
    let params = MapParams::new(Method::sammon());
    let a = mapped(&params, &Given::Rows(&weighted), 1);
    let b = mapped(&params, &Given::Rows(&doubled), 1);
    assert!((a.cost().value / b.cost().value - 1.0).abs() < 1e-3);
    assert_eq!(b.points()[..20], b.points()[120..140]);
    // Weight 0 is a row that has no say, but a place.
    let mut weights = vec![1.0; 60];
    weights[7] = 0.0;
    let silent = rows.clone().with_weights(weights).unwrap();
    for method in [Method::Pcoa, Method::sammon()] {
        let a = mapped(&MapParams::new(method), &Given::Rows(&silent), 1);
        let others: Vec<usize> = (0..60).filter(|&i| i != 7).collect();
        let b = mapped(a.params(), &Given::Rows(&rows.select(&others)), 1);
        let of = |i: usize| &a.points()[2 * i..2 * i + 2];
        let kept: Vec<f64> = others.iter().flat_map(|&i| of(i).to_vec()).collect();
        assert!(worst(&kept, b.points()) < 1e-6);
    }
}

#[test]
fn new_rows_are_placed_one_by_one_as_all_at_once() {
    let table = clusters(1500, 6, 0.0);
    let known: Vec<usize> = (0..1200).collect();
    let rows = Rows::read(&table.select_rows(&known)).unwrap();
    for method in methods() {
        let map = mapped(&MapParams::new(method.clone()), &Given::Rows(&rows), 2);
        let placer = Placer::new(&map);
        let fresh: Vec<usize> = (1200..1500).collect();
        let new = Rows::read_about(&table.select_rows(&fresh), placer.centre().unwrap()).unwrap();
        let context = Context::new(0).with_threads(2).unwrap();
        let together = context.install(|| placer.rows(&new)).unwrap();
        for i in (0..300).step_by(13) {
            let alone = placer.rows(&new.select(&[i])).unwrap();
            assert_eq!(alone, together[2 * i..2 * i + 2], "{}", method.name());
        }
        // They fall among their own.
        let mut right = 0;
        for i in 0..300 {
            let own = &together[2 * i..2 * i + 2];
            let apart = |j: usize| {
                let p = &map.points()[2 * j..2 * j + 2];
                (p[0] - own[0]).powi(2) + (p[1] - own[1]).powi(2)
            };
            let near = (0..1200).min_by(|&a, &b| apart(a).total_cmp(&apart(b))).unwrap();
            right += usize::from(near % 3 == i % 3);
        }
        assert!(right > 290, "{} {right}", method.name());
    }
}

#[test]
fn known_things_are_placed_where_they_are() {
    let rows = Rows::read(&clusters(50, 3, 0.0)).unwrap();
    let distances = distances_of(&rows);
    let all: Vec<f64> = (0..50).flat_map(|i| distances.from(i).to_vec()).collect();
    let params = MapParams { dimensions: 3, ..MapParams::new(Method::Pcoa) };
    for given in [Given::Rows(&rows), Given::Distances(&distances)] {
        let map = mapped(&params, &given, 1);
        let placer = Placer::new(&map);
        let again = match given {
            Given::Rows(rows) => placer.rows(rows).unwrap(),
            Given::Distances(_) => placer.distances(&all).unwrap(),
        };
        assert!(worst(&again, map.points()) < 1e-8);
    }
    let map = mapped(&MapParams::new(Method::sammon()), &Given::Distances(&distances), 1);
    assert_eq!(Placer::new(&map).distances(&all).unwrap(), map.points());
}

#[test]
fn landmarks_make_nearly_the_same_map() {
    let rows = Rows::read(&clusters(600, 5, 0.0)).unwrap();
    let distances = distances_of(&rows);
    for given in [Given::Rows(&rows), Given::Distances(&distances)] {
        for method in [Method::Pcoa, Method::sammon()] {
            let whole = mapped(&MapParams::new(method.clone()), &given, 2);
            let params = MapParams { landmarks: Some(200), ..MapParams::new(method) };
            let some = mapped(&params, &given, 2);
            let fit = procrustes(some.points(), whole.points(), 2, false).unwrap();
            assert!(fit.explained > 0.9, "{} {}", params.method.name(), fit.explained);
            let (again, _) = Map::from_file(
                ModelFile::from_bytes(&bytes(&some), "a".as_ref()).unwrap(),
                "a".as_ref(),
            )
            .unwrap();
            assert_eq!(again, some);
        }
    }
}

#[test]
fn a_run_that_was_cut_short_is_taken_up_to_the_same_bytes() {
    let rows = Rows::read(&clusters(300, 4, 0.0)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for method in methods() {
        if method == Method::Pcoa {
            continue;
        }
        let params = MapParams::new(method.clone());
        let whole = bytes(&mapped(&params, &Given::Rows(&rows), 1));
        let mut checkpoints = Checkpoints::new(folder.path().join(method.name()));
        checkpoints.every = Duration::ZERO;
        let _ = std::fs::remove_file(&checkpoints.path);
        let context = Context::new(1);
        let stop = context.stop().clone();
        let mut steps = 0;
        let mut watch = |_: &Step| {
            steps += 1;
            if steps == 2 {
                stop.ask();
            }
        };
        let mut journey =
            Journey { context: &context, checkpoints: Some(&checkpoints), watch: &mut watch };
        let labels = labels(300);
        let (_, training) = fit(&params, &Given::Rows(&rows), Some(&labels), &mut journey).unwrap();
        assert_eq!(training.status, Status::Interrupted);
        checkpoints.resume = true;
        let context = Context::new(1);
        let mut journey =
            Journey { context: &context, checkpoints: Some(&checkpoints), watch: &mut |_| () };
        let (map, _) = fit(&params, &Given::Rows(&rows), Some(&labels), &mut journey).unwrap();
        assert!(bytes(&map) == whole, "{}", method.name());
        // Other data is refused.
        let other = Rows::read(&clusters(301, 4, 0.0)).unwrap();
        let error = fit(&params, &Given::Rows(&other), None, &mut journey).unwrap_err();
        assert!(error.to_string().contains("other data"), "{error}");
        std::fs::write(&checkpoints.path, b"nonsense").unwrap();
        assert!(fit(&params, &Given::Rows(&rows), None, &mut journey).is_err());
    }
}

#[test]
fn odd_data_has_a_right_answer_or_a_clear_error() {
    let table =
        |n: usize, d: usize, values: Vec<f64>| Table::from(Dense::new(n, d, values).unwrap());
    let tables = [
        ("one row", table(1, 2, vec![1.0, 2.0])),
        ("two rows", table(2, 2, vec![1.0, 2.0, 3.0, 4.0])),
        ("three rows", table(3, 1, vec![1.0, 2.0, 4.0])),
        ("equal rows", table(20, 3, vec![7.0; 60])),
        ("pairs of equals", table(20, 1, (0..20).map(|i| f64::from(i / 2)).collect())),
        ("one column", table(40, 1, (0..40).map(f64::from).collect())),
        ("a constant column", table(30, 2, (0..60).map(|i| f64::from(i % 2 * (i / 2))).collect())),
        ("tiny", table(30, 2, (0..60).map(|i| f64::from(i * i % 17) * 1e-120).collect())),
        ("huge", table(30, 2, (0..60).map(|i| f64::from(i * i % 17) * 1e100).collect())),
        (
            "one far away",
            table(30, 1, (0..30).map(|i| if i == 0 { 1e12 } else { f64::from(i) }).collect()),
        ),
        ("a million up", table(30, 1, (0..30).map(|i| 1e6 + f64::from(i)).collect())),
    ];
    for (name, table) in &tables {
        let rows = Rows::read(table).unwrap();
        for method in methods() {
            for dimensions in [1, 2, 3] {
                let params = MapParams { dimensions, ..MapParams::new(method.clone()) };
                let context = Context::new(0);
                let mut journey =
                    Journey { context: &context, checkpoints: None, watch: &mut |_| () };
                match fit(&params, &Given::Rows(&rows), None, &mut journey) {
                    Ok((map, _)) => {
                        let finite = map.points().iter().all(|y| y.is_finite());
                        assert!(finite, "{name} by {}", method.name());
                        assert!(map.cost().value.is_finite(), "{name} by {}", method.name());
                        if *name == "equal rows" {
                            assert_eq!(map.quality().trustworthiness, 1.0, "{}", method.name());
                        }
                        let placed = Placer::new(&map);
                        let new = Rows::read_about(table, placed.centre().unwrap()).unwrap();
                        let placed = placed.rows(&new).unwrap();
                        assert!(placed.iter().all(|y| y.is_finite()), "{name} {}", method.name());
                    }
                    Err(error) => {
                        let text = error.to_string();
                        let few = rows.rows() <= dimensions && text.contains("more rows than");
                        let equal = *name == "equal rows" && text.contains("all equal");
                        assert!(few || equal, "{name} by {}: {text}", method.name());
                    }
                }
            }
        }
    }
    let hole = Table::from(Dense::new(2, 2, vec![1.0, f64::NAN, 2.0, 3.0]).unwrap());
    let error = Rows::read(&hole).unwrap_err().to_string();
    assert!(error.starts_with("row 0, column `1`: found a missing cell"), "{error}");
}

#[test]
fn every_choice_of_tsne_works() {
    let rows = Rows::read(&clusters(200, 5, 0.0)).unwrap();
    let quick = TsneParams { early_steps: 100, steps: 150, ..TsneParams::default() };
    let choices = [
        TsneParams { start: TsneStart::Spectral, ..quick.clone() },
        TsneParams { start: TsneStart::Random, ..quick.clone() },
        TsneParams { affinity: Affinity::Multiscale(vec![5.0, 40.0]), ..quick.clone() },
        TsneParams { affinity: Affinity::Width(1.5), ..quick.clone() },
        TsneParams { exaggeration: 3.0, ..quick.clone() },
        TsneParams { degrees: 0.5, ..quick.clone() },
        TsneParams { forces: Forces::Grid, ..quick.clone() },
        TsneParams { forces: Forces::Tree, ..quick },
    ];
    for choice in choices {
        let map = mapped(&MapParams::new(Method::Tsne(choice.clone())), &Given::Rows(&rows), 2);
        assert!(map.quality().label_agreement.unwrap() > 0.95, "{choice:?} {:?}", map.quality());
    }
}

#[test]
fn files_that_were_tampered_with_are_refused() {
    let rows = Rows::read(&clusters(40, 3, 0.0)).unwrap();
    for method in methods() {
        let map = mapped(&MapParams::new(method), &Given::Rows(&rows), 1);
        let file = map.to_file(Manifest::new(Map::KIND)).unwrap();
        let again = ModelFile::from_bytes(&file.to_bytes().unwrap(), "m".as_ref()).unwrap();
        assert_eq!(Map::from_file(again, "m".as_ref()).unwrap().0, map);
        let names: Vec<String> = file.tensors().map(|(name, _)| name.to_owned()).collect();
        for name in &names {
            let mut broken = file.clone();
            let mut tensor = broken.get(name).unwrap().clone();
            tensor.values[0] = f64::NAN;
            broken.insert(name, tensor.clone());
            assert!(Map::from_file(broken, "m".as_ref()).is_err(), "{name}");
            let mut short = file.clone();
            tensor.values[0] = 0.0;
            tensor.values.push(0.0);
            tensor.shape = vec![tensor.values.len()];
            short.insert(name, tensor);
            if !["eigenvalue", "centre"].contains(&name.as_str()) {
                assert!(Map::from_file(short, "m".as_ref()).is_err(), "{name}");
            }
        }
        let mut other = file;
        "pca".clone_into(&mut other.manifest.model);
        assert!(Map::from_file(other, "m".as_ref()).is_err());
    }
}
