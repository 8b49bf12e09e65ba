//! A text cut into pieces at ends of lines, so that several threads can read it.

use std::io::{BufRead, ErrorKind, Read};

use mereo_core::{Error, Place, Result};

use super::input::unreadable;

/// A line may not be longer than this: one that never ends would fill the memory.
pub(super) const MOST_LINE: usize = 1 << 26;

/// Bytes of a piece: enough that starting on it costs nothing, few enough to stay in a cache.
const PIECE: usize = 1 << 20;

/// Pieces that are held at a time.
const WAVE: usize = 16;

/// What a line that is too long is told.
pub(super) fn too_long() -> Error {
    Error::found(
        Place::default(),
        format!("a line of more than {MOST_LINE} bytes"),
        "shorter lines; is there a quote that is never closed?",
    )
}

/// The pieces of a text.
pub(super) struct Pieces<R> {
    input: R,
    /// What was read beyond the end of the last whole line.
    rest: Vec<u8>,
    ended: bool,
}

impl<R: BufRead> Pieces<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, rest: Vec::new(), ended: false }
    }

    /// The next piece: whole lines, of which only the text's last may lack its end.
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let mut piece = std::mem::take(&mut self.rest);
        let mut wanted = PIECE;
        while !self.ended {
            let before = piece.len();
            self.fill(&mut piece, wanted)?;
            if self.ended {
                break;
            }
            // What was there before holds no end of a line.
            if let Some(end) = last_end(&piece[before..]) {
                self.rest = piece.split_off(before + end);
                return Ok(Some(piece));
            }
            if piece.len() > MOST_LINE {
                return Err(too_long());
            }
            wanted = piece.len();
        }
        Ok((!piece.is_empty()).then_some(piece))
    }

    /// As many pieces as are held at a time; none at the end.
    pub(super) fn wave(&mut self) -> Result<Vec<Vec<u8>>> {
        let mut wave = Vec::new();
        while wave.len() < WAVE
            && let Some(piece) = self.next()?
        {
            wave.push(piece);
        }
        Ok(wave)
    }

    /// What is left of the text.
    pub(super) fn into_rest(self) -> impl BufRead {
        std::io::Cursor::new(self.rest).chain(self.input)
    }

    fn fill(&mut self, piece: &mut Vec<u8>, wanted: usize) -> Result<()> {
        let start = piece.len();
        piece.resize(start + wanted, 0);
        let mut at = start;
        while at < piece.len() {
            match self.input.read(&mut piece[at..]) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(count) => at += count,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(unreadable(e)),
            }
        }
        piece.truncate(at);
        Ok(())
    }
}

/// Where the last line ends: after `\n`, or after `\r` if what follows is surely no `\n`.
fn last_end(bytes: &[u8]) -> Option<usize> {
    let feed = memchr::memrchr(b'\n', bytes);
    let end = feed.or_else(|| memchr::memrchr(b'\r', &bytes[..bytes.len().saturating_sub(1)]));
    end.map(|at| at + 1)
}

/// How many lines end here; `\r\n` is one end.
pub(super) fn count_lines(bytes: &[u8]) -> u64 {
    let feeds = memchr::memchr_iter(b'\n', bytes).count();
    let lone = memchr::memchr_iter(b'\r', bytes).filter(|&at| bytes.get(at + 1) != Some(&b'\n'));
    (feeds + lone.count()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &[u8]) -> Vec<Vec<u8>> {
        let mut pieces = Pieces::new(text);
        std::iter::from_fn(|| pieces.next().unwrap()).collect()
    }

    #[test]
    fn pieces_are_whole_lines_and_together_the_text() {
        for end in ["\n", "\r\n", "\r"] {
            let text = format!("{}{end}", "1,2,3").repeat(900_000);
            let text = &text.as_bytes()[..text.len() - end.len()];
            let pieces = pieces(text);
            assert!(pieces.len() > 3, "{end:?}");
            assert_eq!(pieces.concat(), text);
            let (_, whole) = pieces.split_last().unwrap();
            assert!(whole.iter().all(|piece| piece.ends_with(end.as_bytes())), "{end:?}");
        }
        assert!(pieces(b"").is_empty());
    }

    #[test]
    fn lines_are_counted_however_they_end() {
        assert_eq!(count_lines(b"a\nb\r\nc\rd"), 3);
        assert_eq!(count_lines(b"a\r\r\n\n"), 3);
    }

    #[test]
    fn a_line_without_end_is_refused_before_it_fills_the_memory() {
        let mut pieces = Pieces::new(std::io::BufReader::new(std::io::repeat(b'7')));
        let error = pieces.next().unwrap_err().to_string();
        assert!(error.contains("found a line of more than 67108864 bytes"), "{error}");
    }
}
