// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a host offers of the partition's memory: frames and page tables (`tacet_logic::paging::Memory`), and ranges.

use super::left::{Flushed, Leaving};
use core::ops::Range;
use tacet_logic::frames::Policy;
use tacet_logic::paging::Memory;
use tacet_logic::ranges::{Arenas, Pieces};

/// A range, as a thread names it. Numbers are used again, serials are not: a host withdraws a number by having all
/// threads back that name it, and whoever has a name all the same finds the range closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeName {
    pub number: u32,
    pub serial: u64,
}

/// One CPU's way to the partition's memory.
pub trait PartitionMemory: Memory {
    type Range: SharedRange;
    type Leaving: Leaving;

    /// The range with this number.
    fn range(&self, number: u32) -> Option<Self::Range>;

    /// The next operation is about `range`, for a thread that wants its memory as `thread` says, from the nodes
    /// `allowed`.
    fn begin(&mut self, range: Self::Range, thread: Policy, allowed: u32);

    /// How many frames there are; fewer if the range of the operation may not have so many more.
    fn most(&self) -> u32;

    /// The nodes of the partition's memory, as bits.
    fn nodes(&self) -> u32;

    /// The least number of nodes that get_mempolicy(2) wants room for.
    fn node_ids(&self) -> u32;

    /// For what an operation unmaps.
    fn leaving(&self) -> Self::Leaving;

    /// Whether tables were taken away: then processors may have them cached.
    fn tables_left(&self) -> bool;

    /// These, and the tables that were taken away, may be used again; frames that the host holds when it lets go of them.
    fn free_left(&mut self, left: Flushed<Self::Leaving>);

    /// The host lets go of a frame that was unmapped while it used it. False: it is not one.
    fn free_held(&mut self, frame: u64) -> bool;

    /// Gives what this CPU has in store to all.
    fn drain(&mut self);

    /// A block of 2^`order` frames joins, all free, near `node`. False: the host described it wrongly.
    fn join(&mut self, place: u32, first: u64, order: u8, node: u8) -> bool;

    /// The block at `place` leaves, if all of it is free: whether it is. `None`: there is none.
    fn leave(&mut self, place: u32) -> Option<bool>;

    /// Job number `job` gets a run of 2^`order` frames for itself. False: no such run is free.
    fn give(&mut self, job: u32, order: u8) -> bool;

    /// A part of what the job has for itself and is free is for all again. False: nothing was left.
    fn take(&mut self, job: u32) -> bool;

    /// Where this CPU looks for addresses, in the ranges in which it was at work last.
    fn arenas(&mut self) -> &mut Arenas;
}

/// A process's range of addresses that the partition backs: what CPUs and the host share of it.
pub trait SharedRange: Pieces + Copy {
    type Held: HeldRange;

    /// Its first address. It never changes while a thread of its process is here.
    fn base(&self) -> u64;

    /// Whether pages come with the call that maps them.
    fn is_eager(&self) -> bool;

    /// What its pages may be besides readable and writable ([`rights`]). The host adds to it.
    fn rights(&self) -> u32;

    /// Below which page addresses are given.
    fn top(&self) -> u32;

    /// The frame number of its table; 0: none. It stays while any CPU is at work in the range.
    fn root(&self) -> u64;

    fn set_root(&self, root: u64);

    /// Number `number` of its list of policies, which never changes once it has that number.
    fn policy(&self, number: u8) -> Policy;

    /// Its number for `policy`, a new one if need be. `None`: there are too many. `waits` is called while it waits.
    fn number_of(&self, policy: Policy, waits: impl Fn()) -> Option<u8>;

    /// Takes over the policies and the break of its parent, whose memory is being copied: all locks of both are held.
    fn inherit(&self, parent: &Self);

    /// The program's break: where it began, and where it is. The second is reliable only under the lock of the piece of
    /// the first.
    fn program_break(&self) -> (u64, u64);

    /// Waits for the locks of `pieces`, from the lowest on. `waits` is called while it waits for long: the host has one
    /// for a few instructions only, but other CPUs may fill large pages with zeros meanwhile.
    fn hold(&self, pieces: Range<u32>, waits: impl Fn()) -> Self::Held;

    /// The same without a wait. `None`: somebody has one of them.
    fn try_hold(&self, pieces: Range<u32>) -> Option<Self::Held>;
}

/// The locks of some pieces of a range are held for as long as this lives: by this CPU, briefly.
pub trait HeldRange {
    /// Whether calls and faults may be served for threads that name the range with this serial.
    fn is_open(&self, serial: u64) -> bool;

    /// With the lock of the piece where the break began.
    fn set_program_break(&self, end: u64);
}

/// A range's size.
pub const RANGE_BYTES: u64 = 512 << 30;

/// A range begins with so many pages that only the break gets.
pub const BREAK_PAGES: u32 = 1 << 25;

/// What pages of a range may be besides readable and writable.
pub mod rights {
    pub const READ_ONLY: u32 = 1 << 0;
    pub const EXECUTABLE: u32 = 1 << 1;
    /// Never executable: the process asked for that.
    pub const INEXECUTABLE: u32 = 1 << 2;
}
