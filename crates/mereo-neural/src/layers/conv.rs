//! Convolutions as matrix products. Every place of the output sees a *patch* of the input, k x k pixels of all
//! channels, 0 beyond the edge. Patches written out are a matrix P `[places, k k c]`, and the convolution is
//! `Y = PWᵀ + b`. Its gradient with respect to the picture puts `GW` back where patches came from, adding
//! where they overlap; a transposed convolution is that map with a bias: `Y = put(XW) + b`.
//!
//! Patches are written out for a few pictures at a time, so that they stay in the caches.

use mereo_core::Real;
use mereo_core::math::{Matrix, product, product_nt, product_tn};
use serde::{Deserialize, Serialize};

use super::Given;
use super::dense::{add_columns, write_biases};

/// Most cells of patches at a time.
const PATCH_CELLS: usize = 1 << 17;

/// A picture's shape, channels last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grid {
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) channels: usize,
}

impl Grid {
    pub(crate) fn places(&self) -> usize {
        self.height * self.width
    }

    pub(crate) fn cells(&self) -> usize {
        self.places() * self.channels
    }

    /// The shape after a convolution of this stride that keeps edges.
    pub(crate) fn strided(&self, stride: usize, channels: usize) -> Self {
        let of = |size: usize| size.div_ceil(stride);
        Self { height: of(self.height), width: of(self.width), channels }
    }
}

/// The geometry of a convolution from one grid to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Conv {
    pub(crate) from: Grid,
    pub(crate) to: Grid,
    pub(crate) kernel: usize,
    pub(crate) stride: usize,
}

impl Conv {
    /// Numbers in a patch.
    pub(super) fn patch(&self) -> usize {
        self.kernel * self.kernel * self.from.channels
    }

    pub(super) fn weight_shape(&self) -> Vec<usize> {
        vec![self.to.channels, self.kernel, self.kernel, self.from.channels]
    }

    /// Pictures whose patches are written out together.
    fn together(&self) -> usize {
        (PATCH_CELLS / (self.to.places() * self.patch()).max(1)).max(1)
    }

    /// Calls `visit(place's pixels in the patches, its pixels in the picture)` for each stretch of a patch
    /// that is inside of the picture.
    #[inline(always)]
    fn stretches(&self, mut visit: impl FnMut(usize, usize, usize)) {
        let (k, c) = (self.kernel, self.from.channels);
        let margin = (k - 1) / 2;
        for oy in 0..self.to.height {
            for ox in 0..self.to.width {
                let place = (oy * self.to.width + ox) * self.patch();
                // Where the patch begins and ends in the picture, and what of it is outside.
                let left = (ox * self.stride) as isize - margin as isize;
                let first = left.max(0);
                let end = (left + k as isize).min(self.from.width as isize);
                for ky in 0..k {
                    let y = (oy * self.stride + ky) as isize - margin as isize;
                    if y < 0 || y >= self.from.height as isize || first >= end {
                        continue;
                    }
                    let patch = place + (ky * k + (first - left) as usize) * c;
                    let picture = (y as usize * self.from.width + first as usize) * c;
                    visit(patch, picture, (end - first) as usize * c);
                }
            }
        }
    }

    fn write_patches<T: Real>(&self, pictures: &[T], patches: &mut Vec<T>) {
        let (cells, width) = (self.from.cells(), self.to.places() * self.patch());
        patches.clear();
        patches.resize(pictures.len() / cells * width, T::ZERO);
        for (picture, own) in pictures.chunks_exact(cells).zip(patches.chunks_exact_mut(width)) {
            self.stretches(|patch, at, length| {
                own[patch..patch + length].copy_from_slice(&picture[at..at + length]);
            });
        }
    }

    fn add_patches<T: Real>(&self, patches: &[T], pictures: &mut [T]) {
        let (cells, width) = (self.from.cells(), self.to.places() * self.patch());
        for (picture, own) in pictures.chunks_exact_mut(cells).zip(patches.chunks_exact(width)) {
            self.stretches(|patch, at, length| {
                let (to, from) = (&mut picture[at..at + length], &own[patch..patch + length]);
                to.iter_mut().zip(from).for_each(|(to, &x)| *to += x);
            });
        }
    }

