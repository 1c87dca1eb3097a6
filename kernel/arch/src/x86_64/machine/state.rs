// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The boot code's record of the machine: one value, which the boot CPU fills and [`Machine`](super::Machine) reads.

use super::acpi::Off;
use super::interrupts::{IO_APICS, IoApic};
use super::loader::{Line, Told};
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
    pub reset: Option<Off>,
    pub io_apics: [Option<IoApic>; IO_APICS],
    /// A page below 1 MiB, where further CPUs begin.
    pub trampoline: Option<u64>,
}

/// Written by the boot CPU before anything else, and never again.
pub static LINE: Locked<Line> = Locked::new(Line::new());

/// The command line.
pub fn line() -> &'static Line {
    let line = LINE.with(|line| core::ptr::from_ref(line));
    // SAFETY: a static that nobody writes any more: this is called when the boot code has read it.
    unsafe { &*line }
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
    reset: None,
    io_apics: [None; IO_APICS],
    trampoline: None,
});
