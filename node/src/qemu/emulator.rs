// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finds the emulator that a description asks for, and its version.
//!
//! Owns nothing; provisioning owns the trees. `TACET_QEMU=/path/to/qemu-system-x86_64` replaces the standard one. The
//! static nodes (`tacet-static`) use it too, and take any emulator that is there.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::provision::{self, Foreign};
use crate::spec::Emulator;

/// An emulator: its program, the arguments that must come first, its version.
pub struct Qemu {
    foreign: Foreign,
    /// Major and minor.
    pub version: (u32, u32),
}

impl Qemu {
    /// The emulator for a description.
    pub(crate) fn find(cache: &Cache, which: Emulator) -> Result<Qemu> {
        let foreign = match (which, env::var_os("TACET_QEMU")) {
            (Emulator::Standard, Some(own)) => {
                Foreign { program: own.into(), leading: Vec::new(), modules: PathBuf::new() }
            }
            (Emulator::Standard, None) => provision::foreign_emulator(cache, false),
            (Emulator::Counting, _) => {
                provision::provide_counting(cache)?;
                provision::foreign_emulator(cache, true)
            }
        };
        Qemu::checked(foreign, "run `cargo xtask setup`")
    }

    /// The emulator that is there, without fetching one: `own`, else `$TACET_QEMU`, the one in the cache, the one on PATH.
    pub fn installed(own: Option<&Path>) -> Result<Qemu> {
        let plain = |program: PathBuf| Foreign { program, leading: Vec::new(), modules: PathBuf::new() };
        if let Some(named) = own.map(Path::to_owned).or_else(|| env::var_os("TACET_QEMU").map(PathBuf::from)) {
            return Qemu::checked(plain(named), "name a qemu-system-x86_64");
        }
        let cached = Cache::open().ok().map(|cache| provision::foreign_emulator(&cache, false));
        let foreign = cached.filter(|foreign| foreign.program.exists());
        let foreign = foreign.unwrap_or_else(|| plain(PathBuf::from("qemu-system-x86_64")));
        Qemu::checked(foreign, "install qemu-system-x86, or name the emulator with --qemu")
    }

    fn checked(foreign: Foreign, remedy: &str) -> Result<Qemu> {
        let mut qemu = Qemu { foreign, version: (0, 0) };
        let object = qemu.foreign.program.display().to_string();
        let failed = |cause: String| Error::new(&object, cause, remedy);
        let output = qemu.command().arg("--version").output();
        let output = output.map_err(|e| failed(format!("cannot run the emulator: {e}")))?;
        if !output.status.success() {
            // what the loader or `setpriv` said
            return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let first = text.lines().next().unwrap_or_default();
        qemu.version = version(&text).ok_or_else(|| failed(format!("no QEMU version in `{first}`")))?;
        Ok(qemu)
    }

    /// Its file.
    pub fn program(&self) -> &Path {
        &self.foreign.program
    }

    /// The emulator as a command.
    pub fn command(&self) -> Command {
        let mut command = Command::new("setpriv");
        // if a test is killed, its nodes are killed too
        command.args(["--pdeathsig", "KILL", "--"]).arg(&self.foreign.program).args(&self.foreign.leading);
        if self.foreign.modules.is_dir() {
            command.env("QEMU_MODULE_DIR", &self.foreign.modules);
        }
        command
    }
}

fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split_once("version ")?.1.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_versions() {
        assert_eq!(version("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)"), Some((7, 2)));
        assert_eq!(version("QEMU emulator version 11.1.3"), Some((11, 1)));
        assert_eq!(version("something else"), None);
    }
}
