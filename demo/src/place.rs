// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The two places: the same command runs on Linux and on the co-kernel, on the same two CPUs.

use std::fmt;

/// The kernel that runs CPUs 2 and 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Linux as it is installed.
    Linux,
    /// The co-kernel.
    Tacet,
}

impl Place {
    /// The words before a command that run it at this place.
    pub fn prefix(self) -> &'static str {
        match self {
            Place::Linux => "taskset -c 2-3",
            Place::Tacet => "tacet run --",
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Place::Linux => "Linux",
            Place::Tacet => "Tacet",
        })
    }
}
