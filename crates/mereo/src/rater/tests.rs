use mereo_core::{About, Manifest, ModelFile, Tensor};

use super::evaluate::{Protocol, Trial, evaluate};
use super::*;
use crate::parts::McvqParams;
use crate::{AnyModel, Fit};

/// Two parts of two states: lovers and loathers of the first three films, and of the others. The last film of each is known to
/// few.
fn fitted() -> Fitted {
    let (d, k, j) = (6, 2, 2);
    let mut file = ModelFile::new(Manifest::new("mcvq"));
    let own = |c: usize| [f64::from(u8::from(c < 3)), f64::from(u8::from(c >= 3))];
    file.insert("gate", Tensor::new(vec![d, k], (0..d).flat_map(own).collect()));
    let mean = [vec![4.6; d], vec![1.4; d], vec![4.5; d], vec![1.5; d]].concat();
    file.insert("mean", Tensor::new(vec![k, j, d], mean));
    file.insert("variance", Tensor::new(vec![k, j, d], vec![0.5; k * j * d]));
    file.insert("state_prior", Tensor::new(vec![k, j], vec![0.5; k * j]));
    let (model, mut manifest) = AnyModel::from_file(file, "by hand".as_ref()).unwrap();
    manifest.absent = Some(Absent::Unobserved);
    manifest.keys = Some((0..d).map(|c| format!("f{c}")).collect());
    manifest.columns = Some((0..d).map(|c| format!("Film {c}")).collect());
    manifest.ratings = Some(RatingsSeen {
        lowest: 1.0,
        highest: 5.0,
        levels: vec![1.0, 2.0, 3.0, 4.0, 5.0],
        people: 100.0,
        counts: vec![90.0, 60.0, 1.0, 80.0, 50.0, 2.0],
        means: vec![3.0; d],
        together: Vec::new(),
    });
    Fitted { path: "by hand".into(), model, manifest, steps: None }
}

fn here() -> Context {
    Context::new(0)
}

#[test]
fn predictions_are_the_mixture_that_gate_and_code_imply() {
    let fitted = fitted();
    let rater = Rater::new(&fitted).unwrap();
    let ann = Person::new("ann", vec![(0, 5.0)]);
    let asked = [1, 4].map(|column| Asked { person: 0, column });
    let guesses = rater.predict(std::slice::from_ref(&ann), &asked, &here()).unwrap();
    // By hand: of the first part the posterior is a logistic function of the rating, of the second one it is the prior.
    let log_odds = ((5.0f64 - 1.4).powi(2) - (5.0f64 - 4.6).powi(2)) / (2.0 * 0.5);
    let love = 1.0 / (1.0 + (-log_odds).exp());
    assert!((guesses[0].mean - (love * 4.6 + (1.0 - love) * 1.4)).abs() < 1e-5);
    assert!((guesses[1].mean - 3.0).abs() < 1e-5);
    assert!(guesses[1].deviation > 1.2 && guesses[0].deviation < 0.8);
    assert_eq!(guesses[0].median, 5.0);
    // What was rated is predicted from the rest: here from nothing.
    let own = rater.predict(&[ann], &[Asked { person: 0, column: 0 }], &here()).unwrap();
    assert!((own[0].mean - 3.0).abs() < 1e-5);
}

#[test]
fn recommendations_say_why_and_leave_out_what_nobody_knows() {
    let fitted = fitted();
    let rater = Rater::new(&fitted).unwrap();
    let ann = Person::new("ann", vec![(0, 5.0), (3, 1.0)]);
    let best = rater.recommend(&ann, 10, None, &here()).unwrap();
    let columns: Vec<usize> = best.iter().map(|item| item.column).collect();
    // Films 2 and 5 are hardly known, 0 and 3 were rated.
    assert_eq!(columns, [1, 4]);
    assert_eq!(best[0].state.map(|(part, state, _)| (part, state)), Some((0, 0)));
    assert_eq!(best[1].state.map(|(part, state, _)| (part, state)), Some((1, 1)));
    assert_eq!(best[0].because.len(), 1);
    assert_eq!((best[0].because[0].column, best[0].because[0].rating), (0, 5.0));
    assert!((best[0].because[0].effect - 1.6).abs() < 0.1);
    // Two that say the same share what they say, and nothing spoke for the other film.
    let bob = Person::new("bob", vec![(0, 5.0), (1, 5.0)]);
    let both = rater.recommend(&bob, 10, Some(1.0), &here()).unwrap();
    let film = both.iter().find(|item| item.column == 2).unwrap();
    assert!(film.because.len() == 2 && film.because.iter().all(|b| (b.effect - 0.8).abs() < 0.1));
    assert!(best[1].because.is_empty());
    assert_eq!(rater.recommend(&ann, 10, Some(1.0), &here()).unwrap().len(), 4);
}

