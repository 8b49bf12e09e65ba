//! Writing files so that nothing half-written is ever left behind.

use std::io::{BufWriter, Write};
use std::path::Path;

use crate::{Error, Result};

/// Writes a file whole or not at all: into a temporary file beside it, flushed to the disk,
/// then renamed over the old one.
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
    fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
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
    fill: impl FnOnce(&mut std::fs::File) -> std::io::Result<()>,
) -> Result<()> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".mereo-").tempfile_in(folder)?;
        fill(file.as_file_mut())?;
        file.as_file().sync_all()?;
        #[cfg(unix)]
        {
            // A temporary file is private; the finished one gets the rights any new file has.
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(path).map_or(0o644, |m| m.permissions().mode());
            file.as_file().set_permissions(std::fs::Permissions::from_mode(mode))?;
        }
        file.persist(path).map_err(|e| e.error)?;
        // Without this the rename itself could be lost in a crash.
        #[cfg(unix)]
        std::fs::File::open(folder)?.sync_all()?;
        Ok(())
    };
    write().map_err(|e| Error::io(path, e))
}
