// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The files for the emulator and for the node: the plugin, the program of fixed quanta, the script that runs it.
//!
//! Owns the names of these files. build.rs compiles them with this library; for x86-64 only, as the nodes are.

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

/// The emulator's plugin.
pub const PLUGIN: &str = "count.so";
/// Runs on the measured CPU: `tacet-quanta QUANTA ROUNDS [CPU]`, two instructions a round.
pub const PROGRAM: &str = "tacet-quanta";
/// Runs the program together with a load.
pub const SCRIPT: &str = "measure.sh";

/// The folder that contains the files.
#[derive(Debug, Clone)]
pub struct Instruments(PathBuf);

impl Instruments {
    /// Writes the files. A process that uses an older version keeps it.
    pub fn write(folder: &Path) -> Result<Instruments> {
        if FILES.is_empty() {
            return Err("exact: works on x86-64 only, as the emulated nodes are x86-64".into());
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
