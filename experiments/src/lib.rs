//! What the experiments share. Each program in `src/bin` is one table or figure of a paper and
//! prints the paper's number beside ours.

pub mod densities;
pub mod maps;
pub mod plot;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use mereo_core::math::entropy_bits;
use mereo_core::{
    AnyTable, Cells, Context, Dense, Error, Labels, Parts, PartsView, Picture, Plan, Real,
    Reconstruct, Result, Table, reconstruct, with_table,
};
use mereo_data::steps::{StepKind, Steps};
use mereo_data::toy::{Recovery, Toy};
use mereo_data::write::write_picture_grid;
use mereo_data::{Pixels, ReadOptions, read};
use rand::seq::SliceRandom;

/// Restarts of a parts model, one of each kind of start.
pub fn parts_plan() -> Plan {
    Plan { restarts: 3, ..Plan::default() }
}

/// The mean over rows of each row's root-mean-square reconstruction error.
pub fn mean_rms<T: Real>(
    model: &dyn Reconstruct<T>,
    table: &Table<T>,
    context: &Context,
) -> Result<f64> {
    let rebuilt = reconstruct(model, table, context)?;
    let Cells::Dense(cells) = table.cells() else { return Ok(f64::NAN) };
    let total: f64 = (0..cells.rows())
        .map(|row| {
            let pairs = cells.row(row).iter().zip(rebuilt.row(row));
            let squares: f64 = pairs.map(|(x, y)| (x.to_f64() - y.to_f64()).powi(2)).sum();
            (squares / cells.columns() as f64).sqrt()
        })
        .sum();
    Ok(total / cells.rows() as f64)
}

/// How well a model's parts agree with the planted ones.
pub fn recovery(model: &dyn Parts, toy: &Toy) -> Result<Recovery> {
    toy.truth.recovery(&model.parts().part_of_column())
}

/// A file of the real data sets that stand beside the project, or nothing, said aloud, if it is
/// not there.
pub fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data").join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: shared/data/{name} is not beside the project");
    None
}

/// A table in double precision.
pub fn wide(table: &AnyTable) -> Result<Table<f64>> {
    let values = match table {
        AnyTable::F64(table) => return Ok(table.clone()),
        AnyTable::F32(table) => match table.cells() {
            Cells::Dense(cells) => cells.values().iter().map(|&x| f64::from(x)).collect(),
            Cells::Sparse(_) => Vec::new(),
        },
    };
    Ok(Table::from(Dense::new(table.rows(), table.columns(), values)?))
}

/// The cells of a dense table, row after row.
pub fn cells(table: &Table<f64>) -> &[f64] {
    match table.cells() {
        Cells::Dense(cells) => cells.values(),
        Cells::Sparse(_) => &[],
    }
}

/// So many rows of a table, at random.
pub fn picked(table: &Table<f32>, rows: usize, seed: u64) -> Table<f32> {
    let mut random = Context::new(seed).random("picked rows", [0, 0]);
    let mut order: Vec<usize> = (0..table.rows()).collect();
    order.shuffle(&mut random);
    order.truncate(rows);
    table.select_rows(&order)
}

/// Mean and standard deviation.
///
/// ```
/// assert_eq!(mereo_experiments::mean_and_spread(&[1.0, 3.0]), (2.0, 1.0));
/// ```
pub fn mean_and_spread(values: &[f64]) -> (f64, f64) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
    (mean, variance.sqrt())
}

/// The number given as this program's first argument, or a default.
pub fn seeds(default: u64) -> u64 {
    std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The CBCL faces in one of its files, histogram-equalised to values from -2 to 2 as in JMLR 3.1;
/// nothing, said aloud, if the data is not beside the project.
pub fn cbcl_faces(file: &str) -> Result<Option<Table<f32>>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/cbcl-faces");
    let path = folder.join(file);
    if !path.exists() {
        println!("skipped: {} is not there", path.display());
        return Ok(None);
    }
    let faces = match read(&path, &ReadOptions::default())? {
        AnyTable::F32(table) => table,
        AnyTable::F64(table) => {
            let Cells::Dense(cells) = table.cells() else { return Ok(None) };
            let values = cells.values().iter().map(|&v| v as f32).collect();
            Table::from(Dense::new(cells.rows(), cells.columns(), values)?)
        }
    };
    let equal = Steps::learn(&[StepKind::Equalise], &faces, &Context::new(0))?.apply(faces)?;
    let Cells::Dense(cells) = equal.cells() else { return Ok(None) };
    let values = cells.values().iter().map(|v| 4.0 * v - 2.0).collect();
    Ok(Some(Table::from(Dense::new(cells.rows(), cells.columns(), values)?)))
}

/// All cells of a file, row after row.
fn open(path: &Path) -> Result<Vec<f64>> {
    let any = read(path, &ReadOptions::default())?;
    Ok(with_table!(&any, table => match table.cells() {
        Cells::Dense(cells) => cells.values().iter().map(|x| x.to_f64()).collect(),
        Cells::Sparse(_) => Vec::new(),
    }))
}

