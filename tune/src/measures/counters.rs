// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Slows down sampling by performance counters as far as the kernel allows.

use super::{About, Measure};
use crate::form::Form;
use crate::split::{Proposal, Split};

pub struct Counters;

const KERNEL: &str = "/proc/sys/kernel";

impl Measure for Counters {
    fn about(&self) -> &'static About {
        &About {
            name: "counters",
            does: "limits sampling by performance counters to once a second",
            stops: "NMI, timer perf_, function call interrupts of perf",
            cost: "profilers do not work, the application's own included",
            applied: "kernel.perf_event_max_sample_rate, kernel.perf_cpu_time_max_percent",
            source: "Gerofi et al., SC '21, section 4.2.1 and Table 2 (PMU counter reads: 103 us against 50 us); \
                     Documentation/admin-guide/sysctl/kernel.rst",
            usual: false,
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        // the rate first: the kernel refuses it if the percentage is 0 or 100
        proposal.want_file(split, format!("{KERNEL}/perf_event_max_sample_rate"), Form::Text, "1");
        proposal.want_file(split, format!("{KERNEL}/perf_cpu_time_max_percent"), Form::Text, "1");
        proposal
    }
}
