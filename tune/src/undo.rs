// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Restores old values, to the byte.
//!
//! Called by `apply.rs` for objects that no claim wants any more; after `tacet tune undo` that is all of them. Safe to
//! repeat: an object that shows its original value is not written, and the journal forgets an object only then.

use crate::apply::{Done, Event};
use crate::error::{Result, reason};
use crate::journal::{Entry, Journal, State};
use crate::node::Node;
use crate::object::{Object, cpus_of};
use crate::plan;

enum Outcome {
    Back,
    /// The thread has ended or the device was unplugged: there is nothing to restore.
    Gone,
    /// The old value cannot be restored, and another attempt would not help.
    Otherwise(String),
}

/// Restores an object and removes it from the journal. If that fails, it stays in the journal for the next attempt.
pub fn restore(node: &dyn Node, journal: &mut Journal, entry: &Entry, done: &mut Done) -> Result<()> {
    let event = |text: String| Event::new(&entry.measure, &entry.object, text);
    match attempt(node, entry) {
        Ok(Outcome::Back) => {
            done.restored.push(event(entry.object.brief(entry.form, entry.original.as_deref())));
        }
        Ok(Outcome::Gone) => done.gone.push(event("it has gone".to_owned())),
        Ok(Outcome::Otherwise(text)) => done.not_restored.push(event(text)),
        Err(cause) => {
            done.not_restored.push(event(cause));
            return Ok(());
        }
    }
    journal.forget(std::slice::from_ref(&entry.object))
}

/// The same after a refusal, which has been reported already.
pub fn restore_silently(node: &dyn Node, journal: &mut Journal, entry: &Entry) -> Result<()> {
    restore(node, journal, entry, &mut Done::default())
}

/// After an error, another attempt may succeed.
fn attempt(node: &dyn Node, entry: &Entry) -> std::result::Result<Outcome, String> {
    let Entry { object, form, original, wanted, .. } = entry;
    let fail = |error: std::io::Error| reason(&error);
    let now = object.read(node).map_err(fail)?;
    if now == *original {
        return Ok(Outcome::Back);
    }
    if now.is_none() {
        return Ok(Outcome::Gone);
    }
    object.restore(node, *form, original.as_deref(), wanted).map_err(fail)?;
    let after = object.read(node).map_err(fail)?;
    if after == *original
        || is_alike(node, entry, after.as_deref())
        || (original.is_none() && object.goes_with_its_directory())
    {
        return Ok(Outcome::Back);
    }
    let shown = |value: &Option<String>| object.brief(*form, value.as_deref());
    Ok(Outcome::Otherwise(format!("shows {}, not {}", shown(&after), shown(original))))
}

/// Does a thread have its CPUs again, as far as these are online? Some kernels show CPUs that are possible but absent
/// in an affinity, and drop them when it is set.
fn is_alike(node: &dyn Node, entry: &Entry, after: Option<&str>) -> bool {
    let online = || plan::online(node, &State::default()).unwrap_or_default();
    match (&entry.object, after, entry.original.as_deref()) {
        (Object::Affinity { .. }, Some(after), Some(original)) => {
            let online = online();
            cpus_of(after).intersection(&online) == cpus_of(original).intersection(&online)
        }
        _ => false,
    }
}
