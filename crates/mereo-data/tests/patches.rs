//! Patches of photographs.

use std::collections::HashMap;

use mereo_core::Cells;
use mereo_data::{patches, prepare_patch};

#[test]
fn preparation_agrees_with_the_reference() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/patch.json");
    let fixture: HashMap<String, Vec<f64>> =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let row = prepare_patch(&fixture["pixels"], &fixture["noise"]);
    assert_eq!(row.len(), 63);
    for (found, expected) in row.iter().zip(&fixture["x63"]) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }
}

#[test]
fn patches_come_from_the_pictures_and_depend_on_the_seed_alone() {
    let folder = tempfile::tempdir().unwrap();
    // Two pictures of different shape: one grey ramp, one of a single colour.
    let ramp: Vec<u8> = (0..20 * 10).map(|i| (i % 20 * 10) as u8).collect();
    let mut grey = b"P5\n20 10\n255\n".to_vec();
    grey.extend(ramp);
    std::fs::write(folder.path().join("a.pgm"), grey).unwrap();
    let mut red = b"P6\n9 30\n255\n".to_vec();
    red.extend([200u8, 0, 0].repeat(270));
    std::fs::write(folder.path().join("b.ppm"), red).unwrap();
    let cells = |count, seed| {
        let table = patches(folder.path(), 4, count, seed).unwrap();
        assert_eq!((table.rows(), table.columns()), (count, 15));
        let Cells::Dense(cells) = table.cells() else { panic!() };
        cells.values().to_vec()
    };
    let some = cells(50, 3);
    assert_eq!(some, cells(80, 3)[..50 * 15]);
    assert_ne!(some, cells(50, 4));
    // A step of the ramp is 10/256 and noise; the other picture has only noise.
    let mut kinds = [0, 0];
    for row in some.chunks(15) {
        let step = f64::from(row[1] - row[0]) * 256.0;
        kinds[usize::from(step > 5.0)] += 1;
        assert!(step.abs() < 1.0 || (step - 10.0).abs() < 1.0, "{step}");
    }
    assert!(kinds[0] > 10 && kinds[1] > 10);
    let error = patches(folder.path(), 12, 5, 0).unwrap_err().to_string();
    assert!(error.contains("a.pgm") && error.contains("at least 12 x 12"), "{error}");
    assert!(patches(folder.path(), 1, 5, 0).is_err() && patches(folder.path(), 4, 0, 0).is_err());
}
