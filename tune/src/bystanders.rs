// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Other programs' affinities, before a partition and after its end.
//!
//! A partition takes CPUs from every program. From Linux 6.2 the kernel remembers the affinity that a program asked for,
//! and gives it back when the partition ends; 6.1 does not. A program that sets again what it sees asks for the smaller
//! set itself, and nobody gives that back. `apply.rs` has this file record all threads before the first partition, and
//! compare after the last. Reads only: it never changes another program's affinity.

use serde::{Deserialize, Serialize};

use crate::apply::{Done, Event};
use crate::claim::Claim;
use crate::cpus::Cpus;
use crate::error::Result;
use crate::journal::{Journal, State};
use crate::measures::PARTITION;
use crate::node::{self, Node};
use crate::object::Object;
use crate::plan;
use crate::threads;

/// Since this version the kernel keeps the affinity that a program asked for.
const REMEMBERS: (u32, u32) = (6, 2);

/// A thread before the first partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bystander {
    pub thread: u32,
    pub started: u64,
    pub name: String,
    pub allowed: Cpus,
    /// What its cgroup allowed; `None` if nothing says it, and in journals of older versions.
    #[serde(default)]
    pub group: Option<Cpus>,
}

/// Records all programs' threads, if these claims make the first partition.
pub fn record(node: &dyn Node, journal: &mut Journal, claims: &[Claim]) -> Result<()> {
    let changed = journal.state.entries.iter().any(|entry| entry.measure == PARTITION);
    if changed || !journal.state.bystanders.is_empty() || !isolates(claims) {
        return Ok(());
    }
    let seen = threads::of_programs(node).into_iter().map(|thread| Bystander {
        group: threads::group_cpus(node, thread.id),
        thread: thread.id,
        started: thread.started,
        name: thread.name,
        allowed: thread.allowed,
    });
    journal.saw(seen.collect())
}

/// Names the threads that lost their affinity, if the last partition has ended.
pub fn compare(node: &dyn Node, journal: &mut Journal, claims: &[Claim], done: &mut Done) -> Result<()> {
    if journal.state.bystanders.is_empty() || isolates(claims) {
        return Ok(());
    }
    done.not_restored.extend(changed(node, &journal.state, &plan::online(node, &journal.state)?));
    journal.forget_bystanders()
}

fn isolates(claims: &[Claim]) -> bool {
    claims.iter().any(|claim| claim.measures.contains_key(PARTITION))
}

fn changed(node: &dyn Node, state: &State, online: &Cpus) -> Vec<Event> {
    let remembers = node::kernel_version(node) >= REMEMBERS;
    let mut events = Vec::new();
    for Bystander { thread, started, name, allowed: before, group } in &state.bystanders {
        let Some(found) = threads::thread(node, *thread).filter(|found| found.started == *started) else { continue };
        // some kernels show CPUs that are possible but absent, and drop them when an affinity is set
        let (now, before) = (&found.allowed.intersection(online), &before.intersection(online));
        let group_now = threads::group_cpus(node, *thread);
        let by = match remembers {
            _ if follows(before, group.as_ref(), online) && follows(now, group_now.as_ref(), online) => continue,
            _ if is_narrower(before, now, &state.taken) => "it set again what it saw meanwhile",
            false if now != before && before.is_subset(now) => "this kernel forgets an affinity when CPUs are taken",
            true if now != before && before.is_subset(now) => "it was set anew meanwhile",
            _ => continue,
        };
        let object = Object::Affinity { thread: *thread, started: *started, name: name.clone() };
        events.push(Event::new(
            PARTITION,
            &object,
            format!("{now}, was {before}: {by}; `taskset -cp {before} PID` sets it"),
        ));
    }
    events
}

/// Has a thread all CPUs of its cgroup? Then its affinity is the cgroup's, and what changes with that is nobody's loss.
fn follows(allowed: &Cpus, group: Option<&Cpus>, online: &Cpus) -> bool {
    group.is_some_and(|group| group.intersection(online) == *allowed)
}

/// Are exactly CPUs missing that a claim had? An affinity that a program chose for another reason rarely looks so.
fn is_narrower(before: &Cpus, now: &Cpus, taken: &Cpus) -> bool {
    let lost = before.without(now);
    now.is_subset(before) && !lost.is_empty() && lost.is_subset(taken)
}
