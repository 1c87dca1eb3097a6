// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counts the page faults, after its start, of a program that computes in time steps and allocates in each. Called by
//! the bench `memory`, which also measures the cost of a step.
//!
//! The count is exact and has the faults of both kernels. Linux counts the faults that it resolves, also forwarded
//! ones; the program reads that count at its first and its last step. The faults that a core resolves are in the
//! profile; a run without steps gives the faults of the start, which are subtracted.

use serde::Deserialize;

use crate::Result;
use crate::guest::{Guest, Numbers};
use crate::metric::Metrics;
use crate::versus::{Partition, Side, on};

/// The steps of the computation.
pub const STEPS: usize = 20;
/// The edge of its cube.
pub const EDGE: &str = "30";
const CPU: &str = "2";

/// The output of `tacet run --profile-to`, as far as it is used here.
#[derive(Deserialize)]
struct Profile {
    costs: Vec<Cost>,
}

#[derive(Deserialize)]
struct Cost {
    on: String,
    count: u64,
}

/// Page faults of a whole run.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Faults {
    local: i64,
    forwarded: i64,
}

/// Adds the counts.
pub fn faults(guest: &Guest, partition: Partition, metrics: &mut Metrics) -> Result<()> {
    let linux = on(guest, Side::Linux, partition, || of(&native(guest)?, "faults"))?;
    let huge = on(guest, Side::HugePages, partition, || of(&native(guest)?, "faults"))?;
    let (before, all, seen) = on(guest, Side::Partition, partition, || {
        let (before, _) = profiled(guest, 0)?;
        let (all, said) = profiled(guest, STEPS)?;
        Ok((before, all, of(&said, "faults")?))
    })?;
    let how = format!(
        "page faults of `steps {STEPS} {EDGE}` on a core with memory of the partition: {seen} that Linux counts from the \
         first step to the last, and what the core resolves itself in the whole run ({}) beyond a run without steps \
         ({}); forwarded in the whole runs: {} and {}; baseline: Linux's count from the first step to the last, there",
        all.local, before.local, all.forwarded, before.forwarded
    );
    let count = seen + (all.local - before.local) as f64;
    metrics.add("page_faults_after_start", count, "faults", Some(linux), &format!("{how}, as it was booted"));
    metrics.add("page_faults_after_start_huge_pages", count, "faults", Some(huge), &format!("{how}, with large pages"));
    Ok(())
}

fn words(steps: usize) -> Vec<String> {
    vec![steps.to_string(), EDGE.to_owned()]
}

fn native(guest: &Guest) -> Result<Numbers> {
    guest.native("steps", &[words(STEPS), vec![CPU.to_owned()]].concat())
}

/// The page faults of a whole run, and the program's output.
fn profiled(guest: &Guest, steps: usize) -> Result<(Faults, Numbers)> {
    const FILE: &str = "/tmp/steps.profile";
    let said = guest.hosted(&["--memory", "own", "--profile-to", FILE], "steps", &words(steps))?;
    Ok((read(&guest.run(&["cat", FILE])?)?, said))
}

fn read(profile: &str) -> Result<Faults> {
    let profile: Profile = serde_json::from_str(profile)?;
    let of = |on: &str| profile.costs.iter().filter(|cost| cost.on == on).map(|cost| cost.count as i64).sum();
    Ok(Faults { local: of("local-fault"), forwarded: of("fault") })
}

fn of(said: &Numbers, number: &str) -> Result<f64> {
    said.get(number).copied().ok_or_else(|| format!("steps: no {number}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kernels_faults_count() {
        let profile = r#"{"threads":1,"user_ns":9,"costs":[{"on":"fault","name":"","count":3,"total_ns":1,"longest_ns":1},
            {"on":"local-fault","name":"","count":2,"total_ns":1,"longest_ns":1},
            {"on":"local-call","name":"brk","count":7,"total_ns":1,"longest_ns":1}]}"#;
        assert_eq!(read(profile).expect("a profile"), Faults { local: 2, forwarded: 3 });
        assert!(read("{}").is_err());
    }
}
