// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How long each scenario took the last time: `build/test-times.tsv`, with `FULL=1` `build/test-times-full.tsv`.
//!
//! Tab-separated: seconds, how many of them were for booting, CPU seconds of the node's emulator, kernel, scenario. A
//! person sorts it to see what costs most; the runner uses it to keep both of its lanes busy to the end.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use tacet_node::KernelLine;

use crate::stage;

const HEAD: &str = "seconds\tboot\tcpu\tkernel\tscenario\n";
/// Of `/proc/PID/stat`.
const TICKS_PER_SECOND: u64 = 100;

/// What a scenario took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Took {
    pub seconds: u64,
    /// Of them, until its node was ready.
    pub boot: u64,
    /// CPU seconds of the node's emulator while it ran; 0 if the node ended.
    pub cpu: u64,
}

#[derive(Debug, Default)]
pub struct Times {
    path: PathBuf,
    rows: BTreeMap<(String, String), Took>,
}

impl Times {
    pub fn read(full: bool) -> Times {
        let name = if full { "test-times-full.tsv" } else { "test-times.tsv" };
        let path = stage::top().join("build").join(name);
        let rows = parse(&fs::read_to_string(&path).unwrap_or_default());
        Times { path, rows }
    }

    pub fn seconds(&self, kernel: KernelLine, scenario: &str) -> Option<u64> {
        self.rows.get(&(kernel.to_string(), scenario.to_owned())).map(|took| took.seconds)
    }

    /// Written at once: a run that is interrupted has told what it knows.
    pub fn set(&mut self, kernel: KernelLine, scenario: &str, took: Took) {
        self.rows.insert((kernel.to_string(), scenario.to_owned()), took);
        if let Err(error) = fs::write(&self.path, self.text()) {
            eprintln!("{}: {error}", self.path.display());
        }
    }

    fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for ((kernel, scenario), took) in &self.rows {
            // writing to a string does not fail
            let _ = writeln!(text, "{}\t{}\t{}\t{kernel}\t{scenario}", took.seconds, took.boot, took.cpu);
        }
        text
    }
}

/// Lines that are none of ours are left out.
fn parse(text: &str) -> BTreeMap<(String, String), Took> {
    let row = |line: &str| {
        let mut words = line.split('\t');
        let mut number = || words.next()?.parse().ok();
        let took = Took { seconds: number()?, boot: number()?, cpu: number()? };
        Some(((words.next()?.to_owned(), words.next()?.to_owned()), took))
    };
    text.lines().filter_map(row).collect()
}

/// What a process has used so far; 0 if there is none.
pub fn cpu_seconds(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    cpu_ticks(&stat).unwrap_or_default() / TICKS_PER_SECOND
}

/// User and system time; a process's name may hold blanks and parentheses.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let mut words = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut number = || words.next()?.parse::<u64>().ok();
    Some(number()? + number()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_they_were_written() {
        let took = Took { seconds: 30, boot: 8, cpu: 41 };
        let rows = BTreeMap::from([(("6.12".to_owned(), "more threads than cores".to_owned()), took)]);
        let times = Times { path: PathBuf::new(), rows };
        assert_eq!(parse(&times.text()), times.rows);
        assert_eq!(times.seconds(KernelLine::V6_12, "more threads than cores"), Some(30));
        assert_eq!(times.seconds(KernelLine::V7, "more threads than cores"), None);
        assert!(parse("a\tb\n").is_empty());
    }

    #[test]
    fn cpu_time_is_of_user_and_system() {
        let stat = "42 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 700 50 0 0 20 0";
        assert_eq!(cpu_ticks(stat), Some(750));
        assert_eq!(cpu_ticks(""), None);
    }
}
