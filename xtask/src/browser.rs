//! The program from end to end: reports of toy worlds, looked at in a real browser.

use std::path::{Path, PathBuf};

use crate::command::{Failure, Outcome, program};

pub(crate) fn run() -> Outcome {
    let mereo = built_program()?;
    let folder = std::env::temp_dir().join(format!("mereo-xtask-{}", std::process::id()));
    std::fs::create_dir_all(&folder)
        .map_err(|e| Failure::new(format!("{}: {e}", folder.display())))?;
    let outcome = look_at_reports(&mereo, &folder);
    match &outcome {
        // Nothing that matters is lost if this fails.
        Ok(()) => drop(std::fs::remove_dir_all(&folder)),
        Err(_) => eprintln!("what was written is kept in {}", folder.display()),
    }
    outcome
}

/// Pictures, words, models without parts, features, codebooks that add up: each its own kind of page.
fn look_at_reports(mereo: &Path, folder: &Path) -> Outcome {
    let mut reports = Vec::new();
    for world in ["shapes", "documents"] {
        let out = folder.join(world);
        program(mereo).with(["demo", world, "--out"]).path(&out).run()?;
        reports.push(out.join("report.html"));
    }
    // A page of each kind that the worlds' own pages do not have: one part, features, codebooks
    // that add up, components, layers, classes of states and of factors.
    let pages: [(&str, &str, &[&str]); 7] = [
        ("vq", "toy:shapes", &["--states", "12"]),
        ("gvq", "toy:shapes", &["--features", "4", "--sets", "2"]),
        ("cvq", "toy:shapes", &["--parts", "3", "--states", "4"]),
        ("fa", "toy:faces", &["--components", "6"]),
        ("deep-gmm", "toy:shapes", &["--layers", "3,2"]),
        ("mcvq", "toy:faces", &["--parts", "5", "--states", "4", "--classes", "labels"]),
        ("mcfa", "toy:faces", &["--parts", "5", "--factors", "2", "--classes", "labels"]),
    ];
    for (kind, data, size) in pages {
        let model = folder.join(format!("{kind}.safetensors"));
        let page = folder.join(format!("{kind}.html"));
        let fit = program(mereo).with(["fit", kind, data]).with(size.iter().copied());
        fit.with(["--restarts", "1", "--passes", "10", "-o"]).path(&model).run()?;
        program(mereo).with(["report"]).path(&model).with([data, "-o"]).path(&page).run()?;
        reports.push(page);
    }
    // Maps: of two dimensions by a model's codes, of three by the cells.
    let faces = folder.join("mcvq.safetensors");
    for (name, more) in
        [("map", &["--steps", "100"][..]), ("map3", &["--dimensions", "3", "--method", "pcoa"][..])]
    {
        let (map, page) =
            (folder.join(format!("{name}.safetensors")), folder.join(format!("{name}.html")));
        let make = program(mereo).with(["map", "toy:faces"]).with(more.iter().copied());
        let make = if name == "map" { make.with(["--model"]).path(&faces) } else { make };
        make.with(["-o"]).path(&map).run()?;
        program(mereo).with(["report"]).path(&map).with(["toy:faces", "-o"]).path(&page).run()?;
        reports.push(page);
    }
    let run = program(crate::command::root().join("tests/browser/run"));
    reports.iter().fold(run, |run, report| run.path(report)).run()
}

/// The program that was built with us: it stands beside us.
fn built_program() -> Outcome<PathBuf> {
    let own = std::env::current_exe().map_err(Failure::new)?;
    let mereo = own.with_file_name(format!("mereo{}", std::env::consts::EXE_SUFFIX));
    if mereo.is_file() {
        return Ok(mereo);
    }
    Err(Failure::new(format!("the program was not built: there is no {}", mereo.display())))
}
