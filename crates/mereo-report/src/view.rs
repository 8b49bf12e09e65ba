//! The subject after checking: only what fits together, and what several sections need.

use std::borrow::Cow;

use mereo_core::{Appearance, ColumnKind, ComponentsView, Dense, PartsView, cell_text, plainly};

use crate::gates::Gates;
use crate::pictures::{Canvas, Scale};
use crate::{Look, ShownClasses, ShownRows, Subject, text};

/// Most values that the scale of the pictures is taken from.
const SCALE_VALUES: usize = 400_000;

pub(crate) struct View<'a> {
    pub(crate) subject: &'a Subject<'a>,
    /// Number of columns; 0 if nothing says it.
    pub(crate) columns: usize,
    pub(crate) parts: Option<PartsView<'a>>,
    pub(crate) components: Option<ComponentsView<'a>>,
    /// How columns share themselves among parts, if there are at least two.
    pub(crate) gates: Option<Gates>,
    pub(crate) canvas: Option<Canvas>,
    pub(crate) scale: Scale,
    pub(crate) mean: Option<Cow<'a, [f64]>>,
    deviation: Option<&'a [f64]>,
    pub(crate) rows: Option<ShownRows<'a>>,
    pub(crate) samples: Option<&'a Dense<f64>>,
    /// Classes, if there are several parts or states for them to differ in.
    pub(crate) classes: Option<ShownClasses<'a>>,
}

impl<'a> View<'a> {
    pub(crate) fn new(subject: &'a Subject<'a>) -> Self {
        let parts = subject.parts.filter(fits);
        let components = subject.components.filter(adds_up);
        let columns = parts
            .map(|p| p.columns)
            .or(components.map(|c| c.columns))
            .or(subject.features.map(|f| f.origin.len() / f.sets.max(1)))
            .or(subject.rows.map(|r| r.original.columns()))
            .or(subject.samples.map(Dense::columns))
            .or(subject.manifest.columns.as_ref().map(Vec::len))
            .or(subject.manifest.picture.and_then(|p| p.columns()))
            .unwrap_or(0);
        let whole = |v: &&[f64]| v.len() == columns && columns > 0;
        let mean = subject.column_mean.filter(whole).map(Cow::Borrowed);
        let rows = subject.rows.and_then(|rows| usable_rows(rows, columns, parts));
        let samples =
            subject.samples.filter(|s| s.columns() == columns && columns > 0 && s.rows() > 0);
        let canvas = subject.manifest.picture.and_then(|p| Canvas::new(p, columns));
        let scale = canvas.map_or(Scale { low: 0.0, high: 1.0 }, |_| {
            Scale::of(scale_values(parts.as_ref(), rows.as_ref(), samples))
        });
        Self {
            subject,
            columns,
            gates: parts
                .filter(|p| p.parts > 1 && p.appearance != Appearance::Sums)
                .map(|p| Gates::of(&p)),
            canvas,
            scale,
            mean: mean
                .or_else(|| parts.map(|p| Cow::Owned(implied_mean(&p))))
                .or_else(|| components.and_then(|c| c.mean).map(Cow::Borrowed)),
            deviation: subject.column_deviation.filter(whole),
            rows,
            samples,
            classes: subject.classes.filter(|classes| {
                let n = classes.names.len();
                let slots = parts.map_or(0, |p| p.parts * crate::classes::habits_of_part(&p));
                n > 0
                    && classes.prior.len() == n
                    && n.checked_mul(slots) == Some(classes.class_state_prior.len())
            }),
            parts,
            components,
        }
    }

    /// The name of a column, ready to be shown.
    pub(crate) fn column(&self, column: usize) -> String {
        match self.subject.manifest.columns.as_deref().and_then(|names| names.get(column)) {
            Some(name) => text::name(name),
            None => format!("column {}", text::ordinal(column)),
        }
    }

    /// A cell of a column in the user's words: a level, a date, a number as the file writes it.
    pub(crate) fn cell(&self, column: usize, value: f64) -> String {
        let manifest = self.subject.manifest;
        let kind = manifest.kinds.as_deref().and_then(|kinds| kinds.get(column));
        let format = manifest.formats.as_deref().and_then(|formats| formats.get(column));
        match (kind, format) {
            _ if !value.is_finite() => "–".to_owned(),
            (Some(ColumnKind::Number | ColumnKind::Count), None) => plainly(value),
            (Some(kind), format) => text::name(&cell_text(kind, format, value)),
            (None, Some(format)) => text::name(&format.number(value)),
            (None, None) => text::number(value),
        }
    }

    /// Whether a column holds words.
    pub(crate) fn holds_words(&self, column: usize) -> bool {
        let kinds = self.subject.manifest.kinds.as_deref();
        kinds.and_then(|kinds| kinds.get(column)).is_some_and(|kind| !kind.levels().is_empty())
    }

