// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a thread's program does: a list of actions, then it computes until Linux wants it back.

use crate::device::DESCRIPTOR;
use crate::memory::BASE;
use proptest::prelude::*;
use tacet_arch::Exit;

/// Futexes of each address space.
pub const WORDS: usize = 3;
/// A word's value is below this.
const VALUES: u32 = 2;

const FUTEX: u64 = 202;
const NANOSLEEP: u64 = 35;
const PRIVATE: u64 = 128;

/// One instruction, or one that ends user mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Compute,
    Store {
        word: usize,
        value: u32,
    },
    Wait {
        word: usize,
        value: u32,
        bitset: u32,
        ns: Option<u32>,
    },
    Wake {
        word: usize,
        count: u32,
        bitset: u32,
    },
    Requeue {
        from: usize,
        to: usize,
        wake: u32,
        take: u32,
        compare: Option<u32>,
    },
    Sleep {
        ns: u32,
    },
    Yield,
    /// Maps pages, with their frames if it is said so.
    Map {
        pages: u32,
        populate: bool,
    },
    /// Moves its break to this page.
    Break {
        page: u32,
    },
    /// Asks where its break is.
    WhereIsBreak,
    /// Does something with what it has mapped last.
    Unmap,
    Replace,
    Protect,
    Discard,
    Populate,
    Small,
    Bind,
    /// Touches a page of that.
    Touch {
        page: u32,
    },
    /// Touches a page of what the first thread has mapped last.
    TouchOther {
        page: u32,
    },
    /// Lets the device read or write the beginning of that.
    Transfer {
        writes: bool,
    },
    /// Reads into the beginning of that from the file's position on.
    Read,
    /// The call with this number, about what the first thread has mapped last.
    AboutOther {
        number: u64,
    },
    GetPid,
    /// This call. The test, not the books, knows its result.
    Exactly(Call),
    /// A call that no CPU answers.
    Forward,
    PageFault,
    Exception,
    Interrupt,
}

/// A system call, as its registers say it.
pub type Call = (u64, [u64; 6]);

impl Action {
    /// Why it ends user mode. `None`: it does not.
    pub fn exit(self) -> Option<Exit> {
        match self {
            Self::Compute | Self::Store { .. } | Self::Touch { .. } | Self::TouchOther { .. } => None,
            Self::PageFault => Some(Exit::PageFault(0x5000)),
            Self::Exception => Some(Exit::Exception(6)),
            Self::Interrupt => Some(Exit::Interrupt(0x41)),
            _ => Some(Exit::Call),
        }
    }

    /// The call that it makes at the time `now`, with what it has mapped.
    pub fn call(self, now: u64, mapping: Option<(u64, u64)>) -> Call {
        let about = |number: u64, third: u64| {
            mapping.map_or((0, [0; 6]), |(address, bytes)| (number, [address, bytes, third, 0, 0, 0]))
        };
        match self {
            Self::Map { pages, populate } => {
                let flags = 0x22 | if populate { 0x8000 } else { 0 };
                (9, [0, u64::from(pages) << 12, 3, flags, u64::MAX, 0])
            }
            Self::Break { page } => (12, [BASE + (u64::from(page) << 12), 0, 0, 0, 0, 0]),
            Self::WhereIsBreak => (12, [0; 6]),
            Self::Unmap => about(11, 0),
            Self::Replace => {
                mapping.map_or((0, [0; 6]), |(address, bytes)| (9, [address, bytes, 3, 0x32, u64::MAX, 0]))
            }
            Self::Protect => about(10, 3),
            Self::Discard => about(28, 4),
            Self::Populate => about(28, 23),
            Self::Small => about(28, 15),
            Self::Bind => about(237, 4),
            Self::Transfer { writes } => mapping.map_or((0, [0; 6]), |(address, bytes)| {
                (if writes { 18 } else { 17 }, [DESCRIPTOR, address, bytes.min(16 * 4096), 0, 0, 0])
            }),
            Self::Read => mapping
                .map_or((0, [0; 6]), |(address, bytes)| (0, [DESCRIPTOR, address, bytes.min(16 * 4096), 0, 0, 0])),
            Self::AboutOther { number: 9 } => Self::Replace.call(now, mapping),
            Self::AboutOther { number: 10 } => about(10, 1),
            // mremap, to a place of its own
            Self::AboutOther { number: 25 } => {
                mapping.map_or((0, [0; 6]), |(address, bytes)| (25, [address, bytes, bytes, 3, address - (1 << 26), 0]))
            }
            Self::AboutOther { number } => about(number, 4),
            Self::Wait { word, value, bitset, ns } => {
                let until = ns.map_or(0, |ns| time_at(now + u64::from(ns)));
                (FUTEX, [address(word), 9 | PRIVATE, value.into(), until, 0, bitset.into()])
            }
            Self::Wake { word, count, bitset } if bitset == u32::MAX => {
                (FUTEX, [address(word), 1 | PRIVATE, count.into(), 0, 0, 0])
            }
            Self::Wake { word, count, bitset } => {
                (FUTEX, [address(word), 10 | PRIVATE, count.into(), 0, 0, bitset.into()])
            }
            Self::Requeue { from, to, wake, take, compare } => {
                let operation = if compare.is_some() { 4 } else { 3 };
                let expected = compare.unwrap_or(0).into();
                (FUTEX, [address(from), operation | PRIVATE, wake.into(), take.into(), address(to), expected])
            }
            Self::Sleep { ns } => (NANOSLEEP, [time_at(ns.into()), 0, 0, 0, 0, 0]),
            Self::Yield => (24, [0; 6]),
            Self::GetPid => (39, [0; 6]),
            Self::Exactly(call) => call,
            _ => (0, [0; 6]),
        }
    }
}

