// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Moves all other kernel threads that may be bound away from the application's CPUs.

use super::rcu::is_rcu;
use super::{About, Measure};
use crate::form::Form;
use crate::split::{Proposal, Split, affinity_of};

pub struct KernelThreads;

impl Measure for KernelThreads {
    fn about(&self) -> &'static About {
        &About {
            name: "kernel-threads",
            does: "binds the kernel's own threads (kcompactd, khugepaged, kswapd, file systems) to the system's CPUs",
            stops: "kernel thread",
            cost: "they work on the system's CPUs alone, also for memory of other nodes",
            applied: "affinity of threads of the kernel that are not tied to a CPU",
            checked: "their affinity; threads created since are new",
            kernels: "all; an isolated partition does most of it",
            boot: "no; isolcpus and nohz_full do it from the start",
            source: "Gerofi et al., SC '21, section 4.2.1; Documentation/admin-guide/kernel-per-CPU-kthreads.rst",
            refusable: true,
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        // the thread of an interrupt follows its interrupt
        for (thread, left) in split.kernel_threads(|thread| !is_rcu(thread) && !thread.name.starts_with("irq/")) {
            proposal.want(split, affinity_of(&thread), Form::List, left.to_string());
        }
        proposal
    }
}
