//! `mereo segment`: cuts objects out of a picture.

mod show;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, ValueEnum};
use mereo::segment::{
    Colours, Example, SegmentMethod, SegmentParams, Segmented, Telling, learn, segment,
};
use mereo_core::{Context, Error, ModelFile, Place, Result};
use mereo_data::{Pixels, read_labels, read_pixels, write};
use mereo_report::{FieldPage, MethodTried, ShownPicture, write_field};
use serde_json::json;

pub(crate) use self::show::show;
use crate::args::Threads;
use crate::interrupt;
use crate::output::{self, Voice};

/// Cut objects out of a picture, from a few scribbles
///
/// Mark a few pixels of the object and of the background in a picture of the same size. Colours of what is
/// marked, ways to the marks that avoid edges, and neighbours that look alike decide the rest. The colours
/// learned can be saved and used on the next picture; and a folder of pictures with label pictures
/// teaches a model that needs no scribbles.
#[derive(Debug, Args)]
#[command(after_long_help = "\
In the picture of scribbles, a palette or grey picture, 0 is unmarked and every other value a label: 1 the
object, 2 the background, or more. 255 for the object and 128 for the background are understood too. The
result is a palette picture with the same labels.

Examples:
  mereo segment photo.jpg --scribbles marks.png -o labels.png --cutout object.png
  mereo segment photo.jpg --scribbles marks.png -o labels.png --save colours.safetensors
  mereo segment next.jpg --model colours.safetensors -o next.png
  mereo segment pictures/ --labels labels/ --save model.safetensors
  mereo segment new.jpg --model model.safetensors -o new.png")]
pub(crate) struct SegmentArgs {
    /// The picture; with --labels, a folder of pictures to learn from
    #[arg(value_name = "PICTURE")]
    picture: PathBuf,

    /// The picture of scribbles
    #[arg(long, value_name = "MASK", required_unless_present_any = ["model", "labels"])]
    scribbles: Option<PathBuf>,

    /// The labels found, as a palette PNG
    #[arg(long, short, value_name = "LABELS", required_unless_present = "labels")]
    output: Option<PathBuf>,

    /// The object (the first label), everything else transparent
    #[arg(long, value_name = "OUT")]
    cutout: Option<PathBuf>,

    /// How probable it is that a pixel is of the object, from black to white
    #[arg(long, value_name = "OUT")]
    probability: Option<PathBuf>,

    /// The object white, everything else black
    #[arg(long, value_name = "OUT")]
    mask: Option<PathBuf>,

    /// How labels are found
    #[arg(long, value_name = "METHOD", default_value = "cut")]
    method: MethodChoice,

    /// How pixels tell labels by themselves
    #[arg(long, value_name = "HOW", default_value = "mixtures")]
    telling: TellingChoice,

    /// Components of each mixture of colours
    #[arg(long, value_name = "N", default_value_t = SegmentParams::default().components)]
    components: usize,

    /// How strongly neighbours that look alike are coupled [default: 40, or what the model learned]
    #[arg(long, value_name = "C")]
    strength: Option<f64>,

    /// How much ways to marks count
    #[arg(long, value_name = "G", default_value_t = SegmentParams::default().geodesic)]
    geodesic: f64,

    /// Learn colours anew from what was found, at most this often; it ends when nothing changes
    #[arg(long, value_name = "N", default_value_t = SegmentParams::default().rounds)]
    rounds: usize,

    /// Tell labels by this model, saved before
    #[arg(long, value_name = "MODEL", conflicts_with = "labels")]
    model: Option<PathBuf>,

    /// Keep what tells labels in this model file
    #[arg(long, value_name = "MODEL")]
    save: Option<PathBuf>,

    /// A folder of label pictures, named like those in PICTURE, to learn a model from
    #[arg(long, value_name = "FOLDER", requires = "save", conflicts_with_all = ["scribbles", "output"])]
    labels: Option<PathBuf>,

    /// A value of label pictures that does not count [default: 128 where there are only 0, 128 and 255]
    #[arg(long, value_name = "V", requires = "labels")]
    ignore: Option<u8>,

    /// Also write a page about it
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// The seed of everything random
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    #[command(flatten)]
    threads: Threads,

