//! Which columns go together: a matrix to look at.

use maud::{Markup, html};

use crate::page::{Section, more, scrolled_table};
use crate::view::View;
use crate::{Together, text};

/// Most columns of the matrix, and pairs that are named.
const COLUMNS: usize = 40;
const PAIRS: usize = 6;
/// Pairs weaker than this are not named.
const WEAK: f64 = 0.2;
/// Columns up to which the matrix is open at first.
const OPEN: usize = 24;

pub(crate) fn section(view: &View<'_>) -> Option<Section> {
    let together = view.subject.together?;
    let n = together.columns.len();
    if n < 2 || n.checked_mul(n) != Some(together.strength.len()) {
        return None;
    }
    let mut pairs: Vec<(usize, usize)> =
        (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))).collect();
    let of = |a: usize, b: usize| strength(&together, a, b);
    pairs.sort_by(|x, y| of(y.0, y.1).total_cmp(&of(x.0, x.1)).then(x.cmp(y)));
    pairs.retain(|&(a, b)| of(a, b) >= WEAK);
    let matrix = matrix(view, &together);
    let body = html! {
        p {
            "From 0, where one column says nothing about another, to 1, where it says all: correlations of numbers, Cramér’s V "
            "of words, and the correlation ratio of a number among words. "
            @if pairs.is_empty() { "No two columns go together strongly." }
            @else { "Strongest: " }
            @for (i, &(a, b)) in pairs.iter().take(PAIRS).enumerate() {
                @if i > 0 { ", " }
                bdi { (view.column(together.columns[a])) } " with " bdi { (view.column(together.columns[b])) }
                " (" (format!("{:.2}", of(a, b))) ")"
            }
            @if !pairs.is_empty() { "." }
        }
        @if n <= OPEN { (matrix) } @else { (more("The whole matrix", &matrix)) }
    };
    Some(Section {
        id: "together",
        short: "Together".to_owned(),
        heading: "Columns that go together".to_owned(),
        body,
    })
}

fn strength(together: &Together<'_>, a: usize, b: usize) -> f64 {
    let value = together.strength[a * together.columns.len() + b];
    if value.is_finite() { value.clamp(0.0, 1.0) } else { 0.0 }
}

fn matrix(view: &View<'_>, together: &Together<'_>) -> Markup {
    let shown = together.columns.len().min(COLUMNS);
    let columns = &together.columns[..shown];
    html! {
        div.together {
            (scrolled_table("How strongly columns go together", &html! {
                th scope="col" { span.quiet { "Column" } }
                @for (i, _) in columns.iter().enumerate() { th.num scope="col" { (text::ordinal(i)) } }
            }, &html! {
                @for (a, &d) in columns.iter().enumerate() {
                    tr {
                        th scope="row" { span.quiet { (text::ordinal(a)) " " } bdi { (view.column(d)) } }
                        @for b in 0..shown {
                            @let value = strength(together, a, b);
                            @if a == b { td.num.share { "" } }
                            @else {
                                td.num.share style={ "--s:" (text::css_percent(value)) } title={
                                    (view.column(d)) " with " (view.column(columns[b])) ": " (format!("{value:.2}"))
                                } { (format!("{value:.2}").trim_start_matches('0')) }
                            }
                        }
                    }
                }
            }))
        }
        @if shown < together.columns.len() {
            p.quiet { (text::count(together.columns.len() - shown)) " more columns are not shown." }
        }
    }
}
