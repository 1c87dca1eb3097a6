// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The releases of Slurm that clusters of nodes run. Each has a disk of its own over the same Debian tree.
//!
//! Used by all code that provisions or boots a cluster; `provision/cluster.rs` alone installs them.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// Slurm as a release of Debian has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SlurmRelease {
    /// 22.05, whose plugins cannot put a program before a task's own.
    Debian12,
    /// 24.11.
    #[default]
    Debian13,
}

impl SlurmRelease {
    /// Every release, oldest first.
    pub const ALL: [SlurmRelease; 2] = [SlurmRelease::Debian12, SlurmRelease::Debian13];

    /// The name of its disk and of the step that makes it. Nobody who has the default's has to make it again.
    pub(crate) fn layer(self) -> String {
        if self == SlurmRelease::default() { "cluster".to_owned() } else { format!("cluster-{self}") }
    }
}

impl fmt::Display for SlurmRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SlurmRelease::Debian12 => "22.05",
            SlurmRelease::Debian13 => "24.11",
        })
    }
}

impl FromStr for SlurmRelease {
    type Err = Error;

    /// Accepts the first two numbers and any version of them.
    fn from_str(text: &str) -> Result<SlurmRelease> {
        let dotted = format!("{text}.");
        SlurmRelease::ALL
            .into_iter()
            .find(|release| dotted.starts_with(&format!("{release}.")))
            .ok_or_else(|| Error::new(format!("Slurm `{text}`"), "no such release", "use 22.05 or 24.11"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_told_apart() {
        for release in SlurmRelease::ALL {
            assert_eq!(release.to_string().parse(), Ok(release));
        }
        assert_eq!("22.05.8".parse(), Ok(SlurmRelease::Debian12));
        assert_eq!("24.11.5-4+deb13u1".parse(), Ok(SlurmRelease::Debian13));
        for wrong in ["", "22", "22.0", "22.051", "23.11", "debian12"] {
            assert!(wrong.parse::<SlurmRelease>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_has_a_disk_of_its_own() {
        let [old, new] = SlurmRelease::ALL.map(SlurmRelease::layer);
        assert_ne!(old, new);
    }
}
