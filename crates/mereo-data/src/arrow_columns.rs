//! Turning Arrow columns into row-major cells: shared by Parquet, Arrow files and streams.

use std::fmt::{Display, LowerExp};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_buffer::ArrowNativeType;
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Schema};
use mereo_core::{
    About, AnyTable, Error, Picture, Place, Real, Result, Source, Table, check_cells,
};

use crate::arrow_values::{self, holds_numbers};
use crate::{AnySource, ReadOptions};

/// The schema's metadata under which mereo keeps the shape of the pictures, as `HxWxC`.
pub(crate) const PICTURE_KEY: &str = "mereo.picture";
/// The schema's metadata under which mereo keeps the name of the column of classes.
pub(crate) const LABEL_KEY: &str = "mereo.label";
/// The schema's metadata under which mereo keeps the name of the column of weights.
pub(crate) const WEIGHT_KEY: &str = "mereo.weight";

/// Lists may not claim more columns than this: a list's width is one number in a header.
const MOST_COLUMNS: usize = 1 << 20;

/// `f32` or `f64`, and what Arrow calls it.
pub(crate) trait Cell: Real + ArrowNativeType + LowerExp {
    type Arrow: ArrowPrimitiveType<Native = Self>;
    fn any_table(table: Table<Self>) -> AnyTable;
    fn any_source(source: impl Source<Self> + 'static) -> AnySource;
}

impl Cell for f32 {
    type Arrow = Float32Type;
    fn any_table(table: Table<Self>) -> AnyTable {
        AnyTable::F32(table)
    }
    fn any_source(source: impl Source<Self> + 'static) -> AnySource {
        AnySource::F32(Box::new(source))
    }
}

impl Cell for f64 {
    type Arrow = Float64Type;
    fn any_table(table: Table<Self>) -> AnyTable {
        AnyTable::F64(table)
    }
    fn any_source(source: impl Source<Self> + 'static) -> AnySource {
        AnySource::F64(Box::new(source))
    }
}

/// Runs a decoder on bytes that somebody else wrote.
///
/// The arrow and parquet crates check much, but not everything: on a damaged file some of
/// their paths still panic (an index out of bounds, an `unwrap` of a field that the file
/// leaves out). What can be checked beforehand is; this is the net below, and it makes a
/// damaged file an error like any other. The decoder is thrown away after an error, so no
/// half-changed state of it is ever seen.
pub(crate) fn contain<R, E: Display>(
    place: &Place,
    expected: &str,
    work: impl FnOnce() -> std::result::Result<R, E>,
) -> Result<R> {
    let damaged = |what: &str| {
        Err(Error::found(place.clone(), format!("something unreadable ({what})"), expected))
    };
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(error)) => damaged(&error.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            damaged(text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason"))
        }
    }
}

/// Some columns of a table that stand together in one field of the schema.
#[derive(Debug, Clone)]
pub(crate) struct Numbers {
    /// The field.
    pub(crate) field: usize,
    /// The table's column that it starts at.
    pub(crate) first: usize,
    /// How many columns it fills: 1, or the length of a fixed-size list.
    pub(crate) width: usize,
}

/// Which fields of a schema are what.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) numbers: Vec<Numbers>,
    pub(crate) label: Option<usize>,
    pub(crate) weight: Option<usize>,
    pub(crate) columns: usize,
    pub(crate) names: Vec<String>,
    pub(crate) picture: Option<Picture>,
    /// Whether `f32` holds every value exactly.
    pub(crate) single: bool,
    weight_name: String,
}

