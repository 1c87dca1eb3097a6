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

/// One supported line of Debian cloud kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelLine {
    /// Debian 12's kernel.
    V6_1,
    /// Debian 13's kernel.
    V6_12,
    /// The newest kernel of Debian 13's backports.
    V7,
}

impl KernelLine {
    /// Every line, oldest first.
    pub const ALL: [KernelLine; 3] = [KernelLine::V6_1, KernelLine::V6_12, KernelLine::V7];

    /// The first characters of a release of this line.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            KernelLine::V6_1 => "6.1.",
            KernelLine::V6_12 => "6.12.",
            KernelLine::V7 => "7.",
        }
    }

    /// The compiler that its headers need.
    pub fn compiler(self) -> &'static str {
        match self {
            KernelLine::V6_1 => "gcc-12",
            KernelLine::V6_12 | KernelLine::V7 => "gcc-14",
        }
    }
}

impl fmt::Display for KernelLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KernelLine::V6_1 => "6.1",
            KernelLine::V6_12 => "6.12",
            KernelLine::V7 => "7",
        })
    }
}

impl FromStr for KernelLine {
    type Err = Error;

    /// Accepts the line (`6.1`, `6.12`, `7`, `7.x`) and any release of it.
    fn from_str(text: &str) -> Result<KernelLine> {
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
            Err(_) => Err(Error::new(format!("kernel {line}"), "not installed for nodes", "run `cargo xtask setup`")),
        }
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
        ] {
            assert_eq!(text.parse::<KernelLine>(), Ok(line), "{text}");
        }
        assert!("6.6".parse::<KernelLine>().is_err());
        assert!("6.10".parse::<KernelLine>().is_err());
    }

    #[test]
    fn printing_a_line_and_reading_it_back_agree() {
        for line in KernelLine::ALL {
            assert_eq!(line.to_string().parse(), Ok(line));
        }
    }
}
