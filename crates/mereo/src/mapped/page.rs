//! The page of a map.

use std::path::Path;

use mereo_core::{Context, Error, Picture, Place, Real, Result, Source, column_name};
use mereo_map::Map;
use mereo_report::{MapPage, write_map};

use super::through::states;
use super::{Mapped, cells};

/// Cells of the data that a page is made of, at most.
const MOST_CELLS: usize = 200_000_000;

impl Mapped {
    /// Writes a page about the map, with the rows' cells and states if their data is there, its columns in
    /// the order that the map knows (see [`align`](Self::align)).
    pub fn write_report<T: Real>(
        &self,
        data: Option<&dyn Source<T>>,
        title: &str,
        picture: Option<Picture>,
        path: &Path,
        context: &Context,
    ) -> Result<()> {
        let map = &self.map;
        let mut page = MapPage {
            title,
            method: name_of(map.params().method.name()),
            manifest: &self.manifest,
            points: map.points(),
            dimensions: map.dimensions(),
            names: map.names(),
            labels: map.labels(),
            columns: None,
            picture: picture.or(self.manifest.picture),
            states: Vec::new(),
            facts: facts(map),
            eigenvalues: map.eigenvalues(),
            shepard: map.shepard(),
        };
        let Some(source) = data else { return write_map(&page, path) };
        let (rows, columns) = (source.rows(), source.columns());
        if rows != map.rows() {
            return Err(Error::found(
                Place::default(),
                format!("{rows} rows"),
                format!("the {} rows that the map was made of", map.rows()),
            ));
        }
        if let Some(fitted) = self.through.model() {
            page.states = states(fitted, source, context)?;
        }
        let about = source.about();
        page.labels = page.labels.or(about.labels.as_ref());
        page.names = page.names.or(about.ids.as_deref());
        page.picture = page.picture.or(about.picture);
        let shown =
            if rows.saturating_mul(columns) > MOST_CELLS { None } else { Some(cells(source)?) };
        if let Some(shown) = &shown {
            let names = (0..columns).map(|k| column_name(about.names.as_deref(), k)).map(|name| {
                if name.parse::<usize>().is_ok() { format!("column {name}") } else { name }
            });
            page.columns = Some((names.collect(), shown));
        }
        write_map(&page, path)
    }
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
