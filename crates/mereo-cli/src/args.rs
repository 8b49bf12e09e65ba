//! What the program can be asked, as far as verbs share it. Each verb's own options stand with it.

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use mereo::{Data, Fitted, with_data};
use mereo_core::{Absent, Context, Error, Likelihood, Result};
use mereo_data::{ColumnTold, Kind, Kinds, ReadOptions, Told};

use crate::output::{self, Voice};
use crate::{
    ask, classify, completions, compress, decompress, demo, denoise, encode, evaluate, explain,
    field, fill, fit, groups, inspect, map, models, odd, patches, predict, recommend, reconstruct,
    report, sample, score, segment, show, similar, toy,
};

const ABOUT: &str = "\
mereo learns the parts that data is made of.

Give it rows (a table of numbers, words and dates, pictures, ratings, word counts), and it finds groups of columns \
that vary together, the parts, and the few appearances that each part takes, its states. What it \
learned is one file that can score, encode, fill in, draw and explain rows.";

const EXAMPLES: &str = "\
Examples:
  mereo inspect data.csv                            what is in a file, and what to do next
  mereo fill data.csv -o filled.csv                 fill the holes of a table
  mereo odd data.csv                                the oddest rows, and why
  mereo groups data.csv -o grouped.csv              rows that are alike
  mereo demo                                        learn a toy world and look at its report
  mereo fit mcvq data.csv --parts 4 --states 6 -o model.safetensors
  mereo show model.safetensors
  mereo report model.safetensors data.csv -o report.html

DATA is a file or folder, whose kind is seen from its content (CSV, Parquet, Arrow, npy, npz, IDX,
Excel, pictures, ratings, bags of words), - for the standard input, or toy:WORLD, with WORLD one of shapes, faces, ratings,
documents. Missing cells are welcome: NaN, NA or nothing at all.

Exit codes: 0 all is well; 1 the data, model or options cannot be used; 2 wrong usage;
130 interrupted (what had been learned is kept).";

/// The program's command line.
#[derive(Debug, Parser)]
#[command(
    name = "mereo",
    version,
    about = "Learns the parts that data is made of",
    long_about = ABOUT,
    after_long_help = EXAMPLES,
    arg_required_else_help = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,

    /// Say nothing but results and errors
    #[arg(long, short, global = true, display_order = 998)]
    pub(crate) quiet: bool,

    /// Overwrite what is there even if it is of another kind: a table where a model is written
    #[arg(long, global = true, display_order = 999)]
    pub(crate) force: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Demo(demo::DemoArgs),
    Toy(toy::ToyArgs),
    Patches(patches::PatchesArgs),
    Inspect(inspect::InspectArgs),
    #[command(alias = "impute")]
    Fill(fill::FillArgs),
    #[command(alias = "anomalies", alias = "outliers")]
    Odd(odd::OddArgs),
    #[command(alias = "cluster")]
    Groups(groups::GroupsArgs),
    Fit(Box<fit::FitArgs>),
    Models(models::ModelsArgs),
    Score(score::ScoreArgs),
    Classify(classify::ClassifyArgs),
    Explain(explain::ExplainArgs),
    Encode(encode::EncodeArgs),
    Reconstruct(reconstruct::ReconstructArgs),
    Predict(predict::PredictArgs),
    Recommend(recommend::RecommendArgs),
    Ask(ask::AskArgs),
    Evaluate(Box<evaluate::EvaluateArgs>),
    Similar(similar::SimilarArgs),
    Sample(sample::SampleArgs),
    Compress(compress::CompressArgs),
    Decompress(decompress::DecompressArgs),
    Denoise(denoise::DenoiseArgs),
    Segment(Box<segment::SegmentArgs>),
    Field(field::FieldArgs),
    Map(Box<map::MapArgs>),
    Show(show::ShowArgs),
    Report(report::ReportArgs),
    Completions(completions::CompletionsArgs),
}

