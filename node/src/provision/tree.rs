// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The root tree: one Debian tree, made by mmdebstrap, in which nodes boot and modules are built.
//!
//! Owns the list of packages, the tree in the cache, and the command to run a program in it. Needs root or user
//! namespaces. Must run programs of the tree only in a mount namespace of their own.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::step::Step;
use crate::cache::Cache;
use crate::error::{OnPath, Result};

/// The Debian mirror; `TACET_DEBIAN_MIRROR` overrides it.
const MIRROR: &str = "http://deb.debian.org";

/// The tree's release, and the releases that the other kernels come from.
const SUITES: [(&str, &str); 6] = [
    ("debian", "trixie"),
    ("debian", "trixie-updates"),
    ("debian-security", "trixie-security"),
    ("debian", "trixie-backports"),
    ("debian", "bookworm"),
    ("debian-security", "bookworm-security"),
];

/// The packages for programs, tests and benches in a node, and for building modules and images.
const PACKAGES: [&str; 43] = [
    // building modules, the agent, the images
    "binutils",
    "cpio",
    "e2fsprogs",
    "gcc",
    "gcc-12",
    "gcc-14",
    "kmod",
    "libc6-dev",
    "libelf1t64",
    "make",
    "xz-utils",
    // serving shares from the host
    "virtiofsd",
    // programs that nodes run
    "bash",
    "busybox-static",
    "coreutils",
    "file",
    "gdb",
    "iproute2",
    "hpcc",
    "libmpich-dev",
    "mpich",
    "numactl",
    "procps",
    "psmisc",
    "strace",
    "stress-ng",
    "time",
    "util-linux",
    "libpython3.13-testsuite",
    "python3",
    "python3-numpy",
    // allocators, runtimes and applications that the tests host
    "libjemalloc2",
    "libtcmalloc-minimal4t64",
    "libmimalloc3",
    "libomp5-19",
    "libopenblas0-pthread",
    "openjdk-21-jdk-headless",
    "fzf",
    "lammps",
    "fio",
    "ca-certificates",
    "less",
    "bsdextrautils",
];

/// Debian's `hpcc` depends on Open MPI. `mpicc` and `mpiexec` must remain those of MPICH, whose headers the nodes have.
const CHOOSE_MPI: &str = "chroot \"$1\" update-alternatives --set mpi /usr/bin/mpicc.mpich && \
                          chroot \"$1\" update-alternatives --set mpirun /usr/bin/mpirun.mpich";

/// Java's packages install alternatives for manual pages; the tree has no manual pages, so it needs this directory.
const PLACE_FOR_PAGES: &str = "mkdir -p \"$1/usr/share/man/man1\"";

/// The sources and packages of the tree, as its stamp records them.
pub(crate) fn made_from() -> String {
    format!("{}\n{}\n{}\n{CHOOSE_MPI}", sources().join("\n"), PACKAGES.join(" "), include_str!("kernels.sh"))
}

/// Makes the tree.
pub(crate) fn build(cache: &Cache) -> Result<()> {
    let step = Step::new(cache, "tree", made_from());
    step.unless_done(|step| {
        let (tree, hook) = (cache.tree(), cache.stamp("kernels.sh"));
        remove(cache, &tree)?;
        fs::create_dir_all(hook.parent().unwrap_or(&hook)).on(&hook)?;
        fs::write(&hook, include_str!("kernels.sh")).on(&hook)?;
        let install = format!("copy-in {} /tmp", hook.display());
        step.run(
            "making the nodes' Debian tree (2.5 GiB, some minutes)",
            mmdebstrap("apt", &PACKAGES)
                .args([
                    &format!("--essential-hook={PLACE_FOR_PAGES}"),
                    &format!("--customize-hook={install}"),
                    "--customize-hook=chroot \"$1\" sh /tmp/kernels.sh",
                    "--customize-hook=rm \"$1/tmp/kernels.sh\"",
                    &format!("--customize-hook={CHOOSE_MPI}"),
                    "trixie",
                ])
                .arg(&tree)
                .args(sources()),
        )
    })
}

/// A mmdebstrap command for a set of packages; the caller adds suite, target and sources.
pub(crate) fn mmdebstrap(variant: &str, packages: &[&str]) -> Command {
    let mut command = Command::new("mmdebstrap");
    command.arg(format!("--variant={variant}")).arg(format!("--include={}", packages.join(",")));
    command.arg(if is_root() { "--mode=root" } else { "--mode=unshare" });
    command.arg("--aptopt=APT::Install-Recommends \"false\"");
    command.arg("--dpkgopt=force-unsafe-io");
    for directory in ["doc", "info", "locale", "man"] {
        command.arg(format!("--dpkgopt=path-exclude=/usr/share/{directory}/*"));
    }
    command
}

