//! Parts of ratings and of documents: groups of titles with the states as profiles of ratings, groups of words with the
//! states as their conspicuous words.

use maud::{Markup, html};
use mereo_core::{Absent, Appearance, PartsView};

use crate::gates::{Gates, share, top};
use crate::page::{more, scrolled_table};
use crate::parts::{caption, in_order, look_name, shown_states};
use crate::text;
use crate::view::View;

/// Titles of a part that are open at first, and those behind the fold.
const TITLES_OPEN: usize = 15;
const TITLES_FOLDED: usize = 100;
/// Items that profiles are shown by, and states that stand side by side.
const ITEMS: usize = 12;
const STATES: usize = 12;
/// Words of a state that are above the mean, and those below.
const WORDS: usize = 14;
/// A part strongly owns a column of which it has this much.
const STRONGLY: f64 = 0.9;
/// A part is shown by the columns that it has most of, and those of which it has this much.
const NOTABLE: f64 = 0.2;
/// Rows that stand for a state.
const TYPICAL: usize = 3;

/// Whether a model's parts are shown in this way.
pub(crate) fn is_sparse(view: &View<'_>) -> bool {
    let states = view.parts.is_some_and(|parts| parts.appearance != Appearance::Sums);
    view.canvas.is_none() && view.subject.manifest.absent.is_some() && states
}

pub(crate) fn is_ratings(view: &View<'_>) -> bool {
    view.subject.manifest.absent == Some(Absent::Unobserved)
}

/// What the pictures of states mean.
pub(crate) fn legend(view: &View<'_>) -> Markup {
    html! {
        p.quiet.key {
            @if is_ratings(view) {
                "Each column of a profile is a state: how much " span.up { "higher" } " or " span.down { "lower" }
                " it rates an item than the part’s states do on the average. Shown are items that the part owns, that many "
                "people know and that its states disagree about."
            } @else {
                "Each state is shown by its conspicuous words: those that are " span.up { "more frequent" } " in it than in the part’s "
                "other states, and those that are " span.down { "less frequent" } ", the larger the more conspicuous. Hold the pointer "
                "over a word to see how often it occurs in that state."
            }
        }
    }
}

/// The titles or words of a part, and its states.
pub(crate) fn part(view: &View<'_>, parts: &PartsView<'_>, gates: &Gates, k: usize) -> Markup {
    html! {
        p.quiet { (owned(view, gates, k)) }
        div.tabled {
            div { h4 { (if is_ratings(view) { "Titles" } else { "Words" }) } (titles(view, parts, gates, k)) }
            div {
                h4 { (if parts.appearance == Appearance::Factors { "Offset and factors" } else { "States" }) }
                (states(view, parts, k))
            }
        }
    }
}

/// How much of the items the part strongly owns.
fn owned(view: &View<'_>, gates: &Gates, k: usize) -> String {
    let all = (0..view.columns).filter(|&d| known(view, d) > 0.0).count();
    let own = (0..view.columns)
        .filter(|&d| known(view, d) > 0.0)
        .filter(|&d| gates.owner[d] as usize == k && gates.strongest[d] >= STRONGLY)
        .count();
    let share = own as f64 / all.max(1) as f64;
    let (one, many) = if is_ratings(view) { ("item", "items") } else { ("word", "words") };
    format!(
        "It strongly owns {} ({} of all): their gates give it {} or more.",
        text::counted(own, one, many),
        text::percent(share),
        text::percent(STRONGLY)
    )
}

/// How many people rated a column, if ratings tell; otherwise 1.
pub(crate) fn known(view: &View<'_>, column: usize) -> f64 {
    let ratings = view.subject.manifest.ratings.as_ref();
    let count = ratings.and_then(|ratings| ratings.counts.get(column)).copied();
    count.filter(|n| n.is_finite()).unwrap_or(1.0)
}