/// Square pictures of bytes, at half their side (the means of 2 x 2 pixels), from 0 to 1.
pub fn halved(pixels: &[f64], side: usize) -> Vec<f64> {
    let half = side / 2;
    let mut values = Vec::with_capacity(pixels.len() / 4);
    for picture in pixels.chunks_exact(side * side) {
        for at in 0..half * half {
            let (y, x) = (at / half * 2, at % half * 2);
            let sum: f64 = [0, 1, side, side + 1].iter().map(|o| picture[y * side + x + o]).sum();
            values.push(sum / 4.0 / 255.0);
        }
    }
    values
}

/// Pictures with a label each.
fn labelled(pixels: &[f64], side: usize, labels: &[f64], names: usize) -> Result<Table<f32>> {
    let values: Vec<f32> = pixels.iter().map(|&x| x as f32).collect();
    let table = Table::from(Dense::new(labels.len(), side * side, values)?);
    let of_row = labels.iter().map(|&l| Some(l as u32)).collect();
    let names = (0..names).map(|n| n.to_string()).collect();
    table.with_labels(Labels { names, of_row })?.with_picture(Picture {
        width: side,
        height: side,
        channels: 1,
    })
}

/// So many training digits of MNIST with their labels, at 14 x 14 pixels from 0 to 1, after skipping
/// some; nothing, said aloud, if the data is not beside the project.
pub fn halved_digits(skip: usize, rows: usize) -> Result<Option<Table<f32>>> {
    let (Some(pictures), Some(labels)) =
        (shared("mnist/train-images-idx3-ubyte.gz"), shared("mnist/train-labels-idx1-ubyte.gz"))
    else {
        return Ok(None);
    };
    let (pixels, labels) = (open(&pictures)?, open(&labels)?);
    let pixels = halved(&pixels[skip * 784..(skip + rows) * 784], 28);
    Ok(Some(labelled(&pixels, 14, &labels[skip..skip + rows], 10)?))
}

/// So many training digits of MNIST with their labels, at 28 x 28 pixels from 0 to 1, after skipping
/// some; nothing, said aloud, if the data is not beside the project.
pub fn digits(skip: usize, rows: usize) -> Result<Option<Table<f32>>> {
    digits_of("train", skip, rows)
}

/// The same of the test digits.
pub fn test_digits(rows: usize) -> Result<Option<Table<f32>>> {
    digits_of("t10k", 0, rows)
}

fn digits_of(set: &str, skip: usize, rows: usize) -> Result<Option<Table<f32>>> {
    let (Some(pictures), Some(labels)) = (
        shared(&format!("mnist/{set}-images-idx3-ubyte.gz")),
        shared(&format!("mnist/{set}-labels-idx1-ubyte.gz")),
    ) else {
        return Ok(None);
    };
    let (pixels, labels) = (open(&pictures)?, open(&labels)?);
    let pixels: Vec<f64> =
        pixels[skip * 784..(skip + rows) * 784].iter().map(|v| v / 255.0).collect();
    Ok(Some(labelled(&pixels, 28, &labels[skip..skip + rows], 10)?))
}

/// The Olivetti faces at 32 x 32 pixels from 0 to 1, labelled by person, 40 of them with ten
/// pictures each; nothing, said aloud, if the data is not beside the project.
pub fn olivetti() -> Result<Option<Table<f32>>> {
    let (Some(faces), Some(people)) =
        (shared("olivetti/faces.npy"), shared("olivetti/subject.npy"))
    else {
        return Ok(None);
    };
    Ok(Some(labelled(&halved(&open(&faces)?, 64), 32, &open(&people)?, 40)?))
}

/// The sum over rows of squared reconstruction errors.
pub fn squared_error<T: Real>(
    model: &dyn Reconstruct<T>,
    table: &Table<T>,
    context: &Context,
) -> Result<f64> {
    let rebuilt = reconstruct(model, table, context)?;
    let Cells::Dense(cells) = table.cells() else { return Ok(f64::NAN) };
    let pairs = cells.values().iter().zip(rebuilt.values());
    Ok(pairs.map(|(x, y)| (x.to_f64() - y.to_f64()).powi(2)).sum())
}

/// The mean over columns of the gate's entropy, in bits.
///
/// ```
/// # use mereo_core::{Appearance, PartsView};
/// # let view = PartsView { columns: 2, parts: 2, states: 1, appearance: Appearance::States,
/// #     gate: &[0.5, 0.5, 1.0, 0.0], state_prior: &[1.0; 2], mean: &[0.0; 4] };
/// assert_eq!(mereo_experiments::gate_entropy(&view), 0.5);
/// ```
pub fn gate_entropy(view: &PartsView<'_>) -> f64 {
    (0..view.columns).map(|d| entropy_bits(view.gate_of(d))).sum::<f64>() / view.columns as f64
}

