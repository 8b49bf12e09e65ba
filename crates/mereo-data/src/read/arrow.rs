//! Arrow files (also called Feather) and Arrow streams.
//!
//! An Arrow file is an Arrow stream between two marks, with a table of contents at its end
//! that reading from start to end does not need: both are read as streams.

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{Endianness, MessageHeader, root_as_message};
use arrow_schema::Schema;
use mereo_core::{AnyTable, Dense, Error, Labels, Place, Result, Table};

use super::mixed::{self, Told};
use super::parquet::room;
use crate::ReadOptions;
use crate::arrow_columns::{Cell, Layout, contain};

/// What an Arrow file starts with.
const FILE_MARK: &[u8] = b"ARROW1\0\0";
/// What a message starts with; older streams leave it out.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// Bytes that a compressed column may claim beyond what its size makes likely.
const SMALL: u64 = 64 << 20;
/// How many times smaller than its content a large compressed column may be.
const LIKELY_PACKING: u64 = 1024;

/// Reads a whole Arrow file or stream into memory.
pub(crate) fn read(path: &Path, options: &ReadOptions) -> Result<(AnyTable, Told)> {
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    read_buffer(&Buffer::from_vec(bytes), options).map_err(|error| error.in_file(path))
}

/// Reads an Arrow file or stream that is in memory already.
pub(crate) fn read_bytes(bytes: &[u8], options: &ReadOptions) -> Result<(AnyTable, Told)> {
    read_buffer(&Buffer::from(bytes), options)
}

/// Lays out the columns of record batches that are in memory already, row after row: columns of the cells' own type are copied this one
/// time. All must be numbers, but those that the options make labels and weights.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{ArrayRef, Float32Array, RecordBatch};
/// let column: ArrayRef = Arc::new(Float32Array::from(vec![Some(1.0), None]));
/// let batch = RecordBatch::try_from_iter([("x", column)]).unwrap();
/// let table = mereo_data::read_batches(&batch.schema(), &[batch], &Default::default())?;
/// assert_eq!((table.rows(), table.columns()), (2, 1));
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn read_batches(
    schema: &Schema,
    batches: &[RecordBatch],
    options: &ReadOptions,
) -> Result<AnyTable> {
    let layout = Layout::new(schema, options)?;
    // They are there, so that nobody claims anything.
    let table = if layout.single {
        f32::any_table(gather(&layout, batches, u64::MAX)?)
    } else {
        f64::any_table(gather(&layout, batches, u64::MAX)?)
    };
    super::with_rows(table)
}

fn read_buffer(bytes: &Buffer, options: &ReadOptions) -> Result<(AnyTable, Told)> {
    let length = bytes.len() as u64;
    let start = stream_start(bytes);
    let mut decoder = StreamDecoder::new();
    let batches = contain(&Place::default(), "an Arrow file or stream", || {
        let end = check_messages(bytes, start)?;
        let mut bytes = bytes.slice_with_length(start, end - start);
        let mut batches = Vec::new();
        while !bytes.is_empty() {
            batches.extend(decoder.decode(&mut bytes).map_err(|e| e.to_string())?);
        }
        decoder.finish().map_err(|e| e.to_string())?;
        Ok::<_, String>(batches)
    })?;
    let schema = decoder
        .schema()
        .ok_or_else(|| Error::found(Place::default(), "no schema", "an Arrow file or stream"))?;
    if mixed::arrow::is_mixed(&schema, options) {
        let rows = batches.iter().map(RecordBatch::num_rows).fold(0, usize::saturating_add);
        room::<f64>(rows, schema.fields().len(), length)?;
        let (table, told) = contain(&Place::default(), "an Arrow file or stream", || {
            Ok::<_, String>(mixed::arrow::table(&schema, &batches, options))
        })??;
        return Ok((table.into(), told));
    }
    let layout = Layout::new(&schema, options)?;
    let table = if layout.single {
        f32::any_table(gather(&layout, &batches, length)?)
    } else {
        f64::any_table(gather(&layout, &batches, length)?)
    };
    Ok((table, Told::default()))
}

/// Where the stream starts: at once, or after a file's mark and what fills the mark up to the
/// alignment that the writer chose.
fn stream_start(bytes: &[u8]) -> usize {
    match bytes.strip_prefix(FILE_MARK) {
        Some(rest) => bytes.len() - rest.iter().skip_while(|&&byte| byte == 0).count(),
        None => 0,
    }
}

