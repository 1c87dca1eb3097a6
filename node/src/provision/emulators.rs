// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Emulators in trees of their own, run with their own libraries: the same QEMU on every host.
//!
//! Owns those trees, and the choice of Debian suite for each [`crate::Emulator`]. `TACET_QEMU` replaces the standard
//! emulator by another program. Must never put a QEMU into the nodes' own tree: it would double the root disk.

use std::fs;
use std::path::PathBuf;

use super::step::Step;
use super::tree;
use crate::cache::Cache;
use crate::error::{OnPath, Result};

/// Debian 13's backports. Earlier versions of multi-threaded TCG use a freed memory map if a busy host preempts them in
/// the middle of a PCI set-up, and abort in one boot of ten (`msix_table_mmio_write`).
const STANDARD: &str = "trixie-backports";
/// Debian 12 with QEMU 7.2, the last version that counts instructions per CPU correctly in round-robin mode.
const COUNTING: &str = "bookworm";

/// Provides the emulator that every node uses unless its description says otherwise.
pub(crate) fn provide_standard(cache: &Cache) -> Result<()> {
    provide(cache, STANDARD, &[tree::source("debian", "trixie"), tree::source("debian", STANDARD)])
}

/// Provides QEMU 7.2, on the first boot of a node that counts instructions.
pub(crate) fn provide_counting(cache: &Cache) -> Result<()> {
    let _lock = cache.lock()?;
    provide(cache, COUNTING, &[tree::source("debian", COUNTING)])
}

/// An emulator in a tree: its program, its first arguments, the directory of its loadable parts.
pub(crate) struct Foreign {
    pub program: PathBuf,
    pub leading: Vec<String>,
    pub modules: PathBuf,
}

/// How to run a provided emulator.
pub(crate) fn foreign_emulator(cache: &Cache, counting: bool) -> Foreign {
    let tree = cache.qemu(if counting { COUNTING } else { STANDARD });
    let (program, mut leading) = tree::foreign(&tree, "usr/bin/qemu-system-x86_64");
    for data in ["seabios", "qemu"] {
        leading.extend(["-L".to_owned(), tree.join("usr/share").join(data).display().to_string()]);
    }
    Foreign { program, leading, modules: tree.join("usr/lib/x86_64-linux-gnu/qemu") }
}

fn provide(cache: &Cache, suite: &str, sources: &[String]) -> Result<()> {
    let name = format!("qemu-{suite}");
    Step::new(cache, &name, sources.join("\n")).unless_done(|step| {
        let target = cache.qemu(suite);
        tree::remove(cache, &target)?;
        // mmdebstrap creates the tree, but not its parent directories
        fs::create_dir_all(target.parent().unwrap_or(&target)).on(&target)?;
        let mut extract = tree::mmdebstrap("extract", &["qemu-system-x86"]);
        extract.arg(format!("--aptopt=APT::Default-Release \"{suite}\""));
        // the Debian release of the libraries
        let release = suite.trim_end_matches("-backports");
        step.run(&format!("fetching QEMU of {suite}"), extract.arg(release).arg(&target).args(sources))
    })
}
