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
#[repr(transparent)]
struct Hosts<const BYTES: usize>([AtomicU8; BYTES]);

impl<const BYTES: usize> Hosts<BYTES> {
    const fn zero() -> Self {
        Self([const { AtomicU8::new(0) }; BYTES])
    }
}

/// A page's size, and so the distance between the pages of two CPUs.
pub const PAGE_BYTES: usize = 16384;

/// `state` of a CPU that serves.
pub const ONLINE: u32 = 1;

/// CPUs that are asked to flush before the first is waited for.
const ASKED_AT_ONCE: usize = 64;

/// One CPU's words.
#[repr(C)]
pub struct Signals {
    _host0: Hosts<128>,
    /// The host: the address space without a program. It changes while this CPU has no thread.
    pub idle_root: AtomicU64,
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
    _host6: Hosts<20>,
    /// This CPU: the most that its first stack held, as far as it has forgotten that.
    pub stack_bytes: AtomicU32,
    _host7: Hosts<8>,
    /// This CPU, counters: bells that found user mode, that found the co-kernel, and whose request was served before.
    pub doorbells_user: AtomicU64,
    pub doorbells_kernel: AtomicU64,
    pub doorbells_empty: AtomicU64,
    _host8: Hosts<32>,
    /// This CPU: its own timer ended its halt, or interrupted a thread that shares it.
    pub alarms: AtomicU64,
    /// This CPU: unexpected interrupts, by vector.
    pub foreign: [AtomicU32; 256],
    _host9: Hosts<192>,
    /// Other CPUs: bells that they rang here.
    pub doorbells_from_cpus: AtomicU32,
    _host10: Hosts<{ PAGE_BYTES - 1924 }>,
}

const _: () = assert!(size_of::<Signals>() == PAGE_BYTES);

impl Signals {
    /// Of a CPU that has not started.
    pub const fn new() -> Self {
        Self {
            _host0: Hosts::zero(),
            idle_root: AtomicU64::new(0),
            stack_top: AtomicU64::new(0),
            _host1: Hosts::zero(),
            identity: AtomicU32::new(0),
            _host2: Hosts::zero(),
            flush_requested: AtomicU64::new(0),
            attention: AtomicU32::new(0),
            _host3: Hosts::zero(),
            audible: AtomicU32::new(0),
            _host4: Hosts::zero(),
            flush_acknowledged: AtomicU64::new(0),
            active_root: AtomicU64::new(0),
            _host5: Hosts::zero(),
            state: AtomicU32::new(0),
            mode: AtomicU32::new(0),
            _host6: Hosts::zero(),
            stack_bytes: AtomicU32::new(0),
            _host7: Hosts::zero(),
            doorbells_user: AtomicU64::new(0),
            doorbells_kernel: AtomicU64::new(0),
            doorbells_empty: AtomicU64::new(0),
            _host8: Hosts::zero(),
            alarms: AtomicU64::new(0),
            foreign: [const { AtomicU32::new(0) }; 256],
            _host9: Hosts::zero(),
            doorbells_from_cpus: AtomicU32::new(0),
            _host10: Hosts::zero(),
        }
    }

    /// Tells this CPU that threads on its list are woken, unless it looks at that list anyway.
    #[inline]
    pub fn call_for_woken(&self, requests: u32, ring: impl FnOnce(u32)) {
        if !idle::looks_anyway(&self.mode, Mode::Spinning as u32) {
            self.call(requests, ring);
        }
    }

