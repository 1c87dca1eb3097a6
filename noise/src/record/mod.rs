// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A record: what was measured, as columns, and everything that is needed to understand it later.
//!
//! The file is Parquet with the columns of [`Samples`] and, in its footer under the key [`KEY`], [`About`] as JSON.
//! A record that was collected from many nodes has three more columns, `run`, `rank` and `node` (see [`across`]).
//! Units are in the names. `read.rs` and `write.rs` are the only ones who know the file.

pub mod across;
mod read;
pub mod thieves;
mod write;

pub(crate) use read::{column, places_are_inside, read_whole};
pub(crate) use write::whole_or_nothing;

use serde::{Deserialize, Serialize};

/// Where the footer keeps [`About`].
pub const KEY: &str = "tacet.noise";
/// Of the schema; a file with another one is refused.
pub const SCHEMA: u32 = 1;

/// How noise shows itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Fixed work: the same work again and again; how long did each take?
    Fwq,
    /// Fixed time: how much work was done in each interval?
    Ftq,
    /// Selfish detour: where does a loop that only reads the time jump?
    Selfish,
}

/// What the measuring loop works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Kernel {
    /// Dependent integer arithmetic: no memory at all.
    Register,
    /// y = a x + y over 256 elements that lie in the level-1 cache.
    Daxpy,
}

/// One row a sample, rows of a CPU together and in order of time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples {
    /// Of a record from many nodes the index into `Across::places`; the file has the CPU's own number.
    pub cpu: Vec<u32>,
    /// Since the beginning of the first sample of all; of many nodes of the first one of the same rank, for nodes have
    /// no common clock.
    pub start_ns: Vec<u64>,
    /// Of the quantum (fixed work), the interval (fixed time) or the detour.
    pub length_ns: Vec<u64>,
    /// Units of work done in it; 0 for a detour.
    pub work_units: Vec<u64>,
}

/// What happened to one measuring thread while it measured; `None` where the machine does not tell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    pub cpu: u32,
    /// From the first sample's beginning to the last one's end.
    pub measured_ns: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub migrations: Option<u64>,
    /// Of the thread, in user mode.
    pub instructions: Option<u64>,
    /// Selfish detour only: detours for which there was no room any more.
    pub lost: u64,
    /// Selfish detour only: the least distance of two readings of the time.
    pub shortest_ns: u64,
}

/// What a record says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct About {
    pub schema: u32,
    /// Of the tool that measured.
    pub version: String,
    pub label: String,
    pub host: String,
    pub kernel_release: String,
    pub kernel_arguments: String,
    pub processor: String,
    pub arguments: Vec<String>,
    /// Seconds since 1970.
    pub began_unix_s: u64,
    pub method: Method,
    pub kernel: Kernel,
    pub cpus: Vec<u32>,
    /// What was asked for: the quantum, the interval, or the least detour.
    pub quantum_ns: f64,
    /// Units of work in a quantum; 0 where the time is fixed.
    pub units: u64,
    pub time_source: String,
    pub ticks_per_second: f64,
    pub memory_locked: bool,
    pub huge_pages: bool,
    pub realtime_priority: Option<u8>,
    pub counters: Vec<Counters>,
    /// Of a record that was traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thieves: Option<thieves::Thieves>,
    /// Of a record that was collected from many nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub across: Option<across::Across>,
}

/// A measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    pub about: About,
    pub samples: Samples,
}

impl Samples {
    pub fn len(&self) -> usize {
        self.cpu.len()
    }

    pub fn is_empty(&self) -> bool {
        self.cpu.is_empty()
    }

    /// The rows of each CPU: its number and where they are.
    pub fn by_cpu(&self) -> Vec<(u32, std::ops::Range<usize>)> {
        let mut runs: Vec<(u32, std::ops::Range<usize>)> = Vec::new();
        for (row, &cpu) in self.cpu.iter().enumerate() {
            match runs.last_mut() {
                Some((same, range)) if *same == cpu => range.end = row + 1,
                _ => runs.push((cpu, row..row + 1)),
            }
        }
        runs
    }
}

impl Method {
    pub fn name(self) -> &'static str {
        match self {
            Method::Fwq => "fixed work",
            Method::Ftq => "fixed time",
            Method::Selfish => "selfish detour",
        }
    }
}

#[cfg(test)]
pub mod examples {
    use super::thieves::{Event, Kind, Source, Stopped, Thieves};
    use super::*;

    /// A record of the given lengths, all on CPU 0, one after the other.
    pub fn fixed_work(lengths_ns: &[u64]) -> Record {
        let starts = lengths_ns.iter().scan(0, |at, length| {
            *at += length;
            Some(*at - length)
        });
        let samples = Samples {
            cpu: vec![0; lengths_ns.len()],
            start_ns: starts.collect(),
            length_ns: lengths_ns.to_vec(),
            work_units: vec![7; lengths_ns.len()],
        };
        Record { about: about(Method::Fwq, lengths_ns.iter().sum()), samples }
    }

    pub fn about(method: Method, measured_ns: u64) -> About {
        About {
            schema: SCHEMA,
            version: "0".into(),
            label: "example".into(),
            host: "node1".into(),
            kernel_release: "6.12.0".into(),
            kernel_arguments: "quiet".into(),
            processor: "a processor".into(),
            arguments: vec!["measure".into()],
            began_unix_s: 1_790_000_000,
            method,
            kernel: Kernel::Register,
            cpus: vec![0],
            quantum_ns: 1e6,
            units: 7,
            time_source: "tsc".into(),
            ticks_per_second: 1e9,
            memory_locked: true,
            huge_pages: false,
            realtime_priority: None,
            counters: vec![Counters { measured_ns, ..Counters::default() }],
            thieves: None,
            across: None,
        }
    }

    /// A trace of 8 ms of noise that knows of all but 1 ms; one of its programs has a hostile name.
    pub fn thieves() -> Thieves {
        let source = |kind, name: &str, explained_ns: f64| Source {
            kind,
            name: name.into(),
            origin: None,
            cpus: vec![0],
            count: 40,
            total_ns: explained_ns as u64,
            longest_ns: 90_000,
            explained_ns,
            share: explained_ns / 8e6,
            remedy: "isolate the CPU".into(),
        };
        let event = |start_ns, name: &str| Event {
            start_ns,
            length_ns: 90_000,
            kind: Kind::Kworker,
            name: name.into(),
            origin: Some("cpu 1".into()),
        };
        Thieves {
            sources: vec![
                source(Kind::Timer, "tick", 4e6),
                source(Kind::Kworker, "vmstat_update", 2e6),
                source(Kind::Task, "<script>alert(1)</script>", 1e6),
            ],
            detour_threshold_ns: 1000.0,
            detours: 100,
            detour_ns: 8e6,
            explained_ns: 7e6,
            unexplained_detours: 3,
            events: 120,
            events_lost: 5,
            stopped: Some(Stopped {
                cpu: 0,
                start_ns: 2_000_000,
                noise_ns: 120_000,
                events: vec![event(-5, "first_work"), event(2_010_000, "vmstat_update")],
            }),
            unobserved: vec!["SMIs: this processor does not count them".into()],
        }
    }
}
