// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The application's CPUs keep their frequency.

use super::{About, Measure};
use crate::form::Form;
use crate::split::{Proposal, Split};

pub struct Frequency;

const CPUS: &str = "/sys/devices/system/cpu";

impl Measure for Frequency {
    fn about(&self) -> &'static About {
        &About {
            name: "frequency",
            does: "chooses the governor `performance` for the application's CPUs; names limits",
            stops: "kernel thread sugov, longer work after a change of frequency (no thief is visible)",
            cost: "power",
            applied: "/sys/devices/system/cpu/cpuN/cpufreq/scaling_governor",
            kernels: "with a cpufreq driver",
            source: "Documentation/admin-guide/pm/cpufreq.rst",
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        for cpu in split.application.iter() {
            let directory = format!("{CPUS}/cpu{cpu}/cpufreq");
            // virtual machines have none
            if !split.node.exists(&directory) {
                proposal.missing(format!("{CPUS}/cpu*/cpufreq"));
                break;
            }
            proposal.want_file(split, format!("{directory}/scaling_governor"), Form::Text, "performance");
            let khz = |name: &str| {
                split.read(&format!("{directory}/{name}")).and_then(|text| text.trim().parse::<u64>().ok())
            };
            if let (Some(limit), Some(possible)) = (khz("scaling_max_freq"), khz("cpuinfo_max_freq"))
                && limit < possible
            {
                proposal.told(format!("cpu{cpu} is limited to {limit} kHz of {possible} kHz by scaling_max_freq"));
            }
        }
        proposal
    }
}
