//! Rows that other processes read: what whoever learns knows of them, and what whoever reads some
//! of them answers.

use std::ops::Range;

use mereo_core::{
    About, Absent, Batch, Context, Error, Lane, Real, Remote, Request, Result, Source,
};

use crate::answers;

/// How runs of shards are asked: by bytes of a [`Request`], for bytes of answers, in order.
pub type Ask<'a> = dyn Fn(&[u8], &[Range<usize>]) -> Result<Vec<Vec<u8>>> + Sync + 'a;

/// Rows that are elsewhere: their number, what is known about them, and a way to ask for what they tell.
/// Whatever is learned from them is, byte for byte, what would be learned from the same rows here.
pub struct Elsewhere<'a> {
    rows: usize,
    columns: usize,
    about: About,
    ask: &'a Ask<'a>,
}

impl<'a> Elsewhere<'a> {
    /// So many rows of so many columns, with their names and those of their classes.
    pub fn new(rows: usize, columns: usize, about: About, ask: &'a Ask<'a>) -> Self {
        Self { rows, columns, about, ask }
    }
}

impl std::fmt::Debug for Elsewhere<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {} elsewhere", self.rows, self.columns)
    }
}

impl Remote for Elsewhere<'_> {
    fn ask(&self, request: &Request, runs: &[Range<usize>]) -> Result<Vec<Vec<u8>>> {
        (self.ask)(&mereo_core::pack(request)?, runs)
    }
}

impl<T: Real> Source<T> for Elsewhere<'_> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn lane(&self, _: Range<usize>) -> Result<Box<dyn Lane<T> + '_>> {
        let problem = "these rows are read by other processes, and this must have them here";
        Err(Error::option("data", problem))
    }

    fn about(&self) -> &About {
        &self.about
    }

    fn absent(&self) -> Option<Absent> {
        None
    }

    fn remote(&self) -> Option<&dyn Remote> {
        Some(self)
    }
}

/// Some rows of a larger whole, cut as the whole is: what a process holds that answers for a run of
/// shards.
///
/// ```
/// use mereo::{Dense, Source, Table, Window};
/// // The second of two shards of 1500 rows in all.
/// let whole = Table::from(Dense::new(1500, 1, vec![0.0; 1500])?);
/// let rows = Window::<f64>::rows_of(1500, 1, 1..2);
/// assert_eq!(rows, 1024..1500);
/// let part = Table::from(Dense::new(476, 1, vec![0.0; 476])?);
/// let window = Window::new(1500, rows.start, &part)?;
/// assert_eq!((window.rows(), window.shards()), (whole.rows(), whole.shards()));
/// # Ok::<(), mereo::Error>(())
/// ```
pub struct Window<'a, T> {
    rows: usize,
    first_row: usize,
    part: &'a dyn Source<T>,
}

impl<T> std::fmt::Debug for Window<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rows from {} on, of {}", self.first_row, self.rows)
    }
}

impl<'a, T: Real> Window<'a, T> {
    /// These rows of a whole of so many, from this one on. They must start where a batch does.
    pub fn new(rows: usize, first_row: usize, part: &'a dyn Source<T>) -> Result<Self> {
        let fits = first_row.checked_add(part.rows()).is_some_and(|end| end <= rows);
        if part.absent().is_some() || !fits || !first_row.is_multiple_of(part.batch_rows()) {
            let problem = format!(
                "{} rows from {first_row} on are no batches of {rows} dense rows",
                part.rows()
            );
            return Err(Error::option("data", problem));
        }
        Ok(Self { rows, first_row, part })
    }

    /// The rows that a run of shards of a whole covers.
    pub fn rows_of(rows: usize, columns: usize, shards: Range<usize>) -> Range<usize> {
        let nobody = |_: &[u8], _: &[Range<usize>]| Ok(Vec::new());
        let whole = Elsewhere::new(rows, columns, About::default(), &nobody);
        let whole: &dyn Source<T> = &whole;
        let each = whole.batch_rows() * whole.shard_batches().max(1);
        let at = |shard: usize| shard.saturating_mul(each).min(rows);
        at(shards.start)..at(shards.end)
    }
}

impl<T: Real> Source<T> for Window<'_, T> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.part.columns()
    }

    fn lane(&self, batches: Range<usize>) -> Result<Box<dyn Lane<T> + '_>> {
        let first = self.first_row / Source::batch_rows(self);
        let own = first..first + self.part.batches();
        if batches.start < own.start || batches.end.min(self.batches()) > own.end {
            let problem = format!("batches {batches:?} were asked of one who holds {own:?}");
            return Err(Error::option("data", problem));
        }
        let inner = self.part.lane(batches.start - first..batches.end.min(own.end) - first)?;
        Ok(Box::new(WindowLane { inner, first_row: self.first_row }))
    }

    fn about(&self) -> &About {
        self.part.about()
    }

    fn absent(&self) -> Option<Absent> {
        None
    }
}

