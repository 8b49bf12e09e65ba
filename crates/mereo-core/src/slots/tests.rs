//! The kernel against its formulas, cell by cell, for every way in which cells are stored.

use super::*;
use crate::{ColumnKind, Context, Dense, Source, Sparse, Table, pack, unpack};

const ROWS: usize = 7;
const COLUMNS: usize = 3;
const PARTS: usize = 2;
const STATES: usize = 2;

/// Ratings of 1 to 5 with holes, of which few enough levels occur for tables by level.
fn cells(levels: bool) -> Vec<Option<f64>> {
    (0..ROWS * COLUMNS)
        .map(|i| {
            let x = ((i * 7) % 5 + 1) as f64;
            (i % 4 != 1).then_some(if levels { x } else { x + 0.1 * (i as f64).sin() })
        })
        .collect()
}

fn dense<T: Real>(cells: &[Option<f64>]) -> Table<T> {
    let values = cells.iter().map(|x| T::from_f64(x.unwrap_or(f64::NAN))).collect();
    Table::from(Dense::new(ROWS, COLUMNS, values).unwrap())
}

fn sparse<T: Real>(cells: &[Option<f64>], absent: Absent) -> Table<T> {
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in cells.chunks(COLUMNS) {
        for (d, x) in row.iter().enumerate() {
            if let Some(x) = x {
                indices.push(d as u32);
                values.push(T::from_f64(*x));
            }
        }
        starts.push(values.len());
    }
    Table::from(Sparse::new(COLUMNS, starts, indices, values, absent).unwrap())
}

/// Every form of the same cells; in the last, cells that are not stored are zeros.
fn tables<T: Real>() -> Vec<(Table<T>, Vec<Option<f64>>)> {
    let (ratings, numbers) = (cells(true), cells(false));
    let complete: Vec<_> = numbers.iter().map(|x| Some(x.unwrap_or(2.5))).collect();
    let zeros: Vec<_> = numbers.iter().map(|x| Some(x.unwrap_or(0.0))).collect();
    vec![
        (dense(&complete), complete.clone()),
        (dense(&numbers), numbers.clone()),
        (sparse(&ratings, Absent::Unobserved), ratings),
        (sparse(&numbers, Absent::Unobserved), numbers.clone()),
        (sparse(&numbers, Absent::Zero), zeros),
    ]
}

struct Slots {
    gate: Vec<f64>,
    mean: Vec<f64>,
    variance: Vec<f64>,
    log_prior: Vec<f64>,
}

impl Slots {
    fn new() -> Self {
        let slots = PARTS * STATES;
        let of = |i: usize, scale: f64| scale * ((i * 5) as f64).sin().abs();
        Self {
            gate: (0..COLUMNS).flat_map(|d| [0.2 + 0.3 * d as f64, 0.8 - 0.3 * d as f64]).collect(),
            mean: (0..slots * COLUMNS).map(|i| 1.0 + of(i, 4.0)).collect(),
            variance: (0..slots * COLUMNS).map(|i| 0.5 + of(i + 3, 2.0)).collect(),
            log_prior: (0..slots).map(|s| -1.0 - 0.1 * s as f64).collect(),
        }
    }

    fn params(&self) -> SlotParams<'_> {
        SlotParams {
            parts: PARTS,
            states: STATES,
            gate: Some(&self.gate),
            mean: &self.mean,
            variance: &self.variance,
            log_prior: &self.log_prior,
            mixed: None,
        }
    }

    /// `log b_s - Σ_d g_ds (½ log σ² + (x - μ)²/2σ²)` over observed cells, in the frame's units.
    fn evidence<T: Real>(&self, row: &[Option<f64>], slot: usize, frame: &Frame<T>) -> f64 {
        let mut evidence = self.log_prior[slot];
        for (d, x) in row.iter().enumerate() {
            if let Some(x) = x {
                let i = slot * COLUMNS + d;
                let scale = frame.scale(d);
                let error = 0.5 * (self.variance[i] / (scale * scale)).ln()
                    + (x - self.mean[i]).powi(2) / (2.0 * self.variance[i]);
                evidence -= self.gate[d * PARTS + slot / STATES] * error;
            }
        }
        evidence
    }
}

