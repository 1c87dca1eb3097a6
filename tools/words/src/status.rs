// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The exit statuses. `docs/command-line.md` has the same list for people.

/// Done, or the answer is yes.
pub const DONE: u8 = 0;
/// The answer is no: noisy, drifted, not up.
pub const NO: u8 = 1;
/// Wrong arguments, configuration or files; for `noise check` also: not enough to say.
pub const USAGE: u8 = 2;
/// The machine, its kernel or the user's rights do not allow it.
pub const MACHINE: u8 = 3;
/// Half done, and undone.
pub const UNDONE: u8 = 4;

/// A command that executes a program failed itself, before the program began.
pub const RUNNER: u8 = 125;
/// The program cannot be executed.
pub const NOT_EXECUTABLE: u8 = 126;
/// The program is not found.
pub const NOT_FOUND: u8 = 127;