    fn weights<'a, T: Real>(&self, parameters: &'a [T]) -> (Matrix<'a, T>, &'a [T]) {
        let (weights, biases) = parameters.split_at(self.to.channels * self.patch());
        (Matrix::new(weights, self.to.channels, self.patch()), biases)
    }

    pub(super) fn forward<T: Real>(
        &self,
        parameters: &[T],
        rows: usize,
        inputs: &[T],
        outputs: &mut [T],
        scratch: &mut Vec<T>,
    ) {
        let (weights, biases) = self.weights(parameters);
        let inputs = inputs[..rows * self.from.cells()].chunks(self.together() * self.from.cells());
        let outputs = outputs.chunks_mut(self.together() * self.to.cells());
        for (inputs, outputs) in inputs.zip(outputs) {
            self.write_patches(inputs, scratch);
            write_biases(biases, outputs);
            let places = outputs.len() / self.to.channels;
            product_nt(outputs, Matrix::new(scratch, places, self.patch()), weights, true);
        }
    }

    pub(super) fn backward<T: Real>(
        &self,
        Given { parameters, rows, inputs }: Given<'_, T>,
        by_outputs: &[T],
        gradient: &mut [T],
        mut by_inputs: Option<&mut [T]>,
        scratch: &mut Vec<T>,
    ) {
        let (weights, _) = self.weights(parameters);
        let (by_weights, by_biases) = gradient.split_at_mut(self.to.channels * self.patch());
        add_columns(&by_outputs[..rows * self.to.cells()], by_biases);
        let (small, large) =
            (self.together() * self.to.cells(), self.together() * self.from.cells());
        let all = inputs[..rows * self.from.cells()].chunks(large).zip(by_outputs.chunks(small));
        for (at, (inputs, slopes)) in all.enumerate() {
            let places = slopes.len() / self.to.channels;
            let slopes = Matrix::new(slopes, places, self.to.channels);
            self.write_patches(inputs, scratch);
            product_tn(by_weights, slopes, Matrix::new(scratch, places, self.patch()), true);
            if let Some(by_inputs) = by_inputs.as_deref_mut() {
                product(scratch, slopes, weights, false);
                let own = &mut by_inputs[at * large..at * large + inputs.len()];
                own.fill(T::ZERO);
                self.add_patches(scratch, own);
            }
        }
    }

    pub(super) fn forward_transposed<T: Real>(
        &self,
        parameters: &[T],
        rows: usize,
        inputs: &[T],
        outputs: &mut [T],
        scratch: &mut Vec<T>,
    ) {
        let (weights, biases) = self.weights(parameters);
        let inputs = inputs[..rows * self.to.cells()].chunks(self.together() * self.to.cells());
        let outputs = outputs.chunks_mut(self.together() * self.from.cells());
        for (inputs, outputs) in inputs.zip(outputs) {
            let places = inputs.len() / self.to.channels;
            scratch.clear();
            scratch.resize(places * self.patch(), T::ZERO);
            product(scratch, Matrix::new(inputs, places, self.to.channels), weights, false);
            write_biases(biases, outputs);
            self.add_patches(scratch, outputs);
        }
    }

    pub(super) fn backward_transposed<T: Real>(
        &self,
        Given { parameters, rows, inputs }: Given<'_, T>,
        by_outputs: &[T],
        gradient: &mut [T],
        mut by_inputs: Option<&mut [T]>,
        scratch: &mut Vec<T>,
    ) {
        let (weights, _) = self.weights(parameters);
        let (by_weights, by_biases) = gradient.split_at_mut(self.to.channels * self.patch());
        add_columns(&by_outputs[..rows * self.from.cells()], by_biases);
        let (small, large) =
            (self.together() * self.to.cells(), self.together() * self.from.cells());
        let all = inputs[..rows * self.to.cells()].chunks(small).zip(by_outputs.chunks(large));
        for (at, (inputs, slopes)) in all.enumerate() {
            let places = inputs.len() / self.to.channels;
            self.write_patches(slopes, scratch);
            let patches = Matrix::new(scratch, places, self.patch());
            product_tn(by_weights, Matrix::new(inputs, places, self.to.channels), patches, true);
            if let Some(by_inputs) = by_inputs.as_deref_mut() {
                let own = &mut by_inputs[at * small..at * small + inputs.len()];
                product_nt(own, patches, weights, false);
            }
        }
    }
}
