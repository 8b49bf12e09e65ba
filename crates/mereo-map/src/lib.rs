//! Maps: rows put on a page so that a person can look at them.
//!
//! Four ways to a map, from rows or from distances alone: principal coordinates ([`Method::Pcoa`]), metric
//! scaling ([`Method::Mds`]), Sammon's mapping ([`Method::Sammon`]) and t-SNE ([`Method::Tsne`]). A finished
//! [`Map`] says how good it is ([`Quality`]), is written to a file, and places new rows ([`Placer`]). The same
//! rows, choices and seed give the same map, whatever the number of threads.
//!
//! ```
//! use mereo_core::{Context, Dense, Manifest, ModelFile, Table};
//! use mereo_map::{Given, Journey, Map, MapParams, Method, Placer, Rows, fit};
//! // Two clusters in three dimensions.
//! let cells = (0..90).map(|i| f64::from(i / 45) * 9.0 + f64::from((i * 7919) % 31) / 31.0).collect();
//! let table = Table::from(Dense::new(30, 3, cells)?);
//! let rows = Rows::read(&table)?;
//! let context = Context::new(0).with_threads(2)?;
//! let mut journey = Journey { context: &context, checkpoints: None, watch: &mut |_| () };
//! let (map, _) = fit(&MapParams::new(Method::tsne()), &Given::Rows(&rows), None, &mut journey)?;
//! assert!(map.quality().trustworthiness > 0.8);
//! // A map is a file, and new rows have a place in it.
//! let bytes = map.to_file(Manifest::new(Map::KIND))?.to_bytes()?;
//! let (again, _) = Map::from_file(ModelFile::from_bytes(&bytes, "a map".as_ref())?, "a map".as_ref())?;
//! assert_eq!(again, map);
//! let placer = Placer::new(&again);
//! let new = Rows::read_about(&table.select_rows(&[3]), placer.centre().unwrap())?;
//! assert_eq!(placer.rows(&new)?.len(), 2);
//! # Ok::<(), mereo_core::Error>(())
//! ```

mod distances;
mod fit;
mod given;
mod journey;
mod lanczos;
mod map;
mod neighbours;
mod pairs;
mod params;
mod pcoa;
mod place;
mod procrustes;
mod quality;
mod rows;
mod tsne;

pub use distances::{Distances, Similarity};
pub use fit::fit;
pub use given::Given;
pub(crate) use given::Owned;
pub use journey::{Journey, Step};
pub use map::{Cost, Map};
pub use neighbours::{EXACT_ROWS, Index, Neighbours, neighbours};
pub use params::{
    Affinity, Forces, MapParams, MdsParams, Method, PairCost, PairParams, TsneParams, TsneStart,
};
pub use place::Placer;
pub use procrustes::{Fitted, procrustes};
pub use quality::{Quality, quality};
pub use rows::Rows;
