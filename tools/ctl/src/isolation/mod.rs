// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The measures that keep the programs of several users apart on this processor.
//!
//! Cores map the memory of all hosted programs, and the co-kernel has no copies of Linux's defences of its kernel mode.
//! So where the processor lets a program read what it cannot address, the partition hosts one user's programs at a
//! time. What a program leaves behind in the processor is cleared when another user's thread runs on the core.
//!
//! [`decide`] makes the decision, from Linux's own about each bug. Called by `up`, which tells the module, and by
//! `doctor`. Where Linux leaves a bug alone (`mitigations=off`), so does Tacet.

mod decide;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::Serialize;
use tacet_abi as abi;

use crate::{CpuSet, Machine};

pub use decide::decide;

/// Measures, as `enum tacet_measure` has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Measures {
    /// Programs of one user at a time; the partition's memory is cleared before those of the next.
    pub one_user: bool,
    /// Between users on a core: the branch predictors (IBPB).
    pub predictors: bool,
    /// The stack of predicted returns.
    pub returns: bool,
    /// The core's buffers (VERW).
    pub buffers: bool,
    /// The first-level data cache.
    pub l1d: bool,
    /// The last four between any two programs.
    pub each_program: bool,
}

impl Measures {
    pub(crate) fn bits(self) -> u32 {
        self.table().iter().filter(|(taken, _)| *taken).map(|(_, bit)| bit).sum()
    }

    pub(crate) fn from_bits(bits: u32) -> Measures {
        let has = |bit| bits & bit != 0;
        Measures {
            one_user: has(abi::TACET_MEASURE_ONE_USER),
            predictors: has(abi::TACET_MEASURE_PREDICTORS),
            returns: has(abi::TACET_MEASURE_RETURNS),
            buffers: has(abi::TACET_MEASURE_BUFFERS),
            l1d: has(abi::TACET_MEASURE_L1D),
            each_program: has(abi::TACET_MEASURE_EACH_PROGRAM),
        }
    }

    fn table(self) -> [(bool, u32); 6] {
        [
            (self.one_user, abi::TACET_MEASURE_ONE_USER),
            (self.predictors, abi::TACET_MEASURE_PREDICTORS),
            (self.returns, abi::TACET_MEASURE_RETURNS),
            (self.buffers, abi::TACET_MEASURE_BUFFERS),
            (self.l1d, abi::TACET_MEASURE_L1D),
            (self.each_program, abi::TACET_MEASURE_EACH_PROGRAM),
        ]
    }

    fn between(self) -> Vec<&'static str> {
        let names = [
            (self.predictors, "branch predictors"),
            (self.returns, "predicted returns"),
            (self.buffers, "buffers"),
            (self.l1d, "L1 data cache"),
        ];
        names.iter().filter(|(taken, _)| *taken).map(|(_, name)| *name).collect()
    }
}

/// "one user at a time; between users a core clears: buffers, L1 data cache"
impl fmt::Display for Measures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.one_user { "one user at a time" } else { "several users at a time" })?;
        let whom = if self.each_program { "programs" } else { "users" };
        match self.between().as_slice() {
            [] => f.write_str("; nothing to clear between users"),
            names => write!(f, "; between {whom} a core clears: {}", names.join(", ")),
        }
    }
}

/// Linux's decision about one bug: a file of `/sys/devices/system/cpu/vulnerabilities`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bug {
    pub name: String,
    pub decision: String,
}

/// What follows from Linux's decisions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Isolation {
    pub measures: Measures,
    /// Why one user at a time: the bugs, by their names in Linux.
    pub because: Vec<String>,
    /// The bugs by which hardware threads of one core can read each other.
    pub between_threads: Vec<String>,
}

const DIRECTORY: &str = "sys/devices/system/cpu/vulnerabilities";

impl Isolation {
    /// What this machine needs for a partition of `cpus`.
    pub fn find(machine: &Machine, cpus: &CpuSet) -> Isolation {
        let shares = cpus.iter().any(|cpu| machine.siblings(cpu).intersection(cpus).count() > 1);
        decide(bugs(machine).as_deref(), shares)
    }
}

/// None: Linux does not tell.
fn bugs(machine: &Machine) -> Option<Vec<Bug>> {
    let entries = std::fs::read_dir(machine.path(DIRECTORY)).ok()?;
    let mut bugs = Vec::new();
    for entry in entries {
        let name = entry.ok()?.file_name().into_string().ok()?;
        let decision = machine.text(&format!("{DIRECTORY}/{name}"))?;
        bugs.push(Bug { name, decision });
    }
    bugs.sort_by(|one, other| one.name.cmp(&other.name));
    (!bugs.is_empty()).then_some(bugs)
}
