//! PCA against its theory and at the edges.

use super::*;
use crate::spectrum::{Spectrum, Way};
use crate::testing::*;
use mereo_core::slots::Frame;
use mereo_core::{Absent, Context, Manifest, Plan, Real, Silent, Table};

fn pca<T: Real>(n: usize, table: &Table<T>) -> Pca {
    let plan = Plan { passes: 3000, tolerance: 1e-10, ..Plan::default() };
    fit(&PcaParams::new(n), table, &plan, &Context::new(1), &mut Silent).unwrap().0
}

#[test]
fn all_ways_lead_to_the_same_directions() {
    let (d, n) = (30, 3);
    let data = table::<f64>(d, &rows(80, d, 1));
    let frame = Frame::new(&vec![0.5; d], &vec![2.0; d]);
    for centred in [true, false] {
        let of = |way| Spectrum::of(&data, &frame, n, centred, way, &Context::new(0)).unwrap();
        let expected = of(Way::Covariance);
        for way in [Way::Gram, Way::Randomised] {
            let found = of(way);
            close(&found.scatter, &expected.scatter, 1e-9, "scatter");
            close(&found.directions, &expected.directions, 1e-6, "directions");
            close(&[found.total], &[expected.total], 1e-9, "total");
            close(&found.mean, &expected.mean, 1e-12, "mean");
        }
    }
}

#[test]
fn components_are_orthonormal_and_codes_uncorrelated() {
    let data = table::<f64>(6, &rows(50, 6, 2));
    let model = pca(4, &data);
    for (i, a) in model.component().chunks(6).enumerate() {
        for (j, b) in model.component().chunks(6).enumerate() {
            let product: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
            assert!((product - f64::from(i == j)).abs() < 1e-10);
        }
    }
    let params = PcaParams { whiten: true, ..PcaParams::new(4) };
    let white = fit(&params, &data, &Plan::default(), &Context::new(0), &mut Silent).unwrap().0;
    let codes = codes(&white, &data);
    for i in 0..4 {
        for j in 0..4 {
            let sum: f64 = codes.chunks(4).map(|c| c[i] * c[j]).sum();
            assert!((sum / 49.0 - f64::from(i == j)).abs() < 1e-9);
        }
    }
    let back = Pca::from_file(white.to_file(Manifest::new("pca")), "a".as_ref()).unwrap();
    assert_eq!(back, white);
}

#[test]
fn what_is_left_is_the_variance_beside_the_plane() {
    let data = table::<f64>(6, &rows(50, 6, 3));
    let model = pca(2, &data);
    let values = rows(50, 6, 3);
    let left: f64 =
        filled(&model, &data).iter().zip(&values).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / 49.0;
    close(&[left], &[4.0 * model.noise()], 1e-9, "left");
    let all = pca(6, &data);
    close(&filled(&all, &data), &values, 1e-9, "all components");
}

#[test]
fn missing_cells_hardly_move_strong_components() {
    let (whole, holes) = (rows(2000, 6, 4), with_holes(rows(2000, 6, 4), 4));
    let (a, b) = (pca(2, &table::<f64>(6, &whole)), pca(2, &table::<f64>(6, &holes)));
    close(a.component(), b.component(), 0.05, "component");
    close(a.explained_variance(), b.explained_variance(), 0.1, "variance");
    // And what was hidden is found again, better than by the column's mean.
    let found = filled(&b, &table::<f64>(6, &holes));
    let (mut own, mut mean) = (0.0, 0.0);
    for (i, x) in holes.iter().enumerate().filter(|(_, x)| x.is_nan()) {
        assert!(x.is_nan());
        own += (found[i] - whole[i]).powi(2);
        mean += (b.mean()[i % 6] - whole[i]).powi(2);
    }
    assert!(own < 0.35 * mean, "{own} {mean}");
}

#[test]
fn weight_2_is_the_row_twice_and_weight_0_the_row_removed() {
    for (count, columns) in [(40, 4), (5, 12)] {
        let values = rows(count, columns, 5);
        let weights: Vec<f64> = (0..count).map(|r| (r % 3) as f64).collect();
        let repeated: Vec<f64> = values
            .chunks(columns)
            .zip(&weights)
            .flat_map(|(row, &w)| row.repeat(w as usize))
            .collect();
        let weighted = table::<f64>(columns, &values).with_weights(weights).unwrap();
        let (a, b) = (pca(2, &weighted), pca(2, &table::<f64>(columns, &repeated)));
        close(a.component(), b.component(), 1e-8, "component");
        close(a.explained_variance(), b.explained_variance(), 1e-8, "variance");
    }
}

#[test]
fn an_offset_of_a_million_changes_nothing() {
    for (count, columns) in [(60, 4), (5, 12)] {
        let eighths: Vec<f64> =
            rows(count, columns, 6).iter().map(|x| (x * 8.0).round() / 8.0).collect();
        let up: Vec<f64> = eighths.iter().map(|x| x + 1e6).collect();
        let (a, b) =
            (pca(2, &table::<f64>(columns, &eighths)), pca(2, &table::<f64>(columns, &up)));
        close(a.component(), b.component(), 1e-8, "component");
        close(a.explained_variance(), b.explained_variance(), 1e-8, "variance");
        let (a, b) =
            (pca(2, &table::<f32>(columns, &eighths)), pca(2, &table::<f32>(columns, &up)));
        close(a.component(), b.component(), 1e-3, "component");
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let data = table::<f32>(7, &rows(6000, 7, 7));
    let bytes = |threads: usize| {
        let context = Context::new(5).with_threads(threads).unwrap();
        let (model, _) =
            fit(&PcaParams::new(3), &data, &Plan::default(), &context, &mut Silent).unwrap();
        let frame = Frame::new(&[0.0; 7], &[1.0; 7]);
        let random = Spectrum::of(&data, &frame, 2, true, Way::Randomised, &context).unwrap();
        (model.to_file(Manifest::new("pca")).to_bytes().unwrap(), random.directions)
    };
    let one = bytes(1);
    assert!(one == bytes(2) && one == bytes(7));
}

#[test]
fn dense_equals_sparse() {
    let values: Vec<f64> =
        rows(80, 5, 8).iter().map(|x| if x.abs() < 2.0 { 0.0 } else { *x }).collect();
    let (a, b) =
        (pca(2, &table::<f64>(5, &values)), pca(2, &sparse::<f64>(5, &values, Absent::Zero)));
    close(a.component(), b.component(), 1e-9, "component");
}

fn edge_is_finite<T: Real>(what: &str, columns: usize, values: &[f64]) {
    let data = table::<T>(columns, values);
    for n in 1..=columns.min(4) {
        let plan = Plan { passes: 20, ..Plan::default() };
        let (model, training) =
            fit(&PcaParams::new(n), &data, &plan, &Context::new(0), &mut Silent).unwrap();
        assert!(training.bound.is_finite(), "{what} {n}");
        assert!(scores(&model, &data).iter().all(|x| x.is_finite()), "{what} {n}");
        assert!(codes(&model, &data).iter().all(|x| x.is_finite()), "{what} {n}");
        assert!(filled(&model, &data).iter().all(|x| x.is_finite()), "{what} {n}");
        Pca::from_file(model.to_file(Manifest::new("pca")), what.as_ref()).unwrap();
    }
}

#[test]
fn edges_have_answers() {
    for (what, columns, values) in odd_tables() {
        edge_is_finite::<f64>(what, columns, &values);
        edge_is_finite::<f32>(what, columns, &values);
    }
}
