// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A machine that the co-kernel has alone: from the boot loader's entry to CPUs, memory, address spaces and devices
//! that a host uses without `unsafe`.
//!
//! Called by `kernel/host/standalone` and its image. It never decides what runs: it knows no process, and no call.
//! The order of a machine's life: the entry makes the [`Machine`]; its host takes memory for good ([`Machine::keep`],
//! [`Machine::contexts`], [`Machine::tables`]) and opens the devices; [`Machine::ram`] hands out the rest;
//! [`Machine::start`] starts the CPUs.

mod contexts;
mod link;
mod locked;
mod machine;
mod ram;
mod space;

pub use contexts::{Context, Contexts};
pub use link::{Console, Network};
pub use locked::Locked;
pub use machine::{Machine, die, log, power_off};
pub use ram::{Ram, Range};
pub use space::{Refused, Segment, Space, Tables};

/// The machine of ELF programs that this processor runs (`EM_X86_64`).
pub const ELF_MACHINE: u16 = 62;
