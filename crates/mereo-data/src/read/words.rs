//! UCI bag-of-words: the numbers of documents, words and entries, each on a line of its own, then
//! one line `document word count` an entry, counted from 1.

use std::fs;
use std::io::{BufRead, Read};
use std::path::Path;

use mereo_core::{About, Absent, Error, Place, Result, Table};

use super::ReadOptions;
use super::entries::{Entry, Repeated, check_claim, compress};
use super::input::{Input, Sample, unreadable};
use super::pieces::{MOST_LINE, too_long};
use super::text::{Cell, Delimiter, Records, decode, quoted};

/// Whether this is a bag of words: three lines of one number, then lines of three.
pub(crate) fn looks_like(sample: &Sample) -> bool {
    let mut records = Records::new(sample.whole_lines(), Delimiter::Blanks);
    [1, 1, 1, 3].into_iter().all(|fields| {
        let numbers = |r: &Records<_>| r.fields().all(|field| whole(field).is_some());
        matches!(records.advance(), Ok(true)) && records.len() == fields && numbers(&records)
    })
}

fn whole(field: &[u8]) -> Option<u64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// Reads a bag of words, and its vocabulary if there is one beside it.
pub(super) fn parse(input: Input<'_>, path: Option<&Path>) -> Result<Table<f32>> {
    let mut records = Records::new(input.into_reader(), Delimiter::Blanks);
    let mut announced = |what: &str| -> Result<usize> {
        if !records.advance()? {
            return Err(Error::found(Place::default(), "the end of the file", what));
        }
        // Rows and columns are counted in 32 bits.
        let number = whole(records.field(0)).filter(|&n| records.len() == 1 && n <= 1 << 32);
        number.map(|n| n as usize).ok_or_else(|| {
            Error::found(records.place(), quoted(records.field(0)), format!("{what}, alone"))
        })
    };
    let documents = announced("the number of documents")?;
    let words = announced("the number of words")?;
    let count = announced("the number of entries")?;

    let mut entries = Vec::new();
    while records.advance()? {
        if records.len() != 3 {
            let found = format!("{} fields", records.len());
            return Err(Error::found(records.place(), found, "document, word, count"));
        }
        let number = |field: usize, name: &str, most: usize| {
            let text = records.field(field);
            whole(text)
                .filter(|n| (1..=most as u64).contains(n))
                .map(|n| (n - 1) as u32)
                .ok_or_else(|| {
                    let place = records.place().column(name);
                    Error::found(place, quoted(text), format!("a number from 1 to {most}"))
                })
        };
        let value = match Cell::of(records.field(2)) {
            Cell::Number(value) if value >= 0.0 && value <= f64::from(f32::MAX) => value as f32,
            _ => {
                let place = records.place().column("count");
                return Err(Error::found(place, quoted(records.field(2)), "a count of at least 0"));
            }
        };
        entries.push(Entry {
            row: number(0, "document", documents)?,
            column: number(1, "word", words)?,
            value,
            line: u32::try_from(records.line()).unwrap_or(u32::MAX),
            stamp: (),
        });
    }
    if entries.len() != count {
        let found = format!("{} entries", entries.len());
        return Err(Error::found(Place::default(), found, format!("{count} as line 3 says")));
    }
    check_claim("documents", documents, entries.len())?;
    let names = path.map_or(Ok(None), |path| vocabulary(path, words))?;
    if names.is_none() {
        check_claim("words", words, entries.len())?;
    }
    let cell = |row, column| format!("word {} in document {}", column + 1, row + 1);
    let sparse = compress(entries, (documents, words), Absent::Zero, Repeated::Refuse, cell)?;
    let ids = Some((1..=documents).map(|document| document.to_string()).collect());
    let id_name = Some("document".to_owned());
    Table::from(sparse).with_about(About { names, ids, id_name, ..About::default() })
}

/// The words: the lines of a file `vocab*.txt` beside this one. The one that is named alike (`vocab.nips.txt` for
/// `docword.nips.txt`) is it, and else one that has as many lines as there are words. If there are some and
/// none has, something is amiss, and it is said.
fn vocabulary(path: &Path, words: usize) -> Result<Option<Vec<String>>> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(files) = fs::read_dir(folder) else { return Ok(None) };
    let own = path.file_name().unwrap_or_default().to_string_lossy();
    let alike = own.trim_end_matches(".gz").replace("docword", "vocab");
    let mut names: Vec<String> = files
        .filter_map(|file| file.ok()?.file_name().into_string().ok())
        .filter(|name| {
            name.starts_with("vocab") && Path::new(name).extension().is_some_and(|e| e == "txt")
        })
        .collect();
    names.sort_by_key(|name| (*name != alike, name.clone()));
    let mut other = None;
    for name in names {
        let file = folder.join(&name);
        let (lines, more) = Input::open(&file, &ReadOptions::default())
            .and_then(|input| lines(input, words))
            .map_err(|e| e.in_file(&file))?;
        if lines.len() == words && !more {
            return Ok(Some(lines));
        }
        let found = if more {
            format!("more than {words} words")
        } else {
            format!("{} words", lines.len())
        };
        let expected = format!("the {words} words that the counts have, one a line");
        let error = Error::found(Place::default(), found, expected).in_file(&file);
        if name == alike {
            return Err(error);
        }
        other.get_or_insert(error);
    }
    other.map_or(Ok(None), Err)
}

