// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A record: the samples as columns, and all facts that explain them later.
//!
//! The file is Parquet with the columns of [`Samples`] and, in its footer under the key [`KEY`], [`About`] as JSON.
//! A record from many nodes has three more columns, `run`, `rank` and `node` (see [`across`]).
//! Units are in the names. Only `read.rs` and `write.rs` know the file format.

pub mod across;
mod read;
pub mod redact;
pub mod thieves;
mod write;

pub(crate) use read::{column, offsets_are_inside, read_whole};
pub(crate) use write::{partial, whole_or_nothing};

use serde::{Deserialize, Serialize};

/// The key of [`About`] in the footer.
pub const KEY: &str = "tacet.noise";
/// Version of the schema; a file with another version is refused.
pub const SCHEMA: u32 = 1;

/// How noise is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Fixed work: repeats the same work and measures how long each repetition takes
    Fwq,
    /// Fixed time: counts the work done in each interval
    Ftq,
    /// Selfish detour: reads the time in a loop and records the jumps
    Selfish,
    /// Wake-up latencies, only imported: another quantity than noise. They have no baseline, no rate and no times
    #[value(skip)]
    Latency,
}

/// The work of the measuring loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Kernel {
    /// Dependent integer arithmetic, without memory accesses
    Register,
    /// y = a x + y over 256 elements that fit in the level-1 cache
    Daxpy,
}

/// One row per sample; the rows of a CPU are together and in order of time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples {
    /// The CPU's number. In a record from many nodes the index into `Across::places`; its file has the CPU's number.
    pub cpu: Vec<u32>,
    /// Since the beginning of the record's first sample. In a record from many nodes, since the first sample of the
    /// same rank, because nodes have no common clock.
    pub start_ns: Vec<u64>,
    /// Length of the quantum (fixed work), the interval (fixed time) or the detour.
    pub length_ns: Vec<u64>,
    /// Units of work in the sample; 0 for a detour.
    pub work_units: Vec<u64>,
}

/// Counters of one measuring thread during its measurement; `None` if the machine does not provide them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    pub cpu: u32,
    /// From the beginning of the first sample to the end of the last.
    pub measured_ns: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub migrations: Option<u64>,
    /// Instructions of the thread in user mode.
    pub instructions: Option<u64>,
    /// Selfish detour only: detours that were not stored for lack of room.
    pub lost: u64,
    /// Selfish detour only: the least distance between two readings of the time.
    pub shortest_ns: u64,
}

/// The description of a record, in its footer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct About {
    pub schema: u32,
    /// Version of the tool that measured.
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
    /// As requested: the quantum, the interval, or the shortest detour.
    pub quantum_ns: f64,
    /// Units of work in a quantum; 0 unless the method is fixed work.
    pub units: u64,
    pub time_source: String,
    pub ticks_per_second: f64,
    pub memory_locked: bool,
    pub huge_pages: bool,
    pub realtime_priority: Option<u8>,
    pub counters: Vec<Counters>,
    /// What happened during the measurement that its reader must know, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Only in a traced record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thieves: Option<thieves::Thieves>,
    /// Only in a record from many nodes.
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

    /// For each CPU its number and the range of its rows.
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

impl Record {
    /// Fails if the record is of another quantity than noise; `what` needs noise.
    pub fn must_be_noise(&self, what: &str) -> crate::Result<()> {
        match self.about.method {
            Method::Latency => Err(format!(
                "{}: it has wake-up latencies, which are not noise: {what} (`tacet noise analyse` shows them)",
                self.about.label
            )
            .into()),
            _ => Ok(()),
        }
    }
}

impl Method {
    pub fn name(self) -> &'static str {
        match self {
            Method::Fwq => "fixed work",
            Method::Ftq => "fixed time",
            Method::Selfish => "selfish detour",
            Method::Latency => "wake-up latency",
        }
    }
}

#[cfg(test)]
pub mod examples {
    use super::thieves::{Event, Kind, Source, Stopped, Thieves};
    use super::*;

    /// A record with samples of the given lengths, all on CPU 0, one after the other.
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
            warnings: Vec::new(),
            thieves: None,
            across: None,
        }
    }

    /// A trace of 8 ms of noise that explains all but 1 ms; one of its programs has a hostile name.
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
