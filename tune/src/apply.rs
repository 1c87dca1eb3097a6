// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Brings the node into the state that all claims together want. All changes and all restorations go through here.
//!
//! Called when a claim comes or goes. First, objects that no claim wants any more are restored, the last change first.
//! Then wanted changes that are not in force are made, one countermeasure after the other. Each object's value is in
//! the journal, on the disk, before the object is written. A refusal by the kernel is reported and does not stop the
//! rest.

use std::io;

use nix::errno::Errno;
use serde::Serialize;

use crate::bystanders;
use crate::claim::{Claim, Owner};
use crate::cpus::Cpus;
use crate::error::{Result, reason};
use crate::journal::{Entry, Journal};
use crate::measures::{PARTITION, interrupts};
use crate::node::Node;
use crate::object::{Object, cpus_of};
use crate::plan::{Part, Plan, Step};
use crate::split::Change;
use crate::undo;

/// The result: all changes, restorations and failures.
#[derive(Debug, Default, Serialize)]
pub struct Done {
    pub changed: Vec<Event>,
    pub refused: Vec<Event>,
    /// Also refused, but expected for some objects of this kind: managed interrupts.
    pub kept: Vec<Event>,
    /// Interrupts that move when they next fire.
    pub pending: Vec<Event>,
    pub restored: Vec<Event>,
    /// Not restored, because the object no longer exists.
    pub gone: Vec<Event>,
    /// Restored, but the object does not show its old value; or impossible to restore.
    pub not_restored: Vec<Event>,
    /// Changes of an earlier boot, which ended with it.
    pub gone_with_boot: usize,
}

#[derive(Debug, Serialize)]
pub struct Event {
    pub measure: String,
    #[serde(flatten)]
    pub object: Object,
    /// The new value, or the error.
    pub text: String,
}

impl Event {
    pub fn new(measure: &str, object: &Object, text: impl Into<String>) -> Event {
        Event { measure: measure.to_owned(), object: object.clone(), text: text.into() }
    }
}

impl Done {
    /// Something that was to be done is not.
    pub fn is_partial(&self) -> bool {
        !self.refused.is_empty() || !self.not_restored.is_empty()
    }
}

pub fn reconcile(node: &dyn Node, journal: Journal, claims: &[Claim]) -> Result<Done> {
    Ok(reconcile_unless(node, journal, claims, &|| false)?.unwrap_or_default())
}

/// Makes the claims `before` again, in place of what `owner` has now: after an interrupted [`reconcile_unless`].
pub fn take_claim_back(node: &dyn Node, owner: &Owner, before: &[Claim]) -> Result<Done> {
    let journal = Journal::open(node)?;
    let others = journal.state.claims.iter().filter(|claim| claim.owner != *owner);
    let claims: Vec<Claim> = others.chain(before.iter().filter(|claim| claim.owner == *owner)).cloned().collect();
    reconcile(node, journal, &claims)
}

/// None if `stop` said so between two countermeasures: then those before it are in force, and the journal has them.
pub fn reconcile_unless(
    node: &dyn Node,
    mut journal: Journal,
    claims: &[Claim],
    stop: &dyn Fn() -> bool,
) -> Result<Option<Done>> {
    let mut done = Done { gone_with_boot: journal.gone_with_boot, ..Done::default() };
    let plan = Plan::make(node, &journal.state, claims)?;
    bystanders::record(node, &mut journal, claims)?;
    journal.claim(claims)?;
    let released = journal.state.entries.iter().filter(|entry| !plan.wants(&entry.object)).cloned();
    // threads last: the kernel does not let a thread back to a CPU that is in a partition or offline
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
        if stop() {
            return journal.close().map(|()| None);
        }
        apply(node, &mut journal, part, &mut done)?;
    }
    if done.changed.iter().any(|event| event.object.is_a_cpu()) {
        bind_again(node, &mut journal, claims, &mut done)?;
    }
    bystanders::compare(node, &mut journal, claims, &mut done)?;
    let late = interrupts::apply_again(node, &journal.state);
    journal.wait_for(late.iter().map(|late| late.waiting.clone()).collect())?;
    done.pending = late.iter().map(interrupts::Late::event).collect();
    journal.close()?;
    Ok(Some(done))
}

