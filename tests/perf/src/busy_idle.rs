// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The idle loop that executes instructions, for a node whose clock counts the instructions of all CPUs. With it, idle
//! CPUs use as much time as busy ones, so a job whose ranks wait for one of them takes as long as on real CPUs.
//!
//! Owns the module's build and its switch; `timed.c` operates the switch. The loop must be on only during a
//! measurement, because it loads the host.

use std::path::{Path, PathBuf};

use tacet_node::{Cache, Kernel, KernelLine, ModuleBuild};

use crate::Result;
use crate::guest::Guest;
use crate::programs::Programs;

/// The switch accepts 1 and 0; the measuring program operates it.
pub const SWITCH: &str = "/sys/module/busy_idle/parameters/busy";

/// Builds the module; nodes see it at the same path.
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
