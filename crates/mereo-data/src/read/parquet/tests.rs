//! What only shows from inside: columns read in groups, and headers that ask for too much.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Float64Array, Int64Array, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;

use super::*;

/// Five columns, classes and weights; dictionaries, packing and gaps.
fn written(rows: usize, group_rows: usize, compression: Compression) -> Vec<u8> {
    let column = |c: usize| -> ArrayRef {
        let cell = |r: usize| (!(r * 3 + c).is_multiple_of(13)).then(|| (r % 50 * 5 + c) as f32);
        Arc::new((0..rows).map(cell).collect::<Float32Array>())
    };
    let classes: StringArray =
        (0..rows).map(|r| (r % 9 > 0).then(|| format!("k{}", r % 4))).collect();
    let weights: Float64Array = (0..rows).map(|r| Some((r % 8) as f64)).collect();
    let mut fields: Vec<(String, ArrayRef)> =
        (0..5).map(|c| (format!("x{c}"), column(c))).collect();
    fields.insert(2, ("class".into(), Arc::new(classes)));
    fields.push(("weight".into(), Arc::new(weights)));
    fields.push(("__index_level_0__".into(), Arc::new((0..rows as i64).collect::<Int64Array>())));
    let fields = fields.into_iter().map(|(name, array)| (name, array, true));
    let batch = RecordBatch::try_from_iter_with_nullable(fields).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group_rows))
        .set_data_page_row_count_limit(300)
        .set_write_batch_size(100)
        .set_compression(compression)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn options() -> ReadOptions {
    ReadOptions {
        label: Some("class".into()),
        weight: Some("weight".into()),
        ..ReadOptions::default()
    }
}

fn opened(bytes: Vec<u8>) -> Result<ParquetFile> {
    ParquetFile::open(Origin::Memory(bytes.into()), &options())
}

/// Everything that the batches of a range hold, as text that can be compared (`NaN` too).
fn seen(file: &ParquetFile, batches: Range<usize>) -> Vec<String> {
    let mut lane = Source::<f32>::lane(file, batches).unwrap();
    let mut seen = Vec::new();
    while let Some(batch) = lane.next_batch().unwrap() {
        seen.push(format!("{batch:?}"));
    }
    seen
}

#[test]
fn columns_read_in_groups_are_the_same_batches() {
    let bytes = written(7000, 1700, Compression::SNAPPY);
    let whole = opened(bytes.clone()).unwrap();
    assert_eq!(whole.selections.len(), 1);
    let expected = seen(&whole, 0..7);
    assert_eq!(expected.len(), 7);
    let mut grouped = opened(bytes).unwrap();
    grouped.selections = [0..2, 2..3, 3..5].map(|range| grouped.layout.select(range)).into();
    // Slabs of one batch, of two, and of more than there are.
    for slab_bytes in [1, 2 * 1024 * 5 * 4, SLAB_BYTES] {
        grouped.slab_bytes = slab_bytes;
        assert_eq!(seen(&grouped, 0..7), expected);
        assert_eq!(seen(&grouped, 2..5), expected[2..5]);
        assert_eq!(seen(&grouped, 6..9), expected[6..]);
    }
}

#[test]
fn the_index_of_a_pandas_table_is_no_data() {
    let file = opened(written(10, 10, Compression::UNCOMPRESSED)).unwrap();
    assert_eq!(file.layout.names, ["x0", "x1", "x2", "x3", "x4"]);
    assert!(file.layout.single);
}

#[test]
fn metadata_that_points_outside_the_file_is_refused() {
    let bytes = written(100, 100, Compression::UNCOMPRESSED);
    // The same metadata behind less data than it speaks of.
    let metadata = u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap()) as usize;
    let error = opened(bytes[bytes.len() - 8 - metadata..].to_vec()).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("lies outside the file"), "{error}");
}

#[test]
fn room_is_made_only_for_what_a_file_can_hold() {
    assert!(room::<f32>(1000, 1000, 10).is_ok());
    for (rows, columns) in [(usize::MAX, 2), (usize::MAX / 8, 1), (1 << 20, 1 << 20)] {
        assert!(room::<f32>(rows, columns, 1 << 20).is_err());
    }
}

#[test]
fn a_page_that_claims_too_much_is_refused() {
    let with_header = |header: &[u8]| {
        let chunks = Origin::Memory(header.to_vec().into()).open().unwrap();
        chunks.page_claim(0).map(|claim| claim.unpacked)
    };
    // Type 0, 64 bytes unpacked, 10 packed.
    assert_eq!(with_header(&[0x15, 0, 0x15, 0x80, 1, 0x15, 20, 0, 0, 0, 0]).unwrap(), 64);
    // 2 GB unpacked of 10 bytes.
    let header = [0x15, 0, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0x15, 20, 0];
    assert!(with_header(&header).is_err());
    // A dictionary of 2 billion values in 64 bytes.
    let header = [0x15, 4, 0x15, 0x80, 1, 0x15, 20, 0x4c, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0, 0];
    assert!(with_header(&header).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn damage_never_panics(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..6),
        packed in 0usize..3,
        in_groups: bool,
    ) {
        let zstd = Compression::ZSTD(ZstdLevel::default());
        let packing = [Compression::UNCOMPRESSED, Compression::LZ4_RAW, zstd][packed];
        let mut bytes = written(400, 150, packing);
        let end = bytes.len();
        let metadata = u32::from_le_bytes(bytes[end - 8..end - 4].try_into().unwrap()) as usize;
        for (at, byte, in_metadata) in damage {
            let at = if in_metadata { end - 8 - metadata + at.index(metadata) } else { at.index(end) };
            bytes[at] = byte;
        }
        if let Ok(mut file) = opened(bytes) {
            if in_groups {
                let fields = 0..file.layout.numbers.len();
                file.selections = fields.map(|i| file.layout.select(i..i + 1)).collect();
            }
            let _ = file.read();
        }
    }
}
