//! Words in documents: each document is silent on some topics, mentions others, and is about a
//! few.
//!
//! Counts of 400 English words, zero where not stored. The parts are six topics of 55 words
//! each; a document has a state for every topic, independent of the others, that sets how often
//! the topic's words occur. The other 70 words are common ones that belong to no topic. Some
//! words are more frequent than others, and some documents are longer than others.

mod words;

use mereo_core::{Absent, Context, Random, Result};
use rand::RngExt;
use rand_distr::StandardNormal;

use super::{Rows, Toy, Truth, World, check_rows, choose, owned};
use words::{COMMON, TOPICS};

/// Each state: its name, how many documents in a hundred have it, and how often an average word
/// of the topic occurs in an average document with it.
const STATES: [(&str, f64, f64); 3] =
    [("silent", 60.0, 0.012), ("mentions", 24.0, 0.22), ("about", 16.0, 1.1)];

const COMMON_RATE: f64 = 0.7;
/// Spread of the logarithm of how often a word occurs, and of how long a document is.
const WORD_SPREAD: f64 = 0.5;
const LENGTH_SPREAD: f64 = 0.2;

struct Word {
    text: &'static str,
    topic: Option<usize>,
    frequency: f64,
}

/// Makes documents.
///
/// ```
/// use mereo_data::toy::documents;
/// let toy = documents::make(10, 0)?;
/// assert_eq!(toy.table.columns(), 400);
/// assert_eq!(toy.table.name(0), "about");
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn make(rows: usize, seed: u64) -> Result<Toy> {
    check_rows(rows)?;
    let context = Context::new(seed);
    let words = vocabulary(&mut context.random("toy words", [0, 0]));
    let mut counts = Rows::new(words.len(), Absent::Zero);
    let mut states = Vec::with_capacity(rows);
    for row in 0..rows {
        let mut random = context.random("toy document", [row as u64, 0]);
        let subjects = TOPICS.map(|_| choose(&STATES.map(|state| state.1), &mut random));
        let length = log_normal(LENGTH_SPREAD, &mut random);
        for (column, word) in words.iter().enumerate() {
            let rate = word.topic.map_or(COMMON_RATE, |topic| STATES[subjects[topic]].2);
            let count = poisson(length * word.frequency * rate, &mut random);
            if count > 0 {
                counts.cell(column, count as f32);
            }
        }
        counts.end_row();
        states.push(subjects.iter().map(|&state| state as u32).collect());
    }
    let truth = Truth {
        world: World::Documents.to_string(),
        seed,
        parts: owned(&TOPICS.map(|topic| topic.0)),
        state_names: vec![owned(&STATES.map(|state| state.0)); TOPICS.len()],
        part_of_column: words.iter().map(|word| word.topic.map(|t| t as u32)).collect(),
        states,
        labels: None,
    };
    let names = words.iter().map(|word| word.text.to_owned()).collect();
    Ok(Toy { table: counts.table()?.with_names(names)?, truth })
}

/// Every word in alphabetical order, so that the columns do not give the topics away.
fn vocabulary(random: &mut Random) -> Vec<Word> {
    let topics = TOPICS.iter().enumerate().map(|(topic, (_, words))| (Some(topic), *words));
    let mut words: Vec<Word> = topics
        .chain([(None, COMMON)])
        .flat_map(|(topic, words)| words.split_whitespace().map(move |text| (topic, text)))
        .map(|(topic, text)| Word { text, topic, frequency: log_normal(WORD_SPREAD, random) })
        .collect();
    words.sort_by_key(|word| word.text);
    words
}

/// A random factor around 1 with this spread of its logarithm.
fn log_normal(spread: f64, random: &mut Random) -> f64 {
    let normal: f64 = random.sample(StandardNormal);
    (spread * normal - spread * spread / 2.0).exp()
}

/// A Poisson count, by counting the arrivals in one unit of time. Rates here are small, so
/// this is quick.
fn poisson(rate: f64, random: &mut Random) -> u32 {
    let silence = (-rate).exp();
    let mut left = random.random::<f64>();
    let mut count = 0;
    while left > silence {
        left *= random.random::<f64>();
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use mereo_core::Cells;

    #[test]
    fn there_are_400_different_words() {
        for (topic, words) in TOPICS {
            assert_eq!(words.split_whitespace().count(), 55, "{topic}");
        }
        let words = vocabulary(&mut Context::new(0).random("", [0, 0]));
        let twice: Vec<&str> =
            words.windows(2).filter(|w| w[0].text == w[1].text).map(|w| w[0].text).collect();
        assert!(twice.is_empty(), "{twice:?}");
        assert_eq!(words.len(), 400);
    }

    #[test]
    fn poisson_has_the_right_mean_and_variance() {
        let mut random = Context::new(0).random("", [0, 0]);
        for rate in [0.01, 0.5, 4.0] {
            let counts: Vec<f64> =
                (0..40_000).map(|_| f64::from(poisson(rate, &mut random))).collect();
            let mean = counts.iter().sum::<f64>() / 40_000.0;
            let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / 40_000.0;
            assert!((mean - rate).abs() < 5.0 * (rate / 40_000.0).sqrt(), "{mean} {rate}");
            assert!((variance / rate - 1.0).abs() < 0.3, "{variance} {rate}");
        }
    }

    #[test]
    fn words_follow_their_topic() {
        let toy = make(500, 1).unwrap();
        let Cells::Sparse(cells) = toy.table.cells() else { panic!() };
        assert_eq!(cells.absent(), Absent::Zero);
        let mut totals = [0.0; STATES.len()];
        for row in 0..500 {
            let (words, counts) = cells.row(row);
            for (&word, &count) in words.iter().zip(counts) {
                if let Some(topic) = toy.truth.part_of_column[word as usize] {
                    totals[toy.truth.states[row][topic as usize] as usize] += count;
                }
            }
        }
        assert!(totals[2] > 2.0 * totals[1] && totals[1] > 2.0 * totals[0], "{totals:?}");
        let empty = (0..500).filter(|&row| cells.row(row).0.is_empty()).count();
        assert_eq!(empty, 0);
    }
}
