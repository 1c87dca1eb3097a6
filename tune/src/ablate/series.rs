// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Switches countermeasures off and on, and measures each state.
//!
//! A host slowly changes its speed. So a measurement with all countermeasures precedes each measurement without one,
//! and every other round has the reverse order. Each switch is an ordinary `apply`, so the journal knows at every
//! instant what must be undone. Nothing may stay applied, whatever fails.

use std::collections::BTreeMap;

use super::laboratory::{Laboratory, Reading, Source};
use super::table::{Off, Table};
use crate::apply::{Done, reconcile};
use crate::claim::{self, Claim};
use crate::cpus::Cpus;
use crate::error::{Error, Result};
use crate::journal::{self, Journal};
use crate::measures;
use crate::node::{self, Node};
use crate::object::Object;
use crate::plan::{self, Plan, Step};

/// The name of the row without any countermeasure.
const ALL: &str = "all of them";

/// What a series found, and the error that ended it early or left something applied.
pub type Found = (Table, Option<Error>);

/// Measures, then undoes everything. Nothing may be applied at the start. Calls `say` before each step. Measurements that
/// an error or a signal ends early are a table, too, if one of them was without a countermeasure.
pub fn series(
    node: &dyn Node,
    laboratory: &mut dyn Laboratory,
    claim: &Claim,
    rounds: usize,
    say: &mut dyn FnMut(String),
) -> Result<Found> {
    let state = journal::read(node)?;
    let this_boot = node::boot(node).is_ok_and(|boot| boot == state.boot);
    if this_boot && !(state.claims.is_empty() && state.entries.is_empty()) {
        return Err(Error::new("node", "something is applied already", "`tacet tune undo` first"));
    }
    let table = measured(node, laboratory, claim, rounds, say);
    say("giving everything back".to_owned());
    let back = without_us(node, claim)?;
    let (table, ended) = table?;
    let left = back.not_restored.first();
    let left = left.map(|event| Error::new(&event.object, &event.text, "`tacet tune undo` tries again"));
    Ok((table, left.or(ended)))
}

fn measured(
    node: &dyn Node,
    laboratory: &mut dyn Laboratory,
    claim: &Claim,
    rounds: usize,
    say: &mut dyn FnMut(String),
) -> Result<Found> {
    let mut series = Series { node, laboratory, claim, cpus: Cpus::default(), refused: Vec::new(), untraced: None };
    series.refused = series.switch(claim)?.refused.into_iter().map(|event| event.object).collect();
    let state = journal::read(node)?;
    series.cpus = claim.cpus.without(&state.offline());
    // if two countermeasures share an object, the journal has it under the name of one of them
    let parts = Plan::make(node, &state, std::slice::from_ref(claim))?.parts;
    let known = |step: &Step| state.entry(&step.change.object).is_some();
    let in_force = |name: &&String| parts.iter().any(|part| part.measure == **name && part.changes.iter().any(known));
    let (applied, idle): (Vec<&String>, Vec<&String>) = claim.measures.keys().partition(in_force);
    if applied.is_empty() {
        return Err(Error::new("node", "there is nothing to switch off on it", "`tacet tune plan` shows why"));
    }
    let mut offs: Vec<Off> = applied.iter().map(|name| Off::of(name, stops(name))).collect();
    if applied.len() > 1 {
        offs.push(Off::of(ALL, ""));
    }
    let mut baseline = Vec::new();
    let ended = series.rounds(rounds, &mut baseline, &mut offs, say).err();
    if let Some(error) = ended.as_ref().filter(|_| offs.iter().all(|off| off.readings.is_empty())) {
        return Err(error.clone());
    }
    let idle = idle.into_iter().cloned().collect();
    let system = plan::online(node, &state)?.without(&claim.cpus);
    let mut table = Table::new(series.cpus, system, rounds, baseline, offs, idle, series.untraced);
    table.partial = ended.as_ref().map(Error::to_string);
    Ok((table, ended))
}

