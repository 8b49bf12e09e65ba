//! The classes that states or factors depend on: their priors over states, what they imagine, and how they fit labels.

use maud::{Markup, html};
use mereo_core::{Appearance, PartsView};

use crate::gates::top;
use crate::page::{Section, chip, scrolled_table};
use crate::subject::{Drawn, ShownClasses};
use crate::view::View;
use crate::{palette, text};

/// Most parts whose priors over states are shown, those that tell most about the class; most states of each.
const PARTS: usize = 8;
const STATES: usize = 12;
/// Most classes with a bar, and most rows and columns of the table of counts.
const CLASSES: usize = 24;
/// Most drawn rows shown of a class or a hybrid.
const DRAWN: usize = 8;

pub(crate) fn section(view: &View<'_>) -> Option<Section> {
    let (parts, classes) = (view.parts?, view.classes?);
    let shown = classes.names.len().min(CLASSES);
    let body = html! {
        @match parts.appearance {
            Appearance::States | Appearance::Sums => p {
                "Which state a part shows depends on the class. The bars under a state say how common it "
                "is in each class."
            },
            Appearance::Factors => p {
                "Where the factors of a part are centred depends on the class. Shown is how each part "
                "looks there."
            },
        }
        ul.bars.class-key {
            @for n in 0..shown {
                li {
                    span { (chip(n)) bdi { (text::name(&classes.names[n])) } }
                    span.bar style={ "--c:" (palette::css(n)) } {
                        i style={ "width:" (text::css_percent(classes.prior[n])) } {}
                    }
                    span.num { (text::percent(classes.prior[n])) }
                }
            }
        }
        @if shown < classes.names.len() {
            p.quiet { (text::count(classes.names.len() - shown)) " more classes are not shown." }
        }
        @for k in telling(&parts, &classes) {
            @match parts.appearance {
                Appearance::States | Appearance::Sums => (class_state_prior(view, &parts, &classes, k, shown)),
                Appearance::Factors => (centres(view, &parts, &classes, k, shown)),
            }
        }
        (drawn(view, "Drawn from each class", classes.samples))
        (drawn(view, "Hybrids: some parts of one class, some of another", classes.hybrids))
        (confusion(&classes))
    };
    Some(Section {
        id: "classes",
        short: "Classes".to_owned(),
        heading: "The classes and their habits".to_owned(),
        body,
    })
}

/// How many priors over states a class has in each part: one for each state, or for each factor.
pub(crate) fn habits_of_part(parts: &PartsView<'_>) -> usize {
    match parts.appearance {
        Appearance::States | Appearance::Sums => parts.states,
        // The offset, and each factor up and down.
        Appearance::Factors => parts.states / 2,
    }
}

/// What the state of each part tells about the class, in bits: their mutual information.
pub(crate) fn information(parts: &PartsView<'_>, classes: &ShownClasses<'_>) -> Vec<f64> {
    let slots = parts.parts * parts.states;
    let mut told = vec![0.0; parts.parts];
    for slot in 0..slots {
        let of = |n: usize| classes.class_state_prior[n * slots + slot];
        let all: f64 = classes.prior.iter().enumerate().map(|(n, beta)| beta * of(n)).sum();
        for (n, beta) in classes.prior.iter().enumerate().filter(|(n, _)| of(*n) > 0.0) {
            told[slot / parts.states] += beta * of(n) * (of(n) / all.max(1e-300)).log2();
        }
    }
    told
}

/// How far apart classes centre the factors of each part, in deviations of a factor: the root mean
/// square of the distance from the mean of all classes.
fn distances(parts: &PartsView<'_>, classes: &ShownClasses<'_>) -> Vec<f64> {
    let factors = habits_of_part(parts);
    let slots = parts.parts * factors;
    let mut squares = vec![0.0; parts.parts];
    for slot in 0..slots {
        let of = |n: usize| classes.class_state_prior[n * slots + slot];
        let mean: f64 = classes.prior.iter().enumerate().map(|(n, beta)| beta * of(n)).sum();
        for (n, beta) in classes.prior.iter().enumerate() {
            squares[slot / factors] += beta * (of(n) - mean).powi(2);
        }
    }
    squares.into_iter().map(f64::sqrt).collect()
}

/// The parts that tell most about the class, in order.
fn telling(parts: &PartsView<'_>, classes: &ShownClasses<'_>) -> Vec<usize> {
    let told = match parts.appearance {
        Appearance::States | Appearance::Sums => information(parts, classes),
        Appearance::Factors => distances(parts, classes),
    };
    top(parts.parts, PARTS, |k| if told[k].is_finite() { told[k] } else { 0.0 })
}

