// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where a thread is: one value, changed by one function.
//!
//! ```text
//!           Post               Enter
//!   Away ---------> Queued ------------> Running ---- Leave ----> Away
//!                    ^  ^ ^               | |
//!                    |  | +---- Yield ----+ | Block
//!                    |  |                   v
//!                    |  +---- Over ---- Waiting ----- Leave ----> Away
//!                    |                      |
//!                    |                      | Wake (by any CPU)
//!                    |                      v
//!                    +----- Resume ------ Woken
//! ```
//!
//! Every arrow to `Queued` or `Running` looks at whether the host has recalled the thread, and then ends at `Away`: the
//! thread goes back. So a recall is never lost, whatever happens between the bell that announced it and the look at it.
//! `Look` follows such a bell, for a thread that is queued or running.
//!
//! A value has one writer at a time: the thread's CPU. While the thread waits for a futex, the writer is the CPU that
//! takes the thread out of the futex table, under the bucket's lock; after that it is the thread's own CPU again.

use super::sizes::THREADS;
use core::sync::atomic::{AtomicU8, Ordering};

/// Where a thread is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Place {
    /// With its host, or nowhere.
    Away,
    /// In the run queue of its CPU.
    Queued,
    /// Its CPU runs it, or answers its call.
    Running,
    /// In a local call, until a device is done with the call's commands. Until then the thread cannot leave.
    WaitsForDevice,
    /// In a local call: a wake-up of a futex ends its wait; a time too, if the CPU knows one for the thread.
    WaitsForFutex,
    /// In a local call: a time ends its wait.
    WaitsForTime,
    /// Its wait has ended; its CPU is to take it from the list of woken threads, and runs it if the CPU is free: else its
    /// host looks for a better one.
    WokenIfFree,
    /// The same, but its CPU runs it in any case.
    WokenHere,
}

/// What ends a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Wait {
    Futex,
    Time,
    Device,
}

/// Where a woken thread continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Then {
    /// On its CPU if that is free; else its host looks for a better one.
    IfFree,
    /// On its CPU in any case.
    Here,
}

/// What happens to a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Its host hands it over.
    Post,
    /// Its turn has come.
    Enter,
    /// It lets others go first.
    Yield,
    /// The host has rung about recalls.
    Look,
    /// It goes back to its host.
    Leave,
    /// Its call begins to wait.
    Block(Wait),
    /// It was woken.
    Wake(Then),
    /// Its CPU takes it from the list of woken threads.
    Resume(Room),
    /// The time until which it waits has come, or its device is done.
    Over(Room),
}

/// What a CPU offers to a thread that may continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Room {
    /// It has nothing else to run.
    Free,
    /// It has other threads.
    Shared,
    /// Its queue is full.
    Full,
}

/// Whether a host wants a thread back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Recall {
    Not,
    /// Whatever it does.
    Always,
    /// If it computes: others wait for its CPU.
    Turn,
}

const PLACES: [Place; 8] = [
    Place::Away,
    Place::Queued,
    Place::Running,
    Place::WaitsForDevice,
    Place::WaitsForFutex,
    Place::WaitsForTime,
    Place::WokenIfFree,
    Place::WokenHere,
];

const EVENTS: [Event; 16] = [
    Event::Post,
    Event::Enter,
    Event::Yield,
    Event::Look,
    Event::Leave,
    Event::Block(Wait::Futex),
    Event::Block(Wait::Time),
    Event::Block(Wait::Device),
    Event::Wake(Then::IfFree),
    Event::Wake(Then::Here),
    Event::Resume(Room::Free),
    Event::Resume(Room::Shared),
    Event::Resume(Room::Full),
    Event::Over(Room::Free),
    Event::Over(Room::Shared),
    Event::Over(Room::Full),
];

const RECALLS: [Recall; 3] = [Recall::Not, Recall::Always, Recall::Turn];

/// Where a thread is after `event`. `None`: that cannot happen to a thread which is at `from`.
#[inline(always)]
pub fn next(from: Place, event: Event, recall: Recall) -> Option<Place> {
    *NEXT.get(from as usize)?.get(event.index())?.get(recall as usize)?
}

/// [`rule`], so that a turn of a thread costs looks into a table and no comparisons.
#[expect(clippy::indexing_slicing, reason = "the compiler evaluates it: a wrong index does not compile")]
static NEXT: [[[Option<Place>; RECALLS.len()]; EVENTS.len()]; PLACES.len()] = {
    let mut all = [[[None; RECALLS.len()]; EVENTS.len()]; PLACES.len()];
    let (mut place, mut event, mut recall) = (0, 0, 0);
    while place < PLACES.len() {
        all[place][event][recall] = rule(PLACES[place], EVENTS[event], RECALLS[recall]);
        recall += 1;
        if recall == RECALLS.len() {
            (event, recall) = (event + 1, 0);
        }
        if event == EVENTS.len() {
            (place, event) = (place + 1, 0);
        }
    }
    all
};

