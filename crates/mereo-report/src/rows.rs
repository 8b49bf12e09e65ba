//! Rows beside what the model makes of them.

use maud::{Markup, html};
use mereo_core::how_often;

use crate::gates::top;
use crate::page::{Section, chip, scrolled_table};
use crate::pictures::Canvas;
use crate::sparse::known;
use crate::view::View;
use crate::{ShownRows, palette, text};

/// Most rows shown, as pictures and as tables.
const PICTURES: usize = 24;
const TABLES: usize = 12;
/// Rows with at most this many columns are shown whole.
const WHOLE: usize = 16;
/// Of wider rows: observed cells and filled-in cells that are shown.
const OBSERVED: usize = 10;
const FILLED: usize = 5;
/// Most states listed of a row.
const STATES: usize = 12;
/// Cells rarer than this are marked.
const RARE: f64 = 0.05;

pub(crate) fn section(view: &View<'_>) -> Option<Section> {
    let rows = view.rows?;
    let all = rows.original.rows();
    let shown = all.min(if view.canvas.is_some() { PICTURES } else { TABLES });
    let missing = !rows.original.is_complete();
    let heading = match (&view.canvas, rows.reconstruction.is_some()) {
        (Some(_), true) => "Pictures beside their reconstructions",
        (None, true) => "Rows beside their reconstructions",
        (Some(_), false) => "Some pictures",
        (None, false) => "Some rows",
    };
    let body = html! {
        p {
            @if rows.reconstruction.is_some() {
                "What was observed, and what the model makes of it. "
            }
            @if missing && view.canvas.is_some() { "Missing pixels are hatched. " }
            @if missing && view.canvas.is_none() && rows.reconstruction.is_some() {
                "Cells that were missing are " em { "filled in" } " by the model. "
            }
            @if rows.notes.is_some() {
                "Shown are the most typical rows and the oddest ones; cells that are rare given the rest of their row say how rare. "
            }
            @if view.canvas.is_none() && view.columns > WHOLE {
                @if rows.chances.is_some() { "Of each row, the rarest cells are shown. " }
                @else { "Of each row, the cells that differ most from their column’s mean are shown. " }
            }
        }
        @match &view.canvas {
            Some(canvas) => {
                div.rows.of-pictures {
                    @for r in 0..shown { (pictured(view, canvas, &rows, r)) }
                }
            },
            None => { div.rows.of-tables { @for r in 0..shown { (tabled(view, &rows, r)) } } },
        }
        @if shown < all {
            p.quiet { (text::count(all - shown)) " more rows were given and are not shown." }
        }
    };
    Some(Section { id: "rows", short: "Rows".to_owned(), heading: heading.to_owned(), body })
}

/// Root of the mean squared error over the observed cells of some rows, in the unit of the view.
fn error(view: &View<'_>, rows: &ShownRows<'_>, which: std::ops::Range<usize>) -> Option<f64> {
    let made = rows.reconstruction?;
    let (mut sum, mut n) = (0.0, 0.0);
    for r in which {
        for (d, (x, y)) in rows.original.row(r).iter().zip(made.row(r)).enumerate() {
            if view.holds_words(d) {
                continue;
            }
            let away = view.in_units(d, x - y);
            let square = away * away;
            if square.is_finite() {
                sum += square;
                n += 1.0;
            }
        }
    }
    (n > 0.0).then(|| (sum / n).sqrt())
}

/// The error over all rows that the page knows.
pub(crate) fn overall_error(view: &View<'_>) -> Option<f64> {
    let rows = view.rows?;
    error(view, &rows, 0..rows.original.rows())
}

/// Which row this is.
fn title(rows: &ShownRows<'_>, r: usize) -> Markup {
    let number = rows.numbers.and_then(|n| n.get(r)).copied().unwrap_or(r);
    let label = rows
        .labels
        .and_then(|l| l.of_row.get(r).copied().flatten().and_then(|c| l.names.get(c as usize)));
    html! {
        @match rows.names.and_then(|names| names.get(r)) {
            Some(name) => {
                @if name.chars().all(|c| c.is_ascii_digit()) { "Row " }
                bdi { (text::name(name)) }
            }
            None => { "Row " (text::ordinal(number)) }
        }
        @if let Some(note) = rows.notes.and_then(|notes| notes.get(r)) { " " span.label { (note) } }
        @if let Some(label) = label { " " span.label { bdi { (text::name(label)) } } }
    }
}

/// Error, score and states of a row.
fn facts(view: &View<'_>, rows: &ShownRows<'_>, r: usize) -> Markup {
    let observed = rows.original.row(r).iter().filter(|v| v.is_finite()).count();
    let score = rows.scores.and_then(|s| s.get(r));
    let k = view.parts.map_or(0, |p| p.parts);
    let states = rows.states.and_then(|s| s.get(r * k..(r + 1) * k)).unwrap_or(&[]);
    html! {
        p.facts {
            @if let Some(error) = error(view, rows, r..r + 1).filter(|_| rows.chances.is_none()) { span { "RMS error " (text::brief(error)) (view.unit()) } }
            @if observed < view.columns {
                span { (text::count(observed)) " of " (text::count(view.columns)) " observed" }
            }
            @if let Some(&score) = score.filter(|_| rows.chances.is_none()) { span { "log density " (text::number(score)) } }
        }
        @if k > 1 && !states.is_empty() {
            p.chosen aria-label="State of each part" {
                @for (k, &state) in states.iter().enumerate().take(STATES) {
                    span.tag title={ (text::part_name(k)) " is in state " (text::ordinal(state as usize)) } {
                        (chip(k)) (text::ordinal(state as usize))
                    }
                }
                @if states.len() > STATES { span.quiet { "…" } }
            }
        } @else if let Some(&state) = states.first() {
            p.chosen { span.tag { (view.states_called().0) " " (text::ordinal(state as usize)) } }
        }
    }
}

