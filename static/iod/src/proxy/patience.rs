// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls that a signal interrupts: whether they may be made again, and for how long they go on if they are.
//!
//! `perform.rs` asks before and after each call. A signal that the program ignores or holds back interrupts the proxy's
//! call, which on Linux it would not: so the node makes the call again, and a socket's time limit (SO_RCVTIMEO,
//! SO_SNDTIMEO), which Linux would begin anew, ends the call by a kick when the first call would have ended.

use std::time::{Duration, Instant};

use nix::sys::signal::{SigEvent, SigevNotify, Signal};
use nix::sys::timer::{Expiration, Timer, TimerSetTimeFlags};
use nix::time::ClockId;
use nix::unistd::gettid;
use tacet_wire::errno::Errno;

/// A kick that comes before its call has blocked does nothing: another follows.
const PAUSE: Duration = Duration::from_millis(2);

/// The thread's last call, if it was interrupted and has a time limit: when it began.
#[derive(Debug, Default)]
pub struct Patience(Option<Instant>);

/// A call under way.
#[derive(Debug)]
pub struct Wait {
    began: Instant,
    /// When a call that goes on has waited for as long as its socket lets it.
    until: Option<Instant>,
    _kicks: Option<Timer>,
}

impl Patience {
    /// A call begins, or goes on (`again`) and is kicked at the time that its socket's `limit` says.
    pub fn begin(&mut self, again: bool, limit: impl FnOnce() -> Option<Duration>, kick: Signal) -> Wait {
        let earlier = self.0.take().filter(|_| again);
        let began = earlier.unwrap_or_else(Instant::now);
        let until = earlier.and_then(|began| began.checked_add(limit()?));
        Wait { began, until, _kicks: until.and_then(|until| kicks_from(until, kick)) }
    }

    /// The call has moved a part when it was interrupted: the rest has what is left of its time.
    pub fn keep(&mut self, wait: &Wait) {
        self.0 = Some(wait.began);
    }

    /// The result for the node of a call that was interrupted.
    pub fn interrupted(&mut self, number: u32, wait: &Wait, limit: Option<Duration>) -> i64 {
        match i64::from(number) {
            // Whatever Linux says, the descriptor is free, and may be another file's by now.
            libc::SYS_close => 0,
            _ if limit.is_some() => {
                self.0 = Some(wait.began);
                Errno::EINTR.result()
            }
            number if NEVER_AGAIN.contains(&number) => Errno::EINTR.result(),
            _ => Errno::RESTART,
        }
    }
}

impl Wait {
    pub fn is_over(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }
}

/// Calls that no handler lets begin again (signal(7)).
const NEVER_AGAIN: [libc::c_long; 7] = [
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_select,
    libc::SYS_pselect6,
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
];

/// Kicks the calling thread from then on. `None`: Linux has no more timers for the user.
fn kicks_from(then: Instant, signal: Signal) -> Option<Timer> {
    let kick = SigevNotify::SigevThreadId { signal, thread_id: gettid().as_raw(), si_value: 0 };
    let mut timer = Timer::new(ClockId::CLOCK_MONOTONIC, SigEvent::new(kick)).ok()?;
    let first = then.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1));
    let expiration = Expiration::IntervalDelayed(first.into(), PAUSE.into());
    timer.set(expiration, TimerSetTimeFlags::empty()).ok()?;
    Some(timer)
}
