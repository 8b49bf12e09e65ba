//! Numbers with a shape that is part of their type: formulas look like formulas.

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::Matrix;
use crate::{Real, Tensor};

/// Numbers with `N` indices, the last fastest. It is a slice of all its numbers as well, for what goes over all
/// of them; [`at`](Self::at) leads to a part of them by its first indices.
///
/// ```
/// use mereo_core::math::Array;
/// // Means of 2 parts with 3 states each, over 4 columns.
/// let mut mean = Array::zeros([2, 3, 4]);
/// mean.at_mut([1, 2])[3] = 5.0;
/// assert_eq!(mean.at([1, 2]), [0.0, 0.0, 0.0, 5.0]);
/// assert_eq!(mean.at([1]).len(), 12);
/// assert_eq!(mean.iter().sum::<f64>(), 5.0);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Array<const N: usize, T = f64> {
    shape: [usize; N],
    values: Vec<T>,
}

/// No numbers: room to be made later.
impl<const N: usize, T> Default for Array<N, T> {
    fn default() -> Self {
        Self { shape: [0; N], values: Vec::new() }
    }
}

impl<const N: usize, T: Real> Array<N, T> {
    /// Zeros of this shape.
    pub fn zeros(shape: [usize; N]) -> Self {
        Self { shape, values: vec![T::ZERO; shape.iter().product()] }
    }

    /// Values of this shape; there must be as many.
    pub fn new(shape: [usize; N], values: Vec<T>) -> Self {
        let places: usize = shape.iter().product();
        assert_eq!(values.len(), places, "as many values as {shape:?} has places");
        Self { shape, values }
    }

    /// Its extent along each index.
    pub fn shape(&self) -> [usize; N] {
        self.shape
    }

    /// Where the numbers below some first indices stand.
    #[inline(always)]
    fn range<const M: usize>(&self, first: [usize; M]) -> std::ops::Range<usize> {
        const { assert!(M < N, "a part of an array needs fewer indices than the array has") };
        let mut place = 0;
        for (&index, &extent) in first.iter().zip(&self.shape) {
            debug_assert!(index < extent, "{first:?} of {:?}", self.shape);
            place = place * extent + index;
        }
        let size: usize = self.shape[M..].iter().product();
        place * size..(place + 1) * size
    }

    /// The numbers below some first indices.
    #[inline(always)]
    pub fn at<const M: usize>(&self, first: [usize; M]) -> &[T] {
        &self.values[self.range(first)]
    }

    /// The numbers below some first indices, to be changed.
    #[inline(always)]
    pub fn at_mut<const M: usize>(&mut self, first: [usize; M]) -> &mut [T] {
        let range = self.range(first);
        &mut self.values[range]
    }

    /// The matrix that the last two indices span below all others.
    ///
    /// ```
    /// use mereo_core::math::{Array, product};
    /// let turns = Array::new([2, 2, 2], vec![1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0]);
    /// let mut out = Array::zeros([2, 2]);
    /// product(&mut out, turns.matrix([1]), turns.matrix([1]), false);
    /// assert_eq!(&*out, turns.at([0]));
    /// ```
    pub fn matrix<const M: usize>(&self, first: [usize; M]) -> Matrix<'_, T> {
        const { assert!(M + 2 == N, "a matrix has two indices") };
        Matrix::new(self.at(first), self.shape[M], self.shape[M + 1])
    }
}

impl<T: Real> Array<2, T> {
    /// The matrix that changes nothing.
    ///
    /// ```
    /// use mereo_core::math::Array;
    /// assert_eq!(&*Array::<2>::identity(2), [1.0, 0.0, 0.0, 1.0]);
    /// ```
    pub fn identity(size: usize) -> Self {
        let mut one = Self::zeros([size, size]);
        (0..size).for_each(|i| one.row_mut(i)[i] = T::ONE);
        one
    }

    /// One row.
    #[inline(always)]
    pub fn row(&self, row: usize) -> &[T] {
        self.at([row])
    }

