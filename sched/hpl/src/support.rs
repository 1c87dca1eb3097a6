// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks whether this kernel can load schedulers at run time, and suggests the nearest alternative if not.

use std::fs;
use std::path::Path;

use crate::Result;

/// The files of sched_ext.
const DIRECTORY: &str = "/sys/kernel/sched_ext";
/// The name under which the kernel shows our scheduler.
pub const NAME: &str = "tacet_hpl";

/// Fails with one line if this kernel cannot run HPL.
pub fn check() -> Result<()> {
    let release = nix::sys::utsname::uname().map(|name| name.release().to_string_lossy().into_owned());
    let release = release.unwrap_or_default();
    if !Path::new(DIRECTORY).exists() {
        return Err(format!(
            "Linux {release} has no sched_ext, which HPL needs (tried on Linux 6.14 to 7.3; CONFIG_SCHED_CLASS_EXT); \
             the nearest alternative is the real-time class with bound ranks, \
             `chrt --fifo 1 mpiexec --bind-to core ...`"
        )
        .into());
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Err(format!("Linux {release}: no /sys/kernel/btf/vmlinux: HPL needs CONFIG_DEBUG_INFO_BTF").into());
    }
    Ok(())
}

/// Fails with one line without root.
pub fn check_root() -> Result<()> {
    if nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    Err("not permitted: loading and ending a scheduler needs root".into())
}

/// The name of the scheduler that the kernel has loaded; `None` for Linux's own.
pub fn loaded() -> Option<String> {
    let name = fs::read_to_string(Path::new(DIRECTORY).join("root/ops")).ok()?;
    let state = fs::read_to_string(Path::new(DIRECTORY).join("state")).unwrap_or_default();
    (state.trim() != "disabled").then(|| name.trim().to_owned())
}
