//! What t-SNE must keep to.

use mereo_core::{Context, Dense, Table, math::entropy_bits};
use rand_distr::{Distribution, StandardNormal};

use super::affinities::{Affinities, Widths};
use super::forces::Repulsion;
use crate::neighbours::neighbours;
use crate::params::{Affinity, Forces};
use crate::{Given, Rows};

fn rows(count: usize, columns: usize) -> Rows {
    let mut random = Context::new(2).random("rows", [count as u64, columns as u64]);
    let values = (0..count * columns).map(|i| {
        let x: f64 = StandardNormal.sample(&mut random);
        x + 5.0 * ((i / columns) % 4) as f64
    });
    let cells = Dense::<f64>::new(count, columns, values.collect()).unwrap();
    Rows::read(&Table::from(cells)).unwrap()
}

fn points(count: usize, dimensions: usize, spread: f64) -> Vec<f64> {
    let mut random = Context::new(4).random("points", [count as u64, dimensions as u64]);
    let normal = |_| -> f64 { StandardNormal.sample(&mut random) };
    (0..count * dimensions).map(normal).map(|x| spread * x).collect()
}

fn affinities(rows: &Rows, affinity: &Affinity) -> Affinities {
    let widths = affinity.for_rows(rows.rows()).unwrap();
    let count = widths.neighbours(rows.rows());
    let (near, _) = neighbours(&Given::Rows(rows), count, &Context::new(0)).unwrap();
    Affinities::new(&near, &widths)
}

#[test]
fn perplexities_are_as_asked_for() {
    let squares: Vec<f64> = (0..90).map(|i| 3.0 + f64::from(i * i) * 1e-3).collect();
    let mut p = vec![0.0; 90];
    for perplexity in [1.5, 5.0, 30.0, 80.0] {
        Widths::Perplexities(vec![perplexity]).probabilities(&squares, &mut p);
        assert!((entropy_bits(&p).exp2() - perplexity).abs() < 1e-6);
        // Whatever the unit, and however far away all of them are.
        let scaled: Vec<f64> = squares.iter().map(|d| d * 1e-20 + 1e-3).collect();
        let mut again = vec![0.0; 90];
        Widths::Perplexities(vec![perplexity]).probabilities(&scaled, &mut again);
        assert!(again.iter().all(|p| p.is_finite()));
    }
}

#[test]
fn neighbours_at_no_distance_are_equally_likely() {
    let mut p = vec![0.0; 4];
    Widths::Perplexities(vec![2.0]).probabilities(&[0.0; 4], &mut p);
    assert_eq!(p, [0.25; 4]);
    // More equal rows than the perplexity: they share all there is.
    Widths::Perplexities(vec![2.0]).probabilities(&[0.0, 0.0, 0.0, 1.0], &mut p);
    assert!(p[3] < 1e-9 && (p[0] - 1.0 / 3.0).abs() < 1e-9);
}

#[test]
fn joint_probabilities_add_up_to_one_and_are_symmetric() {
    let rows = rows(300, 6);
    for affinity in [
        Affinity::Auto,
        Affinity::Perplexity(7.0),
        Affinity::Multiscale(vec![5.0, 50.0]),
        Affinity::Width(2.0),
    ] {
        let joint = affinities(&rows, &affinity);
        assert!((joint.total() - 1.0).abs() < 1e-6, "{affinity:?} {}", joint.total());
        for i in 0..300 {
            let (index, value) = joint.row(i);
            assert!(index.windows(2).all(|w| w[0] < w[1]) && !index.contains(&(i as u32)));
            for (&j, &p) in index.iter().zip(value) {
                let (back, values) = joint.row(j as usize);
                let at = back.binary_search(&(i as u32)).unwrap();
                assert_eq!(values[at], p);
            }
        }
    }
}

#[test]
fn gradients_are_those_of_finite_differences() {
    let rows = rows(60, 5);
    let joint = affinities(&rows, &Affinity::Perplexity(8.0));
    for dimensions in [1, 2, 3] {
        for degrees in [0.5, 1.0, 3.0] {
            let mut repulsion = Repulsion::new(Forces::Exact, degrees, 60, dimensions);
            let mut at = points(60, dimensions, 1.5);
            let mut gradient = vec![0.0; at.len()];
            joint.gradient(&at, dimensions, 1.0, degrees, &mut repulsion, &mut gradient);
            for k in (0..at.len()).step_by(7) {
                let here = at[k];
                let mut cost = |y: f64| {
                    at[k] = y;
                    joint.divergence(&at, dimensions, &mut repulsion, degrees)
                };
                let slope = (cost(here + 1e-5) - cost(here - 1e-5)) / 2e-5;
                at[k] = here;
                let off = (slope - gradient[k]).abs();
                assert!(off < 1e-6, "{dimensions} {degrees} {slope} {}", gradient[k]);
            }
        }
    }
}

#[test]
fn grid_and_tree_give_the_exact_forces_nearly() {
    for (forces, dimensions, near) in [
        (Forces::Grid, 1, 5e-3),
        (Forces::Grid, 2, 3e-2),
        (Forces::Tree, 2, 3e-2),
        (Forces::Tree, 3, 3e-2),
    ] {
        for (spread, degrees) in [(1e-4, 1.0), (1.0, 1.0), (20.0, 1.0), (15.0, 0.5), (5.0, 10.0)] {
            let at = points(3000, dimensions, spread);
            let mut right = vec![0.0; at.len()];
            let z = Repulsion::new(Forces::Exact, degrees, 3000, dimensions).add(&at, &mut right);
            let mut found = vec![0.0; at.len()];
            let about = Repulsion::new(forces, degrees, 3000, dimensions).add(&at, &mut found);
            assert!((about / z - 1.0).abs() < near, "{forces:?} {spread}: {about} for {z}");
            let off: f64 = right.iter().zip(&found).map(|(a, b)| (a - b).powi(2)).sum();
            let all: f64 = right.iter().map(|a| a * a).sum();
            let share = (off / all).sqrt();
            assert!(
                share < near,
                "{forces:?} in {dimensions}, spread {spread}, {degrees}: {share}"
            );
        }
    }
}

#[test]
fn points_in_one_place_have_no_force() {
    for (forces, dimensions) in
        [(Forces::Exact, 2), (Forces::Grid, 1), (Forces::Grid, 2), (Forces::Tree, 3)]
    {
        let at = vec![0.5; 2000 * dimensions];
        let mut force = vec![0.0; at.len()];
        let z = Repulsion::new(forces, 1.0, 2000, dimensions).add(&at, &mut force);
        assert!((z / (2000.0 * 1999.0) - 1.0).abs() < 1e-3, "{forces:?} {z}");
        assert!(force.iter().all(|f| f.abs() < 1e-3), "{forces:?}");
    }
}

#[test]
fn perplexity_above_what_rows_allow_is_refused() {
    assert!(Affinity::Perplexity(10.0).for_rows(11).is_ok());
    let error = Affinity::Perplexity(10.5).for_rows(11).unwrap_err().to_string();
    assert!(error.contains("perplexity") && error.contains("about 3"), "{error}");
    assert!(Affinity::Multiscale(vec![2.0, 99.0]).for_rows(50).is_err());
}
