//! The page around the sections: head, header, table of contents.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::view::View;
use crate::{
    about, classes, compared, components, experts, features, galleries, layers, parts, rows,
    samples, scores, sizes, summary, text, together, training,
};

pub(crate) const STYLE: &str = include_str!("style.css");
pub(crate) const SCRIPT: &str = include_str!("theme.js");

/// One section of the page.
pub(crate) struct Section {
    pub(crate) id: &'static str,
    /// What the table of contents calls it.
    pub(crate) short: String,
    pub(crate) heading: String,
    pub(crate) body: Markup,
}

/// What a browser lets a page do: show itself and run these scripts of its own, and nothing else. Whatever
/// else came to stand in the page would not be run and could not ask the network for anything.
pub(crate) fn policy(scripts: &[&str]) -> String {
    let own = scripts
        .iter()
        .map(|script| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(script))));
    let own = own.collect::<Vec<_>>().join(" ");
    format!(
        "default-src 'none'; script-src {own}; style-src 'unsafe-inline'; img-src data:; \
         base-uri 'none'; form-action 'none'"
    )
}

pub(crate) fn page(view: &View<'_>) -> Markup {
    let title = text::name(view.subject.title);
    let mut sections: Vec<Section> = [
        parts::section(view),
        together::section(view),
        components::section(view),
        features::section(view),
        layers::section(view),
        classes::section(view),
        rows::section(view),
        samples::section(view),
    ]
    .into_iter()
    .flatten()
    .collect();
    sections.extend(galleries::sections(view));
    // What only experts ask for comes last.
    sections.push(experts::section(view));
    let for_experts = [
        scores::section(view),
        sizes::section(view),
        training::section(view),
        compared::section(view),
    ];
    sections.extend(for_experts.into_iter().flatten());
    sections.push(about::section(view));
    let aspect = view.canvas.map_or(1.0, |c| c.aspect());
    document(&title, aspect, &summary::summary(view), &sections)
}

/// A whole page: what is said on top, and sections with a table of contents.
pub(crate) fn document(title: &str, aspect: f64, top: &Markup, sections: &[Section]) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" style={ "--aspect:" (format!("{aspect:.3}")) } {
            head {
                meta charset="utf-8";
                // Before anything that it is about.
                meta http-equiv="Content-Security-Policy" content=(policy(&[SCRIPT]));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "mereo " (env!("CARGO_PKG_VERSION")) };
                title { (title) " · mereo" }
                // An icon of nothing, so that browsers do not go looking for one.
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                div.layout {
                    nav.contents aria-label="Contents" {
                        span.brand { "mereo" }
                        ul {
                            @for section in sections {
                                li { a href={ "#" (section.id) } { (section.short) } }
                            }
                        }
                        button #theme type="button" hidden { "Dark" }
                    }
                    main #main {
                        header.top {
                            h1 { (title) }
                            (top)
                        }
                        @for section in sections {
                            section id=(section.id) aria-labelledby={ (section.id) "-heading" } {
                                h2 id={ (section.id) "-heading" } { (section.heading) }
                                (section.body)
                            }
                        }
                    }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

/// A list of which only the beginning is open at first.
pub(crate) fn more(what: &str, body: &Markup) -> Markup {
    html! { details.more { summary { (what) } (body) } }
}

/// A table that scrolls sideways where it does not fit, also by keyboard.
pub(crate) fn scrolled_table(about: &str, heads: &Markup, rows: &Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(about) {
            table { thead { tr { (heads) } } tbody { (rows) } }
        }
    }
}

/// A small square in a part's colour.
pub(crate) fn chip(part: usize) -> Markup {
    html! { span.chip style={ "--c:" (crate::palette::css(part)) } aria-hidden="true" {} }
}
