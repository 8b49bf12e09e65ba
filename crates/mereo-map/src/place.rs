//! New rows in a finished map. Each is placed on its own: one by one they are where they are all
//! together.

use mereo_core::{Error, Place, Result, in_parallel};

use crate::map::{Map, Reference};
use crate::neighbours::index::Search;
use crate::neighbours::{Cloud, smallest};
use crate::params::{Method, PairCost};
use crate::pcoa::{Gower, project};
use crate::rows::{Rows, square_distance};
use crate::{pairs, tsne};

/// Rows that are placed together.
const PIECE: usize = 128;
/// Known points that a new one is compared with in maps of pairs: all of so many; of more, the
/// nearest and an even sample.
const ALL: usize = 4000;
const NEAREST: usize = 500;
const SAMPLE: usize = 2000;

/// A map made ready to place new rows.
///
/// ```
/// use mereo_core::{Context, Dense, Table};
/// use mereo_map::{Given, Journey, MapParams, Method, Placer, Rows, fit};
/// let table = Table::from(Dense::new(3, 1, vec![0.0, 1.0, 5.0])?);
/// let rows = Rows::read(&table)?;
/// let mut journey =
///     Journey { context: &Context::new(0), checkpoints: None, watch: &mut |_| () };
/// let params = MapParams { dimensions: 1, ..MapParams::new(Method::Pcoa) };
/// let (map, _) = fit(&params, &Given::Rows(&rows), None, &mut journey)?;
/// let placer = Placer::new(&map);
/// let new = Rows::read_about(&Table::from(Dense::new(1, 1, vec![5.0])?), placer.centre().unwrap())?;
/// assert!((placer.rows(&new)?[0] - map.points()[2]).abs() < 1e-12);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub struct Placer<'a> {
    map: &'a Map,
    /// Points of the rows that the map was made of.
    known: Vec<f64>,
    way: Way<'a>,
}

