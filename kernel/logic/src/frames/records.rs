// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is known of each frame: a tag and two neighbours in a list, 12 bytes.
//!
//! Only the first frame of a run says anything; the others are [`State::Inside`]. A tag has a state and an owner: the
//! memory that jobs have for themselves is theirs, free or not, and all else is nobody's (0).

const OWNER_SHIFT: u32 = 16;

/// The job that owns the run that begins with this tag; 0: none, so every program may get the run.
pub(super) const fn owner_of(tag: u32) -> u8 {
    (tag >> OWNER_SHIFT) as u8
}

/// Orders 0 to 18.
pub const ORDERS: usize = 19;

/// The order of a 2 MiB page.
pub const HUGE_ORDER: u8 = 9;

/// 1 GiB, the largest page.
pub const LARGEST_ORDER: u8 = 18;

/// NUMA nodes that the lists tell apart.
pub const NODES: usize = 32;

/// No slot: the end of a list.
pub const NONE: u32 = u32::MAX;

/// The table of records, one for each slot that the layout gives out.
///
/// Starts as all zeros. Every access is atomic in itself; relaxed ordering is
/// enough, because what must be seen in order is seen through the lock or
/// through the hand-over of the frame.
pub trait Records {
    /// The tag of a slot.
    fn tag(&self, slot: u32) -> u32;
    /// Writes the tag of a slot.
    fn set_tag(&self, slot: u32, tag: u32);
    /// Writes `new` if the tag is `current`; says whether it was.
    fn exchange_tag(&self, slot: u32, current: u32, new: u32) -> bool;
    /// The neighbours of a slot.
    fn neighbours(&self, slot: u32) -> Neighbours;
    /// Writes the neighbours of a slot.
    fn set_neighbours(&self, slot: u32, neighbours: Neighbours);
}

/// Slots beside a record in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbours {
    pub next: u32,
    pub previous: u32,
}

/// What a tag says; the number is the order of the run that begins here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not the first frame of anything.
    Inside,
    /// In a list of the pool.
    Free(u8),
    /// Handed out.
    Used(u8),
    /// In the cache of a core.
    Cached(u8),
    /// In a chain, until no translation of it is left.
    Retired(u8),
}

impl State {
    /// As a tag, of a run that is nobody's.
    pub const fn encode(self) -> u32 {
        match self {
            State::Inside => 0,
            State::Free(order) => 0x100 | order as u32,
            State::Used(order) => 0x200 | order as u32,
            State::Cached(order) => 0x300 | order as u32,
            State::Retired(order) => 0x400 | order as u32,
        }
    }

    /// As a tag, of a run that is `owner`'s.
    pub const fn of(self, owner: u8) -> u32 {
        self.encode() | (owner as u32) << OWNER_SHIFT
    }

    /// From a tag; what no state encodes is taken for the inside of a run, so nothing is ever done with it.
    pub const fn decode(tag: u32) -> Self {
        let order = (tag & 0xff) as u8;
        match tag >> 8 & 0xff {
            1 => State::Free(order),
            2 => State::Used(order),
            3 => State::Cached(order),
            4 => State::Retired(order),
            _ => State::Inside,
        }
    }
}
