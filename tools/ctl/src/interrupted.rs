// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signals by which a person, a batch system or a closed terminal ends a command, while it changes the machine.
//!
//! Such a command is not ended in the middle: it is told, and either undoes what it did (status 4) or is done (0).

use tacet_words::interrupted;

use crate::status::UNDONE;
use crate::{Error, Result};

/// From where this is made to the end of the process, those signals end nothing.
pub struct Interrupted(interrupted::Interrupted);

impl Interrupted {
    pub fn watch() -> Result<Interrupted> {
        interrupted::Interrupted::watch().map(Interrupted).map_err(|io| Error::io("signals", &io, "report this"))
    }

    /// The error of a command that was interrupted, once it has undone what it did to `object`.
    pub fn undone(&self, object: &str) -> Option<Error> {
        let signal = self.0.signal()?;
        let cause = format!("interrupted by {signal}: nothing is left of it");
        Some(Error::new(object, cause, "repeat the command").with_status(UNDONE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::signal::{Signal, raise};

    #[test]
    fn a_signal_is_told_and_ends_nothing() {
        let interrupted = Interrupted::watch().unwrap();
        assert!(interrupted.undone("partition").is_none());
        raise(Signal::SIGTERM).unwrap();
        let error = interrupted.undone("partition").unwrap();
        assert_eq!(error.to_string(), "partition: interrupted by SIGTERM: nothing is left of it; repeat the command");
    }
}
