// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Moves the kernel's unbound workers away from the application's CPUs.

use super::{About, Measure, PARTITION, balance};
use crate::form::Form;
use crate::split::{Proposal, Split};

pub struct Workqueues;

const MASK: &str = "/sys/devices/virtual/workqueue/cpumask";

impl Measure for Workqueues {
    fn about(&self) -> &'static About {
        &About {
            name: "workqueues",
            does: "keeps unbound workers of the kernel on the system's CPUs",
            stops: "kworker (unbound)",
            cost: "the system's CPUs do the kernel's deferred work for all",
            applied: "/sys/devices/virtual/workqueue/cpumask",
            kernels: "all; from 6.7 an isolated partition does the same",
            source: "Gerofi et al., SC '21, Table 2 (unbound kworker tasks: 266 us against 50 us); \
                     Documentation/core-api/workqueue.rst",
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        if !moved_by_partitions(split) {
            proposal.leave(split, MASK, Form::Mask);
        } else if split.claims.iter().all(|claim| balance::isolates(claim)) {
            proposal.told("the partition does it on this kernel".to_owned());
        } else {
            proposal.leave(&split.clone().joined_by(PARTITION), MASK, Form::Mask);
        }
        proposal
    }
}

/// Does the kernel keep the workers away from isolated CPUs?
fn moved_by_partitions(split: &Split) -> bool {
    split.read("/sys/devices/virtual/workqueue/cpumask_isolated").is_some()
}

/// Sets the mask before a partition is created, to the value that the kernel itself would set, now and when the
/// partition ends. If the kernel changes the mask, it creates threads. In a process that is being killed this fails
/// with a warning, and the kernel does not try again (`workqueue_unbound_exclude_cpumask`, Linux 6.12). With this
/// change the journal has the mask, so it is restored even then.
pub fn before_a_partition(split: &Split, proposal: &mut Proposal) {
    if moved_by_partitions(split) && split.claims.iter().any(|claim| balance::isolates(claim)) {
        proposal.leave(&split.clone().joined_by("workqueues"), MASK, Form::Mask);
    }
}
