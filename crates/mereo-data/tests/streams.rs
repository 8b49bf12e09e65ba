//! Streams and writers: what is written comes back, and a stream yields what a table holds.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::{Float32Type, Int32Type};
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, FixedSizeListArray, Float32Array, Float64Array,
    Int16Array, Int64Array, RecordBatch, StringArray,
};
use mereo_core::{
    Absent, AnyTable, Batch, Block, Cells, Context, Dense, Fingerprint, Labels, Picture, Real,
    Source, Sparse, Table,
};
use mereo_data::write::write_table;
use mereo_data::{AnySource, Kind, ReadOptions, open_stream, read};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;

/// A batch that outlives its lane.
#[derive(Debug, Clone, PartialEq)]
struct Kept {
    first_row: usize,
    rows: usize,
    bits: Vec<u64>,
    complete: bool,
    weights: Option<Vec<f64>>,
    labels: Option<Vec<Option<u32>>>,
}

fn bits<T: Real>(values: &[T]) -> Vec<u64> {
    values.iter().map(|v| if v.is_missing() { u64::MAX } else { v.to_f64().to_bits() }).collect()
}

fn keep<T: Real>(batch: &Batch<'_, T>) -> Kept {
    let Block::Dense { values, .. } = batch.block else { panic!("dense") };
    Kept {
        first_row: batch.first_row,
        rows: batch.rows,
        bits: bits(values),
        complete: !values.iter().any(|v| v.is_missing()),
        weights: batch.weights.map(<[_]>::to_vec),
        labels: batch.labels.map(<[_]>::to_vec),
    }
}

/// The batches of a range, each checked to say truly whether it is complete.
fn batches<T: Real, S: Source<T> + ?Sized>(
    source: &S,
    range: std::ops::Range<usize>,
    exactly: bool,
) -> Vec<Kept> {
    let mut lane = source.lane(range).unwrap();
    let mut kept = Vec::new();
    while let Some(batch) = lane.next_batch().unwrap() {
        let Block::Dense { complete, .. } = batch.block else { panic!("dense") };
        let seen = keep(&batch);
        if exactly {
            assert_eq!(complete, seen.complete);
        }
        kept.push(seen);
    }
    kept
}

fn write_parquet(path: &Path, batch: &RecordBatch, group_rows: usize, page_rows: usize) {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group_rows))
        .set_data_page_row_count_limit(page_rows)
        .set_write_batch_size(page_rows.min(64))
        .set_compression(Compression::SNAPPY)
        .build();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

/// Rows with gaps, classes and weights, in which every cell is different.
fn mixed(rows: usize, columns: usize) -> RecordBatch {
    let column = |c: usize| -> ArrayRef {
        let cell =
            |r: usize| (!(r * 7 + c).is_multiple_of(11)).then(|| (r * columns + c) as f32 + 0.25);
        Arc::new((0..rows).map(cell).collect::<Float32Array>())
    };
    let class = |r: usize| (r % 5 != 2).then(|| ["cat", "dog", "emu"][r % 7 % 3]);
    let classes: DictionaryArray<Int32Type> = (0..rows).map(class).collect();
    let weights: Float64Array = (0..rows).map(|r| Some(r as f64 / 8.0)).collect();
    let mut fields: Vec<(String, ArrayRef)> =
        (0..columns).map(|c| (format!("x{c}"), column(c))).collect();
    fields.insert(1.min(columns), ("animal".into(), Arc::new(classes)));
    fields.push(("times".into(), Arc::new(weights)));
    RecordBatch::try_from_iter_with_nullable(fields.into_iter().map(|(n, a)| (n, a, true))).unwrap()
}

fn asking() -> ReadOptions {
    ReadOptions {
        label: Some("animal".into()),
        weight: Some("times".into()),
        ..ReadOptions::default()
    }
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.parquet");
    (folder, path)
}