    /// One row, to be changed.
    #[inline(always)]
    pub fn row_mut(&mut self, row: usize) -> &mut [T] {
        self.at_mut([row])
    }

    /// All rows in order.
    pub fn rows(&self) -> std::slice::ChunksExact<'_, T> {
        self.values.chunks_exact(self.shape[1].max(1))
    }

    /// All rows in order, to be changed.
    pub fn rows_mut(&mut self) -> std::slice::ChunksExactMut<'_, T> {
        self.values.chunks_exact_mut(self.shape[1].max(1))
    }

    /// The numbers of one column.
    pub fn column(&self, column: usize) -> impl Iterator<Item = T> + '_ {
        self.rows().map(move |row| row[column])
    }

    /// The whole as a matrix.
    pub fn view(&self) -> Matrix<'_, T> {
        self.matrix([])
    }

    /// Rows become columns.
    ///
    /// ```
    /// use mereo_core::math::Array;
    /// assert_eq!(Array::new([1, 2], vec![1.0, 2.0]).turned().shape(), [2, 1]);
    /// ```
    #[must_use]
    pub fn turned(&self) -> Self {
        let [rows, columns] = self.shape;
        let values = (0..columns).flat_map(|column| self.column(column)).collect();
        Self { shape: [columns, rows], values }
    }
}

impl<const N: usize, T> Array<N, T> {
    /// All its numbers, given away.
    pub fn into_values(self) -> Vec<T> {
        self.values
    }
}

impl<const N: usize> Array<N> {
    /// The same as a tensor of a file.
    pub fn to_tensor(&self) -> Tensor {
        Tensor::new(self.shape.to_vec(), self.values.clone())
    }
}

impl<const N: usize, T> Deref for Array<N, T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.values
    }
}

impl<const N: usize, T> DerefMut for Array<N, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values
    }
}

impl<'a, const N: usize, T> IntoIterator for &'a Array<N, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.values.iter()
    }
}

impl<const N: usize, T: Serialize> Serialize for Array<N, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.shape[..], &self.values).serialize(serializer)
    }
}

impl<'de, const N: usize, T: Deserialize<'de>> Deserialize<'de> for Array<N, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (shape, values) = <(Vec<usize>, Vec<T>)>::deserialize(deserializer)?;
        let size = shape.iter().try_fold(1usize, |size, &extent| size.checked_mul(extent));
        match <[usize; N]>::try_from(shape) {
            Ok(shape) if size == Some(values.len()) => Ok(Self { shape, values }),
            _ => Err(de::Error::custom("an array whose shape is not that of its values")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{pack, unpack};

    #[test]
    fn indices_lead_to_the_numbers_that_they_name() {
        let array = Array::new([2, 3, 2], (0..12).map(f64::from).collect());
        assert_eq!(array.at([1, 2]), [10.0, 11.0]);
        assert_eq!(array.at([1]), &array[6..]);
        assert_eq!(array.at([]), &array[..]);
        let matrix = Array::new([2, 3], (0..6).map(f64::from).collect());
        assert_eq!(matrix.column(1).collect::<Vec<_>>(), [1.0, 4.0]);
        assert_eq!(&*matrix.turned(), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    }

    #[test]
    fn what_travels_keeps_its_shape_and_nothing_else_is_taken_for_it() {
        let array = Array::new([2, 0, 3], Vec::<f64>::new());
        let bytes = pack(&array).unwrap();
        assert_eq!(unpack::<Array<3>>(&bytes).unwrap(), array);
        assert!(unpack::<Array<2>>(&bytes).is_err());
        let wrong = pack(&(vec![2usize, 2], vec![1.0, 2.0, 3.0])).unwrap();
        assert!(unpack::<Array<2>>(&wrong).is_err());
        let huge = pack(&(vec![usize::MAX, 2], Vec::<f64>::new())).unwrap();
        assert!(unpack::<Array<2>>(&huge).is_err());
    }
}
