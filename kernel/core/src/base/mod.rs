// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The data of CPUs and threads, which know neither a CPU nor a host: everything else is built on these.

pub mod common;
pub mod escape;
pub mod flights;
pub mod loans;
pub mod long;
pub mod place;
pub mod request;
pub mod sizes;
pub mod waiting;
