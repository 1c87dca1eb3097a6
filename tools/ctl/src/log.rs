// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The logs of the module and of every core, merged by time.
//!
//! Called by `tacet log`. It owns how far each source has been read. It counts the records that were overwritten before
//! they were read.

use std::collections::BTreeMap;

use nix::errno::Errno;
use serde::Serialize;
use tacet_abi as abi;

use crate::facts::text;
use crate::hints::{self, Request};
use crate::{CpuSet, Device, Result};

const BATCH: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogSource {
    Module,
    Cpu(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    Info,
    Warning,
    Fatal,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogEntry {
    /// CLOCK_MONOTONIC, as in `dmesg`.
    pub time_ns: u64,
    /// The core; absent for the module.
    pub cpu: Option<u32>,
    pub level: LogLevel,
    pub sequence: u64,
    /// Records of this source that were overwritten right before this one.
    pub lost: u64,
    pub text: String,
}

#[derive(Debug)]
pub struct LogReader {
    sources: BTreeMap<LogSource, u64>,
    up_count: u32,
}

impl LogReader {
    /// `candidates` are the CPUs that a partition may have had: possible CPUs.
    pub fn new(candidates: &CpuSet) -> LogReader {
        let cpus = candidates.iter().map(LogSource::Cpu);
        let sources = std::iter::once(LogSource::Module).chain(cpus);
        LogReader { sources: sources.map(|source| (source, 0)).collect(), up_count: 0 }
    }

    /// The records since the last call, oldest first.
    pub fn read(&mut self, device: &Device) -> Result<Vec<LogEntry>> {
        self.begin(device.status()?.up_count);
        let mut entries = Vec::new();
        for (source, seen) in &mut self.sources {
            read_source(device, *source, seen, &mut entries)?;
        }
        Ok(merge(entries))
    }

    /// The cores of a new partition number their records from one again.
    fn begin(&mut self, up_count: u32) {
        if self.up_count != up_count {
            self.up_count = up_count;
            let cores = self.sources.iter_mut().filter(|(source, _)| **source != LogSource::Module);
            cores.for_each(|(_, seen)| *seen = 0);
        }
    }
}

fn read_source(device: &Device, source: LogSource, seen: &mut u64, into: &mut Vec<LogEntry>) -> Result<()> {
    let number = match source {
        LogSource::Module => abi::TACET_LOG_MODULE,
        LogSource::Cpu(cpu) => cpu,
    };
    let mut buffer = [abi::tacet_log_entry::default(); BATCH];
    loop {
        let (count, mut lost) = match device.log_read(number, *seen, &mut buffer) {
            Ok(read) => read,
            // This CPU was not in the last partition.
            Err(Errno::ENODEV | Errno::EINVAL) => return Ok(()),
            Err(errno) => return Err(hints::failure(&Request::Log, errno, "")),
        };
        let before = *seen;
        for raw in buffer.iter().take(count) {
            *seen = raw.sequence.max(*seen);
            into.push(entry(raw, source, std::mem::take(&mut lost)));
        }
        if count < BATCH || *seen == before {
            return Ok(());
        }
    }
}

fn entry(raw: &abi::tacet_log_entry, source: LogSource, lost: u64) -> LogEntry {
    LogEntry {
        time_ns: raw.time_ns,
        cpu: match source {
            LogSource::Module => None,
            LogSource::Cpu(cpu) => Some(cpu),
        },
        level: match raw.level {
            abi::TACET_LOG_INFO => LogLevel::Info,
            abi::TACET_LOG_WARNING => LogLevel::Warning,
            abi::TACET_LOG_FATAL => LogLevel::Fatal,
            _ => LogLevel::Unknown,
        },
        sequence: raw.sequence,
        lost,
        text: text(&raw.text),
    }
}

/// By time; records of one source keep their order.
fn merge(mut entries: Vec<LogEntry>) -> Vec<LogEntry> {
    entries.sort_by_key(|entry| (entry.time_ns, entry.cpu, entry.sequence));
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time_ns: u64, cpu: Option<u32>, sequence: u64) -> LogEntry {
        LogEntry { time_ns, cpu, level: LogLevel::Info, sequence, lost: 0, text: String::new() }
    }

    #[test]
    fn merges_by_time_then_source_then_order() {
        let merged =
            merge(vec![at(5, Some(2), 2), at(5, Some(2), 1), at(9, None, 1), at(1, Some(3), 7), at(5, None, 0)]);
        let order: Vec<_> = merged.iter().map(|entry| (entry.time_ns, entry.cpu, entry.sequence)).collect();
        assert_eq!(order, [(1, Some(3), 7), (5, None, 0), (5, Some(2), 1), (5, Some(2), 2), (9, None, 1)]);
    }

    #[test]
    fn a_new_partition_starts_the_cores_again() {
        let mut reader = LogReader::new(&[2, 3].into_iter().collect());
        reader.begin(1);
        reader.sources.values_mut().for_each(|seen| *seen = 9);
        reader.begin(1);
        assert!(reader.sources.values().all(|seen| *seen == 9));
        reader.begin(2);
        assert_eq!(reader.sources[&LogSource::Module], 9);
        assert_eq!(reader.sources[&LogSource::Cpu(2)], 0);
    }

    #[test]
    fn text_ends_at_zero_and_cannot_move_the_cursor() {
        let mut raw = abi::tacet_log_entry { level: 2, ..Default::default() };
        for (to, from) in raw.text.iter_mut().zip(b"bad\x1b[2Jnews\n\0old") {
            *to = *from as std::ffi::c_char;
        }
        let entry = entry(&raw, LogSource::Cpu(3), 4);
        assert_eq!((entry.text.as_str(), entry.level, entry.lost), ("bad?[2Jnews", LogLevel::Fatal, 4));
    }
}
