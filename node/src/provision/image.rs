// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Builds QEMU's files from the tree: the agent, an initramfs for each kernel, the root disk.
//!
//! Owns those files in the cache. Each is built by programs of the tree, so the host needs none of them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::step::Step;
use super::tree;
use crate::cache::Cache;
use crate::error::{Error, OnPath, Result};
use crate::guest::{AGENT, INIT, INITRAMFS, generation};
use crate::kernel::KernelLine;

/// The disk is sparse: it takes only the tree's size.
const ROOT_DISK: &str = "8G";

/// Builds what is stale.
pub(crate) fn build(cache: &Cache) -> Result<()> {
    let made = cache.tree().join("usr/share/tacet/made");
    let tree = fs::read_to_string(&made).on(&made)?;
    agent(cache)?;
    for (line, release) in releases(cache)? {
        initramfs(cache, line, &release, &format!("{release}\n{tree}"), None)?;
    }
    root_disk(cache, &tree)
}

/// The release of a line that is in the tree.
pub(crate) fn release_of(cache: &Cache, line: KernelLine) -> Result<String> {
    let found = releases(cache)?.into_iter().find(|(other, _)| *other == line);
    let missing = || Error::new(format!("kernel {line}"), "not in the nodes' tree", "run `cargo xtask setup`");
    found.map(|(_, release)| release).ok_or_else(missing)
}

fn agent(cache: &Cache) -> Result<()> {
    let name = format!("agent-{}", generation());
    Step::new(cache, &name, AGENT).unless_done(|step| {
        let out = fresh(&cache.stamp("build-agent"))?;
        fs::write(out.join("agent.c"), AGENT).on(&out)?;
        let compile = ["gcc-14", "-static", "-O2", "-Wall", "-Werror", "-o", "/mnt/out/agent", "/mnt/out/agent.c"];
        step.run("building the nodes' agent", &mut tree::inside(cache, &[(&out, "out")], &compile))?;
        fs::rename(out.join("agent"), cache.agent()).on(&cache.agent())
    })
}

/// The files that QEMU gets of a kernel that is in the tree, or below `root` as in a tree.
pub(crate) fn initramfs(
    cache: &Cache,
    line: KernelLine,
    release: &str,
    made_from: &str,
    root: Option<&Path>,
) -> Result<()> {
    let name = format!("kernel-{line}-{}", generation());
    Step::new(cache, &name, made_from).unless_done(|step| {
        let directory = fresh(&cache.kernel(line))?;
        fs::write(directory.join("init.sh"), INIT).on(&directory)?;
        fs::write(directory.join("initramfs.sh"), INITRAMFS).on(&directory)?;
        fs::copy(cache.agent(), directory.join("agent")).on(&directory)?;
        let mut build = vec!["sh", "/mnt/out/initramfs.sh", release, "/mnt/out"];
        let mut shared = vec![(directory.as_path(), "out")];
        if let Some(root) = root {
            symlink(root, directory.join("built")).on(&directory)?;
            build.push("/mnt/kernel");
            shared.push((root, "kernel"));
        }
        step.run(&format!("preparing kernel {release}"), &mut tree::inside(cache, &shared, &build))?;
        fs::write(directory.join("release"), release).on(&directory)
    })
}

fn root_disk(cache: &Cache, tree: &str) -> Result<()> {
    Step::new(cache, "root-disk", tree).unless_done(|step| {
        let out = fresh(&cache.stamp("build-disk"))?;
        let options =
            ["-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-d", "/mnt/tree", "/mnt/out/root.ext4", ROOT_DISK];
        let make = [&["mke2fs"][..], &options].concat();
        let shared: [(&Path, &str); 2] = [(&cache.tree(), "tree"), (&out, "out")];
        step.run("making the nodes' root disk", &mut tree::inside(cache, &shared, &make))?;
        fs::rename(out.join("root.ext4"), cache.root_image()).on(&cache.root_image())
    })
}

/// The `line release` pairs that kernels.sh left in the tree.
fn releases(cache: &Cache) -> Result<Vec<(KernelLine, String)>> {
    let path = cache.tree().join("usr/share/tacet/kernels");
    let text = fs::read_to_string(&path).on(&path)?;
    text.lines()
        .map(|pair| match pair.split_once(' ') {
            Some((line, release)) => Ok((line.parse()?, release.to_owned())),
            None => Err(Error::new(path.display(), format!("bad line `{pair}`"), "run `cargo xtask setup --refresh`")),
        })
        .collect()
}

fn fresh(directory: &Path) -> Result<std::path::PathBuf> {
    if directory.exists() {
        fs::remove_dir_all(directory).on(directory)?;
    }
    fs::create_dir_all(directory).on(directory)?;
    Ok(directory.to_owned())
}
