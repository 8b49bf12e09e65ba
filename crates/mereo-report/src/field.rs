//! A page about a random field: pictures before and after, the marginals, what a method watched sweep by
//! sweep, and methods side by side.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};
use maud::{Markup, html};
use mereo_core::{Result, write_atomically};

use crate::chart::{self, Axis};
use crate::page::{Section, document, scrolled_table};
use crate::text;

/// A picture of bytes with a caption.
#[derive(Debug, Clone, Copy)]
pub struct ShownPicture<'a> {
    /// What it shows.
    pub caption: &'a str,
    /// Its height.
    pub height: usize,
    /// Its width.
    pub width: usize,
    /// 1 for grey, 3 for colour, 4 for colour and how opaque it is.
    pub channels: usize,
    /// `[height, width, channels]`.
    pub bytes: &'a [u8],
}

/// A method, and how it did.
#[derive(Debug, Clone)]
pub struct MethodTried {
    /// Its name.
    pub name: String,
    /// The energy of the state that it found.
    pub energy: f64,
    /// A number that no state's energy is below, where the method has one.
    pub bound: Option<f64>,
    /// Exact, bound or estimate.
    pub kind: String,
    /// How long it took.
    pub seconds: f64,
    /// What it came to beyond that: the share of pixels that differ from the first method's, say.
    pub note: String,
}

/// What the page shows. Whatever is empty is left out.
#[derive(Debug, Clone, Default)]
pub struct FieldPage<'a> {
    /// What stands on top.
    pub title: &'a str,
    /// One sentence about it.
    pub about: String,
    /// Pictures, before and after and how sure it is.
    pub pictures: Vec<ShownPicture<'a>>,
    /// What the method watched, sweep by sweep, and its name.
    pub trace: (&'a str, &'a [f64]),
    /// Methods side by side, the one that was chosen first.
    pub methods: &'a [MethodTried],
    /// Rows of a table of marginals: a name and a probability for each label.
    pub marginals: Vec<(String, Vec<f64>)>,
    /// What was chosen and found, by name.
    pub facts: Vec<(&'a str, String)>,
}

/// The page, as text.
///
/// ```
/// use mereo_report::{FieldPage, render_field};
/// let page = FieldPage { title: "<A field>", trace: ("free energy", &[3.0, 2.0, 1.5]), ..FieldPage::default() };
/// let html = render_field(&page);
/// assert!(html.contains("&lt;A field&gt;") && html.contains("free energy"));
/// ```
pub fn render_field(page: &FieldPage<'_>) -> String {
    let sections: Vec<Section> =
        [pictures(page), marginals(page), trace(page), methods(page), facts(page)]
            .into_iter()
            .flatten()
            .collect();
    let aspect = page.pictures.first().map_or(1.0, |p| p.width as f64 / p.height.max(1) as f64);
    let top = html! { p.lead { (page.about) } };
    document(&text::name(page.title), aspect.clamp(0.3, 3.0), &top, &sections).into_string()
}

/// Writes the page to a file, whole or not at all.
pub fn write_field(page: &FieldPage<'_>, path: &Path) -> Result<()> {
    let html = render_field(page);
    write_atomically(path, |out| out.write_all(html.as_bytes()))
}

fn section(id: &'static str, heading: &str, body: Markup) -> Section {
    Section { id, short: heading.to_owned(), heading: heading.to_owned(), body }
}

fn pictures(page: &FieldPage<'_>) -> Option<Section> {
    let drawn: Vec<(&str, String)> =
        page.pictures.iter().filter_map(|p| Some((p.caption, uri(p)?))).collect();
    (!drawn.is_empty()).then(|| {
        section("pictures", "Pictures", html! {
            div style="display:grid;grid-template-columns:repeat(auto-fit,minmax(min(20rem,100%),1fr));gap:1rem" {
                @for (caption, uri) in &drawn {
                    figure {
                        img src=(uri) alt=(caption) style="width:100%;height:auto;image-rendering:auto;border-radius:.4rem";
                        figcaption { (caption) }
                    }
                }
            }
        })
    })
}

/// A PNG as a data URI; nothing if its numbers do not fit together.
fn uri(picture: &ShownPicture<'_>) -> Option<String> {
    let kind = match picture.channels {
        1 => ExtendedColorType::L8,
        3 => ExtendedColorType::Rgb8,
        4 => ExtendedColorType::Rgba8,
        _ => return None,
    };
    let size = picture.height.checked_mul(picture.width)?.checked_mul(picture.channels)?;
    if size == 0 || size != picture.bytes.len() {
        return None;
    }
    let (width, height) = (u32::try_from(picture.width).ok()?, u32::try_from(picture.height).ok()?);
    let mut png = Vec::new();
    PngEncoder::new(&mut png).write_image(picture.bytes, width, height, kind).ok()?;
    Some(format!("data:image/png;base64,{}", STANDARD.encode(png)))
}

