// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The application's CPUs become an isolated cpuset partition: nothing else may run there.

use super::{About, Measure, workqueues};
use crate::claim::{Claim, Owner};
use crate::form::Form;
use crate::node;
use crate::object::{Object, THERE};
use crate::split::{Proposal, Split};

pub struct Partition;

/// Where cgroup v2 is mounted.
pub const BASE: &str = "/sys/fs/cgroup";

impl Measure for Partition {
    fn about(&self) -> &'static About {
        &About {
            name: "partition",
            does: "takes the CPUs from daemons, user sessions and all other programs (isolated cpuset partition)",
            stops: "task, softirq SCHED, migration; from 6.7 kworker (unbound)",
            cost: "the scheduler balances nothing there: threads must be bound, or started by one who binds (MPI, OpenMP); \
                   a program's own affinity to those CPUs alone does not survive outside of it",
            applied: "a cgroup for each claim, /sys/fs/cgroup/tacet or tacet-job-ID, with cpuset.cpus and cpuset.cpus.partition; \
                      where systemd runs also AllowedCPUs= of init.scope, so that it keeps the controller; from 6.7 \
                      /sys/devices/virtual/workqueue/cpumask, which the kernel would change itself",
            checked: "the kernel shows `isolated`, without `invalid`",
            kernels: "6.1 or later, cgroup v2 with the cpuset controller at /sys/fs/cgroup",
            source: "Gerofi et al., SC '21, Table 2 (daemon process: 20 ms against 50 us); \
                     Documentation/admin-guide/cgroup-v2.rst, cpuset",
            whole: true,
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        let Some(controllers) = split.read(&format!("{BASE}/cgroup.controllers")) else {
            proposal.missing(format!("{BASE}/cgroup.controllers"));
            return proposal;
        };
        if !controllers.split_whitespace().any(|one| one == "cpuset") {
            proposal.told(format!(
                "cgroup v2 at {BASE} has no cpuset controller; it may be another hierarchy's (cgroup v1)"
            ));
            return proposal;
        }
        proposal.want_file(split, format!("{BASE}/cgroup.subtree_control"), Form::Controllers, "+cpuset");
        if node::systemd_runs(split.node) {
            let object = Object::Unit { unit: "init.scope".to_owned(), property: "AllowedCPUs".to_owned() };
            proposal.want(split, object, Form::List, split.system.to_string());
        }
        workqueues::before_a_partition(split, &mut proposal);
        for claim in split.claims.iter().filter(|claim| has_group(split, claim)) {
            claimed(claim, &mut proposal);
        }
        proposal
    }
}

/// Of a job within the node's partition nothing more is to be isolated.
pub fn has_group(split: &Split, claim: &Claim) -> bool {
    let mut of_the_node = split.claims.iter().filter(|other| other.owner == Owner::Node);
    claim.owner == Owner::Node || !of_the_node.any(|other| claim.cpus.is_subset(&other.cpus))
}

fn claimed(claim: &Claim, proposal: &mut Proposal) {
    let group = group(&claim.owner);
    let file = |name: &str| Object::file(format!("{group}/{name}"));
    proposal.make(Object::Directory { path: group.clone() }, Form::Text, THERE);
    proposal.make(file("cpuset.cpus"), Form::List, claim.cpus.to_string());
    proposal.make(file("cpuset.cpus.partition"), Form::Partition, "isolated");
}

/// The cgroup of a claim's programs.
pub fn group(owner: &Owner) -> String {
    format!("{BASE}/{}", owner.group())
}