/// The arrows above, and what a recall changes of them.
const fn rule(from: Place, event: Event, recall: Recall) -> Option<Place> {
    let queued = if matches!(recall, Recall::Always) { Place::Away } else { Place::Queued };
    let running = if matches!(recall, Recall::Always) { Place::Away } else { Place::Running };
    Some(match (from, event) {
        (Place::Away, Event::Post) | (Place::Running, Event::Yield) | (Place::Queued, Event::Look) => queued,
        (Place::Queued, Event::Enter) => running,
        // the only one whose turn may end without more
        (Place::Running, Event::Look) if matches!(recall, Recall::Not) => Place::Running,
        (Place::Running, Event::Look) => Place::Away,
        (Place::Running, Event::Block(Wait::Device)) => Place::WaitsForDevice,
        // a thread that is wanted back does not begin to wait: its call is its host's
        (Place::Running, Event::Block(_)) if matches!(recall, Recall::Always) => Place::Running,
        (Place::Running, Event::Block(Wait::Futex)) => Place::WaitsForFutex,
        (Place::Running, Event::Block(Wait::Time)) => Place::WaitsForTime,
        (Place::WaitsForFutex, Event::Wake(Then::IfFree)) => Place::WokenIfFree,
        (Place::WaitsForFutex, Event::Wake(Then::Here)) => Place::WokenHere,
        (Place::WaitsForFutex | Place::WaitsForTime | Place::WaitsForDevice, Event::Over(Room::Full)) => Place::Away,
        (Place::WaitsForFutex | Place::WaitsForTime | Place::WaitsForDevice, Event::Over(_)) => queued,
        (Place::WokenIfFree | Place::WokenHere, Event::Resume(Room::Full)) => Place::Away,
        (Place::WokenIfFree, Event::Resume(Room::Shared)) => Place::Away,
        (Place::WokenIfFree | Place::WokenHere, Event::Resume(_)) => queued,
        (Place::Running, Event::Leave) => Place::Away,
        (Place::WaitsForFutex | Place::WaitsForTime | Place::WaitsForDevice, Event::Leave) => Place::Away,
        _ => return None,
    })
}

impl Event {
    /// In [`EVENTS`].
    #[inline(always)]
    const fn index(self) -> usize {
        match self {
            Self::Post => 0,
            Self::Enter => 1,
            Self::Yield => 2,
            Self::Look => 3,
            Self::Leave => 4,
            Self::Block(wait) => 5 + wait as usize,
            Self::Wake(then) => 8 + then as usize,
            Self::Resume(room) => 10 + room as usize,
            Self::Over(room) => 13 + room as usize,
        }
    }
}

impl Place {
    /// In a local call whose wait has not ended for its CPU, and may take for ever.
    pub fn is_wait(self) -> bool {
        matches!(self, Self::WaitsForFutex | Self::WaitsForTime | Self::WokenIfFree | Self::WokenHere)
    }

    /// Its wait is, or was, one for a futex.
    pub(crate) fn is_futex_wait(self) -> bool {
        matches!(self, Self::WaitsForFutex | Self::WokenIfFree | Self::WokenHere)
    }

    #[inline(always)]
    const fn decode(code: u8) -> Self {
        match code {
            1 => Self::Queued,
            2 => Self::Running,
            3 => Self::WaitsForDevice,
            4 => Self::WaitsForFutex,
            5 => Self::WaitsForTime,
            6 => Self::WokenIfFree,
            7 => Self::WokenHere,
            _ => Self::Away,
        }
    }
}

/// Where all threads of the partition are, by number.
pub(crate) struct Places {
    places: [Slot; THREADS],
}

/// On a cache line of its own: two CPUs that change two threads' places do not meet.
#[repr(align(64))]
struct Slot(AtomicU8);

impl Places {
    /// All are away.
    pub const fn new() -> Self {
        Self { places: [const { Slot(AtomicU8::new(Place::Away as u8)) }; THREADS] }
    }

    /// Where a thread is. `None`: there is no such thread.
    #[inline]
    pub fn get(&self, thread: u32) -> Option<Place> {
        // Pairs with the release in `change` by the CPU that woke it.
        Some(Place::decode(self.places.get(thread as usize)?.0.load(Ordering::Acquire)))
    }

    /// Changes where a thread is, and says from where to where. `Err`: that cannot happen there.
    #[inline(always)]
    pub fn change(&self, thread: u32, event: Event, recall: Recall) -> Result<(Place, Place), Option<Place>> {
        let slot = self.places.get(thread as usize).ok_or(None)?;
        let from = Place::decode(slot.0.load(Ordering::Acquire));
        let to = next(from, event, recall).ok_or(Some(from))?;
        slot.0.store(to as u8, Ordering::Release);
        Ok((from, to))
    }
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
