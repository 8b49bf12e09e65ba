use mereo_core::Context;
use rand::RngExt;

use super::*;
use crate::Field;
use crate::decide::{ExpansionParams, TrwsParams, cut, expansion, trws};
use crate::infer::{MeanFieldParams, enumerate, enumerate_best, mean_field};

/// The same field with tables.
fn as_field(grid: &Grid) -> Field {
    let unary = (0..grid.variables()).map(|i| grid.unary(i).to_vec()).collect();
    let mut field = Field::new(unary).unwrap();
    let labels = grid.label_count();
    grid.for_each_weight(|_, a, b, weight| {
        let table = (0..labels * labels)
            .map(|k| -weight * grid.coupling().cost(k / labels, k % labels))
            .collect();
        field.couple(a, b, table).unwrap();
    });
    field
}

fn random_grid(seed: u64, (h, w): (usize, usize), labels: usize, coupling: Coupling) -> Grid {
    let mut random = Context::new(seed).random("grid", [h as u64, w as u64]);
    let neighbours = if seed.is_multiple_of(2) { Neighbours::Four } else { Neighbours::Eight };
    let unary = (0..h * w * labels).map(|_| random.random_range(-1.0..1.0)).collect();
    let weights = if seed.is_multiple_of(3) {
        Weights::Shared(random.random_range(0.0..0.8))
    } else {
        let count = h * w * neighbours.count();
        Weights::PerEdge((0..count).map(|_| random.random_range(0.0..0.8)).collect())
    };
    Grid::new((h, w), labels, neighbours, Unary::PerPixel(unary), coupling, weights).unwrap()
}

#[test]
fn short_ways_equal_tables() {
    for seed in 0..60u64 {
        let coupling = match seed % 4 {
            0 => Coupling::Potts,
            1 => Coupling::Truncated(0),
            2 => Coupling::Truncated(2),
            _ => Coupling::Truncated(9),
        };
        let labels = 1 + seed as usize % 7;
        let grid = random_grid(seed, (3, 4), labels, coupling);
        let field = as_field(&grid);
        let mut random = Context::new(seed).random("messages", [0, 0]);
        let h: Vec<f64> = (0..labels).map(|_| random.random_range(-4.0..4.0)).collect();
        let mut q = h.clone();
        mereo_core::math::softmax(&mut q);
        for i in 0..grid.variables() {
            for link in grid.links(i) {
                let same = field.links(i).find(|l| l.to == link.to).unwrap();
                let each = |use_it: &dyn Fn(&mut [f64], bool)| {
                    let (mut a, mut b) = (vec![0.5; labels], vec![0.5; labels]);
                    use_it(&mut a, true);
                    use_it(&mut b, false);
                    for (a, b) in a.iter().zip(&b) {
                        assert!((a - b).abs() < 1e-9, "seed {seed} {coupling:?}: {a} {b}");
                    }
                };
                each(&|out, short| {
                    if short {
                        grid.add_given(link, labels - 1, out);
                    } else {
                        field.add_given(same, labels - 1, out);
                    }
                });
                each(&|out, short| {
                    if short {
                        grid.add_expected(link, &q, out);
                    } else {
                        field.add_expected(same, &q, out);
                    }
                });
                each(&|out, short| {
                    if short {
                        grid.max_message(link, &h, out);
                    } else {
                        field.max_message(same, &h, out);
                    }
                });
                each(&|out, short| {
                    if short {
                        grid.sum_message(link, &h, out);
                    } else {
                        field.sum_message(same, &h, out);
                    }
                });
            }
        }
        let labels: Vec<usize> = (0..12).map(|i| i % labels).collect();
        assert!((grid.score(&labels) - field.score(&labels)).abs() < 1e-12);
    }
}

#[test]
fn links_lead_back() {
    for seed in 0..4 {
        let grid = random_grid(seed, (3, 5), 2, Coupling::Potts);
        for i in 0..15 {
            for link in grid.links(i) {
                let back = grid.links(link.to).find(|l| l.to == i).unwrap();
                assert_eq!(back, link.reversed(i));
            }
        }
    }
}

#[test]
fn grid_cuts_equal_brute_force_and_general_cuts() {
    for seed in 0..200 {
        let size = (1 + seed as usize % 4, 1 + seed as usize / 4 % 5);
        let grid = random_grid(seed, size, 2, Coupling::Potts);
        let found = grid_cut(&grid).unwrap();
        let best = enumerate_best(&grid).unwrap();
        assert!((found.energy - best.energy).abs() < 1e-6, "seed {seed}");
        let large = random_grid(seed, (17, 23), 2, Coupling::Potts);
        let (a, b) = (grid_cut(&large).unwrap(), cut(&as_field(&large)).unwrap());
        assert!((a.energy - b.energy).abs() < 1e-5, "seed {seed}: {} {}", a.energy, b.energy);
    }
}

