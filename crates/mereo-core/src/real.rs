//! The two number types that data comes in.

use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, MatMut, MatRef, Par};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{DynModel, Lent, OnRows, Source};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// `f32` or `f64`: the type of a table's cells. Tables keep the type their data came in;
/// statistics are added up in `f64` whatever that type is.
pub trait Real:
    sealed::Sealed
    + faer::traits::RealField
    + bytemuck::Pod
    + Copy
    + Default
    + Debug
    + Display
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + Sum
    + Serialize
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
    /// The type's name as users write it.
    const NAME: &'static str;
    /// The largest magnitude that a cell may have, so that no square or sum overflows.
    const LARGEST: f64;
    /// The smallest spread that a column can be divided by.
    const SMALLEST_SPREAD: f64;
    /// How many deviations from the mean a cell can be told to be.
    const FARTHEST: Self;
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Not a number: a missing cell at the border.
    const MISSING: Self;
    /// From `f64`, rounded.
    fn from_f64(value: f64) -> Self;
    /// To `f64`, exactly.
    fn to_f64(self) -> f64;
    /// Whether this is the mark of a missing cell.
    fn is_missing(self) -> bool;
    /// Whether this is plus or minus infinity.
    fn is_infinity(self) -> bool;
    /// Replaces every value by its exponential, vectorised. See [`crate::math::exp_in_place`].
    fn exp_in_place(values: &mut [Self]);
    /// The natural logarithm of a positive number, which loops over many can be vectorised with.
    #[must_use]
    fn quick_ln(self) -> Self;
    /// The square root, which loops over many can be vectorised with.
    #[must_use]
    fn root(self) -> Self;
    /// A source of such cells, as one of either type.
    fn lend(source: &dyn Source<Self>) -> Lent<'_>;
    /// What a model can do with rows of such cells.
    fn on_rows(model: &dyn DynModel) -> OnRows<'_, Self>;
    /// `out = left · right`, or that added to it, on one thread. The products in
    /// [`math`](crate::math) call it: so each is compiled here and not in every crate.
    #[doc(hidden)]
    fn multiply(
        out: MatMut<'_, Self>,
        accum: Accum,
        left: MatRef<'_, Self>,
        right: MatRef<'_, Self>,
    );
    /// The same of matrices of which only a triangle counts.
    #[doc(hidden)]
    fn multiply_triangular(
        out: (MatMut<'_, Self>, BlockStructure),
        accum: Accum,
        left: (MatRef<'_, Self>, BlockStructure),
        right: (MatRef<'_, Self>, BlockStructure),
    );
}

macro_rules! real {
    ($t:ty, $name:literal, $lent:ident, $on:ident, $largest:expr, $spread:expr, $farthest:expr, $exp:path, $ln:path) => {
        impl Real for $t {
            const NAME: &'static str = $name;
            const LARGEST: f64 = $largest;
            const SMALLEST_SPREAD: f64 = $spread;
            const FARTHEST: Self = $farthest;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const MISSING: Self = <$t>::NAN;
            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $t
            }
            #[inline(always)]
            #[allow(clippy::cast_lossless)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn is_missing(self) -> bool {
                self.is_nan()
            }
            #[inline(always)]
            fn is_infinity(self) -> bool {
                self.is_infinite()
            }
            fn exp_in_place(values: &mut [Self]) {
                $exp(values);
            }
            #[inline(always)]
            fn quick_ln(self) -> Self {
                $ln(self)
            }
            #[inline(always)]
            fn root(self) -> Self {
                self.sqrt()
            }
            fn lend(source: &dyn Source<Self>) -> Lent<'_> {
                Lent::$lent(source)
            }
            fn on_rows(model: &dyn DynModel) -> OnRows<'_, Self> {
                model.$on()
            }
            #[inline(never)]
            fn multiply(
                out: MatMut<'_, Self>,
                accum: Accum,
                left: MatRef<'_, Self>,
                right: MatRef<'_, Self>,
            ) {
                matmul(out, accum, left, right, 1.0, Par::Seq);
            }
            #[inline(never)]
            fn multiply_triangular(
                (out, of_out): (MatMut<'_, Self>, BlockStructure),
                accum: Accum,
                (left, of_left): (MatRef<'_, Self>, BlockStructure),
                (right, of_right): (MatRef<'_, Self>, BlockStructure),
            ) {
                let one = Self::ONE;
                triangular::matmul(
                    out,
                    of_out,
                    accum,
                    left,
                    of_left,
                    right,
                    of_right,
                    one,
                    Par::Seq,
                );
            }
        }
    };
}

real!(
    f32,
    "f32",
    F32,
    on_f32,
    1e37,
    1e-37,
    1e9,
    crate::math::exp::exp_f32,
    crate::math::ln::ln_f32
);
real!(
    f64,
    "f64",
    F64,
    on_f64,
    1e140,
    1e-140,
    1e100,
    crate::math::exp::exp_f64,
    crate::math::ln::ln_f64
);
