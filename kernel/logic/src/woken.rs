// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The threads that other CPUs have woken for one CPU, which takes them all at once. A thread is on one such list at
//! most: it is woken once for each wait.

use crate::atomic::Atomic32;
use core::sync::atomic::{AtomicU32, Ordering};

/// In a link: no thread. Else the thread plus one, so that zeroed memory is empty lists.
const END: u32 = 0;

/// For each thread, which one is behind it in the list that it is on.
pub struct NextWoken<const THREADS: usize, A = AtomicU32> {
    next: [A; THREADS],
}

/// One CPU's list, on a cache line of its own.
#[repr(align(64))]
pub struct Woken<A = AtomicU32> {
    newest: A,
}

impl<const THREADS: usize> NextWoken<THREADS> {
    pub const fn new() -> Self {
        Self { next: [const { AtomicU32::new(END) }; THREADS] }
    }
}

impl<const THREADS: usize, A: Atomic32> NextWoken<THREADS, A> {
    /// Made of zeroes.
    pub fn of_zeroes(next: [A; THREADS]) -> Self {
        Self { next }
    }

    /// What `link` leads to.
    fn of(&self, link: u32) -> Option<&A> {
        self.next.get(link.checked_sub(1)? as usize)
    }
}

impl<const THREADS: usize> Default for NextWoken<THREADS> {
    fn default() -> Self {
        Self::new()
    }
}

impl Woken {
    /// No thread was woken.
    pub const fn new() -> Self {
        Self { newest: AtomicU32::new(END) }
    }
}

impl<A: Atomic32> Woken<A> {
    /// Made of a zero: no thread was woken.
    pub fn of_zero(newest: A) -> Self {
        Self { newest }
    }

    /// Adds a thread; any CPU.
    pub fn push<const THREADS: usize>(&self, threads: &NextWoken<THREADS, A>, thread: u32) {
        let link = thread.wrapping_add(1);
        let Some(next) = threads.of(link) else { return };
        let mut newest = self.newest.load(Ordering::Relaxed);
        loop {
            next.store(newest, Ordering::Relaxed);
            // Sequentially consistent: the waker then looks whether the CPU
            // sleeps, which says so before it looks here for the last time.
            match self.newest.compare_exchange_weak(newest, link, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => return,
                Err(other) => newest = other,
            }
        }
    }

    /// Whether no thread was woken.
    pub fn is_empty(&self) -> bool {
        self.newest.load(Ordering::SeqCst) == END
    }

    /// Takes all threads, the CPU itself.
    pub fn take<const THREADS: usize>(&self, threads: &NextWoken<THREADS, A>) -> Taken {
        let mut link = self.newest.swap(END, Ordering::AcqRel);
        let mut first = END;
        while let Some(next) = threads.of(link) {
            let older = next.load(Ordering::Relaxed);
            next.store(first, Ordering::Relaxed);
            first = link;
            link = older;
        }
        Taken { first }
    }
}

/// Threads that were taken from a list, first woken first.
pub struct Taken {
    first: u32,
}

impl Taken {
    /// None.
    pub const NONE: Self = Self { first: END };

    /// The next one. From here on it may be woken anew.
    pub fn pop<const THREADS: usize, A: Atomic32>(&mut self, threads: &NextWoken<THREADS, A>) -> Option<u32> {
        let thread = self.first;
        self.first = threads.of(thread)?.load(Ordering::Relaxed);
        Some(thread - 1)
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

    fn all<const THREADS: usize>(woken: &Woken, threads: &NextWoken<THREADS>) -> Vec<u32> {
        let mut taken = woken.take(threads);
        core::iter::from_fn(|| taken.pop(threads)).collect()
    }

    #[test]
    fn first_woken_is_first_taken() {
        let (threads, woken) = (NextWoken::<8>::new(), Woken::new());
        for thread in [3, 0, 7] {
            woken.push(&threads, thread);
        }
        assert!(!woken.is_empty());
        assert_eq!(all(&woken, &threads), [3, 0, 7]);
        assert!(woken.is_empty());
        assert_eq!(all(&woken, &threads), []);
    }

    #[test]
    fn no_thread_is_lost_between_cpus() {
        const EACH: u32 = if cfg!(miri) { 50 } else { 20_000 };
        let (threads, woken) = (NextWoken::<{ 4 * EACH as usize }>::new(), Woken::new());
        let mut taken = Vec::new();
        std::thread::scope(|scope| {
            for cpu in 0..4 {
                let (threads, woken) = (&threads, &woken);
                scope.spawn(move || (0..EACH).for_each(|thread| woken.push(threads, cpu * EACH + thread)));
            }
            while taken.len() < 4 * EACH as usize {
                taken.extend(all(&woken, &threads));
            }
        });
        for cpu in 0..4 {
            let mine: Vec<u32> = taken.iter().copied().filter(|thread| thread / EACH == cpu).collect();
            assert!(mine.is_sorted() && mine.len() == EACH as usize, "CPU {cpu}: out of order or twice");
        }
    }
}
