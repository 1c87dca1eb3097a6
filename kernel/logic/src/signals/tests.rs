// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of [`super`]: what Linux does, case by case, and histories of real-time signals.

use super::numbers::*;
use super::*;
use proptest::prelude::*;
use std::boxed::Box;
use std::vec::Vec;
extern crate std;

const HANDLER: u64 = 0x40_1000;

fn action(flags: u64) -> Action {
    Action { handler: HANDLER, flags, restorer: 0x40_2000, mask: Set::of(&[USR2]) }
}

fn ignoring() -> Action {
    Action { handler: 1, ..Action::DEFAULT }
}

/// A process whose handlers are for these signals, and its thread.
fn process(handled: &[u8], flags: u64) -> (Box<Thread>, Box<Process>) {
    let mut process = Box::new(Process::NEW);
    for &signal in handled {
        process.set_action(signal, Some(action(flags))).unwrap();
    }
    (Box::new(Thread::NEW), process)
}

fn killed(signal: u8) -> Info {
    Info::sent(signal, codes::USER, 77, 1000)
}

/// The numbers of what is delivered until nothing is, with all masks as handlers have them.
fn delivered(thread: &mut Thread, process: &mut Process) -> Vec<u8> {
    core::iter::from_fn(|| match next(thread, process)? {
        Delivery::Handler(handler) => {
            thread.entered(&handler);
            Some(handler.info.signal)
        }
        Delivery::Death(info) => Some(info.signal),
        Delivery::NotStopped(signal) => Some(signal),
    })
    .collect()
}

#[test]
fn the_own_ones_come_first_and_low_numbers() {
    let (mut thread, mut process) = process(&[HUP, INT, SEGV, TERM, 40], 0);
    for signal in [TERM, HUP, SEGV] {
        assert_eq!(process.send(killed(signal), Set::EMPTY), Sent::Queued);
    }
    for signal in [40, INT] {
        assert_eq!(process.send_to(&mut thread, killed(signal)), Sent::Queued);
    }
    process.fault(&mut thread, Info::fault(SEGV, codes::NOT_MAPPED, 0x1234));
    assert!(is_deliverable(&thread, &process));
    let Some(Delivery::Handler(first)) = next(&mut thread, &mut process) else { panic!("a handler") };
    assert_eq!((first.info.signal, first.info.address()), (SEGV, 0x1234));
    assert_eq!(delivered(&mut thread, &mut process), [INT, 40, SEGV, HUP, TERM]);
    assert!(!is_deliverable(&thread, &process));
}

#[test]
fn masks_hold_back_and_handlers_extend_them() {
    let (mut thread, mut process) = process(&[USR1, USR2], 0);
    thread.change_blocked(0, Set::of(&[USR1, KILL, STOP])).unwrap();
    assert_eq!(thread.blocked(), Set::of(&[USR1]));
    process.send_to(&mut thread, killed(USR1));
    assert!(!is_deliverable(&thread, &process) && next(&mut thread, &mut process).is_none());
    assert_eq!(process.pending(&thread), Set::of(&[USR1]));
    thread.change_blocked(1, Set::of(&[USR1])).unwrap();
    let Some(Delivery::Handler(handler)) = next(&mut thread, &mut process) else { panic!("a handler") };
    assert_eq!((handler.info.process(), handler.blocked_before), (77, Set::EMPTY));
    thread.entered(&handler);
    assert_eq!(thread.blocked(), Set::of(&[USR1, USR2]));
    process.send_to(&mut thread, killed(USR1));
    process.send_to(&mut thread, killed(USR2));
    assert!(!is_deliverable(&thread, &process));
    thread.restore(handler.blocked_before, AlternateStack::NONE, 0, 2048);
    assert_eq!(delivered(&mut thread, &mut process), [USR1]);
    assert_eq!(thread.change_blocked(3, Set::EMPTY), Err(Invalid));
}

#[test]
fn flags_of_actions() {
    let (mut thread, mut process) = process(&[USR1], Action::NO_DEFER | Action::RESET);
    process.send_to(&mut thread, killed(USR1));
    assert_eq!(delivered(&mut thread, &mut process), [USR1]);
    assert_eq!(thread.blocked(), Set::of(&[USR2]));
    process.send_to(&mut thread, killed(USR1));
    assert!(matches!(next(&mut thread, &mut process), Some(Delivery::Death(info)) if info.signal == USR1));
}

