//! Arrow columns of words, truth values and moments, as Parquet and Arrow files have them.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema, TimeUnit};
use mereo_core::{Result, Table};

use super::{Column, Gathered, Raw, Told, Verdict, decide};
use crate::ReadOptions;
use crate::arrow_columns::{LABEL_KEY, WEIGHT_KEY, is_pandas_index, not_numbers};
use crate::arrow_values::{holds_numbers, numbers, texts};

const DAY_SECONDS: f64 = 86_400.0;

/// Whether a schema has columns that hold something else than numbers, or something is said of its columns.
pub(in super::super) fn is_mixed(schema: &Schema, options: &ReadOptions) -> bool {
    let special = |name: &String| {
        let is = |other: Option<&String>| other == Some(name);
        is(options.label.as_ref())
            || is(options.weight.as_ref())
            || is(schema.metadata().get(LABEL_KEY))
            || is(schema.metadata().get(WEIGHT_KEY))
            || is_pandas_index(name)
    };
    // Vectors in a column are numbers of their own, and stand beside numbers alone.
    let vectors =
        schema.fields().iter().any(|f| matches!(f.data_type(), DataType::FixedSizeList(..)));
    options.says_kinds()
        || !vectors
            && schema.fields().iter().any(|f| !special(f.name()) && holds_words(f.data_type()))
}

fn holds_words(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Boolean
        | DataType::Date32
        | DataType::Date64
        | DataType::Timestamp(..) => true,
        DataType::Dictionary(_, value) => holds_words(value),
        _ => false,
    }
}

/// The table that models learn from.
pub(in super::super) fn table(
    schema: &Schema,
    batches: &[RecordBatch],
    options: &ReadOptions,
) -> Result<(Table<f64>, Told)> {
    let mut options = options.clone();
    for (asked, key) in [(&mut options.label, LABEL_KEY), (&mut options.weight, WEIGHT_KEY)] {
        let known = schema.metadata().get(key).filter(|name| schema.index_of(name).is_ok());
        *asked = asked.take().or_else(|| known.cloned());
    }
    let mut raw = Raw { rows: batches.iter().map(RecordBatch::num_rows).sum(), ..Raw::default() };
    let mut names = Vec::new();
    for (index, field) in schema.fields().iter().enumerate() {
        if is_pandas_index(field.name()) {
            continue;
        }
        names.push(field.name().clone());
        if options.leaves_out(field.name()) {
            raw.columns.push(Column::Skipped);
            continue;
        }
        let arrays = batches.iter().filter_map(|batch| batch.columns().get(index));
        let Some(column) = column(field.data_type(), arrays) else {
            return Err(not_numbers(field.name(), field.data_type()));
        };
        raw.columns.push(column);
    }
    raw.names = Some(names);
    match decide(raw, &options)? {
        Verdict::Table(table, told) => Ok((*table, told)),
        Verdict::Stray { row, column } => {
            let place = mereo_core::Place::at_row(row).column(schema.field(column).name());
            let way = format!(
                "numbers; if it holds words say `--kinds {}=category`",
                schema.field(column).name()
            );
            Err(mereo_core::Error::found(place, "a text among numbers", way))
        }
    }
}

fn column<'a>(kind: &DataType, arrays: impl Iterator<Item = &'a ArrayRef>) -> Option<Column> {
    match kind {
        DataType::Boolean => {
            Some(Column::Truths(arrays.flat_map(|array| array.as_boolean().iter()).collect()))
        }
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => {
            let mut days = Vec::new();
            for array in arrays {
                days.extend(moments(array)?);
            }
            Some(Column::Days(days))
        }
        kind if holds_numbers(kind).is_some() => {
            let mut values = Vec::new();
            for array in arrays {
                values.extend(numbers::<f64>(array)?.iter().map(|x| x.unwrap_or(f64::NAN)));
            }
            Some(Column::Numbers(values))
        }
        kind if holds_words(kind) => {
            let mut gathered = Gathered::default();
            for array in arrays {
                let words = texts(array)?;
                words.iter().for_each(|word| gathered.push(word.map(str::as_bytes)));
            }
            Some(Column::Texts(gathered.into_texts(|b| String::from_utf8_lossy(b).into_owned())))
        }
        _ => None,
    }
}

/// Days since 1970.
fn moments(array: &ArrayRef) -> Option<Vec<f64>> {
    macro_rules! days {
        ($kind:ty, $a_day:expr) => {
            array
                .as_primitive_opt::<$kind>()?
                .iter()
                .map(|moment| moment.map_or(f64::NAN, |moment| moment as f64 / $a_day))
                .collect()
        };
    }
    Some(match array.data_type() {
        DataType::Date32 => {
            let days = array.as_primitive_opt::<Date32Type>()?;
            days.iter().map(|day| day.map_or(f64::NAN, f64::from)).collect()
        }
        DataType::Date64 => days!(Date64Type, DAY_SECONDS * 1e3),
        DataType::Timestamp(TimeUnit::Second, _) => days!(TimestampSecondType, DAY_SECONDS),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            days!(TimestampMillisecondType, DAY_SECONDS * 1e3)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            days!(TimestampMicrosecondType, DAY_SECONDS * 1e6)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            days!(TimestampNanosecondType, DAY_SECONDS * 1e9)
        }
        _ => return None,
    })
}
