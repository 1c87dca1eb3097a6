// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lets Linux spread the threads of a partition over its CPUs. It changes no object itself: `partition.rs` asks whether
//! a claim wants it, and makes another kind of partition then.

use super::{About, Measure, PARTITION};
use crate::claim::Claim;
use crate::split::{Proposal, Split};

pub struct Balance;

const NAME: &str = "balance";

impl Measure for Balance {
    fn about(&self) -> &'static About {
        &About {
            name: NAME,
            does: "lets Linux spread threads that nobody binds over the CPUs of the partition",
            stops: "two threads on one CPU while another one idles",
            cost: "the scheduler looks for work on the application's CPUs (softirq SCHED, migration)",
            applied: "cpuset.cpus.partition = root in place of isolated",
            checked: "the kernel shows `root`, without `invalid`",
            kernels: "as partition, which it needs",
            source: "Documentation/admin-guide/cgroup-v2.rst, cpuset.cpus.partition",
            usual: false,
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        for claim in split.claims.iter().filter(|claim| !claim.measures.contains_key(PARTITION)) {
            proposal.told(format!("the CPUs of {} are not a partition: Linux balances them anyway", claim.owner));
        }
        proposal
    }
}

/// The kind of this claim's partition.
pub fn kind(claim: &Claim) -> &'static str {
    if claim.measures.contains_key(NAME) { "root" } else { "isolated" }
}

/// Has the claim a partition whose CPUs the kernel counts as isolated?
pub fn isolates(claim: &Claim) -> bool {
    claim.measures.contains_key(PARTITION) && kind(claim) == "isolated"
}
