// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signals by which a person, a batch system or a closed terminal ends a command, while it changes the machine.
//!
//! Such a command is not ended in the middle: it is told, and either undoes what it did (status 4) or is done (0).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nix::sys::signal::Signal;
use signal_hook::flag::register_usize;

use crate::status::UNDONE;
use crate::{Error, Result, raw};

const ENDING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// From where this is made to the end of the process, those signals end nothing.
pub struct Interrupted(Arc<AtomicUsize>);

impl Interrupted {
    /// A signal that the parent has had ignored (`nohup`) stays ignored.
    pub fn watch() -> Result<Interrupted> {
        let arrived = Arc::new(AtomicUsize::new(0));
        for signal in ENDING.into_iter().filter(|signal| !raw::is_ignored(*signal)) {
            let number = signal as i32;
            register_usize(number, Arc::clone(&arrived), number as usize)
                .map_err(|io| Error::io(signal.as_str(), &io, "report this"))?;
        }
        Ok(Interrupted(arrived))
    }

    /// The error of a command that was interrupted, once it has undone what it did to `object`.
    pub fn undone(&self, object: &str) -> Option<Error> {
        let signal = Signal::try_from(self.0.load(Ordering::Relaxed) as i32).ok()?;
        let cause = format!("interrupted by {signal}: nothing is left of it");
        Some(Error::new(object, cause, "repeat the command").with_status(UNDONE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::signal::raise;

    #[test]
    fn a_signal_is_told_and_ends_nothing() {
        let interrupted = Interrupted::watch().unwrap();
        assert!(interrupted.undone("partition").is_none());
        raise(Signal::SIGTERM).unwrap();
        let error = interrupted.undone("partition").unwrap();
        assert_eq!(error.to_string(), "partition: interrupted by SIGTERM: nothing is left of it; repeat the command");
    }
}
