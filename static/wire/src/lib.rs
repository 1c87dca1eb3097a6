// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The language between a static node and the Linux node that performs its calls.
//!
//! [`packet`] and [`key`] say how bytes travel and who may send them, [`client`] and [`server`] how a message arrives
//! exactly once, and [`ask`] and [`job`] how a node gets its work. [`calls`] says what becomes of each system call;
//! [`marshal`] packs it on the node, and [`demarshal`] unpacks it on Linux.
#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

pub mod ask;
mod bulk;
pub mod bytes;
pub mod calls;
pub mod client;
mod commands;
pub mod demarshal;
pub mod errno;
mod finish;
mod fragments;
mod head;
pub mod job;
pub mod key;
pub mod marshal;
mod memory;
pub mod packet;
mod packing;
mod parts;
pub mod program;
pub mod server;
pub mod stored;
