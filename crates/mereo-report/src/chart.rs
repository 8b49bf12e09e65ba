//! A frame with axes around lines or bars.
//!
//! The lines are an SVG that stretches; the labels are ordinary text beside it, so that they
//! keep their size on a phone and are never clipped.

use std::fmt::Write;

use maud::{Markup, html};

use crate::text;

/// Inside the frame, x and y run from 0 to this.
const EXTENT: f64 = 1000.0;

/// A range of numbers with round ones marked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Axis {
    /// An axis that covers this range, with about `wanted` marks.
    pub(crate) fn new(low: f64, high: f64, wanted: usize) -> Self {
        let (mut low, mut high) = if low <= high { (low, high) } else { (high, low) };
        if !low.is_finite() || !high.is_finite() {
            (low, high) = (0.0, 1.0);
        }
        if high - low <= low.abs().max(high.abs()) * 1e-12 {
            let room = low.abs().max(1.0) * 1e-3;
            (low, high) = (low - room, high + room);
        }
        let rough = (high - low) / wanted.max(1) as f64;
        let size = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|m| m * size)
            .find(|&step| step >= rough * 0.999)
            .unwrap_or(rough);
        let first = (low / step).ceil();
        let last = (high / step).floor();
        let mut ticks: Vec<f64> = Vec::new();
        if step.is_finite() && step > 0.0 && (last - first) < 50.0 {
            let mut i = first;
            while i <= last {
                // Zero must not come out as minus zero.
                ticks.push(i * step + 0.0);
                i += 1.0;
            }
        }
        Self { low, high, ticks }
    }

    /// Only the marks at whole numbers.
    pub(crate) fn whole(mut self) -> Self {
        self.ticks.retain(|t| t.fract() == 0.0);
        self
    }

    /// Where a number stands, from 0 to 1; outside of that if it is off the axis.
    pub(crate) fn share(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        if share.is_finite() { share.clamp(-1.0, 2.0) } else { 0.0 }
    }

    fn label(&self, tick: f64) -> String {
        // Enough digits that neighbouring marks read differently.
        let step = match self.ticks.as_slice() {
            [a, b, ..] => b - a,
            _ => self.high - self.low,
        };
        let decimals = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
        if step.is_finite() && (1e-6..1e7).contains(&step) && tick.abs() < 1e9 {
            let text = format!("{:.decimals$}", tick.abs());
            let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
            let sign = if tick < 0.0 { "−" } else { "" };
            let whole = whole.parse().map_or_else(|_| whole.to_owned(), text::count);
            format!("{sign}{whole}{rest}")
        } else {
            text::number(tick)
        }
    }
}

/// A point on the way of a line, in the frame's own units.
pub(crate) fn line(points: impl Iterator<Item = (f64, f64)>, x: &Axis, y: &Axis) -> String {
    let mut path = String::new();
    let mut pen_down = false;
    for (a, b) in points {
        if !a.is_finite() || !b.is_finite() {
            pen_down = false;
            continue;
        }
        let verb = if pen_down { 'L' } else { 'M' };
        let (a, b) = (x.share(a) * EXTENT, (1.0 - y.share(b)) * EXTENT);
        // Writing to a string cannot fail.
        let _ = write!(path, "{verb}{a:.1} {b:.1}");
        pen_down = true;
    }
    path
}

/// A bar that stands on the bottom of the frame.
pub(crate) fn bar(from: f64, to: f64, height: f64, x: &Axis, y: &Axis) -> Markup {
    let (a, b) = (x.share(from) * EXTENT, x.share(to) * EXTENT);
    let top = (1.0 - y.share(height)) * EXTENT;
    html! {
        rect x=(format!("{a:.1}")) y=(format!("{top:.1}")) width=(format!("{:.1}", (b - a).max(0.0)))
            height=(format!("{:.1}", (EXTENT - top).max(0.0))) {}
    }
}

/// The frame: marks, labels, and whatever is drawn inside.
pub(crate) fn frame(
    about: &str,
    (x, x_name): (&Axis, &str),
    (y, y_name): (&Axis, &str),
    inside: &Markup,
) -> Markup {
    let labels: Vec<String> = y.ticks.iter().map(|&t| y.label(t)).collect();
    let gutter = labels.iter().map(|l| l.chars().count()).max().unwrap_or(0) + 1;
    html! {
        div.chart style={ "--gutter:" (gutter) "ch" } {
            div.y-name { (y_name) }
            div.plot {
                svg viewBox="0 0 1000 1000" preserveAspectRatio="none" role="img" aria-label=(about) {
                    @for &tick in &y.ticks {
                        @let at = format!("{:.1}", (1.0 - y.share(tick)) * EXTENT);
                        line.grid x1="0" x2="1000" y1=(at) y2=(at) {}
                    }
                    (inside)
                }
                @for (&tick, label) in y.ticks.iter().zip(&labels) {
                    span.y-tick style={ "top:" (text::css_percent(1.0 - y.share(tick))) } { (label) }
                }
                @for &tick in &x.ticks {
                    span.x-tick style={ "left:" (text::css_percent(x.share(tick))) } { (x.label(tick)) }
                }
            }
            div.x-name { (x_name) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_inside() {
        let axis = Axis::new(-123.4, -101.2, 5);
        assert_eq!(axis.ticks, [-120.0, -115.0, -110.0, -105.0]);
        assert_eq!(axis.label(-115.0), "−115");
        assert_eq!(Axis::new(0.0, 1.0, 5).label(0.2), "0.2");
    }

    #[test]
    fn degenerate_ranges_have_axes_too() {
        let ranges = [
            (1.0, 1.0),
            (f64::NAN, 1.0),
            (-f64::MAX, f64::MAX),
            (0.0, f64::MIN_POSITIVE),
            (1e300, 1e301),
        ];
        for (low, high) in ranges {
            let axis = Axis::new(low, high, 5);
            assert!(axis.low < axis.high);
            assert!(axis.ticks.len() < 60);
            for tick in &axis.ticks {
                assert!((0.0..=1.0).contains(&axis.share(*tick)), "{low} {high}: {tick}");
            }
        }
    }

    #[test]
    fn lines_skip_what_is_not_a_number() {
        let axis = Axis::new(0.0, 1.0, 2);
        let points = [(0.0, 0.0), (0.5, f64::NAN), (1.0, 1.0)];
        assert_eq!(line(points.into_iter(), &axis, &axis), "M0.0 1000.0M1000.0 0.0");
    }
}
