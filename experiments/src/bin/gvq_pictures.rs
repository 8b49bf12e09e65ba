//! GVQ, section 6.2: the Vermeer in 16 x 16 blocks, then the rate-distortion curve with the real
//! coder, and three photographs. Codebooks are plain, as in the paper; features are learned plain,
//! guessed (each block from those before it), and priced (bits must save error).
//!
//! `cargo xtask experiments gvq_pictures`; the number of seeds may follow. Pictures and the curve are
//! written to `target/figures`.

use mereo_core::{AnyTable, Cells, Context, Dense, Result, Table};
use mereo_data::{ReadOptions, read, write};
use mereo_experiments::plot::{Curve, draw_curves};
use mereo_experiments::{figure, mean_and_spread, seeds, shared};
use mereo_quantize::codec::Coded;
use mereo_quantize::codec::picture::{CodecParams, Picture, psnr, ssim};

/// Bits of a number in the comparison of photographs: fewer show, more cost bytes.
const BITS: u8 = 6;

fn main() -> Result<()> {
    let Some(path) = shared("vermeer/girl_with_a_pearl_earring.jpg") else { return Ok(()) };
    let AnyTable::F32(table) = read(&path, &ReadOptions::default())? else { return Ok(()) };
    let vermeer = scaled(&grey(&table, 0), 704, 768);
    section_6_2(&vermeer, seeds(3))?;
    curve(&vermeer)?;
    photographs()
}

/// The paper's comparison, in bits counted as the paper counts a codebook's. Its 56 kbit for GVQ also count the
/// origin as a feature that a block may lack, a bit a block: 9·256·16 + 2112·9 = 55.9 kbit. Here, as in every
/// file that the coder writes, the origin always belongs, which is 2112 bits less (53.8).
fn section_6_2(vermeer: &Picture, runs: u64) -> Result<()> {
    println!("Vermeer, cropped to its upper part and scaled to 768 x 704, grey, 16 x 16 blocks");
    println!(
        "the paper: VQ of 16 at 74 kbit; GVQ of 8 at 56, the origin counted as a bit of every block"
    );
    println!(
        "(not so below: 53.8); it tells no decibels. A throw-away implementation that is not mereo's nor"
    );
    println!("the paper's: VQ of 16 24.28 dB at 74.0 kbit; GVQ of 8 26.4 dB at 55.9 kbit\n");
    let mut seen = vec![vermeer.clone()];
    for (features, sets, guess) in
        [(0, 16, false), (0, 11, false), (8, 1, false), (3, 2, false), (10, 1, false), (8, 1, true)]
    {
        let params = CodecParams { features, sets, guess, restarts: 4, ..CodecParams::default() };
        let mut decibels = Vec::new();
        for seed in 0..runs {
            let context = Context::new(seed).with_threads(0)?;
            let coded = Coded::of_picture(vermeer, &params, &context)?;
            let picture = coded.picture()?;
            decibels.push(psnr(vermeer, &picture));
            if seed == 0 {
                print!("{}, SSIM {:.4}", told(&params, &coded), ssim(vermeer, &picture));
                seen.push(picture);
            }
        }
        let (mean, spread) = mean_and_spread(&decibels);
        println!(", {mean:.2} dB ({spread:.2} over {runs} seeds)");
    }
    let pixels: Vec<f64> =
        seen.iter().flat_map(|p| p.pixels.iter().map(|&b| f64::from(b))).collect();
    let rows = Dense::new(seen.len(), vermeer.pixels.len(), pixels)?;
    let shape = mereo_core::Picture { height: 768, width: 704, channels: 1 };
    let file = figure("vermeer")?;
    write::write_picture_grid(&file, &rows, shape, seen.len(), Some((0.0, 255.0)))?;
    println!("original and these, in {}", file.display());
    Ok(())
}