pub fn address(word: usize) -> u64 {
    0x1000 + 4 * word as u64
}

/// Which futex an address is.
pub fn word_at(address: u64) -> Option<usize> {
    (0..WORDS).find(|&word| self::address(word) == address)
}

/// Each time is in memory somewhere.
fn time_at(ns: u64) -> u64 {
    0x10_0000 + 16 * ns
}

/// A word of such a time: seconds, then nanoseconds.
pub fn load_time(address: u64) -> Option<u32> {
    let offset = address.checked_sub(0x10_0000)?;
    Some(if offset % 16 == 8 { (offset / 16) as u32 } else { 0 })
}

/// Until when, or for how long, a call with a time waits.
pub fn time_of(address: u64) -> Option<u64> {
    Some(address.checked_sub(0x10_0000)? / 16)
}

pub fn programs() -> impl Strategy<Value = Vec<Action>> {
    let word = || 0..WORDS;
    let value = || 0..VALUES;
    let bitset = || prop_oneof![4 => Just(u32::MAX), 1 => Just(1), 1 => Just(2)];
    let time = || prop_oneof![2 => Just(None), 1 => (1_000..300_000u32).prop_map(Some)];
    let compare = prop_oneof![Just(None), value().prop_map(Some)];
    let action = prop_oneof![
        1 => Just(Action::Compute),
        2 => (word(), value()).prop_map(|(word, value)| Action::Store { word, value }),
        8 => (word(), value(), bitset(), time())
            .prop_map(|(word, value, bitset, ns)| Action::Wait { word, value, bitset, ns }),
        6 => (word(), prop_oneof![1..4u32, Just(i32::MAX as u32)], bitset())
            .prop_map(|(word, count, bitset)| Action::Wake { word, count, bitset }),
        2 => (word(), word(), 0..3u32, 0..3u32, compare)
            .prop_map(|(from, to, wake, take, compare)| Action::Requeue { from, to, wake, take, compare }),
        2 => (1_000..150_000u32).prop_map(|ns| Action::Sleep { ns }),
        2 => Just(Action::Yield),
        1 => (prop::sample::select(vec![1u32, 700, 1600, 5000]), any::<bool>())
            .prop_map(|(pages, populate)| Action::Map { pages, populate }),
        1 => prop::sample::select(vec![Action::Unmap, Action::Replace, Action::Protect, Action::Discard, Action::Populate]),
        2 => (0..5000u32).prop_map(|page| Action::Touch { page }),
        1 => any::<bool>().prop_map(|writes| Action::Transfer { writes }),
        1 => prop::sample::select(vec![
            Action::GetPid, Action::Forward, Action::PageFault, Action::Exception, Action::Interrupt,
        ]),
    ];
    prop::collection::vec(action, 0..8)
}
