// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signals by which a person, a batch system or a closed terminal ends a command.
//!
//! Called by commands that change the machine, which may not end in the middle, and by those whose work is lost then. The
//! signal ends nothing here: the command asks, and says itself what it left.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::register_usize;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

const ENDING: [(i32, &str); 3] = [(SIGINT, "SIGINT"), (SIGTERM, "SIGTERM"), (SIGHUP, "SIGHUP")];

/// From where this is made to the end of the process, those signals end nothing.
pub struct Interrupted(Arc<AtomicUsize>);

impl Interrupted {
    /// A signal that the parent has had ignored (`nohup`) stays ignored.
    pub fn watch() -> io::Result<Interrupted> {
        let arrived = Arc::new(AtomicUsize::new(0));
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        for (signal, _) in ENDING.into_iter().filter(|(signal, _)| !is_ignored(&status, *signal)) {
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

/// For a command that has nothing to undo, since the kernel ends with it what it began: a thread says `line` of the
/// signal's name, and then the signal ends the process as if nobody had caught it.
pub fn announce(line: impl Fn(&str) + Send + 'static) -> io::Result<()> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let heeded = ENDING.into_iter().filter(|(signal, _)| !is_ignored(&status, *signal));
    let mut signals = Signals::new(heeded.map(|(signal, _)| signal))?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            if let Some((_, name)) = ENDING.iter().find(|(number, _)| *number == signal) {
                line(name);
            }
            let _ = emulate_default_handler(signal);
        }
    })?;
    Ok(())
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

    #[test]
    fn a_signal_is_told_and_ends_nothing() {
        let interrupted = Interrupted::watch().unwrap();
        assert_eq!(interrupted.signal(), None);
        raise(SIGTERM).unwrap();
        assert_eq!(interrupted.signal(), Some("SIGTERM"));
    }

    #[test]
    fn what_is_ignored_is_read() {
        let status = "SigBlk:\t0000000000000003\nSigIgn:\t0000000000001001\n";
        assert_eq!([SIGHUP, SIGINT, SIGTERM, 13].map(|signal| is_ignored(status, signal)), [true, false, false, true]);
        assert!(!is_ignored("", SIGHUP));
    }
}