/// The columns of a part: those that it has most of and many people know come first; words by how much the part
/// moves them.
fn titles(view: &View<'_>, parts: &PartsView<'_>, gates: &Gates, k: usize) -> Markup {
    let gate = |d: usize| share(parts.gate_of(d)[k]);
    let of_part = |d: usize| gates.owner[d] as usize == k || gate(d) >= NOTABLE;
    let count = (0..view.columns).filter(|&d| of_part(d)).count();
    let weight = |d: usize| {
        let matters = if is_ratings(view) { known(view, d) } else { parts.spread(k, d) };
        gate(d).powi(2) * if matters.is_finite() { matters } else { 0.0 }
    };
    let wanted = count.min(TITLES_OPEN + TITLES_FOLDED);
    let order = top(view.columns, wanted, |d| if of_part(d) { weight(d) } else { -1.0 });
    let (open, folded) = order.split_at(order.len().min(TITLES_OPEN));
    let list = |columns: &[usize]| {
        html! {
            ul.bars.gates {
                @for &d in columns {
                    li title=(told(view, d)) {
                        bdi.name { (view.column(d)) }
                        span.bar { i style={ "width:" (text::css_percent(gate(d))) } {} }
                        span.num { (text::percent(gate(d))) }
                    }
                }
            }
        }
    };
    html! {
        @if open.is_empty() { p.quiet { "Nothing belongs to this part." } } @else { (list(open)) }
        @if !folded.is_empty() {
            (more(&format!("{} more", text::count(folded.len())), &list(folded)))
        }
        @if count > order.len() {
            p.quiet { (text::count(count - order.len())) " weaker ones are not listed." }
        }
    }
}

/// A column's name and, of ratings, how well known and liked it is.
fn told(view: &View<'_>, d: usize) -> String {
    match &view.subject.manifest.ratings {
        Some(ratings) if d < ratings.counts.len() && d < ratings.means.len() => format!(
            "{}: rated by {}, {} on the average",
            view.column(d),
            text::counted(ratings.counts[d] as usize, "person", "people"),
            text::brief(ratings.means[d])
        ),
        _ => view.column(d),
    }
}

/// The states of a part.
pub(crate) fn states(view: &View<'_>, parts: &PartsView<'_>, k: usize) -> Markup {
    if is_ratings(view) { profiles(view, parts, k) } else { words(view, parts, k) }
}

/// How far a state is from the mean of the part's states (as common as they are), as far as a number can be made of it.
fn apart(parts: &PartsView<'_>, k: usize, j: usize, d: usize, mean: f64) -> f64 {
    let apart = parts.state(k, j)[d] - mean;
    if apart.is_finite() { apart } else { 0.0 }
}

/// The mean of a column over the states of a part, as common as they are; of a factor analyser its offset.
fn mean_of(parts: &PartsView<'_>, k: usize, d: usize) -> f64 {
    if parts.appearance == Appearance::Factors {
        return parts.state(k, 0)[d];
    }
    let prior = &parts.state_prior[k * parts.states..(k + 1) * parts.states];
    let total: f64 = prior.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    (0..parts.states).map(|j| prior[j] * parts.state(k, j)[d]).sum::<f64>() / total
}

/// Ratings profiles (JMLR Figure 8): items down, states across.
fn profiles(view: &View<'_>, parts: &PartsView<'_>, k: usize) -> Markup {
    let several = view.gates.is_some();
    let worth = |d: usize| {
        let gate = if several { share(parts.gate_of(d)[k]) } else { 1.0 };
        let worth = gate.powi(2) * parts.spread(k, d) * known(view, d).sqrt();
        if worth.is_finite() { worth } else { 0.0 }
    };
    let mut items = top(view.columns, ITEMS, worth);
    items.retain(|&d| worth(d) > 0.0);
    let mut states = shown_states(parts, k);
    let left_out = parts.states - states.len().min(STATES);
    states.truncate(STATES);
    if items.is_empty() {
        return html! { p.quiet { "Its states do not differ in anything that is known." } };
    }
    let means: Vec<f64> = items.iter().map(|&d| mean_of(parts, k, d)).collect();
    let widest = items
        .iter()
        .zip(&means)
        .flat_map(|(&d, &mean)| states.iter().map(move |&j| apart(parts, k, j, d, mean).abs()))
        .fold(f64::MIN_POSITIVE, f64::max);
    let prior = |j: usize| parts.state_prior[k * parts.states + j];
    let cell = |j: usize, d: usize, mean: f64| {
        let apart = apart(parts, k, j, d, mean);
        let side = if apart < 0.0 { "down" } else { "up" };
        let strength = (apart.abs() / widest).clamp(0.0, 1.0) * 0.75;
        let title = format!(
            "{} rates {}: {}",
            look_name(parts, j),
            view.column(d),
            text::brief(parts.state(k, j)[d])
        );
        html! {
            td.heat.num title=(title) style={ "--heat:" (text::css_percent(strength)) } {
                span class=(side) { (short(apart)) }
            }
        }
    };
    let table = scrolled_table(
        "Ratings profiles of the states",
        &html! {
            th scope="col" { "Item" }
            th.num scope="col" { "mean" }
            @for &j in &states {
                th.num scope="col" {
                    (if parts.appearance == Appearance::Factors { look_name(parts, j) } else { text::ordinal(j) })
                    @if parts.appearance != Appearance::Factors { br; small { (text::percent(prior(j))) } }
                }
            }
        },
        &html! {
            @for (&d, &mean) in items.iter().zip(&means) {
                tr {
                    th scope="row" title=(told(view, d)) { bdi { (view.column(d)) } }
                    td.num { (text::brief(mean)) }
                    @for &j in &states { (cell(j, d, mean)) }
                }
            }
        },
    );
    html! {
        div.heats { (table) }
        @if left_out > 0 { p.quiet { (text::counted(left_out, "rarer state is", "rarer states are")) " not shown." } }
        @for &j in &states {
            @if let Some(rows) = typical(view, k, j, parts) {
                p.quiet.typical { (look_name(parts, j)) ": " (rows) }
            }
        }
    }
}

