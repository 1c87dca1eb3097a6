// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Protects this much of the application's memory from reclaim: the split of memory for machines with one NUMA node.

use super::partition;
use super::{About, Measure, Number};
use crate::form::Form;
use crate::object::Object;
use crate::split::{Proposal, Split};

pub struct MemoryReserve;

const MIB: u64 = 1 << 20;

impl Measure for MemoryReserve {
    fn about(&self) -> &'static About {
        &About {
            name: "memory-reserve",
            does: "protects this much memory of the application from reclaim while the system has memory to reclaim",
            stops: "page fault after reclaim, kernel thread kswapd, function call interrupts of tlb",
            cost: "daemons and file caches lose their memory first; nothing is reserved, and nothing is killed for it",
            applied: "memory.low of the claim's cgroup; the memory controller for the cgroups below the root",
            kernels: "as partition, which it needs; cgroup v2 with the memory controller",
            source: "Gerofi et al., SC '21, section 4.2, on memory for system and application; \
                     Documentation/admin-guide/cgroup-v2.rst, memory.low",
            usual: false,
            number: Some(Number { what: "MiB for the application", usual: 1024, largest: 1 << 30 }),
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        if !partition::controls(split, partition::MEMORY) {
            proposal.told("cgroup v2 has no memory controller here: it may be another hierarchy's (cgroup v1)");
            return proposal;
        }
        partition::want_controllers(split, &mut proposal);
        for (claim, number) in partition::with_groups(split, self.about().name, &mut proposal) {
            let object = Object::file(format!("{}/memory.low", partition::group(&claim.owner)));
            proposal.make(object, Form::Text, number.saturating_mul(MIB).to_string());
        }
        proposal
    }
}
