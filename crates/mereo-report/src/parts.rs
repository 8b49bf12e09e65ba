//! The parts and their states.

use maud::{Markup, html};
use mereo_core::{Appearance, PartsView};

use crate::gates::{Gates, top};
use crate::page::{Section, chip, more, scrolled_table};
use crate::view::View;
use crate::{palette, part_columns, part_pictures, sparse, text};

/// Most parts that are shown; of more, the largest.
const PARTS: usize = 24;
/// About how many states of all parts together may be shown, and the least of each part.
const STATES_IN_ALL: usize = 400;
const STATES_AT_LEAST: usize = 8;
const STATES_AT_MOST: usize = 60;
/// States that are open at first.
const STATES_OPEN: usize = 12;
/// Columns of doubtful membership that are listed.
const DOUBTFUL: usize = 10;
/// A column is doubtful if even its strongest part has less of it than this.
const DOUBT: f64 = 0.6;

pub(crate) fn section(view: &View<'_>) -> Option<Section> {
    let parts = view.parts?;
    if let Some(gates) = &view.gates {
        return Some(Section {
            id: "parts",
            short: "Parts".to_owned(),
            heading: match parts.appearance {
                Appearance::States | Appearance::Sums => "The parts and their states",
                Appearance::Factors => "The parts and their factors",
            }
            .to_owned(),
            body: several(view, &parts, gates),
        });
    }
    if parts.appearance == Appearance::Sums {
        return Some(Section {
            id: "parts",
            short: "Parts".to_owned(),
            heading: "The parts that add up".to_owned(),
            body: sums(view, &parts),
        });
    }
    let (_, many) = view.states_called();
    let short = if many == "states" { "States" } else { "Components" };
    Some(Section {
        id: "parts",
        short: short.to_owned(),
        heading: format!("The {many}"),
        body: single(view, &parts, many),
    })
}

/// A model with several parts.
fn several(view: &View<'_>, parts: &PartsView<'_>, gates: &Gates) -> Markup {
    let mut shown = top(parts.parts, PARTS, |k| gates.size[k]);
    shown.sort_unstable();
    let columns = if view.canvas.is_some() { "pixels" } else { "columns" };
    html! {
        p {
            "A part is a group of " (columns) " that change together; "
            @match parts.appearance {
                Appearance::States | Appearance::Sums => {
                    "a state is one way the part can look. Every "
                    (if view.canvas.is_some() { "picture" } else { "row" })
                    " shows one state of each part."
                }
                Appearance::Factors => {
                    "it looks like its offset, moved along its factors by as much as each "
                    (if view.canvas.is_some() { "picture" } else { "row" })
                    " says. Shown are the offset and how the part looks two deviations up and down each factor."
                }
            }
        }
        div.overview {
            @if let Some(canvas) = &view.canvas { (part_pictures::combined(canvas, gates)) }
            (sizes(view, gates, &shown))
        }
        @if shown.len() < parts.parts {
            p.quiet {
                "Shown are the " (text::count(shown.len())) " largest of "
                (text::count(parts.parts)) " parts."
            }
        }
        @if view.canvas.is_none() { (doubtful(view, parts, gates)) }
        @if view.canvas.is_some() { (part_pictures::whole_switch(parts.appearance)) }
        @else if sparse::is_sparse(view) { (sparse::legend(view)) }
        @else { (part_columns::legend(view)) }
        @for &k in &shown {
            article.part style={ "--c:" (palette::css(k)) } {
                h3 { (chip(k)) (text::part_name(k)) small { (facts(view, gates, k)) } }
                @match &view.canvas {
                    Some(canvas) => (part_pictures::part(view, canvas, parts, k)),
                    None if sparse::is_sparse(view) => (sparse::part(view, parts, gates, k)),
                    None => (part_columns::part(view, parts, gates, k)),
                }
            }
        }
    }
}

