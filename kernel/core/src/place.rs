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

use crate::common::THREADS;
use crate::host::Recall;
use core::sync::atomic::{AtomicU8, Ordering};

/// Where a thread is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// With its host, or nowhere.
    Away,
    /// In the run queue of its CPU.
    Queued,
    /// Its CPU runs it, or answers its call.
    Running,
    /// In a local call that waits.
    Waiting(Wait),
    /// Its wait has ended; its CPU is to take it from the list of woken threads.
    Woken(Then),
}

/// What ends a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wait {
    /// A wake-up of a futex; a time too, if the CPU knows one for the thread.
    Futex,
    /// A time.
    Time,
    /// A device is done with the call's commands. Until then the thread cannot leave.
    Device,
}

/// Where a woken thread continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
    /// Its call begins to wait.
    Block(Wait),
    /// It was woken.
    Wake(Then),
    /// Its CPU takes it from the list of woken threads.
    Resume(Room),
    /// The time until which it waits has come, or its device is done.
    Over(Room),
    /// The host has rung about recalls.
    Look,
    /// It goes back to its host.
    Leave,
}

/// What a CPU offers to a thread that may continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// It has nothing else to run.
    Free,
    /// It has other threads.
    Shared,
    /// Its queue is full.
    Full,
}

/// Where a thread is after `event`. `None`: that cannot happen to a thread which is at `from`.
#[inline(always)]
pub fn next(from: Place, event: Event, recall: Recall) -> Option<Place> {
    let unless_recalled = |to| if recall == Recall::Always { Place::Away } else { to };
    Some(match (from, event) {
        (Place::Away, Event::Post) | (Place::Running, Event::Yield) => unless_recalled(Place::Queued),
        (Place::Queued, Event::Enter) => unless_recalled(Place::Running),
        (Place::Queued, Event::Look) => unless_recalled(Place::Queued),
        // the only one whose turn may end without more
        (Place::Running, Event::Look) if recall == Recall::Not => Place::Running,
        (Place::Running, Event::Look) => Place::Away,
        (Place::Running, Event::Block(Wait::Device)) => Place::Waiting(Wait::Device),
        // a thread that is wanted back does not begin to wait: its call is its host's
        (Place::Running, Event::Block(_)) if recall == Recall::Always => Place::Running,
        (Place::Running, Event::Block(wait)) => Place::Waiting(wait),
        (Place::Waiting(Wait::Futex), Event::Wake(then)) => Place::Woken(then),
        (Place::Waiting(_), Event::Over(Room::Full)) => Place::Away,
        (Place::Waiting(_), Event::Over(_)) => unless_recalled(Place::Queued),
        (Place::Woken(_), Event::Resume(Room::Full)) => Place::Away,
        (Place::Woken(Then::IfFree), Event::Resume(Room::Shared)) => Place::Away,
        (Place::Woken(_), Event::Resume(_)) => unless_recalled(Place::Queued),
        (Place::Running | Place::Waiting(_), Event::Leave) => Place::Away,
        _ => return None,
    })
}

impl Place {
    /// In a local call whose wait has not ended for its CPU, and may take for ever.
    pub fn is_wait(self) -> bool {
        matches!(self, Self::Waiting(Wait::Futex | Wait::Time) | Self::Woken(_))
    }

    /// Its wait is, or was, one for a futex.
    pub(crate) fn is_futex_wait(self) -> bool {
        matches!(self, Self::Waiting(Wait::Futex) | Self::Woken(_))
    }

    const fn encode(self) -> u8 {
        match self {
            Self::Away => 0,
            Self::Queued => 1,
            Self::Running => 2,
            Self::Waiting(Wait::Futex) => 3,
            Self::Waiting(Wait::Time) => 4,
            Self::Woken(Then::IfFree) => 5,
            Self::Woken(Then::Here) => 6,
            Self::Waiting(Wait::Device) => 7,
        }
    }

    const fn decode(code: u8) -> Self {
        match code {
            1 => Self::Queued,
            2 => Self::Running,
            3 => Self::Waiting(Wait::Futex),
            4 => Self::Waiting(Wait::Time),
            5 => Self::Woken(Then::IfFree),
            6 => Self::Woken(Then::Here),
            7 => Self::Waiting(Wait::Device),
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
        Self { places: [const { Slot(AtomicU8::new(Place::Away.encode())) }; THREADS] }
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
        slot.0.store(to.encode(), Ordering::Release);
        Ok((from, to))
    }
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
