//! Readers on real data sets. They are not part of the repository (several may not be passed
//! on): where their folder is absent these tests say so and pass.

use std::path::{Path, PathBuf};

use mereo_core::{AnyTable, Cells, Picture, with_table};
use mereo_data::{Kind, ReadOptions, detect, read};

/// A file of the shared data, or nothing, said aloud, if it is not there.
fn shared(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    if !path.exists() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

fn read_as(path: &Path, kind: Kind) -> AnyTable {
    assert_eq!(detect(path).unwrap(), kind);
    read(path, &ReadOptions::default()).unwrap()
}

fn size(table: &AnyTable) -> (usize, usize) {
    (table.rows(), table.columns())
}

/// Sum of all stored values and number of cells without one.
fn sum_and_missing(table: &AnyTable) -> (f64, usize) {
    fn of<T: mereo_core::Real>(cells: &Cells<T>) -> (f64, usize) {
        match cells {
            Cells::Dense(cells) => {
                let observed = cells.values().iter().filter(|v| !v.is_missing());
                let sum = observed.clone().map(|v| v.to_f64()).sum();
                (sum, cells.values().len() - observed.count())
            }
            Cells::Sparse(cells) => {
                let sum = cells.values().iter().map(|v| v.to_f64()).sum();
                (sum, cells.rows() * cells.columns() - cells.values().len())
            }
        }
    }
    with_table!(table, t => of(t.cells()))
}

#[test]
fn movielens_ratings() {
    let Some(path) = shared("movielens-100k/u.data.gz") else { return };
    let table = read_as(&path, Kind::Ratings);
    assert_eq!(size(&table), (943, 1682));
    let (sum, missing) = sum_and_missing(&table);
    assert_eq!((sum, missing), (352_986.0, 943 * 1682 - 100_000));
    let names = table.about().names.as_ref().unwrap();
    assert_eq!(names[0], "Toy Story (1995)");
    assert_eq!(names[267], "Chasing Amy (1997) #268");
    assert!(names.iter().any(|n| n.starts_with("Misérables, Les")));
}

#[test]
fn movielens_splits_have_fewer_users_or_items() {
    let Some(path) = shared("movielens-100k/u1.base.gz") else { return };
    let table = read_as(&path, Kind::Ratings);
    assert_eq!(size(&table), (943, 1650));
}

#[test]
fn nips_papers() {
    let Some(path) = shared("nips/docword.txt.gz") else { return };
    let table = read_as(&path, Kind::Words);
    assert_eq!(size(&table), (1500, 7605));
    assert_eq!(sum_and_missing(&table).1, 1500 * 7605 - 709_477);
    assert_eq!(table.about().names.as_ref().unwrap()[..2], ["aaai", "abbott"]);
}

#[test]
fn mnist_digits_with_their_labels() {
    let Some(path) = shared("mnist/t10k-images-idx3-ubyte.gz") else { return };
    let Some(labels) = shared("mnist/t10k-labels-idx1-ubyte.gz") else { return };
    assert_eq!(detect(&path).unwrap(), Kind::Idx);
    let label = Some(labels.to_str().unwrap().to_owned());
    let table = read(&path, &ReadOptions { label, ..ReadOptions::default() }).unwrap();
    assert_eq!(size(&table), (10_000, 784));
    assert!(matches!(table, AnyTable::F32(_)));
    let picture = Picture { height: 28, width: 28, channels: 1 };
    assert_eq!(table.about().picture, Some(picture));
    let labels = table.about().labels.as_ref().unwrap();
    assert_eq!(labels.names.concat(), "0123456789");
    assert_eq!(labels.of_row[..4], [Some(7), Some(2), Some(1), Some(0)]);
    let Some(train) = shared("mnist/train-labels-idx1-ubyte.gz") else { return };
    let label = Some(train.to_str().unwrap().to_owned());
    let error = read(&path, &ReadOptions { label, ..ReadOptions::default() }).unwrap_err();
    let expected = "found 60000 labels, expected one for each of the 10000 rows";
    assert_eq!(error.to_string(), format!("{}: {expected}", train.display()));
}

#[test]
fn face_arrays() {
    let Some(path) = shared("cbcl-faces/train_faces.npy") else { return };
    let table = read_as(&path, Kind::Npy);
    assert_eq!(size(&table), (2429, 361));
    let picture = Picture { height: 19, width: 19, channels: 1 };
    assert_eq!(table.about().picture, Some(picture));
    let Some(path) = shared("olivetti/faces.npy") else { return };
    let Some(subject) = shared("olivetti/subject.npy") else { return };
    let label = Some(subject.to_str().unwrap().to_owned());
    let table = read(&path, &ReadOptions { label, ..ReadOptions::default() }).unwrap();
    assert_eq!(size(&table), (400, 4096));
    assert_eq!(table.about().labels.as_ref().unwrap().names.len(), 40);
}

#[test]
fn yeast_expression_with_missing_cells() {
    let Some(path) = shared("expression/yeast_cellcycle.npy") else { return };
    let table = read_as(&path, Kind::Npy);
    assert_eq!(size(&table), (6221, 80));
    assert!(matches!(table, AnyTable::F32(_)));
    let share = sum_and_missing(&table).1 as f64 / (6221.0 * 80.0);
    assert!((share - 0.043).abs() < 0.001, "{share}");
}

#[test]
fn tables_as_text() {
    for (name, expected, first) in [
        ("tabular/bodyfat.csv", (252, 15), Some("density")),
        ("uci-density/winequality-red.csv", (1599, 12), Some("fixedacidity")),
        ("uci-density/housing.data", (506, 14), None),
    ] {
        let Some(path) = shared(name) else { continue };
        let table = read_as(&path, Kind::Csv);
        assert_eq!(size(&table), expected, "{name}");
        let names = table.about().names.as_ref();
        assert_eq!(names.map(|n| n[0].as_str()), first, "{name}");
        assert_eq!(sum_and_missing(&table).1, 0, "{name}");
    }
}

#[test]
fn photographs_in_a_tar() {
    let Some(path) = shared("bsds300/test.tar") else { return };
    assert_eq!(detect(&path).unwrap(), Kind::Images);
    let error = read(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("--resize"), "{error}");
    let options = ReadOptions { resize: Some((24, 32)), ..ReadOptions::default() };
    let table = read(&path, &options).unwrap();
    assert_eq!(size(&table), (100, 24 * 32 * 3));
    assert!(table.about().labels.is_none());
}

#[test]
fn a_painting_alone_in_its_folder() {
    let Some(folder) = shared("vermeer") else { return };
    let file = folder.join("girl_with_a_pearl_earring.jpg");
    assert_eq!(detect(&file).unwrap(), Kind::Images);
    let read = |path: &Path| read(path, &ReadOptions::default());
    match (read(&folder), read(&file)) {
        (Ok(table), Ok(single)) => {
            assert_eq!(size(&table), (1, 859 * 600 * 3));
            assert_eq!(single, table);
        }
        // Its name says JPEG and its content WebP: where that cannot be decoded, it is said.
        (Err(in_folder), Err(alone)) => {
            assert!(in_folder.to_string().contains("jpg: found a WebP picture"), "{in_folder}");
            assert_eq!(in_folder.to_string(), alone.to_string());
        }
        other => panic!("{other:?}"),
    }
}
