// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keeps the kernel from stopping real-time threads for a twentieth of each second.

use super::{About, Measure};
use crate::form::Form;
use crate::split::{Proposal, Split};

pub struct RealTimeThrottling;

impl Measure for RealTimeThrottling {
    fn about(&self) -> &'static About {
        &About {
            name: "real-time-throttling",
            does: "lets a real-time thread run without the pause that the kernel forces on it",
            stops: "timer sched_rt_period_timer, and 50 ms of each second of a SCHED_FIFO program",
            cost: "a real-time thread that never sleeps starves everything on its CPU",
            applied: "kernel.sched_rt_runtime_us = -1",
            usual: false,
            kernels: "all; from 6.12 the deadline server does it for ordinary threads",
            source: "Documentation/scheduler/sched-rt-group.rst",
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        proposal.want_file(split, "/proc/sys/kernel/sched_rt_runtime_us", Form::Text, "-1");
        proposal
    }
}
