//! Ten million ratings: a pass of each model beside what it must move, and what a start costs.
//!
//! Two bounds stand beside a pass, both measured in the same run. *Memory* is what streams through it once (stored
//! entries, and for every batch the tables by column) at the speed of a large copy. *Lines* is what is added up entry by entry, to and
//! from rows that stay in the second cache, at the speed of adding blocks of that size to one another. A pass cannot be
//! quicker than the larger of the two.

use std::time::Instant;

use mereo_core::math::widest;
use mereo_core::{
    Cells, Context, Manifest, ModelFile, Observer, Plan, Result, Source, Table, Tensor, Training,
};
use mereo_parts::{McfaParams, Mcvq, McvqParams, mcfa, mcvq};
use mereo_ratings::{BfaParams, bfa};
use rayon::prelude::*;

use super::{Clock, asked, data, plan};

const THREADS: usize = 2;
const NAMES: [&str; 3] = ["ratings mcvq", "ratings mcfa", "ratings bfa"];

/// Gigabytes a second, read and written.
struct Speed {
    memory: f64,
    lines: f64,
}

/// What a pass moves, in gigabytes.
struct Moved {
    memory: f64,
    lines: f64,
}

/// The best of several times: what is asked is how fast the machine can be.
fn best(mut work: impl FnMut()) -> f64 {
    let time = |work: &mut dyn FnMut()| {
        let began = Instant::now();
        work();
        began.elapsed().as_secs_f64()
    };
    (0..5).map(|_| time(&mut work)).fold(f64::INFINITY, f64::min)
}

impl Speed {
    fn measured() -> Result<Self> {
        const TIMES: usize = 1_000;
        let context = Context::new(0).with_threads(THREADS)?;
        let mut lanes: Vec<_> =
            (0..THREADS).map(|_| (vec![1f32; 1 << 25], vec![0f32; 1 << 25])).collect();
        let bytes = (THREADS << 25) as f64 * 8.0;
        let large = context.install(|| {
            best(|| lanes.par_iter_mut().for_each(|(from, to)| to.copy_from_slice(from)))
        });
        // A line of sixteen numbers is added to half a megabyte, over and over: as entries of a batch are.
        let small = context.install(|| {
            best(|| {
                lanes.par_iter_mut().for_each(|(_, to)| {
                    for time in 0..TIMES {
                        let (line, block) = ([time as f32; 16], &mut to[..1 << 17]);
                        widest(
                            #[inline(always)]
                            || {
                                for part in block.as_chunks_mut::<16>().0 {
                                    part.iter_mut().zip(line).for_each(|(sum, x)| *sum += x);
                                }
                            },
                        );
                        std::hint::black_box(block);
                    }
                });
            })
        });
        let added = ((THREADS * TIMES) << 17) as f64 * 8.0;
        Ok(Self { memory: 1e-9 * bytes / large, lines: 1e-9 * added / small })
    }
}

type Fitted = Result<Training>;

fn time(
    name: &str,
    ratings: &Table<f32>,
    speed: &Speed,
    moved: &Moved,
    passes: usize,
    fit: impl Fn(&dyn Source<f32>, &Plan, &Context, &mut dyn Observer) -> Fitted,
) -> Result<()> {
    /// A clock that also keeps when the first pass was done.
    struct First(Clock, Instant, Option<f64>);
    impl Observer for First {
        fn passed(&mut self, record: &mereo_core::Record) {
            self.2.get_or_insert(self.1.elapsed().as_secs_f64());
            self.0.passed(record);
        }
    }
    let mut clock = First(Clock::default(), Instant::now(), None);
    let context = Context::new(0).with_threads(THREADS)?;
    fit(ratings, &plan(passes), &context, &mut clock)?;
    let First(clock, _, first) = clock;
    let (shortest, pass) = (clock.shortest(), clock.milliseconds());
    let (memory, lines) = (1e3 * moved.memory / speed.memory, 1e3 * moved.lines / speed.lines);
    println!(
        "{name} ratings 70,000 x 10,000: {pass:.0} ms a pass on two threads, the shortest {shortest:.0}; memory {memory:.0} ms, lines {lines:.0} ms; ratio {:.2}; {:.1} s to the end of the first pass",
        shortest / memory.max(lines),
        first.unwrap_or(f64::NAN),
    );
    Ok(())
}