#[test]
fn a_parquet_stream_is_the_table_batch_for_batch() {
    let (_folder, path) = folder();
    // Batches are of 1024 rows: groups and pages that are smaller, larger and never in step.
    for (group_rows, page_rows) in [(77, 13), (1000, 33), (1500, 1 << 20), (1 << 20, 100)] {
        write_parquet(&path, &mixed(5003, 3), group_rows, page_rows);
        let AnyTable::F32(table) = read(&path, &asking()).unwrap() else { panic!("f32") };
        let AnySource::F32(stream) = open_stream(&path, &asking()).unwrap() else { panic!("f32") };
        assert_eq!((stream.rows(), stream.columns(), stream.batches()), (5003, 3, 5));
        assert_eq!(stream.about().names, table.about().names);
        let names = &table.about().labels.as_ref().unwrap().names;
        assert_eq!(&stream.about().labels.as_ref().unwrap().names, names);
        assert_eq!(names, &["cat", "dog", "emu"]);
        let whole = batches(&*stream, 0..5, true);
        assert_eq!(whole, batches(&table, 0..5, false));
        assert_eq!(whole[1].rows, 1024);
        for start in 0..=5 {
            for end in start..=5 {
                assert_eq!(batches(&*stream, start..end, true), whole[start..end]);
            }
        }
        assert_eq!(batches(&*stream, 3..usize::MAX, true), whole[3..]);
        let of = |rows: &dyn Source<f32>| Fingerprint::of(rows, &Context::new(0)).unwrap();
        assert_eq!(of(&*stream), of(&table));
    }
}

#[test]
fn number_types_meet_in_the_smallest_that_holds_them() {
    let (_folder, path) = folder();
    let small: ArrayRef = Arc::new(Int16Array::from(vec![Some(-3), None, Some(5)]));
    let truth: ArrayRef = Arc::new(BooleanArray::from(vec![true, false, true]));
    let large: ArrayRef = Arc::new(Int64Array::from(vec![1, 1 << 40, 3]));
    let lists = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(
        [Some(vec![Some(0.5), None]), None, Some(vec![Some(2.5), Some(3.5)])],
        2,
    );
    let lists: ArrayRef = Arc::new(lists);
    let fields = [("s", small.clone()), ("v", lists), ("t", truth)];
    let batch =
        RecordBatch::try_from_iter_with_nullable(fields.map(|(n, a)| (n, a, true))).unwrap();
    write_parquet(&path, &batch, 2, 100);
    let AnyTable::F32(table) = read(&path, &ReadOptions::default()).unwrap() else { panic!("f32") };
    assert_eq!(table.about().names.as_ref().unwrap(), &["s", "v[0]", "v[1]", "t"]);
    let Cells::Dense(cells) = table.cells() else { panic!("dense") };
    let nan = f32::NAN;
    let expected = [-3.0, 0.5, nan, 1.0, nan, nan, nan, 0.0, 5.0, 2.5, 3.5, 1.0];
    assert_eq!(bits(cells.values()), bits(&expected));

    let batch = RecordBatch::try_from_iter([("s", small), ("n", large)]).unwrap();
    write_parquet(&path, &batch, 2, 100);
    let AnyTable::F64(table) = read(&path, &ReadOptions::default()).unwrap() else { panic!("f64") };
    let Cells::Dense(cells) = table.cells() else { panic!("dense") };
    assert_eq!(cells.row(1)[1], (1u64 << 40) as f64);
}

#[test]
fn whole_numbers_and_floats_can_be_classes() {
    let (_folder, path) = folder();
    let x: ArrayRef = Arc::new(Float32Array::from(vec![1.0, 2.0, 3.0]));
    let whole: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None, Some(-1)]));
    let float: ArrayRef = Arc::new(Float64Array::from(vec![7.0, f64::NAN, -1.0]));
    for class in [whole, float] {
        let fields = [("x", x.clone(), true), ("animal", class, true)];
        let batch = RecordBatch::try_from_iter_with_nullable(fields).unwrap();
        write_parquet(&path, &batch, 2, 100);
        let options = ReadOptions { label: Some("animal".into()), ..ReadOptions::default() };
        let labels = read(&path, &options).unwrap().about().labels.clone().unwrap();
        assert_eq!(labels, Labels::from_texts([Some("7"), None, Some("-1")]));
    }
}

