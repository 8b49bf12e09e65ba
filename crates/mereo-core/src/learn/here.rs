//! Learning that is compiled once.

use crate::Source;

/// A source lent out, whatever the type of its cells.
#[derive(Clone, Copy)]
pub enum Lent<'a> {
    /// In single precision.
    F32(&'a dyn Source<f32>),
    /// In double precision.
    F64(&'a dyn Source<f64>),
}

/// Defines a public function that learns a model from a source of either number type, by a generic
/// one. A generic function is compiled anew, with all that it calls, in every crate that calls it;
/// this one is compiled here, once for each number type.
///
/// ```
/// use mereo_core::{Context, Observer, Plan, Real, Result, Source, Training};
/// pub struct Params;
/// pub struct Columns(pub usize);
/// mereo_core::fit_here! {
///     /// Learns how many columns there are.
///     fit(Params) -> Columns, by count
/// }
/// fn count<T: Real>(
///     _: &Params,
///     source: &dyn Source<T>,
///     _: &Plan,
///     _: &Context,
///     _: &mut dyn Observer,
/// ) -> Result<(Columns, Training)> {
///     # use mereo_core::Status::Converged;
///     // What `learn` would tell.
///     # let training = Training {
///     #     rows: source.rows(),
///     #     weight: None,
///     #     fingerprint: None,
///     #     seed: 0,
///     #     bound: 0.0,
///     #     log_likelihood: None,
///     #     likelihood_unknown: false,
///     #     held_out: Vec::new(),
///     #     passes: 0,
///     #     status: Converged,
///     #     best: 0,
///     #     restarts: Vec::new(),
///     # };
///     Ok((Columns(source.columns()), training))
/// }
/// # let table = mereo_core::Table::from(mereo_core::Dense::new(1, 2, vec![0.0, 1.0])?);
/// let (model, _) = fit(&Params, &table, &Plan::default(), &Context::new(0), &mut mereo_core::Silent)?;
/// assert_eq!(model.0, 2);
/// # Ok::<(), mereo_core::Error>(())
/// ```
#[macro_export]
macro_rules! fit_here {
    ($(#[$about:meta])* $name:ident($params:ty) -> $model:ty, by $generic:ident) => {
        $(#[$about])*
        pub fn $name<T: $crate::Real>(
            params: &$params,
            source: &dyn $crate::Source<T>,
            plan: &$crate::Plan,
            context: &$crate::Context,
            observer: &mut dyn $crate::Observer,
        ) -> $crate::Result<($model, $crate::Training)> {
            fn here(
                params: &$params,
                source: $crate::Lent<'_>,
                plan: &$crate::Plan,
                context: &$crate::Context,
                observer: &mut dyn $crate::Observer,
            ) -> $crate::Result<($model, $crate::Training)> {
                match source {
                    $crate::Lent::F32(source) => $generic(params, source, plan, context, observer),
                    $crate::Lent::F64(source) => $generic(params, source, plan, context, observer),
                }
            }
            let source = T::lend(source);
            context.install(|| here(params, source, plan, context, observer))
        }
    };
}