/// One more rating of one person: again and again, and once after everything else went through the caches.
fn one_more() -> Result<()> {
    const TIMES: usize = 100_000;
    const COLD: usize = 200;
    // The worst case: every part has something of every column, as in models of few ratings.
    let (parts, states, columns) = (5, 12, 1682);
    let wave = |i: usize, by: f64| (i as f64 * 12.9898 + by).sin().abs();
    let looks = |from: f64, width: f64| {
        let values = (0..parts * states * columns).map(|i| from + width * wave(i, from)).collect();
        Tensor::new(vec![parts, states, columns], values)
    };
    let mut file = ModelFile::new(Manifest::new("mcvq"));
    let all = |n: usize, share: f64| vec![share; n];
    file.insert("gate", Tensor::new(vec![columns, parts], all(columns * parts, 0.2)));
    file.insert("mean", looks(1.0, 4.0));
    file.insert("variance", looks(0.4, 1.0));
    let prior = all(parts * states, 1.0 / states as f64);
    file.insert("state_prior", Tensor::new(vec![parts, states], prior));
    let model = Mcvq::from_file(file, "by hand".as_ref())?;
    let cell = |i: usize| (i * 7919 % model.columns(), (i % 5) as f64 + 1.0);
    let Some(empty) = model.begin_row() else { return Ok(()) };
    // A person has hundreds of ratings, not thousands: codes stay open.
    let mut row = empty.clone();
    let began = Instant::now();
    for i in 0..TIMES {
        let (column, value) = cell(i);
        row.observe(column, value)?;
        let (column, value) = if i >= 200 { cell(i - 200) } else { continue };
        row.forget(column, value)?;
    }
    let warm = began.elapsed().as_secs_f64() / (2 * TIMES - 200) as f64;
    let (mut cold, mut other, mut row) = (0.0, vec![0u8; 1 << 26], empty);
    for i in 0..COLD {
        other.iter_mut().for_each(|x| *x = x.wrapping_add(1));
        std::hint::black_box(&mut other);
        let (column, value) = cell(i);
        let began = Instant::now();
        row.observe(column, value)?;
        cold += began.elapsed().as_secs_f64() / COLD as f64;
    }
    println!(
        "mcvq 5 x 12 of 1,682 columns: {:.2} µs for one more rating, {:.2} µs with cold caches (code {:.3})",
        1e6 * warm,
        1e6 * cold,
        row.code()[0]
    );
    Ok(())
}

/// Every model that was asked for.
pub(crate) fn all() -> Result<()> {
    if asked("ratings one more") {
        one_more()?;
    }
    if !NAMES.into_iter().any(asked) {
        return Ok(());
    }
    let (rows, columns) = (70_000, 10_000);
    let ratings = data::ratings(rows, columns, 10_000_000)?;
    let Cells::Sparse(cells) = ratings.cells() else { return Ok(()) };
    let entries: f64 = (0..rows).map(|row| cells.row(row).0.len() as f64).sum();
    let batches = Source::batches(&ratings) as f64;
    let speed = Speed::measured()?;
    println!(
        "memory: {:.1} GB/s copied; lines: {:.0} GB/s added in the second cache, on two threads; {:.1} million ratings",
        speed.memory,
        speed.lines,
        1e-6 * entries
    );
    // Of so many numbers a line: rows are read and written as evidence is added and read as moments are; for
    // each batch a table by column is read, and another read and written.
    let moved = |numbers: f64, levels: f64, bytes: f64| Moved {
        memory: 1e-9
            * (2.0 * 4.0 * entries + batches * 3.0 * bytes * numbers * levels * columns as f64),
        lines: 1e-9 * 3.0 * bytes * numbers * entries,
    };
    if asked(NAMES[0]) {
        time(
            "mcvq 6 x 10",
            &ratings,
            &speed,
            &moved(60.0, 5.0, 4.0),
            20,
            |source, plan, context, observer| {
                Ok(mcvq::fit(&McvqParams::new(6, 10), source, plan, context, observer)?.1)
            },
        )?;
    }
    if asked(NAMES[1]) {
        // A constant and ten factors of each part by level, and their 55 pairs, which levels do not matter to.
        let (linear, pairs) = (moved(22.0, 5.0, 4.0), moved(110.0, 1.0, 4.0));
        let both =
            Moved { memory: linear.memory + pairs.memory, lines: linear.lines + pairs.lines };
        time("mcfa 2 x 10", &ratings, &speed, &both, 8, |source, plan, context, observer| {
            Ok(mcfa::fit(&McfaParams::new(2, 10), source, plan, context, observer)?.1)
        })?;
    }
    if asked(NAMES[2]) {
        // Twelve numbers and their 78 pairs, in double precision.
        time(
            "bfa 10",
            &ratings,
            &speed,
            &moved(90.0, 1.0, 8.0),
            8,
            |source, plan, context, observer| {
                Ok(bfa::fit(&BfaParams::new(10), source, plan, context, observer)?.1)
            },
        )?;
    }
    Ok(())
}
