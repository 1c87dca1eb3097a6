// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a CPU does with threads: it runs those that its host hands over in user mode, one at a time, answers system
//! calls, and hands a thread back when it needs its host.
//!
//! Generic over the processor (`tacet_arch::Processor`) and over the host ([`Host`]): the same code runs beside
//! Linux, alone, and in tests on fakes. No unsafe, no timer while a program runs; no lock but those of what CPUs
//! share: waiting threads, and the memory of a process that runs on several. Otherwise a CPU decides alone.
//!
//! Floors, each of which calls only those behind it: `run` (the CPU's loop), `syscall` (the calls that a CPU answers),
//! `memory` (a process's range), `cpu` (where threads move), `host` (what a host offers), `base` (data).
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod base;
mod cpu;
mod host;
pub mod memory;
mod run;
mod syscall;

pub use base::common::Common;
pub use base::escape::{Escape, Left, Reason};
pub use base::place::{Event, Place, Recall, Room, Then, Wait, next};
pub use base::request;
pub use base::sizes::{CPUS, QUEUE, THREADS};
pub use cpu::Cpu;
pub use host::{Affinity, Answer, FutexCounters, Host, Permits, Thread, WakeRequest};
pub use run::TURN_NS;
