//! Forsyth, figure 10.16: the provincial capitals of South Africa from their distances alone, laid onto
//! where they are.
//!
//! `cargo xtask experiments map_cities`.

use mereo_core::{Context, Result};
use mereo_data::{ReadOptions, read};
use mereo_experiments::maps::draw_points;
use mereo_experiments::{cells, shared, wide};
use mereo_map::{Distances, Given, Journey, MapParams, Method, PairCost, fit, procrustes};

fn main() -> Result<()> {
    let (Some(distances), Some(capitals)) =
        (shared("cities/distances.csv"), shared("cities/capitals.csv"))
    else {
        return Ok(());
    };
    let named = ReadOptions { label: Some("city".into()), ..ReadOptions::default() };
    let (table, places) = (wide(&read(&distances, &named)?)?, wide(&read(&capitals, &named)?)?);
    let labels = places.about().labels.clone().unwrap_or_default();
    let names: Vec<String> = labels
        .of_row
        .iter()
        .map(|l| l.map_or_else(String::new, |l| labels.names[l as usize].clone()))
        .collect();
    // Degrees to kilometres on a page, about the middle of the country.
    let middle = cells(&places).iter().step_by(2).sum::<f64>() / places.rows() as f64;
    let true_places: Vec<f64> = cells(&places)
        .chunks_exact(2)
        .flat_map(|p| [p[1] * middle.to_radians().cos() * 111.2, p[0] * 111.2])
        .collect();
    let given = Distances::new(table.rows(), cells(&table).to_vec())?;
    let context = Context::new(0);
    println!("Forsyth 10.16: {} capitals from their distances\n", table.rows());
    println!("{:<22} {:>14} {:>12}", "method", "off by (km)", "explained");
    let mut stress = Method::mds();
    if let Method::Mds(params) = &mut stress {
        params.cost = PairCost::Distances;
    }
    for (name, method) in [
        ("principal coordinates", Method::Pcoa),
        ("metric scaling", Method::mds()),
        ("stress", stress),
        ("Sammon", Method::sammon()),
    ] {
        let mut journey = Journey { context: &context, checkpoints: None, watch: &mut |_| () };
        let (map, _) =
            fit(&MapParams::new(method.clone()), &Given::Distances(&given), None, &mut journey)?;
        let laid = procrustes(map.points(), &true_places, 2, true)?;
        println!("{name:<22} {:>14.1} {:>11.4}%", laid.error, 100.0 * laid.explained);
        if method == Method::Pcoa {
            let shown: Vec<String> = map.eigenvalues().iter().map(|v| format!("{v:.0}")).collect();
            println!("    eigenvalues {}", shown.join(" "));
            let both: Vec<(f64, f64)> = laid
                .points
                .chunks_exact(2)
                .chain(true_places.chunks_exact(2))
                .map(|p| (p[0], p[1]))
                .collect();
            let title = "Capitals from their distances (blue) and where they are (orange)";
            draw_points(
                "map-cities",
                title,
                &both,
                |i| usize::from(i >= names.len()),
                Some(&names),
            )?;
        }
    }
    Ok(())
}