    /// Asks this CPU to look, and rings: a CPU that looks at its list of woken threads does not see what else
    /// `requests` are about. That is written already.
    #[inline]
    pub fn call(&self, requests: u32, ring: impl FnOnce(u32)) {
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

    /// Counts an interrupt of this CPU's own timer.
    pub fn count_alarm(&self) {
        self.alarms.store(self.alarms.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// This CPU's first stack once held so much.
    pub fn note_stack(&self, bytes: u32) {
        self.stack_bytes.fetch_max(bytes, Ordering::Relaxed);
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

impl Default for Signals {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::cell::RefCell;
    use std::vec::Vec;

    const ROOT: u64 = 0x5000;

    /// CPUs that serve, named by their numbers, with these address spaces loaded.
    fn cpus(roots: &[u64]) -> Vec<Signals> {
        let cpu = |(number, &root): (u32, &u64)| {
            let cpu = Signals::new();
            cpu.identity.store(number, Ordering::Relaxed);
            cpu.audible.store(1, Ordering::Relaxed);
            cpu.state.store(ONLINE, Ordering::Relaxed);
            cpu.set_active_root(root);
            cpu
        };
        (0..).zip(roots).map(cpu).collect()
    }

    /// Flushes for CPU 0; the bell's handlers answer. Which CPUs were rung.
    fn flushed(cpus: &[Signals], root: u64) -> Vec<u32> {
        let rung = RefCell::new(Vec::new());
        flush_others(cpus, 0, root, |identity| {
            rung.borrow_mut().push(identity);
            let cpu = &cpus[identity as usize];
            cpu.flush_acknowledged.store(cpu.flush_requested.load(Ordering::Relaxed), Ordering::Relaxed);
        });
        rung.into_inner()
    }

    #[test]
    fn only_cpus_that_have_the_address_space_are_asked() {
        let cpus = cpus(&[ROOT, ROOT, 0, 0x6000, ROOT]);
        assert_eq!(flushed(&cpus, ROOT), [1, 4]);
        assert_eq!(flushed(&cpus, 0), [1, 3, 4]);
        assert_eq!(cpus[4].doorbells_from_cpus.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn more_cpus_than_are_asked_at_once() {
        let cpus = cpus(&[ROOT; 2 * ASKED_AT_ONCE + 3]);
        assert_eq!(flushed(&cpus, ROOT), (1..2 * ASKED_AT_ONCE as u32 + 3).collect::<Vec<_>>());
    }

    #[test]
    fn cpus_that_cannot_answer_are_not_waited_for() {
        let cpus = cpus(&[ROOT, ROOT, ROOT]);
        cpus[1].audible.store(0, Ordering::Relaxed);
        cpus[2].state.store(3, Ordering::Relaxed);
        assert_eq!(flushed(&cpus, ROOT), []);
        // it dies between the question and the answer
        cpus[1].audible.store(1, Ordering::Relaxed);
        flush_others(&cpus, 0, ROOT, |_| cpus[1].state.store(3, Ordering::Relaxed));
    }

    #[test]
    fn a_cpu_that_looks_anyway_is_not_rung_for_woken_threads() {
        let cpu = &cpus(&[0])[0];
        cpu.set_mode(Mode::Spinning);
        cpu.call_for_woken(4, |_| panic!("rung"));
        assert_eq!(doorbell::take(&cpu.attention), 0);
        cpu.set_mode(Mode::Idle);
        let mut rung = 0;
        cpu.call_for_woken(4, |_| rung += 1);
        assert_eq!((rung, doorbell::take(&cpu.attention)), (1, 4));
    }

    #[test]
    fn other_requests_reach_every_cpu() {
        let cpu = &cpus(&[0])[0];
        for mode in [Mode::Spinning, Mode::Idle, Mode::Kernel, Mode::User] {
            cpu.set_mode(mode);
            let mut rung = 0;
            cpu.call(2, |_| rung += 1);
            assert_eq!((rung, doorbell::take(&cpu.attention)), (1, 2), "{mode:?}");
        }
    }

    #[test]
    fn a_cpu_without_a_bell_is_asked_all_the_same() {
        let cpu = &cpus(&[0])[0];
        cpu.audible.store(0, Ordering::Relaxed);
        cpu.call(2, |_| panic!("rung"));
        assert_eq!(doorbell::take(&cpu.attention), 2);
    }
}