#[test]
fn default_actions() {
    let (mut thread, mut process) = process(&[], 0);
    for signal in [CHLD, CONT, URG, WINCH] {
        assert_eq!(process.send(killed(signal), Set::EMPTY), Sent::Ignored);
    }
    for (signal, expected) in [(TSTP, Delivery::NotStopped(TSTP)), (34, Delivery::Death(killed(34)))] {
        process.send(killed(signal), Set::EMPTY);
        assert_eq!(next(&mut thread, &mut process), Some(expected));
    }
    process.set_action(TERM, Some(ignoring())).unwrap();
    assert_eq!(process.send_to(&mut thread, killed(TERM)), Sent::Ignored);
    assert_eq!(process.set_action(KILL, Some(ignoring())), Err(Invalid));
    assert_eq!(process.set_action(STOP, None), Ok(Action::DEFAULT));
    assert_eq!(process.set_action(65, None), Err(Invalid));
    assert_eq!(process.send(killed(0), Set::EMPTY), Sent::Invalid);
}

#[test]
fn kill_comes_before_all_others() {
    let (mut thread, mut process) = process(&[HUP, SEGV], 0);
    thread.set_blocked(!Set::EMPTY);
    process.send_to(&mut thread, killed(HUP));
    process.send(killed(KILL), Set::EMPTY);
    assert!(matches!(next(&mut thread, &mut process), Some(Delivery::Death(info)) if info.signal == KILL));
}

/// `sigwait` for a signal that is ignored by default, held back by all.
#[test]
fn an_ignored_signal_that_is_held_back_can_be_waited_for() {
    let (mut thread, mut process) = process(&[], 0);
    thread.set_blocked(Set::of(&[CHLD]));
    assert_eq!(process.send(killed(CHLD), thread.blocked()), Sent::Queued);
    assert_eq!(process.take(&mut thread, Set::of(&[CHLD])), Some(killed(CHLD)));
    assert_eq!(process.take(&mut thread, Set::of(&[CHLD])), None);
    process.send(killed(CHLD), thread.blocked());
    process.set_action(CHLD, Some(ignoring())).unwrap();
    assert_eq!(process.pending(&thread), Set::EMPTY);
}

#[test]
fn a_fault_cannot_be_held_back() {
    let (mut thread, mut process) = process(&[SEGV], 0);
    thread.set_blocked(Set::of(&[SEGV]));
    let fault = Info::fault(SEGV, codes::NOT_ALLOWED, 8);
    process.fault(&mut thread, fault);
    assert_eq!(next(&mut thread, &mut process), Some(Delivery::Death(fault)));
    process.set_action(BUS, Some(ignoring())).unwrap();
    process.fault(&mut thread, Info::fault(BUS, codes::ALIGNMENT, 1));
    assert!(matches!(next(&mut thread, &mut process), Some(Delivery::Death(_))));
}

#[test]
fn a_frame_without_room_is_a_fault_and_then_deadly() {
    let (mut thread, mut process) = process(&[USR1, SEGV], 0);
    process.frame_failed(&mut thread, USR1);
    assert!(matches!(next(&mut thread, &mut process), Some(Delivery::Handler(handler)) if handler.info.signal == SEGV));
    process.frame_failed(&mut thread, SEGV);
    assert_eq!(next(&mut thread, &mut process), Some(Delivery::Death(Info::kernel(SEGV))));
}

#[test]
fn a_call_with_its_own_mask_returns_to_the_old_one() {
    let (mut thread, mut process) = process(&[USR1], 0);
    thread.set_blocked(Set::of(&[USR1]));
    process.send_to(&mut thread, killed(USR1));
    thread.replace_blocked(Set::EMPTY);
    let Some(Delivery::Handler(handler)) = next(&mut thread, &mut process) else { panic!("a handler") };
    assert_eq!(handler.blocked_before, Set::of(&[USR1]));
    thread.entered(&handler);
    thread.restore_blocked();
    assert_eq!(thread.blocked(), Set::of(&[USR1, USR2]));
    thread.replace_blocked(Set::EMPTY);
    thread.restore_blocked();
    assert_eq!(thread.blocked(), Set::of(&[USR1, USR2]));
}

#[test]
fn a_full_queue_loses_causes_but_no_standard_signal() {
    let (mut thread, mut process) = process(&[USR1, 40], 0);
    let sent = (0..20).map(|value| process.send_to(&mut thread, Info::sent(40, codes::QUEUE, value, 0)));
    assert_eq!(sent.filter(|&sent| sent == Sent::Queued).count(), pending::QUEUE);
    assert_eq!(process.send_to(&mut thread, killed(40)), Sent::Full);
    assert_eq!(process.send_to(&mut thread, killed(USR1)), Sent::Queued);
    let Some(Delivery::Handler(handler)) = next(&mut thread, &mut process) else { panic!("a handler") };
    assert_eq!(handler.info, Info::sent(USR1, codes::USER, 0, 0));
}

