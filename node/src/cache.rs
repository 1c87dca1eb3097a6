// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The directory for everything that is downloaded or built for nodes: `$TACET_CACHE`, else `$XDG_CACHE_HOME/tacet`,
//! else `~/.cache/tacet`.
//!
//! Owns the layout of that directory and its lock. Used by all files of the crate. Must never remove a file that this
//! layout does not name.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use crate::error::{Error, OnPath, Result};
use crate::guest::generation;
use crate::kernel::KernelLine;
use crate::slurm::SlurmRelease;

/// The files with KVM's answers begin with it.
const KVM: &str = "kvm-";

/// The cache directory.
#[derive(Debug, Clone)]
pub struct Cache {
    directory: PathBuf,
}

impl Cache {
    /// The cache of this user, created if it does not exist.
    pub fn open() -> Result<Cache> {
        let directory = chosen(|name| env::var_os(name).map(PathBuf::from))
            .ok_or_else(|| Error::new("cache", "neither XDG_CACHE_HOME nor HOME is set", "set TACET_CACHE"))?;
        Cache::at(&directory)
    }

    /// A cache in a directory that the caller chooses.
    pub fn at(directory: &Path) -> Result<Cache> {
        fs::create_dir_all(directory.join("log")).on(directory)?;
        Ok(Cache { directory: directory.canonicalize().on(directory)? })
    }

    /// The Debian tree: nodes boot it, and modules are built in it.
    pub fn tree(&self) -> PathBuf {
        self.directory.join("tree")
    }

    /// A step's stamp, which records its inputs; `provision` compares it to detect stale results.
    pub(crate) fn stamp(&self, step: &str) -> PathBuf {
        self.directory.join("stamp").join(step)
    }

    /// The read-only root disk of every node.
    pub fn root_image(&self) -> PathBuf {
        self.directory.join("root.ext4")
    }

    /// The read-only disk that a cluster's node mounts over its root disk, with this Slurm.
    pub fn cluster_disk(&self, slurm: SlurmRelease) -> PathBuf {
        self.directory.join(format!("{}.ext4", slurm.layer()))
    }

    /// The guest's agent, a static program.
    pub(crate) fn agent(&self) -> PathBuf {
        self.directory.join(format!("agent-{}", generation()))
    }

    /// The parent of one directory for each kernel line and generation of guest programs.
    pub(crate) fn kernels(&self) -> PathBuf {
        self.directory.join("kernels")
    }

    /// `release`, `vmlinuz` and `initramfs` of one line.
    pub(crate) fn kernel(&self, line: KernelLine) -> PathBuf {
        self.kernels().join(format!("{line}-{}", generation()))
    }

    /// The parent of everything of the debug kernel's build.
    pub(crate) fn debug_kernels(&self) -> PathBuf {
        self.directory.join("debug")
    }

    /// What the build with this key left.
    pub(crate) fn debug_kernel(&self, key: &str) -> PathBuf {
        self.debug_kernels().join(key)
    }

    /// The tree with nothing but a QEMU, one for each Debian suite.
    pub(crate) fn qemu(&self, suite: &str) -> PathBuf {
        self.directory.join("qemu").join(suite)
    }

    /// The full output of a provisioning step; errors name it.
    pub(crate) fn log(&self, step: &str) -> PathBuf {
        self.directory.join("log").join(format!("{step}.log"))
    }

    /// Whether KVM runs a job, one file for each boot of the host and each build.
    pub(crate) fn accelerator_answer(&self, boot_id: &str, build: u64) -> PathBuf {
        self.directory.join(format!("{KVM}{boot_id}-{build:016x}"))
    }

    /// Removes all of these files: those of other boots and builds answer nothing any more.
    pub(crate) fn forget_accelerator_answers(&self) {
        for entry in fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(KVM) {
                fs::remove_file(entry.path()).ok();
            }
        }
    }

    /// Scratch space for running nodes.
    pub(crate) fn running(&self) -> PathBuf {
        self.directory.join("run")
    }

    /// Takes the lock against other provisioning processes, and waits for it. Dropping the value releases it.
    pub(crate) fn lock(&self) -> Result<Flock<File>> {
        self.lock_for("lock")
    }

    /// The socket of the process that holds the running cluster.
    pub(crate) fn cluster_door(&self) -> PathBuf {
        self.directory.join("cluster.socket")
    }

    /// Removes what this process's nodes have in [`Cache::running`], before a signal ends the process and them.
    pub fn forget_own_nodes(&self) {
        let own = format!("{}-", std::process::id());
        for entry in fs::read_dir(self.running()).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&own) {
                fs::remove_dir_all(entry.path()).ok();
            }
        }
    }

    /// A lock of another name, if nobody has it.
    pub(crate) fn try_lock_for(&self, name: &str) -> Result<Option<Flock<File>>> {
        let path = self.directory.join(name);
        let file = File::create(&path).on(&path)?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => Ok(Some(lock)),
            Err((_, nix::errno::Errno::EWOULDBLOCK)) => Ok(None),
            Err((_, error)) => Err(error).on(&path),
        }
    }

    /// A lock of another name, for what does not provision.
    pub(crate) fn lock_for(&self, name: &str) -> Result<Flock<File>> {
        let path = self.directory.join(name);
        let file = File::create(&path).on(&path)?;
        Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, e)| e).on(&path)
    }
}

fn chosen(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    variable("TACET_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|d| d.join("tacet")))
        .or_else(|| variable("HOME").map(|d| d.join(".cache/tacet")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explicit_directory_wins_then_xdg_then_home() {
        let all = |name: &str| Some(PathBuf::from(format!("/{name}")));
        assert_eq!(chosen(all), Some("/TACET_CACHE".into()));
        let no_override = |name: &str| (name != "TACET_CACHE").then(|| PathBuf::from(format!("/{name}")));
        assert_eq!(chosen(no_override), Some("/XDG_CACHE_HOME/tacet".into()));
        let only_home = |name: &str| (name == "HOME").then(|| PathBuf::from("/h"));
        assert_eq!(chosen(only_home), Some("/h/.cache/tacet".into()));
        assert_eq!(chosen(|_| None), None);
    }
}
