//! A text file written again, with some of its cells changed and columns added.

use std::path::Path;

use mereo_core::{Error, Result, write_atomically};

use crate::ReadOptions;
use crate::read::{decoded_fields, text_rows};

/// Writes a text file again: every field as it stands, except where `change` gives another for a data row
/// (counted from 0) and a column of the file; columns that are added come last.
///
/// ```
/// use mereo_data::ReadOptions;
/// let folder = tempfile::tempdir().unwrap();
/// let (from, to) = (folder.path().join("a.csv"), folder.path().join("b.csv"));
/// std::fs::write(&from, "\"\",\"x\",\"word\"\n\"1\",1.50,\"red\"\n\"2\",,\"blue\"\n").unwrap();
/// let change = |row: usize, column: usize| (row == 1 && column == 1).then(|| "2.25".to_owned());
/// mereo_data::write::write_again(&from, &ReadOptions::default(), &to, &change, &[])?;
/// assert_eq!(std::fs::read_to_string(&to).unwrap(), ",x,word\n1,1.50,red\n2,2.25,blue\n");
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn write_again(
    from: &Path,
    options: &ReadOptions,
    to: &Path,
    change: &dyn Fn(usize, usize) -> Option<String>,
    added: &[(String, Vec<String>)],
) -> Result<()> {
    let extension = to.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let delimiter = if extension == "tsv" { b'\t' } else { b',' };
    let (header, mut records) = text_rows(from, options)?;
    let mut failed: Option<Error> = None;
    write_atomically(to, |out| {
        let mut out = csv::WriterBuilder::new().delimiter(delimiter).from_writer(out);
        if let Some(header) = &header {
            out.write_record(header.iter().chain(added.iter().map(|(name, _)| name)))?;
        }
        let mut row = 0;
        loop {
            match records.advance() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
            for (column, field) in decoded_fields(&records).into_iter().enumerate() {
                match change(row, column) {
                    Some(new) => out.write_field(new)?,
                    None => out.write_field(field)?,
                }
            }
            for (_, cells) in added {
                out.write_field(cells.get(row).map_or("", String::as_str))?;
            }
            out.write_record(None::<&[u8]>)?;
            row += 1;
        }
        out.flush()
    })?;
    failed.map_or(Ok(()), |error| Err(error.in_file(from)))
}
