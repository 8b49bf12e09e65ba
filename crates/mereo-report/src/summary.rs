//! What was learned, in a sentence or two and a handful of numbers.

use maud::{Markup, html};
use mereo_core::{Appearance, ScoreKind, Status};

use crate::view::View;
use crate::{rows, text};

pub(crate) fn summary(view: &View<'_>) -> Markup {
    html! {
        p.lead { (what(view)) " " span.quiet { (how(view)) } }
        dl.tiles {
            @for (name, value, note) in tiles(view) {
                div { dt { (name) } dd { (value) @if !note.is_empty() { small { (note) } } } }
            }
        }
    }
}

/// "4 parts, each with 6 appearances, learned from 2,000 pictures of 32 × 32 pixels."
fn what(view: &View<'_>) -> String {
    let model = match view.parts {
        Some(parts) if parts.parts > 1 => format!(
            "{}, each with {}",
            text::counted(parts.parts, "part", "parts"),
            match parts.appearance {
                Appearance::States | Appearance::Sums =>
                    text::counted(parts.states, "appearance", "appearances"),
                Appearance::Factors => text::counted(parts.states / 2, "factor", "factors"),
            },
        ),
        Some(parts) if parts.appearance == Appearance::Factors => {
            format!("One part with {}", text::counted(parts.states / 2, "factor", "factors"))
        }
        Some(parts) => {
            let (one, many) = view.states_called();
            let typical = if view.canvas.is_some() { "picture" } else { "row" };
            format!("{}, each a typical {typical}", text::counted(parts.states, one, many))
        }
        None if view.components.is_some() => components_called(view),
        None => format!("A model of kind “{}”", text::name(&view.subject.manifest.model)),
    };
    let shape = match view.canvas {
        Some(canvas) => format!(" of {}", canvas.size()),
        None if view.columns > 0 => {
            format!(" of {}", text::counted(view.columns, "column", "columns"))
        }
        None => String::new(),
    };
    match &view.subject.manifest.training {
        Some(training) => {
            format!("{model}, learned from {}{shape}.", view.rows_called(training.rows))
        }
        None if shape.is_empty() => format!("{model}."),
        None if view.canvas.is_some() => format!("{model}, for pictures{shape}."),
        None => format!("{model}, for rows{shape}."),
    }
}

/// "3 components with 97% of the variance"
fn components_called(view: &View<'_>) -> String {
    let Some(components) = view.components else { return String::new() };
    let count = components.component.len() / components.columns;
    let called = text::counted(count, "component", "components");
    match (components.explained_variance, components.total_variance) {
        (Some(own), Some(total)) if total > 0.0 => {
            let share = own.iter().sum::<f64>() / total;
            format!("{called} with {} of the variance", text::percent(share.min(1.0)))
        }
        _ => called,
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

/// A bound of all rows together as one of a single row.
pub(crate) fn per_row(bound: f64, rows: usize) -> f64 {
    bound / rows.max(1) as f64
}

fn tiles(view: &View<'_>) -> Vec<(&'static str, String, String)> {
    let mut tiles = Vec::new();
    let manifest = view.subject.manifest;
    tiles.push(("Model", text::name(&manifest.model), String::new()));
    if let Some(parts) = view.parts {
        if parts.parts > 1 {
            tiles.push(("Parts", text::count(parts.parts), String::new()));
        }
        if parts.appearance == Appearance::Factors {
            tiles.push(("Factors", text::count(parts.states / 2), "of each part".to_owned()));
        } else if parts.parts > 1 {
            tiles.push(("States", text::count(parts.states), "of each part".to_owned()));
        } else {
            let name = if view.states_called().0 == "state" { "States" } else { "Components" };
            tiles.push((name, text::count(parts.states), String::new()));
        }
    }
    if let Some(components) = view.components {
        let count = components.component.len() / components.columns;
        tiles.push(("Components", text::count(count), String::new()));
    }
    if let Some(training) = &manifest.training {
        tiles.push(("Rows", text::count(training.rows), "learned from".to_owned()));
    }
    if view.columns > 0 {
        let note = view.canvas.map_or(String::new(), |c| c.size());
        tiles.push(("Columns", text::count(view.columns), note));
    }
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
    if let Some(error) = rows::overall_error(view) {
        let value = format!("{}{}", text::brief(error), view.unit());
        tiles.push(("Error", value, "RMS, rows below".to_owned()));
    }
    tiles
}
