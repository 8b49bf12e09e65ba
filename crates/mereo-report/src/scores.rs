//! How likely the model finds the rows: a histogram of log densities.

use maud::html;
use mereo_core::ScoreKind;

use crate::chart::{self, Axis};
use crate::gates::top;
use crate::page::Section;
use crate::text;
use crate::view::View;

/// Most bars of the histogram.
const BARS: usize = 40;
/// How many of the least likely rows are named.
const UNLIKELY: usize = 5;

pub(crate) fn section(view: &View<'_>) -> Option<Section> {
    let scores = view.subject.scores?;
    let mut finite: Vec<f64> = scores.rows.iter().copied().filter(|s| s.is_finite()).collect();
    finite.sort_unstable_by(f64::total_cmp);
    let (Some(&lowest), Some(&high)) = (finite.first(), finite.last()) else { return None };
    // A few hopeless rows must not squeeze all others into one bar.
    let usual = finite[finite.len() / 100];
    let cut = high - lowest > 3.0 * (high - usual) && usual < high;
    let low = if cut { usual } else { lowest };
    let inside_range = &finite[finite.partition_point(|&s| s < low)..];
    let below = finite.len() - inside_range.len();

    let bars = (inside_range.len() as f64).sqrt().ceil().clamp(1.0, BARS as f64) as usize;
    let x = Axis::new(low, high, 5);
    let mut counts = vec![0usize; bars];
    let width = (high - low) / bars as f64;
    let usable = width.is_finite() && width > 0.0;
    for score in inside_range {
        let bar = if usable { ((score - low) / width) as usize } else { 0 };
        counts[bar.min(bars - 1)] += 1;
    }
    let tallest = counts.iter().copied().max().unwrap_or(1) as f64;
    let y = Axis::new(0.0, tallest * 1.05, 4).whole();
    let edge = |i: usize| if usable { low + width * i as f64 } else { low };
    let drawn = html! {
        g.bars {
            @if usable {
                @for (i, &n) in counts.iter().enumerate() {
                    @if n > 0 { (chart::bar(edge(i), edge(i + 1), n as f64, &x, &y)) }
                }
            } @else {
                (chart::bar(low - low.abs().max(1.0) * 1e-4, low + low.abs().max(1.0) * 1e-4, tallest, &x, &y))
            }
        }
        @if scores.mean.is_finite() && scores.mean >= low && scores.mean <= high {
            path.mean d=(chart::line([(scores.mean, 0.0), (scores.mean, tallest * 1.05)].into_iter(), &x, &y)) {}
        }
    };
    let kind = match scores.kind {
        ScoreKind::Exact => "the log density itself",
        ScoreKind::Bound => "a lower bound on the log density",
        ScoreKind::Estimate => "an estimate of the log density",
    };
    let lowest_rows = top(scores.rows.len(), UNLIKELY, |r| {
        let score = scores.rows[r];
        if score.is_nan() { f64::NEG_INFINITY } else { -score }
    });
    let strange = scores.rows.len() - finite.len();
    let about = format!(
        "Histogram of {} log densities from {} to {} nats",
        text::count(finite.len()),
        text::number(lowest),
        text::number(high)
    );
    let body = html! {
        p {
            "How well the model explains each row: " (kind) ", in nats. Rows far to the left are "
            "unlike what the model has learned."
        }
        figure {
            (chart::frame(&about, (&x, "log density, nats"), (&y, "rows"), &drawn))
            figcaption {
                span.line-key.mean { "mean " (text::number(scores.mean)) }
                " " (text::counted(finite.len(), "row", "rows")) "."
                @if below > 0 { " " (text::counted(below, "row is", "rows are")) " further left, down to " (text::number(lowest)) "." }
                @if strange > 0 { " " (text::counted(strange, "row has", "rows have")) " no finite score." }
            }
        }
        @if scores.rows.len() > UNLIKELY {
            p {
                "The least expected rows: "
                @for (i, &r) in lowest_rows.iter().enumerate() {
                    @if i > 0 { ", " }
                    "row " (text::ordinal(r)) " (" (text::number(scores.rows[r])) ")"
                }
                "."
            }
        }
    };
    Some(Section {
        id: "scores",
        short: "Scores".to_owned(),
        heading: "How likely the rows are".to_owned(),
        body,
    })
}
