//! A folder to work in, and the program to run there.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// A folder that disappears with the test.
pub(crate) struct World {
    folder: tempfile::TempDir,
}

/// What a run of the program left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    /// The program with these words on its command line, in the folder.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mereo"));
        command.current_dir(self.folder.path()).args(line.split_whitespace());
        command
    }

    pub(crate) fn run(&self, line: &str) -> Ran {
        let Output { status, stdout, stderr } =
            self.command(line).stdin(Stdio::null()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }

    /// Runs the program, which must be content, and returns what it prints.
    pub(crate) fn ok(&self, line: &str) -> String {
        let ran = self.run(line);
        assert_eq!(ran.code, Some(0), "mereo {line}\n{}{}", ran.stdout, ran.stderr);
        ran.stdout
    }

    pub(crate) fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.ok(line)).unwrap()
    }

    /// Runs the program, which must refuse in one line, and returns that line.
    pub(crate) fn refused(&self, line: &str) -> String {
        let before = self.names();
        let ran = self.run(line);
        assert_eq!(ran.code, Some(1), "mereo {line}\n{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.stdout, "", "mereo {line}");
        let told: Vec<&str> = ran.stderr.lines().collect();
        assert_eq!(told.len(), 1, "mereo {line}\n{}", ran.stderr);
        assert!(told[0].starts_with("mereo: error: "), "mereo {line}\n{}", ran.stderr);
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        assert_eq!(self.names(), before, "mereo {line} left something behind");
        told[0].to_owned()
    }

    pub(crate) fn start(&self, line: &str) -> Child {
        self.command(line).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// The names of all files in the folder.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// A small world's data in `NAME`, and a model of it in `m.safetensors`.
    pub(crate) fn with_model(name: &str) -> Self {
        let world = Self::new();
        world.ok(&format!("-q toy shapes --rows 150 -o {name}"));
        world.ok(&format!(
            "-q fit mcvq {name} --parts 3 --states 4 --restarts 1 --passes 15 -o m.safetensors"
        ));
        world
    }
}

/// The shape of an npy file.
pub(crate) fn npy_shape(path: &Path) -> Vec<usize> {
    let bytes = std::fs::read(path).unwrap();
    let header = String::from_utf8_lossy(&bytes[10..128]).into_owned();
    let shape = header.split("'shape': (").nth(1).unwrap().split(')').next().unwrap();
    shape.split(',').filter_map(|n| n.trim().parse().ok()).collect()
}

/// Numbers of a CSV file, row by row, after its header line.
pub(crate) fn numbers(text: &str, header: bool) -> Vec<Vec<f64>> {
    text.lines()
        .skip(usize::from(header))
        .map(|line| line.split(',').map(|f| f.parse().unwrap_or(f64::NAN)).collect())
        .collect()
}
