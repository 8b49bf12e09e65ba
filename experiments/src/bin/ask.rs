//! JMLR 3.2.1: how much sooner well-chosen questions help than random or popular ones, and the given-n curve of the thesis' Figure 3.5, on
//! `MovieLens` where the papers had `EachMovie`.
//!
//! MCVQ is learned from two thirds of the people. Of each of the others (those with at least 40 ratings) half of the ratings are what they
//! answer with, and the other half is what recommendations are judged by: these films are not asked about. People are asked one question after
//! another; a film that they did not rate is one that they do not know, and the question is lost. After some questions the films of the other half
//! are ranked by what the model expects: told are the mean rating of the five best, and the mean absolute error over all of them, each with
//! its difference to asking about popular films and the standard error of that difference over people. A second table is of people who are only asked
//! about films that they know, as `mereo ask --answers` does.
//!
//! `cargo xtask experiments ask [PEOPLE [QUESTIONS [DRAWS]]] [choose]`: a draw deals the halves anew. With `choose` the third that is kept for the
//! result is left alone, and people are asked who are a third of all others: for choosing between ways of asking.

use std::time::Instant;

use mereo::rater::evaluate::{Protocol, Trial, evaluate};
use mereo::rater::{Asked, Interview, Person, Rater, Worth};
use mereo::{Fit, Fitted};
use mereo_core::{AnyTable, Cells, Context, Result, Silent, Table, map_in_parallel};
use mereo_data::{ReadOptions, read};
use mereo_experiments::shared;
use mereo_parts::McvqParams;
use rand::seq::SliceRandom;

/// People with fewer ratings are not asked.
const FEWEST: usize = 40;
/// Films that are recommended.
const BEST: usize = 5;
/// Numbers of questions after which it is told how far they have led.
const AFTER: [usize; 6] = [0, 2, 5, 10, 15, 20];
/// The first is what the others are compared to. Not all go by what was known so far: some take the share of people who rated a film for the chance
/// that it is known.
const WAYS: [(&str, Worth, bool); 6] = [
    ("popular", Worth::Popularity, true),
    ("worth to recommendations", Worth::Recommendations, true),
    ("the same by shares", Worth::Recommendations, false),
    ("entropy", Worth::Entropy, true),
    ("the same by shares", Worth::Entropy, false),
    ("random", Worth::Chance, true),
];

fn main() -> Result<()> {
    let mut numbers = std::env::args().skip(1).filter_map(|text| text.parse::<usize>().ok());
    let choose = std::env::args().any(|text| text == "choose");
    let most = numbers.next().unwrap_or(usize::MAX);
    let questions = numbers.next().unwrap_or(20);
    let draws = numbers.next().unwrap_or(1).max(1);
    let Some(path) = shared("movielens-100k/u.data.gz") else { return Ok(()) };
    let AnyTable::F32(table) = read(&path, &ReadOptions::default())? else { return Ok(()) };
    let context = Context::new(1).with_threads(0)?;
    let mut order: Vec<usize> = (0..table.rows()).collect();
    order.shuffle(&mut context.random("people", [0, 0]));
    let (mut asked, mut learned) = order.split_at(table.rows() / 3);
    if choose {
        (asked, learned) = learned.split_at(learned.len() / 3);
    }
    let fitted = fit().context(&context).run(&table.select_rows(learned))?;
    let mut by_shares = fitted.clone();
    if let Some(seen) = &mut by_shares.manifest.ratings {
        seen.together.clear();
    }
    let (rater, by_shares) = (Rater::new(&fitted)?, Rater::new(&by_shares)?);
    let people = people(&table, asked, most, draws, &context);
    println!(
        "{} people who were not learned from, asked {questions} questions, {draws} draws of halves",
        people.len()
    );
    println!(
        "mean rating of the {BEST} best of the films kept back (mean absolute error of all of them)"
    );
    println!("and how much more that is than by asking about popular films ± its standard error");
    let after: Vec<usize> = AFTER.into_iter().filter(|&n| n <= questions).collect();
    for only_known in [false, true] {
        let which = if only_known { "only about films that they know" } else { "about any film" };
        println!("\nasked {which}\n");
        print!("{:<26}", "questions");
        after.iter().for_each(|n| print!("{n:>18}"));
        println!("{:>12}{:>10}", "answered", "ms each");
        let mut popular = Vec::new();
        for (name, how, by_answers) in WAYS {
            // Among films that are known, there is no chance to speak of.
            if only_known && !by_answers {
                continue;
            }
            let rater = if by_answers { &rater } else { &by_shares };
            let began = context.install(|| {
                map_in_parallel(people.len(), |number| {
                    let context = Context::new(number as u64);
                    let draws = people[number].iter();
                    let told =
                        draws.map(|p| interview(rater, p, how, only_known, &after, &context));
                    told.collect::<Result<Vec<_>>>().map(|told| mean_of(&told))
                })
            });
            let told = began.into_iter().collect::<Result<Vec<Told>>>()?;
            if popular.is_empty() {
                popular.clone_from(&told);
            }
            print_way(name, &told, &popular, questions);
        }
    }
    if !choose {
        given(&table, &context)?;
        one_more(&fitted)?;
    }
    Ok(())
}

