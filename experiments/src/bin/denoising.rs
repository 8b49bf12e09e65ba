//! Forsyth 9.1.2 and examples 9.1 to 9.3: pictures with noise, cleaned by every method; errors before and after.
//!
//! `cargo xtask experiments denoising`. Flips at several levels on toy shapes, on digits and on photographs turned
//! to two levels, then noise on grey photographs. Noise and coupling are found from each picture. Pictures are written to
//! `target/figures`.

use std::time::Instant;

use mereo_core::{AnyTable, Cells, Context, Dense, Picture, Real, Result, Table};
use mereo_data::toy::shapes;
use mereo_data::write::write_picture_grid;
use mereo_data::{ReadOptions, read};
use mereo_experiments::{figure, photographs, shared};
use mereo_field::denoise::{DenoiseMethod, DenoiseParams, binary, grey};
use rand::RngExt;

/// A picture of two levels.
struct Clean {
    height: usize,
    width: usize,
    bright: Vec<bool>,
}

fn main() -> Result<()> {
    let mut sets = vec![("toy shapes", toy_shapes()?)];
    sets.extend(digits()?.map(|d| ("digits", d)));
    let names: Vec<String> = ["3096", "37073", "65019", "124084"].map(str::to_owned).to_vec();
    let photos = photographs(&names)?;
    let two = photos.iter().map(|p| {
        let luma = luma(&p.bytes, p.channels);
        let mut sorted = luma.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted[sorted.len() / 2];
        let bright = luma.iter().map(|l| *l > middle).collect();
        Clean { height: p.height, width: p.width, bright }
    });
    sets.push(("photographs in two levels", two.collect()));
    println!(
        "flips: percent wrong before and after, by method; energy above the cut's in nats a pixel"
    );
    for (name, pictures) in sets.iter().filter(|s| !s.1.is_empty()) {
        flips(name, pictures)?;
    }
    if let Some(photo) = photos.first() {
        grey_noise(&luma(&photo.bytes, photo.channels), photo.height, photo.width)?;
    }
    Ok(())
}

fn luma(bytes: &[u8], channels: usize) -> Vec<f64> {
    bytes
        .chunks_exact(channels)
        .map(|p| p.iter().map(|b| f64::from(*b)).sum::<f64>() / channels as f64)
        .collect()
}

/// Toy shapes, laid side by side: a single one is too small to tell its noise.
fn toy_shapes() -> Result<Vec<Clean>> {
    let world = shapes::sample(64, 1)?;
    let Cells::Dense(cells) = world.table.cells() else { return Ok(Vec::new()) };
    let values = || cells.values().iter().map(|v| f64::from(*v));
    let ends = |(l, h): (f64, f64), v: f64| (l.min(v), h.max(v));
    let (low, high) = values().fold((f64::INFINITY, f64::NEG_INFINITY), ends);
    Ok(tiled(&world.table, f64::midpoint(low, high)))
}

fn digits() -> Result<Option<Vec<Clean>>> {
    let Some(path) = shared("mnist/t10k-images-idx3-ubyte.gz") else { return Ok(None) };
    let AnyTable::F32(table) = read(&path, &ReadOptions::default())? else { return Ok(None) };
    Ok(Some(tiled(&table, 128.0)))
}

/// The first 64 pictures of a table, 8 x 8 of them as one of two levels.
fn tiled<T: Real>(table: &Table<T>, middle: f64) -> Vec<Clean> {
    let (Cells::Dense(cells), Some(Picture { height, width, .. })) =
        (table.cells(), table.about().picture)
    else {
        return Vec::new();
    };
    let (rows, columns) = (8 * height, 8 * width);
    let bright = (0..rows * columns)
        .map(|i| {
            let (y, x) = (i / columns, i % columns);
            cells.row(y / height * 8 + x / width)[y % height * width + x % width].to_f64() > middle
        })
        .collect();
    vec![Clean { height: rows, width: columns, bright }]
}

