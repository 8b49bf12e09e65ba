//! Forsyth, figures 12.1 and 12.2: 6,000 digits of MNIST, brought to 30 principal components, by Sammon's
//! mapping and by t-SNE; and what the perplexity does.
//!
//! `cargo xtask experiments map_digits`. The book shows figures of van der Maaten and Hinton and no numbers.

use std::time::Instant;

use mereo_core::{Context, Plan, Result, Silent, Table, encode};
use mereo_experiments::digits;
use mereo_experiments::maps::{draw_points, map_rows, nearest_agreement};
use mereo_linear::{PcaParams, pca};
use mereo_map::{Affinity, MapParams, Method, TsneParams};

fn main() -> Result<()> {
    let Some(table) = digits(0, 6000)? else { return Ok(()) };
    let labels = table.about().labels.clone().unwrap_or_default();
    let context = Context::new(0).with_threads(0)?;
    let (model, _) =
        pca::fit(&PcaParams::new(30), &table, &Plan::default(), &context, &mut Silent)?;
    let codes = Table::from(encode(&model, &table, &context)?);
    println!("Forsyth 12.1, 12.2: 6,000 digits in 30 principal components\n");
    println!(
        "{:<26} {:>9} {:>9} {:>9} {:>8} {:>8} {:>8}",
        "map", "cost", "nearest", "ten", "trust", "recall", "seconds"
    );
    let show = |name: &str, method: Method, figure: Option<&str>| -> Result<()> {
        let began = Instant::now();
        let map = map_rows(&MapParams::new(method), &codes, Some(&labels))?;
        let quality = map.quality();
        println!(
            "{name:<26} {:>9.4} {:>8.1}% {:>8.1}% {:>8.4} {:>8.3} {:>8.1}",
            map.cost().value,
            100.0 * nearest_agreement(&map),
            100.0 * quality.label_agreement.unwrap_or(f64::NAN),
            quality.trustworthiness,
            quality.neighbour_recall,
            began.elapsed().as_secs_f64()
        );
        if let Some(figure) = figure {
            let points: Vec<(f64, f64)> =
                map.points().chunks_exact(2).map(|p| (p[0], p[1])).collect();
            let class = |i: usize| labels.of_row[i].map_or(0, |l| l as usize);
            draw_points(figure, name, &points, class, None)?;
        }
        Ok(())
    };
    show("principal coordinates", Method::Pcoa, Some("map-digits-pcoa"))?;
    show("Sammon (12.1)", Method::sammon(), Some("map-digits-sammon"))?;
    show("t-SNE (12.2)", Method::tsne(), Some("map-digits-tsne"))?;
    for perplexity in [5.0, 10.0, 50.0, 100.0, 300.0] {
        let affinity = Affinity::Perplexity(perplexity);
        let params = TsneParams { affinity, ..TsneParams::default() };
        show(&format!("t-SNE, perplexity {perplexity}"), Method::Tsne(params), None)?;
    }
    Ok(())
}