#[test]
fn errors_name_file_row_and_column() {
    let (_folder, path) = folder();
    let mut values = vec![1.0f32; 3000];
    values[2345] = f32::INFINITY;
    let x: ArrayRef = Arc::new(Float32Array::from(vec![1.0; 3000]));
    let y: ArrayRef = Arc::new(Float32Array::from(values.clone()));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a"; 3000]));
    let message = |fields: &[(&str, &ArrayRef)], options: &ReadOptions| {
        let fields = fields.iter().map(|(name, array)| (*name, Arc::clone(array)));
        write_parquet(&path, &RecordBatch::try_from_iter(fields).unwrap(), 700, 100);
        let whole = read(&path, options).map(|_| ()).unwrap_err().to_string();
        let streamed = open_stream(&path, options).and_then(|source| {
            let AnySource::F32(source) = source else { panic!("f32") };
            let mut lane = source.lane(1..3)?;
            while lane.next_batch()?.is_some() {}
            Ok(())
        });
        assert_eq!(whole, streamed.unwrap_err().to_string());
        whole
    };
    let none = ReadOptions::default();
    let error = message(&[("x", &x), ("height", &y)], &none);
    let expected = "table.parquet, row 2345, column `height`: found infinity";
    assert!(error.contains(expected), "{error}");
    values[2345] = 1e38;
    let y: ArrayRef = Arc::new(Float32Array::from(values));
    let error = message(&[("x", &x), ("height", &y)], &none);
    assert!(error.contains("row 2345, column `height`") && error.contains("rescale"), "{error}");
    // Words can be read, but not streamed.
    let fields = [("x", Arc::clone(&x)), ("kind", text)];
    write_parquet(&path, &RecordBatch::try_from_iter(fields).unwrap(), 700, 100);
    assert_eq!(read(&path, &none).unwrap().columns(), 2);
    let error = open_stream(&path, &none).map(drop).unwrap_err().to_string();
    assert!(error.contains("column `kind`: found text"), "{error}");
    assert!(error.contains("--label kind"), "{error}");
    let weighted = ReadOptions { weight: Some("times".into()), ..ReadOptions::default() };
    let error = message(&[("x", &x), ("height", &x)], &weighted);
    assert!(error.contains("no column `times`") && error.contains("`height`"), "{error}");
    let negative: ArrayRef =
        Arc::new((0..3000).map(|r| Some(f64::from(2000 - r))).collect::<Float64Array>());
    let error = message(&[("x", &x), ("times", &negative)], &weighted);
    assert!(error.contains("row 2001, column `times`: found weight -1"), "{error}");
}

#[test]
fn a_file_that_changes_between_passes_is_an_error() {
    let (_folder, path) = folder();
    // More rows than a lane decodes in one go.
    write_parquet(&path, &mixed(200_000, 3), 10_000, 1000);
    let AnySource::F32(stream) = open_stream(&path, &asking()).unwrap() else { panic!("f32") };
    let mut running = stream.lane(0..stream.batches()).unwrap();
    assert!(running.next_batch().unwrap().is_some());
    let length = std::fs::metadata(&path).unwrap().len();
    File::options().write(true).open(&path).unwrap().set_len(length / 4).unwrap();
    let error = stream.lane(0..1).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("changed since it was opened"), "{error}");
    let mut end = Ok(true);
    while let Ok(true) = end {
        end = running.next_batch().map(|batch| batch.is_some());
    }
    assert!(end.is_err(), "a lane that runs into the cut must say so");
}

#[test]
fn an_npy_stream_is_the_array() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    let values: Vec<f64> =
        (0..9000).map(|i| if i % 97 == 5 { f64::NAN } else { f64::from(i).sqrt() }).collect();
    let table = Table::from(Dense::new(3000, 3, values).unwrap());
    write_table(&path, &AnyTable::F64(table.clone())).unwrap();
    let AnySource::F64(stream) = open_stream(&path, &ReadOptions::default()).unwrap() else {
        panic!("f64")
    };
    let whole = batches(&*stream, 0..3, true);
    assert_eq!(whole, batches(&table, 0..3, false));
    for start in 0..=3 {
        assert_eq!(batches(&*stream, start..3, true), whole[start..]);
    }
    let labelled = ReadOptions { label: Some("x".into()), ..ReadOptions::default() };
    assert!(open_stream(&path, &labelled).is_err());

    let length = std::fs::metadata(&path).unwrap().len();
    File::options().write(true).open(&path).unwrap().set_len(length - 1).unwrap();
    assert!(stream.lane(0..1).is_err());
    let error = open_stream(&path, &ReadOptions::default()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("a.npy") && error.contains("72000 bytes"), "{error}");
}

