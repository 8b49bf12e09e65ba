//! The sizes that were tried before one was chosen.

use maud::{Markup, html};
use mereo_core::SizeTried;

use crate::chart::{self, Axis};
use crate::page::{Section, scrolled_table};
use crate::text;
use crate::view::View;

/// Most sizes listed.
const LISTED: usize = 100;

pub(crate) fn section(view: &View<'_>) -> Option<Section> {
    let sizes = view.subject.manifest.sizes.as_slice();
    (!sizes.is_empty()).then(|| Section {
        id: "sizes",
        short: "Sizes".to_owned(),
        heading: "How its size was found".to_owned(),
        body: html! {
            p {
                "Sizes were tried in this order. Fewer bits for model and rows together are better; so "
                "are likelier hidden cells."
            }
            (path(sizes))
            (table(sizes))
        },
    })
}

/// Bits at each size tried.
fn path(sizes: &[SizeTried]) -> Markup {
    let bits = || sizes.iter().map(|t| t.description_length / 1000.0).filter(|b| b.is_finite());
    let (low, high) =
        (bits().fold(f64::INFINITY, f64::min), bits().fold(f64::NEG_INFINITY, f64::max));
    if sizes.len() < 2 || !(low < high) {
        return html! {};
    }
    let x = Axis::new(0.0, (sizes.len() - 1) as f64, 8).whole();
    let y = Axis::new(low - 0.04 * (high - low), high, 5);
    let points = sizes.iter().enumerate().map(|(i, t)| (i as f64, t.description_length / 1000.0));
    let inside = html! { path.winner d=(chart::line(points, &x, &y)) {} };
    html! {
        figure {
            (chart::frame("Bits at each size tried", (&x, "size tried"), (&y, "description length, thousand bits"), &inside))
        }
    }
}

fn table(sizes: &[SizeTried]) -> Markup {
    html! {
        (scrolled_table("Sizes tried", &html! {
            th.num scope="col" { "Tried" }
            th.num scope="col" { "Parts" }
            th.num scope="col" { "States" }
            th.num scope="col" { "Bits in all" }
            th.num scope="col" { "Bits of the model" }
            th.num scope="col" { "Hidden cell, nats" }
            th.num scope="col" { "In use" }
        }, &html! {
            @for (i, tried) in sizes.iter().enumerate().take(LISTED) {
                tr.best[tried.chosen] {
                    th.num scope="row" { (text::ordinal(i)) @if tried.chosen { span.badge { "chosen" } } }
                    td.num { (text::count(tried.parts)) }
                    td.num { (text::count(tried.states)) }
                    td.num { (text::number(tried.description_length)) }
                    td.num { (text::number(tried.model_bits)) }
                    td.num { (text::number(tried.held_out)) }
                    td.num { (text::count(tried.parts_in_use)) " × " (text::count(tried.states_in_use)) }
                }
            }
        }))
        @if sizes.len() > LISTED {
            p.quiet { (text::count(sizes.len() - LISTED)) " more are not listed." }
        }
    }
}
