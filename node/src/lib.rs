// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A QEMU node as a library: kernels, CPUs, memory, commands, timeouts. Tests describe nodes, never QEMU flags.
//!
//! ```no_run
//! use tacet_node::{Cache, Command, KernelLine, Node, NodeSpec, provision};
//!
//! # fn main() -> tacet_node::Result<()> {
//! let cache = Cache::open()?;
//! provision::ensure(&cache)?;
//! let node = Node::boot(&cache, &NodeSpec::new(KernelLine::V6_12).share("/srv/work"))?;
//! let output = node.run(&Command::shell("uname -r"))?;
//! assert!(output.status.success());
//! # Ok(()) }
//! ```

mod archive;
mod boot;
mod cache;
pub mod cluster;
mod command;
mod error;
mod guest;
mod job;
mod kbuild;
mod kernel;
mod link;
mod memory;
mod node;
mod once;
mod patience;

pub mod provision;
mod qemu;
mod run_directory;
pub mod secure_boot;
mod share;
mod shell;
mod slurm;
mod spec;
mod stale;
mod wire;

pub use cache::Cache;
pub use command::{Command, Output, Status};
pub use error::{Error, Result};
pub use job::Job;
pub use kbuild::ModuleBuild;
pub use kernel::{Kernel, KernelLine};
pub use memory::unnamed_pages;
pub use node::Node;
pub use once::Once;
pub use qemu::{Guarded, Process, Qemu, accelerator, guard_words};
pub use shell::restorer;
pub use slurm::SlurmRelease;
pub use spec::{Accelerator, Emulator, NodeSpec, Plugin, Port, Share, ShareKind, Topology};
pub use stale::stale_breakpoint;
