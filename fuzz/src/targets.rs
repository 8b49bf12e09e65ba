//! What is fed with hostile input.

use std::path::Path;
use std::sync::OnceLock;

use mereo::field::{FieldFile, Method, Pairwise, ask as ask_field};
use mereo::quantize::codec::{Coded, What, checksum};
use mereo::quantize::{VqParams, vq};
use mereo::segment::{Colours, SegmentParams, segment};
use mereo::{AnyModel, Mapped};
use mereo_core::{
    Absent, Checkpoints, Context, Dense, Error, ModelFile, Plan, Real, Result, Silent, Source,
    Sparse, Table, encode, reconstruct, sample, score,
};
use mereo_data::steps::Steps;
use mereo_data::{AnySource, Kind, Pixels, ReadOptions, open_stream, read_bytes};

/// The targets, by the names that users give them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Csv,
    Xlsx,
    Npy,
    NpyStream,
    Npz,
    Idx,
    Images,
    Ratings,
    Words,
    Parquet,
    ParquetStream,
    Arrow,
    Model,
    Checkpoint,
    Steps,
    Codec,
    Field,
    Labels,
    Segment,
    Map,
}

impl Target {
    pub(crate) const ALL: [(&str, Self); 20] = [
        ("csv", Self::Csv),
        ("xlsx", Self::Xlsx),
        ("npy", Self::Npy),
        ("npy-stream", Self::NpyStream),
        ("npz", Self::Npz),
        ("idx", Self::Idx),
        ("images", Self::Images),
        ("ratings", Self::Ratings),
        ("words", Self::Words),
        ("parquet", Self::Parquet),
        ("parquet-stream", Self::ParquetStream),
        ("arrow", Self::Arrow),
        ("model", Self::Model),
        ("checkpoint", Self::Checkpoint),
        ("steps", Self::Steps),
        ("codec", Self::Codec),
        ("field", Self::Field),
        ("labels", Self::Labels),
        ("segment", Self::Segment),
        ("map", Self::Map),
    ];

    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(n, _)| *n == name).map(|(_, target)| *target)
    }

    /// Feeds the target. Errors are fine; panics, hunger and sloth are not.
    pub(crate) fn run(self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Csv => read(Kind::Csv, bytes, Some("label")),
            Self::Xlsx => read(Kind::Xlsx, bytes, None),
            Self::Npy => read(Kind::Npy, bytes, None).and_then(|()| {
                with_file(bytes, |path| {
                    npy_file(path);
                    Ok(())
                })
            }),
            Self::Npz => read(Kind::Npz, bytes, Some("y")),
            Self::Idx => read(Kind::Idx, bytes, None),
            Self::Images => read(Kind::Images, bytes, None),
            Self::Ratings => read(Kind::Ratings, bytes, None),
            Self::Words => read(Kind::Words, bytes, None),
            Self::Parquet => read(Kind::Parquet, bytes, Some("label")),
            Self::Arrow => read(Kind::Arrow, bytes, Some("label")),
            Self::NpyStream | Self::ParquetStream => with_file(bytes, stream),
            Self::Model => model(bytes),
            Self::Checkpoint => with_file(bytes, learn_with_checkpoint),
            Self::Steps => steps(bytes),
            Self::Codec => codec(bytes),
            Self::Field => field(bytes),
            Self::Labels => Pixels::labels_from_bytes(bytes, Path::new("some.png")).map(drop),
            Self::Segment => segments(bytes),
            Self::Map => maps(bytes),
        }
    }
}

/// Reads a table with and, where there may be one, without a column of classes.
fn read(kind: Kind, bytes: &[u8], label: Option<&str>) -> Result<()> {
    let plain = read_bytes(kind, bytes, &ReadOptions::default());
    let Some(label) = label else { return plain.map(drop) };
    let options = ReadOptions { label: Some(label.to_owned()), ..ReadOptions::default() };
    let labelled = read_bytes(kind, bytes, &options);
    plain.or(labelled).map(drop)
}

