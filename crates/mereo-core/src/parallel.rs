//! Work on the threads that passes run on.
//!
//! What rayon does with a piece of work is compiled for every kind of work that it is given: a
//! quarter of all code, were each handed to it as it is. So it is given only one kind, the next
//! number of a count, and everything else is said in terms of that.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

/// Does every piece of work, in parallel when called on the threads of a
/// [`Context`](crate::Context), as `prepare`, `merge` and `update` of a learner are; else one after
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
        let pieces: Vec<Mutex<Option<I>>> = pieces.map(|piece| Mutex::new(Some(piece))).collect();
        each(pieces.len(), &|index| {
            let piece = pieces[index].lock().unwrap_or_else(PoisonError::into_inner).take();
            piece.into_iter().for_each(&work);
        });
    } else {
        pieces.for_each(work);
    }
}

/// What work gives for every number below a count, in order; in parallel as [`in_parallel`] is.
///
/// ```
/// assert_eq!(mereo_core::map_in_parallel(3, |index| index * index), [0, 1, 4]);
/// ```
pub fn map_in_parallel<R: Send>(count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let mut results: Vec<Option<R>> = (0..count).map(|_| None).collect();
    in_parallel(results.iter_mut().enumerate(), |(index, result)| *result = Some(work(index)));
    results.into_iter().flatten().collect()
}

/// Calls work with every number below a count.
fn each(count: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().with_max_len(1).for_each(work);
}

/// Runs work on a pool's threads.
pub(crate) fn install(pool: &rayon::ThreadPool, work: &mut (dyn FnMut() + Send)) {
    pool.install(work);
}
