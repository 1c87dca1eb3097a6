// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel's own watchdogs: one uses a performance counter to find hard lockups, the other finds soft lockups.

use super::{About, Measure};
use crate::form::Form;
use crate::split::{Proposal, Split};

pub struct Watchdogs;

const COUNTER: &str = "/proc/sys/kernel/nmi_watchdog";
const MASK: &str = "/proc/sys/kernel/watchdog_cpumask";

impl Measure for Watchdogs {
    fn about(&self) -> &'static About {
        &About {
            name: "watchdogs",
            does: "stops the lockup detectors on the application's CPUs",
            stops: "NMI, timer watchdog_timer_fn, migration/N",
            cost: "a CPU of the application that hangs in the kernel is not reported; hard lockups nowhere",
            applied: "kernel.nmi_watchdog, kernel.watchdog_cpumask",
            boot: "nohz_full=LIST leaves those CPUs out of the mask from the start",
            source: "Gerofi et al., SC '21, Table 2 (PMU counter reads); Documentation/admin-guide/lockup-watchdogs.rst",
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        proposal.want_file(split, COUNTER, Form::Text, "0");
        // unlike other masks, this file has the form of a list
        proposal.leave(split, MASK, Form::List);
        proposal
    }
}