#[test]
fn bytes_and_pictures_stream_from_npy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pictures.npy");
    let mut file = b"\x93NUMPY\x01\x00\x46\x00".to_vec();
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (100, 2, 2, 3), }";
    file.extend(format!("{header:<69}\n").bytes());
    file.extend((0..1200).map(|i| (i % 256) as u8));
    std::fs::write(&path, &file).unwrap();
    let AnySource::F32(stream) = open_stream(&path, &ReadOptions::default()).unwrap() else {
        panic!("f32")
    };
    let picture = Picture { height: 2, width: 2, channels: 3 };
    assert_eq!(stream.about().picture, Some(picture));
    let whole = batches(&*stream, 0..1, true);
    let expected: Vec<f32> = (0..1200).map(|i| (i % 256) as f32).collect();
    assert_eq!(whole[0].bits, bits(&expected));

    for (from, to, word) in [("False", "True ", "column by column"), ("|u1", ">i4", ">i4")] {
        let text = header.replace(from, to);
        file[10..10 + text.len()].copy_from_slice(text.as_bytes());
        std::fs::write(&path, &file).unwrap();
        let error = open_stream(&path, &ReadOptions::default()).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
    }
    std::fs::write(&path, b"a,b\n1,2\n").unwrap();
    let error = open_stream(&path, &ReadOptions::default()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("neither parquet nor npy"), "{error}");
    file[10..10 + header.len()].copy_from_slice(header.replace("100", "0  ").as_bytes());
    std::fs::write(&path, &file).unwrap();
    let message =
        |options: &ReadOptions| open_stream(&path, options).map(|_| ()).unwrap_err().to_string();
    assert!(message(&ReadOptions::default()).contains("no rows"));
    let headed = ReadOptions { header: Some(true), ..ReadOptions::default() };
    assert!(message(&headed).contains("option `header`"));
    let asked = ReadOptions { kind: Some(Kind::Csv), ..ReadOptions::default() };
    assert!(message(&asked).contains("found kind csv"));
}

#[test]
fn sparse_tables_are_written_in_full_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ratings.npy");
    for (absent, gap) in [(Absent::Unobserved, f32::NAN), (Absent::Zero, 0.0)] {
        let (starts, columns, values) = (vec![0, 2, 3], vec![0, 2, 1], vec![5.0f32, 3.0, 1.0]);
        let ratings = Sparse::new(3, starts, columns, values, absent).unwrap();
        write_table(&path, &AnyTable::F32(Table::from(ratings))).unwrap();
        let AnySource::F32(stream) = open_stream(&path, &ReadOptions::default()).unwrap() else {
            panic!("f32")
        };
        let expected = [5.0, gap, 3.0, gap, 1.0, gap];
        assert_eq!(batches(&*stream, 0..1, true)[0].bits, bits(&expected));
    }
    let empty =
        Sparse::<f32>::new(1 << 20, vec![0; 1 << 10], vec![], vec![], Absent::Zero).unwrap();
    let refused = folder.path().join("refused.csv");
    let error = write_table(&refused, &AnyTable::F32(Table::from(empty))).unwrap_err().to_string();
    assert!(error.contains("1023 rows x 1048576 columns"), "{error}");
    assert!(!refused.exists());
}

#[derive(Debug, Clone)]
struct Drawn {
    names: Option<Vec<String>>,
    cells: Vec<Option<f64>>,
    classes: Option<Vec<Option<String>>>,
    weights: Option<Vec<f64>>,
    picture: bool,
}

const COLUMNS: usize = 6;

fn tables() -> impl Strategy<Value = Drawn> {
    (1usize..9).prop_flat_map(|rows| {
        (
            prop::option::of(prop::collection::vec(".{0,6}", COLUMNS)),
            prop::collection::vec(prop::option::weighted(0.8, -1e30..1e30), rows * COLUMNS),
            prop::option::of(prop::collection::vec(prop::option::of("[a-c\"\n,é]{0,2}"), rows)),
            prop::option::of(prop::collection::vec(0.0..9.0, rows)),
            any::<bool>(),
        )
            .prop_map(|(names, cells, classes, weights, picture)| Drawn {
                names,
                cells,
                classes,
                weights,
                picture,
            })
    })
}

fn build<T: Real>(drawn: &Drawn) -> Table<T> {
    let cells = drawn.cells.iter().map(|cell| cell.map_or(T::MISSING, T::from_f64)).collect();
    let cells = Dense::new(drawn.cells.len() / COLUMNS, COLUMNS, cells).unwrap();
    let about = mereo_core::About {
        names: drawn.names.clone(),
        labels: drawn.classes.clone().map(Labels::from_texts),
        weights: drawn.weights.clone(),
        picture: drawn.picture.then_some(Picture { height: 1, width: 2, channels: 3 }),
        ..mereo_core::About::default()
    };
    Table::from(cells).with_about(about).unwrap()
}

