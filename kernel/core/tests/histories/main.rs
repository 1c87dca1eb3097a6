// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a CPU does with threads, on fake processors and a fake Linux, against books that say where every thread is.
//!
//! Each CPU executes the real loop (`Cpu::step`) as a coroutine that pauses wherever other CPUs or Linux could come in
//! between ([`processor`]). A history says who does what next, so that every failure is repeatable. [`books`] has the
//! invariants.

mod books;
mod budgets;
mod calls;
mod device;
mod exhaustive;
mod futexes;
mod held;
mod history;
mod host;
mod lends;
mod linux;
mod machine;
mod memory;
mod names;
mod populates;
mod processor;
mod program;
mod range;
mod revocations;
mod searches;
mod tlb;
mod world;
