// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The threads that other cores have woken for one core, which takes them all at
//! once. A thread is on one such list at most: it is woken once for each wait.

use crate::atomic::Atomic32;
use core::sync::atomic::{AtomicU32, Ordering};

/// In a link: no thread. Else the thread plus one, so that zeroed memory is empty lists.
const END: u32 = 0;

/// What links the threads of all lists: `next` of each thread.
pub struct Links<const THREADS: usize, A = AtomicU32> {
    next: [A; THREADS],
}

/// One core's list, on a cache line of its own.
#[repr(align(64))]
pub struct Woken<A = AtomicU32> {
    newest: A,
}

impl<const THREADS: usize> Links<THREADS> {
    pub const fn new() -> Self {
        Self { next: [const { AtomicU32::new(END) }; THREADS] }
    }
}

impl<const THREADS: usize, A: Atomic32> Links<THREADS, A> {
    /// Made of zeroes.
    pub fn of_zeroes(next: [A; THREADS]) -> Self {
        Self { next }
    }

    /// What `link` leads to.
    fn of(&self, link: u32) -> Option<&A> {
        self.next.get(link.checked_sub(1)? as usize)
    }
}

impl<const THREADS: usize> Default for Links<THREADS> {
    fn default() -> Self {
        Self::new()
    }
}

impl Woken {
    /// Nobody was woken.
    pub const fn new() -> Self {
        Self { newest: AtomicU32::new(END) }
    }
}

impl<A: Atomic32> Woken<A> {
    /// Made of a zero: no thread was woken.
    pub fn of_zero(newest: A) -> Self {
        Self { newest }
    }

    /// Adds a thread; any core.
    pub fn push<const THREADS: usize>(&self, links: &Links<THREADS, A>, thread: u32) {
        let link = thread.wrapping_add(1);
        let Some(next) = links.of(link) else { return };
        let mut newest = self.newest.load(Ordering::Relaxed);
        loop {
            next.store(newest, Ordering::Relaxed);
            // Sequentially consistent: the waker then looks whether the core
            // sleeps, which says so before it looks here for the last time.
            match self.newest.compare_exchange_weak(newest, link, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => return,
                Err(other) => newest = other,
            }
        }
    }

    /// No thread was woken.
    pub fn is_empty(&self) -> bool {
        self.newest.load(Ordering::SeqCst) == END
    }

    /// Takes all and hands them to `deliver`, first woken first. The core itself.
    pub fn take_all<const THREADS: usize>(&self, links: &Links<THREADS, A>, mut deliver: impl FnMut(u32)) {
        let mut link = self.newest.swap(END, Ordering::AcqRel);
        let mut reversed = END;
        while let Some(next) = links.of(link) {
            let older = next.load(Ordering::Relaxed);
            next.store(reversed, Ordering::Relaxed);
            reversed = link;
            link = older;
        }
        while let Some(next) = links.of(reversed) {
            let newer = next.load(Ordering::Relaxed);
            deliver(reversed - 1);
            reversed = newer;
        }
    }
}

impl Default for Woken {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec::Vec;

    #[test]
    fn first_woken_is_first_taken() {
        let (links, woken) = (Links::<8>::new(), Woken::new());
        for thread in [3, 0, 7] {
            woken.push(&links, thread);
        }
        assert!(!woken.is_empty());
        let mut taken = Vec::new();
        woken.take_all(&links, |thread| taken.push(thread));
        assert_eq!(taken, [3, 0, 7]);
        assert!(woken.is_empty());
        woken.take_all(&links, |_| panic!("taken twice"));
    }

    #[test]
    fn nobody_is_lost_between_cores() {
        const EACH: u32 = if cfg!(miri) { 50 } else { 20_000 };
        let (links, woken) = (Links::<{ 4 * EACH as usize }>::new(), Woken::new());
        let mut taken = Vec::new();
        std::thread::scope(|scope| {
            for core in 0..4 {
                let (links, woken) = (&links, &woken);
                scope.spawn(move || (0..EACH).for_each(|thread| woken.push(links, core * EACH + thread)));
            }
            while taken.len() < 4 * EACH as usize {
                woken.take_all(&links, |thread| taken.push(thread));
            }
        });
        for core in 0..4 {
            let mine: Vec<u32> = taken.iter().copied().filter(|thread| thread / EACH == core).collect();
            assert!(mine.is_sorted() && mine.len() == EACH as usize, "core {core}: out of order or twice");
        }
    }
}
