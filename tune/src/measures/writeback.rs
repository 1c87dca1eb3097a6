// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Moves the workqueues that have a mask of their own, writeback above all, away from the application's CPUs.

use super::{About, Measure};
use crate::form::Form;
use crate::split::{Proposal, Split};

pub struct Writeback;

const QUEUES: &str = "/sys/devices/virtual/workqueue";

impl Measure for Writeback {
    fn about(&self) -> &'static About {
        &About {
            name: "writeback",
            does: "keeps writeback, and other workers with a mask of their own, on the system's CPUs",
            stops: "kworker wb_workfn",
            cost: "dirty pages are written by the system's CPUs alone",
            applied: "/sys/devices/virtual/workqueue/NAME/cpumask",
            source: "Gerofi et al., SC '21, section 4.2; Documentation/core-api/workqueue.rst",
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        if split.list(QUEUES).is_empty() {
            proposal.missing(QUEUES);
        }
        for name in split.list(QUEUES) {
            let path = format!("{QUEUES}/{name}/cpumask");
            // workqueues bound to CPUs have no mask
            if split.node.exists(&path) {
                proposal.leave(split, path, Form::Mask);
            }
        }
        proposal
    }
}