#[test]
fn cuts_at_levels_equal_brute_force() {
    for seed in 0..100u64 {
        let mut random = Context::new(seed).random("levels", [0, 0]);
        let labels = 1 + seed as usize % 6;
        let size = (2, 3);
        let unary = (0..6)
            .flat_map(|_| {
                let (at, scale) = (random.random_range(0.0..6.0), random.random_range(0.1..1.0));
                (0..labels).map(move |m| -scale * (m as f64 - at).powi(2)).collect::<Vec<_>>()
            })
            .collect();
        let neighbours = if seed.is_multiple_of(2) { Neighbours::Four } else { Neighbours::Eight };
        let weights = Weights::Shared(random.random_range(0.0..2.0));
        let coupling = Coupling::Truncated(labels);
        let grid =
            Grid::new(size, labels, neighbours, Unary::PerPixel(unary), coupling, weights).unwrap();
        let found = levels(&grid, &Context::new(0)).unwrap();
        let best = enumerate_best(&grid).unwrap();
        assert!((found.energy - best.energy).abs() < 1e-6, "seed {seed}");
    }
}

#[test]
fn levels_that_are_not_convex_are_named() {
    let grid = random_grid(1, (3, 3), 5, Coupling::Truncated(5));
    assert!(levels(&grid, &Context::new(0)).unwrap_err().to_string().contains("convex"));
}

#[test]
fn coloured_sweeps_lower_the_free_energy_and_rest_where_single_ones_do() {
    for seed in 0..60u64 {
        let labels = 2 + seed as usize % 3;
        let coupling =
            if seed.is_multiple_of(5) { Coupling::Truncated(1) } else { Coupling::Potts };
        let grid = random_grid(seed, (5, 6), labels, coupling);
        let params = MeanFieldParams { sweeps: 3000, tolerance: 1e-12, ..Default::default() };
        let context = Context::new(0);
        let fast = grid_mean_field(&grid, None, &params, &context).unwrap();
        let quick = labels == 2 && grid.neighbours() == Neighbours::Four;
        let room = if quick { 1e-5 } else { 1e-12 };
        assert!(fast.trace.is_sorted_by(|a, b| *b <= a + room), "seed {seed}");
        // At rest it is a fixed point of single updates too.
        let again = mean_field(&grid, Some(&fast.marginals), &params, &context).unwrap();
        let pairs = fast.marginals.values().iter().zip(again.marginals.values());
        let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < if quick { 1e-4 } else { 1e-8 }, "seed {seed}: {worst}");
        let small = random_grid(seed, (2, 3), labels, coupling);
        let bound = grid_mean_field(&small, None, &params, &context).unwrap().log_z.unwrap();
        assert!(bound <= enumerate(&small).unwrap().log_z.unwrap() + 1e-6);
    }
}

#[test]
fn threads_change_nothing() {
    for labels in [2, 3] {
        for seed in 0..2 {
            let grid = random_grid(seed, (67, 45), labels, Coupling::Potts);
            let on = |threads| {
                let context = Context::new(0).with_threads(threads).unwrap();
                grid_mean_field(&grid, None, &MeanFieldParams::default(), &context).unwrap()
            };
            assert_eq!(on(1), on(3));
        }
    }
}

#[test]
fn methods_agree_on_grids_of_several_labels() {
    let context = Context::new(0);
    for seed in 0..30 {
        let grid = random_grid(seed, (2, 4), 3, Coupling::Potts);
        let best = enumerate_best(&grid).unwrap().energy;
        let found = expansion(&grid, None, &ExpansionParams::default(), &context);
        assert!(found.energy >= best - 1e-9 && found.energy - best < 0.5);
        let bounded = trws(&grid, &TrwsParams::default(), &context).unwrap();
        assert!(bounded.bound.unwrap() <= best + 1e-9 && bounded.energy >= best - 1e-9);
    }
}

#[test]
fn grids_of_nothing_and_of_one_pixel_are_fine() {
    for size in [(0, 0), (1, 1), (1, 5), (5, 1)] {
        let grid = random_grid(2, size, 2, Coupling::Potts);
        let context = Context::new(0);
        assert_eq!(grid_cut(&grid).unwrap().labels.len(), size.0 * size.1);
        let mean = grid_mean_field(&grid, None, &MeanFieldParams::default(), &context).unwrap();
        assert_eq!(mean.marginals.variables(), size.0 * size.1);
    }
}
