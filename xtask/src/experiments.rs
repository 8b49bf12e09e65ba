//! The papers' tables and figures: every program of the experiments package.

use crate::command::{Failure, Outcome, cargo, root};

/// Runs all of them, or one with its own arguments (seeds, for most).
pub(crate) fn run(name: Option<&String>, rest: &[String]) -> Outcome {
    let all = names()?;
    let chosen = match name {
        None => all,
        Some(name) if all.contains(name) => vec![name.clone()],
        Some(name) => {
            let all = all.join(", ");
            return Err(Failure::new(format!("there is no experiment `{name}`, only: {all}")));
        }
    };
    for name in chosen {
        let run = cargo("run --release --package mereo-experiments --bin").with([name]);
        if rest.is_empty() { run.run()? } else { run.with(["--"]).with(rest).run()? }
    }
    Ok(())
}

/// In the order of the alphabet.
fn names() -> Outcome<Vec<String>> {
    let folder = root().join("experiments/src/bin");
    let entries = std::fs::read_dir(&folder)
        .map_err(|e| Failure::new(format!("{}: {e}", folder.display())))?;
    let mut names = Vec::new();
    for entry in entries {
        let path = entry.map_err(Failure::new)?.path();
        let is_program =
            path.extension().is_some_and(|e| e == "rs") || path.join("main.rs").is_file();
        if is_program && let Some(stem) = path.file_stem() {
            names.push(stem.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}
