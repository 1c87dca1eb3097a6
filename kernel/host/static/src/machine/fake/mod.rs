// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A machine that is made up: CPUs take turns by a seed, each until it halts, waits or has executed an instruction; time
//! goes on with the turns; programs are in memory, in instructions of its own (`instructions`); what the node sends goes
//! to a far end that a test writes, over a link that loses, repeats and delays packets by the same seed.
//!
//! One CPU runs at a time, so a seed makes the same history again. It may panic: it is for tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "only tests run it")]

mod cable;
mod contexts;
mod cpu;
mod devices;
pub mod instructions;
mod memory;
mod node;
mod saved;
mod user;
mod world;

pub use cable::Cable;
pub use contexts::{Context, Contexts};
pub use cpu::Cpu;
pub use devices::{Console, Network, die, log, power_off, reset, take_corrected};
pub use memory::{Ram, Space, Tables};
pub use node::{Config, Machine, Outcome, boot, common, map};
pub use tacet_arch::x86_64::machine::directory::Segment;
pub use user::User;
pub use world::{Far, Faults, Locked, cycles, relax};
