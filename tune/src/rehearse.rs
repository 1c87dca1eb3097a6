// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `apply.rs` would do for some claims, if the kernel refused nothing. Reads only, and needs no root.

use serde::Serialize;

use crate::apply::Event;
use crate::claim::Claim;
use crate::error::Result;
use crate::journal::State;
use crate::node::Node;
use crate::plan::Plan;

/// The JSON of `--dry-run`.
#[derive(Debug, Serialize)]
pub struct Rehearsed {
    pub dry_run: bool,
    /// Each with its new value.
    pub changes: Vec<Event>,
    /// Each with its old value, in the order in which they come back.
    pub restores: Vec<Event>,
}

pub fn rehearse(node: &dyn Node, state: &State, claims: &[Claim]) -> Result<Rehearsed> {
    let plan = Plan::make(node, state, claims)?;
    let released = state.entries.iter().rev().filter(|entry| !plan.wants(&entry.object));
    let restores = released.map(|entry| {
        let old = entry.original.as_deref().map_or("does not exist", str::trim);
        Event::new(&entry.measure, &entry.object, old)
    });
    let changes = plan.parts.iter().flat_map(|part| {
        let event =
            |change: &crate::split::Change| Event::new(part.measure, &change.object, change.form.brief(&change.wanted));
        part.open().map(move |step| event(&step.change))
    });
    Ok(Rehearsed { dry_run: true, restores: restores.collect(), changes: changes.collect() })
}
