// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks whether all changes are still in force: finds objects that drifted, are gone or are new.
//!
//! Reads only. An object is new if a plan would change it now and the journal does not have it: a disk that was plugged
//! in, a daemon that was restarted.

use serde::Serialize;
use tacet_words::status::NO;

use crate::apply::Event;
use crate::error::{Error, Result, reason};
use crate::form::Form;
use crate::journal::{self, Entry, State};
use crate::measures::interrupts;
use crate::node::{self, Node};
use crate::object::Object;
use crate::plan::Plan;

#[derive(Debug, Default, Serialize)]
pub struct Verdict {
    pub in_force: usize,
    pub drifted: Vec<Event>,
    pub gone: Vec<Event>,
    pub new: Vec<Event>,
    /// Interrupts that move when they next fire, known since the last apply.
    pub pending: Vec<Event>,
    /// Objects that the kernel refused to change.
    pub refused: Vec<Event>,
}

impl Verdict {
    pub fn holds(&self) -> bool {
        self.drifted.is_empty() && self.gone.is_empty() && self.new.is_empty()
    }
}

/// The state to verify, from this boot.
pub fn applied(node: &dyn Node) -> Result<State> {
    let state = journal::read(node)?;
    if state.claims.is_empty() && state.entries.is_empty() {
        return Err(Error::new("node", "nothing is applied", "`tacet tune apply` applies").with_status(NO));
    }
    let boot = node::boot(node).map_err(|error| Error::io("boot id", &error, "/proc must be mounted"))?;
    if boot != state.boot {
        let cause = format!("it has rebooted since, which ended {} changes", state.entries.len());
        return Err(Error::new("node", cause, "`tacet tune apply` applies again").with_status(NO));
    }
    Ok(state)
}

pub fn verify(node: &dyn Node, state: &State) -> Result<Verdict> {
    let mut verdict = Verdict::default();
    let away: Vec<String> = state.offline().iter().map(|cpu| format!("/sys/devices/system/cpu/cpu{cpu}/")).collect();
    for entry in &state.entries {
        look(node, entry, &away, &mut verdict);
    }
    for late in interrupts::late(node, state) {
        let list = if late.is_expected(state) { &mut verdict.pending } else { &mut verdict.drifted };
        list.push(late.event());
    }
    let plan = Plan::make(node, state, &state.claims)?;
    for part in &plan.parts {
        for step in part.open().filter(|step| state.entry(&step.change.object).is_none()) {
            let (object, form) = (&step.change.object, step.change.form);
            let mut text = differs(object, form, step.now.as_deref(), &step.change.wanted);
            let refused = state.refused.contains(object);
            if refused && !part.boot().is_empty() && interrupts::reaches(node, object, &part.application) {
                text += &format!("; boot with {}", part.boot().join(" "));
            }
            let list = if refused { &mut verdict.refused } else { &mut verdict.new };
            list.push(Event::new(part.measure, object, text));
        }
    }
    Ok(verdict)
}

/// `away` has the directories of CPUs that are offline on purpose.
fn look(node: &dyn Node, entry: &Entry, away: &[String], verdict: &mut Verdict) {
    let Entry { measure, object, form, wanted, .. } = entry;
    match object.read(node) {
        Ok(now) if object.holds(*form, now.as_deref(), wanted) => verdict.in_force += 1,
        Ok(None) if away.iter().any(|directory| object.to_string().starts_with(directory.as_str())) => {
            verdict.in_force += 1
        }
        // Linux ends its own threads when their work is done: this is no fault.
        Ok(None) if matches!(object, Object::Affinity { .. }) => {}
        Ok(None) => verdict.gone.push(Event::new(measure, object, "it has gone")),
        Ok(now) => {
            let text = differs(object, *form, now.as_deref(), wanted);
            verdict.drifted.push(Event::new(measure, object, text));
        }
        Err(error) => verdict.drifted.push(Event::new(measure, object, reason(&error))),
    }
}

/// Both values in the same form: CPUs are a list, whether the file has a list or a mask.
fn differs(object: &Object, form: Form, now: Option<&str>, wanted: &str) -> String {
    format!("shows {}, wanted is {}", object.brief(form, now), form.brief(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_values_have_one_form() {
        let said = |form, now, wanted| differs(&Object::file("/x"), form, Some(now), wanted);
        assert_eq!(said(Form::Mask, "0000000f\n", "3"), "shows 0-3, wanted is 0-1");
        assert_eq!(said(Form::List, "0-3\n", "3"), "shows 0-3, wanted is 3");
        assert_eq!(said(Form::Choice, "[always] madvise never\n", "madvise"), "shows always, wanted is madvise");
        assert_eq!(said(Form::Text, "60\n", "0"), "shows 60, wanted is 0");
    }
}
