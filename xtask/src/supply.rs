//! What we depend on: licences, sources, and the oldest Rust that is promised.

use std::process::Command;

use crate::command::{Failure, Outcome, cargo, exists, program, root};

pub(crate) fn run() -> Outcome {
    if exists("cargo-deny") {
        cargo("deny --offline check licenses bans sources").run()?;
    } else {
        let python = ["python3", "python"].into_iter().find(|python| exists(python));
        let python = python.ok_or_else(|| {
            Failure::new("licences are checked with Python 3, which is not installed")
        })?;
        program(python).path(&root().join("xtask/licences.py")).run()?;
    }
    oldest_rust()
}

/// The Rust version that is promised must be one that something is tested with: the one that runs this,
/// or another that rustup has.
fn oldest_rust() -> Outcome {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).map_err(Failure::new)?;
    let promised = manifest
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = \"")?.strip_suffix('"'))
        .ok_or_else(|| Failure::new("Cargo.toml promises no rust-version"))?;
    let tested = said("rustc", &["--version"]);
    if tested.starts_with(&format!("rustc {promised}.")) {
        println!("\nrust-version {promised} is what runs these tests");
        return Ok(());
    }
    if said("rustup", &["toolchain", "list"]).lines().any(|line| line.starts_with(promised)) {
        let toolchain = format!("+{promised}");
        return program("cargo").with([toolchain.as_str(), "check", "--workspace"]).run();
    }
    let problem = format!(
        "Cargo.toml promises Rust {promised}, and what is tested is {}: install {promised} by rustup, or promise \
         what is tested",
        tested.trim()
    );
    // Whoever has another Rust can still run all other checks.
    if std::env::var_os("CI").is_some() {
        return Err(Failure::new(problem));
    }
    println!("\n{problem}");
    Ok(())
}

/// What a program says, or nothing if it is not there.
fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or_else(
        |_| String::new(),
        |output| String::from_utf8_lossy(&output.stdout).into_owned(),
    )
}
