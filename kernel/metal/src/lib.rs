// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The co-kernel's unsafe half: all assembly, all machine registers, all shared
//! memory. What it exports is safe to call from `tacet-core`.
//!
//! Context of everything here: one co-kernel core, interrupts off, in the
//! core's own address space, from which nothing of Linux is reachable.
#![no_std]
#![deny(unsafe_op_in_unsafe_fn)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod apic;
mod boot;
mod call;
mod context;
mod core_local;
mod descriptor;
mod entry;
mod fatal;
mod flush;
mod frames;
mod idle;
mod locked;
mod own;
mod placing;
mod profile;
mod records;
mod registers;
mod shared;
mod space;

pub use boot::{adopt, halt};
pub use context::{Context, Exit};
pub use core_local::{Core, Served};
pub use fatal::die;
pub use frames::{Frames, Leaving};
pub use own::{Own, OwnHeld};
pub use shared::Question;
pub use space::{Space, WakeRequest};
