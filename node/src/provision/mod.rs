// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Everything a node needs before it can boot: host programs, the Debian tree, kernels, the agent, images, emulators.
//!
//! [`ensure`] is the entry. Each step records its inputs in a stamp, and does nothing while they are unchanged.

mod cluster;
pub mod debug;
mod emulators;
mod host;
mod image;
mod step;
mod tree;

use std::path::Path;
use std::process::Stdio;

use crate::cache::Cache;
use crate::error::{Error, OnPath, Result};
use crate::kernel::{Kernel, KernelLine};
use crate::slurm::SlurmRelease;

pub use cluster::ensure_cluster;
pub(crate) use emulators::{Foreign, foreign_emulator, provide_counting};
pub use host::{Missing, missing};
pub(crate) use tree::{foreign, inside, is_root};

/// Makes everything that is missing or stale; quick if nothing is. Waits for another process that provisions.
pub fn ensure(cache: &Cache) -> Result<()> {
    let _lock = cache.lock()?;
    host::check()?;
    tree::build(cache)?;
    image::build(cache)?;
    emulators::provide_standard(cache)
}

/// Provisions anew, from the newest packages and kernels.
pub fn refresh(cache: &Cache) -> Result<()> {
    let stamp = cache.stamp("tree");
    if stamp.exists() {
        std::fs::remove_file(&stamp).on(&stamp)?;
    }
    ensure(cache)
}

/// Removes everything that was provisioned. Running nodes keep their open files.
pub fn remove(cache: &Cache) -> Result<()> {
    let _lock = cache.lock()?;
    for tree in [cache.tree(), cache.qemu(""), cache.debug_kernels()] {
        tree::remove(cache, &tree)?;
    }
    for directory in [cache.kernels(), cache.stamp("")] {
        if directory.exists() {
            std::fs::remove_dir_all(&directory).on(&directory)?;
        }
    }
    let clusters = SlurmRelease::ALL.map(|slurm| cache.cluster_disk(slurm));
    for disk in std::iter::once(cache.root_image()).chain(clusters) {
        match std::fs::remove_file(&disk) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e).on(&disk),
            _ => (),
        }
    }
    Ok(())
}

/// Runs a program of the tree on host directories, visible to it as `/mnt/<name>`.
pub fn run_in_tree(cache: &Cache, shared: &[(&Path, &str)], argv: &[&str]) -> Result<()> {
    let object = argv.join(" ");
    let failed = |cause: String| Error::new(&object, cause, "the output above says why");
    let status = tree::inside(cache, shared, argv).stdin(Stdio::null()).status().map_err(|e| failed(e.to_string()))?;
    if status.success() { Ok(()) } else { Err(failed(status.to_string())) }
}

/// The kernels that nodes boot, oldest first.
pub fn kernels(cache: &Cache) -> Result<Vec<Kernel>> {
    KernelLine::ALL.into_iter().map(|line| Kernel::installed(cache, line)).collect()
}
