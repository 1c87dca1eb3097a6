// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signals of the program that arrive at its proxy: they travel to the node as bits of a reply.
//!
//! If the program makes no call for a while, they go by `tacet static run` and the daemon instead, to which the node
//! listens. One service thread takes them all. Nothing here decides what a signal does: the node knows the program's
//! handlers.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd, siginfo};

use super::service::Service;

/// Ends a blocked call of one proxy thread. No kernel sends it, and no program uses it.
pub const KICK: Signal = Signal::SIGSTKFLT;

/// Between attempts to interrupt a call, doubled each time.
const FIRST_PAUSE_MS: u16 = 1;
const LONGEST_PAUSE_MS: u16 = 64;
/// A program that is seen outside of calls once more after so many looks computes.
const IDLE_LOOKS: u32 = 1;

/// Signals that no reply has brought to the node yet: bit n - 1 is signal n.
#[derive(Debug, Default)]
pub struct Pending(AtomicU64);

impl Pending {
    /// Of signals in 1..=64; others do not exist.
    pub fn add(&self, signal: u32) {
        if let Some(bit) = signal.checked_sub(1).and_then(|shift| 1_u64.checked_shl(shift)) {
            self.0.fetch_or(bit, Ordering::SeqCst);
        }
    }

    /// For the reply that brings them.
    pub fn take(&self) -> u64 {
        self.0.swap(0, Ordering::SeqCst)
    }

    fn is_empty(&self) -> bool {
        self.0.load(Ordering::SeqCst) == 0
    }
}

/// Takes signals for the life of the process. While one waits for a reply, it interrupts a blocked call.
pub fn take_signals(service: &Service) {
    let mut all = SigSet::all();
    all.remove(KICK);
    let Ok(signals) = SignalFd::with_flags(&all, SfdFlags::SFD_NONBLOCK) else { return };
    let mut pause_ms = FIRST_PAUSE_MS;
    // How often no thread was in a call.
    let mut idle = 0;
    loop {
        let timeout = if service.pending.is_empty() { PollTimeout::NONE } else { PollTimeout::from(pause_ms) };
        let _ = poll(&mut [PollFd::new(signals.as_fd(), PollFlags::POLLIN)], timeout);
        pause_ms = (pause_ms * 2).min(LONGEST_PAUSE_MS);
        while let Ok(Some(info)) = signals.read_signal() {
            if !is_stop_of_terminal(&info) {
                service.pending.add(info.ssi_signo);
            }
        }
        if service.pending.is_empty() {
            (pause_ms, idle) = (FIRST_PAUSE_MS, 0);
        } else if service.interrupt_one() {
            idle = 0;
        } else if idle < IDLE_LOOKS {
            idle += 1;
        } else {
            service.hand_over();
            (pause_ms, idle) = (FIRST_PAUSE_MS, 0);
        }
    }
}

/// The terminal stops everybody in its foreground by these. `run` stops, and no node can.
const STOPS: [i32; 3] = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

fn is_stop_of_terminal(info: &siginfo) -> bool {
    let signal = i32::try_from(info.ssi_signo).unwrap_or_default();
    info.ssi_code == libc::SI_KERNEL && STOPS.contains(&signal)
}
