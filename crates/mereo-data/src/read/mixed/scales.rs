//! Words that have an order, and words that mean yes and no.

/// Scales that everybody knows, from lowest to highest.
const SCALES: [&[&str]; 14] = [
    &["very low", "low", "medium", "moderate", "high", "very high"],
    &["xxs", "xs", "s", "m", "l", "xl", "xxl"],
    &["tiny", "small", "medium", "large", "huge"],
    &["never", "rarely", "seldom", "sometimes", "often", "usually", "always"],
    &["never", "occas", "regul", "heavy"],
    &["none", "some", "freq"],
    &["none", "mild", "moderate", "severe"],
    &["none", "low", "medium", "high"],
    &["very poor", "poor", "fair", "average", "good", "very good", "excellent"],
    &["fair", "good", "very good", "premium", "ideal"],
    &["strongly disagree", "disagree", "neutral", "agree", "strongly agree"],
    &["very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"],
    &["primary", "secondary", "tertiary"],
    &["bronze", "silver", "gold", "platinum"],
];

/// Pairs of no and yes.
const ANSWERS: [(&str, &str); 8] = [
    ("no", "yes"),
    ("n", "y"),
    ("false", "true"),
    ("f", "t"),
    ("off", "on"),
    ("nein", "ja"),
    ("non", "oui"),
    ("absent", "present"),
];

/// Words of a known scale in their order, if all of at least three are of one.
pub(super) fn in_order(words: &[String]) -> Option<Vec<String>> {
    if words.len() < 3 {
        return None;
    }
    SCALES.iter().find_map(|scale| ordered_by(words, scale))
}

fn ordered_by(words: &[String], scale: &[&str]) -> Option<Vec<String>> {
    let rank = |word: &String| scale.iter().position(|s| word.eq_ignore_ascii_case(s));
    let mut ranked: Vec<(usize, &String)> =
        words.iter().map(|word| rank(word).map(|r| (r, word))).collect::<Option<_>>()?;
    ranked.sort();
    let distinct = ranked.windows(2).all(|pair| pair[0].0 < pair[1].0);
    distinct.then(|| ranked.into_iter().map(|(_, word)| word.clone()).collect())
}

/// The word for no and the word for yes, if the words are a known answer: however they are written.
pub(super) fn no_and_yes(words: &[String]) -> Option<(Vec<&String>, Vec<&String>)> {
    ANSWERS.iter().find_map(|(no, yes)| {
        let (mut noes, mut yeses) = (Vec::new(), Vec::new());
        for word in words {
            if word.eq_ignore_ascii_case(no) {
                noes.push(word);
            } else if word.eq_ignore_ascii_case(yes) {
                yeses.push(word);
            } else {
                return None;
            }
        }
        Some((noes, yeses))
    })
}

/// Words sorted as people do: numbers by size, other words by the alphabet.
pub(super) fn sorted(mut words: Vec<String>) -> Vec<String> {
    let number = |word: &String| word.trim().parse::<f64>().ok().filter(|x| x.is_finite());
    if words.iter().all(|word| number(word).is_some()) {
        words.sort_by(|a, b| number(a).partial_cmp(&number(b)).unwrap_or_else(|| a.cmp(b)));
    } else {
        words.sort();
    }
    words
}
