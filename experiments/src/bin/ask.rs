//! JMLR 3.2.1: how much sooner well-chosen questions help than random or popular ones, and the given-n curve of the thesis' Figure 3.5, on
//! `MovieLens` where the papers had `EachMovie`.
//!
//! MCVQ is learned from two thirds of the people. Of each of the others (those with at least 40 ratings) half of the ratings are what they
//! answer with, and the other half is what recommendations are judged by. They are asked one question after another; a film that is not among
//! their answers is one that they do not know, and the question is lost. After some questions the films of the other half
//! are ranked by what the model expects: told are the mean rating of the five best, and the mean absolute error over all of them.
//!
//! `cargo xtask experiments ask [PEOPLE [QUESTIONS]]`.

use std::time::Instant;

use mereo::rater::evaluate::{Protocol, Trial, evaluate};
use mereo::rater::{Asked, Interview, Person, Rater, Worth};
use mereo::{Fit, Fitted};
use mereo_core::{AnyTable, Cells, Context, Result, Silent, Table};
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
const WAYS: [(&str, Worth); 4] = [
    ("worth to recommendations", Worth::Recommendations),
    ("entropy", Worth::Entropy),
    ("popular", Worth::Popularity),
    ("random", Worth::Chance),
];

fn main() -> Result<()> {
    let mut numbers = std::env::args().skip(1).filter_map(|text| text.parse::<usize>().ok());
    let (most, questions) = (numbers.next().unwrap_or(60), numbers.next().unwrap_or(20));
    let Some(path) = shared("movielens-100k/u.data.gz") else { return Ok(()) };
    let AnyTable::F32(table) = read(&path, &ReadOptions::default())? else { return Ok(()) };
    let context = Context::new(1).with_threads(0)?;
    let mut order: Vec<usize> = (0..table.rows()).collect();
    order.shuffle(&mut context.random("people", [0, 0]));
    let (asked, learned) = order.split_at(table.rows() / 3);
    let fitted = fit().context(&context).run(&table.select_rows(learned))?;
    let rater = Rater::new(&fitted)?;
    let people = people(&table, asked, most, &context);
    println!("{} people who were not learned from, asked {questions} questions", people.len());
    println!(
        "mean rating of the {BEST} best of the films kept back (mean absolute error of all of them)\n"
    );
    print!("{:<26}", "questions");
    let after: Vec<usize> = AFTER.into_iter().filter(|&n| n <= questions).collect();
    after.iter().for_each(|n| print!("{n:>16}"));
    println!("{:>12}{:>10}", "answered", "ms each");
    for (name, how) in WAYS {
        let mut sums = vec![[0.0; 2]; after.len()];
        let (mut answered, mut seconds) = (0, 0.0);
        for (number, (answers, kept)) in people.iter().enumerate() {
            let context = context.with_seed(number as u64);
            let mut interview = Interview::new(&rater, Person::new("somebody", Vec::new()));
            for turn in 0..=questions {
                if let Some(at) = after.iter().position(|&n| n == turn) {
                    let judged = judge(&rater, interview.person(), kept, &context)?;
                    sums[at].iter_mut().zip(judged).for_each(|(sum, x)| *sum += x);
                }
                let began = Instant::now();
                let Some(question) = interview.question(how, None, &context)? else { break };
                seconds += began.elapsed().as_secs_f64();
                let answer = answers.rating(question.column).map(f64::from);
                answered += usize::from(answer.is_some() && turn < questions);
                interview.answer(question.column, answer)?;
            }
        }
        let n = people.len().max(1) as f64;
        print!("{name:<26}");
        sums.iter().for_each(|[best, error]| {
            print!("{:>16}", format!("{:.3} ({:.3})", best / n, error / n));
        });
        let asked = n * (questions + 1) as f64;
        println!("{:>12.1}{:>10.1}", answered as f64 / n, 1000.0 * seconds / asked);
    }
    given(&table, &context)?;
    one_more(&fitted)
}

fn fit() -> Fit {
    Fit::new(McvqParams::new(5, 12)).restarts(1)
}

/// Ratings to answer with, and ratings to judge by, of people who have enough of them.
fn people(
    table: &Table<f32>,
    asked: &[usize],
    most: usize,
    context: &Context,
) -> Vec<(Person, Vec<(usize, f64)>)> {
    let Cells::Sparse(cells) = table.cells() else { return Vec::new() };
    let enough = asked.iter().filter(|&&row| cells.row(row).0.len() >= FEWEST).take(most);
    enough
        .map(|&row| {
            let (columns, values) = cells.row(row);
            let mut own: Vec<(u32, f32)> =
                columns.iter().copied().zip(values.iter().copied()).collect();
            own.shuffle(&mut context.random("halves", [row as u64, 0]));
            let kept = own.split_off(own.len() / 2);
            let kept = kept.into_iter().map(|(d, x)| (d as usize, f64::from(x))).collect();
            (Person::new("answers", own), kept)
        })
        .collect()
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
