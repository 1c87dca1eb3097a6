// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Emulators in trees of their own, run with their own libraries: the same QEMU on every host.
//!
//! Owns the choice of suite for each [`crate::Emulator`] and those trees. `TACET_QEMU` names another program for the
//! standard one. Must never put a QEMU into the nodes' own tree: it would double the root disk.

use std::fs;
use std::path::PathBuf;

use super::step::Step;
use super::tree;
use crate::cache::Cache;
use crate::error::{OnPath, Result};

/// Debian 13's backports: earlier multi-threaded TCG uses a freed memory map when a busy host preempts it in the
/// middle of a PCI set-up, and aborts in one boot of ten (`msix_table_mmio_write`).
const STANDARD: &str = "trixie-backports";
/// Debian 12: QEMU 7.2, the last that counts instructions per CPU correctly in round-robin.
const COUNTING: &str = "bookworm";

/// Provides the emulator that every node uses unless its description says otherwise.
pub(crate) fn provide_standard(cache: &Cache) -> Result<()> {
    provide(cache, STANDARD, &[tree::source("debian", "trixie"), tree::source("debian", STANDARD)])
}

/// Provides QEMU 7.2; asked for by the first node that counts.
pub(crate) fn provide_counting(cache: &Cache) -> Result<()> {
    let _lock = cache.lock()?;
    provide(cache, COUNTING, &[tree::source("debian", COUNTING)])
}

/// An emulator of a tree: what to execute, what comes first on its command line, where its loadable parts are.
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
        // mmdebstrap makes the tree, but not what it lies in
        fs::create_dir_all(target.parent().unwrap_or(&target)).on(&target)?;
        let mut extract = tree::mmdebstrap("extract", &["qemu-system-x86"]);
        extract.arg(format!("--aptopt=APT::Default-Release \"{suite}\""));
        // the release the libraries come from
        let release = suite.trim_end_matches("-backports");
        step.run(&format!("fetching QEMU of {suite}"), extract.arg(release).arg(&target).args(sources))
    })
}
