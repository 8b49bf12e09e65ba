//! Writing the user's table again, with its holes filled and columns added.

use std::path::Path;

use mereo_core::{AnyTable, Dense, Real, Result, Table, column_name};
use mereo_data::write::{write_again, write_table};
use mereo_data::{Kind, ReadOptions, Told, detect};

use super::dense;

/// Where a table came from: the file, how it was read, and what was decided about its columns.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// The file.
    pub path: &'a Path,
    /// How it was read.
    pub options: &'a ReadOptions,
    /// What was decided.
    pub told: &'a Told,
}

/// Writes a table with its holes filled and columns added. A text file is written again as it stands, every
/// field that was there untouched, with its names of rows, its labels and what was left out; other files
/// are written as tables.
pub fn write_completed<T: Real>(
    origin: Origin<'_>,
    table: &Table<T>,
    completed: Option<&Dense<T>>,
    added: &[(String, Vec<String>)],
    to: &Path,
) -> Result<()>
where
    AnyTable: From<Table<T>>,
{
    let about = table.about();
    let holes = dense(table)?;
    let extension = to.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let is_text = |kind: Kind| kind == Kind::Csv;
    let from_text = origin.path.is_file()
        && origin.options.kind.map_or_else(|| detect(origin.path).is_ok_and(is_text), is_text);
    if from_text && ["csv", "tsv"].contains(&extension.as_str()) {
        let header = mereo_data::header(origin.path, origin.options)?;
        let plain = header.is_none();
        let place = |column: usize| -> Option<usize> {
            if let Some(told) = origin.told.columns.get(column) {
                let names = about.names.as_ref()?;
                return told.is_learned().then(|| names.iter().position(|n| *n == told.name))?;
            }
            if plain { Some(column) } else { None }
        };
        // A table of numbers alone: its names in the file's order, without label and weight.
        let numbers: Vec<Option<usize>> = if origin.told.columns.is_empty() && !plain {
            let names = about.names.clone().unwrap_or_default();
            header.iter().flatten().map(|name| names.iter().position(|own| own == name)).collect()
        } else {
            Vec::new()
        };
        let width = table.columns();
        let change = |row: usize, column: usize| {
            let own = numbers.get(column).copied().unwrap_or_else(|| place(column))?;
            let completed = completed?;
            if own >= width || row >= holes.rows() || !holes.row(row)[own].is_missing() {
                return None;
            }
            Some(about.cell(own, completed.row(row)[own].to_f64()))
        };
        return write_again(origin.path, origin.options, to, &change, added);
    }
    let cells = completed.cloned().unwrap_or_else(|| holes.clone());
    let full = Table::from(cells).with_about(about.clone())?;
    if added.is_empty() {
        return write_table(to, &AnyTable::from(full));
    }
    let width = table.columns();
    let mut values = Vec::with_capacity(table.rows() * (width + added.len()));
    let mut kinds: Vec<_> = (0..width).map(|c| about.kind(c).clone()).collect();
    let mut names: Vec<String> =
        (0..width).map(|c| column_name(about.names.as_deref(), c)).collect();
    let mut columns = Vec::new();
    for (name, cells) in added {
        let mut levels: Vec<String> = cells.iter().filter(|c| !c.is_empty()).cloned().collect();
        levels.sort();
        levels.dedup();
        let level = |cell: &String| levels.iter().position(|l| l == cell);
        columns.push(cells.iter().map(level).collect::<Vec<_>>());
        names.push(name.clone());
        kinds.push(mereo_core::ColumnKind::Category { levels });
    }
    let cells = dense(&full)?;
    for row in 0..table.rows() {
        values.extend_from_slice(cells.row(row));
        let level = |levels: &Vec<Option<usize>>| {
            let level = levels.get(row).copied().flatten();
            level.map_or(T::MISSING, |level| T::from_f64(level as f64))
        };
        values.extend(columns.iter().map(level));
    }
    let about = mereo_core::About {
        names: Some(names),
        kinds: Some(kinds),
        formats: None,
        picture: None,
        ..about.clone()
    };
    let wide = Dense::new(table.rows(), width + added.len(), values)?;
    write_table(to, &AnyTable::from(Table::from(wide).with_about(about)?))
}
