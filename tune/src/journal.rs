// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What was there before: written and on the disk before anything is changed, so that a kill at any instant loses nothing.
//!
//! A file of lines, one record each, only ever appended to or replaced as a whole. A last line without its end is what
//! a crash left of a record whose change was not begun: it does not count. Owns the file's format. One writer at a
//! time, by a lock. Nothing that is recorded outlives a boot of the node, so the journal of an earlier boot has nothing to
//! give back.

use serde::{Deserialize, Serialize};

use crate::claim::{Claim, Owner};
use crate::cpus::Cpus;
use crate::error::{Error, Result};
use crate::form::Form;
use crate::node::{self, Node};
use crate::object::Object;

pub const JOURNAL: &str = "/var/lib/tacet/tune/journal";
const VERSION: u32 = 1;
const REMEDY: &str = "run it as root";

/// One object that was changed, or is about to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub measure: String,
    #[serde(flatten)]
    pub object: Object,
    pub form: Form,
    /// What it showed before the first change; nothing if it was not there.
    #[serde(deserialize_with = "present")]
    pub original: Option<String>,
    pub wanted: String,
}

/// A line that lost this field is damaged, and does not mean that there was nothing.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<String>, D::Error> {
    Option::deserialize(deserializer)
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
enum Record {
    Begin { version: u32, boot: String },
    Claim(Claim),
    Release { owner: Owner },
    Change(Entry),
    Forget { object: Object },
    Refuse { object: Object },
}

/// What the records add up to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct State {
    pub boot: String,
    pub claims: Vec<Claim>,
    /// In the order of the first change.
    pub entries: Vec<Entry>,
    /// What the kernel did not let change when it was tried last.
    pub refused: Vec<Object>,
}

impl State {
    pub fn entry(&self, object: &Object) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.object == *object)
    }

    /// CPUs that a countermeasure took offline: what is theirs in /sys is away until they come back.
    pub fn offline(&self) -> Cpus {
        let number = |entry: &Entry| match &entry.object {
            Object::File { path } => {
                path.strip_prefix("/sys/devices/system/cpu/cpu")?.strip_suffix("/online")?.parse().ok()
            }
            _ => None,
        };
        self.entries.iter().filter_map(number).collect()
    }

    fn apply(&mut self, record: Record) {
        match record {
            Record::Begin { boot, .. } => *self = State { boot, ..State::default() },
            Record::Claim(claim) => {
                self.claims.retain(|other| other.owner != claim.owner);
                self.claims.push(claim);
            }
            Record::Release { owner } => self.claims.retain(|claim| claim.owner != owner),
            Record::Change(entry) => {
                self.refused.retain(|other| *other != entry.object);
                match self.entries.iter_mut().find(|other| other.object == entry.object) {
                    Some(known) => *known = entry,
                    None => self.entries.push(entry),
                }
            }
            Record::Refuse { object } => self.refused.push(object),
            Record::Forget { object } => self.entries.retain(|entry| entry.object != object),
        }
    }

    fn records(&self) -> impl Iterator<Item = Record> {
        let begin = Record::Begin { version: VERSION, boot: self.boot.clone() };
        let claims = self.claims.iter().cloned().map(Record::Claim);
        let refused = self.refused.iter().cloned().map(|object| Record::Refuse { object });
        std::iter::once(begin).chain(claims).chain(self.entries.iter().cloned().map(Record::Change)).chain(refused)
    }
}

