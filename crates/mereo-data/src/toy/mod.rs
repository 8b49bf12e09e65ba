//! Toy worlds: data whose parts are known, made from a seed and nothing else.
//!
//! Each world is a small model of one kind of data that the papers learn from: pictures of
//! shapes, faces with expressions, ratings of films, words in documents. A world gives a table
//! and its [`Truth`], so that whatever is learned can be compared with what was planted.
//!
//! ```
//! use mereo_data::toy::World;
//! let toy = World::Faces.make(Some(10), 1)?;
//! assert_eq!(toy.table.rows(), 10);
//! assert_eq!(toy.truth.parts, ["hair", "brows", "eyes", "nose", "mouth"]);
//! # Ok::<(), mereo_core::Error>(())
//! ```

mod canvas;
pub mod documents;
pub mod faces;
pub mod ratings;
pub mod shapes;
mod truth;

use std::fmt;
use std::str::FromStr;

use mereo_core::{Absent, Cells, Context, Dense, Error, Real, Result, Sparse, Table};
use rand::RngExt;
use rand_distr::StandardNormal;

pub use truth::{Recovery, Truth};

/// More rows than this are a slip of the keyboard, not a toy.
const MOST_ROWS: usize = 1_000_000;

/// The toy worlds.
///
/// ```
/// use mereo_data::toy::World;
/// let world: World = "ratings".parse()?;
/// assert_eq!(world, World::Ratings);
/// assert_eq!(world.to_string(), "ratings");
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum World {
    /// Pictures of a box, a triangle and a cross at independent heights. See [`shapes`].
    Shapes,
    /// Cartoon faces with expressions. See [`faces`].
    Faces,
    /// Users' ratings of films in genres. See [`ratings`].
    Ratings,
    /// Counts of words in documents on several topics. See [`documents`].
    Documents,
}

impl World {
    /// Every world.
    pub const ALL: [Self; 4] = [Self::Shapes, Self::Faces, Self::Ratings, Self::Documents];

    /// The world's name as users write it.
    ///
    /// ```
    /// assert_eq!(mereo_data::toy::World::Shapes.name(), "shapes");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Shapes => "shapes",
            Self::Faces => "faces",
            Self::Ratings => "ratings",
            Self::Documents => "documents",
        }
    }

    /// How many rows the world has if nobody says otherwise.
    ///
    /// ```
    /// assert_eq!(mereo_data::toy::World::Documents.default_rows(), 1500);
    /// ```
    pub fn default_rows(self) -> usize {
        match self {
            Self::Shapes => shapes::COUNT,
            Self::Faces | Self::Ratings => 2000,
            Self::Documents => 1500,
        }
    }

    /// Makes the world: the same rows and seed give the same table.
    ///
    /// ```
    /// use mereo_data::toy::World;
    /// assert_eq!(World::Shapes.make(None, 0)?.table.rows(), 729);
    /// assert_eq!(World::Documents.make(Some(20), 3)?, World::Documents.make(Some(20), 3)?);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn make(self, rows: Option<usize>, seed: u64) -> Result<Toy> {
        let many = rows.unwrap_or_else(|| self.default_rows());
        match self {
            Self::Shapes => match rows {
                None => shapes::all(seed),
                Some(rows) => shapes::sample(rows, seed),
            },
            Self::Faces => faces::make(many, seed),
            Self::Ratings => ratings::make(many, seed),
            Self::Documents => documents::make(many, seed),
        }
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for World {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|world| world.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::option("world", format!("there is no `{text}`; there are {names}"))
        })
    }
}

/// A table and the truth about it.
///
/// ```
/// use mereo_data::toy::{Toy, World};
/// let Toy { table, truth } = World::Ratings.make(Some(30), 0)?;
/// assert_eq!(truth.part_of_column.len(), table.columns());
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Toy {
    /// What a learner may see.
    pub table: Table<f32>,
    /// What was planted.
    pub truth: Truth,
}

