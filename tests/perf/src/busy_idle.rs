// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The idle loop that executes instructions, for a node whose clock counts those of all CPUs: with it idle CPUs take as
//! much time as the others, and a job whose ranks wait for one of them takes as long as it would on CPUs of their own.
//!
//! Owns the module's build and its switch, which `timed.c` turns. Must be on only while something is timed: it costs the
//! host.

use std::path::{Path, PathBuf};

use tacet_node::{Cache, Kernel, KernelLine, ModuleBuild};

use crate::Result;
use crate::guest::Guest;
use crate::programs::Programs;

/// Takes 1 and 0; whoever times something turns it.
pub const SWITCH: &str = "/sys/module/busy_idle/parameters/busy";

/// Builds the module; nodes see it under the same path.
pub fn build(cache: &Cache, line: KernelLine, programs: &Programs) -> Result<PathBuf> {
    let kernel = Kernel::installed(cache, line)?;
    let out = programs.build_directory().join("tests/perf/idle").join(&kernel.release);
    let build = ModuleBuild { source: &programs.source("idle"), beside: &[], out: &out, arguments: &["W=1"] };
    let modules = build.run(cache, &kernel)?;
    modules.into_iter().next().ok_or_else(|| "busy_idle: no module was made".into())
}

/// Loads it, switched off.
pub fn load(guest: &Guest, module: &Path) -> Result<()> {
    guest.run(&["insmod", &module.display().to_string()]).map(drop)
}
