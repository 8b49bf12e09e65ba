//! Ratings: what a model that was learned from them says about people and items.
//!
//! A [`Rater`] is a learned model with the scale and the items of its ratings. A [`Person`] is a list of ratings,
//! whether the model was learned from them or not: a code is found for it (*fold-in*), nothing is learned anew.
//!
//! ```
//! use mereo::parts::McvqParams;
//! use mereo::rater::{Person, Rater};
//! use mereo::{Context, Fit};
//! let toy = mereo::data::toy::World::Ratings.make(Some(200), 0)?;
//! let fitted = Fit::new(McvqParams::new(2, 3)).restarts(1).passes(10).run(&toy.table)?;
//! let rater = Rater::new(&fitted)?;
//! let me = Person::new("me", vec![(0, 5.0), (1, 1.0)]);
//! let best = rater.recommend(&me, 3, None, &Context::new(0))?;
//! assert!(best.len() == 3 && best.iter().all(|item| item.column > 1));
//! # Ok::<(), mereo::Error>(())
//! ```

mod ask;
pub mod evaluate;
mod predict;
mod recommend;

use std::collections::HashMap;

use mereo_core::{
    Absent, AnyTable, CellPrediction, Cells, Context, Dense, Error, Place, RatingsSeen, Real,
    Result, Sparse, Table, column_name, with_table,
};

pub use ask::{Interview, Question, Worth};
pub use predict::{Asked, Errors, Guess, random_error};
pub use recommend::{Because, Recommended};

use crate::Fitted;
use crate::fitted::for_each_batch;

/// Somebody who rated something.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Person {
    /// What the person is called.
    pub id: String,
    /// Columns of the model and ratings, by rising column.
    ratings: Vec<(u32, f32)>,
}

impl Person {
    /// A person with these ratings of columns; of several of one column the last holds.
    ///
    /// ```
    /// let ann = mereo::rater::Person::new("ann", vec![(7, 3.0), (2, 5.0), (7, 4.0)]);
    /// assert_eq!(ann.ratings(), [(2, 5.0), (7, 4.0)]);
    /// ```
    pub fn new(id: &str, ratings: Vec<(u32, f32)>) -> Self {
        let mut person = Self { id: id.to_owned(), ratings: Vec::new() };
        ratings.into_iter().for_each(|(column, rating)| person.rate(column as usize, rating));
        person
    }

    /// Columns and ratings, by rising column.
    pub fn ratings(&self) -> &[(u32, f32)] {
        &self.ratings
    }

    /// One more rating, or another one of the same column.
    pub fn rate(&mut self, column: usize, rating: f32) {
        match self.place(column) {
            Ok(at) => self.ratings[at].1 = rating,
            Err(at) => self.ratings.insert(at, (column as u32, rating)),
        }
    }

    /// What the person thinks of a column, if that is known.
    pub fn rating(&self, column: usize) -> Option<f32> {
        self.place(column).ok().map(|at| self.ratings[at].1)
    }

    fn place(&self, column: usize) -> std::result::Result<usize, usize> {
        self.ratings.binary_search_by_key(&column, |&(c, _)| c as usize)
    }

    /// The same ratings without that of a column.
    fn without(&self, column: usize) -> Vec<(u32, f32)> {
        self.ratings.iter().copied().filter(|&(c, _)| c as usize != column).collect()
    }
}

/// A model that was learned from ratings, with what it knows of their items and their scale.
#[derive(Debug)]
pub struct Rater<'a> {
    fitted: &'a Fitted,
    seen: &'a RatingsSeen,
    /// A scale that goes before the one that the model learned from: that may lack an end.
    scale: Option<&'a RatingsSeen>,
    places: HashMap<&'a str, usize>,
}

impl<'a> Rater<'a> {
    /// The model behind ratings; an error if it was learned from something else.
    pub fn new(fitted: &'a Fitted) -> Result<Self> {
        let Some(seen) = &fitted.manifest.ratings else {
            let problem = "it was not learned from ratings, or by a mereo that kept no scale: learn it from \
                           a file of user, item, rating";
            return Err(Error::model_file(&fitted.path, problem));
        };
        if fitted.model.cell_predictor::<f32>().is_none() {
            return Err(fitted.incapable("predict"));
        }
        let mut places = HashMap::new();
        // Ids go before titles, where one item's title is another's id.
        let names = fitted.manifest.columns.iter().chain(&fitted.manifest.keys);
        for names in names {
            places.extend(names.iter().enumerate().map(|(at, name)| (name.as_str(), at)));
        }
        Ok(Self { fitted, seen, scale: None, places })
    }

