//! An inverted file: rows sorted by the nearest of some centres, our own k-means, so that the
//! neighbours of a row are looked for in the cells around its own only.
//!
//! All rows of a cell look into the same cells, those whose centres are nearest to the cell's own,
//! so that looking is again a matrix product. How many cells is found out by trying: the neighbours
//! of some rows are known exactly, and the number is doubled until nearly all are found.

use mereo_core::slots::{Lloyd, Survey};
use mereo_core::{Context, Dense, Plan, Result, Silent, Table, map_in_parallel, sample_rows};

use super::{Cloud, Neighbours, PIECE, leave_out, of_some};
use crate::rows::{Rows, square_distance};

/// Share of true neighbours that must be found.
const RECALL: f64 = 0.99;
/// Rows by which that is measured.
const MEASURED: usize = 512;
/// Rows for each centre that centres are learned from, and most passes.
const LEARNED_FROM: usize = 40;
const PASSES: usize = 12;
/// Rows that the cells looked into must hold, for new rows to find their neighbours in.
const LEAST: usize = 300;

/// Which rows are near which centre, and which centres are near one another.
#[derive(Debug, Clone, PartialEq)]
pub struct Index {
    /// `[cells, columns]`: the centres.
    pub centres: Vec<f64>,
    /// The cell of every row.
    pub cell: Vec<u32>,
    /// How many cells are looked into.
    pub probes: usize,
}

/// The neighbours of all rows, by an index that is made for it.
pub(super) fn search(rows: &Rows, count: usize, context: &Context) -> Result<(Neighbours, Index)> {
    let cells = (2.0 * (rows.rows() as f64).sqrt()) as usize;
    let mut index = Index::of(rows, cells.clamp(1, 4096), context)?;
    let cloud = Cloud::new(rows.values(), rows.columns());
    let step = (rows.rows() / MEASURED).max(1);
    let measured: Vec<u32> = (0..rows.rows()).step_by(step).map(|r| r as u32).collect();
    let truth = of_some(&cloud, &measured, count);
    drop(cloud);
    let mut search = Search::new(rows.values(), rows.columns(), index.clone());
    loop {
        search.look_into(index.probes, count + 1);
        let found = search.own_neighbours(Some(&measured), count);
        let mut hits = 0;
        for row in 0..measured.len() {
            hits += found.of(row).iter().filter(|j| truth.of(row).contains(j)).count();
        }
        let recall = hits as f64 / truth.index.len().max(1) as f64;
        if recall >= RECALL || index.probes >= index.cells(rows.columns()) {
            let mut all = search.own_neighbours(None, count);
            all.recall = recall;
            return Ok((all, index));
        }
        index.probes *= 2;
    }
}

impl Index {
    fn of(rows: &Rows, cells: usize, context: &Context) -> Result<Self> {
        let columns = rows.columns();
        let step = (rows.rows() / (cells * LEARNED_FROM)).max(1);
        let few: Vec<f64> =
            (0..rows.rows()).step_by(step).flat_map(|r| rows.row(r).iter().copied()).collect();
        let table = Table::from(Dense::new(few.len() / columns, columns, few)?);
        let table = sample_rows(&table, cells * LEARNED_FROM, "index", context)?;
        let survey = Survey::of(&table, context)?;
        let lloyd = Lloyd::plain(cells, &survey);
        let plan = Plan { restarts: 1, passes: PASSES, tolerance: 1e-3, ..Plan::default() };
        let learned = lloyd.learn(&table, &plan, context, &mut Silent)?;
        let centres = learned.state.mean;
        let nearest = Cloud::new(&centres, columns);
        let pieces: Vec<&[f64]> = rows.values().chunks(PIECE * columns).collect();
        let cell = map_in_parallel(pieces.len(), |p| nearest.nearest(pieces[p], 1));
        let cell = cell.into_iter().flatten().map(|found| found[0].1).collect();
        drop(nearest);
        Ok(Self { centres, cell, probes: 8.min(cells) })
    }

    /// How many cells there are.
    pub fn cells(&self, columns: usize) -> usize {
        self.centres.len() / columns.max(1)
    }
}

/// An index at work: rows sorted by cell.
pub(crate) struct Search {
    columns: usize,
    index: Index,
    /// The rows' numbers, cell by cell, and where each cell starts.
    order: Vec<u32>,
    starts: Vec<usize>,
    cloud: Cloud<'static>,
    /// The cells that each cell's rows look into.
    lists: Vec<Vec<(usize, usize)>>,
}

impl Search {
    pub(crate) fn new(values: &[f64], columns: usize, index: Index) -> Self {
        let cells = index.cells(columns);
        let mut starts = vec![0; cells + 1];
        index.cell.iter().for_each(|&c| starts[c as usize + 1] += 1);
        for c in 0..cells {
            starts[c + 1] += starts[c];
        }
        let mut next = starts.clone();
        let mut order = vec![0; index.cell.len()];
        for (row, &c) in index.cell.iter().enumerate() {
            order[next[c as usize]] = row as u32;
            next[c as usize] += 1;
        }
        let row = |r: u32| values[r as usize * columns..(r as usize + 1) * columns].iter();
        let sorted: Vec<f64> = order.iter().flat_map(|&r| row(r).copied()).collect();
        let cloud = Cloud::new(sorted, columns);
        let mut search = Self { columns, order, starts, cloud, lists: Vec::new(), index };
        search.look_into(search.index.probes, LEAST);
        search
    }