/// A model whose rows are sums over parts.
fn sums(view: &View<'_>, parts: &PartsView<'_>) -> Markup {
    let row = if view.canvas.is_some() { "picture" } else { "row" };
    html! {
        p {
            "Every " (row) " is a sum: each part adds one of its states, the most common first. "
            "Shown is what a state makes of the mean " (row) " in place of its part’s usual ones."
        }
        @if view.canvas.is_none() { (part_columns::legend(view)) }
        @for k in 0..parts.parts.min(PARTS) {
            article.part.only style={ "--c:" (palette::css(k)) } {
                h3 { (chip(k)) (text::part_name(k)) }
                @match &view.canvas {
                    Some(canvas) => (part_pictures::states(view, canvas, parts, k)),
                    None => (part_columns::states(view, parts, k)),
                }
            }
        }
        @if parts.parts > PARTS {
            p.quiet { (text::count(parts.parts - PARTS)) " more parts are not shown." }
        }
    }
}

/// A model whose states are states of whole rows.
fn single(view: &View<'_>, parts: &PartsView<'_>, many: &str) -> Markup {
    html! {
        p {
            @match parts.appearance {
                Appearance::States | Appearance::Sums => {
                    "Each of the " (many) " is one typical "
                    (if view.canvas.is_some() { "picture" } else { "row" })
                    ", the most common first."
                }
                Appearance::Factors => {
                    "First the offset, then how it looks two deviations up and down each factor."
                }
            }
        }
        @if sparse::is_sparse(view) { (sparse::legend(view)) }
        @else if view.canvas.is_none() { (part_columns::legend(view)) }
        article.part.only style={ "--c:" (palette::css(0)) } {
            @match &view.canvas {
                Some(canvas) => (part_pictures::states(view, canvas, parts, 0)),
                None if sparse::is_sparse(view) => (sparse::states(view, parts, 0)),
                None => (part_columns::states(view, parts, 0)),
            }
        }
    }
}

/// "≈ 212 pixels"
fn facts(view: &View<'_>, gates: &Gates, part: usize) -> String {
    let channels = view.canvas.map_or(1, |c| c.channels()) as f64;
    let noun = if view.canvas.is_some() { "pixels" } else { "columns" };
    format!("≈ {} {noun}", text::brief(gates.size[part] / channels))
}

/// How much of the columns each part has.
fn sizes(view: &View<'_>, gates: &Gates, shown: &[usize]) -> Markup {
    let total: f64 = gates.size.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let largest = gates.size.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let noun = if view.canvas.is_some() { "pixels" } else { "columns" };
    html! {
        div.sizes {
            h3 { "Share of the " (noun) }
            ul.bars {
                @for &k in shown {
                    li style={ "--c:" (palette::css(k)) } {
                        span { (chip(k)) (text::part_name(k)) }
                        span.bar { i style={ "width:" (text::css_percent(gates.size[k] / largest)) } {} }
                        span.num { (text::percent(gates.size[k] / total)) }
                    }
                }
            }
            p.quiet {
                (text::percent(gates.clear)) " of the " (noun) " clearly belong to one part."
            }
        }
    }
}

/// The columns that no part explains clearly.
fn doubtful(view: &View<'_>, parts: &PartsView<'_>, gates: &Gates) -> Markup {
    let count = gates.strongest.iter().filter(|&&g| g < DOUBT).count();
    let worst = top(view.columns, DOUBTFUL.min(count), |d| {
        // Of ratings, those that many people know come first: of the others little could be clear.
        let matters =
            if sparse::is_ratings(view) { sparse::known(view, d) } else { gates.column_entropy[d] };
        if gates.strongest[d] < DOUBT { matters } else { -1.0 }
    });
    if worst.is_empty() {
        return html! { p.quiet { "Every column belongs mostly to one part." } };
    }
    let shown = worst.len();
    let table = html! {
        (scrolled_table("Columns that no part explains clearly", &html! {
            th scope="col" { "Column" } th scope="col" { "Shared by" }
        }, &html! {
            @for d in worst {
                tr {
                    th scope="row" { bdi { (view.column(d)) } }
                    td {
                        @for k in top(parts.parts, 3, |k| parts.gate_of(d)[k]) {
                            span.tag { (chip(k)) (text::part_name(k)) " " (text::percent(parts.gate_of(d)[k])) }
                        }
                    }
                }
            }
        }))
    };
    let what = format!(
        "{} no part explains clearly",
        text::counted(count, "column that", "columns that"),
    );
    let table = html! {
        (table)
        @if shown < count { p.quiet { (text::count(count - shown)) " more are not listed." } }
    };
    more(&what, &table)
}