    /// The model.
    pub fn fitted(&self) -> &'a Fitted {
        self.fitted
    }

    /// The scale, and how well known each item is.
    pub fn seen(&self) -> &'a RatingsSeen {
        self.seen
    }

    /// The scale that predictions are on.
    pub fn scale(&self) -> &'a RatingsSeen {
        self.scale.unwrap_or(self.seen)
    }

    /// The column of an item, by its id or its title.
    pub fn column(&self, item: &str) -> Option<usize> {
        self.places.get(item).copied().or_else(|| {
            // Columns without names are called by their numbers.
            let bare = self.places.is_empty();
            item.parse().ok().filter(|at| bare && *at < self.fitted.model.columns())
        })
    }

    /// The title of a column, or its id.
    pub fn title(&self, column: usize) -> String {
        let names = self.fitted.manifest.columns.as_deref();
        column_name(names.or(self.fitted.manifest.keys.as_deref()), column)
    }

    /// What the data called a column.
    pub fn key(&self, column: usize) -> String {
        let keys = self.fitted.manifest.keys.as_deref();
        column_name(keys.or(self.fitted.manifest.columns.as_deref()), column)
    }

    /// Complains about a rating that is off the scale.
    pub fn check(&self, rating: f64, place: impl FnOnce() -> Place) -> Result<()> {
        let RatingsSeen { lowest, highest, .. } = self.scale();
        // A scale is as fine as single precision.
        let slack = 1e-6 * (highest - lowest).max(highest.abs());
        if rating >= lowest - slack && rating <= highest + slack {
            return Ok(());
        }
        let expected = format!("a rating from {lowest} to {highest}, as the model learned from");
        Err(Error::found(place(), rating, expected))
    }

    /// The people of a table of ratings, and the items among them that the model never saw, which are left out.
    /// Ratings off the model's scale are an error.
    pub fn people(&self, table: &AnyTable) -> Result<(Vec<Person>, Vec<String>)> {
        let unknown = match table.about().names {
            Some(_) => self.fitted.unknown_columns(table.about()),
            None => Vec::new(),
        };
        let people = with_table!(table, table => self.people_of(table))?;
        Ok((people, unknown))
    }

    fn people_of<T: Real>(&self, table: &Table<T>) -> Result<Vec<Person>> {
        if let Cells::Sparse(cells) = table.cells()
            && cells.absent() == Absent::Zero
        {
            let found = "a table in which what is not stored is zero";
            let expected = "ratings, in which it is unknown";
            return Err(Error::found(Place::default(), found, expected));
        }
        let aligned = self.fitted.aligned(table)?;
        let mut people = Vec::with_capacity(table.rows());
        for_each_batch(&*aligned, |batch| {
            for row in 0..batch.rows {
                let number = batch.first_row + row;
                let (mut ratings, mut wrong) = (Vec::with_capacity(batch.stored(row)), Ok(()));
                batch.for_each_observed(row, |column, value| {
                    if wrong.is_ok() {
                        let id = table.about().row_name(number);
                        wrong = self.check(value.to_f64(), || {
                            Place::default().column(format!("{} of user {id}", self.title(column)))
                        });
                    }
                    ratings.push((column as u32, value.to_f64() as f32));
                });
                wrong?;
                people.push(Person { id: table.about().row_name(number), ratings });
            }
            Ok(())
        })?;
        Ok(people)
    }

    /// Rows of ratings as a table of the model's columns.
    fn table<'r>(&self, rows: impl IntoIterator<Item = &'r [(u32, f32)]>) -> Result<Table<f32>> {
        let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in rows {
            indices.extend(row.iter().map(|&(column, _)| column));
            values.extend(row.iter().map(|&(_, value)| value));
            starts.push(values.len());
        }
        let columns = self.fitted.model.columns();
        Ok(Table::from(Sparse::new(columns, starts, indices, values, Absent::Unobserved)?))
    }

    /// What the model expects of every item of rows of ratings, on the average; may be off the scale.
    fn means(&self, rows: &Table<f32>, context: &Context) -> Result<Dense<f32>> {
        if self.fitted.model.reconstructor::<f32>().is_some() {
            return self.fitted.reconstruct(rows, false, context);
        }
        let columns = rows.columns();
        let cells: Vec<(usize, usize)> =
            (0..rows.rows()).flat_map(|row| (0..columns).map(move |d| (row, d))).collect();
        let mean = |p: &CellPrediction| p.mean() as f32;
        let means = self.fitted.predict_cells(rows, &cells, context, mean)?;
        Dense::new(rows.rows(), columns, means)
    }

    /// How many people must have rated an item for it to be recommended or asked about, if nobody says: one in fifty,
    /// but no fewer than 5 and no more than 50, and never more than half of what the best known item has.
    ///
    /// ```
    /// # use mereo::{Fit, parts::McvqParams};
    /// # let toy = mereo::data::toy::World::Ratings.make(Some(200), 0)?;
    /// # let fitted = Fit::new(McvqParams::new(2, 3)).restarts(1).passes(1).run(&toy.table)?;
    /// let rater = mereo::rater::Rater::new(&fitted)?;
    /// assert_eq!(rater.least_known(), 5.0);
    /// # Ok::<(), mereo::Error>(())
    /// ```
    pub fn least_known(&self) -> f64 {
        let most = self.seen.counts.iter().copied().fold(0.0, f64::max);
        (self.seen.people / 50.0).floor().clamp(5.0, 50.0).min(most / 2.0).max(1.0)
    }
}

#[cfg(test)]
mod tests;