/// What came of asking somebody: after some numbers of questions the mean rating of the best and the error of all; how many questions were
/// answered, and how long a question took, in seconds.
#[derive(Debug, Clone)]
struct Told {
    after: Vec<[f64; 2]>,
    answered: f64,
    seconds: f64,
}

/// The mean over draws.
fn mean_of(told: &[Told]) -> Told {
    let mean = |of: &dyn Fn(&Told) -> f64| told.iter().map(of).sum::<f64>() / told.len() as f64;
    Told {
        after: (0..told[0].after.len())
            .map(|at| [0, 1].map(|measure| mean(&|t| t.after[at][measure])))
            .collect(),
        answered: mean(&|t| t.answered),
        seconds: mean(&|t| t.seconds),
    }
}

/// Ratings to answer with, and ratings to judge by.
type Halves = (Person, Vec<(usize, f64)>);

/// Asks somebody.
fn interview(
    rater: &Rater<'_>,
    (answers, kept): &Halves,
    how: Worth,
    only_known: bool,
    after: &[usize],
    context: &Context,
) -> Result<Told> {
    let mut interview = Interview::new(rater, Person::new("somebody", Vec::new()));
    kept.iter().for_each(|&(column, _)| interview.skip(column));
    let columns: Vec<usize> = answers.ratings().iter().map(|&(d, _)| d as usize).collect();
    let among = only_known.then_some(columns.as_slice());
    let (mut told, mut asked) = (Told { after: Vec::new(), answered: 0.0, seconds: 0.0 }, 0);
    for turn in 0..=after.last().copied().unwrap_or(0) {
        if after.contains(&turn) {
            told.after.push(judge(rater, interview.person(), kept, context)?);
            told.answered = interview.person().ratings().len() as f64;
        }
        let began = Instant::now();
        let Some(question) = interview.question(how, among, context)? else { continue };
        told.seconds += began.elapsed().as_secs_f64();
        asked += 1;
        interview.answer(question.column, answers.rating(question.column).map(f64::from))?;
    }
    told.seconds /= f64::from(asked.max(1));
    Ok(told)
}

/// One line for the values and one for how much more they are than those of popular films.
fn print_way(name: &str, told: &[Told], popular: &[Told], questions: usize) {
    let n = told.len().max(1) as f64;
    let mean = |of: &dyn Fn(&Told) -> f64| told.iter().map(of).sum::<f64>() / n;
    print!("{name:<26}");
    let points = told.first().map_or(0, |told| told.after.len());
    for at in 0..points {
        let [best, error] = [0, 1].map(|measure| mean(&|t| t.after[at][measure]));
        print!("{:>18}", format!("{best:.3} ({error:.3})"));
    }
    let share = mean(&|t| t.answered) / questions.max(1) as f64;
    print!("{:>12}", format!("{:.1} ({:.0}%)", mean(&|t| t.answered), 100.0 * share));
    println!("{:>10.1}", 1000.0 * mean(&|t| t.seconds));
    if told.iter().zip(popular).all(|(a, b)| a.after == b.after) {
        return;
    }
    for (measure, what) in ["  best, more", "  error, more"].into_iter().enumerate() {
        print!("{what:<26}");
        for at in 0..points {
            let differences: Vec<f64> = told
                .iter()
                .zip(popular)
                .map(|(a, b)| a.after[at][measure] - b.after[at][measure])
                .collect();
            let mean = differences.iter().sum::<f64>() / n;
            let squares: f64 = differences.iter().map(|x| (x - mean).powi(2)).sum();
            let error = (squares / (n - 1.0).max(1.0) / n).sqrt();
            print!("{:>18}", format!("{mean:+.3} ± {error:.3}"));
        }
        println!();
    }
}

