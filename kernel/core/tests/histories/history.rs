// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random histories of several CPUs, several threads of two processes, and Linux.

use crate::machine::Machine;
use crate::program::{Action, WORDS, programs};
use crate::world::{SPACES, Sabotage, Seen, World};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestCaseError, TestError, TestRunner};
use std::cell::Cell;
use std::collections::HashSet;
use tacet_core::{Common, Event, Permits, Place, Recall, Room, Then, Wait, next};
use tacet_pico::{Forward, Look};

/// What happens next.
#[derive(Debug, Clone)]
enum Step {
    /// A CPU goes on to so many pauses.
    Run(usize, u8),
    /// The task of a thread does its next thing, and would post it to this CPU.
    Proxy(u32, usize),
    Ring(usize),
    Recall(u32),
    Turn(u32),
    Kill(u32),
    Wake(usize, usize, u32),
    Ask(usize),
    /// Linux begins to use a page that the thread has mapped last.
    Hold(u32, u32),
    Drop(usize),
    /// The device is done with one of a CPU's calls, or has failed.
    Device(usize, bool),
    Time(u32),
    /// Linux reads its clock, or loses it.
    Clock(bool),
}

#[derive(Debug, Clone)]
struct History {
    cpus: usize,
    threads: Vec<(usize, u32, Vec<Action>)>,
    steps: Vec<Step>,
}

fn histories() -> impl Strategy<Value = History> {
    (1..4usize, 1..6usize).prop_flat_map(|(cpus, threads)| {
        let (cpu, thread) = (move || 0..cpus, move || 0..threads as u32);
        let step = prop_oneof![
            16 => (cpu(), 1..5u8).prop_map(|(cpu, pauses)| Step::Run(cpu, pauses)),
            12 => (cpu(), 5..30u8).prop_map(|(cpu, pauses)| Step::Run(cpu, pauses)),
            12 => (thread(), cpu()).prop_map(|(thread, cpu)| Step::Proxy(thread, cpu)),
            8 => (0..4usize).prop_map(Step::Ring),
            3 => thread().prop_map(Step::Recall),
            2 => thread().prop_map(Step::Turn),
            1 => thread().prop_map(Step::Kill),
            1 => (0..SPACES, 0..WORDS, 1..4u32).prop_map(|(space, word, count)| Step::Wake(space, word, count)),
            1 => cpu().prop_map(Step::Ask),
            2 => (thread(), 0..5000u32).prop_map(|(thread, page)| Step::Hold(thread, page)),
            1 => (0..SPACES).prop_map(Step::Drop),
            4 => (cpu(), any::<bool>()).prop_map(|(cpu, fails)| Step::Device(cpu, fails)),
            3 => (1_000..200_000u32).prop_map(Step::Time),
            1 => any::<bool>().prop_map(Step::Clock),
        ];
        // most in one process, and allowed everything
        let all = Permits::CALLS.0 | Permits::FUTEXES.0 | Permits::SLEEPS.0 | Permits::MEMORY.0;
        let permits =
            prop_oneof![3 => Just(all), 3 => Just(all | Permits::STAYS.0), 1 => Just(Permits::CALLS.0), 1 => Just(0)];
        let space = prop_oneof![3 => Just(0), 1 => Just(1)];
        let threads = prop::collection::vec((space, permits, programs()), threads);
        let steps = prop::collection::vec(step, 1..120);
        (Just(cpus), threads, steps).prop_map(|(cpus, threads, steps)| History { cpus, threads, steps })
    })
}

/// The same, if each thread first has a device read into its memory.
fn with_devices(mut history: History) -> History {
    for (_, _, program) in &mut history.threads {
        program.splice(0..0, [Action::Map { pages: 8, populate: true }, Action::Transfer { writes: false }]);
    }
    history
}

