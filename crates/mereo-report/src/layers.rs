//! The layers of a deep mixture: how common their components are, and what each does to one and the
//! same row.

use maud::{Markup, html};
use mereo_core::Dense;

use crate::page::Section;
use crate::pictures::Scale;
use crate::subject::ShownLayer;
use crate::text;
use crate::view::View;

/// Most components shown of a layer, and most paths.
const COMPONENTS: usize = 60;

pub(crate) fn section(view: &View<'_>) -> Option<Section> {
    let layers = view.subject.layers;
    if layers.is_empty() {
        return None;
    }
    let drawn = view.canvas.is_some() && layers.iter().any(|layer| layer.appearance.is_some());
    let body = html! {
        p {
            "Every row is made by one component of each layer, from the top one down to the data. "
            @if drawn { "Pictures show what each component makes of one and the same draw, the other \
                         layers taking their components of the most common path." }
        }
        @for (number, layer) in layers.iter().enumerate() { (one(view, number, layer)) }
    };
    Some(Section {
        id: "layers",
        short: "Layers".to_owned(),
        heading: "The layers".to_owned(),
        body,
    })
}

fn one(view: &View<'_>, number: usize, layer: &ShownLayer<'_>) -> Markup {
    let shown = layer.usage.len().min(COMPONENTS);
    // Each layer in its own range: what one does may be faint beside what another does.
    let cells = layer.appearance.map_or(&[][..], Dense::values);
    let scale = Scale::of(cells.iter().copied());
    html! {
        article.card {
            h3 { (layer.name) }
            div.states {
                @for i in 0..shown {
                    figure.state {
                        @if let (Some(canvas), Some(looks)) = (&view.canvas, layer.appearance) {
                            @if i < looks.rows() {
                                @if let Some(picture) = canvas.values(looks.row(i), scale) {
                                    span.tile {
                                        img.pixels src=(picture)
                                            alt={ "Component " (text::ordinal(i)) " of layer " (text::ordinal(number)) };
                                    }
                                }
                            }
                        }
                        figcaption {
                            span.prior {
                                span.bar { i style={ "width:" (text::css_percent(layer.usage[i])) } {} }
                                span.state-name { (text::ordinal(i)) }
                                span.num { (text::percent(layer.usage[i])) }
                            }
                        }
                    }
                }
            }
            @if shown < layer.usage.len() {
                p.quiet { (text::count(layer.usage.len() - shown)) " more are not shown." }
            }
        }
    }
}
