// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stops the polling of the machine-check banks.

use super::{About, Measure};
use crate::form::Form;
use crate::split::{Proposal, Split};

pub struct MachineCheck;

const BANKS: &str = "/sys/devices/system/machinecheck";

impl Measure for MachineCheck {
    fn about(&self) -> &'static About {
        &About {
            name: "machine-check",
            does: "stops the polling of machine-check banks",
            stops: "timer mce_timer_fn, kworker mce_",
            cost: "corrected errors that raise no interrupt are not counted",
            applied: "/sys/devices/system/machinecheck/machinecheckN/check_interval = 0, one value for all CPUs",
            kernels: "x86",
            boot: "no; mce=ignore_ce does more than this",
            source: "Documentation/ABI/testing/sysfs-mce; arch/x86/kernel/cpu/mce/core.c",
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        // all files show one variable; the file of a system CPU stays when other CPUs go offline
        let names = split.list(BANKS);
        match names.iter().find(|name| name.starts_with("machinecheck")) {
            Some(first) => proposal.want_file(split, format!("{BANKS}/{first}/check_interval"), Form::Text, "0"),
            None => proposal.missing(format!("{BANKS}/machinecheck0")),
        }
        proposal
    }
}
