//! `mereo denoise`: cleans a picture.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, ValueEnum};
use mereo::denoise;
use mereo_core::{Context, Result};
use mereo_data::{Pixels, read_pixels, write};
use mereo_field::Kind;
use mereo_field::denoise::{DenoiseMethod, DenoiseParams, Denoised, NoiseCost, Shape};
use mereo_report::{FieldPage, MethodTried, ShownPicture, write_field};
use serde_json::json;

use crate::args::Threads;
use crate::interrupt;
use crate::output::{self, Voice};

/// Clean a picture: pixels agree with their neighbours, noise does not
///
/// True pixels are hidden variables of a random field, seen through noise. Pictures of two levels have
/// pixels flipped, grey ones have noise added; colour pictures are cleaned channel by channel. Noise and
/// coupling are found from the picture itself, by how well hidden pixels are guessed from the rest, unless
/// they are told or learned from clean pictures.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo denoise scan.png -o clean.png --levels 2
  mereo denoise photo.png -o clean.png --method cut --json
  mereo denoise scan.png -o clean.png --levels 2 --compare --report clean.html
  mereo denoise page.png -o clean.png --levels 2 --clean good-page.png")]
pub(crate) struct DenoiseArgs {
    /// The picture: PNG, JPEG, PNM or WebP
    #[arg(value_name = "PICTURE")]
    picture: PathBuf,

    /// The cleaned picture, a PNG
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,

    /// Levels of a pixel: 2 (black and white) or 256 [default: seen from the picture]
    #[arg(long, value_name = "N")]
    levels: Option<usize>,

    /// How it is cleaned: mean-field, cut (the most probable picture, exact), icm, gibbs or bp [default: cut
    /// for grey pictures, mean-field for black and white, --truncate and --potts]
    #[arg(long, value_name = "METHOD", value_parser = str::parse::<DenoiseMethod>)]
    method: Option<DenoiseMethod>,

    /// What neighbours that differ cost (a level of difference, in grey pictures), in nats, or auto
    #[arg(long, value_name = "C", default_value = "auto", value_parser = auto)]
    coupling: Auto,

    /// The probability of a flip, or the deviation of the noise in levels of grey, or auto
    #[arg(long, value_name = "P", default_value = "auto", value_parser = auto)]
    noise: Auto,

    /// What noise costs in grey pictures
    #[arg(long, value_name = "HOW", default_value = "squared")]
    error: ErrorChoice,

    /// Neighbours in grey pictures cost at most this many levels of difference
    #[arg(long, value_name = "LEVELS", default_value_t = 255)]
    truncate: usize,

    /// Neighbours in grey pictures cost the same, however much they differ
    #[arg(long, conflicts_with = "truncate")]
    potts: bool,

    /// Learn the coupling from this clean picture; may be given again
    #[arg(long, value_name = "PICTURE", conflicts_with = "coupling")]
    clean: Vec<PathBuf>,

    /// Also clean by every other method, and say how they did
    #[arg(long)]
    compare: bool,

    /// Also write a page about it
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// The seed of draws
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    #[command(flatten)]
    threads: Threads,

    /// Print one JSON object: energy, labels, kind, coupling, noise, seconds ...
    #[arg(long)]
    json: bool,
}

/// A number, or what the picture says.
#[derive(Debug, Clone, Copy)]
struct Auto(Option<f64>);

