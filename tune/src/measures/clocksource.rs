// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The clock's watchdog, which visits each CPU in turn: only a boot parameter ends it.

use super::{About, Measure};
use crate::split::{Proposal, Split};

pub struct Clocksource;

const CLOCK: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

impl Measure for Clocksource {
    fn about(&self) -> &'static About {
        &About {
            name: "clocksource",
            does: "offers the boot parameter that ends the watchdog of the processor's clock",
            stops: "timer clocksource_watchdog, function call interrupts of clocksource_verify_percpu",
            cost: "a clock that drifts is not noticed; wrong on machines whose firmware touches the counter",
            applied: "nothing",
            checked: "the boot line",
            kernels: "x86",
            boot: "tsc=reliable",
            source: "Documentation/admin-guide/kernel-parameters.txt, tsc=",
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        let booted = split.read("/proc/cmdline").unwrap_or_default();
        match split.read(CLOCK).as_deref().map(str::trim) {
            Some("tsc")
                if !booted.split_whitespace().any(|word| ["tsc=reliable", "tsc=nowatchdog"].contains(&word)) =>
            {
                proposal.boot.push("tsc=reliable".to_owned());
            }
            // TSC, or the counter of arm64, which has no watchdog
            Some("tsc" | "arch_sys_counter") => (),
            Some(other) => {
                proposal.told(format!("the clock is {other}: each reading of the time costs a system call or worse"))
            }
            None => proposal.missing(CLOCK),
        }
        proposal
    }
}
