// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The programs that the host itself needs, with the packages that contain them.
//!
//! Owns this list. Must never install anything: `xtask setup` installs the packages named here.

use std::env;
use std::path::Path;

use super::tree::is_root;
use crate::error::{Error, Result};

/// A program or file that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The program or file.
    pub what: &'static str,
    /// The Debian or Ubuntu package that contains it.
    pub package: &'static str,
}

const PROGRAMS: [(&str, &str); 4] =
    [("mmdebstrap", "mmdebstrap"), ("unshare", "util-linux"), ("setpriv", "util-linux"), ("apt-get", "apt")];

/// Everything that the node library needs from the host and does not find.
pub fn missing() -> Vec<Missing> {
    let mut missing: Vec<Missing> = PROGRAMS
        .into_iter()
        .filter(|(program, _)| !on_path(program))
        .map(|(what, package)| Missing { what, package })
        .collect();
    if !Path::new("/usr/share/keyrings/debian-archive-keyring.gpg").exists()
        && !Path::new("/etc/debian_version").exists()
    {
        missing.push(Missing { what: "Debian's archive keys", package: "debian-archive-keyring" });
    }
    if !is_root() && !on_path("newuidmap") {
        missing.push(Missing { what: "newuidmap", package: "uidmap" });
    }
    missing
}

/// Fails if something is missing, and names everything at once.
pub(crate) fn check() -> Result<()> {
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    let what: Vec<_> = missing.iter().map(|m| m.what).collect();
    let mut packages: Vec<_> = missing.iter().map(|m| m.package).collect();
    packages.dedup();
    Err(Error::new(
        "host",
        format!("{} not found", what.join(", ")),
        format!("install {} (Debian names)", packages.join(" ")),
    ))
}

pub(crate) fn on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]).any(|d| d.join(program).is_file())
}