impl Layout {
    /// Finds the columns of numbers, the classes and the weights in a schema.
    pub(crate) fn new(schema: &Schema, options: &ReadOptions) -> Result<Self> {
        let find = |option: &str, asked: Option<&String>, recorded: &str| match asked {
            Some(name) => schema.index_of(name).map(Some).map_err(|_| {
                Error::option(option, format!("there is no column `{name}`; {}", listed(schema)))
            }),
            None => Ok(schema.metadata().get(recorded).and_then(|n| schema.index_of(n).ok())),
        };
        let label = find("label", options.label.as_ref(), LABEL_KEY)?;
        let weight = find("weight", options.weight.as_ref(), WEIGHT_KEY)?;
        if label.is_some() && label == weight {
            return Err(Error::option("weight", "the same column cannot be label and weight"));
        }
        let weight_name = weight.map(|w| schema.field(w).name().clone()).unwrap_or_default();
        let mut layout = Self {
            numbers: Vec::new(),
            label,
            weight,
            columns: 0,
            names: Vec::new(),
            picture: None,
            single: true,
            weight_name,
        };
        for (index, field) in schema.fields().iter().enumerate() {
            let name = field.name();
            if Some(index) == label || Some(index) == weight || is_pandas_index(name) {
                continue;
            }
            let (width, element) = match field.data_type() {
                DataType::FixedSizeList(element, width) => {
                    (usize::try_from(*width).unwrap_or(0), element.data_type())
                }
                other => (1, other),
            };
            let Some(single) = holds_numbers(element) else {
                return Err(not_numbers(name, field.data_type()));
            };
            if layout.columns + width > MOST_COLUMNS {
                return Err(Error::found(
                    Place::default().column(name),
                    format!("{} columns and more", layout.columns + width),
                    format!("at most {MOST_COLUMNS}"),
                ));
            }
            layout.single &= single;
            layout.numbers.push(Numbers { field: index, first: layout.columns, width });
            layout.columns += width;
            if matches!(field.data_type(), DataType::FixedSizeList(..)) {
                layout.names.extend((0..width).map(|i| format!("{name}[{i}]")));
            } else {
                layout.names.push(name.clone());
            }
        }
        if layout.columns == 0 {
            return Err(Error::found(Place::default(), listed(schema), "a column of numbers"));
        }
        layout.picture = schema
            .metadata()
            .get(PICTURE_KEY)
            .and_then(|text| parse_picture(text))
            // Another program may have dropped columns and kept the metadata.
            .filter(|picture| picture.columns() == Some(layout.columns));
        Ok(layout)
    }

    /// Every field that is needed, in one go.
    pub(crate) fn everything(&self) -> Selection {
        self.select(0..self.numbers.len())
    }

    /// Only some of the fields of numbers; the first selection also brings classes and weights.
    pub(crate) fn select(&self, numbers: Range<usize>) -> Selection {
        let extras = numbers.start == 0;
        let mut fields: Vec<usize> =
            self.numbers[numbers.clone()].iter().map(|n| n.field).collect();
        if extras {
            fields.extend(self.label.iter().chain(&self.weight));
        }
        fields.sort_unstable();
        Selection { fields, numbers, extras }
    }

    /// How many columns of the table a selection brings.
    pub(crate) fn columns_of(&self, selection: &Selection) -> usize {
        self.numbers[selection.numbers.clone()].iter().map(|n| n.width).sum()
    }

    /// What is known beside the numbers before any row was seen.
    pub(crate) fn about(&self) -> About {
        // A table without names is written with numbers for names.
        let numbered = self.names.iter().enumerate().all(|(i, name)| *name == i.to_string());
        let names = (!numbered).then(|| self.names.clone());
        About { names, picture: self.picture, ..About::default() }
    }

    /// Views the columns of a record batch that holds the selection's fields.
    pub(crate) fn decode<T: Cell>(
        &self,
        batch: &RecordBatch,
        selection: &Selection,
        first_row: usize,
    ) -> Result<Decoded<T>> {
        let column = |field: usize| {
            let at = selection.fields.binary_search(&field).ok();
            at.and_then(|at| batch.columns().get(at)).ok_or_else(|| {
                Error::found(Place::default(), format!("{} columns", batch.num_columns()), "all")
            })
        };
        let parts = self.numbers[selection.numbers.clone()]
            .iter()
            .map(|numbers| Part::new(numbers, column(numbers.field)?))
            .collect::<Result<_>>()?;
        let extra = |field: Option<usize>| field.filter(|_| selection.extras).map(column);
        let labels = extra(self.label).transpose()?.map(texts).transpose()?;
        let weights = extra(self.weight)
            .transpose()?
            .map(|array| weights(array, &self.weight_name, first_row))
            .transpose()?;
        Ok(Decoded { rows: batch.num_rows(), parts, labels, weights })
    }

