// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The memory of a host that gives its CPUs none (`Host::open_memory`): a type without a value.

use super::left::{Flushed, Leaving};
use super::partition::{HeldRange, PartitionMemory, SharedRange};
use core::ops::Range;
use tacet_logic::frames::Policy;
use tacet_logic::paging::{Encoding, Entry, Memory, PageSize, Placement, Reach, Retired, Tables, Unordered};
use tacet_logic::ranges::{Arenas, Pieces};

/// There is none.
#[derive(Debug, Clone, Copy)]
pub enum NoMemory {}

impl Encoding for NoMemory {
    const POLICIES: u8 = 1;
    const LARGE_PAGES_MAY_BE_EXECUTABLE: bool = true;
    const FAULTS_FORGET: bool = true;
    const MIRRORED: u64 = 0;
    type Breaks = Unordered;

    fn encode(_: Entry, _: PageSize) -> u64 {
        0
    }

    fn decode(_: u64, _: PageSize) -> Entry {
        Entry::Absent
    }

    fn table(_: u64, _: PageSize) -> Option<u64> {
        None
    }
}

macro_rules! never {
    ($($name:ident(&$($access:ident)? $(, $argument:ident: $of:ty)*) $(-> $result:ty)?;)*) => {
        $(fn $name(&$($access)? self $(, _: $of)*) $(-> $result)? { match *self {} })*
    };
}

impl Tables for NoMemory {
    type Encoding = Self;
    never! {
        load(&, table: u64, index: u16) -> u64;
        store(&, table: u64, index: u16, entry: u64);
        compare_exchange(&, table: u64, index: u16, current: u64, new: u64) -> bool;
        allocate_table(&mut) -> Option<u64>;
        free_table(&mut, table: u64);
    }
}

impl Memory for NoMemory {
    never! {
        allocate(&mut, order: u8, placement: Placement, reach: Reach) -> Option<u64>;
        suits(&, frame: u64, order: u8, placement: Placement) -> bool;
        is_held(&, frame: u64, order: u8) -> bool;
        free(&mut, frame: u64, order: u8);
        split(&mut, frame: u64, order: u8, to: u8);
        zero(&mut, frame: u64, order: u8);
        copy(&mut, from: u64, to: u64, order: u8);
    }
}

impl PartitionMemory for NoMemory {
    type Range = Self;
    type Leaving = Self;
    never! {
        range(&, number: u32) -> Option<Self>;
        begin(&mut, range: Self, thread: Policy, allowed: u32);
        most(&) -> u32;
        nodes(&) -> u32;
        node_ids(&) -> u32;
        leaving(&) -> Self;
        tables_left(&) -> bool;
        free_left(&mut, left: Flushed<Self>);
        free_held(&mut, frame: u64) -> bool;
        drain(&mut);
        join(&mut, place: u32, first: u64, order: u8, node: u8) -> bool;
        leave(&mut, place: u32) -> Option<bool>;
        give(&mut, job: u32, order: u8) -> bool;
        take(&mut, job: u32) -> bool;
        arenas(&mut) -> &mut Arenas;
    }
}

impl Leaving for NoMemory {
    never! {
        retire(&mut, old: Retired);
        is_slow(&) -> bool;
    }
}

impl Pieces for NoMemory {
    never! {
        owner(&, piece: u32) -> u16;
        exchange(&, piece: u32, current: u16, new: u16) -> bool;
    }
}

impl SharedRange for NoMemory {
    type Held = Self;
    never! {
        base(&) -> u64;
        is_eager(&) -> bool;
        rights(&) -> u32;
        top(&) -> u32;
        root(&) -> u64;
        set_root(&, root: u64);
        policy(&, number: u8) -> Policy;
        inherit(&, parent: &Self);
        program_break(&) -> (u64, u64);
        try_hold(&, pieces: Range<u32>) -> Option<Self>;
    }

    fn number_of(&self, _: Policy, _: impl Fn()) -> Option<u8> {
        match *self {}
    }

    fn hold(&self, _: Range<u32>, _: impl Fn()) -> Self {
        match *self {}
    }
}

impl HeldRange for NoMemory {
    never! {
        is_open(&, serial: u64) -> bool;
        set_program_break(&, end: u64);
    }
}
