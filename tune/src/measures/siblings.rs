// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Leaves one hardware thread online in each of the application's cores.

use super::{About, Measure};
use crate::cpus::Cpus;
use crate::form::Form;
use crate::split::{Proposal, Split};
use crate::topology;

pub struct Siblings;

impl Measure for Siblings {
    fn about(&self) -> &'static About {
        &About {
            name: "siblings",
            does: "takes all but the first hardware thread of each application core offline",
            stops: "slower work beside a busy sibling (no thief is visible)",
            cost: "programs that gain from simultaneous multithreading lose it; the scheduler's domains are built anew",
            applied: "/sys/devices/system/cpu/cpuN/online = 0, as the last change, when nothing is left on that CPU",
            kernels: "where cores have several threads and CPUs can be taken offline",
            source: "Gioiosa et al., CLUSTER '10, on siblings of the POWER6; Documentation/core-api/cpu_hotplug.rst",
            usual: false,
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        // an offline CPU does not show its siblings
        let taken = split.state.offline();
        let mut seen = Cpus::default();
        for cpu in split.application.iter() {
            if seen.contains(cpu) || taken.contains(cpu) {
                proposal.want_file(split, format!("/sys/devices/system/cpu/cpu{cpu}/online"), Form::Text, "0");
            }
            seen = seen.union(&topology::siblings(split.node, cpu));
        }
        proposal
    }
}
