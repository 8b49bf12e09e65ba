//! Binary features: what rows are sums of.

use maud::{Markup, html};

use crate::chart::{self, Axis};
use crate::page::Section;
use crate::pictures::{Canvas, Scale};
use crate::subject::FeaturesView;
use crate::text;
use crate::view::View;

/// Most sets, combinations, rows and columns of a feature that are shown.
const SETS: usize = 16;
const COMBINATIONS: usize = 40;
const ROWS: usize = 24;
const COLUMNS: usize = 6;

pub(crate) fn section(view: &View<'_>) -> Option<Section> {
    let features = view.subject.features.filter(|f| fits(f, view.columns))?;
    let many = features.sets > 1;
    let made = if many { "one of its sets' origins" } else { "the origin" };
    let body = html! {
        p {
            "Every row is " (made) " and some of "
            (text::counted(features.features, "feature", "features"))
            ", each there or not."
        }
        @for set in 0..features.sets.min(SETS) { (one_set(view, &features, set, many)) }
        @if features.sets > SETS {
            p.quiet { (text::count(features.sets - SETS)) " more sets are not shown." }
        }
        (combinations(view, &features))
        (rows(view, &features, many))
        (curve(&features))
    };
    Some(Section {
        id: "features",
        short: "Features".to_owned(),
        heading: "What rows are made of".to_owned(),
        body,
    })
}

/// Whether the features' numbers have the shapes that they say.
fn fits(f: &FeaturesView<'_>, columns: usize) -> bool {
    let vectors = f.sets.checked_mul(f.features);
    columns > 0
        && f.sets > 0
        && f.features > 0
        && f.features <= 64
        && f.sets.checked_mul(columns) == Some(f.origin.len())
        && vectors == Some(f.usage.len())
        && vectors.and_then(|v| v.checked_mul(columns)) == Some(f.feature.len())
        && f.set_prior.len() == f.sets
}

fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.0}%", 100.0 * share) } else { "–".to_owned() }
}

fn one_set(view: &View<'_>, f: &FeaturesView<'_>, set: usize, many: bool) -> Markup {
    let (n, d) = (f.features, view.columns);
    let origin = &f.origin[set * d..(set + 1) * d];
    let feature = |i: usize| &f.feature[(set * n + i) * d..(set * n + i + 1) * d];
    html! {
        @if many {
            h3 { "Set " (text::ordinal(set)) ", " (percent(f.set_prior[set])) " of the rows" }
        }
        @if let Some(canvas) = &view.canvas {
            (tiles(view, canvas, origin, (0..n).map(|i| (feature(i), f.usage[set * n + i]))))
        } @else {
            ul {
                @for i in 0..n {
                    li {
                        "Feature " (text::ordinal(i)) " (" (percent(f.usage[set * n + i])) "): "
                        (strongest(view, feature(i)))
                    }
                }
            }
        }
    }
}

/// The origin, then what each feature adds, grey where it adds nothing.
fn tiles<'a>(
    view: &View<'_>,
    canvas: &Canvas,
    origin: &[f64],
    features: impl Iterator<Item = (&'a [f64], f64)>,
) -> Markup {
    let features: Vec<(&[f64], f64)> = features.collect();
    let cells = || features.iter().flat_map(|(f, _)| f.iter().copied());
    let most = cells().filter(|v| v.is_finite()).fold(0.0, |a: f64, v| a.max(v.abs()));
    let around = Scale { low: -most, high: most };
    html! {
        div.states {
            @if let Some(picture) = canvas.values(origin, view.scale) {
                figure.state {
                    span.tile { img.pixels src=(picture) alt="Origin"; }
                    figcaption { "origin" }
                }
            }
            @for (i, (feature, usage)) in features.iter().enumerate() {
                @if let Some(picture) = canvas.values(feature, around) {
                    figure.state {
                        span.tile { img.pixels src=(picture) alt={ "Feature " (text::ordinal(i)) }; }
                        figcaption { (text::ordinal(i)) " · " (percent(*usage)) }
                    }
                }
            }
        }
    }
}

