// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rarely adds each CPU's memory statistics to the node's.

use super::{About, Measure};
use crate::form::Form;
use crate::split::{Proposal, Split};

pub struct Vmstat;

impl Measure for Vmstat {
    fn about(&self) -> &'static About {
        &About {
            name: "vmstat",
            does: "collects the memory statistics of each CPU once an hour instead of once a second",
            stops: "kworker vmstat_, timer delayed_work_timer_fn",
            cost: "/proc/vmstat and /proc/meminfo may be off by what a CPU holds back (some MiB on a large node), \
                   for up to an hour after undo too: the kernel reads the interval when the last one is over",
            applied: "vm.stat_interval = 3600",
            source: "Documentation/admin-guide/sysctl/vm.rst, stat_interval",
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        proposal.want_file(split, "/proc/sys/vm/stat_interval", Form::Text, "3600");
        proposal
    }
}
