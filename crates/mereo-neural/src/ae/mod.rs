//! Auto-encoders: a network that makes a short code of a row, and one that makes the row of the code again.
//!
//! With E the encoder and D the decoder, learning makes the reconstruction error of rows x small:
//!
//! `½ Σ_d (x_d - D(E(x))_d)²`, over the observed cells of each row, in units of the columns' spread,
//!
//! or for cells from 0 to 1 the cross-entropy of x and the decoder's chances. The *bound* is minus that sum.
//! A missing cell is 0, the column's mean, on the way in, and no part of the error.
//!
//! **Denoising.** A code larger than needed can pass its input on. So the encoder may be given a corrupted row,
//! `D(E(noise(x)))`, while the error is of x itself: additive Gaussian noise, cells masked, or salt and pepper, drawn
//! anew at every look. Where only some cells are hit, their errors count `emphasis` times as much: the code must
//! tell what a hidden cell was.
//!
//! **Stacking.** Layers can be learned one by one. The first encoder and decoder layer learn alone; its codes
//! of *clean* rows, `z = E₁(x)`, are rows for the second, whose error is `‖D₂(E₂(noise(z))) - z‖²`; and so on. Then
//! all of them go on together, from x to x. Joint learning from scratch is the same without the stages before.
//!
//! **A classifier.** With labels, a copy of the encoder gets a last layer with one output a class, `softmax(Vz + b)`,
//! and all of it goes on learning from the labelled rows: `Σ log p(label)`. Codes and reconstructions stay as they
//! were learned from all rows.
//!
//! **Samples.** Codes of the rows have a mean and a covariance; new rows are decoded from normal numbers with
//! these.
//!
//! **Stored in few bits.** With `codebooks` M, codes are quantised: k-means of the codes, then k-means of what that
//! leaves, and so on. A row is then M numbers below `entries`, its code the sum of the entries that they name.

mod classify;
mod codebooks;
mod fit;
mod kind;
mod learner;
mod model;
mod params;
mod stack;
#[cfg(test)]
mod tests;

pub(crate) use classify::LabelsTask;
pub use fit::fit;
pub use model::Ae;
pub use params::{AeClasses, AeParams, Loss};
