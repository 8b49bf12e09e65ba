//! `mereo predict`: what people think of items.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use mereo::Fitted;
use mereo::rater::{Asked, Errors, Guess, Person, Rater, random_error};
use mereo_core::{Error, Place, Result, write_atomically};
use mereo_data::{Pair, read_pairs};
use serde_json::{Value, json};

use crate::args::{Reading, Threads};
use crate::given;
use crate::output::{self, Voice};

/// Predict what users think of items, from what they are known to think of others
///
/// For each pair of a user and an item: the mean (it makes squared errors small), the median (it makes absolute ones small), the
/// deviation, and with --json how likely each level of the scale is; all on the scale of the ratings that the model learned from.
/// Users need not be those that it learned from: a code is found for the ratings given. A rating given of the very item that is asked about is not
/// looked at. A user of whom nothing is given is predicted as anybody would be; an item that the model never saw is told and has no prediction.
/// If PAIRS has ratings, the errors are told too.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo fit mcvq ratings.csv --parts 5 --states 12 -o model.safetensors
  mereo predict model.safetensors --given ratings.csv --pairs pairs.csv -o predictions.csv
  mereo predict model.safetensors --given me.csv --pairs pairs.csv --json | jq .rmse

RATINGS has lines of user, item, rating and perhaps a time; PAIRS of user, item and perhaps the rating. Ids may be any text, and items
may be called by their titles.")]
pub(crate) struct PredictArgs {
    /// The model file
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// What the users are known to think
    #[arg(long, value_name = "RATINGS")]
    given: PathBuf,

    /// Whom and what to predict
    #[arg(long, value_name = "PAIRS")]
    pairs: PathBuf,

    /// The file to write: user, item, mean, median, deviation, in the order of PAIRS [default: standard output]
    #[arg(long, short, value_name = "FILE.csv")]
    output: Option<PathBuf>,