    /// Looks into this many cells from now on, into more where these hold fewer than so many rows.
    fn look_into(&mut self, probes: usize, least: usize) {
        let columns = self.columns;
        let cloud = Cloud::new(&self.index.centres, columns);
        let cells = self.index.cells(columns);
        self.lists = map_in_parallel(cells, |c| {
            let list = |count: usize| -> Vec<(usize, usize)> {
                let near = cloud.nearest(cloud.row(c), count).remove(0);
                near.iter()
                    .map(|n| n.1 as usize)
                    .map(|c| (self.starts[c], self.starts[c + 1]))
                    .collect()
            };
            let near = list(probes);
            let rows: usize = near.iter().map(|(from, to)| to - from).sum();
            if rows < least { list(cells) } else { near }
        });
        self.index.probes = probes;
    }

    /// The nearest other rows of some rows, or of all.
    fn own_neighbours(&self, some: Option<&[u32]>, count: usize) -> Neighbours {
        let cloud = &self.cloud;
        // Places in the sorted rows, by cell.
        let mut wanted: Vec<Vec<usize>> = vec![Vec::new(); self.lists.len()];
        let mut slot = vec![usize::MAX; self.order.len()];
        match some {
            None => slot.iter_mut().enumerate().for_each(|(r, s)| *s = r),
            Some(rows) => rows.iter().enumerate().for_each(|(k, &r)| slot[r as usize] = k),
        }
        for (place, &row) in self.order.iter().enumerate() {
            if slot[row as usize] != usize::MAX {
                wanted[self.index.cell[row as usize] as usize].push(place);
            }
        }
        let jobs: Vec<(usize, &[usize])> = wanted
            .iter()
            .enumerate()
            .flat_map(|(c, places)| places.chunks(4 * PIECE).map(move |some| (c, some)))
            .collect();
        let found = map_in_parallel(jobs.len(), |k| {
            let (cell, places) = jobs[k];
            let queries: Vec<f64> =
                places.iter().flat_map(|&p| cloud.row(p).iter().copied()).collect();
            let mut found = cloud.nearest_within(&queries, count + 1, &self.lists[cell]);
            for (found, &place) in found.iter_mut().zip(places) {
                found.iter_mut().for_each(|(_, j)| *j = self.order[*j as usize]);
                leave_out(found, self.order[place], count);
            }
            found
        });
        let rows = some.map_or(self.order.len(), <[u32]>::len);
        let mut sorted: Vec<Vec<(f64, u32)>> = vec![Vec::new(); rows];
        for ((_, places), found) in jobs.iter().zip(found) {
            for (&place, found) in places.iter().zip(found) {
                sorted[slot[self.order[place] as usize]] = found;
            }
        }
        Neighbours::from_found(count, &sorted)
    }

    /// The nearest rows of a query that is not among the rows.
    pub(crate) fn nearest(&self, query: &[f64], count: usize) -> Vec<(f64, u32)> {
        let columns = self.columns;
        let centres = self.index.centres.chunks_exact(columns).enumerate();
        let home = centres.map(|(c, centre)| (square_distance(query, centre), c));
        let home = home.fold((f64::INFINITY, 0), |a, b| if b.0 < a.0 { b } else { a }).1;
        let mut found = self.cloud.nearest_within(query, count, &self.lists[home]).remove(0);
        found.iter_mut().for_each(|(_, j)| *j = self.order[*j as usize]);
        super::smallest(&mut found, count);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution, StandardNormal};

    #[test]
    fn nearly_all_neighbours_are_found() {
        let mut random = Context::new(1).random("index", [0, 0]);
        let values: Vec<f64> = (0..6000 * 8)
            .map(|i| {
                let x: f64 = StandardNormal.sample(&mut random);
                x + 4.0 * f64::from((i / 8) % 5) * f64::from(u8::from(i % 8 < 3))
            })
            .collect();
        let table = Table::from(Dense::new(6000, 8, values).unwrap());
        let rows = Rows::read(&table).unwrap();
        let context = Context::new(0).with_threads(2).unwrap();
        let (found, index) = context.install(|| search(&rows, 15, &context)).unwrap();
        assert!(found.recall >= RECALL && index.probes < index.cells(8), "{}", found.recall);
        let cloud = Cloud::new(rows.values(), 8);
        let all: Vec<u32> = (0..6000).collect();
        let truth = of_some(&cloud, &all, 15);
        let hits: usize =
            (0..6000).map(|r| found.of(r).iter().filter(|j| truth.of(r).contains(j)).count()).sum();
        assert!(hits as f64 / truth.index.len() as f64 > 0.98);
        // The same on one thread.
        let (alone, _) = search(&rows, 15, &Context::new(0)).unwrap();
        assert_eq!(alone, found);
    }
}
