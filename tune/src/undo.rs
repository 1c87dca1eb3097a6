// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Gives back what was there before, to the byte.
//!
//! Called by `apply.rs` for what nobody wants any more, which after `tacet tune undo` is everything. Safe to repeat: an
//! object that shows its original value is not written, and only then does the journal forget it.

use crate::apply::{Done, Event};
use crate::error::{Result, reason};
use crate::journal::{Entry, Journal};
use crate::node::Node;

enum Outcome {
    Back,
    /// A thread that ended, a device that was unplugged: nothing is left to be put back.
    Gone,
    /// Nothing more can be done.
    Otherwise(String),
}

/// Puts an object back and forgets it. What cannot be put back stays in the journal, for the next attempt.
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

/// After a refusal, which has been reported already.
pub fn restore_silently(node: &dyn Node, journal: &mut Journal, entry: &Entry) -> Result<()> {
    restore(node, journal, entry, &mut Done::default())
}

/// An error can be tried again.
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
    if after == *original || (original.is_none() && object.goes_with_its_directory()) {
        return Ok(Outcome::Back);
    }
    let shown = |value: &Option<String>| object.brief(*form, value.as_deref());
    Ok(Outcome::Otherwise(format!("shows {}, not {}", shown(&after), shown(original))))
}
