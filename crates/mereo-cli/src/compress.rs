//! `mereo compress`: a picture in few bytes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use mereo_core::{
    AnyTable, Cells, Context, Dense, Error, Place, Real, Result, Table, write_atomically,
};
use mereo_data::{Kind, ReadOptions, read, write};
use mereo_quantize::codec::picture::{CodecParams, Picture, psnr, ssim};
use mereo_quantize::codec::{Coded, Colour};
use serde_json::json;

use crate::args::Threads;
use crate::output::{self, Voice};
use crate::{interrupt, progress};

/// Say a picture with learned features, in few bytes
///
/// The picture is cut into blocks, each is guessed from those above and to the left, features of
/// what is left are learned, and the file keeps the features and which of them each block needs.
/// `mereo decompress` gives the picture back. Kilobits are a plain count: bits for every number of a
/// feature, and a bit a block for every feature (the paper on generative vector quantisation counts
/// one more a block, for the origin, which always belongs).
/// Pictures are taken with 8 bits a channel, and transparency is not kept. Ctrl-C stops early and
/// keeps the best so far (exit code 130).
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo compress photo.png -o photo.gvq
  mereo compress photo.png -o small.gvq --block 8 --features 48 --penalty 400
  mereo compress photo.png -o photo.gvq --compare --json")]
pub(crate) struct CompressArgs {
    /// The picture: PNG, JPEG, PNM or WebP
    #[arg(value_name = "IMAGE")]
    image: PathBuf,

    /// The file to write
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,

    /// The side of a block, in pixels
    #[arg(long, value_name = "B", default_value_t = CodecParams::default().block)]
    block: u32,

    /// Number of features of each set; 0 for a plain codebook of as many vectors as there are sets
    #[arg(long, value_name = "N", default_value_t = CodecParams::default().features)]
    features: usize,

    /// Number of sets; a block is made of one of them
    #[arg(long, value_name = "M", default_value_t = CodecParams::default().sets)]
    sets: usize,

    /// Bits that each number of a feature is rounded to; with a penalty, at the most
    #[arg(long, value_name = "B", default_value_t = CodecParams::default().bits)]
    bits: u8,

    /// How much squared error a bit of the file must save, in squared levels of grey: more makes
    /// smaller files. 25 to 1000 is usual. Features that do not save what they cost are dropped
    #[arg(long, value_name = "L", default_value_t = CodecParams::default().penalty)]
    penalty: f64,

    /// Say every block by itself, as the paper does, rather than what the blocks above and to the
    /// left do not lead one to guess; better for drawings of few different blocks
    #[arg(long)]
    plain: bool,

    /// How colours are taken apart
    #[arg(long, value_name = "HOW", default_value = "ycbcr")]
    colour: ColourChoice,

    /// How many starts to try; the best wins
    #[arg(long, value_name = "R", default_value_t = CodecParams::default().restarts)]
    restarts: usize,

    /// The seed of everything random
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    #[command(flatten)]
    threads: Threads,

    /// Also compress by a codebook and by two sets of features in at most as many kilobits, guessed
    /// and priced alike, and draw all side by side beside FILE, as .compare.png
    #[arg(long)]
    compare: bool,

    /// Print one JSON object: kilobits, bytes, psnr, ssim ...
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ColourChoice {
    /// Luminance, and colour differences at half the size
    Ycbcr,
    /// Red, green and blue
    Planes,
}

/// A picture compressed, and how well.
struct Outcome {
    name: String,
    params: CodecParams,
    bytes: Vec<u8>,
    kilobits: f64,
    /// Features of each plane that paid for themselves.
    kept: Vec<u8>,
    picture: Picture,
    psnr: f64,
    ssim: f64,
}

pub(crate) fn run(args: &CompressArgs, voice: Voice) -> Result<ExitCode> {
    output::check_output(&args.output, &[&args.image])?;
    let beside = args.output.with_extension("compare.png");
    if args.compare {
        output::check_output(&beside, &[&args.image, &args.output])?;
    }
    let context = args.threads.context(args.seed)?;
    interrupt::watch(context.stop(), voice);
    let picture = read_picture(&args.image)?;
    // Whatever has been found when it is stopped makes a file.
    interrupt::learned();
    let params = CodecParams {
        block: args.block,
        features: args.features,
        sets: args.sets,
        bits: args.bits,
        penalty: args.penalty,
        guess: !args.plain,
        colour: match args.colour {
            ColourChoice::Ycbcr => Colour::YCbCr,
            ColourChoice::Planes => Colour::Planes,
        },
        restarts: args.restarts,
    };
    let chosen = compress(&picture, &params, &context, voice)?;
    write_atomically(&args.output, |out| out.write_all(&chosen.bytes))?;
    let mut all = vec![chosen];
    if args.compare {
        let budget = all[0].kilobits;
        for params in rivals(&picture, &params, budget) {
            match compress(&picture, &params, &context, voice) {
                Err(Error::Interrupted) => break,
                rival => all.push(rival?),
            }
        }
    }
    let interrupted = context.stop().asked();
    let compare = args.compare && !interrupted;
    if interrupted {
        // Rivals that were cut short would be none.
        all.truncate(1);
    }
    if compare {
        side_by_side(&picture, &all, &beside)?;
        voice.say(format_args!("original, then as in the table, in {}", beside.display()));
    }
    if args.json {
        let first = &all[0];
        let mut told = told(first);
        told["file"] = json!(args.output.to_string_lossy());
        told["width"] = json!(picture.width);
        told["height"] = json!(picture.height);
        told["channels"] = json!(picture.channels);
        if compare {
            told["compare"] = all.iter().map(told_with_name).collect();
            told["picture"] = json!(beside.to_string_lossy());
        }
        output::print_json(&told)?;
    } else {
        let mut text = String::from("                    kilobits     bytes   PSNR dB    SSIM\n");
        for outcome in &all {
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "{:<18} {:>9.1} {:>9} {:>9.2} {:>7.4}",
                outcome.name,
                outcome.kilobits,
                outcome.bytes.len(),
                outcome.psnr,
                outcome.ssim
            );
        }
        output::print(&text)?;
    }
    Ok(if interrupted { interrupt::kept(&args.output, voice) } else { ExitCode::SUCCESS })
}