fn stops(measure: &str) -> &'static str {
    measures::named(measure).map_or("", |measure| measure.about().stops)
}

struct Series<'a> {
    node: &'a dyn Node,
    laboratory: &'a mut dyn Laboratory,
    claim: &'a Claim,
    /// The measured CPUs: the application's, without the siblings that were taken offline.
    cpus: Cpus,
    /// Objects that the kernel refused to change at the start.
    refused: Vec<Object>,
    /// Why no thieves are known.
    untraced: Option<String>,
}

impl Series<'_> {
    fn rounds(
        &mut self,
        rounds: usize,
        baseline: &mut Vec<Reading>,
        offs: &mut [Off],
        say: &mut dyn FnMut(String),
    ) -> Result<()> {
        let mut usual = Vec::new();
        for round in 0..rounds {
            let mut order: Vec<&mut Off> = offs.iter_mut().collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for off in order {
                let name = off.measure.clone();
                say(format!("round {} of {rounds}: with all, then without {name}", round + 1));
                baseline.push(self.laboratory.measure(&self.cpus)?);
                if baseline.len() == 1 {
                    usual = self.trace()?;
                }
                self.without(off, &usual, round == 0)?;
            }
        }
        baseline.push(self.laboratory.measure(&self.cpus)?);
        Ok(())
    }

    /// Switches one countermeasure off, measures, switches it on again.
    fn without(&mut self, off: &mut Off, usual: &[Source], trace: bool) -> Result<()> {
        let done = if off.measure == ALL { without_us(self.node, self.claim)? } else { self.switch(&self.rest(off))? };
        if let Some(event) = done.not_restored.first() {
            off.complaint = Some(format!("{} was not given back: {}", event.object, event.text));
        }
        let reading: Reading = self.laboratory.measure(&self.cpus)?;
        off.readings.push(reading);
        if trace {
            off.thief = thief(&self.trace()?, usual);
        }
        let done = self.switch(self.claim)?;
        if let Some(event) = done.refused.iter().find(|event| !self.refused.contains(&event.object)) {
            off.complaint = Some(format!("{} was not applied again: {}", event.object, event.text));
        }
        Ok(())
    }

    fn rest(&self, off: &Off) -> Claim {
        let mut rest = self.claim.clone();
        rest.measures.remove(&off.measure);
        rest
    }

    /// Applies this claim beside the claims of jobs that began meanwhile.
    fn switch(&self, to: &Claim) -> Result<Done> {
        let journal = Journal::open(self.node)?;
        let online = plan::online(self.node, &journal.state)?;
        match claim::join(&journal.state.claims, to.clone(), &online) {
            Ok(claims) => reconcile(self.node, journal, &claims),
            Err(error) => journal.close().and(Err(error)),
        }
    }

    /// Empty after the laboratory has once said why it cannot trace.
    fn trace(&mut self) -> Result<Vec<Source>> {
        if self.untraced.is_some() {
            return Ok(Vec::new());
        }
        match self.laboratory.trace(&self.cpus)? {
            Ok(sources) => Ok(sources),
            Err(why) => {
                self.untraced = Some(why);
                Ok(Vec::new())
            }
        }
    }
}

fn without_us(node: &dyn Node, claim: &Claim) -> Result<Done> {
    let journal = Journal::open(node)?;
    let others: Vec<Claim> = journal.state.claims.iter().filter(|other| other.owner != claim.owner).cloned().collect();
    reconcile(node, journal, &others)
}

/// The source whose share of the noise grew most.
fn thief(now: &[Source], usual: &[Source]) -> Option<Source> {
    let key = |source: &Source| (source.kind.clone(), source.name.clone(), source.origin.clone());
    let before: BTreeMap<_, f64> = usual.iter().map(|source| (key(source), source.explained_ns)).collect();
    let grown = |source: &Source| source.explained_ns - before.get(&key(source)).copied().unwrap_or(0.0);
    let most = now.iter().max_by(|a, b| grown(a).total_cmp(&grown(b)))?;
    (grown(most) > 0.0).then(|| most.clone())
}