/// A state that is less common is shown by no row.
const NOBODY: f64 = 1e-9;

/// How common a state is, whatever was handed over.
fn prior_of(parts: &PartsView<'_>, part: usize, state: usize) -> f64 {
    let prior = parts.state_prior[part * parts.states + state];
    if prior.is_finite() { prior } else { 0.0 }
}

/// The states of a part that are shown, the most common first.
pub(crate) fn shown_states(parts: &PartsView<'_>, part: usize) -> Vec<usize> {
    let each = (STATES_IN_ALL / parts.parts.clamp(1, PARTS)).clamp(STATES_AT_LEAST, STATES_AT_MOST);
    let mut shown = top(parts.states, each, |j| prior_of(parts, part, j));
    if let Some(&first) = shown.first() {
        shown.retain(|&j| j == first || in_use(parts, part, j));
    }
    shown
}

/// Whether any row shows a state: parts that need fewer states than others have some that none does.
fn in_use(parts: &PartsView<'_>, part: usize, state: usize) -> bool {
    parts.appearance != Appearance::States || prior_of(parts, part, state) >= NOBODY
}

/// States of a part as figures, the most common first; rare ones behind a fold.
pub(crate) fn in_order(
    parts: &PartsView<'_>,
    part: usize,
    class: &str,
    figure: impl Fn(usize, f64) -> Markup,
) -> Markup {
    let order = shown_states(parts, part);
    let (open, folded) = order.split_at(STATES_OPEN.min(order.len()));
    let used = (0..parts.states).filter(|&j| in_use(parts, part, j)).count();
    let left_out = used.saturating_sub(order.len());
    let grid = |states: &[usize]| {
        html! { div class=(class) { @for &j in states { (figure(j, prior_of(parts, part, j))) } } }
    };
    html! {
        (grid(open))
        @if !folded.is_empty() {
            (more(&match parts.appearance {
                Appearance::States | Appearance::Sums => format!("{} more, less common", text::count(folded.len())),
                Appearance::Factors => format!("{} more", text::count(folded.len())),
            }, &grid(folded)))
        }
        @if left_out > 0 {
            p.quiet {
                (text::count(left_out))
                @match parts.appearance {
                    Appearance::States | Appearance::Sums if left_out == 1 => " rarer state is not shown.",
                    Appearance::States | Appearance::Sums => " rarer states are not shown.",
                    Appearance::Factors => " more are not shown.",
                }
            }
        }
    }
}

/// What a look is called.
pub(crate) fn look_name(parts: &PartsView<'_>, look: usize) -> String {
    match (parts.appearance, look) {
        (Appearance::States | Appearance::Sums, _) => format!("State {}", text::ordinal(look)),
        (Appearance::Factors, 0) => "offset".to_owned(),
        (Appearance::Factors, _) => {
            let side = if look % 2 == 1 { "up" } else { "down" };
            format!("factor {} {side}", text::ordinal((look - 1) / 2))
        }
    }
}

/// The caption of a look: of a state how common it is, of others what it is.
pub(crate) fn caption(
    parts: &PartsView<'_>,
    part: usize,
    look: usize,
    prior: f64,
    word: &str,
) -> Markup {
    match parts.appearance {
        Appearance::States | Appearance::Sums => prior_bar(part, look, prior, word),
        Appearance::Factors => {
            html! { span.prior { span.state-name { (look_name(parts, look)) } } }
        }
    }
}

/// How common a state is: a bar and a percentage.
fn prior_bar(part: usize, state: usize, prior: f64, word: &str) -> Markup {
    let of = format!("state {} of {}", text::ordinal(state), text::part_name(part).to_lowercase());
    html! {
        span.prior title=(of) {
            span.bar { i style={ "width:" (text::css_percent(prior)) } {} }
            span.state-name { (word) (text::ordinal(state)) }
            span.num { (text::percent(prior)) }
        }
    }
}
