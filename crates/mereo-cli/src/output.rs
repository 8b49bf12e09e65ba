//! Where the program speaks and what it leaves behind: results on standard output, everything
//! else on standard error, files whole or not at all.

use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::path::Path;

use mereo_core::{AnyTable, Cells, Dense, Error, Picture, Real, Result, write_atomically};
use mereo_data::write;

/// Width that a grid of pictures aims at, in pixels.
const GRID_WIDTH: usize = 960;

/// The voice that tells people what is going on, unless it was asked to be quiet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Voice {
    quiet: bool,
}

impl Voice {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    pub(crate) fn is_quiet(self) -> bool {
        self.quiet
    }

    /// Says a line on standard error.
    pub(crate) fn say(self, text: impl Display) {
        if !self.quiet {
            line(&text);
        }
    }
}

/// A line on standard error. If nobody can hear it, nothing can be done about that.
fn line(text: &dyn Display) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Says what went wrong, in one line.
pub(crate) fn complain(error: &Error) {
    // The library speaks of options; here they are flags.
    let text = error.to_string().replace("option `", "option `--");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line(&format_args!("mereo: error: {text}"));
}

/// Says how the program is meant to be called.
pub(crate) fn complain_about_usage(message: &clap::Error) {
    let text = message.render();
    let stderr = std::io::stderr();
    let shown = if stderr.is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        text.ansi().to_string()
    } else {
        text.to_string()
    };
    // Shown when the program is called without anything, the help is no error.
    let name = if message.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    {
        ""
    } else {
        "mereo: "
    };
    let _ = write!(stderr.lock(), "{name}{shown}");
}

/// Prints a result on standard output.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|e| Error::io("standard output", e))
}

/// Prints a result for programs on standard output.
pub(crate) fn print_json(value: &serde_json::Value) -> Result<()> {
    print(&format!("{value}\n"))
}

/// Complains, before any work is done, about a file that could not be written afterwards, or that
/// would take the place of what is read.
pub(crate) fn check_output(path: &Path, inputs: &[&Path]) -> Result<()> {
    if path.is_dir() {
        let problem = format!("`{}` is a folder; say the name of a file in it", path.display());
        return Err(Error::option("output", problem));
    }
    // A finished file takes the place of what was there: never of a device or a pipe.
    if path.metadata().is_ok_and(|there| !there.is_file()) {
        let problem = format!("`{}` is no ordinary file; say the name of one", path.display());
        return Err(Error::option("output", problem));
    }
    if let Ok(target) = path.canonicalize()
        && let Some(input) = inputs.iter().find(|i| i.canonicalize().is_ok_and(|i| i == target))
    {
        let problem =
            format!("`{}` is what is read; it would be lost. Say another file", input.display());
        return Err(Error::option("output", problem));
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // A file that never gets a name shows whether the folder can be written to.
    tempfile::tempfile_in(folder).map(drop).map_err(|e| Error::io(path, e))
}

/// Which formats a table may be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// CSV, TSV, Parquet, npy.
    Table,
    /// A grid of pictures.
    Png,
}

impl Format {
    /// The format that an extension asks for. Unknown ones are named before any work is done.
    pub(crate) fn of(path: &Path, pictures: bool) -> Result<Self> {
        let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        match extension.as_str() {
            "csv" | "tsv" | "parquet" | "npy" => Ok(Self::Table),
            "png" if pictures => Ok(Self::Png),
            _ => {
                let found = if extension.is_empty() {
                    format!("`{}` has no extension", path.display())
                } else {
                    format!("`.{extension}` cannot be written here")
                };
                let png = if pictures { ", or .png for pictures" } else { "" };
                let problem = format!("{found}; use .csv, .tsv, .parquet or .npy{png}");
                Err(Error::option("output", problem))
            }
        }
    }
}

/// Writes rows in the format that the extension asks for.
pub(crate) fn write_rows(path: &Path, rows: &AnyTable) -> Result<()> {
    match Format::of(path, true)? {
        Format::Table => write::write_table(path, rows),
        Format::Png => match rows {
            AnyTable::F32(table) => write_pictures(path, table.cells(), rows.about().picture),
            AnyTable::F64(table) => write_pictures(path, table.cells(), rows.about().picture),
        },
    }
}

fn write_pictures<T: Real>(path: &Path, cells: &Cells<T>, picture: Option<Picture>) -> Result<()> {
    let (Cells::Dense(cells), Some(picture)) = (cells, picture) else {
        let problem = "the rows of this model are no pictures; use .csv, .tsv, .parquet or .npy";
        return Err(Error::option("output", problem));
    };
    let png = grid(cells, picture)?;
    write_atomically(path, |out| out.write_all(&png))
}

/// About as wide as high, each picture as large as fits.
fn grid<T: Real>(rows: &Dense<T>, picture: Picture) -> Result<Vec<u8>> {
    let across = (rows.rows() as f64).sqrt().ceil().max(1.0) as usize;
    let scale = (GRID_WIDTH / (across * (picture.width + 1)).max(1)).clamp(1, 16);
    write::encode_picture_grid(rows, picture, across, None, scale)
}
