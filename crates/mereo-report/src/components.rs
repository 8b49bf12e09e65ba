//! The components that rows are sums of: what each looks like, and how much variance it has.

use maud::{Markup, html};
use mereo_core::ComponentsView;

use crate::chart::{self, Axis};
use crate::gates::top;
use crate::page::{Section, more};
use crate::pictures::{Canvas, Scale};
use crate::text;
use crate::view::View;

/// Most components shown, and those that are open at first.
const COMPONENTS: usize = 100;
const OPEN: usize = 24;
/// Columns shown of each.
const COLUMNS: usize = 8;

pub(crate) fn section(view: &View<'_>) -> Option<Section> {
    let components = view.components?;
    Some(Section {
        id: "components",
        short: "Components".to_owned(),
        heading: "The components".to_owned(),
        body: body(view, &components),
    })
}

/// Whether components can be subtracted as well.
fn signed(components: &ComponentsView<'_>) -> bool {
    components.component.iter().any(|w| *w < 0.0)
}

fn body(view: &View<'_>, components: &ComponentsView<'_>) -> Markup {
    let count = components.component.len() / components.columns;
    let shown = count.min(COMPONENTS);
    let row = if view.canvas.is_some() { "picture" } else { "row" };
    let figures = |range: std::ops::Range<usize>| match &view.canvas {
        Some(canvas) => html! {
            div.states { @for i in range { (picture(canvas, components, i)) } }
        },
        None => html! {
            div.profiles { @for i in range { (bars(view, components, i)) } }
        },
    };
    html! {
        p {
            @if components.mean.is_some() {
                "Every " (row) " is the mean plus so much of each component."
            } @else {
                "Every " (row) " is so much of each component, and nothing is ever subtracted."
            }
            @if signed(components) {
                @if view.canvas.is_some() { " Grey is nothing, bright is added, dark is taken away." }
                @else { " Bars show what is " span.up { "added" } " or " span.down { "taken away" } "." }
            }
        }
        (variance(components))
        article.card {
            (figures(0..shown.min(OPEN)))
            @if shown > OPEN {
                (more(&format!("{} more", text::count(shown - OPEN)), &figures(OPEN..shown)))
            }
            @if shown < count {
                p.quiet { (text::count(count - shown)) " more components are not shown." }
            }
        }
    }
}

/// The share of all variance that each component has, as bars, and that of all so far, as a line.
fn variance(components: &ComponentsView<'_>) -> Markup {
    let (Some(own), Some(total)) = (components.explained_variance, components.total_variance)
    else {
        return html! {};
    };
    if !(total > 0.0) || !total.is_finite() {
        return html! {};
    }
    let shares: Vec<f64> = own.iter().map(|v| v / total).collect();
    let mut sum = 0.0;
    let so_far: Vec<(f64, f64)> = shares
        .iter()
        .enumerate()
        .map(|(i, share)| {
            sum += share;
            (i as f64 + 1.0, sum)
        })
        .collect();
    let x = Axis::new(0.5, own.len() as f64 + 0.5, 8).whole();
    let y = Axis::new(0.0, sum.clamp(0.01, 1.0), 5);
    let about = format!(
        "The components have {} of the variance together, the first {} alone",
        text::percent(sum),
        text::percent(shares[0])
    );
    let inside = html! {
        g.bars {
            @for (i, share) in shares.iter().enumerate() {
                @let at = i as f64 + 1.0;
                (chart::bar(at - 0.4, at + 0.4, *share, &x, &y))
            }
        }
        path.winner d=(chart::line(so_far.into_iter(), &x, &y)) {}
    };
    html! {
        figure {
            (chart::frame(&about, (&x, "component"), (&y, "share of all variance"), &inside))
            figcaption { (about) ". The line is the sum so far." }
        }
    }
}

/// "Component 3" and its share of the variance.
fn caption(components: &ComponentsView<'_>, i: usize) -> Markup {
    let share = match (components.explained_variance, components.total_variance) {
        (Some(own), Some(total)) if total > 0.0 => Some(own[i] / total),
        _ => None,
    };
    html! {
        span.prior {
            @if let Some(share) = share {
                span.bar { i style={ "width:" (text::css_percent(share)) } {} }
            }
            span.state-name { "Component " (text::ordinal(i)) }
            @if let Some(share) = share { span.num { (text::percent(share)) } }
        }
    }
}

fn of<'a>(components: &ComponentsView<'a>, i: usize) -> &'a [f64] {
    &components.component[i * components.columns..(i + 1) * components.columns]
}

fn picture(canvas: &Canvas, components: &ComponentsView<'_>, i: usize) -> Markup {
    let component = of(components, i);
    let largest = component.iter().map(|w| w.abs()).fold(f64::MIN_POSITIVE, f64::max);
    let low = if signed(components) { -largest } else { 0.0 };
    html! {
        figure.state {
            @if let Some(picture) = canvas.values(component, Scale { low, high: largest }) {
                span.tile { img.pixels src=(picture) alt={ "Component " (text::ordinal(i)) }; }
            }
            figcaption { (caption(components, i)) }
        }
    }
}

fn bars(view: &View<'_>, components: &ComponentsView<'_>, i: usize) -> Markup {
    let component = of(components, i);
    let columns = top(components.columns, COLUMNS, |d| component[d].abs());
    let largest = component.iter().map(|w| w.abs()).fold(f64::MIN_POSITIVE, f64::max);
    html! {
        div.profile {
            (caption(components, i))
            ul.deviations {
                @for d in columns {
                    @let w = component[d];
                    @let class = if w < 0.0 { "down" } else { "up" };
                    li {
                        bdi.name title=(view.column(d)) { (view.column(d)) }
                        span class={ "from-mean " (class) } {
                            i style={ "width:" (text::css_percent(w.abs() / largest / 2.0)) } {}
                        }
                        span.num { (text::signed(w)) }
                    }
                }
            }
        }
    }
}
