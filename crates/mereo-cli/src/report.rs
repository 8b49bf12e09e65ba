//! `mereo report`: a page that shows what a model learned.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mereo::{Data, Fitted, Mapped, Names, with_data, write_report};
use mereo_core::{Error, ModelFile, Picture, Result};

use crate::args::{Reading, Threads, size};
use crate::output::{self, Voice};

/// Write a page that shows what a model learned
///
/// One HTML file that needs no network: the parts and their states, how learning went and rows
/// drawn from the model; with DATA also rows beside what the model makes of them, which part each
/// cell came from, and how well rows are explained. All in the data's units.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo report model.safetensors -o report.html
  mereo report model.safetensors data.csv -o report.html
  mereo report faces.safetensors toy:faces --title \"Toy faces\" -o faces.html
  mereo report patches.safetensors patches.npy --picture 8x8 -o patches.html
  mereo report ten.safetensors test.csv --beside five.safetensors -o ten.html")]
pub(crate) struct ReportArgs {
    /// The model file
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// Rows to show: a file, a folder, or toy:WORLD
    #[arg(value_name = "DATA")]
    data: Option<PathBuf>,

    /// The page to write
    #[arg(long, short, value_name = "FILE.html")]
    output: PathBuf,

    /// The page's title [default: the name of the model file]
    #[arg(long)]
    title: Option<String>,

    /// Draw rows as grey pictures of this height and width; patches, which lack their last pixel, too
    /// [default: as the data was]
    #[arg(long, value_name = "HxW", value_parser = size)]
    picture: Option<(usize, usize)>,

    /// Another model of the same columns, to be compared by how likely rows are and how many numbers it
    /// took; may be given several times
    #[arg(long, value_name = "MODEL")]
    beside: Vec<PathBuf>,

    #[command(flatten)]
    threads: Threads,

    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(args: &ReportArgs, voice: Voice) -> Result<ExitCode> {
    let inputs = [Some(&args.model), args.data.as_ref()].into_iter().flatten().chain(&args.beside);
    output::check_output(&args.output, &inputs.map(PathBuf::as_path).collect::<Vec<_>>())?;
    let file = ModelFile::read(&args.model)?;
    if Mapped::is_in(&file) {
        return map_page(args, file, voice);
    }
    let mut fitted = Fitted::from_file(file, &args.model)?;
    let others = args.beside.iter().map(|path| Fitted::open(path)).collect::<Result<Vec<_>>>()?;
    others.iter().try_for_each(|other| check_same_columns(&fitted, other))?;
    if let Some((height, width)) = args.picture {
        let (picture, columns) = (Picture { height, width, channels: 1 }, fitted.model.columns());
        let cells = picture.columns();
        if cells != Some(columns) && cells != columns.checked_add(1) {
            let problem =
                format!("{height} x {width} pixels are not the model's {columns} columns");
            return Err(Error::option("picture", problem));
        }
        fitted.manifest.picture = Some(picture);
    }
    let context = args.threads.context(0)?;
    let stem = args.model.file_stem().unwrap_or_default().to_string_lossy();
    let data_name = args.data.as_ref().map(|data| data.to_string_lossy());
    let names = Names {
        title: args.title.as_deref().unwrap_or(&stem),
        model: &args.model.to_string_lossy(),
        data: data_name.as_deref(),
    };
    match &args.data {
        None => write_report::<f64>(&fitted, &others, None, &names, &args.output, &context)?,
        Some(path) => {
            let data = args.reading.open_for(&fitted, path, &context, voice)?;
            with_data!(&data, held => {
                write_report(&fitted, &others, Some(held.source()), &names, &args.output, &context)
                    .map_err(|e| e.in_file(path))?;
            });
        }
    }
    voice.say(format_args!("the report is {}", args.output.display()));
    Ok(ExitCode::SUCCESS)
}

/// The page of a map, which is no model of columns.
fn map_page(args: &ReportArgs, file: ModelFile, voice: Voice) -> Result<ExitCode> {
    let mapped = Mapped::from_file(file, &args.model)?;
    let stem = args.model.file_stem().unwrap_or_default().to_string_lossy();
    let title = args.title.as_deref().unwrap_or(&stem);
    let context = args.threads.context(0)?;
    let picture = args.picture.map(|(height, width)| Picture { height, width, channels: 1 });
    // A map of distances alone has no rows that could be shown.
    match args.data.as_deref().filter(|_| mapped.map.columns().is_some()) {
        None => mapped.write_report::<f64>(None, title, picture, &args.output, &context)?,
        Some(path) => {
            let in_data = |e: Error| e.in_file(path);
            let data = match args.reading.open(path, &context, voice)? {
                Data::F32(held) => Data::F32(mapped.align(held).map_err(in_data)?),
                Data::F64(held) => Data::F64(mapped.align(held).map_err(in_data)?),
            };
            with_data!(&data, held => {
                let source = Some(held.source());
                mapped.write_report(source, title, picture, &args.output, &context).map_err(in_data)?;
            });
        }
    }
    voice.say(format_args!("the report is {}", args.output.display()));
    Ok(ExitCode::SUCCESS)
}

/// Refuses a model of other columns, whose likelihoods would mean nothing beside these.
fn check_same_columns(fitted: &Fitted, other: &Fitted) -> Result<()> {
    let (own, theirs) = (fitted.model.columns(), other.model.columns());
    let (name, other_name) = (fitted.path.display(), other.path.display());
    if own != theirs {
        let problem = format!("`{other_name}` has {theirs} columns, `{name}` has {own}");
        return Err(Error::option("beside", problem));
    }
    let names = fitted.manifest.columns.iter().flatten();
    let pairs = names.zip(other.manifest.columns.iter().flatten());
    match pairs.into_iter().find(|(own, theirs)| own != theirs) {
        None => Ok(()),
        Some((own, theirs)) => {
            let problem =
                format!("`{other_name}` has a column `{theirs}` where `{name}` has `{own}`");
            Err(Error::option("beside", problem))
        }
    }
}
