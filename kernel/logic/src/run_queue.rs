// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The threads that wait for one core, oldest first.
//!
//! Owned by the core it serves, used by no one else, so nothing here locks.
//! Round-robin follows from use: a thread that left the core for a call comes
//! back at the end. Must never hold a thread twice; the poster guarantees it,
//! because a context has one owner at a time.

/// A bounded first-in, first-out queue of context numbers, in a ring: a turn moves no other thread's entry.
pub struct RunQueue<const N: usize> {
    entries: [u32; N],
    /// Where the oldest one is.
    first: usize,
    length: usize,
}

/// The queue holds as many threads as it can.
#[derive(Debug, PartialEq, Eq)]
pub struct Full;

impl<const N: usize> RunQueue<N> {
    /// An empty queue.
    pub const fn new() -> Self {
        Self { entries: [0; N], first: 0, length: 0 }
    }

    /// Adds a thread behind all others.
    pub fn push(&mut self, context: u32) -> Result<(), Full> {
        if self.length >= N {
            return Err(Full);
        }
        let slot = self.slot(self.length);
        *self.entries.get_mut(slot).ok_or(Full)? = context;
        self.length += 1;
        Ok(())
    }

    /// Adds a thread before all others.
    pub fn push_first(&mut self, context: u32) -> Result<(), Full> {
        if self.length >= N {
            return Err(Full);
        }
        let first = self.first.checked_sub(1).unwrap_or(N - 1);
        *self.entries.get_mut(first).ok_or(Full)? = context;
        (self.first, self.length) = (first, self.length + 1);
        Ok(())
    }

    /// The thread whose turn it is.
    pub fn front(&self) -> Option<u32> {
        self.get(0)
    }

    /// Takes out the thread whose turn it is.
    #[inline]
    pub fn pop(&mut self) -> Option<u32> {
        let front = self.front()?;
        self.first = self.slot(1);
        self.length -= 1;
        Some(front)
    }

    /// Takes out the oldest thread for which `wanted` holds.
    pub fn take(&mut self, mut wanted: impl FnMut(u32) -> bool) -> Option<u32> {
        let at = self.iter().position(&mut wanted)?;
        let taken = self.get(at)?;
        for behind in at + 1..self.length {
            let (slot, context) = (self.slot(behind - 1), self.get(behind)?);
            *self.entries.get_mut(slot)? = context;
        }
        self.length -= 1;
        Some(taken)
    }

    /// All threads, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        (0..self.length).filter_map(|at| self.get(at))
    }

    /// The thread before which so many others have their turns.
    #[inline]
    fn get(&self, at: usize) -> Option<u32> {
        if at < self.length { self.entries.get(self.slot(at)).copied() } else { None }
    }

    /// Where its entry is; `at` is below `N`, or is `N` in a full queue.
    #[inline]
    fn slot(&self, at: usize) -> usize {
        let slot = self.first + at;
        if slot >= N { slot - N } else { slot }
    }

    /// How many threads wait.
    pub fn len(&self) -> usize {
        self.length
    }

    /// No thread waits.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

impl<const N: usize> Default for RunQueue<N> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_in_is_first_out() {
        let mut queue = RunQueue::<4>::new();
        for context in [7, 3, 9] {
            queue.push(context).unwrap();
        }
        assert_eq!(queue.front(), Some(7));
        assert_eq!([queue.pop(), queue.pop(), queue.pop(), queue.pop()], [Some(7), Some(3), Some(9), None]);
        assert!(queue.is_empty());
    }

    #[test]
    fn one_that_goes_first_is_before_all_others_and_they_stay_in_order() {
        let mut queue = RunQueue::<3>::new();
        queue.push(1).unwrap();
        queue.push(2).unwrap();
        queue.push_first(7).unwrap();
        assert_eq!((queue.push_first(8), queue.push(9)), (Err(Full), Err(Full)));
        assert_eq!([queue.pop(), queue.pop()], [Some(7), Some(1)]);
        queue.push_first(8).unwrap();
        assert_eq!([queue.pop(), queue.pop(), queue.pop()], [Some(8), Some(2), None]);
    }

    #[test]
    fn a_full_queue_refuses_and_keeps_what_it_has() {
        let mut queue = RunQueue::<2>::new();
        queue.push(1).unwrap();
        queue.push(2).unwrap();
        assert_eq!(queue.push(3), Err(Full));
        assert_eq!((queue.len(), queue.front()), (2, Some(1)));
    }

    #[test]
    fn taking_from_the_middle_keeps_the_order() {
        let mut queue = RunQueue::<4>::new();
        for context in 0..4 {
            queue.push(context).unwrap();
        }
        assert_eq!(queue.take(|context| context % 2 == 1), Some(1));
        assert_eq!(queue.take(|context| context == 9), None);
        assert_eq!([queue.pop(), queue.pop(), queue.pop()], [Some(0), Some(2), Some(3)]);
    }

    #[test]
    fn agrees_with_a_reference_queue_over_every_short_history() {
        use std::collections::VecDeque;
        extern crate std;
        // Every sequence of so many operations out of push, pop and take-odd.
        let length = if cfg!(miri) { 6 } else { 10 };
        for history in 0..3u32.pow(length) {
            let (mut queue, mut model) = (RunQueue::<4>::new(), VecDeque::new());
            let mut operations = history;
            for context in 0..length {
                match operations % 3 {
                    0 if model.len() < 4 => {
                        model.push_back(context);
                        assert_eq!(queue.push(context), Ok(()));
                    }
                    0 => assert_eq!(queue.push(context), Err(Full)),
                    1 => assert_eq!(queue.pop(), model.pop_front()),
                    _ => {
                        let at = model.iter().position(|c| c % 2 == 1);
                        assert_eq!(queue.take(|c| c % 2 == 1), at.and_then(|at| model.remove(at)));
                    }
                }
                operations /= 3;
                assert_eq!((queue.len(), queue.front()), (model.len(), model.front().copied()));
            }
        }
    }
}