/// Reads it; nothing was done if there is none. The flag says whether it must be written anew before it is appended to.
fn parse(node: &dyn Node) -> Result<(State, bool)> {
    let text = match node.read(JOURNAL) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((State::default(), true)),
        Err(error) => return Err(Error::io(JOURNAL, &error, REMEDY)),
    };
    let (mut state, mut lines) = (State::default(), 0);
    let torn = !text.ends_with('\n');
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    for (number, line) in whole.lines().enumerate() {
        let damaged = |cause: &dyn std::fmt::Display| {
            let place = format!("{JOURNAL} line {}", number + 1);
            Error::new(place, cause, "nothing was changed; repair the line, or give back by hand what the lines name")
        };
        let record = serde_json::from_str(line).map_err(|error| damaged(&error))?;
        match record {
            Record::Begin { version: VERSION, .. } if number == 0 => (),
            Record::Begin { version, .. } => return Err(damaged(&format!("a journal of version {version}"))),
            _ if number == 0 => return Err(damaged(&"it does not begin a journal")),
            _ => (),
        }
        state.apply(record);
        lines += 1;
    }
    let long = lines > 2 * (state.claims.len() + state.entries.len() + state.refused.len()) + 200;
    Ok((state, torn || long || lines == 0))
}

/// Of this boot or an earlier one; for those who only look.
pub fn read(node: &dyn Node) -> Result<State> {
    parse(node).map(|(state, _)| state)
}

/// The journal, locked, of this boot.
pub struct Journal<'a> {
    node: &'a dyn Node,
    pub state: State,
    /// Changes of an earlier boot, which ended with it.
    pub gone_with_boot: usize,
    _lock: crate::node::Lock,
}

impl<'a> Journal<'a> {
    pub fn open(node: &'a dyn Node) -> Result<Journal<'a>> {
        let failed = |error: std::io::Error| Error::io(JOURNAL, &error, REMEDY);
        let lock = node.lock(&format!("{JOURNAL}.lock")).map_err(failed)?;
        let (mut state, mut rewrite) = parse(node)?;
        let boot = node::boot(node).map_err(|error| Error::io("boot id", &error, "/proc must be mounted"))?;
        let mut gone_with_boot = 0;
        if state.boot != boot {
            gone_with_boot = state.entries.len();
            (state, rewrite) = (State { boot, ..State::default() }, true);
        }
        let journal = Journal { node, state, gone_with_boot, _lock: lock };
        if rewrite {
            let text = lines(journal.state.records())?;
            node.replace(JOURNAL, &text).map_err(failed)?;
        }
        Ok(journal)
    }

    pub fn claim(&mut self, claims: &[Claim]) -> Result<()> {
        let released = self.state.claims.iter().filter(|old| !claims.iter().any(|new| new.owner == old.owner));
        let released: Vec<Record> = released.map(|old| Record::Release { owner: old.owner.clone() }).collect();
        let new = claims.iter().filter(|claim| !self.state.claims.contains(claim)).cloned().map(Record::Claim);
        self.append(released.into_iter().chain(new.collect::<Vec<_>>()).collect())
    }

    /// Before the objects are written.
    pub fn change(&mut self, entries: Vec<Entry>) -> Result<()> {
        self.append(entries.into_iter().map(Record::Change).collect())
    }

    /// After the objects were put back, or were not changed after all.
    pub fn forget(&mut self, objects: &[Object]) -> Result<()> {
        self.append(objects.iter().cloned().map(|object| Record::Forget { object }).collect())
    }

    /// The kernel did not let it change; it is as it was.
    pub fn refuse(&mut self, object: &Object) -> Result<()> {
        self.append(vec![Record::Refuse { object: object.clone() }])
    }

    fn append(&mut self, records: Vec<Record>) -> Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        let text = lines(records.iter())?;
        self.node.append(JOURNAL, &text).map_err(|error| Error::io(JOURNAL, &error, REMEDY))?;
        records.into_iter().for_each(|record| self.state.apply(record));
        Ok(())
    }

    /// Nobody claims anything and nothing is changed: no journal.
    pub fn close(self) -> Result<()> {
        if self.state.claims.is_empty() && self.state.entries.is_empty() {
            self.node.remove_file(JOURNAL).map_err(|error| Error::io(JOURNAL, &error, REMEDY))?;
        }
        Ok(())
    }
}

fn lines<R: Serialize>(records: impl Iterator<Item = R>) -> Result<String> {
    let mut text = String::new();
    for record in records {
        let line = serde_json::to_string(&record).map_err(|error| Error::new(JOURNAL, error, ""))?;
        text.push_str(&line);
        text.push('\n');
    }
    Ok(text)
}