fn marginals(page: &FieldPage<'_>) -> Option<Section> {
    /// Most variables that are listed.
    const MOST: usize = 200;
    if page.marginals.is_empty() {
        return None;
    }
    let labels = page.marginals.iter().map(|m| m.1.len()).max().unwrap_or(0);
    let shown = page.marginals.iter().take(MOST);
    Some(section(
        "marginals",
        "Marginals",
        html! {
            p { "How probable each label of each variable is." }
            (scrolled_table("Marginals", &html! {
                th scope="col" { "Variable" }
                @for label in 0..labels { th.num scope="col" { "Label " (label) } }
            }, &html! {
                @for (name, values) in shown {
                    tr {
                        th scope="row" { (text::name(name)) }
                        @for value in values { td.num { (format!("{value:.4}")) } }
                    }
                }
            }))
            @if page.marginals.len() > MOST {
                p.quiet { (text::count(page.marginals.len() - MOST)) " more are not shown." }
            }
        },
    ))
}

fn trace(page: &FieldPage<'_>) -> Option<Section> {
    let (name, values) = page.trace;
    let points: Vec<(f64, f64)> = values
        .iter()
        .enumerate()
        .map(|(sweep, value)| ((sweep + 1) as f64, *value))
        .filter(|point| point.1.is_finite())
        .collect();
    if points.len() < 2 {
        return None;
    }
    let (low, high) = points
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), p| (l.min(p.1), h.max(p.1)));
    let room = (high - low) * 0.05;
    let x = Axis::new(1.0, points.len() as f64, 6).whole();
    let y = Axis::new(low - room, high + room, 5);
    let inside = html! {
        g.kind style={ "--c:" (crate::palette::css(0)) } {
            path d=(chart::line(points.iter().copied(), &x, &y)) {}
        }
    };
    let about = format!("{name} by sweep");
    Some(section(
        "sweeps",
        "Sweep by sweep",
        html! {
            figure {
                (chart::frame(&about, (&x, "sweep"), (&y, name), &inside))
            }
        },
    ))
}

fn methods(page: &FieldPage<'_>) -> Option<Section> {
    (!page.methods.is_empty()).then(|| {
        section("methods", "Methods", html! {
            p {
                "The same field asked in several ways: less energy is a more probable state. "
                "Exact means that no state has less; a bound, that none can have less than it says."
            }
            (scrolled_table("Methods side by side", &html! {
                th scope="col" { "Method" }
                th scope="col" { "Answer" }
                th.num scope="col" { "Energy" }
                th.num scope="col" { "Bound" }
                th.num scope="col" { "Seconds" }
                th scope="col" { "" }
            }, &html! {
                @for tried in page.methods {
                    tr {
                        th scope="row" { (text::name(&tried.name)) }
                        td { (tried.kind) }
                        td.num { (format!("{:.2}", tried.energy)) }
                        td.num { (tried.bound.map_or_else(|| "–".to_owned(), |b| format!("{b:.2}"))) }
                        td.num { (format!("{:.3}", tried.seconds)) }
                        td { (tried.note) }
                    }
                }
            }))
        })
    })
}

fn facts(page: &FieldPage<'_>) -> Option<Section> {
    (!page.facts.is_empty()).then(|| {
        section(
            "facts",
            "What was used",
            html! {
                (scrolled_table("What was used", &html! {
                    th scope="col" { "" }
                    th scope="col" { "" }
                }, &html! {
                    @for (name, value) in &page.facts {
                        tr { th scope="row" { (name) } td { (text::name(value)) } }
                    }
                }))
            },
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_left_out_and_nothing_breaks_the_page() {
        let bytes = [0, 128, 255];
        let good =
            ShownPicture { caption: "before", height: 1, width: 3, channels: 1, bytes: &bytes };
        let page = FieldPage {
            title: "t",
            pictures: vec![
                good,
                ShownPicture { channels: 2, ..good },
                ShownPicture { width: 9, ..good },
            ],
            trace: ("energy", &[f64::NAN, 1.0]),
            marginals: vec![("<x>".into(), vec![0.25, 0.75])],
            ..FieldPage::default()
        };
        let html = render_field(&page);
        assert_eq!(html.matches("data:image/png").count(), 1);
        assert!(html.contains("&lt;x&gt;") && html.contains("0.7500"));
        assert!(!html.contains("Sweep by sweep") && !html.contains("NaN"));
    }
}