    /// Checks the cells of some rows; says whether none is missing.
    pub(crate) fn check<T: Real>(&self, values: &[T], first_row: usize) -> Result<bool> {
        check_cells(values, |at| {
            Place::at_row(first_row + at / self.columns).column(&self.names[at % self.columns])
        })
    }
}

/// The fields that are read together.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    /// The fields, in the schema's order.
    pub(crate) fields: Vec<usize>,
    /// Which of the layout's fields of numbers they are.
    numbers: Range<usize>,
    /// Whether classes and weights are among them.
    extras: bool,
}

/// Columns as they came, ready to be laid out row after row.
pub(crate) struct Decoded<T: Cell> {
    pub(crate) rows: usize,
    pub(crate) labels: Option<StringArray>,
    pub(crate) weights: Option<Vec<f64>>,
    parts: Vec<Part<T>>,
}

/// The cells of one field.
struct Part<T: Cell> {
    first: usize,
    width: usize,
    values: ScalarBuffer<T>,
    /// Missing cells.
    nulls: Option<NullBuffer>,
    /// Missing lists.
    row_nulls: Option<NullBuffer>,
}

impl<T: Cell> Part<T> {
    fn new(numbers: &Numbers, array: &ArrayRef) -> Result<Self> {
        let (cells, row_nulls) = match array.as_fixed_size_list_opt() {
            Some(lists) => (lists.values(), lists.nulls().cloned()),
            None => (array, None),
        };
        let kind = cells.data_type().clone();
        let cells = arrow_values::numbers::<T>(cells)
            .filter(|cells| cells.len() == array.len() * numbers.width)
            .ok_or_else(|| {
                Error::found(Place::default(), format!("values of type {kind}"), T::NAME)
            })?;
        Ok(Self {
            first: numbers.first,
            width: numbers.width,
            values: cells.values().clone(),
            nulls: cells.nulls().filter(|n| n.null_count() > 0).cloned(),
            row_nulls: row_nulls.filter(|n| n.null_count() > 0),
        })
    }

    /// Marks the missing cells among those laid out.
    fn mark_missing(&self, rows: &Range<usize>, out: &mut [T], stride: usize) {
        if self.nulls.is_none() && self.row_nulls.is_none() {
            return;
        }
        for (row, cells) in rows.clone().zip(out.chunks_exact_mut(stride)) {
            let cells = &mut cells[self.first..self.first + self.width];
            if self.row_nulls.as_ref().is_some_and(|n| n.is_null(row)) {
                cells.fill(T::MISSING);
            } else if let Some(nulls) = &self.nulls {
                for (i, cell) in cells.iter_mut().enumerate() {
                    if nulls.is_null(row * self.width + i) {
                        *cell = T::MISSING;
                    }
                }
            }
        }
    }
}

impl<T: Cell> Decoded<T> {
    /// Lays these columns of these rows out in `out`, whose rows are `stride` cells long;
    /// missing cells become `NaN`.
    pub(crate) fn lay_out(&self, rows: Range<usize>, out: &mut [T], stride: usize) {
        // As many columns at once as fill a cache line or two of a row: each line of `out` is
        // then written once, while as many columns are read as the processor can follow.
        const TOGETHER: usize = 16;
        let mut parts = self.parts.as_slice();
        while let Some(head) = parts.first() {
            let scalars = parts.iter().take(TOGETHER).take_while(|p| p.width == 1).count();
            let (block, rest) = parts.split_at(scalars.max(1));
            if scalars == 0 {
                let (width, first) = (head.width, head.first);
                for (row, cells) in rows.clone().zip(out.chunks_exact_mut(stride)) {
                    cells[first..first + width]
                        .copy_from_slice(&head.values[row * width..(row + 1) * width]);
                }
            } else {
                let mut columns: [&[T]; TOGETHER] = [&[]; TOGETHER];
                for (column, part) in columns.iter_mut().zip(block) {
                    *column = &part.values[rows.clone()];
                }
                if scalars == TOGETHER {
                    transpose_full(&columns, out, stride, head.first);
                } else {
                    transpose(&columns[..scalars], out, stride, head.first);
                }
            }
            for part in block {
                part.mark_missing(&rows, out, stride);
            }
            parts = rest;
        }
    }
}

