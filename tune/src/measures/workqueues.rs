// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Workers of the kernel that are bound to no CPU leave the application's.

use super::{About, Measure};
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
        proposal.leave(split, MASK, Form::Mask);
        proposal
    }
}
