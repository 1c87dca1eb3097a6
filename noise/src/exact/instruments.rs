// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What goes into the emulator and into the node: the plugin, the program of fixed quanta, the script that runs it.
//!
//! Owns their names as files. They were compiled with this library (build.rs); for x86-64 only, as the nodes are.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::Result;

#[cfg(target_arch = "x86_64")]
const FILES: [(&str, &[u8], u32); 3] = [
    (PLUGIN, include_bytes!(concat!(env!("OUT_DIR"), "/count.so")), 0o644),
    (PROGRAM, include_bytes!(concat!(env!("OUT_DIR"), "/tacet-quanta")), 0o755),
    (SCRIPT, include_bytes!("../../exact/measure.sh"), 0o755),
];
#[cfg(not(target_arch = "x86_64"))]
const FILES: [(&str, &[u8], u32); 0] = [];

/// For the emulator.
pub const PLUGIN: &str = "count.so";
/// For the measured CPU: `tacet-quanta QUANTA ROUNDS [CPU]`, two instructions a round.
pub const PROGRAM: &str = "tacet-quanta";
/// Runs the program beside a load.
pub const SCRIPT: &str = "measure.sh";

/// Where they were written.
#[derive(Debug, Clone)]
pub struct Instruments(PathBuf);

impl Instruments {
    /// Writes them; a file that is in use keeps its content.
    pub fn write(folder: &Path) -> Result<Instruments> {
        if FILES.is_empty() {
            return Err("exact: its nodes are x86-64, and so must be this machine".into());
        }
        for (name, content, mode) in FILES {
            let (path, new) = (folder.join(name), folder.join(format!("{name}.new")));
            let written = fs::write(&new, content)
                .and_then(|()| fs::set_permissions(&new, fs::Permissions::from_mode(mode)))
                .and_then(|()| fs::rename(&new, &path));
            written.map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(Instruments(folder.to_owned()))
    }

    pub fn plugin(&self) -> PathBuf {
        self.0.join(PLUGIN)
    }

    pub fn script(&self) -> PathBuf {
        self.0.join(SCRIPT)
    }
}
