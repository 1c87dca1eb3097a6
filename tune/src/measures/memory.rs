// SPDX-License-Identifier: Apache-2.0 OR MIT
//! If each NUMA node belongs to one side only, each side takes its memory from its own nodes.

use super::{About, Measure, partition};
use crate::claim::Claim;
use crate::cpus::Cpus;
use crate::form::Form;
use crate::object::Object;
use crate::split::{Proposal, Split};
use crate::topology;

pub struct Memory;

impl Measure for Memory {
    fn about(&self) -> &'static About {
        &About {
            name: "memory",
            does: "binds the application's memory to the nodes of its CPUs",
            stops: "page fault of a remote node, kernel threads kswapd and kcompactd of the application's nodes",
            cost: "an allocation that its nodes cannot serve fails (out of memory), even if other nodes have free pages",
            applied: "cpuset.mems of the claim's cgroup; the system's side is bound by AllowedMemoryNodes=, which is only offered",
            kernels: "as partition, which it needs",
            source: "Gerofi et al., SC '21, sections 4.1.2 and 4.2",
            usual: false,
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        let nodes = topology::memory_nodes(split.node);
        if nodes.len() < 2 {
            proposal.told("one memory node: nothing to split; virtual nodes of the firmware (A64FX), or numa=fake= at boot, make more");
            return proposal;
        }
        for claim in split.claims.iter().filter(|claim| partition::has_group(split, claim)) {
            bind(&nodes, claim, &mut proposal);
        }
        let system: Cpus =
            nodes.iter().filter(|(_, cpus)| !cpus.overlaps(&split.application)).map(|(node, _)| *node).collect();
        if !system.is_empty() {
            proposal.told(format!("daemons keep away from the application's memory by AllowedMemoryNodes={system} of system.slice and user.slice; what they hold would be moved"));
        }
        proposal
    }
}

fn bind(nodes: &[(u32, Cpus)], claim: &Claim, proposal: &mut Proposal) {
    let own: Cpus = nodes.iter().filter(|(_, cpus)| cpus.overlaps(&claim.cpus)).map(|(node, _)| *node).collect();
    if own.len() < nodes.len() && !own.is_empty() {
        let object = Object::file(format!("{}/cpuset.mems", partition::group(&claim.owner)));
        proposal.make(object, Form::List, own.to_string());
    }
}
