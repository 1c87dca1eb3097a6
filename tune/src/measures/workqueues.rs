// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Workers of the kernel that are bound to no CPU leave the application's.

use super::{About, Measure, PARTITION};
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
        } else if split.claims.iter().all(|claim| claim.measures.contains_key(PARTITION)) {
            proposal.told("the partition does it on this kernel".to_owned());
        } else {
            proposal.leave(&split.clone().joined_by(PARTITION), MASK, Form::Mask);
        }
        proposal
    }
}

/// Whether the kernel keeps the workers from CPUs that are isolated.
fn moved_by_partitions(split: &Split) -> bool {
    split.read("/sys/devices/virtual/workqueue/cpumask_isolated").is_some()
}

/// For a partition, before it is made: the kernel then finds the mask as it would make it itself, and again when the
/// partition goes. To change it, it makes threads, which fails in a process that is being killed, with a warning and
/// without another attempt (`workqueue_unbound_exclude_cpumask`, Linux 6.12). The journal has the mask, whoever is killed.
pub fn before_a_partition(split: &Split, proposal: &mut Proposal) {
    if moved_by_partitions(split) {
        proposal.leave(&split.clone().joined_by("workqueues"), MASK, Form::Mask);
    }
}
