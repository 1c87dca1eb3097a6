// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `tacet node` puts into a node: this command with image and module, and the current directory.
//!
//! Called by `node.rs`. It owns the staging directory in the cache, which is used if the installation has no module for
//! the node's kernel.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use tacet_ctl::{Error, Result, find_image, installation};
use tacet_node::{Cache, Command, Kernel, ModuleBuild, NodeSpec};

use super::node_error::from_node;
use crate::output;

/// Prepends `$0` to PATH and executes the other words.
const WITH_PATH: &str = "PATH=$0:$PATH; export PATH; exec \"$@\"";

pub(super) struct Guest {
    prefix: PathBuf,
    directory: PathBuf,
}

impl Guest {
    pub fn prepare(cache: &Cache, kernel: &Kernel) -> Result<Guest> {
        let own = installation();
        let prefix = match can_share(kernel, &own) && module_in(&own, kernel).is_file() {
            true => own,
            false => stage(cache, kernel)?,
        };
        let current = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let directory = if can_share(kernel, &current) { current } else { PathBuf::from("/") };
        Ok(Guest { prefix, directory })
    }

    /// If one directory lies inside the other, only the outer one is shared.
    pub fn share(&self, spec: NodeSpec) -> NodeSpec {
        let (prefix, directory) = (&self.prefix, &self.directory);
        match (directory == Path::new("/"), prefix.starts_with(directory), directory.starts_with(prefix)) {
            (false, true, _) => spec.share(directory),
            (true, _, _) | (false, _, true) => spec.share(prefix),
            (false, false, false) => spec.share(prefix).share(directory),
        }
    }

    /// Where its programs are, in the node.
    pub fn programs(&self) -> PathBuf {
        self.prefix.join("bin")
    }

    /// The same from a directory that the node has too; of another, from the current one when this was prepared.
    pub fn command_in(&self, directory: &Path, words: &[OsString]) -> Command {
        let shared = directory.starts_with(&self.directory) && self.directory != Path::new("/");
        self.command(words).directory(if shared { directory } else { &self.directory })
    }

    pub fn command(&self, words: &[OsString]) -> Command {
        let bin = self.prefix.join("bin").into_os_string();
        let front = ["sh".into(), "-c".into(), WITH_PATH.into(), bin];
        Command::new(front.iter().chain(words)).directory(&self.directory)
    }
}

/// A node cannot share the directories that are part of its own system; `NodeSpec::check` knows which.
fn can_share(kernel: &Kernel, path: &Path) -> bool {
    NodeSpec::new(kernel.line).share(path).check().is_ok()
}

fn module_in(prefix: &Path, kernel: &Kernel) -> PathBuf {
    prefix.join("lib/tacet/modules").join(&kernel.release).join("tacet.ko")
}

/// Makes an installation of this command for one kernel, anew each time: it is small.
fn stage(cache: &Cache, kernel: &Kernel) -> Result<PathBuf> {
    let top = cache.tree().with_file_name("installation").join(kernel.line.to_string());
    let executable = std::env::current_exe().map_err(|io| Error::io("this command", &io, ""))?;
    copy(&executable, &top.join("bin/tacet"))?;
    match find_image() {
        Ok(image) => copy(&image, &top.join("lib/tacet/kernel.bin"))?,
        Err(error) => output::note(&format!("{error}; the node has no image")),
    }
    let own = module_in(&installation(), kernel);
    let module = if own.is_file() { Some(own) } else { build(cache, kernel, &top)? };
    match module {
        Some(module) => copy(&module, &module_in(&top, kernel))?,
        None => output::note(&format!(
            "module for {}: its sources are not installed; the node has no module",
            kernel.release
        )),
    }
    Ok(top)
}

/// Builds the module from the sources that `make install` leaves for DKMS.
fn build(cache: &Cache, kernel: &Kernel, top: &Path) -> Result<Option<PathBuf>> {
    let source = Path::new("/usr/src").join(concat!("tacet-", env!("CARGO_PKG_VERSION")));
    if !source.join("linux/Kbuild").is_file() {
        return Ok(None);
    }
    let build = ModuleBuild {
        source: &source.join("linux"),
        beside: &[(&source.join("abi"), "abi")],
        out: &top.join("build"),
        arguments: &[],
    };
    let made = build.run(cache, kernel).map_err(from_node)?;
    Ok(made.into_iter().next())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let parent = to.parent().unwrap_or(Path::new("/"));
    let done = fs::create_dir_all(parent).and_then(|()| fs::copy(from, to));
    done.map(drop).map_err(|io| Error::io(to.display(), &io, "check free space and permissions"))
}