/// How DATA is read, where its content does not say.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct Reading {
    /// What DATA is: csv, xlsx, parquet, arrow, npy, npz, idx, images, ratings or words [default: seen
    /// from its content]
    #[arg(long, value_parser = str::parse::<Kind>)]
    kind: Option<Kind>,

    /// The text starts with a line of column names [default: seen from its content]
    #[arg(long, overrides_with = "no_header")]
    header: bool,

    /// The text starts with data
    #[arg(long)]
    no_header: bool,

    /// The column that holds each row's class, kept beside the rows and never learned from; `fit --classes COLUMN` learns
    /// classes
    #[arg(long, value_name = "COLUMN")]
    pub(crate) label: Option<String>,

    /// The column that says how often each row counts
    #[arg(long, value_name = "COLUMN")]
    weight: Option<String>,

    /// What columns hold, where their content does not say: COLUMN=KIND,... or a file of such lines, with
    /// KIND one of number, count, yes/no, category, ordered (or ordered:low<high), date (or date:parts), id,
    /// text; `auto` looks for counts and yes/no in tables of numbers too
    #[arg(long, value_name = "COLUMN=KIND,...", value_parser = Kinds::from_text_or_file)]
    kinds: Option<Kinds>,

    /// Learn from these columns only
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    columns: Option<Vec<String>>,

    /// Leave these columns out
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    drop: Vec<String>,

    /// The column that names the rows: it is not learned from [default: seen from its content]
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,

    /// Height and width that pictures are brought to
    #[arg(long, value_name = "HxW", value_parser = size)]
    resize: Option<(usize, usize)>,

    /// What a cell that a sparse npz does not store means: that its value is zero (a word that did
    /// not occur) or unknown (a film that was not rated) [default: zero]
    #[arg(long, value_name = "WHAT")]
    absent: Option<AbsentChoice>,

    /// Go over a Parquet or npy file again and again without holding it in memory [default: for
    /// large ones]
    #[arg(long)]
    pub(crate) stream: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AbsentChoice {
    /// Known to be 0
    Zero,
    /// Not known
    Unknown,
}

impl Reading {
    /// These files, and the one that holds the labels, if a file holds them.
    pub(crate) fn with_files<'a>(&'a self, files: &[&'a Path]) -> Vec<&'a Path> {
        let label = self.label.as_deref().map(Path::new).filter(|path| path.is_file());
        files.iter().copied().chain(label).collect()
    }

    pub(crate) fn options(&self) -> ReadOptions {
        ReadOptions {
            kind: self.kind,
            header: match (self.header, self.no_header) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            },
            label: self.label.clone(),
            weight: self.weight.clone(),
            kinds: self.kinds.clone().unwrap_or_default(),
            columns: self.columns.clone(),
            drop: self.drop.clone(),
            id: self.id.clone(),
            resize: self.resize,
            absent: self.absent.map(|absent| match absent {
                AbsentChoice::Zero => Absent::Zero,
                AbsentChoice::Unknown => Absent::Unobserved,
            }),
            ..ReadOptions::default()
        }
    }

    /// Opens DATA as it says.
    pub(crate) fn open(&self, data: &Path, context: &Context, voice: Voice) -> Result<Data> {
        self.open_as(data, &self.options(), context, voice)
    }

    /// The same, read in this way.
    pub(crate) fn open_as(
        &self,
        data: &Path,
        options: &ReadOptions,
        context: &Context,
        voice: Voice,
    ) -> Result<Data> {
        let (opened, told) = self.open_told(data, options, context, voice)?;
        for line in told_lines(&told) {
            voice.say(line);
        }
        Ok(opened)
    }

    /// The same, and what was decided about the columns.
    pub(crate) fn open_told(
        &self,
        data: &Path,
        options: &ReadOptions,
        context: &Context,
        voice: Voice,
    ) -> Result<(Data, Told)> {
        if data.to_string_lossy().starts_with("toy:")
            && let Some(option) = self.given()
        {
            return Err(Error::option(option, "it has no meaning for a toy world"));
        }
        let (opened, told) = Data::open_told(data, options, self.stream, context)?;
        if opened.is_streamed() && !self.stream {
            voice.say(format_args!("mereo: {} is large and will be streamed", data.display()));
        }
        Ok((opened, told))
    }

    /// Opens DATA for a model: its columns in the model's order.
    pub(crate) fn open_for(
        &self,
        fitted: &Fitted,
        data: &Path,
        context: &Context,
        voice: Voice,
    ) -> Result<Data> {
        self.open_for_told(fitted, data, context, voice).map(|(data, _, _)| data)
    }

    /// The same, and how it was read.
    pub(crate) fn open_for_told(
        &self,
        fitted: &Fitted,
        data: &Path,
        context: &Context,
        voice: Voice,
    ) -> Result<(Data, Told, ReadOptions)> {
        let aligned = |e: Error| e.in_file(data);
        let options = ReadOptions { expected: fitted.expected(), ..self.options() };
        let (opened, told) = self.open_told(data, &options, context, voice)?;
        for notice in &told.notices {
            voice.say(format_args!("mereo: {notice}"));
        }
        let (unknown, notices) = with_data!(&opened, held => {
            let (about, columns) = (held.source().about(), held.source().columns());
            match held.source().absent() {
                Some(_) => (fitted.unknown_columns(about), Vec::new()),
                None => (Vec::new(), fitted.notices(about, columns).map_err(aligned)?),
            }
        });
        voice.tell_unknown(&unknown, data);
        for notice in notices {
            voice.say(format_args!("mereo: {notice}"));
        }
        let opened = match opened {
            Data::F32(held) => Data::F32(fitted.align(held).map_err(aligned)?),
            Data::F64(held) => Data::F64(fitted.align(held).map_err(aligned)?),
        };
        Ok((opened, told, options))
    }

