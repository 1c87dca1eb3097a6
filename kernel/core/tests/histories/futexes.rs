// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which threads wait for which futex, as a list: wake-ups must find exactly these, longest waiting first.
//!
//! A thread waits from the moment of its comparison on, which is under the bucket's lock, as are wake-ups: no other CPU
//! runs between the look at the table and the entry here.

use crate::program::{Call, word_at};
use tacet_core::WakeRequest;

/// EAGAIN, as a call gives it.
pub const AGAIN: u64 = -11i64 as u64;

/// A futex: the address space's root, and which word.
pub type Key = (u64, usize);

struct Waiter {
    thread: u32,
    key: Key,
    bitset: u32,
}

/// A wake-up in progress.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    from: Key,
    to: Key,
    bitset: u32,
    wake: u32,
    take: u32,
    woken: u32,
    /// The bucket's lock is free again, and this is the result.
    result: Option<u32>,
}

/// A thread that is about to wait compares the word.
#[derive(Clone, Copy)]
struct Comparison {
    key: Key,
    value: u64,
    /// It has, and the word was so.
    holds: bool,
}

#[derive(Default)]
pub struct Futexes {
    waiters: Vec<Waiter>,
    /// By CPU.
    operations: Vec<Option<Operation>>,
    /// By CPU.
    comparisons: Vec<Option<Comparison>>,
}

impl Operation {
    /// What a call of a thread is to wake, if it is such a call.
    pub fn of_call(root: u64, (number, arguments): Call) -> Option<Self> {
        let [address, operation, wake, take, to, third] = arguments;
        let from = (root, word_at(address)?);
        let wakes = Self { from, to: from, bitset: u32::MAX, wake: wake as u32, take: 0, woken: 0, result: None };
        match operation & 127 {
            _ if number != 202 => None,
            1 => Some(wakes),
            10 => Some(Self { bitset: third as u32, ..wakes }),
            3 | 4 => Some(Self { to: (root, word_at(to)?), take: take as u32, ..wakes }),
            _ => None,
        }
    }

    pub fn of_host(request: &WakeRequest) -> Option<Self> {
        let WakeRequest { root, address, bitset, count, moved, to } = *request;
        let from = (root, word_at(address)?);
        let to = word_at(to).map_or(from, |word| (root, word));
        Some(Self { from, to, bitset, wake: count, take: moved, woken: 0, result: None })
    }
}

impl Futexes {
    pub fn new(cpus: usize) -> Self {
        Self { waiters: Vec::new(), operations: vec![None; cpus], comparisons: vec![None; cpus] }
    }

    pub fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    /// A thread of `cpu` makes a call.
    pub fn begin_call(&mut self, cpu: usize, root: u64, call: Call) {
        let (number, [address, operation, value, ..]) = call;
        let compares = (number, operation & 127) == (202, 9);
        let comparison = |word| Comparison { key: (root, word), value, holds: false };
        self.operations[cpu] = Operation::of_call(root, call);
        self.comparisons[cpu] = word_at(address).filter(|_| compares).map(comparison);
    }

    /// `cpu` has read a word.
    pub fn loaded(&mut self, cpu: usize, key: Key, value: u32) {
        if let Some(comparison) = self.comparisons[cpu].as_mut().filter(|comparison| comparison.key == key) {
            comparison.holds = comparison.value == value.into();
        }
    }

    /// The comparison of `cpu`'s thread, if it is at one, was for nothing.
    pub fn does_not_wait(&mut self, cpu: usize) {
        self.comparisons[cpu] = None;
    }

    /// The counter of the space says so to a waker, which does not look further.
    pub fn nobody_waits(&self, root: u64) {
        let compared = self.comparisons.iter().flatten().any(|comparison| comparison.key.0 == root && comparison.holds);
        let waits = self.waiters.iter().any(|waiter| waiter.key.0 == root);
        assert!(!compared && !waits, "a thread waits, or has compared, and is not counted");
    }

    pub fn waits(&mut self, cpu: usize, thread: u32, root: u64, (number, arguments): Call) {
        self.comparisons[cpu] = None;
        assert_eq!((number, arguments[1] & 127), (202, 9), "thread {thread} waits in another call");
        let key = (root, word_at(arguments[0]).unwrap());
        self.waiters.push(Waiter { thread, key, bitset: arguments[5] as u32 });
    }

    /// It was taken out by its own CPU.
    pub fn cancel(&mut self, thread: u32) {
        let at = self.waiters.iter().position(|waiter| waiter.thread == thread);
        self.waiters.remove(at.unwrap_or_else(|| panic!("thread {thread}: waits nowhere")));
    }

    /// `cpu` is to wake for Linux.
    pub fn begin(&mut self, cpu: usize, operation: Option<Operation>) {
        self.operations[cpu] = operation;
    }

    /// The call that `cpu` was at is Linux's.
    pub fn forward(&mut self, cpu: usize) {
        (self.operations[cpu], self.comparisons[cpu]) = (None, None);
    }

    /// It may hold a lock.
    pub fn is_waking(&self, cpu: usize) -> bool {
        self.operations[cpu].is_some_and(|operation| operation.result.is_none())
    }

    fn next(&self, key: Key, bitset: u32) -> Option<usize> {
        self.waiters.iter().position(|waiter| waiter.key == key && waiter.bitset & bitset != 0)
    }

    /// `cpu` has taken `thread` out to wake it.
    pub fn woken(&mut self, cpu: usize, thread: u32) {
        let operation = self.operations[cpu].expect("no call that wakes");
        assert!(operation.result.is_none() && operation.woken < operation.wake, "{operation:?}: one too many");
        let at = self.next(operation.from, operation.bitset).expect("nobody waits for this");
        assert_eq!(self.waiters.remove(at).thread, thread, "{operation:?}: another waits longer");
        self.operations[cpu].as_mut().unwrap().woken += 1;
    }

    /// `cpu` wakes no more: its lock is free, or it never had one because the counter says that nobody waits.
    pub fn end(&mut self, cpu: usize) {
        let Some(mut operation) = self.operations[cpu].filter(|operation| operation.result.is_none()) else { return };
        let left = self.next(operation.from, operation.bitset);
        assert!(left.is_none() || operation.woken == operation.wake, "{operation:?}: a thread was not woken");
        let mut moved = Vec::new();
        while moved.len() < operation.take as usize
            && let Some(at) = self.next(operation.from, u32::MAX)
        {
            moved.push(Waiter { key: operation.to, ..self.waiters.remove(at) });
        }
        operation.result = Some(operation.woken + moved.len() as u32);
        self.waiters.extend(moved);
        self.operations[cpu] = Some(operation);
    }

    /// The call of `cpu`'s thread, if it wakes, has this result.
    pub fn finish(&mut self, cpu: usize, result: u64) {
        self.comparisons[cpu] = None;
        if result == AGAIN {
            let operation = self.operations[cpu].take();
            assert!(operation.is_none_or(|operation| operation.woken == 0), "{operation:?}: woke, and says it did not");
        }
        self.end(cpu);
        if let Some(operation) = self.operations[cpu].take() {
            assert_eq!(operation.result.map(u64::from), Some(result), "{operation:?}: counted wrongly");
        }
    }
}