fn fit() -> Fit {
    Fit::new(McvqParams::new(5, 12)).restarts(1)
}

/// Halves of the ratings of people who have enough of them, as often as they are drawn.
fn people(
    table: &Table<f32>,
    asked: &[usize],
    most: usize,
    draws: usize,
    context: &Context,
) -> Vec<Vec<Halves>> {
    let Cells::Sparse(cells) = table.cells() else { return Vec::new() };
    let halves = |row: usize, draw: usize| {
        let (columns, values) = cells.row(row);
        let mut own: Vec<(u32, f32)> =
            columns.iter().copied().zip(values.iter().copied()).collect();
        own.shuffle(&mut context.random("halves", [row as u64, draw as u64]));
        let kept = own.split_off(own.len() / 2);
        let kept = kept.into_iter().map(|(d, x)| (d as usize, f64::from(x))).collect();
        (Person::new("answers", own), kept)
    };
    let enough = asked.iter().filter(|&&row| cells.row(row).0.len() >= FEWEST).take(most);
    enough.map(|&row| (0..draws).map(|draw| halves(row, draw)).collect()).collect()
}

/// The mean rating of the films that the model would put first, and the mean absolute error of all.
fn judge(
    rater: &Rater<'_>,
    person: &Person,
    kept: &[(usize, f64)],
    context: &Context,
) -> Result<[f64; 2]> {
    let asked: Vec<Asked> = kept.iter().map(|&(column, _)| Asked { person: 0, column }).collect();
    let guesses = rater.predict(std::slice::from_ref(person), &asked, context)?;
    let errors = guesses.iter().zip(kept).map(|(guess, (_, x))| (guess.median - x).abs());
    let error = errors.sum::<f64>() / kept.len() as f64;
    let mut order: Vec<usize> = (0..kept.len()).collect();
    order.sort_by(|&a, &b| guesses[b].mean.total_cmp(&guesses[a].mean).then(a.cmp(&b)));
    let best = order.iter().take(BEST).map(|&at| kept[at].1).sum::<f64>() / BEST as f64;
    Ok([best, error])
}

/// Thesis, Figure 3.5: the error after n ratings.
fn given(table: &Table<f32>, context: &Context) -> Result<()> {
    let given = vec![1, 2, 5, 10, 20, 50, 100];
    let trial = Trial { protocol: Protocol::Strong, folds: 3, draws: 1, given, ..Trial::default() };
    let found = evaluate(&|| Ok(fit()), table, &trial, context, &mut |_| Box::new(Silent))?;
    println!("\nthesis, Figure 3.5: mean absolute error of ratings not given, by the number given");
    println!("(the figure's own numbers are of EachMovie, and are not printed in the thesis)\n");
    print!("{:<8}{:>8}", "given", "people");
    found.outcomes.iter().for_each(|outcome| print!("{:>20}", outcome.name));
    println!();
    for point in &found.given {
        print!("{:<8}{:>8}", point.given, point.people);
        point.errors.iter().for_each(|(.., mae)| print!("{mae:>20.4}"));
        println!();
    }
    Ok(())
}

/// How long one more rating takes.
fn one_more(fitted: &Fitted) -> Result<()> {
    let Some(model) = fitted.model.downcast_ref::<mereo_parts::Mcvq>() else { return Ok(()) };
    let Some(mut row) = model.begin_row() else { return Ok(()) };
    let times = 100_000;
    let began = Instant::now();
    for i in 0..times {
        row.observe(i * 7919 % model.columns(), (i % 5) as f64 + 1.0)?;
    }
    let each = 1e6 * began.elapsed().as_secs_f64() / times as f64;
    println!("\none more rating: {each:.2} µs (code {:.3})", row.code()[0]);
    Ok(())
}