/// How far pixels are from the middle of their part, in pixels: the root of the mean square, pixels
/// counting by their gates.
///
/// ```
/// # use mereo_core::{Appearance, PartsView, Picture};
/// # let view = PartsView { columns: 4, parts: 2, states: 1, appearance: Appearance::States,
/// #     gate: &[1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0], state_prior: &[1.0; 2], mean: &[0.0; 8] };
/// // Pixels 0 and 1 are one part, 2 and 3 the other.
/// let picture = Picture { height: 1, width: 4, channels: 1 };
/// assert_eq!(mereo_experiments::radius_of_parts(&view, picture), 0.5);
/// ```
pub fn radius_of_parts(view: &PartsView<'_>, picture: Picture) -> f64 {
    let place = |d: usize| [(d / picture.width) as f64, (d % picture.width) as f64];
    let mut squares = 0.0;
    for part in 0..view.parts {
        let gate = |d: usize| view.gate_of(d)[part];
        let total: f64 = (0..view.columns).map(gate).sum::<f64>().max(f64::MIN_POSITIVE);
        for axis in 0..2 {
            let at = |d: usize| place(d)[axis];
            let middle = (0..view.columns).map(|d| gate(d) * at(d)).sum::<f64>() / total;
            squares += (0..view.columns).map(|d| gate(d) * (at(d) - middle).powi(2)).sum::<f64>();
        }
    }
    (squares / view.columns as f64).sqrt()
}

/// Draws a model of pictures: for each part a line with its gate, then its looks where the part has
/// a say. Says where the picture is.
pub fn draw_parts(view: &PartsView<'_>, picture: Picture, name: &str) -> Result<()> {
    let (low, high) =
        view.mean.iter().fold((f64::MAX, f64::MIN), |(l, h), &v| (l.min(v), h.max(v)));
    let mut cells = Vec::new();
    for part in 0..view.parts {
        let gate = |d: usize| view.gate_of(d)[part];
        cells.extend((0..view.columns).map(gate));
        for state in 0..view.states {
            let look = view.state(part, state);
            let spread = (high - low).max(f64::MIN_POSITIVE);
            cells.extend((0..view.columns).map(|d| gate(d) * (look[d] - low) / spread));
        }
    }
    draw_pictures(name, &cells, picture, 1 + view.states, (0.0, 1.0))
}

/// Draws grey pictures, so many to a line, small ones enlarged. Says where the picture is.
pub fn draw_pictures(
    name: &str,
    cells: &[f64],
    picture: Picture,
    across: usize,
    range: (f64, f64),
) -> Result<()> {
    let Picture { height, width, .. } = picture;
    let by = (64 / width.max(1)).max(1);
    let mut large = Vec::with_capacity(cells.len() * by * by);
    for small in cells.chunks_exact(height * width) {
        for y in 0..height * by {
            large.extend((0..width * by).map(|x| small[y / by * width + x / by]));
        }
    }
    let size = Picture { height: height * by, width: width * by, channels: 1 };
    let grid = Dense::new(cells.len() / (height * width), size.height * size.width, large)?;
    let path = figure(name)?;
    write_picture_grid(&path, &grid, size, across, Some(range))?;
    println!("drawn: {}", path.display());
    Ok(())
}

/// Draws pictures, `across` to a line, each in a range of its own, with 0 black, or the middle of the
/// greys if there are negative values. Says where the picture is.
pub fn draw_each(name: &str, pictures: &[f64], picture: Picture, across: usize) -> Result<()> {
    let size = picture.height * picture.width;
    let mut cells = Vec::with_capacity(pictures.len());
    for one in pictures.chunks_exact(size) {
        let (low, high) = one.iter().fold((0.0f64, 0.0f64), |(l, h), &v| (l.min(v), h.max(v)));
        let most = high.max(-low).max(f64::MIN_POSITIVE);
        let low = if low < 0.0 { -most } else { 0.0 };
        cells.extend(one.iter().map(|v| (v - low) / (most - low)));
    }
    draw_pictures(name, &cells, picture, across, (0.0, 1.0))
}

/// Where a figure of this name goes.
pub fn figure(name: &str) -> Result<PathBuf> {
    let folder = PathBuf::from("target/figures");
    std::fs::create_dir_all(&folder).map_err(|e| mereo_core::Error::io(&folder, e))?;
    Ok(folder.join(format!("{name}.png")))
}

/// Photographs of the Berkeley set by name, in that order; none if the set is not there.
pub fn photographs(names: &[String]) -> Result<Vec<Pixels>> {
    let mut found: Vec<Option<Pixels>> = vec![None; names.len()];
    for part in ["bsds300/train.tar", "bsds300/test.tar"] {
        let Some(path) = shared(part) else { return Ok(Vec::new()) };
        let failed = |e| Error::io(&path, e);
        let mut archive = tar::Archive::new(File::open(&path).map_err(failed)?);
        for entry in archive.entries().map_err(failed)? {
            let mut entry = entry.map_err(failed)?;
            let inside = entry.path().map_err(failed)?.into_owned();
            let stem = inside.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if let Some(at) = names.iter().position(|name| *name == stem) {
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).map_err(failed)?;
                found[at] = Some(Pixels::from_bytes(&bytes, &inside)?);
            }
        }
    }
    Ok(found.into_iter().flatten().collect())
}
