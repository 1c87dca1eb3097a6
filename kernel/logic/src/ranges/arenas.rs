// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A core's places in the ranges that it was at work in last.

use super::arena::Arena;
use crate::paging::Span;

const KNOWN: usize = 8;

/// Owned by the core. What it forgets it finds again by the pieces that it has.
pub struct Arenas {
    known: [Option<(u64, Arena)>; KNOWN],
    oldest: usize,
}

impl Arenas {
    #[expect(clippy::new_without_default, reason = "made once, in a constant")]
    pub const fn new() -> Self {
        Self { known: [None; KNOWN], oldest: 0 }
    }

    /// The place of the core that is `owner` in the range with this serial, whose addresses have these limits: a new one
    /// if it is not known.
    pub fn of(&self, range: u64, owner: u16, limits: Span) -> Arena {
        let same = |(serial, arena): &(u64, Arena)| *serial == range && arena.is_within(limits);
        let known = self.known.iter().flatten().find(|known| same(known));
        known.map_or(Arena::new(owner, limits), |&(_, arena)| arena)
    }

    /// The same, after something was done there.
    pub fn keep(&mut self, range: u64, arena: Arena) {
        let known = self.known.iter().position(|known| known.is_some_and(|(serial, _)| serial == range));
        let place = known.unwrap_or(self.oldest);
        if known.is_none() {
            self.oldest = (self.oldest + 1) % KNOWN;
        }
        if let Some(place) = self.known.get_mut(place) {
            *place = Some((range, arena));
        }
    }
}
