// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The input of a countermeasure: the node as it was before any change, and how its CPUs are split. And its output: a
//! proposal.
//!
//! Nothing here writes.

use std::io;

use serde::Serialize;

use crate::claim::Claim;
use crate::cpus::Cpus;
use crate::form::Form;
use crate::journal::State;
use crate::node::{self, Node};
use crate::object::Object;
use crate::threads::{self, Thread};

/// The node as one countermeasure sees it.
#[derive(Clone)]
pub struct Split<'a> {
    pub node: &'a dyn Node,
    /// The journal's state, through which changed objects still show their old values.
    pub state: &'a State,
    pub online: Cpus,
    pub kernel: (u32, u32),
    /// The claims that want this countermeasure; at least one.
    pub claims: Vec<&'a Claim>,
    /// All claims.
    pub all_claims: &'a [Claim],
    /// The CPUs of `claims`.
    pub application: Cpus,
    /// All other online CPUs.
    pub system: Cpus,
    /// The countermeasure's number, if it takes one: the largest that a claim wants.
    pub number: Option<u64>,
}

impl<'a> Split<'a> {
    pub fn new(
        node: &'a dyn Node,
        state: &'a State,
        online: &Cpus,
        claims: &'a [Claim],
        measure: &str,
    ) -> Option<Split<'a>> {
        let all_claims = claims;
        let claims: Vec<&Claim> = claims.iter().filter(|claim| claim.measures.contains_key(measure)).collect();
        if claims.is_empty() {
            return None;
        }
        let application = claims.iter().fold(Cpus::default(), |all, claim| all.union(&claim.cpus));
        let number = claims.iter().filter_map(|claim| claim.measures.get(measure).copied().flatten()).max();
        let (system, kernel) = (online.without(&application), node::kernel_version(node));
        Some(Split { node, state, online: online.clone(), kernel, claims, all_claims, application, system, number })
    }

    /// The object's value before the first change; `None` if it did not exist.
    pub fn original(&self, object: &Object) -> io::Result<Option<String>> {
        match self.state.entry(object) {
            Some(entry) => Ok(entry.original.clone()),
            None => object.read(self.node),
        }
    }

    pub fn read(&self, path: &str) -> Option<String> {
        self.original(&Object::file(path)).ok().flatten()
    }

    pub fn list(&self, path: &str) -> Vec<String> {
        self.node.list(path).unwrap_or_default()
    }

    /// The same split, for all claims that want this countermeasure or the other one.
    pub fn joined_by(self, other: &str) -> Split<'a> {
        let also = self.all_claims.iter().filter(|claim| claim.measures.contains_key(other));
        let application = also.fold(self.application, |all, claim| all.union(&claim.cpus));
        Split { system: self.online.without(&application), application, ..self }
    }

    /// The CPUs of `shown` without the application's; if none are left, the system's.
    pub fn leave(&self, shown: &Cpus) -> Cpus {
        let left = shown.without(&self.application);
        if left.overlaps(&self.online) { left } else { self.system.clone() }
    }

    /// Kernel threads that may be bound and may run on the application's CPUs, each with its new CPUs.
    pub fn kernel_threads(&self, fits: impl Fn(&Thread) -> bool) -> Vec<(Thread, Cpus)> {
        let threads = threads::all(self.node).into_iter().filter(|thread| thread.may_be_bound() && fits(thread));
        let with_original = threads.filter_map(|thread| {
            let original = self.original(&affinity_of(&thread)).ok().flatten()?;
            Some((thread, crate::object::cpus_of(&original)))
        });
        let concerned = with_original.filter(|(_, allowed)| allowed.overlaps(&self.application));
        // CPUs that are possible but absent: some kernels show them in an affinity, and drop them when it is set
        concerned.map(|(thread, allowed)| (thread, self.leave(&allowed.intersection(&self.online)))).collect()
    }
}

pub fn affinity_of(thread: &Thread) -> Object {
    Object::Affinity { thread: thread.id, started: thread.started, name: thread.name.clone() }
}

/// A change of one object.
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    #[serde(flatten)]
    pub object: Object,
    pub form: Form,
    pub original: Option<String>,
    pub wanted: String,
}

/// A remark for a person that is not a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// This does not exist on this node: a path, or a pattern for several.
    Missing(String),
    /// Something that this tool does not or cannot do.
    Told(String),
    /// A finding on this node that a person should know even if the countermeasure is not wanted.
    Found(String),
}

/// The output of a countermeasure.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Proposal {
    pub changes: Vec<Change>,
    pub notes: Vec<Note>,
    /// Words of the kernel's command line that would do the same, or do it better; offered, never written.
    pub boot: Vec<String>,
}

impl Proposal {
    /// Proposes a value. An object that does not exist or cannot be read is reported and left out.
    pub fn want(&mut self, split: &Split, object: Object, form: Form, wanted: impl Into<String>) {
        let wanted = wanted.into();
        match split.original(&object) {
            Ok(Some(original)) if object.holds(form, Some(&original), &wanted) => (),
            Ok(Some(original)) => self.changes.push(Change { object, form, original: Some(original), wanted }),
            Ok(None) => self.notes.push(Note::Missing(object.to_string())),
            Err(error) => self.told(format!("{object}: {}", crate::error::reason(&error))),
        }
    }

    pub fn want_file(&mut self, split: &Split, path: impl Into<String>, form: Form, wanted: impl Into<String>) {
        self.want(split, Object::file(path), form, wanted);
    }

    /// Proposes to remove the application's CPUs from this file.
    pub fn leave(&mut self, split: &Split, path: impl Into<String>, form: Form) {
        let path = path.into();
        let shown = split.read(&path);
        let cpus = shown.as_deref().and_then(if form == Form::Mask { Cpus::from_mask } else { Cpus::from_list });
        match cpus {
            Some(all) if all.overlaps(&split.application) => {
                let left = split.leave(&all);
                let wanted = if form == Form::Mask { left.mask() } else { left.to_string() };
                self.want_file(split, path, form, wanted);
            }
            Some(_) => (),
            None => self.missing(path),
        }
    }

    /// Proposes a new directory of ours, or a file in one.
    pub fn make(&mut self, object: Object, form: Form, wanted: impl Into<String>) {
        self.changes.push(Change { object, form, original: None, wanted: wanted.into() });
    }

    pub fn told(&mut self, text: impl Into<String>) {
        self.notes.push(Note::Told(text.into()));
    }

    pub fn found(&mut self, text: impl Into<String>) {
        self.notes.push(Note::Found(text.into()));
    }

    pub fn missing(&mut self, what: impl Into<String>) {
        self.notes.push(Note::Missing(what.into()));
    }
}