    /// Print one JSON object: energy, labels, kind, seconds ...
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum MethodChoice {
    /// The most probable labels, by a cut: exact for two labels
    Cut,
    /// The likeliest label of each pixel, by mean field
    MeanField,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum TellingChoice {
    /// A mixture of the colours of each label
    Mixtures,
    /// A logistic regression on features around the pixel
    Regression,
}

pub(crate) fn run(args: &SegmentArgs, voice: Voice) -> Result<ExitCode> {
    let inputs: Vec<&Path> = [Some(&args.picture), args.scribbles.as_ref(), args.model.as_ref()]
        .into_iter()
        .flatten()
        .map(PathBuf::as_path)
        .collect();
    let outputs =
        [&args.output, &args.cutout, &args.probability, &args.mask, &args.save, &args.report];
    for path in outputs.into_iter().flatten() {
        output::check_output(path, &inputs)?;
    }
    let context = args.threads.context(args.seed)?;
    interrupt::watch(context.stop(), voice);
    if let (Some(labels), Some(save)) = (&args.labels, &args.save) {
        return supervised(args, labels, save, &context);
    }
    let start = Instant::now();
    let picture = read_pixels(&args.picture)?;
    let colours = match &args.model {
        Some(path) => Some(Colours::from_file(ModelFile::read(path)?, path)?),
        None => None,
    };
    let known = colours.as_ref().map_or(&[][..], Colours::values);
    let marks = args.scribbles.as_ref().map(|path| scribbles(path, &picture, known)).transpose()?;
    let usual = colours.as_ref().map_or_else(SegmentParams::default, Colours::params);
    let params = SegmentParams {
        telling: match args.telling {
            TellingChoice::Mixtures => Telling::Mixtures,
            TellingChoice::Regression => Telling::Regression,
        },
        method: match args.method {
            MethodChoice::Cut => SegmentMethod::Cut,
            MethodChoice::MeanField => SegmentMethod::MeanField,
        },
        components: args.components,
        strength: args.strength.unwrap_or(usual.strength),
        geodesic: args.geodesic,
        rounds: args.rounds,
        ..usual
    };
    let sure = args.probability.is_some() || args.report.is_some();
    let cut = segment(&picture, marks.as_deref(), colours.as_ref(), &params, sure, &context)
        .map_err(|e| e.in_file(args.scribbles.as_ref().unwrap_or(&args.picture)))?;
    let seconds = start.elapsed().as_secs_f64();
    // The object is the first label, unless that is 0.
    let object = cut.values.iter().copied().find(|v| *v != 0).unwrap_or(0);
    if let Some(path) = &args.output {
        write::write_labels(path, &grey(&picture, cut.labels.clone()))?;
    }
    let inside = |yes: u8| cut.labels.iter().map(move |l| if *l == object { yes } else { 0 });
    if let Some(path) = &args.mask {
        write::write_pixels(path, &grey(&picture, inside(255).collect()))?;
    }
    if let Some(path) = &args.cutout {
        write::write_pixels(path, &cutout(&picture, &cut, object))?;
    }
    if let Some(path) = &args.probability {
        write::write_pixels(path, &probability(&picture, &cut, object))?;
    }
    if let Some(path) = &args.save {
        let colours = Colours::of_picture(&picture, &cut.labels, &params, &context)?;
        colours.with_params(&params).write(path)?;
    }
    if let Some(path) = &args.report {
        report(path, args, &picture, &cut, object, &params, seconds)?;
        voice.say(format_args!("a page about it is in {}", path.display()));
    }
    let mut pixels: BTreeMap<u8, usize> = cut.values.iter().map(|v| (*v, 0)).collect();
    cut.labels.iter().for_each(|l| *pixels.entry(*l).or_default() += 1);
    if args.json {
        let told = json!({
            "energy": cut.energy,
            "kind": cut.kind,
            "labels": cut.values,
            "pixels": pixels.values().collect::<Vec<_>>(),
            "method": params.method,
            "rounds": cut.trace.len(),
            "strength": params.strength,
            "height": picture.height,
            "width": picture.width,
            "seconds": seconds,
        });
        output::print_json(&told)?;
    } else {
        let all = cut.labels.len().max(1) as f64;
        let shares: Vec<String> = pixels
            .iter()
            .map(|(label, n)| format!("label {label} {:.1}%", 100.0 * *n as f64 / all))
            .collect();
        output::print(&format!(
            "{}; energy {:.2} ({}), {seconds:.2} s\n",
            shares.join(", "),
            cut.energy,
            cut.kind
        ))?;
    }
    Ok(match (&args.output, context.stop().asked()) {
        (Some(path), true) => interrupt::kept(path, voice),
        _ => ExitCode::SUCCESS,
    })
}

fn grey(picture: &Pixels, bytes: Vec<u8>) -> Pixels {
    Pixels { height: picture.height, width: picture.width, channels: 1, bytes }
}

/// Reads scribbles, which must be as large as the picture. 255 and 128 alone are object and background,
/// unless a model knows them as labels.
fn scribbles(path: &Path, picture: &Pixels, known: &[u8]) -> Result<Vec<u8>> {
    let mut marks = read_labels(path)?;
    if (marks.height, marks.width) != (picture.height, picture.width) {
        let found = format!("{} x {} pixels", marks.width, marks.height);
        let expected =
            format!("as many as the picture has, {} x {}", picture.width, picture.height);
        return Err(Error::found(Place::file(path), found, expected));
    }
    let labels = known.contains(&128) || known.contains(&255);
    if !labels && marks.bytes.iter().all(|m| matches!(m, 0 | 128 | 255)) {
        for mark in &mut marks.bytes {
            *mark = match *mark {
                255 => 1,
                128 => 2,
                _ => 0,
            };
        }
    }
    Ok(marks.bytes)
}

fn cutout(picture: &Pixels, cut: &Segmented, object: u8) -> Pixels {
    let mut bytes = Vec::with_capacity(cut.labels.len() * 4);
    for (pixel, label) in picture.bytes.chunks_exact(picture.channels).zip(&cut.labels) {
        let [r, g, b] = match pixel {
            [r, g, b] => [*r, *g, *b],
            _ => [pixel[0]; 3],
        };
        bytes.extend(if *label == object { [r, g, b, 255] } else { [r, g, b, 0] });
    }
    Pixels { channels: 4, bytes, ..*picture }
}

fn probability(picture: &Pixels, cut: &Segmented, object: u8) -> Pixels {
    let at = cut.values.iter().position(|v| *v == object).unwrap_or(0);
    let shares = cut.probability.as_deref().unwrap_or_default();
    let each = shares.chunks_exact(cut.values.len().max(1));
    grey(picture, each.map(|p| (255.0 * p[at]).round() as u8).collect())
}

/// Learns a model from a folder of pictures and one of label pictures of the same names.
fn supervised(
    args: &SegmentArgs,
    labels: &Path,
    model: &Path,
    context: &Context,
) -> Result<ExitCode> {
    let start = Instant::now();
    let list = |folder: &Path| -> Result<BTreeMap<String, PathBuf>> {
        let entries = std::fs::read_dir(folder).map_err(|e| Error::io(folder, e))?;
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let files = paths.filter(|path| path.is_file());
        let named = files.filter_map(|path| {
            let stem = path.file_stem()?.to_string_lossy().into_owned();
            (!stem.starts_with('.')).then_some((stem, path))
        });
        Ok(named.collect())
    };
    let (pictures, truths) = (list(&args.picture)?, list(labels)?);
    let mut examples = Vec::new();
    for (name, path) in &truths {
        let Some(picture_path) = pictures.get(name) else {
            let found = format!("no picture named `{name}`");
            let expected = format!("one for {}", path.display());
            return Err(Error::found(Place::file(&args.picture), found, expected));
        };
        let (picture, truth) = (read_pixels(picture_path)?, read_labels(path)?);
        if (truth.height, truth.width) != (picture.height, picture.width) {
            let found = format!("{} x {} pixels", truth.width, truth.height);
            let expected =
                format!("as many as its picture has, {} x {}", picture.width, picture.height);
            return Err(Error::found(Place::file(path), found, expected));
        }
        examples.push(Example::new(picture, &truth.bytes, args.ignore)?);
    }
    if examples.is_empty() {
        return Err(Error::found(Place::file(labels), "no label picture", "at least one"));
    }
    let colours = learn(&examples, context)?;
    let strength = colours.strength().unwrap_or(0.0);
    let params =
        SegmentParams { telling: Telling::Regression, strength, ..SegmentParams::default() };
    colours.with_params(&params).write(model)?;
    // How well it does where it learned.
    let (mut wrong, mut all) = (0usize, 0usize);
    for example in &examples {
        let cut = segment(&example.picture, None, Some(&colours), &params, false, context)?;
        for (label, found) in example.labels.iter().zip(&cut.labels) {
            all += usize::from(label.is_some());
            wrong += usize::from(label.is_some_and(|label| label != *found));
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let share = wrong as f64 / all.max(1) as f64;
    if args.json {
        output::print_json(&json!({
            "model": model.to_string_lossy(),
            "pictures": examples.len(),
            "labels": colours.values(),
            "strength": strength,
            "training_error": share,
            "seconds": seconds,
        }))?;
    } else {
        output::print(&format!(
            "{}: {} pictures, labels {:?}, strength {strength:.2}; wrong in {:.2}% of the pixels it learned \
             from, {seconds:.1} s\n",
            model.display(),
            examples.len(),
            colours.values(),
            100.0 * share
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn report(
    path: &Path,
    args: &SegmentArgs,
    picture: &Pixels,
    cut: &Segmented,
    object: u8,
    params: &SegmentParams,
    seconds: f64,
) -> Result<()> {
    let (out, sure) = (cutout(picture, cut, object), probability(picture, cut, object));
    let shown =
        |caption: &'static str, p: &'_ Pixels| -> (&'static str, Pixels) { (caption, p.clone()) };
    let pictures = [
        shown("As seen", picture),
        shown("The object", &out),
        shown("How probable it is that a pixel is of the object", &sure),
    ];
    let title = args.picture.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let methods = [MethodTried {
        name: match params.method {
            SegmentMethod::Cut => "cut".to_owned(),
            SegmentMethod::MeanField => "mean-field".to_owned(),
        },
        energy: cut.energy,
        bound: None,
        kind: cut.kind.to_string(),
        seconds,
        note: format!("{} rounds", cut.trace.len()),
    }];
    let page = FieldPage {
        title: &title,
        about: "An object cut out by a random field: colours and ways to marks say what pixels may be, and \
                neighbours that look alike belong together."
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
        trace: ("free energy", &cut.free_energy),
        methods: &methods,
        marginals: Vec::new(),
        facts: vec![
            ("Strength", format!("{}", params.strength)),
            ("Ways to marks", format!("{}", params.geodesic)),
            ("Components", format!("{}", params.components)),
        ],
    };
    write_field(&page, path)
}