/// The same, if all threads of the first one's process touch memory that it maps, and then take away.
fn with_memory(mut history: History) -> History {
    for (number, (_, _, program)) in history.threads.iter_mut().enumerate() {
        let touch = [Action::TouchOther { page: 3 }, Action::Yield, Action::TouchOther { page: 3 }];
        program.splice(0..0, touch);
        if number == 0 {
            program.insert(0, Action::Map { pages: 8, populate: true });
            program.insert(3, Action::Unmap);
        }
    }
    history
}

thread_local! {
    /// As the last history left it: empty, but for what failed.
    static COMMON: Cell<Option<Box<Common>>> = const { Cell::new(None) };
}

/// Panics where an invariant does not hold.
fn perform(history: &History, sabotage: Sabotage) -> Seen {
    let common = COMMON.take().unwrap_or_default();
    let world = World::new(common, history.cpus, history.threads.clone());
    world.sabotage.set(sabotage);
    let mut machine = Machine::new(&world);
    for (nth, step) in history.steps.iter().enumerate() {
        let linux = &mut machine.linux;
        match *step {
            Step::Run(cpu, pauses) => (0..pauses).for_each(|_| machine.run(cpu)),
            Step::Proxy(thread, cpu) => linux.proxy(thread, cpu),
            Step::Ring(which) => drop(linux.ring(which)),
            Step::Recall(thread) => linux.recall(thread, Recall::Always),
            Step::Turn(thread) => linux.recall(thread, Recall::Turn),
            Step::Kill(thread) => linux.kill(thread),
            Step::Wake(space, word, count) => linux.wake(space, word, count),
            Step::Ask(cpu) => linux.ask(cpu),
            Step::Hold(thread, page) => {
                let thread = world.thread(thread);
                if let Some(address) = thread.mapped(page) {
                    world.memory.hold(thread.space, address);
                }
            }
            Step::Drop(space) => linux.drop_space(space),
            Step::Device(cpu, false) => world.cpus[cpu].device.finish_nth(nth, Look::Done),
            Step::Device(cpu, true) => world.cpus[cpu].device.finish_nth(nth, Look::Forward(Forward::Status)),
            Step::Time(ns) => world.now.set(world.now.get() + u64::from(ns)),
            Step::Clock(true) => world.read_clock(),
            Step::Clock(false) => world.clock.set(None),
        }
    }
    machine.end();
    COMMON.set(Some(world.common));
    world.seen.into_inner()
}

/// At most so many histories until what is looked for is found.
const CASES: u32 = 3000;

/// So many random histories, others in each run; with `FULL=1` three times as many.
fn cases() -> u32 {
    if std::env::var("FULL").is_ok_and(|value| value == "1") { CASES } else { CASES / 3 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]
    #[test]
    fn no_thread_is_lost_or_runs_twice_or_outlives_its_recall(history in histories()) {
        perform(&history, Sabotage::None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases() / 4))]
    #[test]
    fn no_thread_is_lost_while_devices_are_at_work(history in histories()) {
        perform(&with_devices(history), Sabotage::None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases() / 4))]
    #[test]
    fn no_frame_is_given_back_that_a_tlb_has(history in histories()) {
        perform(&with_memory(history), Sabotage::None);
    }
}

/// All but those of a CPU that has more threads than these histories.
#[test]
fn histories_reach_every_arrow_and_every_escape() {
    let (all, mut runner) = (histories(), TestRunner::deterministic());
    let mut seen = Seen::default();
    let mut missing = arrows();
    for number in 0..CASES {
        missing.retain(|arrow| !seen.arrows.contains(arrow));
        if missing.is_empty() && seen.escapes.len() == 6 {
            break;
        }
        let history = all.new_tree(&mut runner).unwrap().current();
        let Seen { arrows, escapes, .. } = perform(&history, Sabotage::None);
        seen.arrows.extend(arrows);
        seen.escapes.extend(escapes);
        if number % 8 == 0 {
            seen.arrows.extend(perform(&with_devices(history), Sabotage::None).arrows);
        }
    }
    missing.retain(|arrow| !seen.arrows.contains(arrow));
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(seen.escapes.len(), 6);
}