#[test]
fn the_worth_of_a_question_is_what_the_answers_bring() {
    let fitted = fitted();
    let rater = Rater::new(&fitted).unwrap();
    let interview = Interview::new(&rater, Person::new("me", vec![(3, 5.0)])).about(1, Some(3.0));
    let question = interview.question(Worth::Recommendations, None, &here()).unwrap().unwrap();
    // Film 4 is expected to be loved already; film 0 is best known of those that could still surprise.
    assert_eq!(question.column, 0);
    // By enumeration: the best of the others is film 4 unless film 0 is loved, and then film 1 may be better by little.
    let means = |ratings: Vec<(u32, f32)>| {
        rater.means(&rater.table([&ratings[..]]).unwrap(), &here()).unwrap().row(0).to_vec()
    };
    let now = means(vec![(3, 5.0)]);
    let first = if now[1] > now[4] { 1 } else { 4 };
    let gain = |row: &[f32]| f64::from(row[1].max(row[4]) - row[first]);
    let gains: f64 = question
        .guess
        .levels
        .iter()
        .enumerate()
        .map(|(v, p)| p * gain(&means(vec![(0, v as f32 + 1.0), (3, 5.0)])))
        .sum();
    assert!((question.worth - 0.9 * gains).abs() < 1e-6);
    assert!(question.worth > 0.0);
    let popular = interview.question(Worth::Popularity, None, &here()).unwrap().unwrap();
    assert_eq!(popular.column, 0);
}

#[test]
fn what_is_not_known_is_not_asked_again_and_questions_end() {
    let fitted = fitted();
    let rater = Rater::new(&fitted).unwrap();
    let mut interview = Interview::new(&rater, Person::new("me", Vec::new())).about(2, Some(1.0));
    let mut asked = Vec::new();
    while let Some(question) = interview.question(Worth::Entropy, None, &here()).unwrap() {
        asked.push(question.column);
        interview.answer(question.column, None).unwrap();
    }
    asked.sort_unstable();
    assert_eq!(asked, [0, 1, 2, 3, 4, 5]);
    assert!(interview.person().ratings().is_empty());
    assert!(interview.answer(0, Some(9.0)).unwrap_err().to_string().contains("from 1 to 5"));
    assert!(interview.answer(6, None).is_err());
    let mut chosen = Interview::new(&rater, Person::new("me", Vec::new()));
    let among = [2, 5];
    let question = chosen.question(Worth::Recommendations, Some(&among), &here()).unwrap().unwrap();
    assert!(among.contains(&question.column) && question.known == 1.0);
    chosen.answer(2, None).unwrap();
    chosen.answer(5, None).unwrap();
    assert_eq!(chosen.question(Worth::Chance, Some(&among), &here()).unwrap(), None);
}

