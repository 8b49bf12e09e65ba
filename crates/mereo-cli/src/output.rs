//! Where the program speaks and what it leaves behind: results on standard output, everything
//! else on standard error, files whole or not at all.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use std::io::{IsTerminal, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use mereo_core::{
    About, AnyTable, Cells, Dense, Error, Picture, Real, Result, Table, check_writable,
    follow_links, write_atomically,
};
use mereo_data::write;

/// Whether files of another kind may be overwritten: what `--force` says, once for the whole program.
static FORCED: AtomicBool = AtomicBool::new(false);

/// Lets files of another kind be overwritten.
pub(crate) fn force() {
    FORCED.store(true, Ordering::Relaxed);
}

/// Whether a file's name means the standard output.
pub(crate) fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Calls `write` with the name of the file to write. For the standard output that is a file in a folder of our own,
/// which is then copied and removed: what is written is whole, or nothing at all.
pub(crate) fn through(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    if !is_standard(path) {
        return write(path);
    }
    let folder = std::env::temp_dir().join(format!("mereo-{}", std::process::id()));
    let failed = |e| Error::io(&folder, e);
    private_folder().create(&folder).map_err(failed)?;
    let file = folder.join("rows.csv");
    let copied = write(&file).and_then(|()| {
        let mut file = std::fs::File::open(&file).map_err(failed)?;
        let mut out = std::io::stdout().lock();
        std::io::copy(&mut file, &mut out)
            .and_then(|_| out.flush())
            .map_err(|e| Error::io("standard output", e))
    });
    // What cannot be removed is in nobody's way.
    let _ = std::fs::remove_dir_all(&folder);
    copied
}

/// A folder that is not there yet and that nobody else can look into.
fn private_folder() -> std::fs::DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "rights are those of Unix"))]
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// What is told beside a table: on standard error if the table itself is on standard output.
pub(crate) fn tell_beside(table: Option<&Path>, text: &str, voice: Voice) -> Result<()> {
    if table.is_some_and(is_standard) {
        voice.say(text.trim_end());
        return Ok(());
    }
    print(text)
}

/// The same for programs, who cannot have both in one stream.
pub(crate) fn check_one_stream(table: &Path, json: bool) -> Result<()> {
    if json && is_standard(table) {
        let problem = "a table and --json cannot both go to the standard output; say a file";
        return Err(Error::option("output", problem));
    }
    Ok(())
}

/// Rows that were made of others, called as those are.
pub(crate) fn called_alike<T: Real>(made: Table<T>, rows: &About) -> Result<Table<T>> {
    if rows.ids.as_ref().is_none_or(|ids| ids.len() != made.rows()) {
        return Ok(made);
    }
    let (ids, id_name) = (rows.ids.clone(), rows.id_name.clone());
    let about = About { ids, id_name, ..made.about().clone() };
    made.with_about(about)
}

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

    /// Says which columns of a file are left out because the model never saw them.
    pub(crate) fn tell_unknown(self, unknown: &[String], file: &Path) {
        const SHOWN: usize = 3;
        if unknown.is_empty() {
            return;
        }
        let shown: Vec<String> =
            unknown.iter().take(SHOWN).map(|own| format!("`{}`", name(own))).collect();
        let more = if unknown.len() > SHOWN { ", ..." } else { "" };
        self.say(format_args!(
            "mereo: {}: {} columns that the model never saw are left out: {}{more}",
            file.display(),
            unknown.len(),
            shown.join(", ")
        ));
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
    let text = text.to_string();
    let _ = writeln!(std::io::stderr().lock(), "{}", harmless(&text));
}

/// Says what went wrong, in one line.
pub(crate) fn complain(error: &Error) {
    // The library speaks of options; here they are flags.
    let text = error.to_string().replace("option `", "option `--");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line(&format_args!("mereo: error: {text}"));
}