/// The lines of a text, no more than wanted, and whether there are more.
fn lines(input: Input<'_>, wanted: usize) -> Result<(Vec<String>, bool)> {
    let mut lines = Vec::new();
    let mut reader = input.into_reader();
    let mut line = Vec::new();
    loop {
        line.clear();
        let most = MOST_LINE as u64 + 1;
        let length = reader.by_ref().take(most).read_until(b'\n', &mut line).map_err(unreadable)?;
        match length {
            0 => return Ok((lines, false)),
            // An empty line at the end is no word.
            1..=MOST_LINE if lines.len() == wanted => {
                if !line.trim_ascii().is_empty() {
                    return Ok((lines, true));
                }
            }
            1..=MOST_LINE => lines.push(decode(line.trim_ascii()).into_owned()),
            _ => return Err(too_long()),
        }
    }
}

#[cfg(test)]
mod tests {
    use mereo_core::{AnyTable, Cells};

    use super::*;
    use crate::{Kind, read, read_bytes};

    fn message(text: &str) -> String {
        read_bytes(Kind::Words, text.as_bytes(), &ReadOptions::default()).unwrap_err().to_string()
    }

    #[test]
    fn entries_become_rows_and_words_get_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("docword.tiny.txt");
        fs::write(&path, "3\n2\n3\n1 2 4\n3 1 1\n1 1 2\n").unwrap();
        fs::write(folder.path().join("vocab.a.txt"), "one\ntwo\n").unwrap();
        fs::write(folder.path().join("vocab.tiny.txt"), b"apple\nb\xe9te\n").unwrap();
        fs::write(folder.path().join("vocab.txt"), "too\nmany\nwords\n").unwrap();
        let AnyTable::F32(table) = read(&path, &ReadOptions::default()).unwrap() else {
            panic!("counts are f32")
        };
        let Cells::Sparse(cells) = table.cells() else { panic!("sparse") };
        assert_eq!((cells.rows(), cells.columns(), cells.absent()), (3, 2, Absent::Zero));
        assert_eq!(cells.row(0), (&[0, 1][..], &[2.0, 4.0][..]));
        assert_eq!(cells.row(1).0, [0u32; 0]);
        assert_eq!(table.name(0), "apple");
        assert_eq!(table.about().ids.as_deref().unwrap(), ["1", "2", "3"]);
    }

    #[test]
    fn a_vocabulary_of_another_length_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("docword.tiny.txt");
        fs::write(&path, "1\n2\n1\n1 2 4\n").unwrap();
        let told = |name: &str, words: &str| {
            fs::write(folder.path().join(name), words).unwrap();
            read(&path, &ReadOptions::default()).map_err(|e| e.to_string())
        };
        let error = told("vocab.txt", "one\ntwo\nthree\n").unwrap_err();
        assert!(
            error.contains("vocab.txt: found more than 2 words, expected the 2 words"),
            "{error}"
        );
        let error = told("vocab.txt", "one\n").unwrap_err();
        assert!(error.contains("vocab.txt: found 1 words"), "{error}");
        // Another that fits will do, unless one is called as it should be.
        assert!(told("vocabulary.txt", "one\ntwo\n\n").is_ok());
        assert!(told("vocab.tiny.txt", "one\n").unwrap_err().contains("vocab.tiny.txt"));
    }

    #[test]
    fn errors_name_line_and_column() {
        let cases = [
            ("x\n2\n1\n1 1 1\n", "line 1: found `x`, expected the number of documents, alone"),
            ("2\n2\n", "the data: found the end of the file, expected the number of entries"),
            ("2\n2\n1\n1 1\n", "line 4: found 2 fields, expected document, word, count"),
            (
                "2\n2\n1\n3 1 1\n",
                "line 4, column `document`: found `3`, expected a number from 1 to 2",
            ),
            ("2\n2\n1\n1 0 1\n", "line 4, column `word`: found `0`, expected a number from 1 to 2"),
            (
                "2\n2\n1\n1 1 -1\n",
                "line 4, column `count`: found `-1`, expected a count of at least 0",
            ),
            ("2\n2\n2\n1 1 1\n", "the data: found 1 entries, expected 2 as line 3 says"),
            (
                "2\n2\n2\n1 1 1\n\n1 1 2\n",
                "line 6: found word 1 in document 1 again, expected it once, as on line 4",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(message(text), expected);
        }
    }

    #[test]
    fn a_header_cannot_ask_for_memory() {
        let error = message("4000000000\n2\n1\n1 1 1\n");
        assert!(error.contains("found 4000000000 documents for 1 entries"), "{error}");
        assert!(
            message("99999999999999\n2\n1\n1 1 1\n").contains("line 1: found `99999999999999`")
        );
        let error = message("1\n4294967296\n1\n1 4294967296 1\n");
        assert!(error.contains("found 4294967296 words for 1 entries"), "{error}");
        let wide =
            read_bytes(Kind::Words, b"1\n1048577\n1\n1 1048577 1\n", &ReadOptions::default());
        assert_eq!(wide.unwrap().columns(), (1 << 20) + 1);
        assert!(message("0\n0\n0\n").contains("no rows"));
    }
}