#[test]
fn an_item_that_is_not_known_makes_questions_about_those_that_the_same_people_know_less_likely() {
    let mut fitted = fitted();
    let seen = fitted.manifest.ratings.as_mut().unwrap();
    seen.counts = vec![50.0; 6];
    // The first three are known to the same people, and so are the last three, who are others.
    seen.together = vec![0.4, 0.4, 0.4, -0.4, -0.4, -0.4];
    let rater = Rater::new(&fitted).unwrap();
    let new = || Interview::new(&rater, Person::new("me", Vec::new()));
    let mut interview = new();
    assert_eq!(interview.chances(), [0.5; 6]);
    interview.answer(0, None).unwrap();
    let chances = interview.chances();
    assert!((0..3).all(|d| chances[d] < 0.3) && (3..6).all(|d| chances[d] > 0.7), "{chances:?}");
    for how in [Worth::Recommendations, Worth::Entropy] {
        let question = interview.question(how, None, &here()).unwrap().unwrap();
        assert!(question.column >= 3 && question.known == chances[question.column], "{how:?}");
    }
    // Ratings that were given speak as well, and what is skipped says nothing and is never asked about.
    let mut given = Interview::new(&rater, Person::new("me", vec![(0, 4.0)]));
    assert!(given.chances()[1] > 0.7);
    let before = given.chances();
    (1..6).filter(|d| *d != 4).for_each(|d| given.skip(d));
    assert_eq!(given.chances(), before);
    for how in [Worth::Recommendations, Worth::Entropy, Worth::Popularity, Worth::Chance] {
        assert_eq!(given.question(how, None, &here()).unwrap().unwrap().column, 4);
    }
    // Among items that are given all are known.
    let question = interview.question(Worth::Recommendations, Some(&[1, 2]), &here()).unwrap();
    assert_eq!(question.unwrap().known, 1.0);
}

#[test]
fn people_come_by_ids_and_ratings_off_the_scale_are_told() {
    let fitted = fitted();
    let rater = Rater::new(&fitted).unwrap();
    let table = |rating: f32| {
        let cells = Sparse::new(2, vec![0, 2], vec![0, 1], vec![rating, 3.0], Absent::Unobserved);
        let about = About {
            names: Some(vec!["f4".into(), "nowhere".into()]),
            keys: Some(vec!["f4".into(), "nowhere".into()]),
            ids: Some(vec!["ann".into()]),
            ..About::default()
        };
        AnyTable::from(Table::from(cells.unwrap()).with_about(about).unwrap())
    };
    let (people, unknown) = rater.people(&table(4.0)).unwrap();
    assert_eq!(people, [Person::new("ann", vec![(4, 4.0)])]);
    assert_eq!(unknown, ["nowhere"]);
    let error = rater.people(&table(7.0)).unwrap_err().to_string();
    assert!(error.contains("Film 4 of user ann") && error.contains("from 1 to 5"), "{error}");
    assert_eq!(
        (rater.column("f3"), rater.column("Film 3"), rater.column("x")),
        (Some(3), Some(3), None)
    );
    assert_eq!((rater.title(3), rater.key(3)), ("Film 3".to_owned(), "f3".to_owned()));
}

#[test]
fn a_model_of_something_else_is_told_so() {
    let mut other = fitted();
    other.manifest.ratings = None;
    assert!(Rater::new(&other).unwrap_err().to_string().contains("not learned from ratings"));
}

#[test]
fn a_world_of_parts_is_predicted_better_than_by_the_means_of_items() {
    let toy = mereo_data::toy::World::Ratings.make(Some(400), 0).unwrap();
    let fit = || Ok(Fit::new(McvqParams::new(3, 4)).restarts(1).passes(40));
    let silent = || Box::new(mereo_core::Silent) as Box<dyn mereo_core::Observer>;
    for protocol in [Protocol::Weak, Protocol::Strong] {
        let trial = Trial { protocol, folds: 2, draws: 1, ..Trial::default() };
        let found = evaluate(&fit, &toy.table, &trial, &here(), &mut |_| silent()).unwrap();
        let nmae: Vec<f64> = found.outcomes.iter().map(|o| o.draws[0].nmae).collect();
        assert!(nmae[0] < nmae[1] && nmae[0] < nmae[2], "{protocol:?} {nmae:?}");
        assert_eq!(found.outcomes[0].draws[0].pairs, 400);
    }
    let trial = Trial { folds: 2, draws: 1, given: vec![1, 8], ..Trial::default() };
    let run = || evaluate(&fit, &toy.table, &trial, &here(), &mut |_| silent()).unwrap();
    let found = run();
    assert!(found.given[1].errors[0].1 < found.given[0].errors[0].1, "{:?}", found.given);
    let again = run();
    assert_eq!((found.outcomes, found.given), (again.outcomes, again.given));
    let wrong = |trial: Trial| evaluate(&fit, &toy.table, &trial, &here(), &mut |_| silent());
    assert!(wrong(Trial { folds: 1, ..Trial::default() }).is_err());
    assert!(wrong(Trial { draws: 0, ..Trial::default() }).is_err());
}
