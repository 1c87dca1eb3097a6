// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keeps the kernel from unmapping pages to find out which CPU uses them.

use super::{About, Measure};
use crate::form::Form;
use crate::split::{Proposal, Split};

pub struct NumaBalancing;

impl Measure for NumaBalancing {
    fn about(&self) -> &'static About {
        &About {
            name: "numa-balancing",
            does: "stops the kernel from moving pages and tasks between memory nodes on its own",
            stops: "page fault, function call interrupts of tlb, migration",
            cost: "a program whose memory lies on a wrong node is not helped: bind it",
            applied: "kernel.numa_balancing = 0",
            source: "Documentation/admin-guide/sysctl/kernel.rst, numa_balancing",
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        proposal.want_file(split, "/proc/sys/kernel/numa_balancing", Form::Text, "0");
        proposal
    }
}