/// A program of the tree, in a mount namespace of its own, with host directories visible as `/mnt/<name>`.
pub(crate) fn inside<S: AsRef<OsStr>>(cache: &Cache, shared: &[(&Path, &str)], program: &[S]) -> Command {
    inside_of(&cache.tree(), shared, program)
}

/// The same, of another tree.
pub(crate) fn inside_of<S: AsRef<OsStr>>(tree: &Path, shared: &[(&Path, &str)], program: &[S]) -> Command {
    const ENTER: &str = r#"
        set -e
        tree=$1; shift
        mount -t proc proc "$tree/proc" 2>/dev/null || mount --rbind /proc "$tree/proc"
        mount --rbind /dev "$tree/dev"
        mount -t tmpfs shared "$tree/mnt"
        while [ "$1" != -- ]; do
            mkdir -p "$tree/mnt/$2"
            mount --bind "$1" "$tree/mnt/$2"
            shift 2
        done
        shift
        exec chroot "$tree" env PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root "$@""#;
    let mut command = privileged("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", ENTER, "sh"]).arg(tree);
    for (from, name) in shared {
        command.arg(from).arg(name);
    }
    command.arg("--").args(program);
    command
}

/// A command that may mount and that sees the owners of the tree's files: unchanged for root, else in a user namespace.
pub(crate) fn privileged(program: &str) -> Command {
    if is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("mmdebstrap");
    command.arg("--unshare-helper").arg(program);
    command
}

pub(crate) fn remove(cache: &Cache, tree: &Path) -> Result<()> {
    if !tree.exists() {
        return Ok(());
    }
    let step = Step::new(cache, "remove", String::new());
    step.run("removing the old tree", privileged("rm").args(["-rf", "--one-file-system"]).arg(tree))
}

/// The sources of the nodes' tree.
pub(crate) fn sources() -> Vec<String> {
    SUITES.iter().map(|(archive, suite)| source(archive, suite)).collect()
}

/// A line of sources.list.
pub(crate) fn source(archive: &str, suite: &str) -> String {
    let mirror = std::env::var("TACET_DEBIAN_MIRROR").unwrap_or_else(|_| MIRROR.to_owned());
    format!("deb {mirror}/{archive} {suite} main")
}

pub(crate) fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// The dynamic loader and library path with which the host runs a program of a tree, independent of the host's
/// libraries.
pub(crate) fn foreign(tree: &Path, program: &str) -> (PathBuf, Vec<String>) {
    // in Debian 12 a tree that was only extracted has not merged /usr
    let libraries = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"].map(|d| tree.join(d));
    let loaders = libraries.each_ref().map(|d| d.join("ld-linux-x86-64.so.2"));
    let loader = loaders.iter().find(|loader| loader.exists()).unwrap_or(&loaders[0]).clone();
    let path = libraries.map(|d| d.display().to_string()).join(":");
    (loader, vec!["--library-path".to_owned(), path, tree.join(program).display().to_string()])
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::{env, fs};

    /// Debian's archive has the headers of a release before its image: such a release is not taken.
    #[test]
    fn the_newest_release_with_an_image_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let apt_cache = folder.path().join("apt-cache");
        let archive = "#!/bin/sh\n\
            case \"$1 $2\" in\n\
            pkgnames*) for r in 6.1.0-9 6.1.0-57 6.1.0-56 7.3.4+deb14; do echo linux-headers-$r-cloud-amd64; done ;;\n\
            'show linux-image-6.1.0-9-cloud-amd64' | 'show linux-image-6.1.0-56-cloud-amd64' | \
            'show linux-modules-7.3.4+deb14-cloud-amd64' | 'show linux-binary-7.3.4+deb14-cloud-amd64') echo Package: $2 ;;\n\
            'show linux-image-6.1.0-57-cloud-amd64') ;;\n\
            *) exit 100 ;;\n\
            esac\n";
        fs::write(&apt_cache, archive).unwrap();
        fs::set_permissions(&apt_cache, fs::Permissions::from_mode(0o755)).unwrap();
        let script = include_str!("kernels.sh");
        let functions = &script[script.find("releases() {").unwrap()..script.find("for line in").unwrap()];
        let run = format!("{functions}\nnewest '6\\.1\\.0-'\nnewest '7\\.'\nnewest '6\\.12\\.'\n");
        let path = format!("{}:{}", folder.path().display(), env::var("PATH").unwrap());
        let said = std::process::Command::new("sh").args(["-c", &run]).env("PATH", path).output().unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        assert_eq!(said, "6.1.0-56-cloud-amd64\n7.3.4+deb14-cloud-amd64\n");
    }
}
