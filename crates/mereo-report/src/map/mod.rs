//! The page of a map: a scatter that can be turned, searched and coloured, and how good the map is.
//!
//! Points travel as base64 in the page, drawn by WebGL, or on a plain canvas where there is none.

mod data;

use std::fmt::Write as _;
use std::path::Path;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use mereo_core::{Labels, Manifest, Picture, Result, write_atomically};

use crate::chart::{self, Axis};
use crate::page::{SCRIPT, STYLE, Section, policy};
use crate::text;

const MAP_STYLE: &str = include_str!("map.css");
const MAP_SCRIPT: &str = include_str!("map.js");
/// Most eigenvalues that are drawn.
const STEMS: usize = 60;

/// A map to be shown. Everything beside points may be absent.
#[derive(Debug, Clone)]
pub struct MapPage<'a> {
    /// The page's title.
    pub title: &'a str,
    /// What the method is called, and what it keeps.
    pub method: &'a str,
    /// What the map's file says about itself.
    pub manifest: &'a Manifest,
    /// `[rows, dimensions]`.
    pub points: &'a [f64],
    /// Dimensions of the map.
    pub dimensions: usize,
    /// Names of the rows.
    pub names: Option<&'a [String]>,
    /// Classes of the rows.
    pub labels: Option<&'a Labels>,
    /// Columns of the rows' data: names, and cells `[rows, columns]`, NaN where missing.
    pub columns: Option<(Vec<String>, &'a [f64])>,
    /// The picture that a row is.
    pub picture: Option<Picture>,
    /// The states that rows show of each part of a model.
    pub states: Vec<(String, Vec<u32>)>,
    /// Facts about the map: what, how much, and what that means.
    pub facts: Vec<(String, String, String)>,
    /// Eigenvalues of principal coordinates, falling.
    pub eigenvalues: &'a [f64],
    /// Distances in the data and in the map, one after another.
    pub shepard: &'a [f64],
}