    /// The first option that was given, if any.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            ("kind", self.kind.is_some()),
            ("header", self.header || self.no_header),
            ("label", self.label.is_some()),
            ("weight", self.weight.is_some()),
            ("kinds", self.kinds.is_some()),
            ("columns", self.columns.is_some()),
            ("drop", !self.drop.is_empty()),
            ("id", self.id.is_some()),
            ("resize", self.resize.is_some()),
            ("absent", self.absent.is_some()),
            ("stream", self.stream),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }
}

/// What was decided about columns, if there is more to say than that they are numbers: a line each.
pub(crate) fn told_lines(told: &Told) -> Vec<String> {
    const MOST: usize = 40;
    let mut lines: Vec<String> = told.notices.iter().map(|n| format!("mereo: {n}")).collect();
    if told.columns.iter().all(|column| column.kind == "number") {
        return lines;
    }
    let name = |column: &ColumnTold| output::name(&column.name);
    let wide = told.columns.iter().map(|c| name(c).chars().count()).max().unwrap_or(0).min(40);
    for column in told.columns.iter().take(MOST) {
        lines.push(format!("  {:wide$}  {:9} {}", name(column), column.kind, column.why));
    }
    if told.columns.len() > MOST {
        lines.push(format!("  and {} more columns", told.columns.len() - MOST));
    }
    lines.push(
        "  (`--kinds COLUMN=KIND` says otherwise, `--drop COLUMN` leaves a column out)".into(),
    );
    lines
}

/// A height and a width, as in 32x24.
pub(crate) fn size(text: &str) -> std::result::Result<(usize, usize), String> {
    let parse = |side: &str| side.trim().parse::<usize>().ok().filter(|side| *side > 0);
    text.split_once(['x', 'X', '×'])
        .and_then(|(height, width)| Some((parse(height)?, parse(width)?)))
        .ok_or_else(|| "expected height and width in pixels, as in 32x24".to_owned())
}

/// A learned model, and rows for it to look at.
#[derive(Debug, Args)]
pub(crate) struct ModelAndData {
    /// The model file
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,

    /// The rows: a file, a folder, or toy:WORLD
    #[arg(value_name = "DATA")]
    pub(crate) data: PathBuf,

    #[command(flatten)]
    pub(crate) reading: Reading,

    #[command(flatten)]
    pub(crate) threads: Threads,
}

impl ModelAndData {
    /// The files that are read.
    pub(crate) fn files(&self) -> Vec<&Path> {
        self.reading.with_files(&[&self.model, &self.data])
    }
}

/// How densities are worked out.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Rule {
    /// How densities are worked out [default: what the model offers at once]
    #[arg(long, value_name = "HOW")]
    likelihood: Option<LikelihoodChoice>,

    /// Draws for each row, where densities are estimated
    #[arg(long, value_name = "N", default_value_t = 1000)]
    samples: usize,

    /// The seed of the draws
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LikelihoodChoice {
    /// A lower bound, quickly
    Bound,
    /// The density itself: every joint state of the parts, for small models
    Exact,
    /// An estimate from states that the row suggests, with its standard error
    Importance,
    /// An estimate from states drawn blindly, as the papers do it
    Prior,
}

impl Rule {
    pub(crate) fn likelihood(self) -> Option<Likelihood> {
        Some(match self.likelihood? {
            LikelihoodChoice::Bound => Likelihood::Bound,
            LikelihoodChoice::Exact => Likelihood::Exact,
            LikelihoodChoice::Importance => Likelihood::Importance(self.samples),
            LikelihoodChoice::Prior => Likelihood::Prior(self.samples),
        })
    }
}

/// How many threads work.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Threads {
    /// Threads to work on; 0 for as many as there are cores. The results are the same on any
    /// number
    #[arg(long, value_name = "T", default_value_t = 0)]
    threads: usize,
}

impl Threads {
    pub(crate) fn context(self, seed: u64) -> Result<Context> {
        Context::new(seed).with_threads(self.threads)
    }
}
