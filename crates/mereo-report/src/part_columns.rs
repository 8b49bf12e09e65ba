//! Parts of tables: the columns of each part, and what sets each state apart from the mean.

use std::collections::HashMap;

use maud::{Markup, html};
use mereo_core::{Appearance, PartsView};

use crate::gates::{Gates, share, top};
use crate::page::more;
use crate::parts::{caption, in_order, shown_states};
use crate::view::View;
use crate::{sparse, text};

/// Columns of a part that are open at first, and those behind the fold.
const COLUMNS_OPEN: usize = 15;
const COLUMNS_FOLDED: usize = 100;
/// Columns in which a state is compared with the mean.
const CONSPICUOUS: usize = 6;
/// A part is shown by the columns that it has most of, and those of which it has this much.
const NOTABLE: f64 = 0.2;

/// A column of which a part has this much is the part's.
const SURE: f64 = 0.95;

/// What the bars of states mean.
pub(crate) fn legend(view: &View<'_>) -> Markup {
    if view.subject.states.is_some() && !is_factors(view) {
        return html! {
            p.quiet.key {
                "Each " (view.states_called().0) " is shown by what sets it apart from the whole, most conspicuous first. "
                "Percentages say how common a " (view.states_called().0) " is; of words, how common the word is in it, with a "
                "mark where it usually is."
            }
        };
    }
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
    // Where a part has all of its columns, bars would say nothing.
    let sure = |d: usize| gate(d) >= SURE;
    let list = |columns: &[usize]| {
        html! {
            @if columns.iter().any(|&d| sure(d)) {
                ul.names {
                    @for &d in columns.iter().filter(|&&d| sure(d)) { li { bdi { (view.column(d)) } } }
                }
            }
            ul.bars.gates {
                @for &d in columns.iter().filter(|&&d| !sure(d)) {
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
    let word = if view.states_called().0 == "state" { "State " } else { "Component " };
    if view.looks(k, 0).is_some() && !is_factors(view) {
        return in_order(parts, k, "profiles", |j, prior| {
            in_words(view, parts, (k, j), prior, word)
        });
    }
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

/// A state in the user's words, and the rows that show it best.
fn in_words(
    view: &View<'_>,
    parts: &PartsView<'_>,
    (k, j): (usize, usize),
    prior: f64,
    word: &str,
) -> Markup {
    let looks = view.looks(k, j).unwrap_or(&[]);
    html! {
        div.profile {
            (caption(parts, k, j, prior, word))
            @if looks.is_empty() { p.quiet.typical { "like the whole" } }
            ul.looks {
                @for look in looks.iter().take(CONSPICUOUS) {
                    li {
                        bdi.name { (view.column(look.column)) }
                        @match look.share {
                            Some((share, usual)) => {
                                span.value { bdi { (text::name(&look.value)) } }
                                span.share title={ (text::percent(share)) " here, usually " (text::percent(usual)) } {
                                    i style={ "width:" (text::css_percent(share)) } {}
                                    b style={ "left:" (text::css_percent(usual)) } {}
                                }
                                span.num { (text::percent(share)) }
                            }
                            None => {
                                span.value { (if look.below { "↓ " } else { "↑ " }) (text::name(&look.value)) }
                                span.num.usually { "usually " (text::name(&look.usually)) }
                            }
                        }
                    }
                }
            }
            @if let Some(rows) = sparse::typical(view, k, j, parts) { p.quiet.typical { (rows) } }
        }
    }
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