    /// Where a state stands out from the whole, if that was handed over for all states.
    pub(crate) fn looks(&self, part: usize, state: usize) -> Option<&'a [Look]> {
        let parts = self.parts?;
        let all = self.subject.states.filter(|s| s.len() == parts.parts * parts.states)?;
        all.get(part * parts.states + state).map(Vec::as_slice)
    }

    /// How far a value is from its column's mean: in standard deviations if they are known.
    pub(crate) fn away_from_mean(&self, column: usize, value: f64) -> f64 {
        let mean = self.mean.as_ref().and_then(|m| m.get(column)).copied().unwrap_or(0.0);
        let away = self.in_units(column, value - mean);
        if away.is_finite() { away } else { 0.0 }
    }

    /// A difference within a column: in standard deviations if they are known.
    pub(crate) fn in_units(&self, column: usize, difference: f64) -> f64 {
        match self.deviation {
            Some(deviation) => difference / deviation.get(column).copied().unwrap_or(f64::NAN),
            None => difference,
        }
    }

    /// The unit of [`away_from_mean`](Self::away_from_mean), with a space before it.
    pub(crate) fn unit(&self) -> &'static str {
        if self.deviation.is_some() { " sd" } else { "" }
    }

    /// A distance as [`away_from_mean`](Self::away_from_mean) gives it, with sign and unit.
    pub(crate) fn distance(&self, away: f64) -> String {
        if self.deviation.is_none() || away.abs() >= 1000.0 {
            return format!("{}{}", text::signed(away), self.unit());
        }
        if away.abs() < 0.05 {
            return format!("0{}", self.unit());
        }
        let sign = if away < 0.0 { "−" } else { "+" };
        format!("{sign}{:.1}{}", away.abs(), self.unit())
    }

    /// One row of the data: "picture" or "row".
    pub(crate) fn rows_called(&self, n: usize) -> String {
        match self.canvas {
            Some(_) => text::counted(n, "picture", "pictures"),
            None => text::counted(n, "row", "rows"),
        }
    }

    /// What one part's states are called where there is but one part.
    pub(crate) fn states_called(&self) -> (&'static str, &'static str) {
        let model = self.subject.manifest.model.to_lowercase();
        if ["mix", "gmm", "student", "gauss"].iter().any(|word| model.contains(word)) {
            ("component", "components")
        } else {
            ("state", "states")
        }
    }

    /// The part that a column belongs to most, where there are several.
    pub(crate) fn owner(&self, column: usize) -> Option<usize> {
        self.gates.as_ref().and_then(|g| g.owner.get(column)).map(|&k| k as usize)
    }

    /// Standard deviations of the columns, where they are known.
    pub(crate) fn has_deviation(&self) -> bool {
        self.deviation.is_some()
    }
}

/// Whether the parts' numbers have the shapes that they say.
fn fits(parts: &PartsView<'_>) -> bool {
    let PartsView { columns, parts: k, states: j, .. } = *parts;
    let size = |a: usize, b: usize| a.checked_mul(b);
    columns > 0
        && k > 0
        && j > 0
        && size(columns, k) == Some(parts.gate.len())
        && size(k, j) == Some(parts.state_prior.len())
        && size(k, j).and_then(|kj| size(kj, columns)) == Some(parts.mean.len())
}

/// Whether the components' numbers have the shapes that they say.
fn adds_up(view: &ComponentsView<'_>) -> bool {
    let count = view.component.len() / view.columns.max(1);
    view.columns > 0
        && count > 0
        && view.component.len() == count * view.columns
        && view.component.iter().all(|w| w.is_finite())
        && view.mean.is_none_or(|m| m.len() == view.columns)
        && view.explained_variance.is_none_or(|v| v.len() == count)
}

/// The rows without whatever does not fit them.
fn usable_rows<'a>(
    rows: ShownRows<'a>,
    columns: usize,
    parts: Option<PartsView<'a>>,
) -> Option<ShownRows<'a>> {
    let n = rows.original.rows();
    if n == 0 || columns == 0 || rows.original.columns() != columns {
        return None;
    }
    let k = parts.map_or(0, |p| p.parts);
    Some(ShownRows {
        original: rows.original,
        reconstruction: rows.reconstruction.filter(|r| r.rows() == n && r.columns() == columns),
        responsible: rows.responsible.filter(|r| r.len() == n * columns && k > 1),
        states: rows.states.filter(|s| k > 0 && s.len() == n * k),
        labels: rows.labels.filter(|l| l.of_row.len() == n),
        scores: rows.scores.filter(|s| s.len() == n),
        numbers: rows.numbers.filter(|s| s.len() == n),
        names: rows.names.filter(|s| s.len() == n),
        notes: rows.notes.filter(|s| s.len() == n),
        chances: rows.chances.filter(|c| c.len() == n * columns),
    })
}

/// The mean of each column that gates, priors and states imply together.
fn implied_mean(parts: &PartsView<'_>) -> Vec<f64> {
    let mut mean = vec![0.0; parts.columns];
    for k in 0..parts.parts {
        for j in 0..parts.states {
            let prior = parts.state_prior[k * parts.states + j];
            for (d, value) in parts.state(k, j).iter().enumerate() {
                mean[d] += prior * parts.gate_of(d)[k] * value;
            }
        }
    }
    mean
}

/// The values that pictures will show: the data's own, and states where their part holds sway.
fn scale_values<'a>(
    parts: Option<&'a PartsView<'a>>,
    rows: Option<&'a ShownRows<'a>>,
    samples: Option<&'a Dense<f64>>,
) -> impl Iterator<Item = f64> + 'a {
    let states = parts.into_iter().flat_map(|parts| {
        let step = parts.mean.len().div_ceil(SCALE_VALUES).max(1);
        (0..parts.mean.len()).step_by(step).filter_map(|at| {
            let (d, k) = (at % parts.columns, at / parts.columns / parts.states);
            (parts.gate_of(d)[k] > 0.1).then(|| parts.mean[at])
        })
    });
    let cells = |cells: &'a Dense<f64>| {
        let step = cells.values().len().div_ceil(SCALE_VALUES).max(1);
        cells.values().iter().step_by(step).copied()
    };
    let data = rows.map(|r| r.original);
    let drawn = if data.is_none() && parts.is_none() { samples } else { None };
    states.chain(data.into_iter().chain(drawn).flat_map(cells))
}
