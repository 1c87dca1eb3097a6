// SPDX-License-Identifier: Apache-2.0 OR MIT
//! No frame is used again while a core may reach it by a translation that it has cached.
//!
//! The side that has taken a frame away marks it once the flush is done. The core must never find that mark by a
//! translation that it has cached. The core's answer is assembly (`tacet_nmi` in `entry.S`): modelled step by step.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering, fence};
use loom::thread;
use tacet_logic::handshake::flush::{Flushes, announce};

use crate::atomics::{After, Before, Bell, NoOrder, NoTotalOrder, Strength, U64};
use crate::explore;

const ROOT: u64 = 0x1000;
const OTHER: u64 = 0x2000;
/// In an entry: no frame.
const NOTHING: u64 = u64::MAX;

struct Machine<S> {
    active_root: U64<S>,
    requested: U64<S>,
    acknowledged: U64<S>,
    bell: Bell,
    /// Two pages of the address space, each first with the frame of its own number.
    entries: [AtomicU64; 2],
    /// Not 0: used for something else.
    frames: [AtomicU64; 2],
}

/// In which order the core answers.
#[derive(Clone, Copy, PartialEq)]
enum Answer {
    /// As `tacet_nmi`: reads, flushes, writes.
    Right,
    /// Flushes, reads, writes: a request that comes in between counts as done.
    ReadsLate,
    /// Reads and writes.
    NoFlush,
}

impl<S: Strength> Machine<S> {
    fn new() -> Self {
        Self {
            active_root: U64::new(0),
            requested: U64::new(0),
            acknowledged: U64::new(0),
            bell: Bell::new(),
            entries: [AtomicU64::new(0), AtomicU64::new(1)],
            frames: [AtomicU64::new(0), AtomicU64::new(0)],
        }
    }

    fn flushes(&self) -> Flushes<'_, U64<S>> {
        Flushes { active_root: &self.active_root, requested: &self.requested, acknowledged: &self.acknowledged }
    }

    /// Linux, or another core: takes page `n` away, and uses its frame for something else. What it waits for, if it
    /// does.
    fn unmap(&self, n: usize) -> Option<u64> {
        self.entries[n].store(NOTHING, Ordering::Release);
        let generation = self.flushes().request(ROOT, || false, || self.bell.ring());
        // It would look again and again; one look in every place among the core's steps is all that can be seen.
        if generation.is_none_or(|generation| self.flushes().is_done(generation)) {
            self.frames[n].store(1, Ordering::Relaxed);
        }
        generation
    }
}

/// What the core has.
#[derive(Default)]
struct Core {
    /// The TLB: what is cached of each page. The processor fills it whenever that likes.
    cached: [Option<u64>; 2],
    /// What it has written to `acknowledged` last: nobody else writes there. (If it read it there, `loom` would forget
    /// that others have read it before.)
    acknowledged: u64,
}

impl Core {
    /// Loads a root: everything else is forgotten, and this is ordered with all before and behind it.
    fn load_root(&mut self) {
        self.cached = [None, None];
        fence(Ordering::SeqCst);
    }

    /// What page `n` is, perhaps from the cache.
    fn translate<S>(&mut self, machine: &Machine<S>, n: usize) -> u64 {
        *self.cached[n].get_or_insert_with(|| machine.entries[n].load(Ordering::Relaxed))
    }

    /// The program uses page `n`.
    fn access<S>(&mut self, machine: &Machine<S>, n: usize) {
        let frame = self.translate(machine, n);
        if let Some(frame) = machine.frames.get(frame as usize) {
            assert_eq!(frame.load(Ordering::Relaxed), 0, "the program finds a frame that is used for something else");
        }
    }

    /// The bell's interrupt, if it has rung.
    fn interrupt<S: Strength>(&mut self, machine: &Machine<S>, answer: Answer) {
        use tacet_logic::atomic::Atomic;
        if !machine.bell.take() {
            return;
        }
        let read = || machine.requested.load(Ordering::Relaxed);
        let mut requested = read();
        if requested == self.acknowledged {
            return;
        }
        if answer != Answer::NoFlush {
            self.load_root();
            // The processor may look at the tables from here on.
            self.translate(machine, 0);
        }
        if answer == Answer::ReadsLate {
            requested = read();
        }
        self.acknowledged = requested;
        machine.acknowledged.store(requested, Ordering::Release);
    }

