// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A set of Linux CPU numbers, and its text form `0-3,8,10-12:2`.
//!
//! Called by all code that reads a CPU list from a person or from sysfs. It must reject a number that the border cannot
//! carry.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use tacet_abi::{TACET_CPU_WORDS, TACET_MAX_CPUS};

use crate::Error;

const WORDS: usize = TACET_CPU_WORDS as usize;

/// CPUs 0 to 1023, as the border carries them: bit n is CPU n.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuSet {
    words: [u64; WORDS],
}

impl CpuSet {
    pub fn from_words(words: [u64; WORDS]) -> Self {
        CpuSet { words }
    }

    pub fn words(&self) -> [u64; WORDS] {
        self.words
    }

    /// Adds a CPU; false if the border has no bit for it.
    pub fn insert(&mut self, cpu: u32) -> bool {
        match self.words.get_mut(cpu as usize / 64) {
            Some(word) => {
                *word |= 1 << (cpu % 64);
                true
            }
            None => false,
        }
    }

    pub fn contains(&self, cpu: u32) -> bool {
        self.words.get(cpu as usize / 64).is_some_and(|word| word >> (cpu % 64) & 1 == 1)
    }

    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..TACET_MAX_CPUS).filter(|cpu| self.contains(*cpu))
    }

    /// The CPUs of `self` that are not in `other`.
    pub fn without(&self, other: &CpuSet) -> CpuSet {
        self.combine(other, |mine, theirs| mine & !theirs)
    }

    pub fn intersection(&self, other: &CpuSet) -> CpuSet {
        self.combine(other, |mine, theirs| mine & theirs)
    }

    pub fn union(&self, other: &CpuSet) -> CpuSet {
        self.combine(other, |mine, theirs| mine | theirs)
    }

    /// `CPU 3` or `CPUs 2-3`, for messages.
    pub fn named(&self) -> String {
        format!("{} {self}", if self.count() == 1 { "CPU" } else { "CPUs" })
    }

    fn combine(&self, other: &CpuSet, f: impl Fn(u64, u64) -> u64) -> CpuSet {
        CpuSet { words: std::array::from_fn(|i| f(self.words[i], other.words[i])) }
    }

    /// Runs of consecutive CPUs, first and last.
    fn runs(&self) -> Vec<(u32, u32)> {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for cpu in self.iter() {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => runs.push((cpu, cpu)),
            }
        }
        runs
    }
}

impl FromStr for CpuSet {
    type Err = Error;

    /// An empty text is the empty set, as in sysfs.
    fn from_str(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(CpuSet::default());
        }
        let cpus = tacet_words::values::cpus(text).map_err(Error::said)?;
        if let Some(cpu) = cpus.iter().find(|cpu| **cpu >= TACET_MAX_CPUS) {
            let cause = format!("CPU {cpu} is beyond the largest supported, {}", TACET_MAX_CPUS - 1);
            return Err(Error::new(format!("CPU list `{text}`"), cause, "write it like 2-3 or 1,4-6,8-14:2"));
        }
        Ok(cpus.into_iter().collect())
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (first, last)) in self.runs().into_iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            match last - first {
                0 => write!(f, "{comma}{first}")?,
                _ => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        let mut set = CpuSet::default();
        cpus.into_iter().for_each(|cpu| {
            set.insert(cpu);
        });
        set
    }
}

impl Serialize for CpuSet {
    /// JSON gets numbers: `[2, 3]`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}
