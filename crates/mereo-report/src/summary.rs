//! What was learned, in a sentence or two and a handful of numbers.

use maud::{Markup, html};
use mereo_core::Appearance;

use crate::view::View;
use crate::{rows, text};

pub(crate) fn summary(view: &View<'_>) -> Markup {
    html! {
        p.lead { (what(view)) }
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
    let words = (0..view.columns).any(|d| view.holds_words(d));
    if let Some(error) = rows::overall_error(view).filter(|_| !words) {
        let value = format!("{}{}", text::brief(error), view.unit());
        tiles.push(("Error", value, "RMS, rows below".to_owned()));
    }
    tiles
}
