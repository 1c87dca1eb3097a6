// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether this machine can run a partition, in plain words.
//!
//! Called by `tacet doctor`. Each file owns the checks of one subject. A check
//! must never change anything, and must never call a doubt a problem: a
//! problem means that `tacet up` cannot work until it is removed.

mod access;
mod config;
mod kernel;
mod memory;
mod module;
mod processor;
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
    /// What was looked at: a name that stays.
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

/// All checks, in the order in which a person would want to solve them.
pub fn examine(machine: &Machine) -> Vec<Check> {
    [
        processor::checks(machine),
        kernel::checks(machine),
        module::checks(machine),
        memory::checks(machine),
        access::checks(machine),
    ]
    .concat()
}

pub fn can_run(checks: &[Check]) -> bool {
    checks.iter().all(|check| check.verdict != Verdict::Problem)
}
