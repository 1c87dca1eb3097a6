// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The host of a CPU without Linux: it loads a job's processes, answers what they ask of a kernel, and ships the rest to
//! the Linux node that has their proxies.
//!
//! Called by `kernel/image/standalone` with the machine. Nothing here knows how the machine is made: that is
//! `tacet_arch`'s.
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![cfg(target_os = "none")]

mod answer;
mod begin;
mod clone;
mod delivery;
mod exchange;
mod exit;
mod host;
mod job;
mod lead;
mod limits;
mod link;
mod loader;
mod local;
mod masks;
mod memory;
mod network;
mod node;
mod outstanding;
mod own_files;
mod places;
mod proceed;
mod process;
mod reserved;
mod settings;
mod ship;
mod signals;
mod start;
mod thread;
mod time;
mod user_memory;
mod waits;
mod watch;

pub use start::main;
