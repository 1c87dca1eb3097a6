// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Moves the threads of read-copy-update away from the application's CPUs, and turns off expedited grace periods, which
//! interrupt all CPUs.

use super::{About, Measure};
use crate::form::Form;
use crate::split::{Proposal, Split, affinity_of};
use crate::threads::Thread;

pub struct Rcu;

const NORMAL: &str = "/sys/kernel/rcu_normal";

impl Measure for Rcu {
    fn about(&self) -> &'static About {
        &About {
            name: "rcu",
            does: "moves RCU's threads to the system's CPUs, and lets grace periods take their time",
            stops: "kernel threads rcu, function call interrupts of rcu_exp_handler",
            cost: "what waits for a grace period (new network devices, cgroups, tracing) waits some ms longer",
            applied: "affinity of rcu threads that may be bound; /sys/kernel/rcu_normal = 1",
            checked: "the threads' affinity and the value; threads created since are new",
            boot: "rcu_nocbs=LIST (implied by nohz_full=LIST) moves the callbacks themselves to such threads",
            source: "Documentation/admin-guide/kernel-per-CPU-kthreads.rst",
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        proposal.want_file(split, NORMAL, Form::Text, "1");
        for (thread, left) in split.kernel_threads(is_rcu) {
            proposal.want(split, affinity_of(&thread), Form::List, left.to_string());
        }
        proposal
    }
}

pub fn is_rcu(thread: &Thread) -> bool {
    thread.name.starts_with("rcu")
}