/// Text without characters that would do something to a terminal other than be seen: names come
/// from files, and files from anywhere. Ends of lines and tabs stay.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let harmful = |c: char| is_command(c) && !matches!(c, '\n' | '\t');
    if !text.contains(harmful) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    for c in text.chars() {
        if harmful(c) { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

/// A name within a line of text: ends of lines are shown, not made.
pub(crate) fn name(text: &str) -> String {
    let shown = text.chars().flat_map(|c| {
        let (escaped, plain) =
            if is_command(c) { (Some(c.escape_debug()), None) } else { (None, Some(c)) };
        escaped.into_iter().flatten().chain(plain)
    });
    harmless(&shown.collect::<String>()).into_owned()
}

/// Whether a character is an order to a terminal: control characters, and those that turn the
/// direction of what follows.
fn is_command(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Says how the program is meant to be called.
pub(crate) fn complain_about_usage(message: &clap::Error) {
    let text = message.render();
    let stderr = std::io::stderr();
    let plain = text.to_string();
    let harmless = harmless(&plain);
    let coloured = stderr.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    // Colours are orders to the terminal too: where a stranger's are among them, there are none.
    let shown =
        if coloured && harmless == plain { text.ansi().to_string() } else { harmless.into() };
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
    out.write_all(harmless(text).as_bytes())
        .and_then(|()| out.flush())
        .map_err(|e| Error::io("standard output", e))
}

/// Prints a result for programs on standard output.
pub(crate) fn print_json(value: &serde_json::Value) -> Result<()> {
    let text = value.to_string();
    // JSON itself has no such characters, so that these stand in texts, where they may be escaped.
    let mut shown = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        if is_command(c) {
            // Writing to a string does not fail.
            let _ = write!(shown, "\\u{:04x}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    shown.push('\n');
    print(&shown)
}

/// Complains, before any work is done, about a file that could not be written afterwards, or that
/// would take the place of what is read.
pub(crate) fn check_output(path: &Path, inputs: &[&Path]) -> Result<()> {
    check_written("output", path, inputs)
}

/// The same for a file that another option names.
pub(crate) fn check_written(option: &str, path: &Path, inputs: &[&Path]) -> Result<()> {
    if is_standard(path) {
        return Ok(());
    }
    if path.is_dir() {
        let problem = format!("`{}` is a folder; say the name of a file in it", path.display());
        return Err(Error::option(option, problem));
    }
    // A finished file takes the place of what was there: never of a device or a pipe.
    if path.metadata().is_ok_and(|there| !there.is_file()) {
        let problem = format!("`{}` is no ordinary file; say the name of one", path.display());
        return Err(Error::option(option, problem));
    }
    check_kind(option, path)?;
    let target = place_of(path);
    if let Some(input) = inputs.iter().find(|input| target.is_some() && place_of(input) == target) {
        let problem = format!(
            "`{}` is read or written as something else; it would be lost. Say another file",
            input.display()
        );
        return Err(Error::option(option, problem));
    }
    check_writable(path)
}

/// A model must not take the place of a table, nor a table that of a model: what is there is looked at, and
/// what will be there is seen from the name.
fn check_kind(option: &str, path: &Path) -> Result<()> {
    let Ok(file) = std::fs::File::open(path) else { return Ok(()) };
    let mut first = Vec::new();
    if file.take(64).read_to_end(&mut first).is_err() || first.is_empty() {
        return Ok(());
    }
    // A model file starts with the length of its header, and the header with a brace.
    let there = first.len() > 9 && first[8] == b'{' && first[6..8] == [0, 0];
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let table = ["csv", "tsv", "parquet", "npy", "xlsx", "txt", "html", "png"];
    let wanted = match extension.as_str() {
        "safetensors" => true,
        other if table.contains(&other) => false,
        _ => return Ok(()),
    };
    if there == wanted || FORCED.load(Ordering::Relaxed) {
        return Ok(());
    }
    let what = |model: bool| if model { "a model" } else { "no model" };
    let problem = format!(
        "`{}` is there and is {}, which would be lost; say another file, or --force",
        path.display(),
        what(there)
    );
    Err(Error::option(option, problem))
}

/// The file itself, whichever way leads to it, whether it is there or not.
fn place_of(path: &Path) -> Option<PathBuf> {
    let path = follow_links(path).ok()?;
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    Some(folder.canonicalize().ok()?.join(path.file_name()?))
}

/// A model under the name of a table would be taken for one.
pub(crate) fn check_model_name(path: &Path) -> Result<()> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    if ["csv", "tsv", "parquet", "npy", "xlsx", "html", "png", "pdf"].contains(&extension.as_str())
    {
        let problem = format!(
            "a model is no `.{extension}` file; say `{}`",
            path.with_extension("safetensors").display()
        );
        return Err(Error::option("output", problem));
    }
    Ok(())
}

/// A report is a page.
pub(crate) fn check_page_name(path: &Path) -> Result<()> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    if ["html", "htm"].contains(&extension.as_str()) {
        return Ok(());
    }
    let problem = format!(
        "the report is a page; say `{}` (a browser prints it as PDF)",
        path.with_extension("html").display()
    );
    Err(Error::option("output", problem))
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
        if is_standard(path) {
            return Ok(Self::Table);
        }
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
        Format::Table => through(path, |path| write::write_table(path, rows)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_not_obeyed() {
        let hostile = "a\u{1b}[2Jb\u{7}\u{9b}31m\u{202e}c\r\td\n";
        assert_eq!(harmless(hostile), "a\\u{1b}[2Jb\\u{7}\\u{9b}31m\\u{202e}c\\u{d}\td\n");
        assert_eq!(name("a\nb\tc\u{1b}é"), "a\\nb\\tc\\u{1b}é");
        assert_eq!(harmless("plain, é, 漢"), "plain, é, 漢");
    }
}