fn told(outcome: &Outcome) -> serde_json::Value {
    json!({
        "kilobits": outcome.kilobits,
        "bytes": outcome.bytes.len(),
        "psnr": outcome.psnr,
        "ssim": outcome.ssim,
        "block": outcome.params.block,
        "features": outcome.params.features,
        "kept": outcome.kept,
        "sets": outcome.params.sets,
        "bits": outcome.params.bits,
        "penalty": outcome.params.penalty,
        "guess": outcome.params.guess,
    })
}

fn told_with_name(outcome: &Outcome) -> serde_json::Value {
    let mut told = told(outcome);
    told["name"] = json!(outcome.name);
    told
}

fn compress(
    picture: &Picture,
    params: &CodecParams,
    context: &Context,
    voice: Voice,
) -> Result<Outcome> {
    let name = match (params.features, params.sets) {
        (0, sets) => format!("VQ of {sets}"),
        (n, 1) => format!("GVQ of {n}"),
        (n, sets) => format!("GVQ of {sets} x {n}"),
    };
    let mut progress = progress::share(&name, voice);
    let mut told = |share| progress.set(share);
    let coded = Coded::of_picture_told(picture, params, context, &mut told)?;
    let bytes = coded.to_bytes();
    let seen = coded.picture()?;
    Ok(Outcome {
        name,
        params: params.clone(),
        kilobits: coded.kilobits(),
        kept: coded.planes.iter().map(|plane| plane.features).collect(),
        psnr: psnr(picture, &seen),
        ssim: ssim(picture, &seen),
        picture: seen,
        bytes,
    })
}

/// The largest codebook, and the largest pair of sets, that take no more kilobits.
fn rivals(picture: &Picture, params: &CodecParams, budget: f64) -> Vec<CodecParams> {
    let blocks = |w: u32, h: u32| f64::from(w.div_ceil(params.block) * h.div_ceil(params.block));
    let (w, h) = (picture.width, picture.height);
    let segments = match (picture.channels, params.colour) {
        (1, _) => vec![blocks(w, h)],
        (_, Colour::YCbCr) => {
            let half = blocks(w.div_ceil(2), h.div_ceil(2));
            vec![blocks(w, h), half, half]
        }
        _ => vec![blocks(w, h); 3],
    };
    let size = f64::from(params.block * params.block) * f64::from(params.bits);
    let kilobits = |sets: usize, n: usize| -> f64 {
        let code = n as f64 + (sets as f64).log2();
        let vectors = (sets * (n + 1)) as f64;
        segments.iter().map(|s| (size * vectors + s * code) / 1000.0).sum()
    };
    let codebook = (2..4096).take_while(|&sets| kilobits(sets, 0) <= budget).last();
    let pair = (1..64).take_while(|&n| kilobits(2, n) <= budget).last();
    let with = |sets: usize, features: usize| CodecParams { sets, features, ..params.clone() };
    let (codebook, pair) = (codebook.map(|sets| with(sets, 0)), pair.map(|n| with(2, n)));
    [codebook, pair].into_iter().flatten().collect()
}

fn side_by_side(original: &Picture, all: &[Outcome], path: &Path) -> Result<()> {
    let pictures = std::iter::once(original).chain(all.iter().map(|o| &o.picture));
    let pixels: Vec<f64> = pictures.flat_map(|p| p.pixels.iter().map(|&b| f64::from(b))).collect();
    let rows = Dense::new(all.len() + 1, original.pixels.len(), pixels)?;
    let png =
        write::encode_picture_grid(&rows, shape(original), all.len() + 1, Some((0.0, 255.0)), 1)?;
    write_atomically(path, |out| out.write_all(&png))
}

fn shape(picture: &Picture) -> mereo_core::Picture {
    mereo_core::Picture {
        height: picture.height as usize,
        width: picture.width as usize,
        channels: usize::from(picture.channels),
    }
}

/// Reads one picture.
fn read_picture(path: &Path) -> Result<Picture> {
    let options = ReadOptions { kind: Some(Kind::Images), ..ReadOptions::default() };
    match read(path, &options)? {
        AnyTable::F32(table) => one_picture(&table, path),
        AnyTable::F64(table) => one_picture(&table, path),
    }
}

fn one_picture<T: Real>(table: &Table<T>, path: &Path) -> Result<Picture> {
    let (Cells::Dense(cells), Some(picture), 1) =
        (table.cells(), table.about().picture, table.rows())
    else {
        let found = format!("{} pictures", table.rows());
        return Err(Error::found(Place::file(path), found, "one picture"));
    };
    let side = |length: usize| {
        u32::try_from(length).map_err(|_| Error::found(Place::file(path), length, "fewer pixels"))
    };
    Ok(Picture {
        width: side(picture.width)?,
        height: side(picture.height)?,
        channels: picture.channels as u8,
        pixels: cells.values().iter().map(|v| v.to_f64().round().clamp(0.0, 255.0) as u8).collect(),
    })
}
