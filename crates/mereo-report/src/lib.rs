//! One self-contained HTML page that shows what a model learned.
//!
//! The page needs no network, opens from disk, follows the reader's light or dark setting and is
//! readable on a phone. This crate only draws: whoever calls it computes the reconstructions,
//! samples and scores to show, and hands them over as a [`Subject`]. Everything in a subject
//! beside the manifest may be absent, and the page adapts.
//!
//! ```
//! use mereo_core::{Manifest, PartsView};
//! use mereo_report::{Subject, render};
//!
//! // Two parts of two columns each; the first column of either says most.
//! let gate = [1.0, 0.0, 0.9, 0.1, 0.0, 1.0, 0.2, 0.8];
//! let mean = [1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 7.0, 8.0];
//! let parts = PartsView {
//!     columns: 4,
//!     parts: 2,
//!     states: 2,
//!     appearance: mereo_core::Appearance::States,
//!     gate: &gate,
//!     state_prior: &[0.5, 0.5, 0.7, 0.3],
//!     mean: &mean,
//! };
//! let manifest = Manifest::new("mcvq");
//! let page = render(&Subject { parts: Some(parts), ..Subject::new("My model", &manifest) });
//! assert!(page.starts_with("<!DOCTYPE html>"));
//! assert!(page.contains("2 parts, each with 2 appearances"));
//! ```

mod about;
mod chart;
mod classes;
mod compared;
mod components;
mod experts;
mod features;
mod field;
mod galleries;
mod gates;
mod layers;
mod map;
mod page;
mod palette;
mod part_columns;
mod part_pictures;
mod parts;
mod pictures;
mod rows;
mod samples;
mod scores;
mod sizes;
mod sparse;
mod subject;
mod summary;
mod text;
mod together;
mod training;
mod view;

#[cfg(test)]
mod tests;

use std::path::Path;

use mereo_core::{Result, write_atomically};

pub use field::{FieldPage, MethodTried, ShownPicture, render_field, write_field};
pub use map::{MapPage, render_map, write_map};
pub use subject::{
    Combination, Compared, Drawn, FeaturesView, Gallery, Look, ShownClasses, ShownLayer, ShownRows,
    Subject, Together,
};

/// The page, as text.
///
/// Nothing in the subject can break it: what does not fit together is left out, what is too much
/// is capped with a word about the rest, and what is not a number is shown as a dash.
///
/// ```
/// use mereo_core::Manifest;
/// use mereo_report::{Subject, render};
/// let manifest = Manifest::new("vq");
/// assert!(render(&Subject::new("<b>", &manifest)).contains("<h1>&lt;b&gt;</h1>"));
/// ```
pub fn render(subject: &Subject<'_>) -> String {
    page::page(&view::View::new(subject)).into_string()
}

/// Writes the page to a file, whole or not at all.
///
/// ```
/// use mereo_core::Manifest;
/// use mereo_report::{Subject, write};
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("report.html");
/// write(&Subject::new("A model", &Manifest::new("vq")), &path)?;
/// assert!(std::fs::read_to_string(&path).unwrap().contains("A model"));
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn write(subject: &Subject<'_>, path: &Path) -> Result<()> {
    let page = render(subject);
    write_atomically(path, |out| out.write_all(page.as_bytes()))
}
