//! Tables of the sizes that are timed, with planted parts so that learning is not degenerate.

use mereo_core::{Absent, Cells, Context, Dense, Real, Result, Sparse, Table};
use rand::RngExt;

/// Six groups of columns, each row showing one of twelve looks of each, plus noise; with
/// `missing`, a tenth of the cells.
pub(crate) fn dense<T: Real>(rows: usize, columns: usize, missing: bool) -> Result<Table<T>> {
    const GROUPS: usize = 6;
    const LOOKS: usize = 12;
    let mut random = Context::new(1).random("looks", [0, 0]);
    let looks: Vec<f64> = (0..LOOKS * columns).map(|_| random.random_range(-1.0..1.0)).collect();
    let mut values = Vec::with_capacity(rows * columns);
    for _ in 0..rows {
        let shown: [usize; GROUPS] = std::array::from_fn(|_| random.random_range(0..LOOKS));
        for d in 0..columns {
            let look = shown[d * GROUPS / columns];
            let noise: f64 = random.random_range(-0.3..0.3);
            let hidden = missing && random.random::<f64>() < 0.1;
            values.push(if hidden {
                T::MISSING
            } else {
                T::from_f64(looks[look * columns + d] + noise)
            });
        }
    }
    Ok(Table::from(Dense::new(rows, columns, values)?))
}

/// Rows at several contrasts whose columns go together in a few ways, as patches of pictures do.
pub(crate) fn scaled<T: Real>(rows: usize, columns: usize) -> Result<Table<T>> {
    const WAYS: usize = 8;
    let mut random = Context::new(3).random("scaled", [0, 0]);
    let ways: Vec<f64> = (0..WAYS * columns).map(|_| random.random_range(0.1..0.95)).collect();
    let mut values = Vec::with_capacity(rows * columns);
    for _ in 0..rows {
        let way = random.random_range(0..WAYS);
        let contrast = random.random_range(-3.0f64..1.0).exp();
        let mut last = 0.0;
        for d in 0..columns {
            let noise: f64 = random.random_range(-1.0..1.0);
            last = ways[way * columns + d] * last + noise;
            values.push(T::from_f64(contrast * last));
        }
    }
    Ok(Table::from(Dense::new(rows, columns, values)?))
}

/// The same cells, raised until none is negative.
pub(crate) fn positive(table: &Table<f32>) -> Result<Table<f32>> {
    let Cells::Dense(cells) = table.cells() else { return Ok(table.clone()) };
    let values = cells.values().iter().map(|x| x + 1.3).collect();
    Ok(Table::from(Dense::new(cells.rows(), cells.columns(), values)?))
}

/// Ratings of five levels, popular columns rated more.
pub(crate) fn ratings(rows: usize, columns: usize, ratings: usize) -> Result<Table<f32>> {
    let mut random = Context::new(2).random("ratings", [0, 0]);
    let mut starts = vec![0];
    let (mut indices, mut values) = (Vec::with_capacity(ratings), Vec::with_capacity(ratings));
    let each = ratings / rows;
    for _ in 0..rows {
        let taste: [f64; 6] = std::array::from_fn(|_| random.random_range(-1.5..1.5));
        let mut row: Vec<u32> = Vec::with_capacity(each);
        for _ in 0..each {
            // Squaring a uniform number makes low columns popular.
            let u: f64 = random.random();
            row.push(((u * u * columns as f64) as u32).min(columns as u32 - 1));
        }
        row.sort_unstable();
        row.dedup();
        for column in row {
            let liking = 3.0 + taste[column as usize % 6] + random.random_range(-1.0..1.0);
            indices.push(column);
            values.push(liking.round().clamp(1.0, 5.0) as f32);
        }
        starts.push(values.len());
    }
    Ok(Table::from(Sparse::new(columns, starts, indices, values, Absent::Unobserved)?))
}
