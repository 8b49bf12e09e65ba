//! The help teaches, and wrong usage is told from other errors.

use crate::world::World;

const VERBS: [&str; 28] = [
    "inspect",
    "fill",
    "odd",
    "groups",
    "demo",
    "toy",
    "patches",
    "fit",
    "score",
    "classify",
    "explain",
    "encode",
    "reconstruct",
    "predict",
    "recommend",
    "ask",
    "evaluate",
    "similar",
    "sample",
    "compress",
    "decompress",
    "denoise",
    "segment",
    "field",
    "map",
    "show",
    "report",
    "completions",
];

const MODELS: [&str; 12] =
    ["mcvq", "mcfa", "vq", "gmm", "student", "deep-gmm", "pca", "ppca", "fa", "nmf", "gvq", "cvq"];

#[test]
fn every_verb_explains_itself_with_examples() {
    let world = World::new();
    let whole = world.ok("--help");
    for verb in VERBS {
        assert!(whole.contains(verb), "{verb}");
        let help = world.ok(&format!("{verb} --help"));
        assert!(help.matches(&format!("mereo {verb}")).count() >= 3, "{verb}\n{help}");
        assert!(help.contains("Examples:"), "{verb}");
        assert!(help.lines().next().unwrap().len() > 20, "{verb}");
        assert!(
            !help.starts_with("How DATA is read"),
            "{verb} tells of its options, not of itself"
        );
    }
    for model in MODELS {
        let help = world.ok(&format!("fit {model} --help"));
        assert!(help.contains("Examples:") && help.contains("[default: "), "{help}");
    }
    assert!(world.ok("--version").starts_with("mereo "));
    assert!(world.ok("-h").len() < whole.len());
}

#[test]
fn examples_in_the_help_are_understood() {
    let world = World::new();
    let mut lines = Vec::new();
    for verb in
        VERBS.iter().map(|v| (*v).to_owned()).chain(MODELS.map(|kind| format!("fit {kind}")))
    {
        let help = world.ok(&format!("{verb} --help"));
        let examples = help.split("Examples:").nth(1).unwrap();
        lines.extend(
            examples
                .lines()
                .map(str::trim)
                .filter(|l| l.starts_with("mereo "))
                .map(ToOwned::to_owned),
        );
    }
    assert!(lines.len() >= 30, "{lines:#?}");
    for line in lines {
        // Understood: whatever the matter is with files that are not there, it is not the usage.
        let words = line.split(['>', '|']).next().unwrap();
        let words = words.trim_start_matches("mereo ").replace("\"Toy faces\"", "Toy");
        if words.starts_with("demo") || words.starts_with("fit") && words.contains("toy:") {
            continue;
        }
        // Each in a folder of its own: files that another example made would be learned from.
        let code = World::new().run(&words).code;
        assert!(matches!(code, Some(0 | 1)), "{line}: {code:?}");
    }
}

#[test]
fn wrong_usage_has_its_own_code() {
    let world = World::new();
    for line in [
        "",
        "fly",
        "fit",
        "fit mcvq",
        "fit mcfa d.csv --parts 2 -o m.safetensors",
        "fit mcvq d.csv --parts two --states 2 -o m.safetensors",
        "toy nowhere -o d.csv",
        "demo nowhere",
        "score m.safetensors",
        "sample m.safetensors -o s.csv",
        "fit mcvq d.csv --parts 2 --states 2 --resume -o m.safetensors",
        "fit mcvq d.csv --parts 2 --states 2 --resize 3 -o m.safetensors",
        "completions klingon",
    ] {
        let ran = world.run(line);
        assert_eq!(ran.code, Some(2), "{line}");
        assert!(ran.stdout.is_empty() && ran.stderr.contains("--help"), "{line}: {}", ran.stderr);
        assert!(
            line.is_empty() || line == "fit" || ran.stderr.starts_with("mereo: error: "),
            "{line}: {}",
            ran.stderr
        );
    }
}
