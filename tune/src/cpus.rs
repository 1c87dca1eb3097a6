// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A set of CPUs (or NUMA nodes), and its two forms in kernel files: the list `0-3,8` and the mask `00000000,0000010f`.
//!
//! Owns both forms. Must reject numbers that no kernel has.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// More than any kernel is built for.
const LARGEST: u32 = 8191;
const WORD_BITS: u32 = 32;

#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cpus(BTreeSet<u32>);

impl Cpus {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    pub fn without(&self, other: &Cpus) -> Cpus {
        Cpus(self.0.difference(&other.0).copied().collect())
    }

    pub fn union(&self, other: &Cpus) -> Cpus {
        Cpus(self.0.union(&other.0).copied().collect())
    }

    pub fn intersection(&self, other: &Cpus) -> Cpus {
        Cpus(self.0.intersection(&other.0).copied().collect())
    }

    pub fn is_subset(&self, other: &Cpus) -> bool {
        self.0.is_subset(&other.0)
    }

    pub fn overlaps(&self, other: &Cpus) -> bool {
        !self.0.is_disjoint(&other.0)
    }

    /// `CPU 3` or `CPUs 2-3`, for sentences.
    pub fn named(&self) -> String {
        format!("{} {self}", if self.len() == 1 { "CPU" } else { "CPUs" })
    }

    /// Hexadecimal words of 32 bits, the highest first, as in `/sys`.
    pub fn mask(&self) -> String {
        let words = self.0.last().map_or(1, |last| last / WORD_BITS + 1);
        let word =
            |at: u32| (0..WORD_BITS).filter(|bit| self.contains(at * WORD_BITS + bit)).fold(0u32, |w, b| w | 1 << b);
        let (highest, rest) = (word(words - 1), (0..words - 1).rev().map(|at| format!(",{:08x}", word(at))));
        format!("{highest:x}{}", rest.collect::<String>())
    }

    /// Reads a mask as the kernel writes it; `None` if it is not one.
    pub fn from_mask(text: &str) -> Option<Cpus> {
        let mut cpus = BTreeSet::new();
        for (at, word) in text.trim().rsplit(',').enumerate() {
            let (word, base) = (u32::from_str_radix(word, 16).ok()?, u32::try_from(at).ok()? * WORD_BITS);
            cpus.extend((0..WORD_BITS).filter(|bit| word >> bit & 1 == 1).map(|bit| base + bit));
        }
        Some(Cpus(cpus))
    }

    /// Reads a list as the kernel writes it, also an empty one; `None` if it is not one.
    pub fn from_list(text: &str) -> Option<Cpus> {
        match text.trim() {
            "" | "(null)" => Some(Cpus::default()),
            list => list.parse().ok(),
        }
    }
}

impl FromStr for Cpus {
    type Err = String;

    /// At least one CPU: `2-3`, `1,4-6`, `8-14:2`.
    fn from_str(text: &str) -> Result<Cpus, String> {
        tacet_words::values::cpus(text).map(Cpus)
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for cpu in self.iter() {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => runs.push((cpu, cpu)),
            }
        }
        let words =
            runs.iter().map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") });
        f.write_str(&words.collect::<Vec<_>>().join(","))
    }
}

impl FromIterator<u32> for Cpus {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Cpus {
        Cpus(cpus.into_iter().filter(|cpu| *cpu <= LARGEST).collect())
    }
}

impl Serialize for Cpus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cpus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Cpus, D::Error> {
        let text = String::deserialize(deserializer)?;
        Cpus::from_list(&text).ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not a list of CPUs")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_forms_say_the_same(cpus in proptest::collection::btree_set(0u32..200, 1..40)) {
            let cpus: Cpus = cpus.into_iter().collect();
            prop_assert_eq!(&cpus.to_string().parse::<Cpus>().unwrap(), &cpus);
            prop_assert_eq!(&Cpus::from_mask(&cpus.mask()).unwrap(), &cpus);
        }
    }

    #[test]
    fn the_kernels_words() {
        let cpus: Cpus = "0-3,8".parse().unwrap();
        assert_eq!((cpus.mask(), cpus.to_string()), ("10f".into(), "0-3,8".into()));
        assert_eq!(Cpus::from_mask("00000001,00000003\n").unwrap().to_string(), "0-1,32");
        assert_eq!("0-6:2".parse::<Cpus>().unwrap().to_string(), "0,2,4,6");
        assert_eq!(Cpus::from_list("\n"), Some(Cpus::default()));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for text in ["", " ", "a", "1-", "-1", "3-2", "1,,2", "1;2", "$(x)", "99999", "0-4:0", "1 2", "+1"] {
            assert!(text.parse::<Cpus>().is_err(), "{text}");
        }
    }
}
