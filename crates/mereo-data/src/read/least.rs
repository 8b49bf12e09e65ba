//! People who rated little and items that few rated, left out.

use std::str::FromStr;

use mereo_core::{About, Absent, AnyTable, Cells, Error, Real, Result, Sparse, Table};

/// How many ratings every user and every item must have at least.
///
/// ```
/// use mereo_data::{Kind, LeastRatings, ReadOptions, read_bytes};
/// let least: LeastRatings = "2,1".parse()?;
/// assert_eq!((least.users, least.items), (2, 1));
/// assert_eq!("3".parse::<LeastRatings>()?, LeastRatings { users: 3, items: 3 });
/// let options = ReadOptions { least_ratings: Some(least), ..ReadOptions::default() };
/// let table = read_bytes(Kind::Ratings, b"ann,x,3\nann,y,4\nbob,z,5\n", &options)?;
/// // Bob rated one item, and nobody else rated that.
/// assert_eq!((table.rows(), table.columns()), (1, 2));
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeastRatings {
    /// Of a user.
    pub users: usize,
    /// Of an item.
    pub items: usize,
}

impl FromStr for LeastRatings {
    type Err = Error;

    /// `USERS,ITEMS`, or one number for both.
    fn from_str(text: &str) -> Result<Self> {
        let (users, items) = text.split_once(',').unwrap_or((text, text));
        match (users.trim().parse(), items.trim().parse()) {
            (Ok(users), Ok(items)) => Ok(Self { users, items }),
            _ => {
                let problem =
                    format!("`{text}` is not how many: give 20, or 75,126 for users and items");
                Err(Error::option("least-ratings", problem))
            }
        }
    }
}

impl LeastRatings {
    /// The table without users and items that have fewer ratings, and what was left out in words. One that leaves may take another with it,
    /// so this is repeated until all that are left have enough.
    pub(super) fn keep(self, table: AnyTable) -> Result<(AnyTable, Option<String>)> {
        Ok(match table {
            AnyTable::F32(table) => {
                let (table, told) = self.keep_of(table)?;
                (table.into(), told)
            }
            AnyTable::F64(table) => {
                let (table, told) = self.keep_of(table)?;
                (table.into(), told)
            }
        })
    }

    fn keep_of<T: Real>(self, table: Table<T>) -> Result<(Table<T>, Option<String>)> {
        let (cells, about) = table.into_parts();
        let cells = match cells {
            Cells::Sparse(cells) if cells.absent() == Absent::Unobserved => cells,
            _ => {
                let problem =
                    "what is not stored is zero here: give --absent unknown if these are ratings";
                return Err(Error::option("least-ratings", problem));
            }
        };
        let (rows, columns) = self.enough(&cells);
        let kept = |flags: &[bool]| flags.iter().filter(|kept| **kept).count();
        let (users, items) = (kept(&rows), kept(&columns));
        if users == cells.rows() && items == cells.columns() {
            return Ok((Table::from(cells).with_about(about)?, None));
        }
        let wanted = format!("{} ratings a user and {} an item", self.users, self.items);
        if users == 0 || items == 0 {
            let problem = format!(
                "nothing is left of {} users and {} items if there must be {wanted}",
                cells.rows(),
                cells.columns()
            );
            return Err(Error::option("least-ratings", problem));
        }
        let told = format!(
            "left out {} of {} users and {} of {} items, to have at least {wanted}: {} of {} ratings stay",
            cells.rows() - users,
            cells.rows(),
            cells.columns() - items,
            cells.columns(),
            stays(&cells, &rows, &columns),
            cells.values().len()
        );
        let users: Vec<usize> = (0..rows.len()).filter(|&row| rows[row]).collect();
        let table = Table::from(cells).with_about(about)?.select_rows(&users);
        Ok((select(table, &columns)?, Some(told)))
    }

    /// Which rows and columns stay.
    fn enough<T: Real>(self, cells: &Sparse<T>) -> (Vec<bool>, Vec<bool>) {
        let (mut rows, mut columns) = (vec![true; cells.rows()], vec![true; cells.columns()]);
        loop {
            let mut counts = vec![0usize; cells.columns()];
            let mut changed = false;
            for row in 0..cells.rows() {
                let own = || cells.row(row).0.iter().map(|&c| c as usize).filter(|&c| columns[c]);
                if rows[row] && own().count() < self.users {
                    (rows[row], changed) = (false, true);
                }
                if rows[row] {
                    own().for_each(|c| counts[c] += 1);
                }
            }
            for (kept, count) in columns.iter_mut().zip(&counts) {
                if *kept && *count < self.items {
                    (*kept, changed) = (false, true);
                }
            }
            if !changed {
                return (rows, columns);
            }
        }
    }
}

