// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks whether this machine can run a partition, and reports in plain words.
//!
//! Called by `tacet doctor`. Each file owns the checks of one subject. A check must not change anything. It reports a
//! problem only if `tacet up` cannot work until the problem is removed; a doubt is a warning.

mod access;
mod config;
mod devices;
mod isolation;
mod kernel;
mod memory;
mod module;
mod processor;
pub mod slurm;
#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::Machine;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Ok,
    Warning,
    Problem,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The subject of the check; this name is stable.
    pub name: &'static str,
    pub verdict: Verdict,
    pub finding: String,
    /// What to change; empty if nothing.
    pub remedy: String,
}

impl Check {
    fn ok(name: &'static str, finding: impl Into<String>) -> Check {
        Check { name, verdict: Verdict::Ok, finding: finding.into(), remedy: String::new() }
    }

    fn warning(name: &'static str, finding: impl Into<String>, remedy: impl Into<String>) -> Check {
        Check { name, verdict: Verdict::Warning, finding: finding.into(), remedy: remedy.into() }
    }

    fn problem(name: &'static str, finding: impl Into<String>, remedy: impl Into<String>) -> Check {
        Check { name, verdict: Verdict::Problem, finding: finding.into(), remedy: remedy.into() }
    }
}

/// All checks, in the order in which a person would solve problems.
pub fn examine(machine: &Machine) -> Vec<Check> {
    [
        processor::checks(machine),
        isolation::checks(machine),
        kernel::checks(machine),
        module::checks(machine),
        memory::checks(machine),
        access::checks(machine),
        devices::checks(machine),
    ]
    .concat()
}

pub fn can_run(checks: &[Check]) -> bool {
    checks.iter().all(|check| check.verdict != Verdict::Problem)
}
