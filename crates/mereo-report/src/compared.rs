//! A model beside others: how likely rows are, against how many numbers were learned.

use maud::{Markup, html};

use crate::chart::{self, Axis};
use crate::page::{Section, scrolled_table};
use crate::view::View;
use crate::{Compared, palette, text};

/// Most models shown.
const MODELS: usize = 50;
/// A mark at a point: a stroke of no length with round ends, which is a dot however the drawing is
/// stretched.
const DOT: &str = "l0.01 0";

pub(crate) fn section(view: &View<'_>) -> Option<Section> {
    let all = view.subject.compared;
    let models = &all[..all.len().min(MODELS)];
    (!models.is_empty()).then(|| Section {
        id: "compared",
        short: "Parameters".to_owned(),
        heading: "Likelihood against parameters".to_owned(),
        body: html! {
            p {
                "How many numbers were free to be learned, and what they were good for. AIC and BIC "
                "weigh one against the other on the rows learned from: smaller is better. They, and the "
                "nats of those rows, compare only models that prepare their rows alike; nats of the rows "
                "shown are those of the data itself. Where a density is known by a bound alone, it is the "
                "bound."
            }
            (drawing(models))
            (table(models))
            @if all.len() > MODELS {
                p.quiet { (text::count(all.len() - MODELS)) " more are not shown." }
            }
        },
    })
}

/// What is drawn of a model: nats a row of the rows shown or, without such, of those learned from.
fn height(model: &Compared<'_>, seen: bool) -> Option<f64> {
    let nats = if seen { model.shown } else { model.learned };
    nats.filter(|nats| nats.is_finite())
}

/// A line for each kind of model.
fn drawing(models: &[Compared<'_>]) -> Markup {
    let seen = models.iter().any(|model| model.shown.is_some());
    let mut points: Vec<(&str, f64, f64)> = models
        .iter()
        .filter_map(|model| Some((model.kind, model.parameters? as f64, height(model, seen)?)))
        .collect();
    if points.len() < 2 {
        return html! {};
    }
    points.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut kinds: Vec<&str> = models.iter().map(|model| model.kind).collect();
    let mut known = std::collections::BTreeSet::new();
    kinds.retain(|kind| known.insert(*kind));
    let range = |of: fn(&(&str, f64, f64)) -> f64| {
        let (low, high) = points
            .iter()
            .map(of)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let room = (high - low) * 0.06;
        (low - room, high + room)
    };
    let ((left, right), (low, high)) = (range(|p| p.1), range(|p| p.2));
    let (x, y) = (Axis::new(left.max(0.0), right, 5).whole(), Axis::new(low, high, 5));
    let of_kind = |kind: &str| {
        let own = points.iter().filter(|p| p.0 == kind).map(|p| (p.1, p.2));
        own.collect::<Vec<_>>()
    };
    let inside = html! {
        @for (i, kind) in kinds.iter().enumerate() {
            @let own = of_kind(kind);
            g.kind style={ "--c:" (palette::css(i)) } {
                path d=(chart::line(own.iter().copied(), &x, &y)) {}
                @for point in own {
                    path.dot d={ (chart::line(std::iter::once(point), &x, &y)) (DOT) } {}
                }
            }
        }
    };
    let rows = if seen { "the rows shown" } else { "the rows learned from" };
    let about = format!("Nats a row against parameters of {} models", points.len());
    html! {
        figure {
            (chart::frame(&about, (&x, "parameters"), (&y, "log density, nats a row"), &inside))
            figcaption {
                @for (i, kind) in kinds.iter().enumerate() {
                    span.line-key style={ "--accent:" (palette::css(i)) } { (text::name(kind)) }
                }
                " Of " (rows) "."
            }
        }
    }
}

fn table(models: &[Compared<'_>]) -> Markup {
    let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), text::number);
    html! {
        (scrolled_table("Models compared", &html! {
            th scope="col" { "Model" }
            th scope="col" { "Kind" }
            th.num scope="col" { "Parameters" }
            th.num scope="col" { "Nats a row learned from" }
            th.num scope="col" { "AIC" }
            th.num scope="col" { "BIC" }
            th.num scope="col" { "Nats a row shown" }
        }, &html! {
            @for (i, model) in models.iter().enumerate() {
                tr.best[i == 0 && models.len() > 1] {
                    th scope="row" {
                        (text::name(model.name))
                        @if i == 0 && models.len() > 1 { span.badge { "this one" } }
                    }
                    td { (text::name(model.kind)) }
                    td.num { (model.parameters.map_or_else(|| "–".to_owned(), text::count)) }
                    td.num { (number(model.learned)) }
                    td.num { (number(model.aic)) }
                    td.num { (number(model.bic)) }
                    td.num { (number(model.shown)) }
                }
            }
        }))
    }
}
