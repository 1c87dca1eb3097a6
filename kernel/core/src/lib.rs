// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a CPU does with threads: it runs those that its host hands over in user mode, one at a time, answers system
//! calls, and hands a thread back when it needs its host.
//!
//! Generic over the processor (`tacet_arch::Processor`) and over the host ([`Host`]): the same code runs beside
//! Linux, alone, and in tests on fakes. No unsafe, no timer while a program runs; no lock but those of what CPUs
//! share: waiting threads, and the memory of a process that runs on several. Otherwise a CPU decides alone.
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod attention;
mod common;
mod cpu;
mod escape;
mod flights;
mod host;
mod idle;
pub mod memory;
mod place;
mod run;
mod syscall;
mod turns;
mod waits;

pub use attention::request;
pub use common::{CPUS, Common, THREADS};
pub use cpu::{Cpu, QUEUE};
pub use escape::{Escape, Left, Reason};
pub use host::{Affinity, Answer, FutexCounters, Host, Permits, Recall, Thread, WakeRequest};
pub use place::{Event, Place, Room, Then, Wait, next};
pub use turns::TURN_NS;
