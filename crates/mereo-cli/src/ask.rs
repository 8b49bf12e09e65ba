//! `mereo ask`: the most valuable next question, and the next.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use mereo::Fitted;
use mereo::rater::{Interview, Person, Question, Rater, Recommended, Worth};
use mereo_core::{Context, Error, Place, Result};
use mereo_data::read_answers;
use serde_json::{Value, json};

use crate::args::{Reading, Threads};
use crate::given;
use crate::output::{self, Voice};

/// Ask somebody what to rate next, so that recommendations get better soonest
///
/// Each question is the one worth most now: how much better the recommended items are expected to be once it is answered, times the chance
/// that the person knows the item, by what they knew and did not know so far. Every answer is a rating, or ? for an item that is not known; the
/// recommendations are shown as they change. --answers takes answers from a file, and asks only what the file knows.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  mereo ask model.safetensors
  mereo ask model.safetensors --given me.csv --questions 5
  mereo ask model.safetensors --answers answers.csv --json

In the terminal answer with a rating, ? for \"don't know\", or q to stop. A file of answers has lines of item and rating, ? or nothing
for an item that is not known; items may be called by id or title.")]
pub(crate) struct AskArgs {
    /// The model file
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// What is known of the person already: lines of user, item, rating
    #[arg(long, value_name = "RATINGS")]
    given: Option<PathBuf>,

    /// The user, if RATINGS has several
    #[arg(long, value_name = "ID", requires = "given")]
    user: Option<String>,

    /// Take answers from this file instead of the terminal: lines of item, rating
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,

    /// How many questions to ask
    #[arg(long, value_name = "N", default_value_t = 10)]
    questions: usize,

    /// What makes a question worth asking
    #[arg(long, value_name = "HOW", value_enum, default_value_t = WorthChoice::Recommendations)]
    worth: WorthChoice,

    /// How many recommendations questions are about, and to show
    #[arg(short, long = "number", value_name = "N", default_value_t = 10)]
    n: usize,

    /// Ask about and recommend only what this many people rated [default: one in fifty, from 5 to 50]
    #[arg(long, value_name = "PEOPLE")]
    least_known: Option<f64>,

    /// The seed of --worth random
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    /// Print one JSON object: questions, answers and recommendations
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    threads: Threads,

