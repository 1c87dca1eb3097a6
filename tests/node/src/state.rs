// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The facts about a node that every scenario must leave unchanged.
//!
//! Defines "nothing is left". The runner calls [`State::read`] before and after a scenario; [`State::compare`] names each
//! difference in one line.

use tacet_node::{Node, unnamed_pages};

use crate::stage::shell;

/// So many more unnamed pages than before are no error: fewer than the smallest block of a partition has (512).
const NOISE_PAGES: i64 = 400;

/// The facts, as `state.sh` prints them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct State {
    facts: Vec<(String, String)>,
    unnamed_pages: i64,
}

impl State {
    /// Reads the facts; state.sh folds the counters first.
    pub fn read(node: &Node) -> Result<State, String> {
        let output = node.run(&shell("bash $F/state.sh")).map_err(|e| e.to_string())?;
        let text = output.text();
        let (facts, zones) = text.split_once("zoneinfo\n").ok_or(format!("state.sh: {}", output.error_text()))?;
        let facts = facts.lines().filter_map(|line| line.split_once(": "));
        Ok(State {
            facts: facts.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect(),
            unnamed_pages: unnamed_pages(zones)?,
        })
    }

    /// What differs from `before`, on a kernel of this slowness: one that keeps stacks of each object keeps more of them.
    pub fn compare(&self, before: &State, slowness: u32) -> Vec<String> {
        let mut wrong = Vec::new();
        for ((name, now), (_, then)) in self.facts.iter().zip(&before.facts) {
            if now != then {
                wrong.push(format!("{name}: {now}, before {then}"));
            }
        }
        let more = self.unnamed_pages - before.unnamed_pages;
        if more > NOISE_PAGES * i64::from(slowness) {
            wrong.push(format!("memory: {more} pages were not given back"));
        }
        wrong
    }

    /// How many more unnamed pages there are than `before`.
    pub fn pages_more(&self, before: &State) -> i64 {
        self.unnamed_pages - before.unnamed_pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(online: &str, unnamed_pages: i64) -> State {
        State { facts: vec![("online".into(), online.into())], unnamed_pages }
    }

    #[test]
    fn a_lost_cpu_or_block_is_seen() {
        let before = state("0-3", 5000);
        assert!(state("0-3", 5100).compare(&before, 1).is_empty());
        assert_eq!(state("0-2", 5000).compare(&before, 1), ["online: 0-2, before 0-3"]);
        assert_eq!(state("0-3", 5512).compare(&before, 1).len(), 1);
        assert!(state("0-3", 5512).compare(&before, 4).is_empty());
        assert_eq!(state("0-3", 7000).compare(&before, 4).len(), 1);
    }
}