struct WindowLane<'a, T> {
    inner: Box<dyn Lane<T> + 'a>,
    first_row: usize,
}

impl<T: Real> Lane<T> for WindowLane<'_, T> {
    fn next_batch(&mut self) -> Result<Option<Batch<'_, T>>> {
        let first_row = self.first_row;
        let batch = self.inner.next_batch()?;
        Ok(batch.map(|batch| Batch { first_row: first_row + batch.first_row, ..batch }))
    }
}

/// Puts answers of runs that lie side by side together: see [`mereo_core::Answer::merge`]. `task` and `cells` are the
/// request's.
pub fn merge_answers(request: &[u8], answers: &[Vec<u8>]) -> Result<Vec<u8>> {
    let request: Request = mereo_core::unpack(request)?;
    known(&request.task)?.merge(&request.cells, answers)
}

fn known(task: &str) -> Result<mereo_core::Answer> {
    answers()
        .into_iter()
        .find(|answer| answer.name() == task)
        .ok_or_else(|| Error::option("request", format!("nobody here can answer `{task}`")))
}

/// What each of several runs of shards tells: answers to the bytes that [`Ask`] was given. Several at once are quicker than
/// one by one, and the answers are the same.
pub fn answer<T: Real>(
    request: &[u8],
    source: &dyn Source<T>,
    runs: &[Range<usize>],
    context: &Context,
) -> Result<Vec<Vec<u8>>> {
    let request: Request = mereo_core::unpack(request)?;
    known(&request.task)?.answers(&request, source, runs, context)
}

#[cfg(test)]
mod tests {
    use mereo_core::{Dense, Labels, Table};
    use mereo_testing::{blobs, table, with_holes};

    use super::*;
    use crate::Fit;
    use crate::parts::McvqParams;

    #[test]
    fn windows_on_rows_learn_what_the_whole_does() {
        let cells = with_holes(blobs(5000, 3, 3, 1), 2);
        let texts = (0..5000).map(|i| Some(if i % 3 == 0 { "a" } else { "b" }));
        let labels = Labels::from_texts(texts);
        let weights: Vec<f64> = (0..5000).map(|i| f64::from(i % 4)).collect();
        let about = About {
            labels: Some(labels.clone()),
            weights: Some(weights.clone()),
            ..About::default()
        };
        let whole = table::<f64>(3, &cells).with_about(about.clone()).unwrap();
        let one = |request: &[u8], run: Range<usize>| -> Result<Vec<u8>> {
            let rows = Window::<f64>::rows_of(5000, 3, run.clone());
            let own = cells[rows.start * 3..rows.end * 3].to_vec();
            let about = About {
                labels: Some(Labels {
                    names: labels.names.clone(),
                    of_row: labels.of_row[rows.clone()].to_vec(),
                }),
                weights: Some(weights[rows.clone()].to_vec()),
                ..About::default()
            };
            let part = Table::from(Dense::new(rows.len(), 3, own)?).with_about(about)?;
            let window = Window::new(5000, rows.start, &part)?;
            Ok(answer(request, &window, &[run], &Context::new(0))?.remove(0))
        };
        let ask = |request: &[u8], runs: &[Range<usize>]| {
            let each = runs.iter().rev().map(|run| {
                // Shard by shard, and put together by somebody else.
                let each = run.clone().map(|shard| one(request, shard..shard + 1));
                merge_answers(request, &each.collect::<Result<Vec<_>>>()?)
            });
            let mut answers = each.collect::<Result<Vec<_>>>()?;
            answers.reverse();
            Ok(answers)
        };
        let known = About {
            labels: Some(Labels { names: labels.names.clone(), of_row: Vec::new() }),
            ..About::default()
        };
        let elsewhere = Elsewhere::new(5000, 3, known, &ask);
        let fit = Fit::new(McvqParams::new(2, 2)).restarts(2).passes(4).seed(3);
        let bytes = |source: &dyn Source<f64>| {
            let fitted = fit.run(source).unwrap();
            fitted.model.to_file(fitted.manifest).to_bytes().unwrap()
        };
        assert!(bytes(&elsewhere) == bytes(&whole));
    }
}