/// CPUs of partitions that stay. No other thread can return to them before the partition ends, so such threads stay in
/// the journal until then.
fn partitioned(journal: &Journal, claims: &[Claim]) -> Cpus {
    if !journal.state.entries.iter().any(|entry| entry.measure == PARTITION) {
        return Cpus::default();
    }
    let theirs = claims.iter().filter(|claim| claim.measures.contains_key(PARTITION));
    theirs.fold(Cpus::default(), |all, claim| all.union(&claim.cpus))
}

/// Could the thread run on these CPUs before it was bound?
fn may_run_on(entry: &Entry, cpus: &Cpus) -> bool {
    entry.original.as_deref().is_some_and(|shown| cpus_of(shown).overlaps(cpus))
}

/// Binds kernel threads again. Linux resets the affinity of some of its threads when a CPU goes offline (RCU's workers
/// of expedited grace periods, seen on 6.12).
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
    // only new entries are taken back: an object that was changed earlier and drifted stays, programs may be in it
    let fresh: Vec<Entry> =
        entries.iter().filter(|entry| journal.state.entry(&entry.object).is_none()).cloned().collect();
    journal.change(entries.clone())?;
    for entry in &entries {
        let Some(Refusal { cause, expected }) = attempt(node, entry) else {
            done.changed.push(Event::new(&entry.measure, &entry.object, entry.form.brief(&entry.wanted)));
            continue;
        };
        let list = if part.about.refusable && expected { &mut done.kept } else { &mut done.refused };
        list.push(Event::new(&entry.measure, &entry.object, cause));
        if part.about.whole {
            take_back(node, journal, part, &fresh, done)?;
            return journal.refuse(&entry.object);
        }
        // a refused object may be half changed; or unchanged, if an earlier process was killed after it wrote the
        // journal
        let untouched = entry.object.read(node).is_ok_and(|now| now == entry.original);
        if untouched || fresh.contains(entry) {
            undo::restore_silently(node, journal, entry)?;
        }
        journal.refuse(&entry.object)?;
    }
    Ok(())
}

/// The record of a change that must be made; None if the object is as it should be, or cannot be read.
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

struct Refusal {
    cause: String,
    /// The kernel says so of objects that it alone places, and of no others.
    expected: bool,
}

/// Writes the object; returns why it does not show the wanted value, or None if it does.
fn attempt(node: &dyn Node, entry: &Entry) -> Option<Refusal> {
    let Entry { object, form, wanted, .. } = entry;
    let before = object.read(node).ok().flatten().and_then(|shown| form.before(&shown));
    if let Err(error) = before.map_or(Ok(()), |word| object.write(node, word)).and_then(|()| object.write(node, wanted))
    {
        return Some(Refusal { cause: reason(&error), expected: always_refused(object, &error) });
    }
    match object.read(node) {
        Ok(now) if object.holds(*form, now.as_deref(), wanted) => None,
        Ok(now) => {
            let cause = format!("written, but it shows {}", object.brief(*form, now.as_deref()));
            Some(Refusal { cause, expected: true })
        }
        Err(error) => Some(Refusal { cause: reason(&error), expected: false }),
    }
}

/// Managed interrupts, and threads that are tied to their CPU. A file system that cannot be written, or a right that is
/// missing, is another matter.
fn always_refused(object: &Object, error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    match object {
        Object::Affinity { .. } => errno == Some(Errno::EINVAL),
        _ => matches!(errno, Some(Errno::EIO | Errno::EPERM)),
    }
}

/// Undoes a countermeasure that works only as a whole, after a part of it was refused.
fn take_back(node: &dyn Node, journal: &mut Journal, part: &Part, entries: &[Entry], done: &mut Done) -> Result<()> {
    done.changed.retain(|event| event.measure != part.measure);
    for entry in entries.iter().rev() {
        undo::restore_silently(node, journal, entry)?;
    }
    Ok(())
}