fn check<T: Real>(tolerance: f64) {
    let slots = Slots::new();
    for (table, cells) in tables::<T>() {
        let survey = Survey::of(&table, &Context::new(0)).unwrap();
        let evidence = Evidence::in_frame(&slots.params(), &survey.frame, &survey.form);
        let mut work = SlotWork::remembering();
        let mut lane = table.lane(0..table.batches()).unwrap();
        let batch = lane.next_batch().unwrap().unwrap();
        let count = PARTS * STATES;
        let new = || SlotStatistics::<T>::new(count, COLUMNS, &survey.form);
        let mut whole = new();
        // Twice: what is remembered of a batch must tell the same.
        for _ in 0..2 {
            evidence.evaluate(&batch, &mut work);
            for slot in 0..count {
                for row in 0..ROWS {
                    let expected =
                        slots.evidence(&cells[row * COLUMNS..][..COLUMNS], slot, &survey.frame);
                    let found = work.slots[slot * ROWS + row].to_f64();
                    assert!((found - expected).abs() < tolerance, "{found} {expected}");
                }
            }
            whole.reset();
            for (i, m) in work.slots.iter_mut().enumerate().take(count * ROWS) {
                *m = T::from_f64(((i * 3) % 7) as f64 / 7.0);
            }
            whole.add(&batch, evidence.frame(), &mut work);
        }
        whole.finish();
        let moments = whole.moments(&survey.frame);
        for slot in 0..count {
            for d in 0..COLUMNS {
                let mut expected = [0.0; 3];
                for row in 0..ROWS {
                    if let Some(x) = cells[row * COLUMNS + d] {
                        let m = (((slot * ROWS + row) * 3) % 7) as f64 / 7.0;
                        let x = survey.frame.inward(d, x);
                        expected[0] += m;
                        expected[1] += m * x;
                        expected[2] += m * x * x;
                    }
                }
                let i = slot * COLUMNS + d;
                let found = [moments.count[i], moments.first[i], moments.second[i]];
                for (f, e) in found.iter().zip(expected) {
                    assert!((f - e).abs() < tolerance * (1.0 + e.abs()), "{found:?} {expected:?}");
                }
            }
        }
        // Sums that travelled merge as those that did not, and nothing added changes nothing.
        let mut twice = whole.clone();
        twice.merge(&unpack(&pack(&whole).unwrap()).unwrap());
        let mut here = whole.clone();
        here.merge(&whole);
        let mut with_nothing = whole.clone();
        with_nothing.merge(&new());
        for sums in [&mut twice, &mut here, &mut with_nothing] {
            sums.finish();
        }
        assert_eq!(twice.moments(&survey.frame).second, here.moments(&survey.frame).second);
        assert_eq!(with_nothing.moments(&survey.frame).first, moments.first);
        for (two, one) in here.moments(&survey.frame).count.iter().zip(&moments.count) {
            assert!((two - 2.0 * one).abs() < tolerance * (1.0 + one));
        }
    }
}

#[test]
fn evidence_and_moments_are_their_formulas_in_double_precision() {
    check::<f64>(1e-10);
}

#[test]
fn evidence_and_moments_are_their_formulas_in_single_precision() {
    check::<f32>(2e-4);
}

#[test]
fn merging_is_associative() {
    let slots = Slots::new();
    let (table, _) = tables::<f64>().swap_remove(1);
    let survey = Survey::of(&table, &Context::new(0)).unwrap();
    let evidence = Evidence::in_frame(&slots.params(), &survey.frame, &survey.form);
    let of_rows = |rows: &[usize]| {
        let some = table.select_rows(rows);
        let mut work = SlotWork::default();
        let mut sums = SlotStatistics::<f64>::new(PARTS * STATES, COLUMNS, &survey.form);
        let mut lane = some.lane(0..some.batches()).unwrap();
        while let Some(batch) = lane.next_batch().unwrap() {
            evidence.evaluate(&batch, &mut work);
            work.log_norms.resize(PARTS * batch.rows, 0.0);
            responsibilities(&mut work.slots, &mut work.log_norms, STATES, batch.rows, None);
            sums.add(&batch, evidence.frame(), &mut work);
        }
        sums
    };
    let [a, b, c] = [&[0, 1][..], &[2, 3, 4], &[5, 6]].map(of_rows);
    let (mut left, mut right, mut bc) = (a.clone(), a, b.clone());
    left.merge(&b);
    left.merge(&c);
    bc.merge(&c);
    right.merge(&bc);
    let mut whole = of_rows(&[0, 1, 2, 3, 4, 5, 6]);
    [&mut left, &mut right, &mut whole].into_iter().for_each(SlotStatistics::finish);
    let of = |sums: &SlotStatistics<f64>| sums.moments(&survey.frame).second;
    for ((l, r), w) in of(&left).iter().zip(of(&right)).zip(of(&whole)) {
        assert!((l - r).abs() < 1e-12 && (l - w).abs() < 1e-10);
    }
}

/// A number, a count and two columns of words, some cells missing.
fn mixed_table<T: Real>() -> Table<T> {
    let n = f64::NAN;
    let cells = [
        [0.5, 3.0, 2.0, 1.0],
        [n, 0.0, 0.0, 0.0],
        [1.5, n, 1.0, 1.0],
        [2.0, 40.0, n, 0.0],
        [-1.0, 7.0, 2.0, n],
        [n, n, n, n],
        [0.0, 1.0, 1.0, 1.0],
    ];
    let words = |n: usize| (0..n).map(|l| l.to_string()).collect();
    let kinds = vec![
        ColumnKind::Number,
        ColumnKind::Count,
        ColumnKind::Ordered { levels: words(3) },
        ColumnKind::YesNo { levels: words(2) },
    ];
    let values = cells.iter().flatten().map(|&x| T::from_f64(x)).collect();
    Table::from(Dense::new(ROWS, 4, values).unwrap()).with_kinds(kinds).unwrap()
}

