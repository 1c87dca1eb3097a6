// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Makes the application's CPUs an isolated cpuset partition: nothing else may run there.

use super::{About, Measure, PARTITION, balance, workqueues};
use crate::claim::{Claim, Owner};
use crate::form::Form;
use crate::node::{self, Node};
use crate::object::{Object, THERE};
use crate::split::{Proposal, Split};
use crate::systemd::KEEPER;

pub struct Partition;

/// Where cgroup v2 is mounted.
pub const BASE: &str = "/sys/fs/cgroup";
const CONTROLLERS: &str = "/sys/fs/cgroup/cgroup.controllers";
/// Controllers of cgroups, and the countermeasures that need each.
const CPUSET: &str = "cpuset";
pub const MEMORY: &str = "memory";
pub const HUGETLB: &str = "hugetlb";
const NEEDS: [(&str, &[&str]); 3] =
    [(CPUSET, &["partition", "slices"]), (MEMORY, &["memory-reserve"]), (HUGETLB, &["huge-pages"])];

impl Measure for Partition {
    fn about(&self) -> &'static About {
        &About {
            name: PARTITION,
            does: "takes the CPUs from daemons, user sessions and all other programs (isolated cpuset partition)",
            stops: "task, softirq SCHED, migration; from 6.7 kworker (unbound)",
            cost: "the scheduler balances nothing there: threads must be bound, or started by one who binds (MPI, OpenMP), or \
                   `--with balance`; \
                   a program's own affinity to those CPUs alone does not survive outside of it",
            applied: "a cgroup for each claim, /sys/fs/cgroup/tacet or tacet-job-ID, with cpuset.cpus and cpuset.cpus.partition; \
                      where systemd runs also AllowedCPUs= of a slice without programs, tacet.slice, so that it keeps the controller; from 6.7 \
                      /sys/devices/virtual/workqueue/cpumask, which the kernel would change itself",
            checked: "the kernel shows `isolated` (with balance `root`), without `invalid`",
            kernels: "6.1 or later, cgroup v2 with the cpuset controller at /sys/fs/cgroup",
            source: "Gerofi et al., SC '21, Table 2 (daemon process: 20 ms against 50 us); \
                     Documentation/admin-guide/cgroup-v2.rst, cpuset",
            whole: true,
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        if split.read(CONTROLLERS).is_none() {
            proposal.missing(CONTROLLERS);
            return proposal;
        }
        if !controls(split, CPUSET) {
            proposal.told(format!(
                "cgroup v2 at {BASE} has no cpuset controller; it may be another hierarchy's (cgroup v1)"
            ));
            return proposal;
        }
        want_controllers(split, &mut proposal);
        if node::systemd_runs(split.node) {
            let object = Object::Unit { unit: KEEPER.to_owned(), property: "AllowedCPUs".to_owned() };
            proposal.want(split, object, Form::List, split.system.to_string());
        }
        workqueues::before_a_partition(split, &mut proposal);
        for claim in split.claims.iter().filter(|claim| has_group(split, claim)) {
            claimed(claim, &mut proposal);
        }
        proposal
    }
}

/// Does the claim have a cgroup of its own? A job within the node's partition does not.
pub fn has_group(split: &Split, claim: &Claim) -> bool {
    let mut of_the_node = split.claims.iter().filter(|other| other.owner == Owner::Node);
    claim.owner == Owner::Node || !of_the_node.any(|other| claim.cpus.is_subset(&other.cpus))
}

fn claimed(claim: &Claim, proposal: &mut Proposal) {
    let group = group(&claim.owner);
    let file = |name: &str| Object::file(format!("{group}/{name}"));
    proposal.make(Object::Directory { path: group.clone() }, Form::Text, THERE);
    proposal.make(file("cpuset.cpus"), Form::List, claim.cpus.to_string());
    proposal.make(file("cpuset.cpus.partition"), Form::Partition, balance::kind(claim));
}

/// The cgroup of a claim's programs.
pub fn group(owner: &Owner) -> String {
    format!("{BASE}/{}", owner.group())
}

/// The cgroup that this owner's programs enter. If the node claims a job's CPUs too, that is the node's.
pub fn entered(node: &dyn Node, owner: &Owner) -> Option<String> {
    [group(owner), group(&Owner::Node)].into_iter().find(|group| node.exists(group))
}

/// Does this node have this cgroup controller?
pub fn controls(split: &Split, controller: &str) -> bool {
    split.read(CONTROLLERS).is_some_and(|all| all.split_whitespace().any(|one| one == controller))
}

/// Proposes the controllers that any claim needs for the cgroups below the root. One file has them all, so each
/// countermeasure proposes the same value. A controller stays on until no claim needs any, because the file's old value
/// is restored as a whole.
pub fn want_controllers(split: &Split, proposal: &mut Proposal) {
    let object = Object::file(format!("{BASE}/cgroup.subtree_control"));
    let had = split.state.entry(&object).map(|entry| entry.wanted.clone()).unwrap_or_default();
    let claimed = |names: &[&str]| {
        split.all_claims.iter().any(|claim| names.iter().any(|name| claim.measures.contains_key(*name)))
    };
    let needed = NEEDS.iter().filter(|(controller, names)| {
        had.split(' ').any(|one| one.trim_start_matches('+') == *controller)
            || (claimed(names) && controls(split, controller))
    });
    let wanted = needed.map(|(controller, _)| format!("+{controller}")).collect::<Vec<_>>().join(" ");
    proposal.want(split, object, Form::Controllers, wanted);
}

/// The claims that want this countermeasure in a cgroup of their own, each with its number.
pub fn with_groups<'a>(split: &Split<'a>, measure: &str, proposal: &mut Proposal) -> Vec<(&'a Claim, u64)> {
    let mut found = Vec::new();
    for claim in split.claims.iter().filter(|claim| has_group(split, claim)) {
        if !claim.measures.contains_key(PARTITION) {
            proposal
                .told(format!("the CPUs of {} are not a partition: the claim has no cgroup of its own", claim.owner));
        } else if let Some(number) = claim.measures.get(measure).copied().flatten() {
            found.push((*claim, number));
        }
    }
    found
}

/// The largest number that any claim wants for this countermeasure; None if no claim wants it.
pub fn wanted_number(split: &Split, measure: &str) -> Option<u64> {
    split.all_claims.iter().filter_map(|claim| claim.measures.get(measure).copied().flatten()).max()
}
