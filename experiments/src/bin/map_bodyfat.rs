//! Forsyth, figures 10.18 and 10.19: the body fat data in three and in two dimensions, by principal
//! coordinates; and the numbers of section 10.5.
//!
//! `cargo xtask experiments map_bodyfat`. The book's table has one column more (adiposity).

use mereo_core::Result;
use mereo_data::{ReadOptions, read};
use mereo_experiments::maps::{draw_points, map_rows};
use mereo_experiments::{shared, wide};
use mereo_map::{MapParams, Method};

fn main() -> Result<()> {
    let Some(path) = shared("tabular/bodyfat.csv") else { return Ok(()) };
    let table = wide(&read(&path, &ReadOptions::default())?)?;
    println!("Forsyth 10.18, 10.19: {} rows of {} columns\n", table.rows(), table.columns());
    println!(
        "{:<12} {:>10} {:>16} {:>10} {:>12}",
        "dimensions", "seen", "trustworthiness", "recall", "correlation"
    );
    for dimensions in [3, 2] {
        let params = MapParams { dimensions, ..MapParams::new(Method::Pcoa) };
        let map = map_rows(&params, &table, None)?;
        let quality = map.quality();
        println!(
            "{dimensions:<12} {:>9.2}% {:>16.4} {:>10.3} {:>12.4}",
            100.0 * (1.0 - map.cost().value),
            quality.trustworthiness,
            quality.neighbour_recall,
            quality.rank_correlation
        );
        // Three dimensions from two sides, as the book shows them.
        let sides: &[(usize, usize)] = if dimensions == 3 { &[(0, 1), (0, 2)] } else { &[(0, 1)] };
        for (a, b) in sides {
            let points: Vec<(f64, f64)> =
                map.points().chunks_exact(dimensions).map(|p| (p[*a], p[*b])).collect();
            let title = format!("Body fat, coordinates {} and {} of {dimensions}", a + 1, b + 1);
            let name = format!("map-bodyfat-{dimensions}-{}{}", a + 1, b + 1);
            draw_points(&name, &title, &points, |_| 0, None)?;
        }
        if dimensions == 3 {
            // Eigenvalues of the coordinates are those of the covariance, times the rows less one.
            let rows = table.rows() as f64 - 1.0;
            let total = map.trace().unwrap_or(0.0) / rows;
            let three: f64 = map.eigenvalues()[..3].iter().sum::<f64>() / rows;
            let error = (total - three).sqrt();
            println!("\n{:<46} {:>8} {:>8}", "section 10.5", "book", "ours");
            println!("{:<46} {:>8} {:>8.1}", "sum of all eigenvalues", 1404, total);
            println!("{:<46} {:>8} {:>8.1}", "its root: how far from the middle", 37, total.sqrt());
            println!("{:<46} {:>8} {:>8.1}", "sum of the first three", 1357, three);
            println!("{:<46} {:>8} {:>8.2}", "root of what is left", 6.8, error);
            println!("{:<46} {:>8} {:>8.3}", "relative error", 0.18, error / total.sqrt());
            println!(
                "{:<46} {:>7}% {:>7.2}%\n",
                "share that is left",
                3.4,
                100.0 * (total - three) / total
            );
        }
    }
    Ok(())
}
