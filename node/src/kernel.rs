// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel lines that nodes boot, and the kernels found for them.
//!
//! A *line* is a promise of the project ("6.1 works"); a *kernel* is the release that provisioning last chose for it.
//! Used by all code that boots or builds; only provisioning installs kernels.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

use crate::cache::Cache;
use crate::error::{Error, Result};

/// The end of the debug kernel's release.
const DEBUG: &str = "-tacet-debug";

/// One supported line of Debian cloud kernels, or the kernel that checks itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelLine {
    /// Debian 12's kernel.
    V6_1,
    /// Debian 13's kernel.
    V6_12,
    /// The newest kernel of Debian 13's backports.
    V7,
    /// Debian's source of 6.12 with the kernel's own checkers (KASAN, UBSAN, lockdep, RCU): a tool, no promise.
    /// [`crate::provision::debug`] builds it.
    Debug,
}

impl KernelLine {
    /// Every supported line, oldest first.
    pub const ALL: [KernelLine; 3] = [KernelLine::V6_1, KernelLine::V6_12, KernelLine::V7];

    /// The first characters of a release of this line.
    fn prefix(self) -> &'static str {
        match self {
            KernelLine::V6_1 => "6.1.",
            KernelLine::V6_12 | KernelLine::Debug => "6.12.",
            KernelLine::V7 => "7.",
        }
    }

    /// The compiler that its headers need.
    pub fn compiler(self) -> &'static str {
        match self {
            KernelLine::V6_1 => "gcc-12",
            KernelLine::V6_12 | KernelLine::V7 | KernelLine::Debug => "gcc-14",
        }
    }

    /// Everything may take so many times as long as on a kernel that does not check itself.
    pub fn slowness(self) -> u32 {
        if self == KernelLine::Debug { 4 } else { 1 }
    }
}

impl fmt::Display for KernelLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KernelLine::V6_1 => "6.1",
            KernelLine::V6_12 => "6.12",
            KernelLine::V7 => "7",
            KernelLine::Debug => "6.12-debug",
        })
    }
}

impl FromStr for KernelLine {
    type Err = Error;

    /// Accepts the line (`6.1`, `6.12`, `7`, `7.x`, `6.12-debug`) and any release of it.
    fn from_str(text: &str) -> Result<KernelLine> {
        if text == KernelLine::Debug.to_string()
            || text.starts_with(KernelLine::Debug.prefix()) && text.ends_with(DEBUG)
        {
            return Ok(KernelLine::Debug);
        }
        let dotted = format!("{text}.");
        KernelLine::ALL
            .into_iter()
            .find(|line| dotted.starts_with(line.prefix()))
            .ok_or_else(|| Error::new(format!("kernel `{text}`"), "no such line", "use 6.1, 6.12 or 7"))
    }
}

/// A kernel ready to boot and to build modules for.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Its line.
    pub line: KernelLine,
    /// `uname -r` in the node, and the directory name under `/lib/modules` in the tree.
    pub release: String,
    directory: PathBuf,
}

impl Kernel {
    /// The kernel that provisioning chose for this line.
    pub fn installed(cache: &Cache, line: KernelLine) -> Result<Kernel> {
        let directory = cache.kernel(line);
        match fs::read_to_string(directory.join("release")) {
            Ok(release) => Ok(Kernel { line, release: release.trim().to_owned(), directory }),
            Err(_) => {
                let remedy = if line == KernelLine::Debug { "run `make hardening`" } else { "run `cargo xtask setup`" };
                Err(Error::new(format!("kernel {line}"), "not installed for nodes", remedy))
            }
        }
    }

    /// Where the kernel's headers are, if not in the nodes' tree.
    pub(crate) fn headers(&self) -> Option<PathBuf> {
        (self.line == KernelLine::Debug).then(|| self.directory.join("built/build"))
    }

    /// Modules that are not in the nodes' tree: a directory that a node has to see as `/lib/modules/<release>`.
    pub fn modules(&self) -> Option<PathBuf> {
        (self.line == KernelLine::Debug).then(|| self.directory.join("built/lib/modules").join(&self.release))
    }

    /// The compressed kernel image.
    pub fn image(&self) -> PathBuf {
        self.directory.join("vmlinuz")
    }

    /// The initramfs with `init.sh`, the agent and the drivers of this kernel.
    pub fn initramfs(&self) -> PathBuf {
        self.directory.join("initramfs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_apart() {
        for (text, line) in [
            ("6.1", KernelLine::V6_1),
            ("6.1.0-56-cloud-amd64", KernelLine::V6_1),
            ("6.12", KernelLine::V6_12),
            ("6.12.117+deb13-cloud-amd64", KernelLine::V6_12),
            ("7", KernelLine::V7),
            ("7.x", KernelLine::V7),
            ("7.3.4+deb13-cloud-amd64", KernelLine::V7),
            ("6.12-debug", KernelLine::Debug),
            ("6.12.118-tacet-debug", KernelLine::Debug),
        ] {
            assert_eq!(text.parse::<KernelLine>(), Ok(line), "{text}");
        }
        assert!("6.6".parse::<KernelLine>().is_err());
        assert!("6.10".parse::<KernelLine>().is_err());
        assert!("6.1-debug".parse::<KernelLine>().is_err());
    }

    #[test]
    fn printing_a_line_and_reading_it_back_agree() {
        for line in KernelLine::ALL.into_iter().chain([KernelLine::Debug]) {
            assert_eq!(line.to_string().parse(), Ok(line));
        }
    }
}
