//! mereo learns the parts that data is made of: this crate is the front door.
//!
//! # A walk
//!
//! **Fit.** A [`Table`] holds rows of `f32` or `f64`, with NaN where a cell is missing. [`Fit`] takes what you choose
//! for a model, and everything else has a default:
//!
//! ```
//! use mereo::parts::McvqParams;
//! use mereo::{Context, Dense, Fit, Fitted, Table};
//!
//! // Two columns that go together, two others that go together, and holes in them.
//! let hole = f64::NAN;
//! let cells: Vec<f64> = (0..200)
//!     .flat_map(|i| {
//!         let (a, b) = (f64::from(i % 2), f64::from(i / 2 % 2));
//!         [a, if i % 7 == 0 { hole } else { 5.0 * a }, b, if i % 5 == 0 { hole } else { -b }]
//!     })
//!     .collect();
//! let names = ["a", "five a", "b", "minus b"].map(str::to_owned).to_vec();
//! let table = Table::from(Dense::new(200, 4, cells)?).with_names(names)?;
//! let fitted = Fit::new(McvqParams::new(2, 2)).seed(1).run(&table)?;
//!
//! // **Look.** What belongs together?
//! let parts = fitted.model.parts().map(|view| view.part_of_column()).unwrap_or_default();
//! assert!(parts[0] == parts[1] && parts[2] == parts[3] && parts[0] != parts[2]);
//!
//! // **Fill** the holes, **score** rows, **explain** them.
//! let context = Context::new(0);
//! let filled = fitted.reconstruct(&table, true, &context)?;
//! assert!(filled.values().iter().all(|x| x.is_finite()));
//! let scores = fitted.score(&table, None, &context)?;
//! assert_eq!(scores.rows.len(), 200);
//! assert_eq!(fitted.explain(&table, &[3], &context)?[0].parts.len(), 2);
//!
//! // **Save** and **open**: one file that says all about itself.
//! let folder = tempfile::tempdir().unwrap();
//! let path = folder.path().join("model.safetensors");
//! fitted.save(&path)?;
//! assert_eq!(Fitted::open(&path)?.model, fitted.model);
//!
//! // **Stream**: anything that is a `Source` will do where a table did, a file larger than memory, say.
//! let file = folder.path().join("rows.npy");
//! mereo::data::write::write_table(&file, &table.into())?;
//! let mereo::data::AnySource::F64(stream) = mereo::data::open_stream(&file, &Default::default())? else {
//!     unreachable!("the file holds double precision")
//! };
//! let again = Fit::new(McvqParams::new(2, 2)).seed(1).run(&*stream)?;
//! assert_eq!(again.model, fitted.model);
//! # Ok::<(), mereo::Error>(())
//! ```
//!
//! # The models
//!
//! [`models`] lists them with what can be chosen for each and what it can do; so does `docs/models.md`.
//!
//! | parts | mixtures | codebooks and features | linear | ratings | networks |
//! |---|---|---|---|---|---|
//! | [`Mcvq`](parts::Mcvq), [`Mcfa`](parts::Mcfa) | [`Gmm`](mixture::Gmm), [`Student`](mixture::Student), [`DeepGmm`](mixture::DeepGmm) | [`Vq`](quantize::Vq), [`Gvq`](quantize::Gvq), [`Cvq`](quantize::Cvq) | [`Pca`](linear::Pca), [`Ppca`](linear::Ppca), [`Fa`](linear::Fa), [`Nmf`](linear::Nmf) | [`Aspect`](ratings::Aspect), [`Urp`](ratings::Urp), [`Bfa`](ratings::Bfa) | [`Ae`](neural::Ae), [`Vae`](neural::Vae) |
//!
//! A model of your own is a type that implements [`Model`]: `examples/poisson_mixture.rs` has a whole one.

pub mod denoise;
pub mod rater;
pub mod segment;

mod align;
mod align_sparse;
mod any_model;
mod average;
mod data_of;
mod elsewhere;
mod fit;
mod fitted;
mod mapped;
mod models;
mod numbers;
mod page;
mod seen;
mod tables;

pub use align::align as align_columns;
pub use any_model::AnyModel;
pub use average::MOST_MEMBERS;
pub use data_of::{Data, Held};
pub use elsewhere::{Ask, Elsewhere, Window, answer, merge_answers};
pub use fit::Fit;
pub use fitted::{Alike, Classified, Confusion, Criteria, Explained, Fitted, Shown, own_names};
pub use mapped::{MapFit, Mapped};
#[doc(inline)]
pub use mereo_core::*;
pub use mereo_data as data;
pub use mereo_field as field;
pub use mereo_linear as linear;
pub use mereo_map as map;
pub use mereo_mixture as mixture;
pub use mereo_neural as neural;
pub use mereo_parts as parts;
pub use mereo_quantize as quantize;
pub use mereo_ratings as ratings;
pub use models::{AnyParams, ModelKind, answers, model, models, models_in_markdown};
pub use page::{Names, write_report};
pub use tables::{
    Filled, Filling, Group, Grouped, Odd, OddCell, Origin, Standing, Together, Tried, fill, groups,
    odd, stand_out, together, write_completed,
};

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
