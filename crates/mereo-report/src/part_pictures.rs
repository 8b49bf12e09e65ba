//! Parts of pictures: masks, the combined map, and what each state looks like.

use maud::{Markup, html};
use mereo_core::{Appearance, PartsView};

use crate::gates::{Gates, share};
use crate::parts::{caption, in_order, look_name};
use crate::pictures::Canvas;
use crate::view::View;
use crate::{palette, text};

/// Which part has each pixel, as one map.
pub(crate) fn combined(canvas: &Canvas, gates: &Gates) -> Markup {
    let channels = canvas.channels();
    let map = canvas.map(|pixel| {
        let certainty: f64 =
            (0..channels).map(|c| gates.certainty(pixel * channels + c)).sum::<f64>();
        let owner = gates.owner.get(pixel * channels).map_or(0, |&k| k as usize);
        (palette::colour(owner), certainty / channels as f64)
    });
    html! {
        @if let Some(map) = map {
            figure.map {
                span.tile { img.pixels src=(map) alt="Map of the parts: each pixel in the colour of its part"; }
                figcaption { "Each pixel in its part’s colour; the paler, the less certain." }
            }
        }
    }
}

/// The switch between states as their part sees them and whole states. It needs no script.
pub(crate) fn whole_switch(appearance: Appearance) -> Markup {
    html! {
        p.switch {
            @match appearance {
                Appearance::States | Appearance::Sums => {
                    label { input #whole type="checkbox"; " Show states whole" }
                    span.quiet {
                        " – otherwise a state fades out where its part has no say. "
                        "The number under a state is its name, the percentage how common it is."
                    }
                }
                Appearance::Factors => {
                    label { input #whole type="checkbox"; " Show looks whole" }
                    span.quiet { " – otherwise a look fades out where its part has no say." }
                }
            }
        }
    }
}

/// A part: its mask, and its states.
pub(crate) fn part(view: &View<'_>, canvas: &Canvas, parts: &PartsView<'_>, k: usize) -> Markup {
    let channels = canvas.channels();
    let mask = canvas.mask(palette::colour(k), |pixel| {
        let gate = |c: usize| share(parts.gate_of(pixel * channels + c)[k]);
        (0..channels).map(gate).sum::<f64>() / channels as f64
    });
    let style = mask.as_ref().map(|uri| format!("--mask:url({uri})"));
    html! {
        div.pictured style=[style] {
            figure.mask {
                @if let Some(mask) = &mask {
                    span.tile { img.pixels src=(mask) alt={ "Where " (text::part_name(k)) " has a say" }; }
                }
                figcaption { "where it is" }
            }
            div { (states(view, canvas, parts, k)) }
        }
    }
}

/// What each state of a part looks like.
pub(crate) fn states(view: &View<'_>, canvas: &Canvas, parts: &PartsView<'_>, k: usize) -> Markup {
    in_order(parts, k, "states", |j, prior| {
        let mut alt = format!("{} of {}", look_name(parts, j), text::part_name(k));
        if parts.appearance != Appearance::Factors {
            alt = format!("{alt}, {}", text::percent(prior));
        }
        html! {
            figure.state {
                @if let Some(picture) = canvas.values(parts.state(k, j), view.scale) {
                    span.tile { img.pixels src=(picture) alt=(alt); }
                }
                figcaption { (caption(parts, k, j, prior, "")) }
            }
        }
    })
}