fn auto(text: &str) -> std::result::Result<Auto, String> {
    if text == "auto" {
        return Ok(Auto(None));
    }
    let number = text.parse::<f64>().ok().filter(|v| v.is_finite());
    number.map(|v| Auto(Some(v))).ok_or_else(|| "expected a number, or auto".to_owned())
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ErrorChoice {
    /// The square of what was added
    Squared,
    /// Its magnitude: pixels may be far off
    Absolute,
}

/// A picture cleaned: all channels together.
struct Cleaned {
    picture: Pixels,
    channels: Vec<Denoised>,
    seconds: f64,
}

impl Cleaned {
    fn energy(&self) -> f64 {
        self.channels.iter().map(|c| c.energy).sum()
    }

    fn kind(&self) -> Kind {
        self.channels.first().map_or(Kind::Estimate, |c| c.kind)
    }
}

pub(crate) fn run(args: &DenoiseArgs, voice: Voice) -> Result<ExitCode> {
    output::check_output(&args.output, &[&args.picture])?;
    if let Some(report) = &args.report {
        output::check_output(report, &[&args.picture, &args.output])?;
    }
    let context = args.threads.context(args.seed)?;
    interrupt::watch(context.stop(), voice);
    let seen = read_pixels(&args.picture)?;
    let levels = denoise::levels(&seen, args.levels)?;
    let shape = if args.potts { Shape::Potts } else { Shape::Differences(args.truncate) };
    let method = args.method.unwrap_or_else(|| DenoiseMethod::usual(levels, shape));
    let mut params = DenoiseParams {
        method,
        coupling: args.coupling.0,
        noise: args.noise.0,
        error: match args.error {
            ErrorChoice::Squared => NoiseCost::Squared,
            ErrorChoice::Absolute => NoiseCost::Absolute,
        },
        shape,
    };
    if !args.clean.is_empty() {
        let clean = args.clean.iter().map(|path| read_pixels(path)).collect::<Result<Vec<_>>>()?;
        params.coupling = Some(denoise::learn_coupling(&clean, levels, shape)?);
    }
    let cleaned = clean(&seen, levels, &params, &context)?;
    write::write_pixels(&args.output, &cleaned.picture)?;
    let first = &cleaned.channels[0];
    // All methods are compared on the same field.
    let same = DenoiseParams {
        coupling: Some(first.coupling),
        noise: Some(first.noise),
        ..params.clone()
    };
    let tried = |method: DenoiseMethod, result: &Cleaned| MethodTried {
        name: name(method).to_owned(),
        energy: result.energy(),
        bound: None,
        kind: result.kind().to_string(),
        seconds: result.seconds,
        note: difference(&cleaned.picture, &result.picture),
    };
    let mut methods = vec![tried(method, &cleaned)];
    if args.compare {
        for method in DenoiseMethod::ALL.into_iter().filter(|m| *m != method) {
            let other = clean(&seen, levels, &DenoiseParams { method, ..same.clone() }, &context)?;
            methods.push(tried(method, &other));
        }
    }
    if let Some(report) = &args.report {
        page(report, &args.picture, &seen, &cleaned, &methods)?;
        voice.say(format_args!("a page about it is in {}", report.display()));
    }
    let changed = seen.bytes.iter().zip(&cleaned.picture.bytes).filter(|(a, b)| a != b).count();
    if args.json {
        let mut told = json!({
            "file": args.output.to_string_lossy(),
            "height": cleaned.picture.height,
            "width": cleaned.picture.width,
            "channels": cleaned.picture.channels,
            "levels": levels,
            "method": method,
            "kind": cleaned.kind(),
            "energy": cleaned.energy(),
            "labels": levels,
            "coupling": cleaned.channels.iter().map(|c| c.coupling).collect::<Vec<_>>(),
            "noise": cleaned.channels.iter().map(|c| c.noise).collect::<Vec<_>>(),
            "changed": changed as f64 / seen.bytes.len().max(1) as f64,
            "seconds": cleaned.seconds,
        });
        if args.compare {
            told["compare"] = methods
                .iter()
                .map(|m| json!({"method": m.name, "kind": m.kind, "energy": m.energy, "seconds": m.seconds}))
                .collect();
        }
        output::print_json(&told)?;
    } else {
        use std::fmt::Write as _;
        let unit = if levels == 2 { "flips" } else { "levels of noise" };
        let mut text = format!(
            "{}: {:.1}% of pixels changed; {:.3} {unit}, coupling {:.3}; energy {:.2} ({}), {:.2} s\n",
            args.output.display(),
            100.0 * changed as f64 / seen.bytes.len().max(1) as f64,
            first.noise,
            first.coupling,
            cleaned.energy(),
            cleaned.kind(),
            cleaned.seconds
        );
        for tried in methods.iter().skip(1) {
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "{:<11} energy {:.2} ({}), {:.2} s, {}",
                tried.name, tried.energy, tried.kind, tried.seconds, tried.note
            );
        }
        output::print(&text)?;
    }
    Ok(if context.stop().asked() {
        interrupt::kept(&args.output, voice)
    } else {
        ExitCode::SUCCESS
    })
}

fn name(method: DenoiseMethod) -> &'static str {
    let at = DenoiseMethod::ALL.iter().position(|m| *m == method).unwrap_or(0);
    DenoiseMethod::NAMES[at]
}

fn difference(a: &Pixels, b: &Pixels) -> String {
    let differ = a.bytes.iter().zip(&b.bytes).filter(|(a, b)| a != b).count();
    let share = 100.0 * differ as f64 / a.bytes.len().max(1) as f64;
    if differ == 0 { String::new() } else { format!("{share:.2}% of pixels differ") }
}

/// Cleans a picture, and says how long it took.
fn clean(
    seen: &Pixels,
    levels: usize,
    params: &DenoiseParams,
    context: &Context,
) -> Result<Cleaned> {
    let start = Instant::now();
    let denoise::Cleaned { picture, channels } = denoise::clean(seen, levels, params, context)?;
    Ok(Cleaned { picture, channels, seconds: start.elapsed().as_secs_f64() })
}

fn page(
    path: &Path,
    from: &Path,
    seen: &Pixels,
    cleaned: &Cleaned,
    methods: &[MethodTried],
) -> Result<()> {
    let shown = |caption: &'static str, p: &Pixels| (caption, p.clone());
    let mut pictures = vec![shown("As seen", seen), shown("Cleaned", &cleaned.picture)];
    if let Some(probability) = &cleaned.channels[0].probability {
        let bytes = probability.iter().map(|p| (255.0 * p).round() as u8).collect();
        let sure = Pixels { channels: 1, bytes, ..cleaned.picture.clone() };
        pictures.push(shown("How probable it is that a pixel is bright", &sure));
    }
    let first = &cleaned.channels[0];
    let title = from.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let page = FieldPage {
        title: &title,
        about: "A picture cleaned by a random field: pixels agree with their neighbours, noise does not."
            .to_owned(),
        pictures: pictures
            .iter()
            .map(|(caption, p)| ShownPicture {
                caption,
                height: p.height,
                width: p.width,
                channels: p.channels,
                bytes: &p.bytes,
            })
            .collect(),
        trace: ("free energy", &first.trace),
        methods,
        marginals: Vec::new(),
        facts: vec![
            ("Noise", format!("{:.4}", first.noise)),
            ("Coupling", format!("{:.4}", first.coupling)),
        ],
    };
    write_field(&page, path)
}
