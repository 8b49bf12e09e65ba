//! Quantisers at equal bits: SIFT vectors and 8 x 8 photograph patches. FAISS's VQ, PQ, OPQ, RQ and
//! LSQ on the same rows are in `benches/quantisers.py`, which finds the patches in `target/patches`.
//!
//! `cargo xtask experiments gvq_equal_bits`.

use std::time::Instant;

use mereo_core::{
    AnyTable, Cells, Context, Dense, Plan, Reconstruct, Result, Silent, Table, encode, reconstruct,
};
use mereo_data::{ReadOptions, read, write};
use mereo_experiments::shared;
use mereo_parts::{McvqParams, mcvq};
use mereo_quantize::{CvqParams, GvqParams, VqParams, cvq, gvq, vq};

fn main() -> Result<()> {
    let context = Context::new(0).with_threads(0)?;
    if let (Some(learn), Some(test)) = (shared("sift-bsds/learn.npy"), shared("sift-bsds/base.npy"))
    {
        let options = ReadOptions::default();
        let (learn, test) = (narrow(&read(&learn, &options)?)?, narrow(&read(&test, &options)?)?);
        println!("SIFT: {} to learn from, {} to say", learn.rows(), test.rows());
        compare(&learn, &test, &context)?;
    }
    if let Some(tar) = shared("bsds300/train.tar") {
        let options = ReadOptions { resize: Some((320, 480)), ..ReadOptions::default() };
        let photographs = narrow(&read(&tar, &options)?)?;
        let patches = patches(&photographs)?;
        println!("\n8 x 8 patches, grey: {} rows, half to learn from", patches.rows());
        let half = patches.rows() / 2;
        let rows = |from: usize, to: usize| (from..to).collect::<Vec<_>>();
        let (learn, test) =
            (patches.select_rows(&rows(0, half)), patches.select_rows(&rows(half, patches.rows())));
        for (name, table) in [("learn", &learn), ("base", &test)] {
            let folder = std::path::Path::new("target/patches");
            std::fs::create_dir_all(folder).map_err(|e| mereo_core::Error::io(folder, e))?;
            write::write_table(&folder.join(format!("{name}.npy")), &table.clone().into())?;
        }
        compare(&learn, &test, &context)?;
    }
    Ok(())
}

/// Mean squared error of a row, and microseconds to encode one, at 8 and at 16 bits.
fn compare(learn: &Table<f32>, test: &Table<f32>, context: &Context) -> Result<()> {
    let plan = Plan { passes: 40, ..Plan::default() };
    let silent = &mut Silent;
    for bits in [8usize, 16] {
        println!("{bits} bits a row");
        if bits == 8 {
            let (model, _) = vq::fit(&VqParams::new(256), learn, &plan, context, silent)?;
            report("VQ 256", &model, test, context)?;
        }
        for (parts, states) in [(bits / 4, 16), (bits / 2, 4)] {
            let params = CvqParams::new(parts, states);
            let (model, _) = cvq::fit(&params, learn, &plan, context, silent)?;
            report(&format!("CVQ {parts} x {states}"), &model, test, context)?;
        }
        let (model, _) = gvq::fit(&GvqParams::new(bits), learn, &plan, context, silent)?;
        report(&format!("GVQ {bits}"), &model, test, context)?;
        let params = GvqParams { sets: 4, ..GvqParams::new(bits - 2) };
        let (model, _) = gvq::fit(&params, learn, &plan, context, silent)?;
        report(&format!("GVQ 4 sets of {}", bits - 2), &model, test, context)?;
        let params = McvqParams::new(bits / 4, 16);
        let (model, _) = mcvq::fit(&params, learn, &plan, context, silent)?;
        report(&format!("MCVQ {} x 16", bits / 4), &model, test, context)?;
    }
    Ok(())
}

fn report<M: Reconstruct<f32> + mereo_core::Encode<f32>>(
    name: &str,
    model: &M,
    test: &Table<f32>,
    context: &Context,
) -> Result<()> {
    let began = Instant::now();
    encode::<f32>(model, test, context)?;
    let micros = 1e6 * began.elapsed().as_secs_f64() / test.rows() as f64;
    let made = reconstruct::<f32>(model, test, context)?;
    let Cells::Dense(cells) = test.cells() else { return Ok(()) };
    let pairs = cells.values().iter().zip(made.values());
    let squares: f64 = pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum();
    println!(
        "  {name:<18} {:>10.1} squared error a row, {micros:>7.2} µs",
        squares / test.rows() as f64
    );
    Ok(())
}

fn narrow(table: &AnyTable) -> Result<Table<f32>> {
    match table {
        AnyTable::F32(table) => Ok(table.clone()),
        AnyTable::F64(table) => {
            let Cells::Dense(cells) = table.cells() else {
                return Ok(Table::from(Dense::new(0, 0, Vec::new())?));
            };
            let values = cells.values().iter().map(|&v| v as f32).collect();
            Ok(Table::from(Dense::new(cells.rows(), cells.columns(), values)?))
        }
    }
}

/// 100 patches from each photograph, on a grid.
fn patches(photographs: &Table<f32>) -> Result<Table<f32>> {
    let Cells::Dense(cells) = photographs.cells() else { return Ok(photographs.clone()) };
    let channels = photographs.about().picture.map_or(1, |p| p.channels);
    let mut values = Vec::new();
    for row in 0..cells.rows() {
        let pixels = cells.row(row);
        for patch in 0..100 {
            let (top, left) = (patch / 10 * 31, patch % 10 * 47);
            for inside in 0..64 {
                let at = ((top + inside / 8) * 480 + left + inside % 8) * channels;
                values.push(pixels[at..at + channels].iter().sum::<f32>() / channels as f32);
            }
        }
    }
    Ok(Table::from(Dense::new(cells.rows() * 100, 64, values)?))
}