fn assert_same<T: Real>(one: &Table<T>, other: &Table<T>) {
    let (Cells::Dense(a), Cells::Dense(b)) = (one.cells(), other.cells()) else { panic!("dense") };
    assert_eq!((a.rows(), a.columns()), (b.rows(), b.columns()));
    assert_eq!(bits(a.values()), bits(b.values()));
    // A file says what it calls the column of labels; a table that was made does not.
    let about = mereo_core::About { label_name: None, ..other.about().clone() };
    assert_eq!(mereo_core::About { label_name: None, ..one.about().clone() }, about);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn parquet_gives_back_the_table(drawn in tables(), wide: bool) {
        let (_folder, path) = folder();
        if wide {
            let table = build::<f64>(&drawn);
            write_table(&path, &AnyTable::F64(table.clone())).unwrap();
            let AnyTable::F64(back) = read(&path, &ReadOptions::default()).unwrap() else { panic!() };
            assert_same(&table, &back);
        } else {
            let table = build::<f32>(&drawn);
            write_table(&path, &AnyTable::F32(table.clone())).unwrap();
            let AnyTable::F32(back) = read(&path, &ReadOptions::default()).unwrap() else { panic!() };
            assert_same(&table, &back);
        }
    }

    #[test]
    fn csv_gives_back_the_table(mut drawn in tables(), tabs: bool) {
        // Text cannot tell a picture from a row, and a reader takes away space around a name
        // and lets every line end alike.
        drawn.picture = false;
        for name in drawn.classes.iter_mut().flatten().flatten() {
            *name = format!("<{name}>");
        }
        let named = drawn.names.is_some();
        if let Some(names) = &mut drawn.names {
            names.iter_mut().enumerate().for_each(|(i, name)| *name = format!("c{i} {}!", name.replace('\r', "\n")));
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(if tabs { "a.tsv" } else { "a.csv" });
        let table = build::<f64>(&drawn);
        write_table(&path, &AnyTable::F64(table.clone())).unwrap();
        let column = |name: &str, number: usize| {
            if named { name.to_owned() } else { number.to_string() }
        };
        let options = ReadOptions {
            label: drawn.classes.as_ref().map(|_| column("label", COLUMNS)),
            weight: drawn.weights.as_ref()
                .map(|_| column("weight", COLUMNS + usize::from(drawn.classes.is_some()))),
            header: Some(named),
            kind: Some(Kind::Csv),
            ..ReadOptions::default()
        };
        let AnyTable::F64(back) = read(&path, &options).unwrap() else { panic!("f64") };
        assert_same(&table, &back);
    }

    #[test]
    fn npy_gives_back_cells_and_pictures(drawn in tables()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let table = build::<f32>(&drawn);
        write_table(&path, &AnyTable::F32(table.clone())).unwrap();
        let AnySource::F32(stream) = open_stream(&path, &ReadOptions::default()).unwrap() else {
            panic!("f32")
        };
        prop_assert_eq!(stream.about().picture, table.about().picture);
        let Cells::Dense(cells) = table.cells() else { panic!("dense") };
        let seen: Vec<u64> =
            batches(&*stream, 0..1, true).into_iter().flat_map(|batch| batch.bits).collect();
        prop_assert_eq!(seen, bits(cells.values()));
    }

    #[test]
    fn damage_never_panics(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0usize..3), 1..5),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
        group_rows in 5usize..60,
    ) {
        let (_folder, path) = folder();
        write_parquet(&path, &mixed(50, 2), group_rows, 10);
        let mut bytes = std::fs::read(&path).unwrap();
        for (at, byte, place) in damage {
            // Anywhere, and above all in the metadata at the end and the headers at the start.
            let at = match place {
                0 => at.index(bytes.len()),
                1 => bytes.len() - 1 - at.index(bytes.len().min(600)),
                _ => at.index(bytes.len().min(200)),
            };
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        std::fs::write(&path, &bytes).unwrap();
        let _ = read(&path, &asking());
        if let Ok(AnySource::F32(stream)) = open_stream(&path, &asking()) {
            let batches = stream.batches();
            if let Ok(mut lane) = stream.lane(batches / 2..batches) {
                while let Ok(Some(_)) = lane.next_batch() {}
            }
        }
    }

    #[test]
    fn damaged_npy_never_panics(
        damage in prop::collection::vec((0usize..90, any::<u8>()), 1..5),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let table = Table::from(Dense::new(4, 2, vec![1.0f32; 8]).unwrap());
        write_table(&path, &AnyTable::F32(table)).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        for (at, byte) in damage {
            bytes[at] = byte;
        }
        std::fs::write(&path, &bytes).unwrap();
        if let Ok(AnySource::F32(stream)) = open_stream(&path, &ReadOptions::default())
            && let Ok(mut lane) = stream.lane(0..1)
        {
            let _ = lane.next_batch().map(|_| ());
        }
    }
}