/// How many ratings are left.
fn stays<T: Real>(cells: &Sparse<T>, rows: &[bool], columns: &[bool]) -> usize {
    let of = |row: usize| cells.row(row).0.iter().filter(|&&c| columns[c as usize]).count();
    (0..cells.rows()).filter(|&row| rows[row]).map(of).sum()
}

/// What is known of the columns that stay.
fn kept<U>(all: Option<Vec<U>>, columns: &[bool]) -> Option<Vec<U>> {
    let of = |all: Vec<U>| all.into_iter().zip(columns).filter(|(_, k)| **k).map(|(x, _)| x);
    all.map(|all| of(all).collect())
}

/// The columns that stay, with all that is known of them.
fn select<T: Real>(table: Table<T>, columns: &[bool]) -> Result<Table<T>> {
    let (Cells::Sparse(cells), about) = table.into_parts() else {
        return Err(Error::option("least-ratings", "these are no ratings"));
    };
    let mut places = Vec::with_capacity(columns.len());
    let mut next = 0u32;
    for &stays in columns {
        places.push(next);
        next += u32::from(stays);
    }
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..cells.rows() {
        let (own, ratings) = cells.row(row);
        for (&column, &rating) in own.iter().zip(ratings).filter(|(c, _)| columns[**c as usize]) {
            indices.push(places[column as usize]);
            values.push(rating);
        }
        starts.push(values.len());
    }
    let cells = Sparse::new(next as usize, starts, indices, values, Absent::Unobserved)?;
    Table::from(cells).with_about(About {
        names: kept(about.names, columns),
        keys: kept(about.keys, columns),
        kinds: kept(about.kinds, columns),
        formats: kept(about.formats, columns),
        ..about
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, ReadOptions, read_bytes};

    fn read(text: &str, least: &str) -> Result<AnyTable> {
        let least_ratings = Some(least.parse().unwrap());
        let options = ReadOptions { least_ratings, ..ReadOptions::default() };
        read_bytes(Kind::Ratings, text.as_bytes(), &options)
    }

    #[test]
    fn one_that_leaves_takes_others_along() {
        // c has x and z; nobody else has z, so c is left with one.
        let text = "a,x,1\na,y,2\nb,x,3\nb,y,4\nc,x,5\nc,z,1\n";
        let table = read(text, "2").unwrap();
        assert_eq!(table.about().ids.as_deref().unwrap(), ["a", "b"]);
        assert_eq!(table.about().names.as_deref().unwrap(), ["x", "y"]);
        let AnyTable::F32(table) = table else { panic!("ratings are f32") };
        let Cells::Sparse(cells) = table.cells() else { panic!("ratings are sparse") };
        assert_eq!(
            (cells.indices(), cells.values()),
            (&[0, 1, 0, 1][..], &[1.0, 2.0, 3.0, 4.0][..])
        );
    }

    #[test]
    fn users_and_items_have_numbers_of_their_own() {
        let text = "a,x,1\na,y,2\nb,x,3\nc,x,5\n";
        let table = read(text, "1,2").unwrap();
        assert_eq!((table.rows(), table.columns()), (3, 1));
        let table = read(text, "2,1").unwrap();
        assert_eq!((table.rows(), table.columns()), (1, 2));
        assert_eq!(read(text, "0").unwrap().rows(), 3);
    }

    #[test]
    fn what_was_left_out_is_told_and_nothing_left_is_an_error() {
        let text = b"a,x,1\na,y,2\nb,x,3\n";
        let table = read_bytes(Kind::Ratings, text, &ReadOptions::default()).unwrap();
        let (_, told) = LeastRatings { users: 2, items: 1 }.keep(table.clone()).unwrap();
        let told = told.unwrap();
        assert!(
            told.contains("1 of 2 users and 0 of 2 items") && told.contains("2 of 3 ratings"),
            "{told}"
        );
        assert_eq!(LeastRatings { users: 1, items: 1 }.keep(table).unwrap().1, None);
        let error = read("a,x,1\na,y,2\nb,x,3\n", "3").unwrap_err().to_string();
        assert!(error.contains("nothing is left of 2 users and 2 items"), "{error}");
        let error = "many".parse::<LeastRatings>().unwrap_err().to_string();
        assert!(error.contains("75,126"), "{error}");
    }
}
