// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A CPU's threads that wait: which, and until when (`run/waits.rs` ends their waits).

use super::sizes::{QUEUE, THREADS};
use core::cell::Cell;
use tacet_logic::deadlines::Deadlines;

/// As many as can be handed over to a CPU.
pub type Waits = Deadlines<QUEUE>;

/// A CPU's own threads that wait in local calls: it finds those that are recalled without a look at the places of all
/// threads of the partition, which other CPUs write.
pub struct Waiting {
    /// A bit for each thread.
    words: [Cell<u64>; THREADS / 64],
    count: Cell<u32>,
}

impl Waiting {
    pub const fn new() -> Self {
        Self { words: [const { Cell::new(0) }; THREADS / 64], count: Cell::new(0) }
    }

    /// How many.
    pub fn count(&self) -> u32 {
        self.count.get()
    }

    /// A thread begins to wait, or ends.
    #[inline]
    pub fn mark(&self, number: u32, waits: bool) {
        let Some(word) = self.words.get(number as usize / 64) else { return };
        let bit = 1 << (number % 64);
        word.set(if waits { word.get() | bit } else { word.get() & !bit });
        self.count.set(if waits { self.count.get().wrapping_add(1) } else { self.count.get().wrapping_sub(1) });
    }

    /// The first one from number `first` on.
    pub fn from(&self, first: u32) -> Option<u32> {
        let words = self.words.iter().zip((0..).step_by(64)).skip(first as usize / 64);
        words.map(|(word, base)| (word.get() & (!0 << first.saturating_sub(base)), base)).find_map(|(bits, base)| {
            // `first` is in the first of them, or before all
            (bits != 0).then(|| base + bits.trailing_zeros())
        })
    }
}
