// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instruction-exact measuring: counts, quantum by quantum, the instructions that a CPU of an emulated node executed
//! besides the program's.
//!
//! A plugin of the emulator counts (`instruments` contains it, its sources are in `exact/`). `node` boots and measures
//! in a `folder`, `log` reads the plugin's log, `symbols` names addresses, `summary` computes the result, `record` is
//! its file. A busy host changes when the emulator's clock interrupts, but not the counting itself; with a seed it does
//! not change even the interrupts.

mod folder;
pub mod instruments;
pub mod log;
pub mod node;
pub mod record;
pub mod summary;
pub mod symbols;

/// Printed with every result, in tables, in JSON and on pages.
pub const MEANING: &str = "Counted in an emulator. The numbers say which code ran on the program's CPU besides the \
program, how the kernel was entered, and how many instructions this took: the same kernel does the same on hardware. How \
often it happened also depends on the emulator: timers and devices follow a clock, not the instructions, and devices \
differ. The numbers do not say how long anything takes: an emulated CPU has no caches, no TLB of a real size, no shared \
hardware threads, no frequency and no firmware. Do not turn these numbers into time.";
