// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the boot code knows of the machine: one value, which the boot CPU fills and [`Machine`](super::Machine) reads.

use super::acpi::Off;
use super::interrupts::{IO_APICS, IoApic};
use super::loader::Told;
use super::locked::Locked;
use super::tables::WINDOW;
use crate::signals::Signals;

/// CPUs that are started at most.
pub const CPUS: usize = 1024;

pub struct State {
    pub told: Told,
    /// The root of the kernel's own tables.
    pub root: u64,
    /// Where in the window the next piece goes (`tables.rs`).
    pub window: u64,
    /// The page of registers that was mapped last, and where.
    pub last_device: Option<(u64, u64)>,
    /// How the interrupt controller names the CPUs; the boot CPU is the first.
    pub identities: [u32; CPUS],
    pub cpus: u32,
    pub signals: &'static [Signals],
    pub tsc_khz: u64,
    pub off: Option<Off>,
    pub io_apics: [Option<IoApic>; IO_APICS],
    /// A page below 1 MiB, where further CPUs begin.
    pub trampoline: Option<u64>,
}

pub static STATE: Locked<State> = Locked::new(State {
    told: Told::new(),
    root: 0,
    window: WINDOW,
    last_device: None,
    identities: [0; CPUS],
    cpus: 1,
    signals: &[],
    tsc_khz: 0,
    off: None,
    io_apics: [None; IO_APICS],
    trampoline: None,
});
