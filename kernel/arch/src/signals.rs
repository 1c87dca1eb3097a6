// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The words by which CPUs and the host signal each other: the doorbell's requests, flushes of the TLB and their
//! acknowledgement, and what a CPU is doing.
//!
//! They lie in the page that each CPU shares with its host, at offsets that the entry code uses too; the rest of the
//! page is the host's. A host that is another kernel checks these offsets against its own description of the page.
//!
//! The orders of accesses are those of `tacet_logic::handshake`. The handler of the bell (`entry.S`) answers flushes
//! at any time, so two CPUs that flush at once do not wait for each other for ever.

use crate::Mode;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use tacet_logic::handshake::doorbell;
use tacet_logic::handshake::flush::{self, Flushes};
use tacet_logic::handshake::idle::{self, Rest};

/// Bytes of the page that are the host's.
type Hosts<const BYTES: usize> = [AtomicU8; BYTES];

/// A page's size, and so the distance between the pages of two CPUs.
pub const PAGE_BYTES: usize = 16384;

/// `state` of a CPU that serves.
pub const ONLINE: u32 = 1;

/// CPUs that are asked to flush before the first is waited for.
const ASKED_AT_ONCE: usize = 64;

/// One CPU's words.
#[repr(C)]
pub struct Signals {
    _host0: Hosts<136>,
    /// The host, before start: where the CPU's first stack begins.
    pub stack_top: AtomicU64,
    _host1: Hosts<84>,
    /// The host, before start: how the interrupt controller names this CPU.
    pub identity: AtomicU32,
    _host2: Hosts<280>,
    /// Any CPU or the host: a generation; the bell follows.
    pub flush_requested: AtomicU64,
    /// Any CPU or the host sets bits; this CPU takes them all at once.
    pub attention: AtomicU32,
    _host3: Hosts<16>,
    /// The host: 0 if this CPU must not be rung.
    pub audible: AtomicU32,
    _host4: Hosts<32>,
    /// This CPU: it has nothing in its TLB that is older than this generation.
    pub flush_acknowledged: AtomicU64,
    /// This CPU: the address space that is loaded; 0: none.
    pub active_root: AtomicU64,
    _host5: Hosts<8>,
    /// This CPU: whether it serves.
    pub state: AtomicU32,
    /// This CPU: a [`Mode`].
    pub mode: AtomicU32,
    _host6: Hosts<32>,
    /// This CPU, counters: bells that found user mode, that found the co-kernel, and whose request was served before.
    pub doorbells_user: AtomicU64,
    pub doorbells_kernel: AtomicU64,
    pub doorbells_empty: AtomicU64,
    _host7: Hosts<32>,
    /// This CPU: its own timer ended its halt.
    pub alarms: AtomicU64,
    /// This CPU: unexpected interrupts, by vector.
    pub foreign: [AtomicU32; 256],
    _host8: Hosts<192>,
    /// Other CPUs: bells that they rang here.
    pub doorbells_from_cpus: AtomicU32,
    _host9: Hosts<{ PAGE_BYTES - 1924 }>,
}

const _: () = assert!(size_of::<Signals>() == PAGE_BYTES);

impl Signals {
    /// Asks this CPU to look, and rings unless it looks anyway. What `requests` are about is written already.
    #[inline]
    pub fn call(&self, requests: u32, ring: impl FnOnce(u32)) {
        if idle::looks_anyway(&self.mode, Mode::Spinning as u32) {
            return;
        }
        doorbell::request(&self.attention, requests);
        // The host takes the bell away before it stops a CPU.
        if self.audible.load(Ordering::SeqCst) != 0 {
            self.ring(ring);
        }
    }

    /// Says what this CPU does.
    #[inline]
    pub fn set_mode(&self, mode: Mode) {
        let rest = match mode {
            Mode::Spinning => Rest::Looks,
            Mode::Idle => Rest::Sleeps,
            Mode::Kernel | Mode::User => Rest::Ends,
        };
        idle::announce(&self.mode, rest, mode as u32);
    }

    /// This CPU is about to load an address space, or has left the one that it had (0).
    #[inline]
    pub fn set_active_root(&self, root: u64) {
        flush::announce(&self.active_root, root);
    }

    /// The address space that this CPU, which asks, has loaded.
    #[inline]
    pub fn own_root(&self) -> u64 {
        self.active_root.load(Ordering::Relaxed)
    }

    /// Counts an unexpected interrupt.
    pub fn count_foreign(&self, vector: u8) {
        if let Some(counter) = self.foreign.get(usize::from(vector)) {
            counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        }
    }

    /// Counts a halt that this CPU's timer ended.
    pub fn count_alarm(&self) {
        self.alarms.store(self.alarms.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    fn flushes(&self) -> Flushes<'_, AtomicU64> {
        Flushes {
            active_root: &self.active_root,
            requested: &self.flush_requested,
            acknowledged: &self.flush_acknowledged,
        }
    }

    /// Waits until a flush that was requested is done.
    fn await_flush(&self, generation: u64) {
        while !self.flushes().is_done(generation) && self.answers() {
            core::hint::spin_loop();
        }
    }

    /// It has not died, and the host is not about to stop it.
    fn answers(&self) -> bool {
        self.audible.load(Ordering::SeqCst) != 0 && self.state.load(Ordering::Relaxed) == ONLINE
    }

    fn ring(&self, ring: impl FnOnce(u32)) {
        self.doorbells_from_cpus.fetch_add(1, Ordering::Relaxed);
        ring(self.identity.load(Ordering::Relaxed));
    }
}

/// Makes all CPUs but number `own` forget what they cached of the address space `root` (0: of any), and waits until
/// they have. `ring` rings a CPU by its identity.
pub fn flush_others(cpus: &[Signals], own: u32, root: u64, ring: impl Fn(u32)) {
    for (group, first) in cpus.chunks(ASKED_AT_ONCE).zip((0..).step_by(ASKED_AT_ONCE)) {
        let mut requests = [None; ASKED_AT_ONCE];
        for (request, (index, cpu)) in requests.iter_mut().zip((first..).zip(group)) {
            *request =
                if index == own { None } else { cpu.flushes().request(root, || !cpu.answers(), || cpu.ring(&ring)) };
        }
        for (request, cpu) in requests.iter().zip(group) {
            if let Some(generation) = *request {
                cpu.await_flush(generation);
            }
        }
    }
}
