//! Files of every version of the format stay readable and mean the same. The golden files were
//! written by the program; `scores.json` holds what it said of `rows.csv`, of `stars.csv` (ratings) and of `words.csv` then.

use std::path::{Path, PathBuf};

use mereo::data::{ReadOptions, read};
use mereo::quantize::codec::Coded;
use mereo::{AnyModel, AnyTable, Cells, Context, Fitted, Mapped, Table, models, reconstruct};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn table(name: &str) -> Table<f64> {
    match read(&golden(name), &ReadOptions::default()).unwrap() {
        AnyTable::F64(table) => table,
        AnyTable::F32(_) => panic!("text is read in double precision"),
    }
}

#[test]
fn every_model_has_a_file_of_every_format() {
    for kind in models() {
        let path = golden(&format!("{}-1.safetensors", kind.name.replace('-', "_")));
        assert!(path.is_file(), "{}: keep a golden file of it", kind.name);
    }
}

#[test]
fn files_of_format_1_load_and_score_as_they_did() {
    let text = std::fs::read_to_string(golden("scores.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
    let names = [
        "mcvq",
        "mcvq-factorised",
        "mcvq-classes",
        "mcfa",
        "mcfa-classes",
        "mcfa-bayesian",
        "vq",
        "gvq",
        "cvq",
        "gmm",
        "gmm-full",
        "gmm-lowrank",
        "student",
        "deep_gmm",
        "pca",
        "ppca",
        "fa",
        "vae",
        "bfa",
        "bfa-ordinal",
        "mcvq-words",
        "gmm-words",
    ];
    for name in names {
        let fitted = Fitted::open(&golden(&format!("{name}-1.safetensors"))).unwrap();
        let kind = name.split('-').next().unwrap().replace('_', "-");
        assert_eq!((fitted.model.kind(), fitted.manifest.format), (&*kind, 1));
        let (file, columns) = match name {
            "bfa" | "bfa-ordinal" | "mcfa-bayesian" => {
                ("stars.csv", ["left", "right", "up", "down"])
            }
            "mcvq-words" | "gmm-words" => ("words.csv", ["age", "colour", "visits", "member"]),
            _ => ("rows.csv", ["left", "right", "up", "down"]),
        };
        assert_eq!(fitted.manifest.columns.as_deref().unwrap(), columns);
        assert_eq!(fitted.training().unwrap().rows, 60);
        let scores = fitted.score(&table(file), None, &Context::new(0)).unwrap();
        let then: Vec<f64> = expected[name]["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_f64().unwrap())
            .collect();
        assert_eq!(scores.rows.len(), then.len());
        for (row, (now, then)) in scores.rows.iter().zip(then).enumerate() {
            assert!(
                (now - then).abs() < 1e-9 * (1.0 + then.abs()),
                "{name}, row {row}: {now} {then}"
            );
        }
    }
}

#[test]
fn files_of_models_without_densities_rebuild_as_they_did() {
    for (name, rows) in
        [("nmf", "amounts.csv"), ("ae", "rows.csv"), ("aspect", "stars.csv"), ("urp", "stars.csv")]
    {
        let (model, manifest) = AnyModel::open(&golden(&format!("{name}-1.safetensors"))).unwrap();
        assert_eq!((model.kind(), manifest.format), (name, 1));
        let rebuilt =
            reconstruct(model.reconstructor::<f64>().unwrap(), &table(rows), &Context::new(0));
        let then = table(&format!("{name}-rebuilt.csv"));
        let Cells::Dense(then) = then.cells() else { panic!("text is dense") };
        for (at, (now, then)) in rebuilt.unwrap().values().iter().zip(then.values()).enumerate() {
            assert!((now - then).abs() < 1e-9 * (1.0 + then.abs()), "{name}, {at}: {now} {then}");
        }
    }
}

#[test]
fn maps_of_format_1_place_rows_as_they_did() {
    for name in ["tsne", "sammon", "pcoa"] {
        let mapped = Mapped::open(&golden(&format!("map-{name}-1.safetensors"))).unwrap();
        assert_eq!((mapped.map.params().method.name(), mapped.manifest.format), (name, 1));
        assert_eq!(mapped.through(), ["pca"]);
        let now = mapped.place(&table("rows.csv"), &Context::new(0)).unwrap();
        let then = table(&format!("map-{name}-placed.csv"));
        let Cells::Dense(then) = then.cells() else { panic!("text is dense") };
        assert_eq!(now.len(), then.values().len());
        for (at, (now, then)) in now.iter().zip(then.values()).enumerate() {
            assert!((now - then).abs() < 1e-6 * (1.0 + then.abs()), "{name}, {at}: {now} {then}");
        }
    }
}

#[test]
fn a_compressed_picture_of_version_3_looks_as_it_did() {
    let path = golden("picture-3.gvq");
    let bytes = std::fs::read(&path).unwrap();
    let coded = Coded::from_bytes(&bytes, &path).unwrap();
    let picture = coded.picture().unwrap();
    assert_eq!((picture.width, picture.height, picture.channels), (21, 18, 3));
    let then = std::fs::read(golden("picture.ppm")).unwrap();
    assert!(then.ends_with(&picture.pixels));
    assert_eq!(coded.to_bytes(), bytes);
}