/// Calls `work` with a file that holds these bytes, the same one every time.
fn with_file(bytes: &[u8], work: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        // In memory, where there is such a place: the disk has nothing to do with it.
        tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder")
    });
    let path = folder.path().join("input");
    std::fs::write(&path, bytes).map_err(|e| Error::io(&path, e))?;
    work(&path)
}

/// An array that can be read from memory can be read from a file, in which one can jump about.
fn npy_file(path: &Path) {
    let options = ReadOptions { kind: Some(Kind::Npy), ..ReadOptions::default() };
    let table = mereo_data::read(path, &options);
    assert!(table.is_ok(), "read from memory and not from a file: {:?}", table.err());
}

fn stream(path: &Path) -> Result<()> {
    let labelled = ReadOptions { label: Some("label".to_owned()), ..ReadOptions::default() };
    let source =
        open_stream(path, &ReadOptions::default()).or_else(|_| open_stream(path, &labelled));
    match source? {
        AnySource::F32(source) => walk(&*source),
        AnySource::F64(source) => walk(&*source),
    }
}

fn walk<T: Real>(source: &dyn Source<T>) -> Result<()> {
    let mut rows = 0;
    let mut lane = source.lane(0..source.batches())?;
    while let Some(batch) = lane.next_batch()? {
        assert_eq!(batch.first_row, rows, "batches follow one another");
        rows += batch.rows;
    }
    assert_eq!(rows, source.rows(), "all rows come by");
    Ok(())
}

/// Opens a model and asks it for everything that it can do.
fn model(bytes: &[u8]) -> Result<()> {
    let path = Path::new("some.safetensors");
    let file = ModelFile::from_bytes(bytes, path)?;
    let (model, manifest) = AnyModel::from_file(file, path)?;
    // What the program does with the steps that a model carries.
    if let Ok(steps) = serde_json::from_value::<Steps>(manifest.steps.clone()) {
        let _ = steps.check(model.columns());
    }
    let columns = model.columns();
    let cells = (0..3 * columns).map(|i| if i % 3 == 1 { f64::NAN } else { i as f64 }).collect();
    let dense = Table::from(Dense::new(3, columns, cells)?);
    ask(&model, &dense)?;
    for absent in [Absent::Unobserved, Absent::Zero] {
        let sparse = Sparse::new(columns, vec![0, 1, 1], vec![0], vec![2.0f32], absent)?;
        ask(&model, &Table::from(sparse))?;
    }
    let context = Context::new(0);
    // Means may be larger than a table's cells can be: an error then.
    let _ = model.sampler().map(|s| sample(s, 2, true, &context));
    assert!(model.parts().is_none_or(|parts| parts.columns == columns));
    Ok(())
}

fn ask<T: Real>(model: &AnyModel, table: &Table<T>) -> Result<()> {
    let context = Context::new(0);
    if let Some(scorer) = model.scorer::<T>() {
        let scores = score(scorer, table, &context)?;
        assert!(scores.rows.iter().all(|s| !s.is_nan()), "a score is not a number");
    }
    if let Some(encoder) = model.encoder::<T>() {
        let codes = encode(encoder, table, &context)?;
        assert!(codes.values().iter().all(|m| !m.is_missing()), "a code is not a number");
    }
    let _ = model.reconstructor::<T>().map(|r| reconstruct(r, table, &context));
    Ok(())
}

/// Goes on learning from a checkpoint, of a run that is always the same.
pub(crate) fn learn_with_checkpoint(path: &Path) -> Result<()> {
    let table = Table::from(Dense::new(4, 2, vec![0.0, 0.0, 1.0, 1.0, 5.0, f64::NAN, 9.0, 8.0])?);
    let mut checkpoints = Checkpoints::new(path);
    checkpoints.resume = true;
    let plan = Plan { restarts: 2, passes: 3, checkpoints: Some(checkpoints), ..Plan::default() };
    vq::fit(&VqParams::new(2), &table, &plan, &Context::new(0), &mut Silent).map(drop)
}

