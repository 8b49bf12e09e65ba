//! How the model was learned: the bound at each pass, and all restarts.

use maud::{Markup, html};
use mereo_core::{Restart, Status, Training};

use crate::chart::{self, Axis};
use crate::gates::top;
use crate::page::{Section, scrolled_table};
use crate::summary::per_row;
use crate::text;
use crate::view::View;

/// Most restarts that are drawn and listed; of more, the best.
const RESTARTS: usize = 30;
/// Most points of a curve.
const POINTS: usize = 400;

pub(crate) fn section(view: &View<'_>) -> Option<Section> {
    let training = view.subject.manifest.training.as_ref()?;
    Some(Section {
        id: "learning",
        short: "Learning".to_owned(),
        heading: "How it was learned".to_owned(),
        body: body(training),
    })
}

fn body(training: &Training) -> Markup {
    let last = |r: usize| {
        let bound = training.restarts[r].bounds.last().copied().unwrap_or(f64::NAN);
        if bound.is_nan() { f64::NEG_INFINITY } else { bound }
    };
    let winner = |r: usize| if r == training.best { f64::INFINITY } else { last(r) };
    let mut shown = top(training.restarts.len(), RESTARTS, winner);
    shown.sort_unstable();
    html! {
        p {
            "Each pass looks at all rows once and re-estimates the model. The bound says how well "
            "the model explains the rows, higher being better; learning stops when it no longer rises."
        }
        (curves(training, &shown))
        @if training.restarts.is_empty() {
            p.quiet { "The model file records no restarts." }
        } @else {
            (table(training, &shown))
        }
        @if shown.len() < training.restarts.len() {
            p.quiet {
                "Shown are the best " (text::count(shown.len())) " of "
                (text::count(training.restarts.len())) " restarts."
            }
        }
    }
}

fn curves(training: &Training, shown: &[usize]) -> Markup {
    let finite: Vec<(usize, f64)> = shown
        .iter()
        .flat_map(|&r| training.restarts[r].bounds.iter().copied().enumerate())
        .map(|(pass, bound)| (pass, per_row(bound, training.rows)))
        .chain(training.held_out.iter().copied().enumerate())
        .filter(|(_, bound)| bound.is_finite())
        .collect();
    let passes = finite.iter().map(|&(pass, _)| pass).max().unwrap_or(0);
    if passes == 0 {
        return html! {};
    }
    let lowest = |from: usize| {
        let late = finite.iter().filter(|(pass, _)| *pass >= from).map(|&(_, b)| b);
        late.fold(f64::INFINITY, f64::min)
    };
    let high = finite.iter().map(|&(_, b)| b).fold(f64::NEG_INFINITY, f64::max);
    // The first passes rise so steeply that they would flatten all others.
    let (all, late) = (lowest(0), lowest((passes / 10).clamp(1, 5)));
    let cut = high - all > 3.0 * (high - late) && late < high;
    let low = if cut { late - (high - late) * 0.1 } else { all };
    let x = Axis::new(0.0, passes as f64, 6).whole();
    let y = Axis::new(low, high + (high - low) * 0.04, 5);
    let path = |restart: &Restart| {
        let step = restart.bounds.len().div_ceil(POINTS).max(1);
        let end = restart.bounds.len().saturating_sub(1);
        let points = restart.bounds.iter().enumerate().filter(|(i, _)| i % step == 0 || *i == end);
        let points = points.map(|(i, &b)| (i as f64, per_row(b, training.rows)));
        chart::line(points, &x, &y)
    };
    let judged = training.held_out.iter().enumerate().map(|(pass, &bound)| (pass as f64, bound));
    let inside = html! {
        @if !training.held_out.is_empty() { path.other d=(chart::line(judged, &x, &y)) {} }
        @for &r in shown.iter().filter(|&&r| r != training.best) {
            path.other d=(path(&training.restarts[r])) {}
        }
        @if let Some(best) = training.restarts.get(training.best) { path.winner d=(path(best)) {} }
    };
    let about = format!(
        "The bound over {} passes, ending at {} nats a row",
        text::count(passes),
        text::number(per_row(training.bound, training.rows))
    );
    html! {
        figure {
            (chart::frame(&about, (&x, "pass"), (&y, "bound, nats a row"), &inside))
            figcaption {
                span.line-key.winner { "best start" }
                @if !training.held_out.is_empty() { " " span.line-key.other { "rows held out" } }
                @if shown.len() > 1 { " " span.line-key.other { "other starts" } }
                @if cut {
                    " What lies below is cut off: the lowest bound was " (text::number(all)) "."
                }
            }
        }
    }
}

fn table(training: &Training, shown: &[usize]) -> Markup {
    let best = per_row(training.bound, training.rows);
    html! {
        (scrolled_table("Restarts", &html! {
            th scope="col" { "Start" }
            th.num scope="col" { "Bound a row" }
            th.num scope="col" { "Behind" }
            th.num scope="col" { "Passes" }
            th scope="col" { "End" }
            th scope="col" { "Made by" }
        }, &html! {
            @for &r in shown {
                @let restart = &training.restarts[r];
                @let bound = per_row(restart.bounds.last().copied().unwrap_or(f64::NAN), training.rows);
                tr.best[r == training.best] {
                    th scope="row" { (text::ordinal(r)) @if r == training.best { span.badge { "best" } } }
                    td.num { (text::number(bound)) }
                    td.num { @if r == training.best { "–" } @else { (text::brief(best - bound)) } }
                    td.num { (text::count(restart.bounds.len().saturating_sub(1))) }
                    td { (ending(restart.status)) }
                    td { (text::name(&restart.start)) }
                }
            }
        }))
    }
}

fn ending(status: Status) -> &'static str {
    match status {
        Status::Converged => "converged",
        Status::PassLimit => "passes ran out",
        Status::Interrupted => "interrupted",
        Status::Behind => "given up, far behind",
        Status::EarlyStop => "stopped early",
        Status::Diverged => "diverged",
    }
}
