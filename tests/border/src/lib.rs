// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The C end of the border as Rust functions, and the module's choices of places and recalls, for the tests beside this crate.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use tacet_abi::tacet_ring;

unsafe extern "C" {
    fn c_ring_push(ring: *mut tacet_ring, value: u32) -> i32;
    fn c_ring_pop(ring: *mut tacet_ring, value: *mut u32) -> i32;
    fn c_size(which: i32) -> u64;
    fn c_place(random: u32, attempt: u32, image: i32) -> u64;
    fn c_leaves_room(base: u64, mmap_base: u64) -> i32;
    fn c_top(random: u32) -> u32;
    fn c_heap(random: u32, used: u32) -> u32;
    fn c_recall_returns(recall: u32) -> i32;
    fn c_borders() -> u32;
    fn c_border(random: u32, borders: u32, first: u64, end: u64, alignment: u64) -> u64;
}

/// The size, in C, of structure number `which` in the order of `ends.c`.
pub fn size_in_c(which: i32) -> u64 {
    // SAFETY: the function checks its argument's upper bound, and the argument is not negative.
    unsafe { c_size(which.max(0)) }
}

/// Whether Linux may wait for a thread with this recall (`linux/process/recalled.h`).
pub fn recall_returns(recall: u32) -> bool {
    // SAFETY: the function has no conditions.
    unsafe { c_recall_returns(recall) != 0 }
}

/// Where Linux puts a range (`linux/memory/places.h`): the addresses that it tries, in this order.
pub fn places(random: u32, image: bool) -> Vec<u64> {
    // SAFETY: the function has no conditions.
    let place = |attempt| unsafe { c_place(random, attempt, i32::from(image)) };
    (0..).map(place).take_while(|&base| base != 0).collect()
}

/// Whether a range at `base` leaves Linux room for mappings from `mmap_base` down.
pub fn leaves_room(base: u64, mmap_base: u64) -> bool {
    // SAFETY: the function has no conditions.
    unsafe { c_leaves_room(base, mmap_base) != 0 }
}

/// The page of the range below which mappings begin.
pub fn top(random: u32) -> u32 {
    // SAFETY: the function has no conditions.
    unsafe { c_top(random) }
}

/// The first page of the heap, behind `used` pages.
pub fn heap(random: u32, used: u32) -> u32 {
    // SAFETY: the function has no conditions.
    unsafe { c_heap(random, used) }
}

/// How many borders there are between a moved program's first data and the range.
pub fn borders() -> u32 {
    // SAFETY: the function has no conditions.
    unsafe { c_borders() }
}

/// The border of a program whose data, from where it may be to their end, are at `data` in its file. `None`: they are
/// too small.
pub fn border(random: u32, borders: u32, data: &std::ops::Range<u64>, alignment: u64) -> Option<u64> {
    // SAFETY: the function has no conditions.
    let border = unsafe { c_border(random, borders, data.start, data.end, alignment) };
    (border != 0).then_some(border)
}

/// A ring in its own memory, whose counters can start anywhere.
pub struct Shared(NonNull<tacet_ring>);

// SAFETY: both ends access the ring atomically; each test has one producer and one consumer.
unsafe impl Sync for Shared {}
// SAFETY: as above, and the value owns the memory.
unsafe impl Send for Shared {}

impl Shared {
    /// An empty ring whose counters stand at `start`.
    pub fn new(start: u32) -> Self {
        // SAFETY: the layout is not empty; a ring is valid when zeroed.
        let ring = unsafe { alloc_zeroed(Layout::new::<tacet_ring>()) }.cast::<tacet_ring>();
        let ring = NonNull::new(ring).expect("memory for a ring");
        // SAFETY: just allocated, not shared yet.
        unsafe {
            (*ring.as_ptr()).head = start;
            (*ring.as_ptr()).tail = start;
        }
        Self(ring)
    }

    /// The Rust end.
    pub fn rust(&self) -> tacet_abi::ring::Ring {
        // SAFETY: the memory lives as long as self, which outlives its use in the tests.
        unsafe { tacet_abi::ring::Ring::new(self.0) }
    }

    /// Calls `tacet_ring_push`.
    pub fn push_in_c(&self, value: u32) -> i32 {
        // SAFETY: the ring is valid.
        unsafe { c_ring_push(self.0.as_ptr(), value) }
    }

    /// Calls `tacet_ring_pop`; returns its result and the value.
    pub fn pop_in_c(&self) -> (i32, u32) {
        let mut value = 0;
        // SAFETY: the ring is valid, and so is the place for the value.
        let result = unsafe { c_ring_pop(self.0.as_ptr(), &raw mut value) };
        (result, value)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.0.as_ptr().cast(), Layout::new::<tacet_ring>()) };
    }
}
