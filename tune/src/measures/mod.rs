// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The countermeasures: one file each, one trait, one table.
//!
//! A countermeasure only proposes. How its objects are changed, checked and put back is the same for all: `apply.rs`,
//! `verify.rs`, `undo.rs`. To add one: a file here, a row in [`ALL`].

mod bandwidth;
mod block;
mod cache;
mod clocksource;
mod compaction;
mod counters;
mod deadline_server;
mod frequency;
mod huge_page_daemon;
mod huge_pages;
mod idle_states;
mod interrupts;
mod kernel_threads;
mod machine_check;
mod memory;
mod memory_reserve;
mod network;
mod numa_balancing;
pub mod partition;
mod rcu;
mod real_time_throttling;
mod resctrl;
mod same_page_merging;
mod samplers;
mod siblings;
mod slices;
mod swap;
mod tick;
mod translation;
mod vmstat;
mod watchdogs;
mod workqueues;
mod writeback;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::split::{Proposal, Split};

/// What others have to know of: the application's CPUs are nobody else's then.
pub const PARTITION: &str = "partition";

pub trait Measure: Sync {
    fn about(&self) -> &'static About;
    fn propose(&self, split: &Split) -> Proposal;
}

/// What a person decides by.
#[derive(Debug, Serialize)]
pub struct About {
    pub name: &'static str,
    pub does: &'static str,
    /// The thief that it stops, as `tacet noise trace` names him.
    pub stops: &'static str,
    pub cost: &'static str,
    /// How it is applied and undone: which objects.
    pub applied: &'static str,
    /// What `verify` looks at, where that is more than the objects' values.
    pub checked: &'static str,
    pub kernels: &'static str,
    pub boot: &'static str,
    pub source: &'static str,
    /// Whether it is applied unless it was named to be left out.
    pub usual: bool,
    /// All of its changes or none: half of them would be worse than nothing.
    pub whole: bool,
    /// The kernel keeps some of its objects to itself: a refusal is to be expected, and no failure.
    pub refusable: bool,
    pub number: Option<Number>,
}

/// What a countermeasure's number is.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Number {
    pub what: &'static str,
    pub usual: u64,
    pub largest: u64,
}

impl About {
    /// What most have.
    pub const COMMON: About = About {
        name: "",
        does: "",
        stops: "",
        cost: "none known",
        applied: "",
        checked: "the values are read again",
        kernels: "all",
        boot: "no",
        source: "",
        usual: true,
        whole: false,
        refusable: false,
        number: None,
    };

    /// As it is written on the command line.
    pub fn written(&self) -> String {
        self.number.map_or(self.name.to_owned(), |number| format!("{} or {}={}", self.name, self.name, number.usual))
    }
}

/// In the order in which they are applied; they are undone in the reverse order.
pub const ALL: &[&dyn Measure] = &[
    // refused (EBUSY) once the CPUs are isolated
    &deadline_server::DeadlineServer,
    // a partition moves them too, and forgets where they were
    &rcu::Rcu,
    &kernel_threads::KernelThreads,
    // a partition is not valid beside slices that have its CPUs
    &slices::Slices,
    &partition::Partition,
    &memory::Memory,
    &memory_reserve::MemoryReserve,
    &interrupts::Interrupts,
    &workqueues::Workqueues,
    &writeback::Writeback,
    &block::Block,
    &network::Network,
    &watchdogs::Watchdogs,
    &counters::Counters,
    &samplers::Samplers,
    &tick::Tick,
    &vmstat::Vmstat,
    &clocksource::Clocksource,
    &machine_check::MachineCheck,
    &translation::Translation,
    &same_page_merging::SamePageMerging,
    &numa_balancing::NumaBalancing,
    &huge_page_daemon::HugePageDaemon,
    &huge_pages::HugePages,
    &compaction::Compaction,
    &swap::Swap,
    &real_time_throttling::RealTimeThrottling,
    &cache::Cache,
    &bandwidth::Bandwidth,
    &frequency::Frequency,
    &idle_states::IdleStates,
    &siblings::Siblings,
];

pub fn named(name: &str) -> Result<&'static dyn Measure> {
    let found = ALL.iter().find(|measure| measure.about().name == name);
    found
        .copied()
        .ok_or_else(|| Error::new(format!("countermeasure `{name}`"), "unknown", "`tacet tune list` names all"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tells_all_of_itself_under_a_name_of_its_own() {
        let mut names: Vec<&str> = ALL.iter().map(|measure| measure.about().name).collect();
        for measure in ALL {
            let a = measure.about();
            let words = [a.name, a.does, a.stops, a.cost, a.applied, a.checked, a.kernels, a.boot, a.source];
            assert!(words.iter().all(|word| !word.is_empty()), "{a:?}");
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }
}
