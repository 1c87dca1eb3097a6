// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signals by which a person, a batch system or a closed terminal ends a command.
//!
//! Called by commands that change the machine, which may not end in the middle, and by those whose work is lost then. The
//! signal ends nothing here: the command asks, and says itself what it left.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::{register, register_usize};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

const ENDING: [(i32, &str); 3] = [(SIGINT, "SIGINT"), (SIGTERM, "SIGTERM"), (SIGHUP, "SIGHUP")];

/// From where this is made to the end of the process, those signals end nothing.
pub struct Interrupted(Arc<AtomicUsize>);

impl Interrupted {
    /// A signal that the parent has had ignored (`nohup`) stays ignored.
    pub fn watch() -> io::Result<Interrupted> {
        let arrived = Arc::new(AtomicUsize::new(0));
        for (signal, _) in heeded() {
            register_usize(signal, Arc::clone(&arrived), signal as usize)?;
        }
        Ok(Interrupted(arrived))
    }

    /// The name of the last signal that arrived.
    pub fn signal(&self) -> Option<&'static str> {
        let arrived = self.0.load(Ordering::Relaxed);
        ENDING.iter().find(|(signal, _)| *signal as usize == arrived).map(|(_, name)| *name)
    }
}

/// A flag that each of those signals sets; from then on they end nothing. For measurements ([`heeded_by_measurements`]).
pub fn flag() -> io::Result<Arc<AtomicBool>> {
    let arrived = Arc::new(AtomicBool::new(false));
    for (signal, _) in heeded_by_measurements() {
        register(signal, Arc::clone(&arrived))?;
    }
    Ok(arrived)
}

/// For measurements that sleep until they are told: a thread calls `act` for each signal that arrives. They end nothing.
pub fn each(act: impl Fn() + Send + 'static) -> io::Result<()> {
    act_on(heeded_by_measurements(), move |_, _| act())
}

/// For a command that has nothing to undo, since the kernel ends with it what it began: a thread says `line` of the
/// signal's name, and then the signal ends the process as if nobody had caught it.
pub fn announce(line: impl Fn(&str) + Send + 'static) -> io::Result<()> {
    act_on(heeded(), move |signal, name| {
        line(name);
        let _ = emulate_default_handler(signal);
    })
}

fn act_on(
    heeded: impl Iterator<Item = (i32, &'static str)>,
    act: impl Fn(i32, &str) + Send + 'static,
) -> io::Result<()> {
    let mut signals = Signals::new(heeded.map(|(signal, _)| signal))?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            if let Some((_, name)) = ENDING.iter().find(|(number, _)| *number == signal) {
                act(signal, name);
            }
        }
    })?;
    Ok(())
}

fn heeded() -> impl Iterator<Item = (i32, &'static str)> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ENDING.into_iter().filter(move |(signal, _)| !is_ignored(&status, *signal))
}

/// A shell has SIGINT ignored in what a script runs in the background, and a script ends a measurement there by that signal,
/// as it ends perf: only SIGHUP stays ignored (`nohup`).
fn heeded_by_measurements() -> impl Iterator<Item = (i32, &'static str)> {
    let heeds_hangup = heeded().any(|(signal, _)| signal == SIGHUP);
    ENDING.into_iter().filter(move |(signal, _)| *signal != SIGHUP || heeds_hangup)
}

/// By `/proc/PID/status`; signal 1 is the lowest bit.
fn is_ignored(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use signal_hook::low_level::raise;

    /// One test: signals are the whole process's, and tests run side by side in it.
    #[test]
    fn a_signal_is_told_and_sets_a_flag_and_ends_nothing() {
        let interrupted = Interrupted::watch().unwrap();
        assert_eq!(interrupted.signal(), None);
        raise(SIGTERM).unwrap();
        assert_eq!(interrupted.signal(), Some("SIGTERM"));
        let flag = flag().unwrap();
        assert!(!flag.load(Ordering::Relaxed));
        raise(SIGHUP).unwrap();
        assert!(flag.load(Ordering::Relaxed));
    }

    #[test]
    fn what_is_ignored_is_read() {
        let status = "SigBlk:\t0000000000000003\nSigIgn:\t0000000000001001\n";
        assert_eq!([SIGHUP, SIGINT, SIGTERM, 13].map(|signal| is_ignored(status, signal)), [true, false, false, true]);
        assert!(!is_ignored("", SIGHUP));
    }
}