/// Reads stored steps and takes a table there and back.
fn steps(bytes: &[u8]) -> Result<()> {
    let steps: Steps = serde_json::from_slice(bytes).map_err(|e| Error::option("steps", e))?;
    let table = Table::from(Dense::new(2, 2, vec![1.0, f64::NAN, -0.75, 0.5])?);
    steps.check(table.columns())?;
    let facts = {
        let mut lane = table.lane(0..1)?;
        match lane.next_batch()? {
            None => None,
            Some(batch) => {
                // Steps without a density have no volume.
                let _ = steps.log_volume(&batch)?;
                Some(steps.facts(&batch)?)
            }
        }
    };
    steps.apply(table)?;
    let mut output = vec![0.5, 1.0, -2.0, 1e3];
    steps.undo(&mut output, facts.as_deref())
}

/// Reads a compressed file; once as it is, once under a right checksum, so that changes reach
/// further in.
fn codec(bytes: &[u8]) -> Result<()> {
    let path = Path::new("some.gvq");
    let mut sealed = bytes.to_vec();
    if let Some(end) = sealed.len().checked_sub(4) {
        let sum = checksum(&sealed[..end]);
        sealed[end..].copy_from_slice(&sum.to_le_bytes());
    }
    if let Ok(coded) = Coded::from_bytes(&sealed, path) {
        let again = Coded::from_bytes(&coded.to_bytes(), path)?;
        assert_eq!(again, coded, "what is written is read");
        match coded.what {
            What::Picture { .. } => drop(coded.picture()?),
            // Sums may be larger than a table's cells can be: an error then.
            What::Table { .. } => drop(coded.rows(0)),
        }
    }
    Coded::from_bytes(bytes, path).map(drop)
}

/// Reads a field and, if it is small, asks it in several ways.
fn field(bytes: &[u8]) -> Result<()> {
    let FieldFile { field, observed, .. } = FieldFile::from_bytes(bytes, Path::new("some.json"))?;
    let labels: usize = (0..field.variables()).map(|i| field.labels(i)).sum();
    if labels <= 64 {
        for method in [Method::MeanField, Method::Bp, Method::Icm, Method::Trws, Method::Expansion]
        {
            let answer = ask_field(&field, &observed, method, &Context::new(0))?;
            assert!(!answer.energy.is_nan(), "an energy is a number");
            assert_eq!(answer.map.len(), field.variables());
        }
    }
    Ok(())
}

/// Reads what tells labels, and cuts a small picture with it.
fn segments(bytes: &[u8]) -> Result<()> {
    let path = Path::new("some.safetensors");
    let colours = Colours::from_file(ModelFile::from_bytes(bytes, path)?, path)?;
    let picture =
        Pixels { height: 2, width: 3, channels: 1, bytes: vec![0, 40, 80, 120, 200, 255] };
    let params = SegmentParams::default();
    segment(&picture, None, Some(&colours), &params, true, &Context::new(0)).map(drop)
}

/// Reads a map, and places rows into it.
fn maps(bytes: &[u8]) -> Result<()> {
    let path = Path::new("some.safetensors");
    let mapped = Mapped::from_file(ModelFile::from_bytes(bytes, path)?, path)?;
    mapped.to_file()?;
    // The seeds are of three columns, or of four things.
    for columns in [3, 4] {
        let cells = (0..2 * columns).map(|i| f64::from(i) + 0.5).collect();
        let table = Table::from(Dense::new(2, columns as usize, cells)?);
        let Ok(held) = mapped.align(table.into()) else { continue };
        // Rows may be too far from all that the map knows: an error then.
        if let Ok(places) = mapped.place(held.source(), &Context::new(0)) {
            assert!(places.iter().all(|x| x.is_finite()), "places are numbers");
        }
    }
    Ok(())
}
