//! What was probably meant by a verb or a model that there is not.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Error};

use crate::args::Cli;

/// What other programs call our verbs.
const VERBS: [(&str, &str); 18] = [
    ("train", "fit"),
    ("learn", "fit"),
    ("fit_transform", "encode"),
    ("transform", "encode"),
    ("embed", "encode"),
    ("complete", "fill"),
    ("mice", "fill"),
    ("anomaly", "odd"),
    ("outlier", "odd"),
    ("detect", "odd"),
    ("clusters", "groups"),
    ("segments", "groups"),
    ("describe", "inspect"),
    ("head", "inspect"),
    ("generate", "sample"),
    ("simulate", "sample"),
    ("plot", "report"),
    ("tsne", "map"),
];

/// What others call our models.
const MODELS: [(&str, &str); 14] = [
    ("kmeans", "vq"),
    ("k-means", "vq"),
    ("mixture", "gmm"),
    ("gaussian", "gmm"),
    ("lca", "gmm"),
    ("latent-class", "gmm"),
    ("latent-classes", "gmm"),
    ("polca", "gmm"),
    ("stepmix", "gmm"),
    ("factor", "fa"),
    ("factor-analysis", "fa"),
    ("autoencoder", "ae"),
    ("parts", "mcvq"),
    ("lda", "aspect"),
];

/// Puts a better suggestion into a complaint about a word that is no verb or model.
pub(crate) fn mend(message: &mut Error, arguments: &[OsString]) {
    if message.kind() != ErrorKind::InvalidSubcommand {
        return;
    }
    let Some(ContextValue::String(word)) = message.get(ContextKind::InvalidSubcommand) else {
        return;
    };
    let word = word.to_lowercase();
    let program = Cli::command();
    let of_fit = arguments.iter().any(|own| own == "fit");
    let known = if of_fit { &MODELS[..] } else { &VERBS[..] };
    let names: Vec<String> = match program.find_subcommand("fit").filter(|_| of_fit) {
        Some(fit) => fit.get_subcommands().map(|own| own.get_name().to_owned()).collect(),
        None => program.get_subcommands().map(|own| own.get_name().to_owned()).collect(),
    };
    let called = known.iter().find(|(other, own)| *other == word && names.iter().any(|n| n == own));
    let near = || {
        let apart = names.iter().map(|name| (distance(&word, name), name));
        apart.min().filter(|(apart, name)| *apart <= 2 && *apart < name.chars().count())
    };
    let meant = match called {
        Some((_, own)) => (*own).to_owned(),
        None => match near() {
            Some((_, name)) => name.clone(),
            None => return,
        },
    };
    message.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![meant]));
}

/// How many letters must be changed, added, left out or swapped with their neighbours.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(40).collect(), b.chars().collect());
    let width = b.len() + 1;
    let mut table = vec![0; (a.len() + 1) * width];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i * width + j] = if i == 0 || j == 0 {
                i + j
            } else {
                let at = |i: usize, j: usize| table[i * width + j];
                let change = at(i - 1, j - 1) + usize::from(a[i - 1] != b[j - 1]);
                let mut least = change.min(at(i - 1, j) + 1).min(at(i, j - 1) + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    least = least.min(at(i - 2, j - 2) + 1);
                }
                least
            };
        }
    }
    table[table.len() - 1]
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn said(words: &[&str]) -> String {
        let arguments: Vec<OsString> = words.iter().map(OsString::from).collect();
        let mut message = Cli::try_parse_from(&arguments).unwrap_err();
        mend(&mut message, &arguments);
        message.to_string()
    }

    #[test]
    fn slips_and_other_programs_words_are_understood() {
        assert_eq!(
            (distance("fti", "fit"), distance("fti", "fill"), distance("", "odd")),
            (1, 3, 3)
        );
        for (words, meant) in [
            (&["mereo", "fti", "mcvq", "a.csv"][..], "'fit'"),
            (&["mereo", "train", "a.csv"], "'fit'"),
            (&["mereo", "reprot"], "'report'"),
            (&["mereo", "fit", "kmeans", "a.csv"], "'vq'"),
            (&["mereo", "fit", "mvcq", "a.csv"], "'mcvq'"),
        ] {
            let text = said(words);
            assert!(text.contains("similar subcommand") && text.contains(meant), "{text}");
        }
        assert!(!said(&["mereo", "xylophone"]).contains("similar"));
    }
}
