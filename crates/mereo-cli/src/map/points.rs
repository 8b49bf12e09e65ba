//! Where rows are, in files and in words.

use std::fmt::Write as _;
use std::path::Path;

use mereo::Mapped;
use mereo_core::{AnyTable, Dense, Labels, ModelFile, Result, Table, write_atomically};
use mereo_data::write::write_table;
use mereo_map::Map;
use serde_json::json;

use crate::output;

/// What dimensions are called.
pub(super) fn axis(k: usize, dimensions: usize) -> String {
    match k {
        0..=2 if dimensions <= 3 => ["x", "y", "z"][k].to_owned(),
        _ => format!("y{}", k + 1),
    }
}

/// Writes points as a table; names of rows, which only text can hold, where the file is text.
pub(super) fn write(
    path: &Path,
    points: &[f64],
    dimensions: usize,
    labels: Option<&Labels>,
    names: Option<&[String]>,
) -> Result<()> {
    let axes: Vec<String> = (0..dimensions).map(|k| axis(k, dimensions)).collect();
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    if let Some(names) = names
        && ["csv", "tsv"].contains(&extension.as_str())
    {
        let gap = if extension == "csv" { "," } else { "\t" };
        let quoted = |text: &str| {
            if text.contains([',', '\t', '"', '\n', '\r']) {
                format!("\"{}\"", text.replace('"', "\"\""))
            } else {
                text.to_owned()
            }
        };
        return write_atomically(path, |out| {
            let label = if labels.is_some() { format!("{gap}label") } else { String::new() };
            writeln!(out, "name{gap}{}{label}", axes.join(gap))?;
            for (row, point) in points.chunks_exact(dimensions).enumerate() {
                let numbers: Vec<String> = point.iter().map(f64::to_string).collect();
                write!(out, "{}{gap}{}", quoted(&names[row]), numbers.join(gap))?;
                if let Some(labels) = labels {
                    let label = labels.of_row[row].map_or("", |l| &labels.names[l as usize]);
                    write!(out, "{gap}{}", quoted(label))?;
                }
                writeln!(out)?;
            }
            Ok(())
        });
    }
    let cells = Dense::new(points.len() / dimensions, dimensions, points.to_vec())?;
    let mut table = Table::from(cells).with_names(axes)?;
    if let Some(labels) = labels {
        table = table.with_labels(labels.clone())?;
    }
    write_table(path, &AnyTable::from(table))
}

/// A map in a few lines.
pub(super) fn in_words(map: &Map) -> String {
    let quality = map.quality();
    let mut text = format!(
        "{}: {} rows in {} dimensions\n",
        map.params().method.name(),
        map.rows(),
        map.dimensions()
    );
    // Writing to a string does not fail.
    let _ = match (map.cost().kl, map.trace()) {
        (Some(kl), _) => writeln!(text, "Kullback-Leibler divergence {kl:.4}"),
        (None, Some(trace)) => {
            let values: Vec<String> =
                map.eigenvalues().iter().take(5).map(|v| format!("{v:.4}")).collect();
            let below = map.eigenvalues().iter().filter(|v| **v < -1e-9 * trace.abs()).count();
            let least = map.eigenvalues().last().copied().unwrap_or(0.0);
            let _ = writeln!(
                text,
                "{:.1}% of all squared distances from the middle are seen",
                100.0 * (1.0 - map.cost().value)
            );
            if below > 0 {
                let _ = writeln!(
                    text,
                    "{below} eigenvalues are below 0, down to {least:.4}: the distances are not quite those \
                     of points"
                );
            }
            writeln!(text, "eigenvalues {} ...", values.join(", "))
        }
        _ => writeln!(
            text,
            "cost {:.6}, {:.4}% of that of all points in one place",
            map.cost().value,
            100.0 * map.relative_cost().unwrap_or(0.0)
        ),
    };
    let _ = writeln!(
        text,
        "trustworthiness {:.4}, continuity {:.4}, {:.1}% of {} neighbours kept, rank correlation of distances {:.4}",
        quality.trustworthiness,
        quality.continuity,
        100.0 * quality.neighbour_recall,
        quality.neighbours,
        quality.rank_correlation
    );
    if let Some(agreement) = quality.label_agreement {
        let _ = writeln!(text, "{:.1}% of neighbours have the same label", 100.0 * agreement);
    }
    if map.search_recall() < 1.0 {
        let _ = writeln!(
            text,
            "{:.2}% of true neighbours were found by the search",
            100.0 * map.search_recall()
        );
    }
    text
}

/// `mereo show` of a map.
pub(crate) fn show(file: ModelFile, path: &Path, as_json: bool) -> Result<()> {
    let shapes: serde_json::Map<String, serde_json::Value> =
        file.tensors().map(|(name, tensor)| (name.to_owned(), json!(tensor.shape))).collect();
    let mapped = Mapped::from_file(file, path)?;
    let through = mapped.through();
    if as_json {
        return output::print_json(&json!({
            "model": Map::KIND,
            "file": path.to_string_lossy(),
            "manifest": mapped.manifest,
            "tensors": shapes,
            "through": through,
        }));
    }
    let through = if through.is_empty() {
        String::new()
    } else {
        format!("rows go through {}\n", through.join(", then "))
    };
    output::print(&format!("map by {}{through}", in_words(&mapped.map)))
}

/// The share of new rows' nearest points, ten each, that have their labels; by name, since new data
/// may number them otherwise.
pub(super) fn agreement(map: &Map, new: &[f64], labels: &Labels) -> Option<f64> {
    const NEIGHBOURS: usize = 10;
    let known = map.labels()?;
    let d = map.dimensions();
    let (mut same, mut all) = (0usize, 0usize);
    for (row, point) in new.chunks_exact(d).enumerate() {
        let Some(own) = labels.of_row[row].map(|l| &labels.names[l as usize]) else { continue };
        let apart = |p: &[f64]| p.iter().zip(point).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        let mut near: Vec<(f64, usize)> =
            map.points().chunks_exact(d).map(apart).enumerate().map(|(j, a)| (a, j)).collect();
        let count = NEIGHBOURS.min(near.len());
        near.select_nth_unstable_by(count - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for &(_, j) in &near[..count] {
            if let Some(label) = known.of_row[j] {
                all += 1;
                same += usize::from(known.names[label as usize] == *own);
            }
        }
    }
    (all > 0).then(|| same as f64 / all as f64)
}
