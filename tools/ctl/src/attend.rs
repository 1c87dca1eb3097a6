// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Being the parent of a program for its time, as time(1) is: for who has something to
//! say when it has ended.
//!
//! Called by `tacet run --profile`. Signals that ask a program to end or to do something
//! reach it through us; what the terminal sends, it gets itself.

use nix::errno::Errno;
use nix::sys::signal::{self, SigSet, SigmaskHow, Signal};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::{Error, Result, raw};

const PASSED_ON: [Signal; 4] = [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGUSR1, Signal::SIGUSR2];
const LEFT_TO_IT: [Signal; 2] = [Signal::SIGINT, Signal::SIGQUIT];

/// Whose turn it is after [`attend`].
pub enum Attended {
    /// We are the child: to become the program.
    Child,
    /// The program has ended, with this status; of a signal, 128 and its number.
    Ended(u8),
}

/// Makes a child, and waits for its end in the parent.
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
                // It may have ended; its end is then the next signal.
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