/// All that `place.rs` draws.
fn arrows() -> HashSet<(Place, Place)> {
    let waits = [Wait::Futex, Wait::Time, Wait::Device];
    let thens = [Then::IfFree, Then::Here];
    let rooms = [Room::Free, Room::Shared];
    let mut places = vec![Place::Away, Place::Queued, Place::Running];
    let mut events = vec![Event::Post, Event::Enter, Event::Yield, Event::Look, Event::Leave];
    places.extend([
        Place::WaitsForFutex,
        Place::WaitsForTime,
        Place::WaitsForDevice,
        Place::WokenIfFree,
        Place::WokenHere,
    ]);
    events.extend(waits.map(Event::Block).into_iter().chain(thens.map(Event::Wake)));
    events.extend(rooms.map(Event::Resume).into_iter().chain(rooms.map(Event::Over)));
    let recalls = [Recall::Not, Recall::Always, Recall::Turn];
    let events = events.iter().flat_map(|&event| recalls.map(|recall| (event, recall)));
    let arrow = |(from, (event, recall))| next(from, event, recall).map(|to| (from, to));
    places.iter().flat_map(|&from| events.clone().map(move |event| (from, event))).filter_map(arrow).collect()
}

/// How many histories it takes until an invariant does not hold, with a fake that goes wrong once.
fn found(of: fn(u32) -> Sabotage) -> u32 {
    found_in(of, |history| history)
}

fn found_in(of: fn(u32) -> Sabotage, make: fn(History) -> History) -> u32 {
    let config = ProptestConfig {
        cases: CASES,
        failure_persistence: None,
        max_shrink_iters: 0,
        rng_seed: RngSeed::Fixed(1),
        ..Default::default()
    };
    let tried = Cell::new(0);
    let result = TestRunner::new(config).run(&(histories(), 0..2u32), |(history, nth)| {
        tried.set(tried.get() + 1);
        let outcome = std::panic::catch_unwind(|| perform(&make(history), of(nth)));
        outcome.map(drop).map_err(|_| TestCaseError::fail("found"))
    });
    assert!(matches!(result, Err(TestError::Fail(..))), "not found in {tried:?} histories");
    tried.get()
}

#[test]
fn a_recall_that_is_read_too_late_is_found() {
    println!("after {} histories", found(Sabotage::StaleRecall));
}

#[test]
fn a_bell_that_is_not_heard_is_found() {
    println!("after {} histories", found(Sabotage::DropBell));
}

#[test]
fn a_flush_that_does_not_come_is_found() {
    println!("after {} histories", found_in(Sabotage::SkipsFlush, with_memory));
}

/// A thread that does nothing but ask Linux, on these CPUs in turn.
fn asks_on(cpus: &[usize]) -> History {
    let stay = |cpu| [Step::Proxy(0, cpu), Step::Ring(0), Step::Run(cpu, 60), Step::Proxy(0, cpu)];
    let asks = vec![Action::Forward; cpus.len() + 1];
    History { cpus: 2, threads: vec![(0, 0, asks)], steps: cpus.iter().flat_map(|&cpu| stay(cpu)).collect() }
}

#[test]
fn a_state_that_stays_is_not_loaded_again() {
    assert!(perform(&asks_on(&[0, 0, 0, 0]), Sabotage::None).resumed > 0);
}

#[test]
fn a_state_that_another_cpu_has_changed_is_loaded() {
    let there_and_back = asks_on(&[0, 1, 0, 1, 0, 1]);
    assert_eq!(perform(&there_and_back, Sabotage::None).resumed, 0);
    let wrong = std::panic::catch_unwind(|| perform(&there_and_back, Sabotage::KeepsOldState));
    assert!(wrong.is_err(), "a CPU that keeps the old one is found");
}

#[test]
fn traces_of_another_user_are_found() {
    println!("after {} histories", found(Sabotage::KeepsTraces));
}
