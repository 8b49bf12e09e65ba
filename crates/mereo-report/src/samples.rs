//! Rows that the model drew.

use maud::{Markup, html};
use mereo_core::Dense;

use crate::gates::{share, top};
use crate::page::{Section, chip, scrolled_table};
use crate::pictures::Canvas;
use crate::text;
use crate::view::View;

/// Most samples shown, as pictures and as rows of a table.
const PICTURES: usize = 48;
const ROWS: usize = 10;
/// Most columns of the table.
const COLUMNS: usize = 12;

pub(crate) fn section(view: &View<'_>) -> Option<Section> {
    let samples = view.samples?;
    let (shown, body) = match &view.canvas {
        Some(canvas) => (samples.rows().min(PICTURES), pictures(view, canvas, samples)),
        None => (samples.rows().min(ROWS), table(view, samples)),
    };
    let noun = if view.canvas.is_some() { "pictures" } else { "rows" };
    let body = html! {
        p { "New " (noun) ", made of nothing but random numbers and what the model knows." }
        (body)
        @if shown < samples.rows() {
            p.quiet { (text::count(samples.rows() - shown)) " more were drawn and are not shown." }
        }
    };
    Some(Section {
        id: "samples",
        short: "Samples".to_owned(),
        heading: "What the model imagines".to_owned(),
        body,
    })
}

fn pictures(view: &View<'_>, canvas: &Canvas, samples: &Dense<f64>) -> Markup {
    html! {
        div.states.samples {
            @for r in 0..samples.rows().min(PICTURES) {
                @if let Some(picture) = canvas.values(samples.row(r), view.scale) {
                    span.tile.plain { img.pixels src=(picture) alt={ "Sample " (text::ordinal(r)) }; }
                }
            }
        }
    }
}

fn table(view: &View<'_>, samples: &Dense<f64>) -> Markup {
    let columns = spread(view);
    let left_out = view.columns - columns.len();
    html! {
        (scrolled_table("Samples", &html! {
            @for &d in &columns {
                th.num scope="col" {
                    @if let Some(k) = view.owner(d) { span title=(text::part_name(k)) { (chip(k)) } }
                    bdi { (view.column(d)) }
                }
            }
        }, &html! {
            @for r in 0..samples.rows().min(ROWS) {
                tr { @for &d in &columns { td.num { (view.cell(d, samples.row(r)[d])) } } }
            }
        }))
        @if left_out > 0 {
            p.quiet { "Shown are the strongest columns; " (text::count(left_out)) " more are left out." }
        }
    }
}

/// A few columns, the strongest of every part in turn.
fn spread(view: &View<'_>) -> Vec<usize> {
    let (Some(parts), true) = (view.parts, view.columns > COLUMNS) else {
        return (0..view.columns.min(COLUMNS)).collect();
    };
    let several = parts.parts.min(COLUMNS);
    let each = COLUMNS.div_ceil(several);
    let mut columns: Vec<usize> = Vec::new();
    for k in 0..several {
        let gate = |d: usize| share(parts.gate_of(d)[k]);
        let best = top(view.columns, each, gate);
        columns.extend(best);
    }
    let mut seen = std::collections::HashSet::new();
    columns.retain(|&d| seen.insert(d));
    columns.truncate(COLUMNS);
    columns
}
