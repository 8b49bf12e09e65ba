//! What the verbs of ratings share: people from a file, and how items are told.

use std::path::Path;

use mereo::rater::{Person, Rater, Recommended};
use mereo_core::{Context, Error, Result};
use mereo_data::{Kind, ReadOptions, detect, read_told};
use serde_json::{Value, json};

use crate::output::{self, Voice};

/// Reads a file of ratings: one that could be any table is taken for ratings too.
pub(crate) fn read_ratings(
    path: &Path,
    mut options: ReadOptions,
    context: &Context,
    voice: Voice,
) -> Result<mereo_core::AnyTable> {
    if options.kind.is_none() && path.is_file() && detect(path)? == Kind::Csv {
        options.kind = Some(Kind::Ratings);
    }
    let (table, told) = context.install(|| read_told(path, &options))?;
    for notice in &told.notices {
        voice.say(format_args!("mereo: {notice}"));
    }
    Ok(table)
}

/// The people of a file of ratings. Items that the model never saw are told and left out.
pub(crate) fn people(
    rater: &Rater<'_>,
    path: &Path,
    options: ReadOptions,
    context: &Context,
    voice: Voice,
) -> Result<Vec<Person>> {
    let table = read_ratings(path, options, context, voice)?;
    let (people, unknown) = rater.people(&table).map_err(|e| e.in_file(path))?;
    voice.tell_unknown(&unknown, path);
    Ok(people)
}

/// The person of this id.
pub(crate) fn person<'a>(people: &'a [Person], id: &str) -> Result<&'a Person> {
    people.iter().find(|person| person.id == id).ok_or_else(|| {
        let example = people.first().map_or_else(String::new, |p| format!(", `{}` for one", p.id));
        let problem = format!("there is no `{id}`; the file has {} users{example}", people.len());
        Error::option("user", problem)
    })
}

/// An item in JSON.
pub(crate) fn item(rater: &Rater<'_>, column: usize) -> Value {
    json!({"item": rater.key(column), "title": rater.title(column)})
}

/// A recommendation in JSON.
pub(crate) fn in_json(rater: &Rater<'_>, told: &Recommended) -> Value {
    let because: Vec<Value> = told
        .because
        .iter()
        .map(|b| {
            let mut own = item(rater, b.column);
            own["rating"] = json!(b.rating);
            own["effect"] = json!(b.effect);
            own
        })
        .collect();
    let mut shown = item(rater, told.column);
    shown["mean"] = json!(told.guess.mean);
    shown["median"] = json!(told.guess.median);
    shown["deviation"] = json!(told.guess.deviation);
    shown["ratings"] = json!(told.ratings);
    if let Some((part, state, probability)) = told.state {
        shown["part"] = json!(part);
        shown["state"] = json!(state);
        shown["probability"] = json!(probability);
    }
    shown["because"] = json!(because);
    shown
}

/// A recommendation in a line or two.
pub(crate) fn in_words(rater: &Rater<'_>, number: usize, told: &Recommended) -> String {
    let title = |column: usize| output::name(&rater.title(column));
    let mut text = format!(
        "{number:>3}. {}  {:.1} ± {:.1}  rated by {:.0}\n",
        title(told.column),
        told.guess.mean,
        told.guess.deviation,
        told.ratings
    );
    let mut why = Vec::new();
    if let Some((part, state, probability)) = told.state {
        why.push(format!("part {part}, state {state} ({:.0}%)", 100.0 * probability));
    }
    if !told.because.is_empty() {
        let own = told
            .because
            .iter()
            .map(|b| format!("{} {} ({:+.2})", title(b.column), b.rating, b.effect));
        why.push(format!("you gave {}", own.collect::<Vec<_>>().join(", ")));
    }
    if !why.is_empty() {
        text.push_str("       ");
        text.push_str(&why.join("; "));
        text.push('\n');
    }
    text
}
