// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Makes the node what all claims together want: the one way in which anything is changed or given back.
//!
//! Called when a claim comes or goes. First what nobody wants any more is put back, the last change first; then what is
//! wanted and not in force is changed, one countermeasure after the other. Each object's value is in the journal, on the
//! disk, before the object is written. What the kernel refuses is reported and does not stop the rest.

use serde::Serialize;

use crate::claim::Claim;
use crate::cpus::Cpus;
use crate::error::{Result, reason};
use crate::journal::{Entry, Journal};
use crate::measures::PARTITION;
use crate::node::Node;
use crate::object::{Object, cpus_of};
use crate::plan::{Part, Plan, Step};
use crate::split::Change;
use crate::undo;

/// What was done.
#[derive(Debug, Default, Serialize)]
pub struct Done {
    pub changed: Vec<Event>,
    pub refused: Vec<Event>,
    /// Refused too, as was to be expected of some objects of their kind: managed interrupts.
    pub kept: Vec<Event>,
    pub restored: Vec<Event>,
    /// Not put back, because it is not there any more.
    pub gone: Vec<Event>,
    /// Put back, but it does not show what it showed; or not to be put back.
    pub not_restored: Vec<Event>,
    /// Changes of an earlier boot, which ended with it.
    pub gone_with_boot: usize,
}

#[derive(Debug, Serialize)]
pub struct Event {
    pub measure: String,
    #[serde(flatten)]
    pub object: Object,
    /// The new value, or what was wrong.
    pub text: String,
}

impl Event {
    pub fn new(measure: &str, object: &Object, text: impl Into<String>) -> Event {
        Event { measure: measure.to_owned(), object: object.clone(), text: text.into() }
    }
}

pub fn reconcile(node: &dyn Node, mut journal: Journal, claims: &[Claim]) -> Result<Done> {
    let mut done = Done { gone_with_boot: journal.gone_with_boot, ..Done::default() };
    let plan = Plan::make(node, &journal.state, claims)?;
    journal.claim(claims)?;
    let released = journal.state.entries.iter().filter(|entry| !plan.wants(&entry.object)).cloned();
    // threads last: none may go back to a CPU that a partition has, or that is offline
    let (threads, others): (Vec<Entry>, Vec<Entry>) =
        released.partition(|entry| matches!(entry.object, Object::Affinity { .. }));
    for entry in others.iter().rev() {
        undo::restore(node, &mut journal, entry, &mut done)?;
    }
    let partitioned = partitioned(&journal, claims);
    for entry in threads.iter().rev().filter(|entry| !may_run_on(entry, &partitioned)) {
        undo::restore(node, &mut journal, entry, &mut done)?;
    }
    for part in &plan.parts {
        apply(node, &mut journal, part, &mut done)?;
    }
    if done.changed.iter().any(|event| event.object.is_a_cpu()) {
        bind_again(node, &mut journal, claims, &mut done)?;
    }
    journal.close()?;
    Ok(done)
}

/// CPUs to which no thread outside can go back before their partition has ended: until then it stays in the journal.
fn partitioned(journal: &Journal, claims: &[Claim]) -> Cpus {
    if !journal.state.entries.iter().any(|entry| entry.measure == PARTITION) {
        return Cpus::default();
    }
    let theirs = claims.iter().filter(|claim| claim.measures.contains_key(PARTITION));
    theirs.fold(Cpus::default(), |all, claim| all.union(&claim.cpus))
}

/// It did so before it was bound.
fn may_run_on(entry: &Entry, cpus: &Cpus) -> bool {
    entry.original.as_deref().is_some_and(|shown| cpus_of(shown).overlaps(cpus))
}

/// Linux binds some of its own threads anew when a CPU goes (RCU's workers of expedited grace periods, seen on 6.12).
fn bind_again(node: &dyn Node, journal: &mut Journal, claims: &[Claim], done: &mut Done) -> Result<()> {
    for mut part in Plan::make(node, &journal.state, claims)?.parts {
        let refused = &journal.state.refused;
        part.changes.retain(|Step { change: Change { object, .. }, .. }| {
            matches!(object, Object::Affinity { .. }) && !refused.contains(object)
        });
        apply(node, journal, &part, done)?;
    }
    Ok(())
}

fn apply(node: &dyn Node, journal: &mut Journal, part: &Part, done: &mut Done) -> Result<()> {
    let entries: Vec<Entry> =
        part.changes.iter().filter_map(|step| due(node, journal, part, &step.change, done)).collect();
    // what was in force once and cannot be repaired stays: programs may be in it
    let fresh: Vec<Entry> =
        entries.iter().filter(|entry| journal.state.entry(&entry.object).is_none()).cloned().collect();
    journal.change(entries.clone())?;
    for entry in &entries {
        let Some(cause) = attempt(node, entry) else {
            done.changed.push(Event::new(&entry.measure, &entry.object, entry.form.brief(&entry.wanted)));
            continue;
        };
        let list = if part.about.refusable { &mut done.kept } else { &mut done.refused };
        list.push(Event::new(&entry.measure, &entry.object, cause));
        if part.about.whole {
            take_back(node, journal, part, &fresh, done)?;
            return journal.refuse(&entry.object);
        }
        // what was refused may have been changed by half; or never, by one who was killed after writing it down
        let untouched = entry.object.read(node).is_ok_and(|now| now == entry.original);
        if untouched || fresh.contains(entry) {
            undo::restore_silently(node, journal, entry)?;
        }
        journal.refuse(&entry.object)?;
    }
    Ok(())
}

/// The record of a change that is to be made; none if the object is as it should be, or cannot be read.
fn due(node: &dyn Node, journal: &Journal, part: &Part, change: &Change, done: &mut Done) -> Option<Entry> {
    let Change { object, form, wanted, .. } = change;
    let now = match object.read(node) {
        Ok(now) => now,
        Err(error) => {
            done.refused.push(Event::new(part.measure, object, reason(&error)));
            return None;
        }
    };
    let known = journal.state.entry(object);
    if object.holds(*form, now.as_deref(), wanted) && known.is_none_or(|entry| entry.wanted == *wanted) {
        return None;
    }
    let original = known.map_or(now, |entry| entry.original.clone());
    let (measure, object, wanted) = (part.measure.to_owned(), object.clone(), wanted.clone());
    Some(Entry { measure, object, form: *form, original, wanted })
}

/// Why it did not come to show what is wanted; `None` if it does.
fn attempt(node: &dyn Node, entry: &Entry) -> Option<String> {
    let Entry { object, form, wanted, .. } = entry;
    let before = object.read(node).ok().flatten().and_then(|shown| form.before(&shown));
    if let Err(error) = before.map_or(Ok(()), |word| object.write(node, word)).and_then(|()| object.write(node, wanted))
    {
        return Some(reason(&error));
    }
    match object.read(node) {
        Ok(now) if object.holds(*form, now.as_deref(), wanted) => None,
        Ok(now) => Some(format!("written, but it shows {}", object.brief(*form, now.as_deref()))),
        Err(error) => Some(reason(&error)),
    }
}

/// A countermeasure that is whole or nothing, and cannot be whole.
fn take_back(node: &dyn Node, journal: &mut Journal, part: &Part, entries: &[Entry], done: &mut Done) -> Result<()> {
    done.changed.retain(|event| event.measure != part.measure);
    for entry in entries.iter().rev() {
        undo::restore_silently(node, journal, entry)?;
    }
    Ok(())
}
