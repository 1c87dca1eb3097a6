// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why the doorbell rang: bits that a host or another CPU sets.

/// A thread was handed over.
pub const POSTED: u32 = 1 << 0;
/// Some thread is recalled.
pub const RECALL: u32 = 1 << 1;
/// The CPU is to leave the address space that it has loaded.
pub const LEAVE_SPACE: u32 = 1 << 2;
/// The service ends.
pub const HALT: u32 = 1 << 3;
/// A test of the co-kernel.
pub const TEST: u32 = 1 << 4;
/// The host wants threads woken.
pub const WAKE: u32 = 1 << 5;
/// Another CPU has woken threads of this one.
pub const WOKEN: u32 = 1 << 6;
/// The host asks a question.
pub const ASK: u32 = 1 << 7;
