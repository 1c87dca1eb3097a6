// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Switches off the deadline server on the application's CPUs. Since 6.12 it keeps real-time threads from starving
//! others.

use super::{About, Measure};
use crate::form::Form;
use crate::split::{Proposal, Split};

pub struct DeadlineServer;

const SERVERS: &str = "/sys/kernel/debug/sched/fair_server";
const BEGAN: (u32, u32) = (6, 12);
/// Before this version, a change while the server runs corrupts the kernel's bandwidth accounting, and the kernel warns
/// (`dl_rq->running_bw > old`): seen on 6.12.117.
const SOUND: (u32, u32) = (7, 0);

impl Measure for DeadlineServer {
    fn about(&self) -> &'static About {
        &About {
            name: "deadline-server",
            does: "takes the deadline server off the application's CPUs",
            stops: "timer dl_server_timer, dl_task_timer",
            cost: "a real-time thread that never sleeps starves everything on its CPU; the kernel's log warns of that",
            applied: "/sys/kernel/debug/sched/fair_server/cpuN/runtime = 0, before the CPU is isolated (EBUSY after)",
            kernels: "7.0 or later, with debugfs mounted; 6.12 to 6.19 have the server, and a change of it is not sound there",
            source: "kernel/sched/debug.c, fair_server",
            usual: false,
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        if split.kernel < SOUND {
            if split.kernel >= BEGAN {
                proposal
                    .told("this kernel has a deadline server, and a change of it corrupts its accounting: left alone");
            }
            return proposal;
        }
        for cpu in split.application.iter() {
            proposal.want_file(split, format!("{SERVERS}/cpu{cpu}/runtime"), Form::Text, "0");
        }
        proposal
    }
}
