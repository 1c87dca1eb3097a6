// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Performs, on a Linux node, the system calls of static nodes.
//!
//! [`daemon`] knows the nodes and gives them to jobs, over [`control`]; [`submit`] runs a job and makes its proxies;
//! each [`proxy`] performs one process's calls.
#![deny(unsafe_op_in_unsafe_fn)]

pub mod control;
pub mod daemon;
mod error;
pub mod proxy;
mod refusal;
mod room;
pub mod submit;

pub use error::{Error, Result};
