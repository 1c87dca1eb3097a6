// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a processor says of its page-table entries. `kernel/arch` implements it for each processor.

use super::breaks::Breaks;
use super::entry::{Attributes, Entry};
use super::span::PageSize;

/// How entries are written in 64 bits, and what the processor asks of those who change them.
///
/// Every [`Entry`] must be read as it was written, at each size that it can have: with its attributes whether it is
/// valid or not. [`Entry::Absent`] is zero. One that is not valid must not name its frame as it is: a processor may read
/// ahead from there. The processor must see as valid exactly what [`Entry::is_valid`] says, and
/// must never write an entry itself (accessed, dirty).
pub trait Encoding {
    /// NUMA policies that an entry can tell apart, a power of two: what an entry has no bits for is not remembered.
    const POLICIES: u8;

    /// Code may be in large pages. If not, executable pages are small, and a large page is divided before it may be
    /// executed.
    const LARGE_PAGES_MAY_BE_EXECUTABLE: bool;

    /// A page fault removes what the processor's own TLB has of its address, and an entry that was not valid is never in
    /// one. If so, a fault that finds its page valid needs no flush: the processor sees it when it tries again.
    const FAULTS_FORGET: bool;

    /// The bit of [`Leaf::mirrored`](super::Leaf::mirrored), at every size. Linux sets it by compare-and-exchange.
    const MIRRORED: u64;

    /// Whether a valid entry must be invalid for a while before it says something else.
    type Breaks: Breaks;

    /// The entry in a table whose entries have `size`.
    fn encode(entry: Entry, size: PageSize) -> u64;

    /// From an entry in a table whose entries have `size`. Only what [`Self::encode`] has made is ever read.
    fn decode(raw: u64, size: PageSize) -> Entry;

    /// The table that an entry of `size` points to, if it does: what [`Self::decode`] says, for less.
    fn table(raw: u64, size: PageSize) -> Option<u64>;
}

/// The largest page in which pages with these attributes may lie.
pub(super) const fn largest<E: Encoding>(attributes: Attributes) -> PageSize {
    let Attributes { protection, small, .. } = attributes;
    if small || protection.execute && !E::LARGE_PAGES_MAY_BE_EXECUTABLE { PageSize::Kib4 } else { PageSize::Gib1 }
}
