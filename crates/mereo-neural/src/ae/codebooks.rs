//! Codes in few bits: codebooks of what those before them leave.

use mereo_core::slots::{Lloyd, Survey};
use mereo_core::{Context, Dense, Plan, Result, Silent, Table};

use super::AeParams;
use crate::codes::Codes;

/// Passes of k-means over the codes, and starts of it.
const PASSES: usize = 50;
const STARTS: usize = 2;

/// Codebooks `[M, N, k]`, and the share of rows that each entry is used by, `[M, N]`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Books {
    pub(crate) books: usize,
    pub(crate) entries: usize,
    pub(crate) width: usize,
    pub(crate) entry: Vec<f64>,
    pub(crate) usage: Vec<f64>,
}

impl Books {
    /// The entries that a code is stored by, and what they add up to.
    pub(crate) fn quantise(&self, code: &mut [f64], numbers: &mut [usize]) {
        let mut left = code.to_vec();
        code.fill(0.0);
        for (book, number) in numbers.iter_mut().enumerate() {
            let size = self.entries * self.width;
            let entries = self.entry[book * size..(book + 1) * size].chunks_exact(self.width);
            let distance = |entry: &[f64]| -> f64 {
                entry.iter().zip(&left).map(|(e, z)| (e - z).powi(2)).sum()
            };
            let (mut best, mut nearest) = (0, f64::INFINITY);
            for (at, entry) in entries.clone().enumerate() {
                let apart = distance(entry);
                if apart < nearest {
                    (best, nearest) = (at, apart);
                }
            }
            *number = best;
            if let Some(entry) = entries.clone().nth(best) {
                for ((z, l), e) in code.iter_mut().zip(&mut left).zip(entry) {
                    *z += e;
                    *l -= e;
                }
            }
        }
    }
}

/// Learns codebooks of codes; nothing if none are wanted.
pub(super) fn learn(params: &AeParams, codes: &Codes, context: &Context) -> Result<Option<Books>> {
    if params.codebooks == 0 {
        return Ok(None);
    }
    let (width, rows) = (codes.width, codes.weights.len());
    // Entries beyond the rows would be copies.
    let entries = params.entries.min(rows.max(1));
    let (mut left, mut entry, mut usage) = (codes.values.clone(), Vec::new(), Vec::new());
    for book in 0..params.codebooks {
        let table = Table::from(Dense::new(rows, width, left.clone())?)
            .with_weights(codes.weights.clone())?;
        let own = context.with_seed(context.seed().wrapping_add(book as u64));
        let survey = Survey::of(&table, &own)?;
        let plan = Plan { restarts: STARTS, passes: PASSES, ..Plan::default() };
        // k-means seeds entries that no row uses anew, from rows that are far from all.
        let state = Lloyd::plain(entries, &survey).learn(&table, &plan, &own, &mut Silent)?.state;
        let one = Books { books: 1, entries, width, entry: state.mean, usage: Vec::new() };
        let (mut used, total) = (vec![0.0; entries], codes.weights.iter().sum::<f64>());
        for (code, weight) in left.chunks_exact_mut(width).zip(&codes.weights) {
            let (mut made, mut number) = (code.to_vec(), [0]);
            one.quantise(&mut made, &mut number);
            used[number[0]] += weight / total;
            code.iter_mut().zip(&made).for_each(|(z, m)| *z -= m);
        }
        entry.extend(one.entry);
        usage.extend(used);
    }
    Ok(Some(Books { books: params.codebooks, entries, width, entry, usage }))
}
