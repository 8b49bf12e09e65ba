//! Writing files so that nothing half-written is ever left behind.
//!
//! A file is written under another name beside the place it is meant for, flushed to the disk, and
//! renamed over what was there. That other name can be foretold: `.NAME.mereo-0` for a file `NAME`, or the
//! next number if somebody is at that one. While a file is being written its writer holds a lock on
//! it, which the system takes away when the writer is gone, however it went. So a name that is not
//! locked was left by a run that was killed, and whoever comes next removes it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{Error, Result};

/// What stands between a file's name and a number while it is being written.
const MARK: &str = ".mereo-";

/// So many may write one file at a time; the last to finish wins.
const WRITERS: usize = 64;

/// Links that are followed before they are taken for a circle.
const MOST_LINKS: usize = 40;

/// Files that are being written by this process, for [`abandon_files`]: a signal ends a process as a
/// whole, and nobody else can tell it what to clean.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Writes a file whole or not at all: into a temporary file beside it, flushed to the disk,
/// then renamed over the old one.
///
/// A new file has the rights that the user's mask gives, and one that takes another's place has
/// that one's. If the path is a link, what it points to is written, and the link stays.
///
/// ```
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("greeting.txt");
/// mereo_core::write_atomically(&path, |out| out.write_all(b"hello"))?;
/// assert_eq!(std::fs::read(&path).unwrap(), b"hello");
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn write_atomically(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    write_file_atomically(path, |file| {
        let mut out = BufWriter::with_capacity(1 << 16, file);
        fill(&mut out)?;
        out.flush()
    })
}

/// As [`write_atomically`], for writers that need the file itself (to seek in it, say).
pub fn write_file_atomically(
    path: &Path,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<()> {
    let write = || -> io::Result<()> {
        let target = follow_links(path)?;
        let mut unfinished = Unfinished::create(&target)?;
        fill(&mut unfinished.file)?;
        unfinished.file.sync_all()?;
        unfinished.finish(&target)
    };
    write().map_err(|e| Error::io(path, e))
}

/// Makes sure, before any work is done, that a file can be written here. What killed runs left
/// half-written in its folder is removed, whatever it was meant to become; files that somebody
/// still writes stay.
///
/// ```
/// let folder = tempfile::tempdir().unwrap();
/// std::fs::write(folder.path().join(".model.mereo-0"), "half of it").unwrap();
/// mereo_core::check_writable(&folder.path().join("another"))?;
/// assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn check_writable(path: &Path) -> Result<()> {
    let check = || -> io::Result<()> {
        let target = follow_links(path)?;
        remove_leftovers(folder_of(&target));
        Unfinished::create(&target).map(drop)
    };
    check().map_err(|e| Error::io(path, e))
}

/// Removes every file that this process has begun to write and not finished, and lets no other be
/// begun: whoever tries will wait. For the end of a process on a signal, and nothing else.
///
/// ```
/// // Nothing is being written: nothing is removed.
/// mereo_core::abandon_files();
/// ```
pub fn abandon_files() {
    let mut list = unfinished_files();
    for path in list.drain(..) {
        let _ = fs::remove_file(path);
    }
    std::mem::forget(list);
}

fn remove_leftovers(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| is_temporary(&entry.file_name())) {
        // What cannot be removed is no trouble of ours.
        let _ = remove_if_left(&entry.path());
    }
}

/// The file that is written if this one is asked for: what a link points to, at the end of all
/// links, whether it exists or not.
///
/// ```
/// assert_eq!(mereo_core::follow_links("no/link".as_ref()).unwrap(), std::path::Path::new("no/link"));
/// ```
pub fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            // Relative to the folder in which the link stands.
            Ok(next) => path = folder_of(&path).join(next),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("links that lead in a circle"))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn unfinished_files() -> MutexGuard<'static, Vec<PathBuf>> {
    // A list of paths is whole whatever happened to the thread that last held it.
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The names under which a file may be written.
fn temporary(target: &Path, number: usize) -> PathBuf {
    /// Longer names are cut, so that what is added does not make them longer than names may be.
    const MOST: usize = 200;
    let mut name = OsString::from(".");
    match target.file_name() {
        Some(long) if long.len() > MOST => {
            name.push(long.to_string_lossy().chars().take(MOST / 4).collect::<String>());
        }
        short => name.push(short.unwrap_or_default()),
    }
    name.push(format!("{MARK}{number}"));
    folder_of(target).join(name)
}

fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let Some(mark) = name.windows(MARK.len()).rposition(|part| part == MARK.as_bytes()) else {
        return false;
    };
    let number = &name[mark + MARK.len()..];
    let is_number = (1..=2).contains(&number.len()) && number.iter().all(u8::is_ascii_digit);
    // Something stands between the dot and the mark.
    name[0] == b'.' && mark > 1 && is_number
}

/// A file under its temporary name, removed unless it is finished.
struct Unfinished {
    file: File,
    path: PathBuf,
}

impl Unfinished {
    fn create(target: &Path) -> io::Result<Self> {
        // Which file cannot be created says more than what it would have been called at first.
        if target.file_name().is_none() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not the name of a file"));
        }
        let replaced = fs::metadata(target).ok();
        for number in 0..WRITERS {
            let path = temporary(target, number);
            // As often as others remove it under our hands.
            for _ in 0..8 {
                // Until it is in the list nobody may abandon files.
                let mut list = unfinished_files();
                match Self::options(replaced.as_ref()).open(&path) {
                    Ok(file) => {
                        list.push(path.clone());
                        drop(list);
                        let unfinished = Self { file, path: path.clone() };
                        if unfinished.claim(replaced.as_ref())? {
                            return Ok(unfinished);
                        }
                    }
                    Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                        drop(list);
                        if !remove_if_left(&path)? {
                            break;
                        }
                    }
                    Err(e) => return Err(e),
                }
            }
        }
        Err(io::Error::other(format!("{WRITERS} others are writing this file")))
    }

    /// A file that nobody had before: no link of a stranger is followed, nothing is overwritten.
    fn options(replaced: Option<&fs::Metadata>) -> OpenOptions {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
            // Never readable by more people than what it replaces; the mask is the system's.
            options.mode(replaced.map_or(0o666, |old| old.permissions().mode() & 0o777) | 0o200);
        }
        #[cfg(not(unix))]
        let _ = replaced;
        options
    }

    /// Locks the file and makes sure that it still has its name; false if somebody took it for a
    /// leftover in between.
    fn claim(&self, replaced: Option<&fs::Metadata>) -> io::Result<bool> {
        // Where the system has no locks, nobody can take this for a leftover either.
        if matches!(self.file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Ok(false);
        }
        if !is_same(&self.file, &self.path) {
            return Ok(false);
        }
        if let Some(old) = replaced {
            self.file.set_permissions(old.permissions())?;
        }
        Ok(true)
    }

    fn finish(self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        // Without this the rename itself could be lost in a crash.
        #[cfg(unix)]
        File::open(folder_of(target))?.sync_all()?;
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let mut list = unfinished_files();
        // Once it is finished nothing has this name, unless somebody else writes again.
        if is_same(&self.file, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
        if let Some(at) = list.iter().position(|path| *path == self.path) {
            list.swap_remove(at);
        }
    }
}

/// Removes a temporary file if nobody writes it; whether the name is free now.
fn remove_if_left(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_file() => {}
        // A folder or a link of this name is not ours.
        Ok(_) => return Ok(false),
        Err(e) => return if e.kind() == io::ErrorKind::NotFound { Ok(true) } else { Err(e) },
    }
    // To lock a file one has to open it; one that may not be opened is somebody else's.
    let Ok(file) = File::open(path) else { return Ok(false) };
    if file.try_lock().is_err() || !is_same(&file, path) {
        return Ok(false);
    }
    // Who holds the lock alone may rename or remove it.
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Ok(false),
        _ => Ok(true),
    }
}