/// The page of a map, as text.
///
/// ```
/// use mereo_core::Manifest;
/// use mereo_report::{MapPage, render_map};
/// let manifest = Manifest::new("map");
/// let page = render_map(&MapPage {
///     title: "Two rows",
///     method: "t-SNE",
///     manifest: &manifest,
///     points: &[0.0, 0.0, 1.0, 1.0],
///     dimensions: 2,
///     names: None,
///     labels: None,
///     columns: None,
///     picture: None,
///     states: Vec::new(),
///     facts: Vec::new(),
///     eigenvalues: &[],
///     shepard: &[],
/// });
/// assert!(page.contains("<canvas") && !page.contains("http:"));
/// ```
pub fn render_map(map: &MapPage<'_>) -> String {
    let title = text::name(map.title);
    let sections: Vec<Section> = [
        Some(scatter(map)),
        quality(map),
        shepard(map),
        stems(map),
        progress(map),
        Some(use_it(map)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let rows = map.points.len() / map.dimensions.max(1);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy(&[SCRIPT, MAP_SCRIPT]));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "mereo " (env!("CARGO_PKG_VERSION")) };
                title { (title) " · mereo" }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) (PreEscaped(MAP_STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                div.layout {
                    nav.contents aria-label="Contents" {
                        span.brand { "mereo" }
                        ul {
                            @for section in &sections {
                                li { a href={ "#" (section.id) } { (section.short) } }
                            }
                        }
                        button #theme type="button" hidden { "Dark" }
                    }
                    main #main {
                        header.top {
                            h1 { (title) }
                            p.lead {
                                "A map of " (text::counted(rows, "row", "rows")) " in "
                                (text::counted(map.dimensions, "dimension", "dimensions")) " by "
                                (map.method) ". Rows that are alike lie together."
                            }
                        }
                        @for section in &sections {
                            section id=(section.id) aria-labelledby={ (section.id) "-heading" } {
                                h2 id={ (section.id) "-heading" } { (section.heading) }
                                (section.body)
                            }
                        }
                    }
                }
                script type="application/json" id="map-data" { (PreEscaped(data::json(map))) }
                script { (PreEscaped(SCRIPT)) }
                script { (PreEscaped(MAP_SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// Writes the page of a map to a file, whole or not at all.
pub fn write_map(map: &MapPage<'_>, path: &Path) -> Result<()> {
    let page = render_map(map);
    write_atomically(path, |out| out.write_all(page.as_bytes()))
}

fn scatter(map: &MapPage<'_>) -> Section {
    let turned = map.dimensions >= 3;
    let hint = if turned {
        "Drag to turn, wheel or pinch to zoom, with two fingers or Shift to move. Hover or tap a point to see its row."
    } else {
        "Drag to move, wheel or pinch to zoom. Hover or tap a point to see its row."
    };
    let body = html! {
        div.map-tools {
            label { "Colour " select #map-colour {} }
            label { "Find a row " input #map-find type="search" autocomplete="off" placeholder="name or number"; }
            label { "Size " input #map-size type="range" min="1" max="12" step="0.5" value="4" aria-label="Size of points"; }
            button #map-reset type="button" { "Whole map" }
        }
        div #map-frame {
            canvas #map tabindex="0" role="img" aria-label="Scatter of all rows; arrow keys move, plus and minus zoom" {}
            canvas #map-marks aria-hidden="true" {}
            div #map-tip hidden {}
        }
        p #map-found .quiet role="status" {}
        div #map-legend {}
        p.quiet { (hint) }
    };
    Section { id: "map-section", short: "Map".to_owned(), heading: "The map".to_owned(), body }
}

fn quality(map: &MapPage<'_>) -> Option<Section> {
    if map.facts.is_empty() {
        return None;
    }
    let body = html! {
        dl.tiles {
            @for (what, much, meaning) in &map.facts {
                div { dt { (what) } dd { (much) small { (meaning) } } }
            }
        }
    };
    let heading = "How far to trust it".to_owned();
    Some(Section { id: "quality", short: "Quality".to_owned(), heading, body })
}

/// Distances in the map above those in the data.
fn shepard(map: &MapPage<'_>) -> Option<Section> {
    let pairs: Vec<(f64, f64)> = map
        .shepard
        .chunks_exact(2)
        .map(|p| (p[0], p[1]))
        .filter(|p| p.0.is_finite() && p.1.is_finite())
        .collect();
    if pairs.len() < 3 {
        return None;
    }
    let most = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).fold(0.0, f64::max);
    // Room on the right, so that the last label stands inside.
    let (x, y) = (Axis::new(0.0, 1.12 * most(|p| p.0), 5), Axis::new(0.0, 1.04 * most(|p| p.1), 5));
    let mut dots = String::new();
    for p in &pairs {
        let (left, top) = (1000.0 * x.share(p.0), 1000.0 * (1.0 - y.share(p.1)));
        // Writing to a string does not fail.
        let _ = write!(dots, "M{left:.1} {top:.1}h0");
    }
    let about = format!("Distances of {} pairs of rows in the data and in the map", pairs.len());
    let inside = html! { path.map-dots d=(dots) {} };
    let body = html! {
        p { "Each dot is a pair of rows: how far apart they are in the data, and in the map (a Shepard diagram). A narrow rising band means that distances can be read off the map; a wide one, that only neighbours can." }
        (chart::frame(&about, (&x, "distance in the data"), (&y, "distance in the map"), &inside))
    };
    let heading = "Distances in the data and in the map".to_owned();
    Some(Section { id: "shepard", short: "Distances".to_owned(), heading, body })
}

/// Eigenvalues as stems; those below 0 in another colour.
fn stems(map: &MapPage<'_>) -> Option<Section> {
    let all = map.eigenvalues;
    if all.is_empty() {
        return None;
    }
    // The largest, and the smallest if they say something.
    let below = all.iter().filter(|v| **v < 0.0).count();
    let head = STEMS.min(all.len());
    let mut shown: Vec<f64> = all[..head].to_vec();
    if below > 0 && head < all.len() {
        let tail = (all.len() - head).min(STEMS / 4);
        shown.extend(&all[all.len() - tail..]);
    }
    let low = shown.iter().copied().fold(0.0, f64::min);
    let high = shown.iter().copied().fold(0.0, f64::max);
    let (x, y) =
        (Axis::new(0.0, 1.08 * shown.len() as f64 + 0.9, 6).whole(), Axis::new(low, high, 5));
    let at = |v: f64| 1000.0 * (1.0 - y.share(v));
    let inside = html! {
        @for (k, value) in shown.iter().enumerate() {
            @let left = format!("{:.1}", 1000.0 * x.share(k as f64 + 1.0));
            @let class = if k < map.dimensions { "map-stem map-kept" } else if *value < 0.0 { "map-stem map-below" } else { "map-stem" };
            line class=(class) x1=(left) x2=(left) y1=(format!("{:.1}", at(0.0))) y2=(format!("{:.1}", at(*value))) {}
        }
    };
    let body = html! {
        p {
            "How much of all squared distances from the middle each direction holds; the map shows the first "
            (text::count(map.dimensions)) "."
            @if below > 0 { " " (text::counted(below, "eigenvalue is", "eigenvalues are")) " below 0: no points have exactly these distances." }
        }
        (chart::frame("Eigenvalues, falling", (&x, "direction"), (&y, "eigenvalue"), &inside))
    };
    let heading = "Eigenvalues".to_owned();
    Some(Section { id: "eigenvalues", short: "Eigenvalues".to_owned(), heading, body })
}

/// What to do with the map.
fn use_it(map: &MapPage<'_>) -> Section {
    let file = format!("{}.safetensors", map.title);
    let commands = [
        (
            "place new rows, which do not move what is there",
            format!("mereo map --onto {file} NEW --csv new-points.csv"),
        ),
        ("say what it is", format!("mereo show {file}")),
    ];
    let body = html! {
        div.commands {
            @for (what, command) in &commands {
                div { span.quiet { (what) } div.scroll tabindex="0" role="region" aria-label=(what) { code { (command) } } }
            }
        }
    };
    Section { id: "use", short: "Use it".to_owned(), heading: "Use it".to_owned(), body }
}

fn progress(map: &MapPage<'_>) -> Option<Section> {
    let training = map.manifest.training.as_ref()?;
    let curves: Vec<Vec<(f64, f64)>> = training
        .restarts
        .iter()
        .map(|r| r.bounds.iter().enumerate().map(|(k, b)| (50.0 * k as f64, -b)).collect())
        .collect();
    let values: Vec<f64> = curves.iter().flatten().map(|p| p.1).filter(|v| v.is_finite()).collect();
    let steps = curves.iter().map(Vec::len).max().unwrap_or(0);
    if steps < 2 || values.is_empty() {
        return None;
    }
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (x, y) = (Axis::new(0.0, 57.0 * (steps as f64 - 1.0), 5), Axis::new(0.0, 1.04 * high, 5));
    let inside: Markup = html! {
        @for (k, curve) in curves.iter().enumerate() {
            @let class = if k == training.best { "map-curve map-best" } else { "map-curve" };
            path class=(class) d=(chart::line(curve.iter().copied(), &x, &y)) {}
        }
    };
    let body = html! {
        p { "What the map cost on the way there, lower being better"
            @if curves.len() > 1 { ", from " (text::count(curves.len())) " starts; the best was taken" } "." }
        (chart::frame("Cost on the way", (&x, "step"), (&y, "cost"), &inside))
    };
    let heading = "How it was made".to_owned();
    Some(Section { id: "progress", short: "Progress".to_owned(), heading, body })
}