/// Writes columns beside each other into rows that are `stride` cells long.
fn transpose<T: Copy>(columns: &[&[T]], out: &mut [T], stride: usize, first: usize) {
    for (row, cells) in out.chunks_exact_mut(stride).enumerate() {
        for (cell, column) in cells[first..first + columns.len()].iter_mut().zip(columns) {
            *cell = column[row];
        }
    }
}

/// As [`transpose`], for a number of columns that the compiler knows.
fn transpose_full<T: Copy, const N: usize>(
    columns: &[&[T]; N],
    out: &mut [T],
    stride: usize,
    first: usize,
) {
    let rows = columns.iter().map(|c| c.len()).min().unwrap_or(0);
    let columns = columns.map(|c| &c[..rows]);
    for (row, cells) in out.chunks_exact_mut(stride).take(rows).enumerate() {
        let cells = &mut cells[first..first + N];
        for i in 0..N {
            cells[i] = columns[i][row];
        }
    }
}

/// The column of classes as texts; nothing where a row has none.
pub(crate) fn texts(array: &ArrayRef) -> Result<StringArray> {
    arrow_values::texts(array).ok_or_else(|| {
        let found = format!("values of type {}", array.data_type());
        Error::found(Place::default(), found, "a column of class names")
    })
}

fn weights(array: &ArrayRef, name: &str, first_row: usize) -> Result<Vec<f64>> {
    let odd = |what: String| {
        Error::found(Place::default().column(name), what, "a number that is each row's weight")
    };
    let cells = arrow_values::numbers::<f64>(array)
        .ok_or_else(|| odd(format!("values of type {}", array.data_type())))?;
    let weight = |(row, weight): (usize, Option<f64>)| {
        weight.filter(|w| w.is_finite() && *w >= 0.0).ok_or_else(|| {
            let found = weight.map_or("no weight".to_owned(), |w| format!("weight {w}"));
            let place = Place::at_row(first_row + row).column(name);
            Error::found(place, found, "a weight of at least 0")
        })
    };
    cells.iter().enumerate().map(weight).collect()
}

pub(crate) fn not_numbers(name: &str, kind: &DataType) -> Error {
    let place = Place::default().column(name);
    match kind {
        DataType::List(_) | DataType::LargeList(_) => Error::found(
            place,
            "lists whose length may differ from row to row",
            "numbers, or lists of one fixed size",
        ),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Dictionary(..) => {
            let way_out = format!("numbers; if it is each row's class, say `--label {name}`");
            Error::found(place, "text", way_out)
        }
        other => {
            let way_out = format!("numbers; drop it, or say `--label {name}` if it is the class");
            Error::found(place, format!("values of type {other}"), way_out)
        }
    }
}

/// The index of a pandas table, which is no data.
pub(crate) fn is_pandas_index(name: &str) -> bool {
    name.strip_prefix("__index_level_")
        .and_then(|rest| rest.strip_suffix("__"))
        .is_some_and(|number| number.parse::<u32>().is_ok())
}

fn listed(schema: &Schema) -> String {
    const SHOWN: usize = 12;
    let names: Vec<_> =
        schema.fields().iter().take(SHOWN).map(|f| format!("`{}`", f.name())).collect();
    let more = if schema.fields().len() > SHOWN { ", ..." } else { "" };
    format!("the columns are {}{more}", names.join(", "))
}

fn parse_picture(text: &str) -> Option<Picture> {
    let sizes: Vec<usize> = text.split('x').map(|n| n.parse().ok()).collect::<Option<_>>()?;
    let [height, width, channels] = sizes[..] else { return None };
    Some(Picture { height, width, channels })
}