/// A difference in few characters.
fn short(apart: f64) -> String {
    let sign = if apart < 0.0 { "−" } else { "+" };
    if apart.abs() < 0.05 { "0".to_owned() } else { format!("{sign}{:.1}", apart.abs()) }
}

/// The conspicuous words of each state, highs and lows apart.
fn words(view: &View<'_>, parts: &PartsView<'_>, k: usize) -> Markup {
    let several = view.gates.is_some();
    let means: Vec<f64> = (0..view.columns).map(|d| mean_of(parts, k, d)).collect();
    let conspicuous = |j: usize, d: usize| {
        let gate = if several { share(parts.gate_of(d)[k]) } else { 1.0 };
        gate * view.in_units(d, apart(parts, k, j, d, means[d]))
    };
    let sound = |x: f64| if x.is_finite() { x } else { 0.0 };
    in_order(parts, k, "profiles", |j, prior| {
        let away: Vec<f64> = (0..view.columns).map(|d| sound(conspicuous(j, d))).collect();
        let pick = |sign: f64| {
            let mut best = top(view.columns, WORDS, |d| sign * away[d]);
            best.retain(|&d| sign * away[d] > 0.0);
            best
        };
        let (high, low) = (pick(1.0), pick(-1.0));
        let widest = away.iter().map(|a| a.abs()).fold(f64::MIN_POSITIVE, f64::max);
        let cloud = |words: &[usize], side: &str| {
            html! {
                @if !words.is_empty() {
                    p class={ "cloud " (side) } {
                        @for &d in words {
                            (word(view, d, parts.state(k, j)[d], means[d], away[d].abs() / widest)) " "
                        }
                    }
                }
            }
        };
        html! {
            div.profile {
                (caption(parts, k, j, prior, "State "))
                (cloud(&high, "up"))
                (cloud(&low, "down"))
                @if let Some(rows) = typical(view, k, j, parts) { p.quiet.typical { (rows) } }
            }
        }
    })
}

fn word(view: &View<'_>, d: usize, value: f64, mean: f64, strength: f64) -> Markup {
    let size = 0.72 + 0.9 * strength.clamp(0.0, 1.0).sqrt();
    let title = format!(
        "{}: {} in this state, {} on the average",
        view.column(d),
        text::number(value),
        text::number(mean)
    );
    html! { bdi title=(title) style={ "font-size:" (format!("{size:.2}rem")) } { (view.column(d)) } }
}

/// The rows that show a state most clearly, by their names.
pub(crate) fn typical(
    view: &View<'_>,
    k: usize,
    j: usize,
    parts: &PartsView<'_>,
) -> Option<String> {
    let rows = view.subject.typical?.get(k * parts.states + j)?;
    let name = view.subject.manifest.id.as_deref().filter(|id| !id.trim().is_empty());
    let name = name.unwrap_or("row");
    let names: Vec<String> = rows.iter().take(TYPICAL).map(|row| text::name(row)).collect();
    (!names.is_empty()).then(|| format!("typical: {} {}", text::name(name), names.join(", ")))
}