/// How a part looks where each class centres its factors.
fn centres(
    view: &View<'_>,
    parts: &PartsView<'_>,
    classes: &ShownClasses<'_>,
    k: usize,
    shown: usize,
) -> Markup {
    let factors = habits_of_part(parts);
    let of = |n: usize, f: usize| classes.class_state_prior[(n * parts.parts + k) * factors + f];
    // Looks up and down a factor are four deviations apart.
    let look = |n: usize| -> Vec<f64> {
        let mut look = parts.state(k, 0).to_vec();
        for f in 0..factors {
            let (up, down) = (parts.state(k, 1 + 2 * f), parts.state(k, 2 + 2 * f));
            for ((look, up), down) in look.iter_mut().zip(up).zip(down) {
                *look += of(n, f) * (up - down) / 4.0;
            }
        }
        look
    };
    let caption = "Where each class centres each factor";
    html! {
        article.part style={ "--c:" (palette::css(k)) } {
            h3 {
                (chip(k)) (text::part_name(k))
                small { "classes are " (text::brief(distances(parts, classes)[k])) " deviations from their mean" }
            }
            div.states {
                @for n in 0..shown {
                    @if let Some(canvas) = &view.canvas
                        && let Some(picture) = canvas.values(&look(n), view.scale)
                    {
                        figure.state {
                            span.tile { img.pixels src=(picture) alt=(text::name(&classes.names[n])); }
                            figcaption { (chip(n)) bdi { (text::name(&classes.names[n])) } }
                        }
                    }
                }
            }
            (scrolled_table(caption, &html! {
                th scope="col" { "Class" }
                @for f in 0..factors.min(STATES) { th.num scope="col" { "factor " (text::ordinal(f)) } }
            }, &html! {
                @for n in 0..shown {
                    tr {
                        th scope="row" { bdi { (text::name(&classes.names[n])) } }
                        @for f in 0..factors.min(STATES) { td.num { (text::brief(of(n, f))) } }
                    }
                }
            }))
        }
    }
}

/// The states of a part, with bars for the classes.
fn class_state_prior(
    view: &View<'_>,
    parts: &PartsView<'_>,
    classes: &ShownClasses<'_>,
    k: usize,
    shown: usize,
) -> Markup {
    let slots = parts.parts * parts.states;
    let of = |n: usize, j: usize| classes.class_state_prior[n * slots + k * parts.states + j];
    let common = |j: usize| parts.state_prior[k * parts.states + j];
    let order = top(parts.states, STATES, |j| if common(j).is_finite() { common(j) } else { 0.0 });
    let told = information(parts, classes)[k];
    html! {
        article.part style={ "--c:" (palette::css(k)) } {
            h3 {
                (chip(k)) (text::part_name(k))
                small { "tells " (text::brief(told)) " bits about the class" }
            }
            div.states {
                @for j in order {
                    figure.state {
                        @if let Some(canvas) = &view.canvas
                            && let Some(picture) = canvas.values(parts.state(k, j), view.scale)
                        {
                            span.tile { img.pixels src=(picture) alt={ "State " (text::ordinal(j)) }; }
                        }
                        figcaption {
                            span.by-class role="img" aria-label=(spoken(classes, shown, |n| of(n, j))) {
                                @for n in 0..shown {
                                    i style={ "--c:" (palette::css(n)) ";height:" (text::css_percent(of(n, j))) }
                                        title={ (text::name(&classes.names[n])) " " (text::percent(of(n, j))) } {}
                                }
                            }
                            span.state-name { (text::ordinal(j)) }
                        }
                    }
                }
            }
        }
    }
}

fn spoken(classes: &ShownClasses<'_>, shown: usize, of: impl Fn(usize) -> f64) -> String {
    let each = |n: usize| format!("{} {}", text::name(&classes.names[n]), text::percent(of(n)));
    (0..shown).map(each).collect::<Vec<_>>().join(", ")
}

/// Rows that were drawn, a line for each class or hybrid; of tables only what draws them.
fn drawn(view: &View<'_>, heading: &str, all: &[Drawn<'_>]) -> Markup {
    let Some(canvas) = &view.canvas else { return html! {} };
    let fits = |drawn: &&Drawn<'_>| drawn.rows.columns() == view.columns;
    html! {
        @if all.iter().any(|d| fits(&d)) {
            h3 { (heading) }
            @for drawn in all.iter().filter(fits).take(CLASSES) {
                h4 { bdi { (text::name(drawn.name)) } }
                div.states.samples {
                    @for r in 0..drawn.rows.rows().min(DRAWN) {
                        @if let Some(picture) = canvas.values(drawn.rows.row(r), view.scale) {
                            span.tile.plain { img.pixels src=(picture) alt={ (text::name(drawn.name)) " " (text::ordinal(r)) }; }
                        }
                    }
                }
                @if !drawn.command.is_empty() {
                    div.scroll tabindex="0" role="region" aria-label="The command that draws more" {
                        code { (text::name(drawn.command)) }
                    }
                }
            }
        }
    }
}

/// How many rows of each label are in each class.
fn confusion(classes: &ShownClasses<'_>) -> Markup {
    let (labels, columns) = (classes.labels.len().min(CLASSES), classes.names.len().min(CLASSES));
    if labels == 0 || classes.counts.len() != classes.labels.len() * classes.names.len() {
        return html! {};
    }
    let of = |l: usize, n: usize| classes.counts[l * classes.names.len() + n];
    html! {
        h3 { "Labels and classes" }
        p { "How many rows of each label are in each class." }
        (scrolled_table("Rows of each label in each class", &html! {
            th scope="col" { "Label" }
            @for n in 0..columns { th.num scope="col" { bdi { (text::name(&classes.names[n])) } } }
        }, &html! {
            @for l in 0..labels {
                @let total = (0..classes.names.len()).map(|n| of(l, n)).sum::<usize>().max(1);
                tr {
                    th scope="row" { bdi { (text::name(&classes.labels[l])) } }
                    @for n in 0..columns {
                        td.num.share style={ "--s:" (text::css_percent(of(l, n) as f64 / total as f64)) } {
                            (text::count(of(l, n)))
                        }
                    }
                }
            }
        }))
        @if classes.labels.len() > labels || classes.names.len() > columns {
            p.quiet { "Only the first " (text::count(CLASSES)) " of each are shown." }
        }
    }
}