/// Bytes on disk and decibels, for codebooks, features and sets of features.
fn curve(vermeer: &Picture) -> Result<()> {
    println!("\nRate and distortion with the real coder, 8 bits a number");
    let context = Context::new(0).with_threads(0)?;
    let mut curves: Vec<Curve> = Vec::new();
    let plain = |sizes: &[(usize, usize)]| -> Vec<(usize, usize, f64)> {
        sizes.iter().map(|&(sets, features)| (sets, features, 0.0)).collect()
    };
    let priced = [800.0, 200.0, 50.0].map(|penalty| (1, 48, penalty)).to_vec();
    for (name, block, guess, sizes) in [
        ("VQ, 16 x 16", 16, false, plain(&[(4, 0), (16, 0), (64, 0), (128, 0)])),
        ("VQ, 8 x 8", 8, false, plain(&[(4, 0), (16, 0), (64, 0), (256, 0)])),
        ("GVQ, 16 x 16", 16, false, plain(&[(1, 2), (1, 4), (1, 8), (1, 16)])),
        ("GVQ, 8 x 8", 8, false, plain(&[(1, 2), (1, 4), (1, 8), (1, 16)])),
        ("GVQ of 4 sets, 8 x 8", 8, false, plain(&[(4, 1), (4, 4), (4, 8)])),
        ("GVQ guessed, 16 x 16", 16, true, plain(&[(1, 2), (1, 4), (1, 8), (1, 16)])),
        ("GVQ priced, 16 x 16", 16, true, priced.clone()),
        ("GVQ priced, 8 x 8", 8, true, priced),
    ] {
        println!("{name}");
        let mut points = Vec::new();
        for (sets, features, penalty) in sizes {
            let params = CodecParams {
                block,
                features,
                sets,
                bits: 8,
                penalty,
                guess,
                ..CodecParams::default()
            };
            let coded = Coded::of_picture(vermeer, &params, &context)?;
            let decibels = psnr(vermeer, &coded.picture()?);
            println!("  {}, {decibels:.2} dB", told(&params, &coded));
            points.push((coded.to_bytes().len() as f64 / 1000.0, decibels));
        }
        curves.push((name.to_owned(), points));
    }
    let title = "Vermeer, 768 x 704: rate and distortion";
    draw_curves("vermeer-rate", title, ("thousand bytes on disk", "PSNR, dB"), &curves)
}

/// Codebooks and features of several blocks on three photographs: what features gain at equal
/// bytes over codebooks of the same blocks, over codebooks of whichever blocks suit them best, and
/// over those that were guessed and priced as well.
fn photographs() -> Result<()> {
    let Some(path) = shared("bsds300/test.tar") else { return Ok(()) };
    let context = Context::new(0).with_threads(0)?;
    let options = ReadOptions { resize: Some((320, 480)), ..ReadOptions::default() };
    let AnyTable::F32(photographs) = read(&path, &options)? else { return Ok(()) };
    println!("\nThree photographs (grey, 480 x 320, {BITS} bits a number): gain at equal bytes");
    for row in [0, 33, 66] {
        let photograph = grey(&photographs, row);
        let measure = |name: &str, block: u32, guess: bool, sizes: &[(usize, usize, f64)]| {
            let mut points = Vec::new();
            for &(sets, features, penalty) in sizes {
                let params = CodecParams {
                    block,
                    features,
                    sets,
                    bits: BITS,
                    penalty,
                    guess,
                    ..CodecParams::default()
                };
                let coded = Coded::of_picture(&photograph, &params, &context)?;
                let bytes = coded.to_bytes().len() as f64;
                points.push((bytes / 1000.0, psnr(&photograph, &coded.picture()?)));
            }
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            Ok((format!("{name}, {block} x {block}"), points)) as Result<Curve>
        };
        let mut plain = Vec::new();
        for (block, most) in [(4, 512), (6, 512), (8, 512), (16, 64)] {
            let sizes = [16, 64, 256, 512].into_iter().filter(|&size| size <= most);
            let sizes: Vec<_> = sizes.map(|size| (size, 0, 0.0)).collect();
            plain.push(measure("VQ", block, false, &sizes)?);
        }
        let priced: Vec<_> = [1600.0, 800.0, 400.0, 100.0, 25.0].map(|l| (256, 0, l)).into();
        let helped =
            [measure("VQ priced", 4, true, &priced)?, measure("VQ priced", 8, true, &priced)?];
        let priced: Vec<_> = [800.0, 400.0, 200.0, 100.0].map(|l| (1, 64, l)).into();
        let features = [
            measure("GVQ", 8, false, &[(1, 8, 0.0), (1, 16, 0.0), (1, 24, 0.0)])?,
            measure("GVQ priced", 6, true, &priced)?,
            measure("GVQ priced", 8, true, &priced)?,
            measure("GVQ priced", 16, true, &priced)?,
        ];
        for ((name, points), same) in features.iter().zip([2, 1, 2, 3]) {
            for &(bytes, decibels) in points {
                let gain = |rivals: &[Curve]| {
                    let rival = rivals.iter().filter_map(|c| at(&c.1, bytes)).reduce(f64::max);
                    rival.map_or("-".to_owned(), |rival| format!("{:+.2} dB", decibels - rival))
                };
                println!(
                    "photograph {row}, {name}: {:>5.0} bytes, {decibels:.2} dB; over VQ of the same \
                     blocks {}, of its best blocks {}, priced {}",
                    1000.0 * bytes,
                    gain(&plain[same..=same]),
                    gain(&plain),
                    gain(&helped)
                );
            }
        }
        let title = format!("Photograph {row}, 480 x 320: rate and distortion");
        let name = format!("photograph-{row}-rate");
        let curves: Vec<Curve> = plain.into_iter().chain(helped).chain(features).collect();
        draw_curves(&name, &title, ("thousand bytes on disk", "PSNR, dB"), &curves)?;
    }
    Ok(())
}

