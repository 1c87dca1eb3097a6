// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keeps the application's CPUs out of idle states that take long to leave.

use super::{About, Measure, Number};
use crate::form::Form;
use crate::split::{Proposal, Split};

pub struct IdleStates;

impl Measure for IdleStates {
    fn about(&self) -> &'static About {
        &About {
            name: "idle-states",
            does: "forbids idle states that take longer than this to leave",
            stops: "a late start after a barrier or a message (no thief is visible)",
            cost: "power; other cores may reach a lower turbo frequency",
            applied: "/sys/devices/system/cpu/cpuN/power/pm_qos_resume_latency_us",
            kernels: "with a cpuidle driver",
            source: "Documentation/admin-guide/pm/cpuidle.rst",
            usual: false,
            number: Some(Number { what: "the latency in us, 0 for none at all", usual: 10, largest: 1_000_000 }),
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        // in this file 0 means no limit, and n/a means no latency at all
        let wanted =
            split.claims.iter().filter_map(|claim| claim.measures.get(self.about().name).copied().flatten()).min();
        let wanted = match wanted {
            Some(0) | None => "n/a".to_owned(),
            Some(latency) => latency.to_string(),
        };
        for cpu in split.application.iter() {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us");
            proposal.want_file(split, path, Form::Text, wanted.clone());
        }
        proposal
    }
}
