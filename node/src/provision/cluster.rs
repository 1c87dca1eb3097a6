// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the nodes of a cluster have and other nodes do not: Slurm, munge, sshd, the headers of Slurm and of Open MPI.
//!
//! Owns the list of packages, and for each release of Slurm a disk with what their installation changes in the tree: nodes of
//! a cluster mount it over their root disk. So a person downloads only what his clusters run, and the tree stays as it is.
//! The tree's sources have all releases; what Slurm needs besides itself is the tree's own release's.

use std::fs;
use std::path::Path;

use super::step::Step;
use super::tree;
use crate::cache::Cache;
use crate::error::{OnPath, Result};
use crate::slurm::SlurmRelease;

/// The packages; apt adds what they need.
const PACKAGES: [&str; 9] = [
    "munge",
    "slurmctld",
    "slurmd",
    "slurm-client",
    // the site's headers, against which the plugin for Slurm is built
    "libslurm-dev",
    "libopenmpi-dev",
    // lstopo, which describes a node to slurmd
    "hwloc-nox",
    "openssh-server",
    "iputils-ping",
];

const INSTALL: &str = include_str!("cluster.sh");
/// The disk is sparse.
const DISK: &str = "2G";

/// Lays a directory over the tree, runs a program in both, and makes a disk of what it left in the directory.
const LAYER: &str = r#"
    set -e
    tree=$1 out=$2 size=$3; shift 3
    mkdir -p "$out/changes" "$out/work" "$out/root"
    mount -t overlay -o "lowerdir=$tree,upperdir=$out/changes,workdir=$out/work" tree "$out/root"
    mount -t proc proc "$out/root/proc" 2>/dev/null || mount --rbind /proc "$out/root/proc"
    mount --rbind /dev "$out/root/dev"
    mount -t tmpfs tmp "$out/root/tmp"
    cp "$out/cluster.sh" "$out/root/tmp"
    inside() { chroot "$out/root" env PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root "$@"; }
    inside sh /tmp/cluster.sh "$@"
    mount -t tmpfs shared "$out/root/mnt"
    mkdir "$out/root/mnt/changes" "$out/root/mnt/out"
    mount --bind "$out/changes" "$out/root/mnt/changes"
    mount --bind "$out" "$out/root/mnt/out"
    inside mke2fs -q -t ext4 -O ^has_journal -m 0 -d /mnt/changes /mnt/out/disk.ext4 "$size""#;

/// Makes the disk, after [`super::ensure`]; quick if it is there.
pub fn ensure_cluster(cache: &Cache, slurm: SlurmRelease) -> Result<()> {
    let _lock = cache.lock()?;
    let made = cache.tree().join("usr/share/tacet/made");
    let tree = fs::read_to_string(&made).on(&made)?;
    let from = format!("{tree}\n{slurm}\n{}\n{INSTALL}\n{LAYER}", PACKAGES.join(" "));
    Step::new(cache, &slurm.layer(), from).unless_done(|step| {
        let out = cache.stamp("build-cluster");
        tree::remove(cache, &out)?;
        fs::create_dir_all(&out).on(&out)?;
        fs::write(out.join("cluster.sh"), INSTALL).on(&out)?;
        let said = format!("installing Slurm {slurm} for the nodes of clusters (half a minute)");
        step.run(&said, &mut layer(cache, &out, slurm))?;
        let disk = cache.cluster_disk(slurm);
        fs::rename(out.join("disk.ext4"), &disk).on(&disk)?;
        tree::remove(cache, &out)
    })
}

fn layer(cache: &Cache, out: &Path, slurm: SlurmRelease) -> std::process::Command {
    let mut command = tree::privileged("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", LAYER, "sh"]);
    command.arg(cache.tree()).arg(out).arg(DISK).arg(slurm.to_string()).args(PACKAGES);
    command
}
