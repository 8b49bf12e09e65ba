//! `mereo report` of a map.

use std::path::Path;

use mereo::with_data;
use mereo_core::{Context, ModelFile, Picture, Real, Result, Source, column_name};
use mereo_map::Map;
use mereo_report::{MapPage, write_map};

use super::chain::{Chain, states};
use crate::args::Reading;
use crate::output::Voice;

/// Cells of the data that a page is made of, at most.
const MOST_CELLS: usize = 200_000_000;

/// Whether a model file holds a map.
pub(crate) fn is_map(file: &ModelFile) -> bool {
    file.manifest.model == Map::KIND
}

/// What is to be on the page, and where it goes.
pub(crate) struct Asked<'a> {
    pub(crate) map: &'a Path,
    pub(crate) data: Option<&'a Path>,
    pub(crate) reading: &'a Reading,
    pub(crate) title: &'a str,
    pub(crate) picture: Option<Picture>,
    pub(crate) output: &'a Path,
}

/// Writes the page of a map, with the rows' cells and states if their data is there.
pub(crate) fn report(
    file: ModelFile,
    asked: &Asked<'_>,
    context: &Context,
    voice: Voice,
) -> Result<()> {
    let Asked { title, output, .. } = *asked;
    let (map, manifest, chain) = Chain::from_file(file, asked.map)?;
    let mut page = MapPage {
        title,
        method: name_of(map.params().method.name()),
        manifest: &manifest,
        points: map.points(),
        dimensions: map.dimensions(),
        names: map.names(),
        labels: map.labels(),
        columns: None,
        picture: asked.picture.or(manifest.picture),
        states: Vec::new(),
        facts: facts(&map),
        eigenvalues: map.eigenvalues(),
        shepard: map.shepard(),
    };
    let Some(data_path) = asked.data.filter(|_| map.columns().is_some()) else {
        return write_map(&page, output);
    };
    let opened = asked.reading.open(data_path, context, voice)?;
    let opened = chain.align(opened, &map, &manifest, data_path)?;
    with_data!(&opened, held => {
        let source = held.source();
        if source.rows() != map.rows() {
            return Err(mereo_core::Error::found(
                mereo_core::Place::file(data_path),
                format!("{} rows", source.rows()),
                format!("the {} rows that the map was made of", map.rows()),
            ));
        }
        if let Some(fitted) = chain.first() {
            page.states = states(fitted, source, context)?;
        }
        let cells = cells(source)?;
        let labels = source.about().labels.clone();
        page.labels = page.labels.or(labels.as_ref());
        page.picture = page.picture.or(source.about().picture);
        if let Some(cells) = &cells {
            let names = source.about().names.as_deref();
            let names = (0..source.columns()).map(|k| column_name(names, k)).map(|name| {
                if name.parse::<usize>().is_ok() { format!("column {name}") } else { name }
            });
            page.columns = Some((names.collect(), cells));
        }
        write_map(&page, output)
    })
}

/// All cells of the data, unless they are too many for a page.
fn cells<T: Real>(source: &dyn Source<T>) -> Result<Option<Vec<f64>>> {
    let count = source.rows().saturating_mul(source.columns());
    if count > MOST_CELLS {
        return Ok(None);
    }
    let mut values = Vec::with_capacity(count);
    let mut row_cells = vec![T::ZERO; source.columns()];
    let mut lane = source.lane(0..source.batches())?;
    while let Some(batch) = lane.next_batch()? {
        for row in 0..batch.rows {
            batch.dense_row(row, &mut row_cells);
            values.extend(row_cells.iter().map(|v| v.to_f64()));
        }
    }
    Ok(Some(values))
}

fn name_of(method: &str) -> &str {
    match method {
        "tsne" => "t-SNE",
        "sammon" => "Sammon's mapping",
        "mds" => "metric scaling",
        _ => "principal coordinates",
    }
}

fn facts(map: &Map) -> Vec<(String, String, String)> {
    let quality = map.quality();
    let fact =
        |what: &str, much: String, meaning: &str| (what.to_owned(), much, meaning.to_owned());
    let mut facts = Vec::new();
    if let Some(kl) = map.cost().kl {
        facts.push(fact(
            "KL divergence",
            format!("{kl:.3}"),
            "between neighbourhoods in the data and in the map; 0 is perfect",
        ));
    } else if map.trace().is_some() {
        let seen = 100.0 * (1.0 - map.cost().value);
        facts.push(fact("Seen", format!("{seen:.1}%"), "of all squared distances from the middle"));
    } else if let Some(relative) = map.relative_cost() {
        facts.push(fact(
            "Cost",
            format!("{:.2}%", 100.0 * relative),
            "of that of all points in one place; 0 is perfect",
        ));
    }
    let k = quality.neighbours;
    facts.push(fact(
        "Trustworthiness",
        format!("{:.3}", quality.trustworthiness),
        "neighbours in the map are neighbours in the data: 1 always, about ½ by chance",
    ));
    facts.push(fact(
        "Continuity",
        format!("{:.3}", quality.continuity),
        "neighbours in the data are neighbours in the map",
    ));
    facts.push(fact(
        "Neighbours kept",
        format!("{:.1}%", 100.0 * quality.neighbour_recall),
        &format!("of the {k} nearest rows of each row"),
    ));
    facts.push(fact(
        "Rank correlation",
        format!("{:.3}", quality.rank_correlation),
        "of distances in the data and in the map",
    ));
    if let Some(agreement) = quality.label_agreement {
        facts.push(fact(
            "Labels",
            format!("{:.1}%", 100.0 * agreement),
            &format!("of the {k} nearest points have the row's label"),
        ));
    }
    if map.search_recall() < 1.0 {
        facts.push(fact(
            "Neighbours found",
            format!("{:.2}%", 100.0 * map.search_recall()),
            "of true neighbours, by the search that the map was made with",
        ));
    }
    if quality.measured < map.rows() {
        facts.push(fact(
            "Measured",
            quality.measured.to_string(),
            "rows, evenly spread, against all",
        ));
    }
    facts
}