/// Looks over every message before the arrow crate makes room for what it claims; says where
/// the last one ends.
fn check_messages(bytes: &[u8], start: usize) -> std::result::Result<usize, String> {
    let mut at = start;
    let word = |at: usize| bytes.get(at..at + 4).and_then(|word| <[u8; 4]>::try_from(word).ok());
    loop {
        let mut size = match word(at) {
            None if at == bytes.len() => return Ok(at),
            None => return Err("a message is cut off".into()),
            Some(size) => size,
        };
        at += 4;
        if size == CONTINUATION {
            size = word(at).ok_or("a message is cut off")?;
            at += 4;
        }
        let size = u32::from_le_bytes(size) as usize;
        if size == 0 {
            return Ok(at);
        }
        let header = bytes.get(at..at + size).ok_or("a message is cut off")?;
        at += size;
        let message = root_as_message(header).map_err(|e| format!("a message is damaged: {e}"))?;
        let body_size = usize::try_from(message.bodyLength()).map_err(|e| e.to_string())?;
        let end = at.checked_add(body_size).ok_or("a message is too long")?;
        let body = bytes.get(at..end).ok_or("a message's body is cut off")?;
        at = end;
        let batch = match message.header_type() {
            MessageHeader::RecordBatch => message.header_as_record_batch(),
            MessageHeader::DictionaryBatch => {
                message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data())
            }
            MessageHeader::Schema => {
                let order = message.header_as_schema().map(|schema| schema.endianness());
                if order == Some(Endianness::Big) {
                    return Err("it was written by a big-endian machine".into());
                }
                None
            }
            _ => None,
        };
        if let Some(batch) = batch {
            check_batch(&batch, body)?;
        }
    }
}

/// Checks that the columns of a batch lie in its body and unpack to a likely size.
fn check_batch(batch: &arrow_ipc::RecordBatch<'_>, body: &[u8]) -> std::result::Result<(), String> {
    if batch.length() < 0 || batch.nodes().is_some_and(|n| n.iter().any(|n| n.length() < 0)) {
        return Err("a column has a negative length".into());
    }
    for buffer in batch.buffers().into_iter().flatten() {
        let range =
            usize::try_from(buffer.offset()).ok().zip(usize::try_from(buffer.length()).ok());
        let column = range
            .and_then(|(start, length)| body.get(start..start.checked_add(length)?))
            .ok_or("a column lies outside its message")?;
        if batch.compression().is_none() {
            continue;
        }
        // A compressed column starts with its size in memory; -1 says that it is not packed.
        if let Some((size, packed)) = column.split_first_chunk::<8>() {
            let likely = SMALL + LIKELY_PACKING * packed.len() as u64;
            if i64::from_le_bytes(*size) > likely.cast_signed() {
                return Err(format!("{} bytes claim to hold far more", packed.len()));
            }
        }
    }
    Ok(())
}

