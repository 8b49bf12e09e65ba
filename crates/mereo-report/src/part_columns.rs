//! Parts of tables: the columns of each part, and what sets each state apart from the mean.

use std::collections::HashMap;

use maud::{Markup, html};
use mereo_core::{Appearance, PartsView};

use crate::gates::{Gates, share, top};
use crate::page::more;
use crate::parts::{caption, in_order, shown_states};
use crate::text;
use crate::view::View;

/// Columns of a part that are open at first, and those behind the fold.
const COLUMNS_OPEN: usize = 15;
const COLUMNS_FOLDED: usize = 100;
/// Columns in which a state is compared with the mean.
const CONSPICUOUS: usize = 6;
/// A part is shown by the columns that it has most of, and those of which it has this much.
const NOTABLE: f64 = 0.2;

/// What the bars of states mean.
pub(crate) fn legend(view: &View<'_>) -> Markup {
    html! {
        p.quiet.key {
            "Each " (if is_factors(view) { "look" } else { view.states_called().0 }) " is shown by the columns in which it differs most from the mean: "
            span.up { "above it" } " or " span.down { "below it" }
            @if view.has_deviation() { ", in standard deviations of the column" }
            "."
            @if !is_factors(view) { " Its percentage says how common it is." }
        }
    }
}

fn is_factors(view: &View<'_>) -> bool {
    view.parts.is_some_and(|parts| parts.appearance == Appearance::Factors)
}

/// A part: its columns, and its states.
pub(crate) fn part(view: &View<'_>, parts: &PartsView<'_>, gates: &Gates, k: usize) -> Markup {
    html! {
        div.tabled {
            div { h4 { "Columns" } (columns(view, parts, gates, k)) }
            div {
                h4 { (if is_factors(view) { "Offset and factors" } else { "States" }) }
                (states(view, parts, k))
            }
        }
    }
}

/// The columns of a part, strongest first.
fn columns(view: &View<'_>, parts: &PartsView<'_>, gates: &Gates, k: usize) -> Markup {
    let gate = |d: usize| share(parts.gate_of(d)[k]);
    let of_part = |d: usize| gates.owner[d] as usize == k || gate(d) >= NOTABLE;
    let count = (0..view.columns).filter(|&d| of_part(d)).count();
    let wanted = count.min(COLUMNS_OPEN + COLUMNS_FOLDED);
    // By whole per cents, and where those are alike by how much the part moves the column.
    let moved = |d: usize| {
        let moved = view.in_units(d, parts.spread(k, d));
        if moved.is_finite() { moved / (1.0 + moved) } else { 0.0 }
    };
    let order = top(view.columns, wanted, |d| {
        if of_part(d) { (100.0 * gate(d)).round() + 0.5 * moved(d) } else { -1.0 }
    });
    let (open, folded) = order.split_at(order.len().min(COLUMNS_OPEN));
    let list = |columns: &[usize]| {
        html! {
            ul.bars.gates {
                @for &d in columns {
                    li {
                        bdi.name title=(view.column(d)) { (view.column(d)) }
                        span.bar { i style={ "width:" (text::css_percent(gate(d))) } {} }
                        span.num { (text::percent(gate(d))) }
                    }
                }
            }
        }
    };
    html! {
        @if open.is_empty() { p.quiet { "No column belongs to this part." } } @else { (list(open)) }
        @if !folded.is_empty() {
            (more(&format!("{} more", text::count(folded.len())), &list(folded)))
        }
        @if count > order.len() {
            p.quiet { (text::count(count - order.len())) " weaker columns are not listed." }
        }
    }
}

/// What sets each state of a part apart from the mean.
pub(crate) fn states(view: &View<'_>, parts: &PartsView<'_>, k: usize) -> Markup {
    // One scale for the whole part, so that a calm state looks calm.
    let away = |j: usize, d: usize| view.away_from_mean(d, parts.state(k, j)[d]);
    let gate = |d: usize| {
        let gate = share(parts.gate_of(d)[k]);
        if gate >= NOTABLE || view.owner(d) == Some(k) { gate } else { 0.0 }
    };
    let conspicuous: HashMap<usize, Vec<usize>> = shown_states(parts, k)
        .into_iter()
        .map(|j| {
            let mut best = top(view.columns, CONSPICUOUS, |d| away(j, d).abs() * gate(d));
            best.retain(|&d| gate(d) > 0.0);
            (j, best)
        })
        .collect();
    let widest = conspicuous
        .iter()
        .flat_map(|(&j, columns)| columns.iter().map(move |&d| away(j, d).abs()))
        .fold(f64::MIN_POSITIVE, f64::max);
    let word = if view.states_called().0 == "state" { "State " } else { "Component " };
    in_order(parts, k, "profiles", |j, prior| {
        html! {
            div.profile {
                (caption(parts, k, j, prior, word))
                ul.deviations {
                    @for &d in conspicuous.get(&j).into_iter().flatten() {
                        (deviation(view, d, parts.state(k, j)[d], away(j, d), widest))
                    }
                }
            }
        }
    })
}

/// One column of a state's profile: name, bar from the mean, number.
fn deviation(view: &View<'_>, d: usize, value: f64, away: f64, widest: f64) -> Markup {
    let class = if away < 0.0 { "down" } else { "up" };
    let title = format!("{}: {} in this state", view.column(d), text::number(value));
    html! {
        li title=(title) {
            bdi.name { (view.column(d)) }
            span class={ "from-mean " (class) } {
                i style={ "width:" (text::css_percent(away.abs() / widest / 2.0)) } {}
            }
            span.num { (view.distance(away)) }
        }
    }
}
