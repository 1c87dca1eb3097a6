// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instruction-exact measuring: what a CPU of an emulated node executed, quantum by quantum, that was not the program's.
//!
//! A plugin of the emulator counts (`instruments` carries it, its sources are in `exact/`), `node` boots and measures in
//! a `folder`, `log` reads what the plugin wrote, `symbols` names addresses, `summary` says what it comes to, `record` keeps it.
//! A busy host changes when the emulator's clock interrupts, never what is counted; under a seed, not even that.

mod folder;
pub mod instruments;
pub mod log;
pub mod node;
pub mod record;
pub mod summary;
pub mod symbols;

/// Goes with every result, in tables, in JSON and on pages.
pub const MEANING: &str = "Counted in an emulator. The numbers say which code ran on the program's CPU besides the \
program, by which way it came, and how many instructions it took: that is the kernel's doing, and the same kernel does it \
on hardware. How often it came is the emulator's doing too: timers and devices follow a clock, not the instructions, and \
devices differ. Nothing is said of how long anything takes: an emulated CPU has no caches, no TLB of hardware's size, no \
shared hardware threads, no frequency and no firmware. Do not turn these numbers into time.";
