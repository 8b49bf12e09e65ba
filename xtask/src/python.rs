//! The Python package, in an environment of its own: the wheel is built, installed and tested.

use std::path::PathBuf;

use crate::command::{Failure, Outcome, exists, program, root};

/// The environment's Python, made if it is not there.
fn environment() -> Outcome<PathBuf> {
    let python =
        ["python3.11", "python3", "python"].into_iter().find(|python| exists(python)).ok_or_else(
            || Failure::new("the Python package needs Python 3.11, and it is not installed"),
        )?;
    let folder = root().join("target/python");
    let inside = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !inside.is_file() {
        program(python).with(["-m", "venv"]).path(&folder).run()?;
    }
    Ok(inside)
}

/// Builds the wheel with the dev profile, whose dependencies all other checks have compiled already,
/// installs it with what its tests need, and runs them.
pub(crate) fn run() -> Outcome {
    let python = environment()?;
    let pip = || program(&python).with(["-m", "pip", "install", "--quiet"]);
    pip().with(["--upgrade", "maturin"]).run()?;
    let wheels = root().join("target/wheels");
    program(&python)
        .with(["-m", "maturin", "build", "--quiet", "--profile", "dev", "--out"])
        .path(&wheels)
        .run()?;
    let wheel = newest(&wheels)?;
    pip().with([format!("{}[test]", wheel.display())]).run()?;
    // The dependencies stay as they are; of the package itself always the one just built.
    pip().with(["--force-reinstall", "--no-deps"]).path(&wheel).run()?;
    program(&python).with(["-m", "pytest"]).run()
}

/// The wheel that was written last.
fn newest(folder: &std::path::Path) -> Outcome<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .map_err(|e| Failure::new(format!("{}: {e}", folder.display())))?;
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .max_by_key(|path| path.metadata().and_then(|about| about.modified()).ok())
        .ok_or_else(|| Failure::new(format!("{}: no wheel was built", folder.display())))
}