#[test]
fn alternate_stacks() {
    let mut thread = Thread::NEW;
    let stack = AlternateStack { base: 0x1000, flags: 0, bytes: 0x4000 };
    assert_eq!(thread.stack_at(0), AlternateStack::NONE);
    assert_eq!(thread.set_stack(AlternateStack { bytes: 100, ..stack }, 0x9000, 2048), -12);
    assert_eq!(thread.set_stack(AlternateStack { flags: 4, ..stack }, 0x9000, 2048), -22);
    assert_eq!(thread.set_stack(stack, 0x9000, 2048), 0);
    let on = action(Action::ON_STACK);
    assert_eq!(thread.stack().top_for(&on, 0x9000), Some(0x5000));
    assert_eq!(thread.stack().top_for(&action(0), 0x9000), None);
    assert_eq!(thread.stack().top_for(&on, 0x5000), None);
    assert_eq!((thread.stack_at(0x5000).flags, thread.stack_at(0x1000).flags), (1, 0));
    assert_eq!(thread.set_stack(AlternateStack::NONE, 0x1001, 2048), -1);
    let bytes = thread.stack().to_bytes();
    assert_eq!(AlternateStack::from_bytes(&bytes), stack);
    assert_eq!(thread.set_stack(AlternateStack { flags: 1 << 31, ..stack }, 0x9000, 2048), 0);
    let handler = Handler { info: killed(USR1), action: on, blocked_before: Set::EMPTY };
    thread.entered(&handler);
    assert_eq!(thread.stack(), AlternateStack::NONE);
}

#[test]
fn interrupted_calls() {
    let (plain, restart) = (action(0), action(Action::RESTART));
    for (result, none, without, with) in [
        (interrupted::IF_ALLOWED, Resume::Again, Resume::Result(-4), Resume::Again),
        (interrupted::ALWAYS, Resume::Again, Resume::Again, Resume::Again),
        (interrupted::UNLESS_HANDLED, Resume::Again, Resume::Result(-4), Resume::Result(-4)),
        (interrupted::CONTINUED, Resume::Continue, Resume::Result(-4), Resume::Result(-4)),
        (-11, Resume::Result(-11), Resume::Result(-11), Resume::Result(-11)),
    ] {
        let resumed = [None, Some(&plain), Some(&restart)].map(|action| after_call(result, action));
        assert_eq!(resumed, [none, without, with]);
    }
}

#[test]
fn bytes_of_actions_and_infos() {
    let mut bytes = action(Action::RESTART | Action::RESTORER).to_bytes();
    assert_eq!(Action::from_bytes(&bytes), action(Action::RESTART | Action::RESTORER));
    // an unknown flag, and a mask with SIGKILL
    bytes[9] |= 0x4;
    bytes[25] |= 0x1;
    assert_eq!(Action::from_bytes(&bytes), action(Action::RESTART | Action::RESTORER));
    let info = Info::sent(USR1, codes::THREAD, -5, 1000);
    assert_eq!((Info::from_bytes(&info.to_bytes()), info.process()), (info, -5));
    let value = Info::sent(USR1, codes::QUEUE, -5, 1000);
    assert_eq!(Info::queued(USR2, &value.to_bytes()), Some(Info::sent(USR2, codes::QUEUE, -5, 1000)));
    assert_eq!(Info::queued(USR2, &info.to_bytes()), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 1000 }))]

    /// Each real-time signal that was taken arrives once, in order for each number, low numbers first.
    #[test]
    fn real_time_signals_are_queued(sent in prop::collection::vec((32u8..36, any::<bool>()), 0..24)) {
        let (mut thread, mut process) = process(&[32, 33, 34, 35], Action::NO_DEFER);
        let (mut own, mut shared) = (Vec::new(), Vec::new());
        for (value, &(signal, to_thread)) in sent.iter().enumerate() {
            let info = Info::sent(signal, codes::QUEUE, value as i32, 0);
            let (sent, list) = match to_thread {
                true => (process.send_to(&mut thread, info), &mut own),
                false => (process.send(info, Set::EMPTY), &mut shared),
            };
            prop_assert_eq!(sent == Sent::Full, list.len() == pending::QUEUE);
            if sent == Sent::Queued {
                list.push((signal, value as i32));
            }
        }
        own.sort();
        shared.sort();
        own.append(&mut shared);
        let mut arrived = Vec::new();
        while let Some(Delivery::Handler(handler)) = next(&mut thread, &mut process) {
            arrived.push((handler.info.signal, handler.info.process()));
        }
        prop_assert_eq!(arrived, own);
        prop_assert!(!is_deliverable(&thread, &process));
    }
}