    /// Print one JSON object: the predictions (unless they are written), and if PAIRS has ratings nmae, `nmae_median`, mae,
    /// rmse and pairs
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    threads: Threads,

    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(args: &PredictArgs, voice: Voice) -> Result<ExitCode> {
    let inputs: [&Path; 3] = [&args.model, &args.given, &args.pairs];
    if let Some(path) = &args.output {
        delimiter(path)?;
        output::check_output(path, &inputs)?;
    }
    let fitted = Fitted::open(&args.model)?;
    let rater = Rater::new(&fitted)?;
    let context = args.threads.context(0)?;
    let mut people = given::people(&rater, &args.given, args.reading.options(), &context, voice)?;
    let pairs = read_pairs(&args.pairs)?;
    let told = Told::of(&rater, &mut people, &pairs, &args.pairs, voice)?;
    let guesses = rater.predict(&people, &told.asked, &context)?;
    let of_pair = |at: usize| told.place[at].map(|place| &guesses[place]);
    let errors = errors(&rater, &pairs, of_pair, &args.pairs)?;
    if let Some(path) = &args.output {
        let text = table(&pairs, of_pair, delimiter(path)?)?;
        write_atomically(path, |out| out.write_all(&text))?;
        voice.say(format_args!("{} predictions in {}", guesses.len(), path.display()));
    }
    let z = random_error(rater.scale());
    if args.json {
        let mut shown = json!({"predictions_made": guesses.len(), "unknown_items": told.unknown});
        if args.output.is_none() {
            let levels = &rater.scale().levels;
            let all =
                pairs.iter().enumerate().map(|(at, pair)| prediction(pair, of_pair(at), levels));
            shown["predictions"] = Value::Array(all.collect());
        }
        if errors.pairs > 0.0 {
            shown["pairs"] = json!(errors.pairs as u64);
            shown["mae"] = json!(errors.mae());
            shown["rmse"] = json!(errors.rmse());
            shown["z"] = json!(z);
            // Of a scale of one level there is nothing to normalise by.
            if z > 0.0 {
                shown["nmae"] = json!(errors.mae() / z);
                shown["nmae_median"] = json!(errors.mae_by_median() / z);
            }
        }
        output::print_json(&shown)?;
    } else {
        if args.output.is_none() {
            output::print(&String::from_utf8_lossy(&table(&pairs, of_pair, b',')?))?;
        }
        if errors.pairs > 0.0 {
            voice.say(format_args!(
                "{} pairs with ratings: MAE {:.4} (by median {:.4}), RMSE {:.4}, NMAE {:.4} (by median {:.4})",
                errors.pairs,
                errors.mae(),
                errors.mae_by_median(),
                errors.rmse(),
                errors.mae() / z,
                errors.mae_by_median() / z
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Which pairs can be predicted, and how they are asked for.
struct Told {
    asked: Vec<Asked>,
    /// For each pair its place among those asked, unless its item is unknown.
    place: Vec<Option<usize>>,
    unknown: Vec<String>,
}

impl Told {
    /// Users of whom nothing is given become people without ratings.
    fn of(
        rater: &Rater<'_>,
        people: &mut Vec<Person>,
        pairs: &[Pair],
        file: &Path,
        voice: Voice,
    ) -> Result<Self> {
        let mut numbers: std::collections::HashMap<String, usize> =
            people.iter().enumerate().map(|(at, person)| (person.id.clone(), at)).collect();
        let known = people.len();
        let (mut asked, mut place, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        for pair in pairs {
            let Some(column) = rater.column(&pair.item) else {
                unknown.push(pair.item.clone());
                place.push(None);
                continue;
            };
            let person = *numbers.entry(pair.user.clone()).or_insert_with(|| {
                people.push(Person::new(&pair.user, Vec::new()));
                people.len() - 1
            });
            place.push(Some(asked.len()));
            asked.push(Asked { person, column });
        }
        if asked.is_empty() {
            let found = format!("{} pairs, none of an item that the model knows", pairs.len());
            let expected = format!("items like `{}`", rater.key(0));
            return Err(Error::found(Place::default(), found, expected).in_file(file));
        }
        if people.len() > known {
            voice.say(format_args!(
                "mereo: of {} users nothing is given; they are predicted as anybody would be",
                people.len() - known
            ));
        }
        unknown.sort_unstable();
        unknown.dedup();
        voice.tell_unknown(&unknown, file);
        Ok(Self { asked, place, unknown })
    }
}

/// How far the predictions are from the ratings that are told.
fn errors<'g>(
    rater: &Rater<'_>,
    pairs: &[Pair],
    of_pair: impl Fn(usize) -> Option<&'g Guess>,
    file: &Path,
) -> Result<Errors> {
    let mut errors = Errors::default();
    for (at, pair) in pairs.iter().enumerate() {
        if let (Some(rating), Some(guess)) = (pair.rating, of_pair(at)) {
            let place = || Place::default().line(pair.line).column("rating");
            rater.check(rating, place).map_err(|e| e.in_file(file))?;
            errors.add(guess.mean, guess.median, rating);
        }
    }
    Ok(errors)
}

fn prediction(pair: &Pair, guess: Option<&Guess>, levels: &[f64]) -> Value {
    let mut shown = json!({"user": pair.user, "item": pair.item, "rating": pair.rating});
    if let Some(guess) = guess {
        shown["mean"] = json!(guess.mean);
        shown["median"] = json!(guess.median);
        shown["deviation"] = json!(guess.deviation);
        let each = levels.iter().zip(&guess.levels);
        let shares: Vec<Value> =
            each.map(|(level, p)| json!({"rating": level, "probability": p})).collect();
        shown["levels"] = Value::Array(shares);
    }
    shown
}

/// Commas or tabs, by the extension.
fn delimiter(path: &Path) -> Result<u8> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    match extension.as_str() {
        "csv" => Ok(b','),
        "tsv" => Ok(b'\t'),
        _ => Err(Error::option("output", "predictions are written as .csv or .tsv")),
    }
}

fn table<'g>(
    pairs: &[Pair],
    of_pair: impl Fn(usize) -> Option<&'g Guess>,
    delimiter: u8,
) -> Result<Vec<u8>> {
    let mut out = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
    let mut write = |fields: [&str; 5]| {
        out.write_record(fields).map_err(|e| Error::io("the predictions", std::io::Error::other(e)))
    };
    write(["user", "item", "mean", "median", "deviation"])?;
    for (at, pair) in pairs.iter().enumerate() {
        let number =
            |of: fn(&Guess) -> f64| of_pair(at).map_or_else(String::new, |g| of(g).to_string());
        let (mean, median) = (number(|g| g.mean), number(|g| g.median));
        write([&pair.user, &pair.item, &mean, &median, &number(|g| g.deviation)])?;
    }
    out.into_inner().map_err(|e| Error::io("the predictions", std::io::Error::other(e.to_string())))
}
