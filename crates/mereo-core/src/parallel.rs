//! Work between the passes, on the threads that the passes run on.

use rayon::prelude::*;

/// Does every piece of work, in parallel when called on the threads of a
/// [`Context`](crate::Context), as `prepare`, `merge` and `relearn` of a learner are; else one after
/// another. Pieces must not depend on each other, so that results do not depend on threads.
///
/// ```
/// let mut squares = [1.0, 2.0, 3.0, 4.0];
/// mereo_core::in_parallel(squares.chunks_mut(2), |chunk| {
///     for x in chunk {
///         *x *= *x;
///     }
/// });
/// assert_eq!(squares, [1.0, 4.0, 9.0, 16.0]);
/// ```
pub fn in_parallel<I: Send>(pieces: impl Iterator<Item = I>, work: impl Fn(I) + Sync) {
    // Outside of a pool rayon would wake threads that nobody asked for.
    if rayon::current_thread_index().is_some() && rayon::current_num_threads() > 1 {
        let pieces: Vec<I> = pieces.collect();
        pieces.into_par_iter().with_max_len(1).for_each(&work);
    } else {
        pieces.for_each(work);
    }
}
