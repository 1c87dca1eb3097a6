// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The timer tick: only a boot parameter stops it, so that is offered. Timers that may move are moved.

use super::{About, Measure};
use crate::form::Form;
use crate::split::{Proposal, Split};

pub struct Tick;

const FULL: &str = "/sys/devices/system/cpu/nohz_full";
const MIGRATION: &str = "/proc/sys/kernel/timer_migration";

impl Measure for Tick {
    fn about(&self) -> &'static About {
        &About {
            name: "tick",
            does: "offers the boot line that stops the tick where one thread runs, and lets timers leave idle CPUs",
            stops: "timer tick_, softirq TIMER, softirq RCU, kworker vmstat_",
            cost: "with nohz_full each system call takes longer, and one CPU keeps the time for all",
            applied: "kernel.timer_migration = 1",
            kernels: "nohz_full needs CONFIG_NO_HZ_FULL",
            boot: "nohz_full=LIST, which implies rcu_nocbs=LIST",
            source: "Gerofi et al., SC '21, Table 1 (nohz_full on both machines); Documentation/timers/no_hz.rst",
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        proposal.want_file(split, MIGRATION, Form::Text, "1");
        let Some(now) = split.read(FULL) else {
            proposal.told("the kernel was built without CONFIG_NO_HZ_FULL: the tick stays");
            return proposal;
        };
        let full = crate::cpus::Cpus::from_list(&now).unwrap_or_default();
        if !split.application.is_subset(&full) {
            let application = &split.application;
            let with_tick = application.without(&full);
            proposal.told(format!("the tick stays on {}, 100 to 1000 times a second", with_tick.named()));
            proposal.boot.extend([format!("nohz_full={application}"), format!("rcu_nocbs={application}")]);
        }
        proposal
    }
}