    /// The bell's interrupt while the core rests, if it has rung: whether the core has left the address space.
    fn interrupt_of_rest<S: Strength>(&mut self, machine: &Machine<S>) -> bool {
        use tacet_logic::atomic::Atomic;
        if !machine.bell.take() {
            return false;
        }
        let requested = machine.requested.load(Ordering::Relaxed);
        self.load_root();
        announce(&machine.active_root, 0);
        self.acknowledged = requested;
        machine.acknowledged.store(requested, Ordering::Release);
        true
    }
}

/// A core that comes, runs a program and leaves, and beside it threads each of which takes some pages away.
fn no_frame_is_reused_early<S: Strength>(askers: &'static [&'static [usize]], answer: Answer) {
    let preemptions = match askers {
        [[_]] => None,
        [_] => Some(6),
        _ => Some(2),
    };
    explore(preemptions, move || {
        let machine = Arc::new(Machine::<S>::new());
        let asked = askers.iter().map(|&pages| {
            let machine = machine.clone();
            thread::spawn(move || pages.iter().fold(None, |last, &page| machine.unmap(page).or(last)))
        });
        let asked: Vec<_> = asked.collect();
        let mut core = Core::default();
        announce(&machine.active_root, ROOT);
        core.load_root();
        for _ in 0..2 {
            core.interrupt(&machine, answer);
            askers.iter().flat_map(|&pages| pages).for_each(|&page| core.access(&machine, page));
        }
        core.interrupt(&machine, answer);
        // It leaves: first the root, then the announcement.
        core.load_root();
        announce(&machine.active_root, OTHER);
        for asker in asked {
            let generation = asker.join().unwrap();
            core.interrupt(&machine, answer);
            assert!(generation.is_none_or(|generation| machine.flushes().is_done(generation)), "no answer");
        }
    });
}

/// A core that rests and then runs the program again; meanwhile two pages are taken away. Rung for the first while it
/// rests, it leaves the address space. `announces`: as it should before it loads that again.
fn a_core_that_rests_leaves<S: Strength>(announces: bool) {
    explore(Some(4), move || {
        let machine = Arc::new(Machine::<S>::new());
        let asker = thread::spawn({
            let machine = machine.clone();
            move || {
                let first = machine.unmap(0);
                machine.unmap(1).or(first)
            }
        });
        let mut core = Core::default();
        announce(&machine.active_root, ROOT);
        core.load_root();
        if core.interrupt_of_rest(&machine) {
            if announces {
                announce(&machine.active_root, ROOT);
            }
            core.load_root();
        }
        core.access(&machine, 1);
        core.interrupt(&machine, Answer::Right);
        core.access(&machine, 1);
        core.access(&machine, 0);
        core.load_root();
        announce(&machine.active_root, OTHER);
        let generation = asker.join().unwrap();
        core.interrupt(&machine, Answer::Right);
        assert!(generation.is_none_or(|generation| machine.flushes().is_done(generation)), "no answer");
    });
}

#[test]
fn a_core_that_rests_needs_no_second_bell() {
    a_core_that_rests_leaves::<Before>(true);
    a_core_that_rests_leaves::<After>(true);
}

#[test]
#[should_panic(expected = "used for something else")]
fn control_a_core_that_has_left_runs_the_program_unannounced() {
    a_core_that_rests_leaves::<Before>(false);
}

#[test]
fn a_frame_is_reused_when_no_core_has_it() {
    no_frame_is_reused_early::<Before>(&[&[0]], Answer::Right);
    no_frame_is_reused_early::<After>(&[&[0]], Answer::Right);
}

#[test]
fn requests_may_come_together() {
    for askers in [&[&[1usize, 0] as &[usize]] as &[&[usize]], &[&[0], &[1]]] {
        no_frame_is_reused_early::<Before>(askers, Answer::Right);
        no_frame_is_reused_early::<After>(askers, Answer::Right);
    }
}

#[test]
#[should_panic(expected = "used for something else")]
fn control_announcement_and_entry_are_in_no_order() {
    no_frame_is_reused_early::<NoTotalOrder>(&[&[0]], Answer::Right);
}

#[test]
#[should_panic(expected = "used for something else")]
fn control_an_acknowledgement_orders_nothing() {
    no_frame_is_reused_early::<NoOrder>(&[&[0]], Answer::Right);
}

#[test]
#[should_panic(expected = "used for something else")]
fn control_the_core_forgets_nothing() {
    no_frame_is_reused_early::<Before>(&[&[0]], Answer::NoFlush);
}

#[test]
#[should_panic(expected = "used for something else")]
fn control_the_core_reads_requests_after_it_has_flushed() {
    no_frame_is_reused_early::<Before>(&[&[1, 0]], Answer::ReadsLate);
}