    #[command(flatten)]
    reading: Reading,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum WorthChoice {
    /// How much better recommendations get
    Recommendations,
    /// How uncertain the answer is
    Entropy,
    /// How many people know the item
    Popular,
    /// Nothing: any item
    Random,
}

impl WorthChoice {
    fn worth(self) -> Worth {
        match self {
            Self::Recommendations => Worth::Recommendations,
            Self::Entropy => Worth::Entropy,
            Self::Popular => Worth::Popularity,
            Self::Random => Worth::Chance,
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Recommendations => "a recommended item is expected to gain",
            Self::Entropy => "bits of uncertainty, as far as the item is known",
            Self::Popular | Self::Random => "people know it",
        }
    }
}

/// What comes of a question.
enum Reply {
    Rating(f64),
    Unknown,
    Stop,
}

pub(crate) fn run(args: &AskArgs, voice: Voice) -> Result<ExitCode> {
    if args.n == 0 {
        return Err(Error::option("number", "at least 1 item is needed"));
    }
    let fitted = Fitted::open(&args.model)?;
    let rater = Rater::new(&fitted)?;
    let context = args.threads.context(args.seed)?;
    let person = whom(args, &rater, &context, voice)?;
    let scripted = args.answers.as_ref().map(|_| scripted(args, &rater, voice)).transpose()?;
    let among: Option<Vec<usize>> = scripted.as_ref().map(|known| known.keys().copied().collect());
    let mut interview = Interview::new(&rater, person).about(args.n, args.least_known);
    let mut told = Vec::new();
    let mut before = interview.recommend(args.n, &context)?;
    for number in 0..args.questions {
        let question = interview.question(args.worth.worth(), among.as_deref(), &context)?;
        let Some(question) = question else {
            voice.say("mereo: nothing is left to ask");
            break;
        };
        let reply = match &scripted {
            Some(known) => known[&question.column].map_or(Reply::Unknown, Reply::Rating),
            None => ask(args, &rater, number, &question)?,
        };
        let rating = match reply {
            Reply::Stop => break,
            Reply::Unknown => None,
            Reply::Rating(rating) => Some(rating),
        };
        interview.answer(question.column, rating)?;
        let now = interview.recommend(args.n, &context)?;
        if args.json {
            told.push(in_json(&rater, &question, rating, &now));
        } else {
            output::print(&in_words(args, &rater, number, &question, rating, &before, &now))?;
        }
        before = now;
    }
    if args.json {
        let best: Vec<Value> = before.iter().map(|item| given::in_json(&rater, item)).collect();
        output::print_json(&json!({
            "user": interview.person().id,
            "ratings": interview.person().ratings().len(),
            "questions": told,
            "recommendations": best,
        }))?;
    } else {
        let mut text = "\nrecommended\n".to_owned();
        for (at, item) in before.iter().enumerate() {
            text.push_str(&given::in_words(&rater, at + 1, item));
        }
        output::print(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Who is asked.
fn whom(args: &AskArgs, rater: &Rater<'_>, context: &Context, voice: Voice) -> Result<Person> {
    let Some(path) = &args.given else { return Ok(Person::new("you", Vec::new())) };
    let people = given::people(rater, path, args.reading.options(), context, voice)?;
    match (&args.user, &people[..]) {
        (Some(id), people) => given::person(people, id).cloned(),
        (None, [person]) => Ok(person.clone()),
        (None, people) => {
            let problem = format!("`{}` has {} users; say which", path.display(), people.len());
            Err(Error::option("user", problem))
        }
    }
}

/// The answers of a file, by column.
fn scripted(
    args: &AskArgs,
    rater: &Rater<'_>,
    voice: Voice,
) -> Result<BTreeMap<usize, Option<f64>>> {
    let Some(path) = &args.answers else { return Ok(BTreeMap::new()) };
    let (mut known, mut unknown) = (BTreeMap::new(), Vec::new());
    for answer in read_answers(path)? {
        let place = || Place::default().line(answer.line);
        let Some(column) = rater.column(&answer.item) else {
            unknown.push(answer.item);
            continue;
        };
        if let Some(rating) = answer.rating {
            let column = || place().column("rating");
            rater.check(rating, column).map_err(|e| e.in_file(path))?;
        }
        if known.insert(column, answer.rating).is_some() {
            let found = format!("`{}` again", answer.item);
            return Err(Error::found(place(), found, "each item once").in_file(path));
        }
    }
    voice.tell_unknown(&unknown, path);
    if known.is_empty() {
        let expected = format!("items like `{}`", rater.key(0));
        let found = "no item that the model knows";
        return Err(Error::found(Place::default(), found, expected).in_file(path));
    }
    Ok(known)
}

/// Asks in the terminal until there is an answer.
fn ask(args: &AskArgs, rater: &Rater<'_>, number: usize, question: &Question) -> Result<Reply> {
    let io = |e| Error::io("the terminal", e);
    let scale = rater.scale();
    loop {
        let title = output::name(&rater.title(question.column));
        let (low, high) = (scale.lowest, scale.highest);
        let mut err = std::io::stderr().lock();
        write!(
            err,
            "question {} of {}: {title}? ({low} to {high}, ? don't know, q stop) ",
            number + 1,
            args.questions
        )
        .and_then(|()| err.flush())
        .map_err(io)?;
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line).map_err(io)? == 0 {
            return Ok(Reply::Stop);
        }
        match line.trim() {
            "q" | "quit" => return Ok(Reply::Stop),
            "" | "?" => return Ok(Reply::Unknown),
            text => match text.parse::<f64>() {
                Ok(rating) if rater.check(rating, Place::default).is_ok() => {
                    return Ok(Reply::Rating(rating));
                }
                _ => {
                    let advice = format!("please give a number from {low} to {high}, ? or q");
                    writeln!(err, "{advice}").map_err(io)?;
                }
            },
        }
    }
}

fn in_json(
    rater: &Rater<'_>,
    question: &Question,
    rating: Option<f64>,
    now: &[Recommended],
) -> Value {
    let mut shown = given::item(rater, question.column);
    shown["worth"] = json!(question.worth);
    shown["known"] = json!(question.known);
    shown["expected"] = json!(question.guess.mean);
    shown["deviation"] = json!(question.guess.deviation);
    shown["answer"] = json!(rating);
    let best: Vec<String> = now.iter().map(|item| rater.key(item.column)).collect();
    shown["recommended"] = json!(best);
    let mean = now.iter().map(|item| item.guess.mean).sum::<f64>() / now.len().max(1) as f64;
    shown["recommended_mean"] = json!(mean);
    shown
}

/// What was asked and answered, and which recommendations came and went.
fn in_words(
    args: &AskArgs,
    rater: &Rater<'_>,
    number: usize,
    question: &Question,
    rating: Option<f64>,
    before: &[Recommended],
    now: &[Recommended],
) -> String {
    let title = |column: usize| output::name(&rater.title(column));
    let answer = rating.map_or_else(|| "not known".to_owned(), |rating| rating.to_string());
    let mut text = format!(
        "{:>3}. {}: {answer} (expected {:.1} ± {:.1}; {:.3} {})\n",
        number + 1,
        title(question.column),
        question.guess.mean,
        question.guess.deviation,
        question.worth,
        args.worth.unit()
    );
    let lacks = |items: &[Recommended], column: usize| items.iter().all(|i| i.column != column);
    let list = |from: &[Recommended], other: &[Recommended]| {
        let names: Vec<String> =
            from.iter().filter(|i| lacks(other, i.column)).map(|i| title(i.column)).collect();
        names.join(", ")
    };
    let (came, went) = (list(now, before), list(before, now));
    if came.is_empty() && went.is_empty() {
        text.push_str("       the same items are recommended\n");
    }
    for (what, items) in [("now", came), ("no more", went)] {
        if !items.is_empty() {
            for piece in ["       ", what, ": ", &items, "\n"] {
                text.push_str(piece);
            }
        }
    }
    text
}
