//! Models of ratings: rows are people, columns are items, and most cells are unknown.
//! [`aspect`] gives every person shares of a few tastes, [`urp`] puts a prior over such shares and takes ratings
//! as levels, [`bfa`] adds up what people, items and factors that they share contribute, and knows how
//! sure it is of each. All look at observed cells only, and a new person's row is understood without learning anew.

pub mod aspect;
pub mod bfa;
pub mod urp;

mod levels;
mod scale;

pub use aspect::{Aspect, AspectParams};
pub use bfa::{Bfa, BfaParams};
pub use urp::{Urp, UrpParams};

use mereo_core::Answer;

/// Answers to all that models of ratings ask of rows, wherever the rows are.
///
/// ```
/// let names: Vec<&str> = mereo_ratings::answers().iter().map(|answer| answer.name()).collect();
/// assert_eq!(names, ["levels", "level counts", "aspect", "urp", "bfa"]);
/// ```
pub fn answers() -> Vec<Answer> {
    vec![
        Answer::task::<levels::LevelsTask, levels::LevelsTask>(),
        Answer::task::<levels::CountsTask, levels::CountsTask>(),
        Answer::pass::<aspect::AspectLearner, aspect::AspectLearner>(),
        Answer::pass::<urp::UrpLearner, urp::UrpLearner>(),
        Answer::pass::<bfa::BfaLearner, bfa::BfaLearner>(),
    ]
}

/// Most numbers that a model of ratings may have.
const MOST_NUMBERS: usize = 1 << 28;
/// Most aspects, profiles or factors.
const MOST: usize = 1 << 12;

/// Whether so many of something, each with so many numbers for every column, can be learned.
fn check_size(
    option: &'static str,
    count: usize,
    each: usize,
    columns: usize,
) -> mereo_core::Result<()> {
    use mereo_core::Error;
    if count == 0 {
        return Err(Error::option(option, "at least 1 is needed"));
    }
    if count > MOST || columns.checked_mul(each).is_none_or(|numbers| numbers > MOST_NUMBERS) {
        let problem = format!("{count} of {columns} columns take too much memory to learn");
        return Err(Error::option(option, problem));
    }
    Ok(())
}

/// Whether a number of imagined rows, or the like, makes sense.
fn check_strength(option: &'static str, value: f64) -> mereo_core::Result<()> {
    if (0.0..=1e9).contains(&value) {
        return Ok(());
    }
    Err(mereo_core::Error::option(option, format!("{value} is not from 0 to 1e9")))
}
