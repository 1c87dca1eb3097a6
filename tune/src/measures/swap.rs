// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Asks the kernel not to use swap, if there is any.

use super::{About, Measure};
use crate::form::Form;
use crate::split::{Proposal, Split};

pub struct Swap;

impl Measure for Swap {
    fn about(&self) -> &'static About {
        &About {
            name: "swap",
            does: "lets the kernel swap only to avoid running out of memory; names the swap devices",
            stops: "page fault, kernel thread kswapd, function call interrupts of tlb",
            cost: "file pages are given up earlier instead",
            applied: "vm.swappiness = 0, where /proc/swaps names a device",
            source: "Documentation/admin-guide/sysctl/vm.rst, swappiness",
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        let swaps = split.read("/proc/swaps").unwrap_or_default();
        let devices: Vec<&str> = swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
        if !devices.is_empty() {
            proposal.want_file(split, "/proc/sys/vm/swappiness", Form::Text, "0");
            proposal.told(format!(
                "swap is on {}; `swapoff -a` ends it, and cannot be undone to the same state",
                devices.join(", ")
            ));
        }
        proposal
    }
}
