//! Thesis 3.3, Figure 3.6: documents as states of parts, each state by its conspicuous words, on the NIPS papers as UCI gives them out
//! (1,500 documents; the thesis had 1,740, with another vocabulary and with titles).
//!
//! Counts are brought to the same number of words a document, MCVQ of 8 parts with 8 states each is learned, and two documents are shown by their
//! states in the four parts that say most about them: the words that each state raises, then those that it lowers. The thesis learned in 15 passes. Titles are not
//! in this data, so documents are told by number and by their own most frequent rare words. Told besides: how long file to model takes, and which
//! documents are nearest by code.
//!
//! `cargo xtask experiments documents [DOCUMENT [DOCUMENT]]`.

use std::time::Instant;

use mereo::Fit;
use mereo_core::{AnyTable, Cells, Context, Result, Table};
use mereo_data::steps::StepKind;
use mereo_data::{ReadOptions, read};
use mereo_experiments::shared;
use mereo_parts::McvqParams;

const PARTS: usize = 8;
const STATES: usize = 8;
/// Parts and words that are shown, as in the thesis.
const SHOWN_PARTS: usize = 4;
const SHOWN_WORDS: usize = 5;

fn main() -> Result<()> {
    let Some(path) = shared("nips/docword.txt.gz") else { return Ok(()) };
    let context = Context::new(0).with_threads(0)?;
    let began = Instant::now();
    let table = match read(&path, &ReadOptions::default())? {
        AnyTable::F32(table) => table,
        AnyTable::F64(_) => return Ok(()),
    };
    let read_in = began.elapsed().as_secs_f64();
    let fit = Fit::new(McvqParams::new(PARTS, STATES)).prepare(&[StepKind::NormaliseCounts]);
    let fitted = fit.restarts(1).context(&context).run(&table)?;
    let seconds = began.elapsed().as_secs_f64();
    let passes = fitted.training().map_or(0, |training| training.passes);
    println!(
        "{} documents of {} words: {read_in:.1} s to read, {seconds:.1} s from file to model, {passes} passes (the thesis: 15)\n",
        table.rows(),
        table.columns()
    );
    let Some(view) = fitted.model.parts() else { return Ok(()) };
    let codes = fitted.encode(&table, &context)?;
    let Cells::Dense(codes) = codes.cells() else { return Ok(()) };
    let mut chosen: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|n| n.parse().ok())
        .filter(|&n| n < table.rows())
        .collect();
    if chosen.is_empty() {
        chosen = vec![100, 1000];
    }
    for document in chosen {
        println!("document {document}: {}", own_words(&table, document).join(" "));
        let code = codes.row(document);
        // A part says much if its state is sure and rare.
        let mut parts: Vec<(f64, usize, usize)> = (0..PARTS)
            .map(|part| {
                let own = &code[part * STATES..(part + 1) * STATES];
                let best = (0..STATES).fold(0, |b, j| if own[j] > own[b] { j } else { b });
                let prior = view.state_prior[part * STATES + best].max(1e-9);
                (f64::from(own[best]) / prior, part, best)
            })
            .collect();
        parts.sort_by(|a, b| b.0.total_cmp(&a.0));
        for &(_, part, state) in &parts[..SHOWN_PARTS] {
            let moved = view.conspicuousness(part, state);
            let words = |sign: f64| {
                let mut order: Vec<usize> = (0..moved.len()).collect();
                order.sort_by(|&a, &b| (sign * moved[b]).total_cmp(&(sign * moved[a])));
                order.truncate(SHOWN_WORDS);
                order.into_iter().map(|d| table.name(d)).collect::<Vec<_>>().join(" ")
            };
            let sure = 100.0 * code[part * STATES + state];
            println!("  part {part}, state {state} ({sure:.0}%)  more: {}", words(1.0));
            println!("  {:>24}  less: {}", "", words(-1.0));
        }
        let mut near: Vec<(f64, usize)> = (0..table.rows())
            .filter(|&other| other != document)
            .map(|other| {
                let pairs = code.iter().zip(codes.row(other));
                (pairs.map(|(p, q)| f64::from((p * q).sqrt())).sum::<f64>(), other)
            })
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for (common, other) in &near[..3] {
            let share = common / PARTS as f64;
            println!(
                "  near: document {other} ({share:.2}): {}",
                own_words(&table, *other).join(" ")
            );
        }
        println!();
    }
    Ok(())
}

/// The words that a document has most of, compared with what all have.
fn own_words(table: &Table<f32>, document: usize) -> Vec<String> {
    let Cells::Sparse(cells) = table.cells() else { return Vec::new() };
    let mut all = vec![0.0f32; table.columns()];
    for row in 0..table.rows() {
        let (columns, counts) = cells.row(row);
        columns.iter().zip(counts).for_each(|(&d, n)| all[d as usize] += n);
    }
    let (columns, counts) = cells.row(document);
    let mut own: Vec<(f32, usize)> = columns
        .iter()
        .zip(counts)
        .map(|(&d, n)| (n * n / (all[d as usize] + 20.0), d as usize))
        .collect();
    own.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    own.iter().take(8).map(|(_, d)| table.name(*d)).collect()
}