impl Toy {
    /// Adds Gaussian noise of this standard deviation to every observed cell of a dense world.
    ///
    /// ```
    /// use mereo_data::toy::World;
    /// let clean = World::Shapes.make(Some(5), 0)?;
    /// assert_ne!(clean.clone().with_noise(0.1, 0)?, clean);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn with_noise(self, sigma: f64, seed: u64) -> Result<Self> {
        if !(0.0..=1e6).contains(&sigma) {
            return Err(Error::option("noise", format!("{sigma} is not between 0 and 1e6")));
        }
        let Self { table, truth } = self;
        let (cells, about) = table.into_parts();
        let Cells::Dense(cells) = cells else {
            return Err(Error::option("noise", "noise would fill every cell of a sparse world"));
        };
        let context = Context::new(seed);
        let (rows, columns) = (cells.rows(), cells.columns());
        let mut values = cells.into_values();
        for (row, values) in values.chunks_mut(columns.max(1)).enumerate() {
            let mut random = context.random("toy noise", [row as u64, 0]);
            for value in values {
                let noise: f64 = random.sample(StandardNormal);
                *value += (sigma * noise) as f32;
            }
        }
        let table = Table::from(Dense::new(rows, columns, values)?).with_about(about)?;
        Ok(Self { table, truth })
    }

    /// Hides this fraction of the cells, each with the same chance whatever its value. Cells of
    /// a sparse world can be hidden if those that are not stored are unobserved; a count that
    /// is not stored is known to be zero, so there is no way to say that it is missing.
    ///
    /// ```
    /// use mereo_core::Cells;
    /// use mereo_data::toy::World;
    /// let toy = World::Shapes.make(Some(5), 0)?.with_missing(0.5, 0)?;
    /// let Cells::Dense(cells) = toy.table.cells() else { unreachable!() };
    /// assert!(!cells.is_complete());
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn with_missing(self, fraction: f64, seed: u64) -> Result<Self> {
        if !(0.0..=1.0).contains(&fraction) {
            return Err(Error::option("missing", format!("{fraction} is not between 0 and 1")));
        }
        let Self { table, truth } = self;
        let (cells, about) = table.into_parts();
        let context = Context::new(seed);
        let hidden = |row: usize| {
            let mut random = context.random("toy missing", [row as u64, 0]);
            move || random.random::<f64>() < fraction
        };
        let table = match cells {
            Cells::Dense(cells) => {
                let (rows, columns) = (cells.rows(), cells.columns());
                let mut values = cells.into_values();
                for (row, values) in values.chunks_mut(columns.max(1)).enumerate() {
                    let mut hide = hidden(row);
                    for value in values {
                        if hide() {
                            *value = f32::MISSING;
                        }
                    }
                }
                Table::from(Dense::new(rows, columns, values)?)
            }
            Cells::Sparse(cells) if cells.absent() == Absent::Unobserved => {
                let mut builder = Rows::new(cells.columns(), Absent::Unobserved);
                for row in 0..cells.rows() {
                    let mut hide = hidden(row);
                    let (columns, values) = cells.row(row);
                    for (&column, &value) in columns.iter().zip(values) {
                        if !hide() {
                            builder.cell(column as usize, value);
                        }
                    }
                    builder.end_row();
                }
                builder.table()?
            }
            Cells::Sparse(_) => {
                return Err(Error::option(
                    "missing",
                    "a count that is not stored is zero, so none of this world's can be hidden",
                ));
            }
        };
        Ok(Self { table: table.with_about(about)?, truth })
    }
}

fn check_rows(rows: usize) -> Result<()> {
    if (1..=MOST_ROWS).contains(&rows) {
        return Ok(());
    }
    Err(Error::option("rows", format!("{rows} is not between 1 and {MOST_ROWS}")))
}

/// Sparse rows being written, one after another.
struct Rows {
    columns: usize,
    absent: Absent,
    starts: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f32>,
}

impl Rows {
    fn new(columns: usize, absent: Absent) -> Self {
        Self { columns, absent, starts: vec![0], indices: Vec::new(), values: Vec::new() }
    }

    fn cell(&mut self, column: usize, value: f32) {
        self.indices.push(column as u32);
        self.values.push(value);
    }

    fn end_row(&mut self) {
        self.starts.push(self.values.len());
    }

    fn table(self) -> Result<Table<f32>> {
        let Self { columns, absent, starts, indices, values } = self;
        Ok(Table::from(Sparse::new(columns, starts, indices, values, absent)?))
    }
}

/// Draws an index with chances in proportion to these weights.
fn choose(weights: &[f64], random: &mut impl RngExt) -> usize {
    let mut left = random.random::<f64>() * weights.iter().sum::<f64>();
    for (index, &weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return index;
        }
    }
    // Rounding can leave a crumb beyond the last weight.
    weights.iter().rposition(|&w| w > 0.0).unwrap_or(0)
}

/// Text from a list of names.
fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}
