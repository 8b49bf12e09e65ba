//! Series of pictures: what lies between rows, a grid over codes, filters.

use maud::html;

use crate::page::Section;
use crate::pictures::{Canvas, Scale};
use crate::subject::Gallery;
use crate::text;
use crate::view::View;

/// Most pictures of a gallery, and most in a line.
const PICTURES: usize = 400;
const ACROSS: usize = 24;

pub(crate) fn sections(view: &View<'_>) -> Vec<Section> {
    view.subject.galleries.iter().filter_map(|gallery| section(view, gallery)).collect()
}

fn section(view: &View<'_>, gallery: &Gallery<'_>) -> Option<Section> {
    let canvas = match gallery.picture {
        Some(own) => Canvas::new(own, gallery.rows.columns())?,
        None => view.canvas?,
    };
    let across = gallery.across.clamp(1, ACROSS);
    let shown = gallery.rows.rows().min(PICTURES);
    let scale_of = |row: &[f64]| {
        if !gallery.signed {
            return view.scale;
        }
        let most =
            row.iter().filter(|v| v.is_finite()).fold(f64::MIN_POSITIVE, |m, v| m.max(v.abs()));
        Scale { low: -most, high: most }
    };
    let style = format!(
        "display:grid;grid-template-columns:repeat({across},minmax(0,1fr));gap:.2rem;max-width:{}rem",
        across * 4
    );
    let body = html! {
        p { (text::name(gallery.about)) }
        div style=(style) {
            @for r in 0..shown {
                @if let Some(picture) = canvas.values(gallery.rows.row(r), scale_of(gallery.rows.row(r))) {
                    span.tile.plain {
                        img.pixels src=(picture) alt={ (gallery.short) " " (text::ordinal(r)) };
                    }
                }
            }
        }
        @if shown < gallery.rows.rows() {
            p.quiet { (text::count(gallery.rows.rows() - shown)) " more are not shown." }
        }
    };
    Some(Section {
        id: gallery.id,
        short: gallery.short.to_owned(),
        heading: gallery.heading.to_owned(),
        body,
    })
}