fn pictured(view: &View<'_>, canvas: &Canvas, rows: &ShownRows<'_>, r: usize) -> Markup {
    let number = text::ordinal(rows.numbers.and_then(|n| n.get(r)).copied().unwrap_or(r));
    let columns = view.columns;
    let made = rows.reconstruction.and_then(|m| canvas.values(m.row(r), view.scale));
    let map = rows.responsible.and_then(|all| all.get(r * columns..(r + 1) * columns)).and_then(
        |responsible| {
            let channels = canvas.channels();
            canvas.map(|pixel| {
                let part = responsible.get(pixel * channels).map_or(0, |&k| k as usize);
                (palette::colour(part), 1.0)
            })
        },
    );
    let figure = |picture: Option<String>, class: &str, what: &str, alt: &str| {
        html! {
            @if let Some(picture) = picture {
                figure {
                    span class={ "tile " (class) } {
                        img.pixels src=(picture) alt={ (alt) " " (number) };
                    }
                    figcaption { (what) }
                }
            }
        }
    };
    html! {
        article.row {
            h3 { (title(rows, r)) }
            div.trio {
                (figure(canvas.values(rows.original.row(r), view.scale), "hatched", "observed", "Observed row"))
                (figure(made, "", "model", "Reconstruction of row"))
                (figure(map, "", "parts", "Part responsible for each pixel of row"))
            }
            (facts(view, rows, r))
        }
    }
}

/// The columns of a row that are worth showing.
fn telling(view: &View<'_>, rows: &ShownRows<'_>, r: usize) -> Vec<usize> {
    if view.columns <= WHOLE {
        return (0..view.columns).collect();
    }
    let row = rows.original.row(r);
    let made = rows.reconstruction.map(|m| m.row(r));
    let (seen, unseen): (Vec<usize>, Vec<usize>) =
        (0..view.columns).partition(|&d| row[d].is_finite());
    let mut columns: Vec<usize> = top(seen.len(), OBSERVED, |i| {
        match rows.chances.map(|all| all[r * view.columns + seen[i]]) {
            Some(chance) if !chance.is_nan() => 1.0 - chance,
            Some(_) => 0.0,
            None => view.away_from_mean(seen[i], row[seen[i]]).abs(),
        }
    })
    .into_iter()
    .map(|i| seen[i])
    .collect();
    if let Some(made) = made {
        // Of ratings, means that few people made are far from anything, and nobody cares.
        let away = |i: usize| {
            view.away_from_mean(unseen[i], made[unseen[i]]).abs() * known(view, unseen[i]).sqrt()
        };
        columns.extend(top(unseen.len(), FILLED, away).into_iter().map(|i| unseen[i]));
    }
    columns
}

fn tabled(view: &View<'_>, rows: &ShownRows<'_>, r: usize) -> Markup {
    let row = rows.original.row(r);
    let made = rows.reconstruction.map(|m| m.row(r));
    let columns = telling(view, rows, r);
    let left_out = view.columns - columns.len();
    let part = |d: usize| {
        let responsible = rows.responsible.and_then(|all| all.get(r * view.columns + d));
        responsible.map(|&k| k as usize).or_else(|| view.owner(d))
    };
    let chances = rows.chances.map(|all| &all[r * view.columns..(r + 1) * view.columns]);
    let rare = |d: usize| {
        let chance = chances.map_or(1.0, |own| own[d]);
        if chance < RARE { how_often(chance) } else { String::new() }
    };
    html! {
        article.row {
            h3 { (title(rows, r)) }
            (facts(view, rows, r))
            (scrolled_table(&format!("Cells of row {}", text::ordinal(r)), &html! {
                th scope="col" { "Column" }
                th.num scope="col" { "Observed" }
                @if made.is_some() { th.num scope="col" { "Model" } }
                @if chances.is_some() { th.num scope="col" { "How rare" } }
            }, &html! {
                @for d in columns {
                    tr.filled[!row[d].is_finite()] {
                        th scope="row" {
                            @if let Some(k) = part(d) { span title=(text::part_name(k)) { (chip(k)) } }
                            bdi { (view.column(d)) }
                        }
                        td.num { @if row[d].is_finite() { bdi { (view.cell(d, row[d])) } } @else { span.quiet { "missing" } } }
                        @if let Some(made) = made {
                            td.num { @if row[d].is_finite() { (view.cell(d, made[d])) } @else { em { (view.cell(d, made[d])) } } }
                        }
                        @if chances.is_some() { td.num.rare { (rare(d)) } }
                    }
                }
            }))
            @if left_out > 0 { p.quiet { (text::count(left_out)) " more columns" } }
        }
    }
}
