// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A plan: the proposals of all claimed countermeasures, with the node's current values.
//!
//! Reads only, and needs no root. `apply.rs` executes a plan; `verify.rs` makes one to find new objects.

use serde::Serialize;

use crate::claim::Claim;
use crate::cpus::Cpus;
use crate::error::{Error, Result};
use crate::journal::State;
use crate::measures::{self, About, Measure};
use crate::node::Node;
use crate::object::Object;
use crate::split::{Change, Note, Proposal, Split};

#[derive(Debug, Serialize)]
pub struct Plan {
    pub application: Cpus,
    pub system: Cpus,
    pub parts: Vec<Part>,
    /// The words to add to the kernel's command line, merged.
    pub boot_line: String,
    /// Countermeasures that no claim wants, but that would change something or have a finding on this node.
    pub left_out: Vec<Part>,
}

/// One countermeasure of a plan.
#[derive(Debug, Serialize)]
pub struct Part {
    pub measure: &'static str,
    pub why: &'static str,
    pub stops: &'static str,
    pub cost: &'static str,
    pub application: Cpus,
    pub changes: Vec<Step>,
    #[serde(flatten)]
    rest: Rest,
    #[serde(skip)]
    pub about: &'static About,
}

#[derive(Debug, Serialize)]
struct Rest {
    notes: Vec<Note>,
    boot: Vec<String>,
}

/// A change, and the object's current value.
#[derive(Debug, Serialize)]
pub struct Step {
    #[serde(flatten)]
    pub change: Change,
    pub now: Option<String>,
    pub in_force: bool,
}

impl Part {
    /// None if no claim wants the countermeasure.
    fn make(node: &dyn Node, state: &State, online: &Cpus, claims: &[Claim], measure: &dyn Measure) -> Option<Part> {
        let about = measure.about();
        let split = Split::new(node, state, online, claims, about.name)?;
        let Proposal { changes, notes, boot } = measure.propose(&split);
        let changes = changes.into_iter().map(|change| Step::look(node, change)).collect();
        let (why, stops, cost) = (about.does, about.stops, about.cost);
        let (application, rest) = (split.application, Rest { notes, boot });
        Some(Part { measure: about.name, why, stops, cost, application, changes, rest, about })
    }

    fn found(&self) -> bool {
        self.notes().iter().any(|note| matches!(note, Note::Found(_)))
    }

    pub fn notes(&self) -> &[Note] {
        &self.rest.notes
    }

    pub fn boot(&self) -> &[String] {
        &self.rest.boot
    }

    /// The changes that are not in force yet.
    pub fn open(&self) -> impl Iterator<Item = &Step> {
        self.changes.iter().filter(|step| !step.in_force)
    }
}

impl Plan {
    pub fn make(node: &dyn Node, state: &State, claims: &[Claim]) -> Result<Plan> {
        let online = online(node, state)?;
        let application = claims.iter().fold(Cpus::default(), |all, claim| all.union(&claim.cpus));
        let mut parts = Vec::new();
        for measure in measures::ALL {
            parts.extend(Part::make(node, state, &online, claims, *measure));
        }
        let boot_line = boot_line(node, parts.iter().flat_map(|part| part.boot().iter()));
        let (system, left_out) = (online.without(&application), Vec::new());
        Ok(Plan { application, system, parts, boot_line, left_out })
    }

    /// Adds the countermeasures that the last claim leaves out, except those that the user excluded by name.
    pub fn with_left_out(self, node: &dyn Node, state: &State, claims: &[Claim], refused: &[String]) -> Result<Plan> {
        let online = online(node, state)?;
        let mut left_out = Vec::new();
        for measure in measures::ALL {
            let about = measure.about();
            let asked_for = self.parts.iter().any(|part| part.measure == about.name);
            if about.usual || asked_for || refused.iter().any(|name| name == about.name) {
                continue;
            }
            // each is added to the claims alone, without the others left out: some share their objects
            let mut claims = claims.to_vec();
            if let Some(claim) = claims.last_mut() {
                claim.measures.insert(about.name.to_owned(), about.number.map(|number| number.usual));
            }
            let part = Part::make(node, state, &online, &claims, *measure);
            left_out.extend(part.filter(|part| part.found() || part.open().next().is_some()));
        }
        Ok(Plan { left_out, ..self })
    }

    pub fn wants(&self, object: &Object) -> bool {
        self.parts.iter().any(|part| part.changes.iter().any(|step| step.change.object == *object))
    }
}

impl Step {
    fn look(node: &dyn Node, change: Change) -> Step {
        let now = change.object.read(node).ok().flatten();
        let in_force = change.object.holds(change.form, now.as_deref(), &change.wanted);
        Step { change, now, in_force }
    }
}

/// The CPUs that were online before any change.
pub fn online(node: &dyn Node, state: &State) -> Result<Cpus> {
    const PATH: &str = "/sys/devices/system/cpu/online";
    let text = node.read(PATH).map_err(|error| Error::io(PATH, &error, "sysfs must be mounted on /sys"))?;
    let now: Cpus = text.parse().map_err(|cause: String| Error::new(PATH, cause, ""))?;
    Ok(now.union(&state.offline()))
}

/// The words that the running kernel's command line lacks, each key once.
fn boot_line<'a>(node: &dyn Node, words: impl Iterator<Item = &'a String>) -> String {
    let booted = node.read("/proc/cmdline").unwrap_or_default();
    let mut line: Vec<&str> = Vec::new();
    for word in words.map(String::as_str) {
        if !booted.split_whitespace().any(|other| other == word) && !line.contains(&word) {
            line.push(word);
        }
    }
    line.join(" ")
}
