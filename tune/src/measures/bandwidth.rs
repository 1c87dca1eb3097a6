// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Limits the system's share of the memory bandwidth, if the processor can.

use super::{About, Measure, Number, resctrl};
use crate::split::{Proposal, Split};

pub struct Bandwidth;

impl Measure for Bandwidth {
    fn about(&self) -> &'static About {
        &About {
            name: resctrl::BANDWIDTH,
            does: "limits the system to this share of the memory bandwidth",
            stops: "slower work beside a system CPU that copies much memory (no thief is visible)",
            cost: "daemons, and the kernel's copying for input and output, are slower; the limit is per core and coarse",
            applied: "MB of /sys/fs/resctrl/schemata; a group /sys/fs/resctrl/tacet with the application's CPUs keeps all",
            kernels: "where the processor has memory bandwidth allocation in percent (RDT, MPAM) and resctrl is mounted",
            source: "Gerofi et al., SC '21, section 4.2, on the system's share of hardware; \
                     Documentation/filesystems/resctrl.rst, memory bandwidth allocation",
            usual: false,
            whole: true,
            number: Some(Number { what: "percent for the system", usual: 50, largest: 100 }),
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        resctrl::propose(split, resctrl::BANDWIDTH, "the memory bandwidth has no shares in percent here: not touched")
    }
}
