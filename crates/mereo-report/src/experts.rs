//! Numbers for experts: nats and bits.

use maud::html;
use mereo_core::{ScoreKind, Status};

use crate::page::Section;
use crate::summary::per_row;
use crate::text;
use crate::view::View;

pub(crate) fn section(view: &View<'_>) -> Section {
    let tiles = tiles(view);
    Section {
        id: "experts",
        short: "For experts".to_owned(),
        heading: "For experts".to_owned(),
        body: html! {
            p { (how(view)) }
            @if !tiles.is_empty() {
                dl.tiles {
                    @for (name, value, note) in tiles {
                        div { dt { (name) } dd { (value) @if !note.is_empty() { small { (note) } } } }
                    }
                }
            }
        },
    }
}

/// How learning ended, or that nobody knows.
fn how(view: &View<'_>) -> String {
    let Some(training) = &view.subject.manifest.training else {
        return "The model file does not record how it was learned.".to_owned();
    };
    let starts = match training.restarts.len() {
        0 | 1 => "Learning".to_owned(),
        n => format!("The best of {} starts", text::count(n)),
    };
    let end = match training.status {
        Status::Converged => "and converged",
        Status::PassLimit => "and was still rising when the passes ran out",
        Status::Interrupted => "and was then interrupted",
        Status::Behind => "and was behind another start",
        Status::EarlyStop => "and stopped when rows held out gained no more",
        Status::Diverged => "and then diverged, so that the last good state was kept",
    };
    let passes = text::counted(training.passes, "pass", "passes");
    let bound = per_row(training.bound, training.rows);
    if bound.is_finite() {
        format!(
            "{starts} reached a bound of {} nats a row after {passes} {end}.",
            text::number(bound)
        )
    } else {
        format!("{starts} took {passes} {end}, but its bound is not a number.")
    }
}

fn tiles(view: &View<'_>) -> Vec<(&'static str, String, String)> {
    let mut tiles = Vec::new();
    let manifest = view.subject.manifest;
    if let Some(training) = &manifest.training {
        let status = match training.status {
            Status::Converged => "converged",
            Status::PassLimit => "limit reached",
            Status::Interrupted => "interrupted",
            Status::Behind => "behind",
            Status::EarlyStop => "stopped early",
            Status::Diverged => "diverged",
        };
        let bound = text::number(per_row(training.bound, training.rows));
        tiles.push(("Bound", bound, "nats a row".to_owned()));
        tiles.push(("Passes", text::count(training.passes), status.to_owned()));
    }
    if let Some(gates) = &view.gates {
        let note = if view.canvas.is_some() { "of the pixels" } else { "of the columns" };
        tiles.push(("Clearly one part’s", text::percent(gates.clear), note.to_owned()));
    }
    if let Some(scores) = view.subject.scores {
        let note = match scores.kind {
            ScoreKind::Exact => "nats a row, exact",
            ScoreKind::Bound => "nats a row, bound",
            ScoreKind::Estimate => "nats a row, estimated",
        };
        tiles.push(("Log density", text::number(scores.mean), note.to_owned()));
    }
    if let Some(gates) = &view.gates {
        let most = text::brief((gates.size.len() as f64).log2());
        let note = format!("bits a column, of {most} at most");
        tiles.push(("Doubt about parts", text::brief(gates.mean_entropy), note));
    }
    tiles
}
