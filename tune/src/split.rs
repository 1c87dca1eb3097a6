// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a countermeasure is asked: the node as it was before any change, and how its CPUs are to be split.
//!
//! And what it answers: a proposal. Nothing here writes.

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
    /// What was changed is seen as it was before.
    pub state: &'a State,
    pub online: Cpus,
    pub kernel: (u32, u32),
    /// Those who want this countermeasure; never nobody.
    pub claims: Vec<&'a Claim>,
    /// Those who want any.
    pub all_claims: &'a [Claim],
    /// Their CPUs.
    pub application: Cpus,
    /// All others that are online.
    pub system: Cpus,
    /// Of the countermeasure, if it takes one: the largest that was wanted.
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

    /// As it was before the first change; `None` if it was not there.
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

    /// The same, for the CPUs of all who want this countermeasure or that other one.
    pub fn joined_by(self, other: &str) -> Split<'a> {
        let also = self.all_claims.iter().filter(|claim| claim.measures.contains_key(other));
        let application = also.fold(self.application, |all, claim| all.union(&claim.cpus));
        Split { system: self.online.without(&application), application, ..self }
    }

    /// The CPUs that are allowed in `shown` without the application's; the system's if none would be left.
    pub fn leave(&self, shown: &Cpus) -> Cpus {
        let left = shown.without(&self.application);
        if left.overlaps(&self.online) { left } else { self.system.clone() }
    }

    /// Threads of the kernel that may be bound and may run on the application's CPUs, with the CPUs they leave for.
    pub fn kernel_threads(&self, fits: impl Fn(&Thread) -> bool) -> Vec<(Thread, Cpus)> {
        let threads = threads::all(self.node).into_iter().filter(|thread| thread.may_be_bound() && fits(thread));
        let with_original = threads.filter_map(|thread| {
            let original = self.original(&affinity_of(&thread)).ok().flatten()?;
            Some((thread, crate::object::cpus_of(&original)))
        });
        let concerned = with_original.filter(|(_, allowed)| allowed.overlaps(&self.application));
        concerned.map(|(thread, allowed)| (thread, self.leave(&allowed))).collect()
    }
}

pub fn affinity_of(thread: &Thread) -> Object {
    Object::Affinity { thread: thread.id, started: thread.started, name: thread.name.clone() }
}

/// One object that should be otherwise.
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    #[serde(flatten)]
    pub object: Object,
    pub form: Form,
    pub original: Option<String>,
    pub wanted: String,
}

/// What a person should know and no change can show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// Not there on this node: a path, or what stands for several.
    Missing(String),
    /// Something that this tool does not do, or cannot.
    Told(String),
    /// Something on this node that a person should know of even if the countermeasure is not asked for.
    Found(String),
}

/// The answer of a countermeasure.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Proposal {
    pub changes: Vec<Change>,
    pub notes: Vec<Note>,
    /// Words of the kernel's command line that would do it, or do it better; offered, never written.
    pub boot: Vec<String>,
}

impl Proposal {
    /// The object should hold this. One that is not there, or cannot be read, is reported and left.
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

    /// The CPUs in this file lose the application's.
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

    /// A directory of ours, or a file in one, which is not there yet.
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