fn check_mixed<T: Real>(tolerance: f64) {
    let table = mixed_table::<T>();
    let survey = Survey::of_kinds(&table, &Context::new(0)).unwrap();
    let typical = &survey.typical;
    let (slots, columns, width) = (PARTS * STATES, 4, typical.kinds.width());
    let of = |i: usize| 0.2 + ((i * 5) as f64).sin().abs();
    let gate: Vec<f64> =
        (0..columns).flat_map(|d| [0.1 + 0.2 * d as f64, 0.9 - 0.2 * d as f64]).collect();
    let mean: Vec<f64> = (0..slots * columns).map(|i| 3.0 * of(i)).collect();
    let variance: Vec<f64> = (0..slots * columns).map(|i| of(i + 3)).collect();
    let mut level: Vec<f64> = (0..slots * width).map(|i| of(i + 1)).collect();
    for own in level.chunks_mut(width) {
        for words in typical.kinds.words() {
            let own = &mut own[words.first..words.first + words.levels];
            let sum: f64 = own.iter().sum();
            own.iter_mut().for_each(|p| *p /= sum);
        }
    }
    let log_prior = vec![-0.5; slots];
    let params = SlotParams {
        parts: PARTS,
        states: STATES,
        gate: Some(&gate),
        mean: &mean,
        variance: &variance,
        log_prior: &log_prior,
        mixed: typical.kinds.with(&level),
    };
    let densities = Densities::of_kinds(columns, &mean, &variance, params.mixed);
    let evidence = Evidence::in_frame(&params, &survey.frame, &survey.form);
    let mut work = SlotWork::default();
    let mut lane = table.lane(0..1).unwrap();
    let batch = lane.next_batch().unwrap().unwrap();
    evidence.evaluate(&batch, &mut work);
    let mut units = 0.0;
    for row in 0..ROWS {
        let mut base = vec![0.0; columns];
        batch.for_each_observed(row, |d, x| {
            base[d] = match typical.kinds.family(d) {
                Family::Number => -survey.frame.scale(d).ln() - crate::math::HALF_LOG_TWO_PI,
                Family::Count => log_count_base(x.to_f64(), survey.frame.rate(d)),
                Family::Words { .. } => 0.0,
            };
            units += base[d];
        });
        for slot in 0..slots {
            let mut expected = log_prior[slot];
            batch.for_each_observed(row, |d, x| {
                let own = densities.cell(slot, d, x.to_f64()) - base[d];
                expected += gate[d * PARTS + slot / STATES] * own;
            });
            let found = work.slots[slot * ROWS + row].to_f64();
            assert!(
                (found - expected).abs() < tolerance * (1.0 + expected.abs()),
                "{found} {expected}"
            );
        }
    }
    assert!(
        (units + survey.log_scale() + crate::math::HALF_LOG_TWO_PI * work.observed).abs() < 1e-4
    );
    // Moments against sums over cells.
    let weigh = |row: usize, slot: usize| of(row * 7 + slot);
    for (i, m) in work.slots.iter_mut().enumerate().take(slots * ROWS) {
        *m = T::from_f64(weigh(i % ROWS, i / ROWS));
    }
    let mut statistics = SlotStatistics::<T>::of_kinds(slots, &typical.kinds, &survey.form);
    statistics.add(&batch, evidence.frame(), &mut work);
    let packed = pack(&statistics).unwrap();
    let mut statistics: SlotStatistics<T> = unpack(&packed).unwrap();
    statistics.finish();
    let moments = statistics.moments(&survey.frame);
    for slot in 0..slots {
        let (mut count, mut sum) = (vec![0.0; columns], vec![0.0; columns]);
        let mut levels = vec![0.0; width];
        for row in 0..ROWS {
            batch.for_each_observed(row, |d, x| {
                count[d] += weigh(row, slot);
                sum[d] += weigh(row, slot) * x.to_f64();
                if let Family::Words { first, .. } = typical.kinds.family(d) {
                    levels[first + x.to_f64() as usize] += weigh(row, slot);
                }
            });
        }
        for d in 0..columns {
            let i = slot * columns + d;
            assert!((moments.count[i] - count[d]).abs() < tolerance * 10.0);
            if d < 2 {
                let total = survey.frame.total(d, moments.count[i], moments.first[i]);
                assert!((total - sum[d]).abs() < tolerance * 100.0);
            }
        }
        for (found, expected) in moments.level[slot * width..].iter().zip(&levels) {
            assert!((found - expected).abs() < tolerance * 10.0);
        }
    }
}

#[test]
fn columns_of_every_kind_have_their_densities_and_moments() {
    check_mixed::<f64>(1e-10);
    check_mixed::<f32>(1e-4);
}

#[test]
fn sparse_tables_of_words_are_refused() {
    let cells = Sparse::new(1, vec![0, 1], vec![0], vec![1.0], Absent::Unobserved).unwrap();
    let words = ColumnKind::Category { levels: vec!["a".into(), "b".into()] };
    let table = Table::from(cells).with_kinds(vec![words]).unwrap();
    let error = Survey::<f64>::of_kinds(&table, &Context::new(0)).unwrap_err().to_string();
    assert!(error.contains("sparse"), "{error}");
}
