//! Ratings: what a model that was learned from them says about people and items.

use mereo::rater::{Asked, Guess, Interview, Person, Rater, Worth};
use mereo::{Context, Error, Place};
use pyo3::prelude::*;

use crate::model::{Model, context};
use crate::raised;

/// Columns and ratings of somebody.
type Ratings = Vec<(usize, f64)>;
/// Mean, median, deviation, and how likely each level is.
type Guessed = (f64, f64, f64, Vec<f64>);
/// Column, what is expected, how many rated it, part, state and probability, own ratings that speak for it.
type Told = (usize, Guessed, f64, Option<(usize, usize, f64)>, Vec<(usize, f64, f64)>);

fn guessed(guess: Guess) -> Guessed {
    (guess.mean, guess.median, guess.deviation, guess.levels)
}

/// Complains about a column that the model does not have.
fn known(rater: &Rater<'_>, column: usize) -> mereo::Result<()> {
    let columns = rater.fitted().model.columns();
    if column < columns {
        return Ok(());
    }
    let expected = format!("one below {columns}, the number of the model's items");
    Err(Error::found(Place::default(), format!("the item number {column}"), expected))
}

/// Somebody whose ratings are on the model's scale, of columns that it has.
fn person(rater: &Rater<'_>, ratings: &Ratings) -> mereo::Result<Person> {
    let mut person = Person::new("", Vec::new());
    for &(column, rating) in ratings {
        known(rater, column)?;
        rater.check(rating, || Place::default().column(rater.title(column)))?;
        person.rate(column, rating as f32);
    }
    Ok(person)
}

/// Asks the model behind ratings, without the interpreter's lock.
fn asked<R: Send>(
    py: Python<'_>,
    model: &Model,
    context: &Context,
    work: impl FnOnce(&Rater<'_>, &Context) -> mereo::Result<R> + Send,
) -> PyResult<R> {
    py.detach(|| Rater::new(&model.0).and_then(|rater| work(&rater, context))).map_err(raised)
}

/// The levels of the scale, if they are few, and its ends.
#[pyfunction]
pub(crate) fn ratings_scale(py: Python<'_>, model: &Model) -> PyResult<(Vec<f64>, f64, f64)> {
    asked(py, model, &Context::new(0), |rater, _| {
        let scale = rater.scale();
        Ok((scale.levels.clone(), scale.lowest, scale.highest))
    })
}

/// The column of each item, by its id or title, where the model has it.
#[pyfunction]
pub(crate) fn ratings_columns(
    py: Python<'_>,
    model: &Model,
    items: Vec<String>,
) -> PyResult<Vec<Option<usize>>> {
    asked(py, model, &Context::new(0), |rater, _| {
        Ok(items.iter().map(|item| rater.column(item)).collect())
    })
}

/// Ids and titles of all items.
#[pyfunction]
pub(crate) fn ratings_items(py: Python<'_>, model: &Model) -> PyResult<Vec<(String, String)>> {
    asked(py, model, &Context::new(0), |rater, _| {
        let columns = 0..rater.fitted().model.columns();
        Ok(columns.map(|column| (rater.key(column), rater.title(column))).collect())
    })
}

/// What people may think of items: pairs of a person's number and a column.
#[pyfunction]
pub(crate) fn ratings_predict(
    py: Python<'_>,
    model: &Model,
    people: Vec<Ratings>,
    pairs: Vec<(usize, usize)>,
    threads: usize,
) -> PyResult<Vec<Guessed>> {
    let context = context(0, threads)?;
    asked(py, model, &context, |rater, context| {
        let people = people.iter().map(|p| person(rater, p)).collect::<mereo::Result<Vec<_>>>()?;
        let mut questions = Vec::with_capacity(pairs.len());
        for (person, column) in pairs {
            known(rater, column)?;
            if person >= people.len() {
                let found = format!("person {person}");
                let expected = format!("one of the {} given", people.len());
                return Err(Error::found(Place::default(), found, expected));
            }
            questions.push(Asked { person, column });
        }
        Ok(rater.predict(&people, &questions, context)?.into_iter().map(guessed).collect())
    })
}

/// The best items for somebody.
#[pyfunction]
pub(crate) fn ratings_recommend(
    py: Python<'_>,
    model: &Model,
    ratings: Ratings,
    number: usize,
    least_known: Option<f64>,
    threads: usize,
) -> PyResult<Vec<Told>> {
    let context = context(0, threads)?;
    asked(py, model, &context, |rater, context| {
        let best = rater.recommend(&person(rater, &ratings)?, number, least_known, context)?;
        let because = |item: mereo::rater::Recommended| {
            let own = item.because.iter().map(|b| (b.column, b.rating, b.effect)).collect();
            (item.column, guessed(item.guess), item.ratings, item.state, own)
        };
        Ok(best.into_iter().map(because).collect())
    })
}

/// The question worth most: column, worth, how likely the item is known, what is expected.
#[pyfunction]
pub(crate) fn ratings_ask(
    py: Python<'_>,
    model: &Model,
    ratings: Ratings,
    unknown: Vec<usize>,
    worth: &str,
    among: Option<Vec<usize>>,
    about: (usize, Option<f64>),
    seed: u64,
    threads: usize,
) -> PyResult<Option<(usize, f64, f64, Guessed)>> {
    let worth = match worth {
        "recommendations" => Worth::Recommendations,
        "entropy" => Worth::Entropy,
        "popular" => Worth::Popularity,
        "random" => Worth::Chance,
        other => {
            let problem = format!("`{other}` is not recommendations, entropy, popular or random");
            return Err(raised(Error::option("worth", problem)));
        }
    };
    let context = context(seed, threads)?;
    asked(py, model, &context, |rater, context| {
        let (number, least_known) = about;
        among.iter().flatten().try_for_each(|column| known(rater, *column))?;
        let mut interview =
            Interview::new(rater, person(rater, &ratings)?).about(number, least_known);
        for column in unknown {
            interview.answer(column, None)?;
        }
        let question = interview.question(worth, among.as_deref(), context)?;
        Ok(question.map(|q| (q.column, q.worth, q.known, guessed(q.guess))))
    })
}