enum Way<'a> {
    Axes { axes: &'a [f64] },
    Gower { values: &'a [f64], mean_square: &'a [f64], weights: Vec<f64> },
    Pairs { cost: PairCost, weights: Option<&'a [f64]> },
    Near(tsne::place::Placer),
}

/// Where the nearest rows are looked for.
enum Look<'a> {
    All(Cloud<'a>),
    Index(Search),
}

impl std::fmt::Debug for Placer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Placer").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

impl<'a> Placer<'a> {
    /// Makes a map ready.
    pub fn new(map: &'a Map) -> Self {
        let known = map.known_points();
        let way = match (map.reference(), &map.params().method) {
            (Reference::Axes { axes, .. }, _) => Way::Axes { axes },
            (Reference::Gower { values, mean_square, weights }, _) => {
                let ones = || vec![1.0; mean_square.len()];
                let weights = weights.clone().unwrap_or_else(ones);
                Way::Gower { values, mean_square, weights }
            }
            (
                Reference::Rows { weights, .. } | Reference::Things { weights },
                Method::Mds(_) | Method::Sammon(_),
            ) => {
                let cost = match &map.params().method {
                    Method::Mds(params) => params.cost,
                    _ => PairCost::Sammon,
                };
                Way::Pairs { cost, weights: weights.as_deref() }
            }
            (_, method) => {
                let degrees = if let Method::Tsne(params) = method { params.degrees } else { 1.0 };
                Way::Near(tsne::place::Placer::new(&known, map.dimensions(), degrees))
            }
        };
        Self { map, known, way }
    }

    /// What new rows are to be measured from; nothing if the map was made of distances.
    pub fn centre(&self) -> Option<&'a [f64]> {
        match self.map.reference() {
            Reference::Axes { centre, .. } | Reference::Rows { centre, .. } => Some(centre),
            _ => None,
        }
    }

    /// How many known things a new thing's distances must be given from; nothing if rows are needed.
    pub fn things(&self) -> Option<usize> {
        match self.map.reference() {
            Reference::Gower { .. } | Reference::Things { .. } => {
                Some(self.known.len() / self.map.dimensions())
            }
            _ => None,
        }
    }

    /// Where new rows are, measured from [`centre`](Self::centre): `[rows, dimensions]`. In parallel on a
    /// context's threads.
    pub fn rows(&self, rows: &Rows) -> Result<Vec<f64>> {
        let (dimensions, columns) = (self.map.dimensions(), rows.columns());
        let wrong = |expected: String| {
            let found = format!("rows of {columns} columns");
            Err(Error::found(Place::default(), found, expected))
        };
        let Some(centre) = self.centre() else {
            return wrong("distances from the things that the map was made of".to_owned());
        };
        if centre.len() != columns {
            return wrong(format!("the {} columns that the map was made of", centre.len()));
        }
        if let Way::Axes { axes } = &self.way {
            let zero = vec![0.0; columns];
            // Measured from the centre of the map, whatever the rows were measured from.
            let off: Vec<f64> = rows.centre().iter().zip(centre).map(|(r, c)| c - r).collect();
            let mean = if off.iter().all(|o| *o == 0.0) { &zero } else { &off };
            return on_the_map(project(rows.values(), columns, mean, axes, dimensions), dimensions);
        }
        let Reference::Rows { values, index, .. } = self.map.reference() else {
            return wrong("distances".to_owned());
        };
        if rows.centre() != centre {
            return wrong("rows that are measured from the map's centre".to_owned());
        }
        let look = match index {
            None => Look::All(Cloud::new(values.as_slice(), columns)),
            Some(index) => Look::Index(Search::new(values, columns, index.clone())),
        };
        let mut out = vec![0.0; rows.rows() * dimensions];
        let pieces = out.chunks_mut(PIECE * dimensions).zip(rows.values().chunks(PIECE * columns));
        in_parallel(pieces, |(out, queries)| {
            self.place_piece(&look, values, queries, columns, out);
        });
        on_the_map(out, dimensions)
    }

    fn place_piece(
        &self,
        look: &Look<'_>,
        values: &[f64],
        queries: &[f64],
        columns: usize,
        out: &mut [f64],
    ) {
        let dimensions = self.map.dimensions();
        let known = self.known.len() / dimensions;
        let count = match &self.way {
            Way::Near(_) => tsne::place::NEIGHBOURS.min(known),
            _ if known > ALL => NEAREST,
            _ => 0,
        };
        let near = match look {
            _ if count == 0 => vec![Vec::new(); queries.len() / columns],
            Look::All(cloud) => cloud.nearest(queries, count),
            Look::Index(search) => {
                queries.chunks_exact(columns).map(|query| search.nearest(query, count)).collect()
            }
        };
        let each = queries.chunks_exact(columns).zip(near);
        for ((query, near), out) in each.zip(out.chunks_exact_mut(dimensions)) {
            match &self.way {
                Way::Near(placer) => placer.place(&near, out),
                Way::Pairs { cost, weights } => {
                    let row = |j: usize| &values[j * columns..(j + 1) * columns];
                    let distance = |j: usize| square_distance(query, row(j)).sqrt();
                    let nearest: Vec<usize> = near.iter().map(|n| n.1 as usize).collect();
                    let some = compared(known, &nearest);
                    let known: Vec<(f64, usize)> =
                        some.into_iter().map(|j| (distance(j), j)).collect();
                    pairs::place(*cost, &known, &self.known, *weights, out);
                }
                Way::Axes { .. } | Way::Gower { .. } => {}
            }
        }
    }

    /// Where new things are, from their distances: `[things, known]`, row after row.
    pub fn distances(&self, distances: &[f64]) -> Result<Vec<f64>> {
        let dimensions = self.map.dimensions();
        let Some(known) = self.things() else {
            return Err(Error::found(
                Place::default(),
                "distances",
                "rows of the columns that the map was made of",
            ));
        };
        if known == 0 || !distances.len().is_multiple_of(known) {
            return Err(Error::found(
                Place::default(),
                format!("{} distances", distances.len()),
                format!("one from each of the {known} things that the map was made of, row by row"),
            ));
        }
        if let Some(k) = distances.iter().position(|d| !(d.is_finite() && *d >= 0.0)) {
            let found =
                if distances[k].is_nan() { "nothing".to_owned() } else { distances[k].to_string() };
            let place = Place::at_row(k / known).column(k % known);
            return Err(Error::found(place, found, "a distance of at least 0"));
        }
        let mut out = vec![0.0; distances.len() / known * dimensions];
        let pieces = out.chunks_mut(PIECE * dimensions).zip(distances.chunks(PIECE * known));
        in_parallel(pieces, |(out, distances)| {
            for (out, own) in out.chunks_exact_mut(dimensions).zip(distances.chunks_exact(known)) {
                match &self.way {
                    Way::Gower { values, mean_square, weights } => {
                        Gower { points: &self.known, values, mean_square, weights }.place(own, out);
                    }
                    Way::Near(placer) => {
                        let mut near: Vec<(f64, u32)> =
                            own.iter().enumerate().map(|(j, d)| (d * d, j as u32)).collect();
                        smallest(&mut near, tsne::place::NEIGHBOURS);
                        placer.place(&near, out);
                    }
                    Way::Pairs { cost, weights } => {
                        let mut nearest = Vec::new();
                        if known > ALL {
                            let mut near: Vec<(f64, u32)> =
                                own.iter().enumerate().map(|(j, d)| (*d, j as u32)).collect();
                            smallest(&mut near, NEAREST);
                            nearest = near.iter().map(|n| n.1 as usize).collect();
                        }
                        let some: Vec<(f64, usize)> =
                            compared(known, &nearest).into_iter().map(|j| (own[j], j)).collect();
                        pairs::place(*cost, &some, &self.known, *weights, out);
                    }
                    Way::Axes { .. } => {}
                }
            }
        });
        on_the_map(out, dimensions)
    }
}

/// The known rows that a new one is compared with.
fn compared(known: usize, nearest: &[usize]) -> Vec<usize> {
    if nearest.is_empty() {
        return (0..known).collect();
    }
    let mut some: Vec<usize> = nearest.to_vec();
    some.extend((0..SAMPLE).map(|k| k * known / SAMPLE));
    some.sort_unstable();
    some.dedup();
    some
}

/// Places `[rows, dimensions]`, if all of them are numbers: rows may be too far out to be measured.
fn on_the_map(places: Vec<f64>, dimensions: usize) -> Result<Vec<f64>> {
    match places.iter().position(|x| !x.is_finite()) {
        None => Ok(places),
        Some(at) => Err(Error::found(
            Place::at_row(at / dimensions),
            "a row whose place is beyond all numbers",
            "rows of about the size of those that the map was made of",
        )),
    }
}
