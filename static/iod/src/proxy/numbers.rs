// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A set of thread numbers that does not grow with the program's life: a node gives its numbers in order, so those of
//! ended threads are few runs.
//!
//! `threads.rs` has one, of the numbers that are never served again.

use std::collections::BTreeMap;

/// So many runs need more gaps than a node has threads.
const MOST_RUNS: usize = 1 << 16;

#[derive(Debug, Default)]
pub struct Numbers {
    /// The first number of each run, and its last. Between two runs a number is missing.
    runs: BTreeMap<u32, u32>,
}

impl Numbers {
    pub fn contains(&self, number: u32) -> bool {
        self.runs.range(..=number).next_back().is_some_and(|(_, last)| number <= *last)
    }

    pub fn insert(&mut self, number: u32) {
        if self.contains(number) {
            return;
        }
        let before = number.checked_sub(1).and_then(|before| self.runs.range(..=before).next_back());
        let joined = before.filter(|(_, last)| **last + 1 == number).map(|(first, _)| *first);
        let first = joined.unwrap_or(number);
        let last = number.checked_add(1).and_then(|after| self.runs.remove(&after)).unwrap_or(number);
        self.runs.insert(first, last);
    }

    /// No node that gives its numbers in order comes here.
    pub fn is_full(&self) -> bool {
        self.runs.len() >= MOST_RUNS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_order_are_one_run() {
        let mut numbers = Numbers::default();
        (0..100_000).for_each(|number| numbers.insert(number));
        assert_eq!(numbers.runs, BTreeMap::from([(0, 99_999)]));
        assert!(numbers.contains(0) && numbers.contains(99_999) && !numbers.contains(100_000));
    }

    #[test]
    fn runs_join_from_both_sides() {
        let mut numbers = Numbers::default();
        for number in [5, 1, 3, u32::MAX, 0, 3, u32::MAX - 1] {
            numbers.insert(number);
        }
        assert_eq!(numbers.runs, BTreeMap::from([(0, 1), (3, 3), (5, 5), (u32::MAX - 1, u32::MAX)]));
        assert!([2, 4, 6, u32::MAX - 2].iter().all(|number| !numbers.contains(*number)));
        [4, 2].iter().for_each(|number| numbers.insert(*number));
        assert_eq!(numbers.runs, BTreeMap::from([(0, 5), (u32::MAX - 1, u32::MAX)]));
    }

    #[test]
    fn a_node_that_lies_is_limited() {
        let mut numbers = Numbers::default();
        let mut number = 0;
        while !numbers.is_full() {
            numbers.insert(number);
            number += 2;
        }
        assert_eq!(numbers.runs.len(), MOST_RUNS);
    }
}
