//! Running commands: each is shown before it runs, and the first that fails ends it all.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// Why a verb ended early, and the exit code that says so.
pub(crate) struct Failure {
    reason: String,
    pub(crate) code: u8,
}

impl Failure {
    pub(crate) fn new(reason: impl fmt::Display) -> Self {
        Self { reason: reason.to_string(), code: 1 }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

/// The project's folder.
pub(crate) fn root() -> PathBuf {
    // The manifest's folder is the project's `xtask`.
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

/// A command to be run in the project's folder.
pub(crate) struct Task {
    command: Command,
    shown: String,
}

/// A program with arguments.
pub(crate) fn program(program: impl AsRef<Path>) -> Task {
    let program = program.as_ref();
    let mut command = Command::new(program);
    command.current_dir(root());
    Task { command, shown: program.display().to_string() }
}

/// Cargo, the one that runs us, with arguments set apart by spaces.
pub(crate) fn cargo(arguments: &str) -> Task {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut task = program(PathBuf::from(cargo));
    "cargo".clone_into(&mut task.shown);
    task.with(arguments.split(' '))
}

impl Task {
    pub(crate) fn with<A: AsRef<str>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        for argument in arguments {
            self.command.arg(argument.as_ref());
            self.shown.push(' ');
            self.shown.push_str(argument.as_ref());
        }
        self
    }

    /// An argument that is a path.
    pub(crate) fn path(self, path: &Path) -> Self {
        self.with([path.to_string_lossy()])
    }

    pub(crate) fn set(mut self, variable: &str, value: &str) -> Self {
        self.command.env(variable, value);
        self.shown = format!("{variable}=\"{value}\" {}", self.shown);
        self
    }

    pub(crate) fn run(mut self) -> Outcome {
        println!("\n$ {}", self.shown);
        let status = self
            .command
            .status()
            .map_err(|e| Failure::new(format!("`{}` could not be started: {e}", self.shown)))?;
        if status.success() {
            return Ok(());
        }
        // Some kinds of death, by a signal for one, have no code.
        let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
        Err(Failure { reason: format!("`{}` ended with {status}", self.shown), code })
    }
}

/// Whether a program can be found.
pub(crate) fn exists(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}
