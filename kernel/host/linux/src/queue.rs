// SPDX-License-Identifier: Apache-2.0 OR MIT
//! This CPU's queue at one device (`struct tacet_pico_queue`): the rings and the doorbells that `tacet_pico_nvme` uses, and
//! the counters that Linux shows.
//!
//! The rings stay mapped for as long as the CPU runs. The doorbells are the device's registers: they are written only
//! while `ringing` is set and the epoch has been looked at since, so Linux has not unmapped them.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use tacet_abi::{
    TACET_PICO_BASE, TACET_PICO_BY_ALIGNMENT, TACET_PICO_BY_BOUNDS, TACET_PICO_BY_BUFFER, TACET_PICO_BY_LOSS,
    TACET_PICO_BY_RIGHTS, TACET_PICO_BY_ROOM, TACET_PICO_BY_STATE, TACET_PICO_BY_STATUS, TACET_PICO_COMMANDS,
    TACET_PICO_DEPTH, TACET_PICO_FALLBACKS, TACET_PICO_LIMIT_BYTES, tacet_pico_queue,
};
use tacet_pico::Forward;
use tacet_pico_nvme::command::Command;
use tacet_pico_nvme::{Completion, Door, LIST_ENTRIES, LISTS, Limits, QueueMemory};

const _: () = assert!(LISTS as u32 == TACET_PICO_COMMANDS);

/// Bytes of an entry of each ring, and where the second half of a completion begins.
const COMMAND_BYTES: u64 = 64;
const COMPLETION_BYTES: u64 = 16;
const SECOND_HALF: u64 = 12;

/// One queue.
#[derive(Clone, Copy)]
pub struct Queue {
    at: NonNull<tacet_pico_queue>,
}

macro_rules! read {
    ($self:ident, $field:ident) => {{
        // SAFETY: mapped for as long as the CPU runs, aligned; Linux writes it before it makes the epoch even.
        unsafe { (&raw const (*$self.at.as_ptr()).$field).read_volatile() }
    }};
}

macro_rules! atomic {
    ($self:ident, $atomic:ident, $field:ident) => {{
        // SAFETY: mapped for as long as the CPU runs; aligned; always accessed atomically.
        unsafe { $atomic::from_ptr(&raw mut (*$self.at.as_ptr()).$field) }
    }};
}

impl Queue {
    pub fn new(at: NonNull<tacet_pico_queue>) -> Self {
        Self { at }
    }

    /// `None`: Linux has not described it yet.
    pub fn limits(&self) -> Option<Limits> {
        let depth = read!(self, depth);
        (depth <= TACET_PICO_DEPTH).then(|| Limits {
            depth: depth as u16,
            most_bytes: read!(self, most_bytes),
            lists: read!(self, lists_device),
            segments: read!(self, segments) != 0,
        })
    }

    /// So many are new.
    pub fn count_commands(&self, count: u32) {
        add(atomic!(self, AtomicU64, commands), count.into());
    }

    /// Commands that are not complete, and the calls that have any.
    pub fn show_flight(&self, (commands, calls): (u32, u32)) {
        atomic!(self, AtomicU32, in_flight).store(commands, Ordering::Relaxed);
        let most = atomic!(self, AtomicU32, most_calls);
        if calls > most.load(Ordering::Relaxed) {
            most.store(calls, Ordering::Relaxed);
        }
    }

    pub fn count_call(&self, writes: bool, bytes: u32) {
        add(atomic!(self, AtomicU64, calls), 1);
        match writes {
            true => add(atomic!(self, AtomicU64, written_bytes), bytes.into()),
            false => add(atomic!(self, AtomicU64, read_bytes), bytes.into()),
        }
    }

