//! `mereo recommend`: the best items for people, and why.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mereo::Fitted;
use mereo::rater::Rater;
use mereo_core::{Error, Result};
use serde_json::{Value, json};

use crate::args::{Reading, Threads};
use crate::given;
use crate::output::{self, Voice};

/// Recommend the items that users may like best, and say why
///
/// For each user of RATINGS, or one of them, the items with the highest expected ratings among those that the user has not
/// rated: how high and how sure (± one deviation), how many people rated it, which part it belongs to and which state the user shows there, and
/// which of the user's own ratings spoke for it, and by how much. Items that hardly anybody knows are never
/// recommended: nothing is known of them. Users need not be those that the model learned from.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo recommend model.safetensors --given me.csv
  mereo recommend model.safetensors --given ratings.csv --user 42 -n 5
  mereo recommend model.safetensors --given me.csv --json | jq '.[0].recommendations[].title'")]
pub(crate) struct RecommendArgs {
    /// The model file
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// What the users are known to think: lines of user, item, rating
    #[arg(long, value_name = "RATINGS")]
    given: PathBuf,

    /// The user [default: everybody in RATINGS]
    #[arg(long, value_name = "ID")]
    user: Option<String>,

    /// How many items
    #[arg(short, long = "number", value_name = "N", default_value_t = 10)]
    n: usize,

    /// Recommend only what this many people rated [default: one in fifty, from 5 to 50]
    #[arg(long, value_name = "PEOPLE")]
    least_known: Option<f64>,

    /// Print a JSON list, one object a user
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    threads: Threads,

    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(args: &RecommendArgs, voice: Voice) -> Result<ExitCode> {
    if args.n == 0 {
        return Err(Error::option("number", "at least 1 item is needed"));
    }
    let fitted = Fitted::open(&args.model)?;
    let rater = Rater::new(&fitted)?;
    let context = args.threads.context(0)?;
    let mut people = given::people(&rater, &args.given, args.reading.options(), &context, voice)?;
    if let Some(id) = &args.user {
        people = vec![given::person(&people, id)?.clone()];
    }
    let mut all = Vec::new();
    for person in &people {
        let best = rater.recommend(person, args.n, args.least_known, &context)?;
        if args.json {
            let best: Vec<Value> = best.iter().map(|told| given::in_json(&rater, told)).collect();
            all.push(json!({
                "user": person.id,
                "ratings": person.ratings().len(),
                "recommendations": best,
            }));
            continue;
        }
        let mut text =
            format!("user {} ({} ratings)\n", output::name(&person.id), person.ratings().len());
        if best.is_empty() {
            text.push_str("  nothing that enough people know is left\n");
        }
        for (at, told) in best.iter().enumerate() {
            text.push_str(&given::in_words(&rater, at + 1, told));
        }
        output::print(&text)?;
    }
    if args.json {
        output::print_json(&json!(all))?;
    }
    Ok(ExitCode::SUCCESS)
}