fn flips(name: &str, pictures: &[Clean]) -> Result<()> {
    println!(
        "\n{name}\n  noise  found   before {}",
        DenoiseMethod::NAMES.map(|n| format!("{n:>18}")).concat()
    );
    let context = Context::new(0).with_threads(0)?;
    for p in [0.05, 0.1, 0.2, 0.3] {
        let (mut before, mut found) = (0.0, 0.0);
        let mut after = [(0.0, 0.0); 5];
        for (at, clean) in pictures.iter().enumerate() {
            let mut random = Context::new(7).random("flips", [at as u64, (p * 1000.0) as u64]);
            let seen: Vec<bool> =
                clean.bright.iter().map(|b| b ^ (random.random::<f64>() < p)).collect();
            let size = (clean.height, clean.width);
            let pixels = seen.len() as f64;
            let wrong = |a: &mut dyn Iterator<Item = bool>| {
                a.zip(&clean.bright).filter(|(a, b)| a != *b).count() as f64
                    / pixels
                    / pictures.len() as f64
            };
            before += wrong(&mut seen.iter().copied());
            // The first run finds noise and coupling; all methods use them.
            let chosen = binary(&seen, size, &DenoiseParams::default(), &context)?;
            found += chosen.noise / pictures.len() as f64;
            let told = DenoiseParams {
                noise: Some(chosen.noise),
                coupling: Some(chosen.coupling),
                ..DenoiseParams::default()
            };
            let mut drawn: Vec<f64> = Vec::new();
            let mut least = f64::INFINITY;
            let mut energies = [0.0; 5];
            for (k, method) in DenoiseMethod::ALL.into_iter().enumerate() {
                let cleaned =
                    binary(&seen, size, &DenoiseParams { method, ..told.clone() }, &context)?;
                after[k].0 += wrong(&mut cleaned.pixels.iter().map(|v| *v == 255));
                energies[k] = cleaned.energy;
                least = least.min(cleaned.energy);
                if k < 2 {
                    drawn.extend(cleaned.pixels.iter().map(|v| f64::from(*v)));
                }
            }
            for (k, energy) in energies.into_iter().enumerate() {
                after[k].1 += (energy - least) / pixels / pictures.len() as f64;
            }
            if at == 0 && (p - 0.2).abs() < 1e-9 {
                let level = |b: &bool| if *b { 255.0 } else { 0.0 };
                let mut all: Vec<f64> = clean.bright.iter().map(level).collect();
                all.extend(seen.iter().map(level));
                all.extend(drawn);
                let rows = Dense::new(4, seen.len(), all)?;
                let shape = Picture { height: clean.height, width: clean.width, channels: 1 };
                let file = figure(&format!("denoising_{}", name.replace(' ', "_")))?;
                write_picture_grid(&file, &rows, shape, 4, Some((0.0, 255.0)))?;
            }
        }
        let each: Vec<String> =
            after.iter().map(|(w, e)| format!("   {:6.2} ({e:.4})", 100.0 * w)).collect();
        println!("  {p:>5}  {found:.3}  {:6.2} {}", 100.0 * before, each.concat());
    }
    Ok(())
}

fn grey_noise(clean: &[f64], height: usize, width: usize) -> Result<()> {
    println!("\na grey photograph, 256 levels: PSNR in dB before and after, seconds");
    let context = Context::new(0).with_threads(0)?;
    let psnr = |pixels: &[u8]| {
        let squares: f64 = pixels.iter().zip(clean).map(|(a, b)| (f64::from(*a) - b).powi(2)).sum();
        10.0 * (255.0f64.powi(2) * clean.len() as f64 / squares).log10()
    };
    for deviation in [10.0, 25.0] {
        let mut random = Context::new(3).random("noise", [deviation as u64, 0]);
        let mut gauss = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        let seen: Vec<u8> = clean
            .iter()
            .map(|c| (c + deviation * gauss()).round().clamp(0.0, 255.0) as u8)
            .collect();
        println!("deviation {deviation}: before {:.2}", psnr(&seen));
        let mut shown: Vec<f64> = clean.to_vec();
        shown.extend(seen.iter().map(|v| f64::from(*v)));
        for method in DenoiseMethod::ALL {
            let params = DenoiseParams { method, ..DenoiseParams::default() };
            let start = Instant::now();
            let cleaned = grey(&seen, (height, width), &params, &context)?;
            println!(
                "  {method:<12?} {:.2} dB, {:.1} s (noise {:.1}, coupling {:.4})",
                psnr(&cleaned.pixels),
                start.elapsed().as_secs_f64(),
                cleaned.noise,
                cleaned.coupling
            );
            if matches!(method, DenoiseMethod::MeanField | DenoiseMethod::Cut) {
                shown.extend(cleaned.pixels.iter().map(|v| f64::from(*v)));
            }
        }
        let rows = Dense::new(4, clean.len(), shown)?;
        let file = figure(&format!("denoising_grey_{deviation}"))?;
        write_picture_grid(
            &file,
            &rows,
            Picture { height, width, channels: 1 },
            2,
            Some((0.0, 255.0)),
        )?;
    }
    Ok(())
}
