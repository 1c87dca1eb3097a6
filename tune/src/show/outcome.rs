// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The output of apply and undo, of verify, and of status.

use super::{alike, count, table};
use crate::apply::{Done, Event};
use crate::journal::State;
use crate::rehearse::Rehearsed;
use crate::verify::Verdict;

const PENDING: &str = "PENDING: the kernel moves it when it next fires";

pub fn done(done: &Done) -> String {
    let mut text = String::new();
    if done.gone_with_boot > 0 {
        text += &format!("{} had ended with the last boot\n", count(done.gone_with_boot, "change"));
    }
    text += &events("changed", &done.changed);
    text += &events("given back", &done.restored);
    text += &events("gone meanwhile", &done.gone);
    text += &events("NOT given back", &done.not_restored);
    text += &events("REFUSED by the kernel, left as it was", &done.refused);
    text += &events("kept by the kernel, which alone places it", &done.kept);
    text += &events(PENDING, &done.pending);
    if done.is_partial() {
        let left = done.refused.len() + done.not_restored.len();
        text += &format!("done in part: {} is not as it was asked for\n", count(left, "object"));
    }
    if text.is_empty() { "nothing to change\n".to_owned() } else { text }
}

pub fn rehearsed(rehearsed: &Rehearsed) -> String {
    let text = events("would change", &rehearsed.changes) + &events("would give back", &rehearsed.restores);
    if text.is_empty() { "nothing to change\n".to_owned() } else { text }
}

pub fn verdict(verdict: &Verdict) -> String {
    let mut text = format!("{} in force\n", count(verdict.in_force, "object"));
    text += &events("DRIFTED: somebody changed it since", &verdict.drifted);
    text += &events("GONE", &verdict.gone);
    text += &events("NEW: to be changed, but not there when it was applied", &verdict.new);
    text += &events(PENDING, &verdict.pending);
    text += &events("the kernel did not let it change when it was applied", &verdict.refused);
    if !verdict.holds() {
        text += "`tacet tune apply` (or `job begin`) with the same arguments repairs it\n";
    }
    text
}

fn events(head: &str, events: &[Event]) -> String {
    if events.is_empty() {
        return String::new();
    }
    let rows = |event: &Event| format!("{}: {}", event.measure, event.text.trim().replace('\n', " "));
    let lines = alike::lines(events, |event| &event.object, rows);
    let rows = lines.into_iter().map(|(object, rest)| {
        let (measure, said) = rest.split_once(": ").unwrap_or(("", &rest));
        vec![measure.to_owned(), object, said.to_owned()]
    });
    format!("{head}: {}\n{}", events.len(), table(2, rows))
}

pub fn status(state: &State, this_boot: bool) -> String {
    if state.claims.is_empty() && state.entries.is_empty() {
        return "nothing is applied\n".to_owned();
    }
    let claims = state.claims.iter().map(|claim| {
        let names: Vec<String> = claim
            .measures
            .iter()
            .map(|(name, number)| match number {
                Some(number) => format!("{name}={number}"),
                None => name.clone(),
            })
            .collect();
        vec![claim.owner.to_string(), claim.cpus.named(), names.join(",")]
    });
    let mut text = table(0, claims);
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for entry in &state.entries {
        match counts.iter_mut().find(|(name, _)| *name == entry.measure) {
            Some((_, count)) => *count += 1,
            None => counts.push((&entry.measure, 1)),
        }
    }
    let counts: Vec<String> = counts.iter().map(|(name, number)| format!("{name} {number}")).collect();
    text += &format!("{}: {}\n", count(state.entries.len(), "change"), counts.join(", "));
    if !this_boot {
        text += "all from an earlier boot: none of it is in force\n";
    }
    text
}
