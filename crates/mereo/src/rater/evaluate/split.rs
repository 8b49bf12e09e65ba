//! Who is learned from, and what is held out.

use mereo_core::{Cells, Context, Error, Place, Result, Sparse, Table};
use rand::seq::SliceRandom;

/// The ratings of everybody with one of each person put aside.
#[derive(Debug)]
pub(super) struct Split {
    /// For each person all ratings but the one put aside.
    pub(super) given: Vec<Vec<(u32, f32)>>,
    /// That one, of people who have more.
    pub(super) held: Vec<Option<(u32, f32)>>,
    /// The fold that each person is in.
    pub(super) fold: Vec<usize>,
}

/// The cells of ratings; an error if the table is something else.
pub(super) fn ratings(table: &Table<f32>) -> Result<&Sparse<f32>> {
    match table.cells() {
        Cells::Sparse(cells) if cells.absent() == mereo_core::Absent::Unobserved => Ok(cells),
        _ => {
            let expected = "ratings: lines of user, item and rating";
            Err(Error::found(Place::default(), "a table that is no ratings", expected))
        }
    }
}

impl Split {
    /// Draw number `draw` of folds and of ratings put aside. What is put aside of a person depends on the seed, the draw and the
    /// person alone.
    pub(super) fn draw(
        table: &Table<f32>,
        folds: usize,
        draw: u64,
        context: &Context,
    ) -> Result<Self> {
        let cells = ratings(table)?;
        let mut order: Vec<usize> = (0..cells.rows()).collect();
        order.shuffle(&mut context.random("folds", [draw, 0]));
        let mut fold = vec![0; cells.rows()];
        for (place, &person) in order.iter().enumerate() {
            fold[person] = place % folds;
        }
        let (mut given, mut held) = (Vec::new(), Vec::new());
        for person in 0..cells.rows() {
            let (columns, values) = cells.row(person);
            let mut own: Vec<(u32, f32)> =
                columns.iter().copied().zip(values.iter().copied()).collect();
            let aside = (own.len() > 1).then(|| {
                let all: Vec<usize> = (0..own.len()).collect();
                let mut random = context.random("held out", [draw, person as u64]);
                let at = *rand::seq::IndexedRandom::choose(&all[..], &mut random).unwrap_or(&0);
                own.remove(at)
            });
            given.push(own);
            held.push(aside);
        }
        Ok(Self { given, held, fold })
    }

    /// The people of a fold, or all others, who have a rating put aside.
    pub(super) fn asked(&self, fold: usize, inside: bool) -> Vec<usize> {
        let people = 0..self.given.len();
        people.filter(|&p| (self.fold[p] == fold) == inside && self.held[p].is_some()).collect()
    }

    /// What is learned from: everybody outside a fold (everybody, if there is one fold only), without what was put aside.
    pub(super) fn train(
        &self,
        table: &Table<f32>,
        fold: usize,
        folds: usize,
    ) -> Result<Table<f32>> {
        let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for (own, _) in self.given.iter().zip(&self.fold).filter(|(_, f)| folds == 1 || **f != fold)
        {
            indices.extend(own.iter().map(|&(column, _)| column));
            values.extend(own.iter().map(|&(_, value)| value));
            starts.push(values.len());
        }
        let absent = mereo_core::Absent::Unobserved;
        let cells = Sparse::new(table.columns(), starts, indices, values, absent)?;
        let about = table.about();
        Table::from(cells).with_about(mereo_core::About {
            names: about.names.clone(),
            keys: about.keys.clone(),
            ..mereo_core::About::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use mereo_core::Absent;

    use super::*;

    #[test]
    fn one_rating_of_each_is_put_aside_and_nobody_is_in_two_folds() {
        let starts: Vec<usize> =
            (0..=9).map(|p| if p == 0 { 0 } else { 1 + (p - 1) * 4 }).collect();
        let stored = starts[9];
        let indices = (0..stored).map(|i| if i == 0 { 0 } else { ((i - 1) % 4) as u32 }).collect();
        let values = (0..stored).map(|i| i as f32).collect();
        let cells = Sparse::new(4, starts, indices, values, Absent::Unobserved).unwrap();
        let table = Table::from(cells);
        let split = Split::draw(&table, 3, 0, &Context::new(1)).unwrap();
        assert_eq!(split.held[0], None);
        assert!(split.held[1..].iter().all(Option::is_some));
        let mut people = Vec::new();
        for fold in 0..3 {
            people.extend(split.asked(fold, true));
            let train = split.train(&table, fold, 3).unwrap();
            let inside = split.fold.iter().filter(|f| **f == fold).count();
            assert_eq!(train.rows(), 9 - inside);
        }
        people.sort_unstable();
        assert_eq!(people, (1..9).collect::<Vec<_>>());
        for (own, held) in split.given.iter().zip(&split.held) {
            assert!(held.is_none_or(|held| !own.contains(&held)));
        }
        let again = Split::draw(&table, 3, 0, &Context::new(1)).unwrap();
        assert_eq!((split.held, split.fold), (again.held, again.fold));
    }
}
