// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The numbers of signals, and what each does by default. Linux fixes them; nothing here may ever change.

use super::set::Set;

/// As Linux numbers them.
pub mod numbers {
    pub const HUP: u8 = 1;
    pub const INT: u8 = 2;
    pub const QUIT: u8 = 3;
    pub const ILL: u8 = 4;
    pub const TRAP: u8 = 5;
    pub const ABRT: u8 = 6;
    pub const BUS: u8 = 7;
    pub const FPE: u8 = 8;
    pub const KILL: u8 = 9;
    pub const USR1: u8 = 10;
    pub const SEGV: u8 = 11;
    pub const USR2: u8 = 12;
    pub const PIPE: u8 = 13;
    pub const ALRM: u8 = 14;
    pub const TERM: u8 = 15;
    pub const CHLD: u8 = 17;
    pub const CONT: u8 = 18;
    pub const STOP: u8 = 19;
    pub const TSTP: u8 = 20;
    pub const TTIN: u8 = 21;
    pub const TTOU: u8 = 22;
    pub const URG: u8 = 23;
    pub const XFSZ: u8 = 25;
    pub const WINCH: u8 = 28;
    pub const SYS: u8 = 31;
    /// The first real-time signal: of these each one that is sent arrives.
    pub const REAL_TIME: u8 = 32;
    pub const LAST: u8 = 64;
}

use numbers::{BUS, CHLD, CONT, FPE, ILL, KILL, LAST, REAL_TIME, SEGV, STOP, SYS, TRAP, TSTP, TTIN, TTOU, URG, WINCH};

/// No mask holds these back, and no action replaces theirs.
pub(super) const UNMASKABLE: Set = Set::of(&[KILL, STOP]);
/// They come from what the thread itself does, and are delivered first: their frame shows the instruction.
pub(super) const SYNCHRONOUS: Set = Set::of(&[SEGV, BUS, ILL, TRAP, FPE, SYS]);
const IGNORED: Set = Set::of(&[CHLD, CONT, URG, WINCH]);
const STOPPING: Set = Set::of(&[STOP, TSTP, TTIN, TTOU]);

/// The effect of a signal that has no handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Default {
    Death,
    Nothing,
    Stop,
}

pub(super) const fn default_of(signal: u8) -> Default {
    if IGNORED.has(signal) {
        Default::Nothing
    } else if STOPPING.has(signal) {
        Default::Stop
    } else {
        Default::Death
    }
}

pub(super) const fn is_real_time(signal: u8) -> bool {
    signal >= REAL_TIME
}

pub(super) const fn is_valid(signal: u8) -> bool {
    signal >= 1 && signal <= LAST
}

/// Its name for last words.
pub const fn name(signal: u8) -> &'static str {
    match signal {
        numbers::HUP => "SIGHUP",
        numbers::INT => "SIGINT",
        numbers::QUIT => "SIGQUIT",
        numbers::ILL => "SIGILL",
        numbers::TRAP => "SIGTRAP",
        numbers::ABRT => "SIGABRT",
        numbers::BUS => "SIGBUS",
        numbers::FPE => "SIGFPE",
        numbers::KILL => "SIGKILL",
        numbers::USR1 => "SIGUSR1",
        numbers::SEGV => "SIGSEGV",
        numbers::USR2 => "SIGUSR2",
        numbers::PIPE => "SIGPIPE",
        numbers::ALRM => "SIGALRM",
        numbers::TERM => "SIGTERM",
        numbers::CHLD => "SIGCHLD",
        numbers::CONT => "SIGCONT",
        numbers::STOP => "SIGSTOP",
        numbers::TSTP => "SIGTSTP",
        numbers::TTIN => "SIGTTIN",
        numbers::TTOU => "SIGTTOU",
        numbers::URG => "SIGURG",
        numbers::WINCH => "SIGWINCH",
        numbers::SYS => "SIGSYS",
        numbers::REAL_TIME..=numbers::LAST => "a real-time signal",
        _ => "a signal",
    }
}