/// The height of a curve at so many bytes, between its points by the logarithm of bytes; nothing
/// outside of them.
fn at(points: &[(f64, f64)], bytes: f64) -> Option<f64> {
    points.windows(2).find(|p| (p[0].0..=p[1].0).contains(&bytes)).map(|p| {
        let share = (bytes / p[0].0).ln() / (p[1].0 / p[0].0).ln();
        p[0].1 + share * (p[1].1 - p[0].1)
    })
}

/// What a picture was made of and how large that is.
fn told(params: &CodecParams, coded: &Coded) -> String {
    format!(
        "{:>3} sets of {:>2} features: {:>6.1} kbit, {:>6} bytes",
        params.sets,
        params.features,
        coded.kilobits(),
        coded.to_bytes().len()
    )
}

/// A row of a table of pictures, in grey.
fn grey(table: &Table<f32>, row: usize) -> Picture {
    let (Cells::Dense(cells), Some(shape)) = (table.cells(), table.about().picture) else {
        return Picture { width: 0, height: 0, channels: 1, pixels: Vec::new() };
    };
    let level = |p: &[f32]| match p {
        [r, g, b] => 0.299 * r + 0.587 * g + 0.114 * b,
        _ => p[0],
    };
    let pixels = cells.row(row).chunks_exact(shape.channels).map(|p| level(p).round() as u8);
    Picture {
        width: shape.width as u32,
        height: shape.height as u32,
        channels: 1,
        pixels: pixels.collect(),
    }
}

/// The upper part of a picture that has this shape, brought to this size (bilinear).
fn scaled(picture: &Picture, width: u32, height: u32) -> Picture {
    let used = f64::from(picture.width) * f64::from(height) / f64::from(width);
    let used = used.min(f64::from(picture.height));
    let at = |y: f64, x: f64| {
        let clamp = |v: f64, most: u32| v.clamp(0.0, f64::from(most - 1));
        let (y, x) = (clamp(y, picture.height), clamp(x, picture.width));
        let (top, left) = (y.floor(), x.floor());
        let pixel = |y: f64, x: f64| {
            let (y, x) = (clamp(y, picture.height) as u32, clamp(x, picture.width) as u32);
            f64::from(picture.pixels[(y * picture.width + x) as usize])
        };
        let (dy, dx) = (y - top, x - left);
        (1.0 - dy) * ((1.0 - dx) * pixel(top, left) + dx * pixel(top, left + 1.0))
            + dy * ((1.0 - dx) * pixel(top + 1.0, left) + dx * pixel(top + 1.0, left + 1.0))
    };
    let mut pixels = Vec::new();
    for y in 0..height {
        for x in 0..width {
            let from_y = (f64::from(y) + 0.5) * used / f64::from(height) - 0.5;
            let from_x = (f64::from(x) + 0.5) * f64::from(picture.width) / f64::from(width) - 0.5;
            pixels.push(at(from_y, from_x).round() as u8);
        }
    }
    Picture { width, height, channels: 1, pixels }
}
