// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Threads that wait for futexes on the cores (futex(2), private futexes).
//!
//! One table for the partition, used by all its cores at once; a lock for each
//! bucket. A thread is a number below the table's size and waits for one futex
//! at a time. It is taken out of the table once, under the bucket's lock: by a waker
//! on any core, or by its own core when it is recalled. So a core that finds its
//! thread gone finds it among the woken ones.
//!
//! Must never touch user memory: the caller compares, while the bucket is held.

use crate::lock::{Held, Lock};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// In a link: no thread. Else the thread plus one, so that a table of zeroes is empty.
const NOBODY: u32 = 0;

/// A futex: the address space by its root, and the word's address in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    pub root: u64,
    pub address: u64,
}

/// The table: `BUCKETS` a power of two, threads numbered from 0 to `THREADS` - 1.
pub struct Table<const BUCKETS: usize, const THREADS: usize> {
    buckets: [Bucket; BUCKETS],
    waiters: [Waiter; THREADS],
}

/// Threads whose futex falls here, longest waiting first.
struct Bucket {
    lock: Lock,
    first: AtomicU32,
}

/// A thread's place. Written by the thread's own core while it does not wait, and
/// under its bucket's lock while it does.
struct Waiter {
    root: AtomicU64,
    address: AtomicU64,
    bitset: AtomicU32,
    next: AtomicU32,
    waits: AtomicBool,
}

/// Why a thread does not wait.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal<E> {
    /// The word has another value by now.
    Changed,
    /// The comparison failed.
    Failed(E),
}

impl Bucket {
    const fn new() -> Self {
        Self { lock: Lock::new(), first: AtomicU32::new(NOBODY) }
    }
}

impl Waiter {
    const fn new() -> Self {
        Self {
            root: AtomicU64::new(0),
            address: AtomicU64::new(0),
            bitset: AtomicU32::new(0),
            next: AtomicU32::new(NOBODY),
            waits: AtomicBool::new(false),
        }
    }

    fn key(&self) -> Key {
        Key { root: self.root.load(Ordering::Relaxed), address: self.address.load(Ordering::Relaxed) }
    }

    fn set_key(&self, key: Key) {
        self.root.store(key.root, Ordering::Relaxed);
        self.address.store(key.address, Ordering::Relaxed);
    }
}

impl<const BUCKETS: usize, const THREADS: usize> Table<BUCKETS, THREADS> {
    /// Nobody waits.
    pub const fn new() -> Self {
        assert!(BUCKETS.is_power_of_two() && THREADS < u32::MAX as usize);
        Self { buckets: [const { Bucket::new() }; BUCKETS], waiters: [const { Waiter::new() }; THREADS] }
    }

    /// Puts `thread` to wait for `key`, if `unchanged` says so with the bucket
    /// held: a waker that changed the word before comes after.
    pub fn wait<E>(
        &self,
        key: Key,
        bitset: u32,
        thread: u32,
        unchanged: impl FnOnce() -> Result<bool, E>,
    ) -> Result<(), Refusal<E>> {
        let bucket = self.bucket(key);
        let held = bucket.lock.hold();
        if !unchanged().map_err(Refusal::Failed)? {
            return Err(Refusal::Changed);
        }
        if let Some(waiter) = self.waiter(thread) {
            waiter.set_key(key);
            waiter.bitset.store(bitset, Ordering::Relaxed);
            waiter.waits.store(true, Ordering::Relaxed);
            self.append(bucket, &held, thread);
        }
        Ok(())
    }

    /// Takes out up to `count` threads that wait for `key` with a bit of `bitset`,
    /// longest waiting first, and hands each to `deliver`. How many.
    pub fn wake(&self, key: Key, bitset: u32, count: u32, mut deliver: impl FnMut(u32)) -> u32 {
        let bucket = self.bucket(key);
        // Pairs with `wait`, which looks at the word after it holds the lock.
        let held = bucket.lock.hold();
        self.take(bucket, &held, key, bitset, count, &mut deliver)
    }

    /// As `wake` for up to `wake_count` threads; up to `move_count` others wait for
    /// `to` from here on. `unchanged` as for `wait`. How many were woken, and moved.
    pub fn requeue<E>(
        &self,
        (from, to): (Key, Key),
        (wake_count, move_count): (u32, u32),
        unchanged: impl FnOnce() -> Result<bool, E>,
        mut deliver: impl FnMut(u32),
    ) -> Result<(u32, u32), Refusal<E>> {
        let (source, target) = (self.bucket(from), self.bucket(to));
        let (held, _other) = hold_both(source, target);
        if !unchanged().map_err(Refusal::Failed)? {
            return Err(Refusal::Changed);
        }
        let woken = self.take(source, &held, from, u32::MAX, wake_count, &mut deliver);
        // Moved one by one behind the others: first all out, then in, so that the
        // walk never meets a thread that it moved, also when both are one bucket.
        let (mut first, mut last) = (NOBODY, NOBODY);
        let moved = self.take(source, &held, from, u32::MAX, move_count, &mut |thread| {
            if let Some(waiter) = self.waiter(thread) {
                waiter.waits.store(true, Ordering::Relaxed);
                waiter.next.store(NOBODY, Ordering::Relaxed);
            }
            let link = thread + 1;
            match self.linked(last) {
                Some((_, previous)) => previous.next.store(link, Ordering::Relaxed),
                None => first = link,
            }
            last = link;
        });
        while let Some((thread, waiter)) = self.linked(first) {
            first = waiter.next.load(Ordering::Relaxed);
            waiter.set_key(to);
            self.append(target, &held, thread);
        }
        Ok((woken, moved))
    }

