//! An allocator that keeps count: how much memory is in use, and the largest single request.

#![allow(unsafe_code)] // `GlobalAlloc` is an unsafe trait; every call goes straight to the system's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed};

static IN_USE: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);
static LARGEST: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Counting;

fn taken(bytes: usize, new: isize) {
    LARGEST.fetch_max(bytes, Relaxed);
    let now = IN_USE.fetch_add(new, Relaxed) + new;
    PEAK.fetch_max(now, Relaxed);
}

// SAFETY: the system's allocator does the work, with the arguments as they came; counting
// allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size(), layout.size() as isize);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        taken(layout.size(), layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size() as isize, Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        taken(size, size as isize - layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Memory as seen since it was last asked to start counting.
#[derive(Clone, Copy, Default)]
pub(crate) struct Memory {
    /// The most that was in use at once, beyond what was in use at the start.
    pub(crate) peak: usize,
    /// The largest single request.
    pub(crate) largest: usize,
}

impl Memory {
    pub(crate) fn max(self, other: Self) -> Self {
        Self { peak: self.peak.max(other.peak), largest: self.largest.max(other.largest) }
    }
}

/// Counts what `work` takes. What it requests is counted on all threads.
pub(crate) fn watch<R>(work: impl FnOnce() -> R) -> (R, Memory) {
    let before = IN_USE.load(Relaxed);
    PEAK.store(before, Relaxed);
    LARGEST.store(0, Relaxed);
    let result = work();
    let peak = (PEAK.load(Relaxed) - before).max(0) as usize;
    (result, Memory { peak, largest: LARGEST.load(Relaxed) })
}
