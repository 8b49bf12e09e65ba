//! Parquet and Arrow files of several makes.

use std::sync::Arc;

use arrow_array::types::Float32Type;
use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeListArray, Float32Array, Float64Array, Int32Array,
    RecordBatch, StringArray,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::{WriterProperties, WriterVersion};

fn tables() -> Vec<RecordBatch> {
    let named = |columns: Vec<(&str, ArrayRef)>| {
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true)))
            .expect("columns of one length")
    };
    let floats = Float32Array::from(vec![Some(1.0), None, Some(-2.5)]);
    let doubles = Float64Array::from(vec![1e9, f64::NAN, 0.0]);
    let words = StringArray::from(vec![Some("cat"), Some("dog"), None]);
    let rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]].map(|row| Some(row.map(Some)));
    let lists = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(rows, 2);
    vec![
        named(vec![("x", Arc::new(floats.clone())), ("y", Arc::new(floats))]),
        named(vec![
            ("d", Arc::new(doubles)),
            ("i", Arc::new(Int32Array::from(vec![1, -2, i32::MAX]))),
            ("b", Arc::new(BooleanArray::from(vec![true, false, true]))),
        ]),
        named(vec![
            ("z", Arc::new(Float32Array::from(vec![1.0, 2.0, 3.0]))),
            ("label", Arc::new(words)),
        ]),
        named(vec![("rows", Arc::new(lists))]),
    ]
}

pub(super) fn parquet_files() -> Vec<Vec<u8>> {
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::LZ4_RAW,
        Compression::ZSTD(parquet::basic::ZstdLevel::default()),
    ];
    let mut files = Vec::new();
    for (index, table) in tables().iter().enumerate() {
        for (codec, version) in [
            (codecs[index], WriterVersion::PARQUET_1_0),
            (codecs[(index + 1) % 4], WriterVersion::PARQUET_2_0),
        ] {
            let properties = WriterProperties::builder()
                .set_compression(codec)
                .set_writer_version(version)
                .set_max_row_group_row_count(Some(2))
                .set_dictionary_enabled(index != 1)
                .build();
            let mut out = Vec::new();
            let mut writer = ArrowWriter::try_new(&mut out, table.schema(), Some(properties))
                .expect("columns that can be written");
            writer.write(table).expect("writing to memory");
            writer.close().expect("writing to memory");
            files.push(out);
        }
    }
    files
}

pub(super) fn arrow_files() -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    for (index, table) in tables().iter().enumerate() {
        let packed =
            [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)][index % 3];
        let options = IpcWriteOptions::default().try_with_compression(packed).expect("is built in");
        let mut out = Vec::new();
        let mut writer =
            FileWriter::try_new_with_options(&mut out, &table.schema(), options.clone())
                .expect("writing to memory");
        writer.write(table).and_then(|()| writer.finish()).expect("writing to memory");
        drop(writer);
        files.push(out);
        let mut out = Vec::new();
        let mut writer = StreamWriter::try_new_with_options(&mut out, &table.schema(), options)
            .expect("writing to memory");
        writer.write(table).and_then(|()| writer.finish()).expect("writing to memory");
        drop(writer);
        files.push(out);
    }
    files
}