fn gather<T: Cell>(layout: &Layout, batches: &[RecordBatch], file_bytes: u64) -> Result<Table<T>> {
    let rows: usize = batches.iter().map(RecordBatch::num_rows).fold(0, usize::saturating_add);
    let mut values = room(rows, layout.columns, file_bytes)?;
    let (mut weights, mut texts) = (Vec::new(), Vec::new());
    let selection = layout.everything();
    // A few rows at a time, so that what is written stays in the caches.
    let step = (1 << 15) / layout.columns + 1;
    let mut first_row = 0;
    for batch in batches {
        // The fields that are not wanted stay in the file's order, and out of the way.
        let wanted = batch.project(&selection.fields);
        let wanted =
            wanted.map_err(|e| Error::found(Place::default(), e, "every column in every batch"))?;
        let decoded = layout.decode::<T>(&wanted, &selection, first_row)?;
        for start in (0..decoded.rows).step_by(step) {
            let rows = start..(start + step).min(decoded.rows);
            let laid_out = values.len();
            values.resize(laid_out + rows.len() * layout.columns, T::ZERO);
            decoded.lay_out(rows, &mut values[laid_out..], layout.columns);
        }
        weights.extend(decoded.weights.unwrap_or_default());
        texts.extend(decoded.labels);
        first_row += decoded.rows;
    }
    layout.check(&values, 0)?;
    let mut about = layout.about();
    about.weights = layout.weight.map(|_| weights);
    about.labels =
        layout.label.map(|_| Labels::from_texts(texts.iter().flat_map(|column| column.iter())));
    Table::from(Dense::new(rows, layout.columns, values)?).with_about(about)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float32Array, Int32Array, StringArray};
    use arrow_ipc::CompressionType;
    use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
    use mereo_core::Cells;
    use proptest::prelude::*;

    use super::*;

    fn batch(rows: usize) -> RecordBatch {
        let numbers: ArrayRef = Arc::new(
            (0..rows).map(|i| (i % 5 != 3).then_some(i as f32 / 3.0)).collect::<Float32Array>(),
        );
        let whole: ArrayRef = Arc::new((0..rows as i32).collect::<Int32Array>());
        let class: ArrayRef = Arc::new(
            (0..rows).map(|i| (i % 4 != 1).then(|| format!("c{}", i % 3))).collect::<StringArray>(),
        );
        let columns = [("class", class), ("x", numbers), ("n", whole)];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(n, c)| (n, c, true))).unwrap()
    }

    fn written(batches: &[RecordBatch], file: bool, packing: Option<CompressionType>) -> Vec<u8> {
        let options = IpcWriteOptions::default().try_with_compression(packing).unwrap();
        let (mut out, schema) = (Vec::new(), batches[0].schema());
        if file {
            let mut w = FileWriter::try_new_with_options(&mut out, &schema, options).unwrap();
            for batch in batches {
                w.write(batch).unwrap();
            }
            w.finish().unwrap();
        } else {
            let mut w = StreamWriter::try_new_with_options(&mut out, &schema, options).unwrap();
            for batch in batches {
                w.write(batch).unwrap();
            }
            w.finish().unwrap();
        }
        out
    }

    fn asking_for(label: &str) -> ReadOptions {
        ReadOptions { label: Some(label.into()), ..ReadOptions::default() }
    }

    const PACKINGS: [Option<CompressionType>; 3] =
        [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)];

    #[test]
    fn file_and_stream_packed_or_not_are_the_same_table() {
        let batches = [batch(7), batch(0), batch(300)];
        for (file, packing) in [true, false].into_iter().flat_map(|f| PACKINGS.map(|p| (f, p))) {
            let bytes = written(&batches, file, packing);
            let (AnyTable::F64(table), _) = read_bytes(&bytes, &asking_for("class")).unwrap()
            else {
                panic!("whole numbers of 32 bits need f64")
            };
            assert_eq!((table.rows(), table.columns()), (307, 2));
            assert_eq!(table.name(0), "x");
            let labels = table.about().labels.as_ref().unwrap();
            assert_eq!(labels.names, ["c0", "c1", "c2"]);
            assert_eq!(labels.of_row[..3], [Some(0), None, Some(2)]);
            let Cells::Dense(cells) = table.cells() else { panic!("dense") };
            assert_eq!(cells.row(9), [f64::from(2.0f32 / 3.0), 2.0]);
            assert!(cells.row(7 + 3)[0].is_nan());
        }
    }

    #[test]
    fn a_column_of_words_is_learned_from_unless_somebody_says_otherwise() {
        let bytes = written(&[batch(30)], true, None);
        let (table, told) = read_bytes(&bytes, &ReadOptions::default()).unwrap();
        assert_eq!((table.columns(), told.columns[0].kind.as_str()), (3, "category"));
        assert_eq!(table.about().kind(0).levels(), ["c0", "c1", "c2"]);
        let error = read_bytes(&bytes, &asking_for("kind")).unwrap_err().to_string();
        assert!(error.contains("no column is called `kind`") && error.contains("`x`"), "{error}");
    }

    #[test]
    fn a_cut_file_is_an_error() {
        let bytes = written(&[batch(50)], false, None);
        for length in [0, 3, 8, 100, bytes.len() / 2] {
            assert!(read_bytes(&bytes[..length], &asking_for("class")).is_err());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn damage_never_panics(
            file: bool,
            packing in 0usize..3,
            damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        ) {
            let mut bytes = written(&[batch(40)], file, PACKINGS[packing]);
            for (at, byte) in damage {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let _ = read_bytes(&bytes, &asking_for("class"));
        }
    }
}