    pub fn count_fallback(&self, reason: Forward) {
        let index = match reason {
            Forward::State => TACET_PICO_BY_STATE,
            Forward::Rights => TACET_PICO_BY_RIGHTS,
            Forward::Alignment => TACET_PICO_BY_ALIGNMENT,
            Forward::Bounds => TACET_PICO_BY_BOUNDS,
            Forward::Buffer => TACET_PICO_BY_BUFFER,
            Forward::Room | Forward::Busy => TACET_PICO_BY_ROOM,
            Forward::Status => TACET_PICO_BY_STATUS,
            Forward::Loss => TACET_PICO_BY_LOSS,
        };
        const { assert!(TACET_PICO_BY_LOSS < TACET_PICO_FALLBACKS) };
        // SAFETY: as for `atomic!`; the index is within the array.
        add(
            unsafe { AtomicU64::from_ptr((&raw mut (*self.at.as_ptr()).fallbacks).cast::<u64>().add(index as usize)) },
            1,
        );
    }

    /// Asks Linux to take the device away from the commands in flight.
    pub fn complain(&self) {
        atomic!(self, AtomicU32, wants_end).store(1, Ordering::Release);
    }

    /// An aligned word of what Linux mapped for devices: dies rather than reach beyond that.
    #[inline]
    fn word(&self, address: u64) -> u64 {
        let offset = address.wrapping_sub(TACET_PICO_BASE as u64);
        if offset > u64::from(TACET_PICO_LIMIT_BYTES) - 8 || !address.is_multiple_of(4) {
            crate::die(format_args!("queue: {address:#x} is not a device's memory"));
        }
        address
    }

    fn store(&self, address: u64, value: u64) {
        let at = self.word(address & !7) as *mut u64;
        // SAFETY: aligned, and in the rings or lists of this CPU, which nobody else writes but Linux between two epochs.
        unsafe { AtomicU64::from_ptr(at) }.store(value, Ordering::Relaxed);
    }

    #[inline]
    fn word32(&self, address: u64) -> &AtomicU32 {
        // SAFETY: mapped for as long as it is used (see above), aligned, always accessed atomically.
        unsafe { AtomicU32::from_ptr(self.word(address) as *mut u32) }
    }
}

impl QueueMemory for Queue {
    #[inline]
    fn epoch(&self) -> u32 {
        atomic!(self, AtomicU32, epoch).load(Ordering::SeqCst)
    }

    fn set_ringing(&self, ringing: bool) {
        // A full barrier: either Linux sees it and waits, or the next look at the epoch shows what Linux did before.
        atomic!(self, AtomicU32, ringing).swap(ringing.into(), Ordering::SeqCst);
    }

    fn put_command(&self, slot: u16, command: &Command) {
        let entry = read!(self, submissions) + u64::from(slot) % u64::from(TACET_PICO_DEPTH) * COMMAND_BYTES;
        for (index, &word) in (0u64..).zip(command) {
            self.store(entry + index * 8, word);
        }
    }

    fn put_word(&self, list: u16, index: u16, word: u64) {
        let (list, index) = (u64::from(list % LISTS), u64::from(index) % u64::from(LIST_ENTRIES));
        self.store(read!(self, lists) + (list * u64::from(LIST_ENTRIES) + index) * 8, word);
    }

    #[inline]
    fn completion(&self, slot: u16) -> Completion {
        let entry = read!(self, completions) + u64::from(slot) % u64::from(TACET_PICO_DEPTH) * COMPLETION_BYTES;
        let half = self.word32(entry + SECOND_HALF).load(Ordering::Acquire);
        Completion { command: half as u16, status: (half >> 16) as u16 }
    }

    fn exchange_shadow(&self, door: Door, value: u16) -> Option<(u16, u16)> {
        let (shadow, event) = match door {
            Door::Submission => (read!(self, submission_shadow), read!(self, submission_event)),
            Door::Completion => (read!(self, completion_shadow), read!(self, completion_event)),
        };
        if shadow == 0 || event == 0 {
            return None;
        }
        let old = self.word32(shadow).swap(value.into(), Ordering::SeqCst);
        Some((old as u16, self.word32(event).load(Ordering::SeqCst) as u16))
    }

    fn ring(&self, door: Door, value: u16) {
        let register = match door {
            Door::Submission => read!(self, submission_doorbell),
            Door::Completion => read!(self, completion_doorbell),
        };
        // All stores before come first: the processor keeps their order, and this one is not cached.
        self.word32(register).store(value.into(), Ordering::Release);
    }
}

/// Only this CPU writes its counters.
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}
