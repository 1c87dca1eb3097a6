// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Host directories inside a node: a virtiofsd for each live share, a disk for each copy.
//!
//! Owns those processes and disks; `node.rs` mounts them inside. virtiofsd comes from the tree, so the host needs none.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::unistd::{getegid, geteuid};

use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::provision;
use crate::qemu::arguments::Wire;
use crate::qemu::process::Process;
use crate::spec::{Share, ShareKind};

/// The limit for a copied directory; the disk is sparse.
const COPY_DISK: &str = "8G";

/// Prepares one share. Its process, if it has one, must outlive the node.
pub(crate) fn prepare(cache: &Cache, share: &Share, index: usize, run: &Path) -> Result<(Wire, Option<Process>)> {
    if !share.path.is_dir() {
        return Err(Error::new(format!("share {}", share.path.display()), "not a directory", "create it first"));
    }
    match share.kind {
        ShareKind::Live => {
            let socket = run.join(format!("share{index}"));
            let process = serve(cache, share, &socket, &run.join(format!("share{index}.log")))?;
            Ok((Wire::Socket(socket), Some(process)))
        }
        ShareKind::Copy => {
            let disk = run.join(format!("share{index}.ext4"));
            copy(cache, share, index, run)?;
            Ok((Wire::Disk(disk), None))
        }
    }
}

fn serve(cache: &Cache, share: &Share, socket: &Path, log: &Path) -> Result<Process> {
    let (loader, arguments) = provision::foreign(&cache.tree(), "usr/libexec/virtiofsd");
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(loader).args(arguments);
    command.arg(format!("--socket-path={}", socket.display()));
    command.arg(format!("--shared-dir={}", share.path.display()));
    // programs in the node act as this user
    command.args(["--sandbox=none", "--cache=auto", "--log-level=error"]);
    if !provision::is_root() {
        command.arg(format!("--translate-uid=squash-guest:0:{}:4294967295", geteuid()));
        command.arg(format!("--translate-gid=squash-guest:0:{}:4294967295", getegid()));
    }
    let process = Process::start(command, log)?;
    let until = Instant::now() + Duration::from_secs(20);
    while !socket.exists() {
        if process.status().is_some() || Instant::now() > until {
            let cause = std::fs::read_to_string(log).unwrap_or_default();
            return Err(Error::new(
                format!("share {}", share.path.display()),
                format!("virtiofsd: {cause}"),
                "use a copy",
            ));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(process)
}

fn copy(cache: &Cache, share: &Share, index: usize, run: &Path) -> Result<()> {
    let disk = format!("/mnt/run/share{index}.ext4");
    let make = ["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-d", "/mnt/share", &disk, COPY_DISK];
    let output = provision::inside(cache, &[(&share.path, "share"), (run, "run")], &make).output();
    let cause = match output {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(e) => e.to_string(),
    };
    Err(Error::new(format!("copy of {}", share.path.display()), cause, "share a smaller directory"))
}
