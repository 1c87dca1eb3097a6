// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rungs, lowest first: the commands that enter and leave each, and how a program gets onto its CPUs.

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

/// The CPUs on which the program runs, the same for all rungs.
pub struct Place {
    pub cpus: String,
    /// The memory of the partition.
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

    /// The command that must succeed before a program runs on this rung. On Linux affinity confines the program.
    pub fn enter(self, place: &Place) -> Option<Vec<OsString>> {
        match self {
            Rung::Default => None,
            // balanced, because the program may bind no thread: all would stay on one CPU, and the rung would look slow
            Rung::Tuned => Some(words("tacet-tune", ["apply", "--cpus", &place.cpus, "--with", "balance"])),
            Rung::Hpl => Some(words("tacet-sched", ["start"])),
            Rung::CoKernel => Some(words("tacet", ["up", "--cpus", &place.cpus, "--memory", &place.memory])),
        }
    }

    /// The command that leaves the rung, even while a killed program is still exiting.
    pub fn leave(self) -> Option<Vec<OsString>> {
        match self {
            Rung::Default => None,
            Rung::Tuned => Some(words("tacet-tune", ["undo"])),
            Rung::Hpl => Some(words("tacet-sched", ["stop"])),
            Rung::CoKernel => Some(words("tacet", ["down", "--force"])),
        }
    }

    /// Does the rung count as entered if the kernel refused a part of it?
    pub fn may_be_partial(self) -> bool {
        self == Rung::Tuned
    }

    /// The command line that runs `command` on this rung.
    pub fn run(self, place: &Place, command: &[OsString]) -> Vec<OsString> {
        let bound = || words("tacet-tune", ["bound", &place.cpus, "--"]);
        let before = match self {
            Rung::Default | Rung::Tuned => bound(),
            Rung::Hpl => [bound(), words("tacet-sched", ["run", "--"])].concat(),
            Rung::CoKernel => words("tacet", ["run", "--"]),
        };
        [&before[..], command].concat()
    }

    /// Does Linux's trace see what happens on the CPUs of this rung?
    pub fn can_be_traced(self) -> bool {
        self != Rung::CoKernel
    }
}