/// The columns that a feature changes most.
fn strongest(view: &View<'_>, feature: &[f64]) -> String {
    let change = |c: usize| view.in_units(c, feature[c]);
    let mut columns: Vec<usize> = (0..feature.len()).filter(|&c| change(c).is_finite()).collect();
    columns.sort_by(|&a, &b| change(b).abs().total_cmp(&change(a).abs()));
    let told: Vec<String> = columns
        .into_iter()
        .take(COLUMNS)
        .map(|c| format!("{} {}", view.column(c), view.distance(change(c))))
        .collect();
    told.join(", ")
}

/// Which features are on, counted from 1.
fn names(state: u64) -> String {
    let on: Vec<String> = (0..64).filter(|i| state >> i & 1 == 1).map(text::ordinal).collect();
    if on.is_empty() { "the origin alone".to_owned() } else { on.join(" + ") }
}

fn combinations(view: &View<'_>, f: &FeaturesView<'_>) -> Markup {
    if f.common.is_empty() {
        return html! {};
    }
    html! {
        h3 { "The most used combinations" }
        @if let Some(canvas) = &view.canvas {
            div.states {
                @for c in f.common.iter().take(COMBINATIONS) {
                    @if let Some(picture) = canvas.values(&c.look, view.scale) {
                        figure.state {
                            span.tile { img.pixels src=(picture) alt={ "Combination of " (names(c.state)) }; }
                            figcaption {
                                @if f.sets > 1 { "set " (text::ordinal(c.set)) ": " }
                                (names(c.state)) " · " (percent(c.share))
                            }
                        }
                    }
                }
            }
        } @else {
            ul {
                @for c in f.common.iter().take(COMBINATIONS) {
                    li {
                        @if f.sets > 1 { "set " (text::ordinal(c.set)) ": " }
                        (names(c.state)) " (" (percent(c.share)) ")"
                    }
                }
            }
        }
    }
}

fn rows(view: &View<'_>, f: &FeaturesView<'_>, many: bool) -> Markup {
    let Some(rows) = f.rows.filter(|rows| !rows.is_empty()) else { return html! {} };
    let number = |at: usize| {
        view.rows.and_then(|r| r.numbers).and_then(|n| n.get(at).copied()).unwrap_or(at)
    };
    html! {
        h3 { "Which features a row uses" }
        ul {
            @for (at, &(set, state)) in rows.iter().take(ROWS).enumerate() {
                li {
                    "row " (text::count(number(at))) ": "
                    @if many { "set " (text::ordinal(set)) ", " }
                    (names(state))
                }
            }
        }
    }
}

/// The curve itself, if it is one.
fn drawn(curve: &[(f64, f64)]) -> Markup {
    let errors = || curve.iter().map(|p| p.1).filter(|e| e.is_finite());
    let high = errors().fold(0.0, f64::max);
    let (Some(first), Some(last)) = (curve.first(), curve.last()) else { return html! {} };
    if !(high > 0.0 && first.0 < last.0) {
        return html! {};
    }
    let (x, y) = (Axis::new(first.0, last.0, 8), Axis::new(0.0, high, 5));
    let inside = html! { path.winner d=(chart::line(curve.iter().copied(), &x, &y)) {} };
    html! {
        figure {
            (chart::frame("Error by bits", (&x, "bits a row"), (&y, "root-mean-square error"), &inside))
        }
    }
}

fn curve(f: &FeaturesView<'_>) -> Markup {
    if f.curve.is_empty() {
        return html! {};
    }
    html! {
        h3 { "Bits and error as features are added" }
        (drawn(f.curve))
        table {
            thead { tr { th.num scope="col" { "bits a row" } th.num scope="col" { "root-mean-square error" } } }
            tbody {
                @for &(bits, error) in f.curve {
                    tr { td.num { (text::number(bits)) } td.num { (text::number(error)) } }
                }
            }
        }
    }
}
