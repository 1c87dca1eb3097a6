// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The compute threads of a process: those that live, the last ones that have ended, and the numbers of all others.
//!
//! The service threads use it, under one lock. A thread that has ended is kept for a while, since the node may ask for
//! its last reply again. Its number is kept for good: a packet of its life must not bring it back, and the node may still ask,
//! however many threads have come and gone since that reply was lost. The reply can be made of nothing: every thread's last
//! call is the same.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tacet_wire::packet::Party;

use super::numbers::Numbers;
use super::thread::Thread;

/// More threads than this at once are not served: each has buffers and a thread of Linux.
const MOST: usize = 4096;
/// So many ended threads are kept.
const RECENT: usize = 256;

#[derive(Debug, Default)]
pub struct Threads {
    /// Threads that live, and those that ended recently.
    known: HashMap<u32, Arc<Thread>>,
    recent: VecDeque<u32>,
    ended: Numbers,
}

#[derive(Debug)]
pub enum Found {
    Alive(Arc<Thread>),
    Ended,
    Unknown,
}

impl Threads {
    pub fn find(&self, number: u32) -> Found {
        match self.known.get(&number) {
            Some(thread) => Found::Alive(Arc::clone(thread)),
            None if self.ended.contains(number) => Found::Ended,
            None => Found::Unknown,
        }
    }

    /// `None`: there are too many.
    pub fn begin(&mut self, party: Party) -> Option<Arc<Thread>> {
        if self.known.len() >= MOST + RECENT || self.ended.is_full() {
            return None;
        }
        let thread = Arc::new(Thread::new(party));
        self.known.insert(party.thread, Arc::clone(&thread));
        Some(thread)
    }

    pub fn end(&mut self, number: u32) {
        self.recent.push_back(number);
        if self.recent.len() > RECENT
            && let Some(oldest) = self.recent.pop_front()
        {
            self.known.remove(&oldest);
            self.ended.insert(oldest);
        }
    }

    pub fn first_in_call(&self) -> Option<&Arc<Thread>> {
        let in_call = self.known.iter().filter(|(_, thread)| thread.is_in_call());
        in_call.min_by_key(|(number, _)| **number).map(|(_, thread)| thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn party(thread: u32) -> Party {
        Party { thread, ..Party::default() }
    }

    #[test]
    fn a_number_is_used_once() {
        let mut threads = Threads::default();
        for number in 0..2 * RECENT as u32 {
            assert!(matches!(threads.find(number), Found::Unknown));
            threads.begin(party(number)).unwrap();
            threads.end(number);
            assert!(matches!(threads.find(number), Found::Alive(_)), "its last reply may be asked for");
        }
        assert!(matches!(threads.find(0), Found::Ended));
        assert_eq!(threads.known.len(), RECENT);
    }

    #[test]
    fn a_node_that_leaves_gaps_gets_no_more_threads_in_the_end() {
        let mut threads = Threads::default();
        let mut number = 0;
        while threads.begin(party(number)).is_some() {
            threads.end(number);
            number += 2;
        }
        assert!(threads.ended.is_full());
    }

    #[test]
    fn threads_at_once_are_limited_and_others_are_not() {
        let mut threads = Threads::default();
        // Their buffers alone would be 600 MiB if they were touched.
        let mut number = 0;
        while threads.begin(party(number)).is_some() {
            number += 1;
        }
        assert_eq!(number as usize, MOST + RECENT);
        for ended in 0..=RECENT as u32 {
            threads.end(ended);
        }
        assert!(threads.begin(party(number)).is_some());
    }
}