    /// Takes `thread` out if it still waits; false: it was woken before. Only the
    /// thread's own core does this.
    pub fn cancel(&self, thread: u32) -> bool {
        let Some(waiter) = self.waiter(thread) else { return false };
        loop {
            // A requeue may change the key until the bucket is held.
            let key = waiter.key();
            let bucket = self.bucket(key);
            let held = bucket.lock.hold();
            if !waiter.waits.load(Ordering::Relaxed) {
                return false;
            }
            if waiter.key() == key {
                return self.unlink(&mut &bucket.first, &held, |at, _| at == thread).is_some();
            }
        }
    }

    /// Takes out and delivers; the bucket is held.
    fn take<'a>(
        &'a self,
        bucket: &'a Bucket,
        held: &Held<'_>,
        key: Key,
        bitset: u32,
        count: u32,
        deliver: &mut impl FnMut(u32),
    ) -> u32 {
        let wanted = |_, waiter: &Waiter| waiter.key() == key && waiter.bitset.load(Ordering::Relaxed) & bitset != 0;
        let (mut taken, mut link) = (0, &bucket.first);
        // One walk, whoever else waits here: other users' threads may want the bucket.
        while taken < count {
            let Some(thread) = self.unlink(&mut link, held, wanted) else { break };
            deliver(thread);
            taken += 1;
        }
        taken
    }

    /// Takes out the first thread from `link` on that is `wanted`; it does not wait any more. `link` then leads to what
    /// was behind it.
    fn unlink<'a>(
        &'a self,
        link: &mut &'a AtomicU32,
        _: &Held<'_>,
        wanted: impl Fn(u32, &Waiter) -> bool,
    ) -> Option<u32> {
        loop {
            let (thread, waiter) = self.linked(link.load(Ordering::Relaxed))?;
            if wanted(thread, waiter) {
                link.store(waiter.next.load(Ordering::Relaxed), Ordering::Relaxed);
                waiter.waits.store(false, Ordering::Relaxed);
                return Some(thread);
            }
            *link = &waiter.next;
        }
    }

    fn append(&self, bucket: &Bucket, _: &Held<'_>, thread: u32) {
        let mut link = &bucket.first;
        while let Some((_, waiter)) = self.linked(link.load(Ordering::Relaxed)) {
            link = &waiter.next;
        }
        if let Some(waiter) = self.waiter(thread) {
            waiter.next.store(NOBODY, Ordering::Relaxed);
        }
        link.store(thread + 1, Ordering::Relaxed);
    }

    fn waiter(&self, thread: u32) -> Option<&Waiter> {
        self.waiters.get(thread as usize)
    }

    /// The thread that a link leads to.
    fn linked(&self, link: u32) -> Option<(u32, &Waiter)> {
        let thread = link.checked_sub(1)?;
        Some((thread, self.waiter(thread)?))
    }

    fn bucket(&self, key: Key) -> &Bucket {
        // Fibonacci hashing: neighbouring words fall far apart.
        let mixed = (key.address >> 2 ^ key.root >> 12).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let index = (mixed >> 40) as usize & (BUCKETS - 1);
        self.buckets.get(index).unwrap_or(&self.buckets[0])
    }
}

impl<const BUCKETS: usize, const THREADS: usize> Default for Table<BUCKETS, THREADS> {
    fn default() -> Self {
        Self::new()
    }
}

/// Both buckets' locks, always in the order of their places: the first of them is
/// returned first. One lock if they are one bucket.
fn hold_both<'a>(one: &'a Bucket, other: &'a Bucket) -> (Held<'a>, Option<Held<'a>>) {
    use core::cmp::Ordering::{Equal, Greater, Less};
    match core::ptr::from_ref(one).cmp(&core::ptr::from_ref(other)) {
        Equal => (one.lock.hold(), None),
        Less => {
            let first = one.lock.hold();
            (first, Some(other.lock.hold()))
        }
        Greater => {
            let first = other.lock.hold();
            (first, Some(one.lock.hold()))
        }
    }
}

#[cfg(test)]
#[path = "futex_tests.rs"]
mod tests;