/// Whether this is the file of this name, and not one that had it before.
fn is_same(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (Ok(a), Ok(b)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
        (a.dev(), a.ino()) == (b.dev(), b.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            names.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn write(path: &Path, text: &str) -> Result<()> {
        write_atomically(path, |out| out.write_all(text.as_bytes()))
    }

    #[test]
    fn what_fails_half_way_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write(&path, "old").unwrap();
        let failed = write_atomically(&path, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("no more"))
        });
        assert!(failed.unwrap_err().to_string().contains("no more"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names(folder.path()), ["a"]);
        assert!(write(Path::new("/"), "").is_err() && write(Path::new(".."), "").is_err());
    }

    #[test]
    fn a_file_is_written_under_a_name_that_can_be_foretold() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_atomically(&path, |_| {
            assert_eq!(names(folder.path()), [".a.mereo-0"]);
            // Somebody else who writes the same file takes the next name.
            write_atomically(&path, |_| {
                assert_eq!(names(folder.path()), [".a.mereo-0", ".a.mereo-1"]);
                Ok(())
            })
            .map_err(io::Error::other)?;
            remove_leftovers(folder.path());
            assert_eq!(names(folder.path()), [".a.mereo-0", "a"]);
            Ok(())
        })
        .unwrap();
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn what_a_kill_left_is_cleaned_by_who_comes_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for name in
            [".a.mereo-0", ".b.mereo-12", ".a.mereo-", ".mereo-0", "a.mereo-0", ".c.mereo-x"]
        {
            fs::write(folder.path().join(name), "half").unwrap();
        }
        fs::create_dir(folder.path().join(".d.mereo-0")).unwrap();
        write(&path, "whole").unwrap();
        assert!(!names(folder.path()).contains(&".a.mereo-0".to_owned()));
        assert!(names(folder.path()).contains(&".b.mereo-12".to_owned()));
        check_writable(&path).unwrap();
        let rest = [".a.mereo-", ".c.mereo-x", ".d.mereo-0", ".mereo-0", "a", "a.mereo-0"];
        assert_eq!(names(folder.path()), rest);
    }

    #[test]
    fn the_longest_name_can_be_written() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["n".repeat(255), "é".repeat(127)] {
            write(&folder.path().join(&name), "text").unwrap();
            assert_eq!(names(folder.path()).pop(), Some(name));
        }
    }

    #[test]
    fn many_writers_of_one_file_leave_one_whole_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::thread::scope(|scope| {
            for letter in ["x", "y", "z"] {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..20 {
                        write(path, &letter.repeat(70_000)).unwrap();
                    }
                });
            }
        });
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.len() == 70_000 && text.bytes().all(|b| b == text.as_bytes()[0]));
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_keeps_the_mode_of_what_it_replaces() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        // A new one is as any new file of this user.
        write(&path, "new").unwrap();
        let plain = folder.path().join("plain");
        fs::write(&plain, "").unwrap();
        assert_eq!(mode(&path), mode(&plain));
        for kept in [0o600, 0o640, 0o444, 0o666] {
            fs::set_permissions(&path, fs::Permissions::from_mode(kept)).unwrap();
            write(&path, "again").unwrap();
            assert_eq!(mode(&path), kept);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_as_output_writes_what_it_points_to() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("deep")).unwrap();
        symlink("deep/target", at("second")).unwrap();
        symlink("second", at("first")).unwrap();
        // Also while there is nothing yet at its end.
        for text in ["one", "two"] {
            write(&at("first"), text).unwrap();
            assert_eq!(fs::read_to_string(at("deep/target")).unwrap(), text);
        }
        assert!(fs::symlink_metadata(at("first")).unwrap().is_symlink());
        assert_eq!(names(&at("deep")), ["target"]);
        symlink("circle", at("circle")).unwrap();
        assert!(write(&at("circle"), "").unwrap_err().to_string().contains("circle"));
    }

    #[cfg(unix)]
    #[test]
    fn a_strangers_link_under_the_temporary_name_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let victim = folder.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, folder.path().join(".a.mereo-0")).unwrap();
        write(&folder.path().join("a"), "text").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(fs::read_to_string(folder.path().join("a")).unwrap(), "text");
    }
}
