// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rungs, from the lowest: by which commands each is entered and left, and how a program gets onto its CPUs there.

use std::ffi::OsString;

use clap::ValueEnum;
use serde::Serialize;

use super::process::words;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rung {
    /// Linux as it is
    Default,
    /// Linux with the usual countermeasures
    Tuned,
    /// Linux with HPL, the scheduling class
    Hpl,
    /// The co-kernel: a partition of these CPUs
    CoKernel,
}

/// Where the program runs, the same for all rungs.
pub struct Place {
    pub cpus: String,
    /// Of the co-kernel.
    pub memory: String,
}

impl Rung {
    pub const ALL: [Rung; 4] = [Rung::Default, Rung::Tuned, Rung::Hpl, Rung::CoKernel];

    pub fn name(self) -> &'static str {
        match self {
            Rung::Default => "default Linux",
            Rung::Tuned => "tuned Linux",
            Rung::Hpl => "HPL",
            Rung::CoKernel => "co-kernel",
        }
    }

    /// What must succeed before a program runs there. On Linux the program's CPUs are told by affinity.
    pub fn enter(self, place: &Place) -> Option<Vec<OsString>> {
        match self {
            Rung::Default => None,
            Rung::Tuned => Some(words("tacet-tune", ["apply", "--cpus", &place.cpus])),
            Rung::Hpl => Some(words("tacet-sched", ["start"])),
            Rung::CoKernel => Some(words("tacet", ["up", "--cpus", &place.cpus, "--memory", &place.memory])),
        }
    }

    /// Gives everything back, also while a program that was killed is still on its way out.
    pub fn leave(self) -> Option<Vec<OsString>> {
        match self {
            Rung::Default => None,
            Rung::Tuned => Some(words("tacet-tune", ["undo"])),
            Rung::Hpl => Some(words("tacet-sched", ["stop"])),
            Rung::CoKernel => Some(words("tacet", ["down", "--force"])),
        }
    }

    /// Whether it is entered although the kernel refused a part of it.
    pub fn may_be_partial(self) -> bool {
        self == Rung::Tuned
    }

    /// The command as it is run there.
    pub fn run(self, place: &Place, command: &[OsString]) -> Vec<OsString> {
        let bound = || words("tacet-tune", ["bound", &place.cpus, "--"]);
        let before = match self {
            Rung::Default | Rung::Tuned => bound(),
            Rung::Hpl => [bound(), words("tacet-sched", ["run", "--"])].concat(),
            Rung::CoKernel => words("tacet", ["run", "--"]),
        };
        [&before[..], command].concat()
    }

    /// Whether the kernel's trace sees what happens on its CPUs.
    pub fn can_be_traced(self) -> bool {
        self != Rung::CoKernel
    }
}
