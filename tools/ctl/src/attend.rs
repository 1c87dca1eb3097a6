// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stays as the parent of a program until the program ends, as time(1) does.
//!
//! Called by `tacet run --profile`. The parent passes on signals that ask a program to do something. It ignores the
//! signals that a terminal sends, because the terminal sends them to the program as well.

use nix::errno::Errno;
use nix::sys::signal::{self, SigSet, SigmaskHow, Signal};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::{Error, Result, raw};

const PASSED_ON: [Signal; 4] = [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGUSR1, Signal::SIGUSR2];
const LEFT_TO_IT: [Signal; 2] = [Signal::SIGINT, Signal::SIGQUIT];

/// Which of the two processes returned from [`attend`].
pub enum Attended {
    /// The child, which is to execute the program.
    Child,
    /// The parent: the program has ended with this status (128 plus the number of the signal that killed it).
    Ended(u8),
}

/// Creates a child and, in the parent, waits for its end.
pub fn attend() -> Result<Attended> {
    let ours: SigSet = PASSED_ON.into_iter().chain(LEFT_TO_IT).chain([Signal::SIGCHLD]).collect();
    let failed = |errno: Errno| Error::new("run", errno.desc(), "see the limits on processes (`ulimit -u`)");
    let before = ours.thread_swap_mask(SigmaskHow::SIG_BLOCK).map_err(failed)?;
    match raw::fork().map_err(failed)? {
        None => {
            before.thread_set_mask().map_err(failed)?;
            Ok(Attended::Child)
        }
        Some(child) => loop {
            let signal = ours.wait().map_err(failed)?;
            if PASSED_ON.contains(&signal) {
                // This fails if the child has just ended; SIGCHLD is then the next signal.
                let _ = signal::kill(child, signal);
            }
            if let Some(status) = ended(child).map_err(failed)? {
                before.thread_set_mask().map_err(failed)?;
                return Ok(Attended::Ended(status));
            }
        },
    }
}

fn ended(child: Pid) -> nix::Result<Option<u8>> {
    Ok(match waitpid(child, Some(WaitPidFlag::WNOHANG))? {
        WaitStatus::Exited(_, status) => Some(status as u8),
        WaitStatus::Signaled(_, signal, _) => Some(128 + signal as u8),
        _ => None,
    })
}
