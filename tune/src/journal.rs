// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The journal keeps the original value of each changed object. A record is on the disk before its object is changed,
//! so that a kill at any instant loses nothing.
//!
//! The file has one record a line. It is only appended to, or replaced as a whole. A crash can leave a last line
//! without its end; the change of that record has not begun, so the line is ignored. Owns the file's format. A lock
//! admits one writer at a time. No change outlives a boot of the node, so the journal of an earlier boot has nothing to
//! restore.

use serde::{Deserialize, Serialize};

use crate::bystanders::Bystander;
use crate::claim::{Claim, Owner};
use crate::cpus::Cpus;
use crate::error::{Error, Result};
use crate::form::Form;
use crate::node::{self, Node};
use crate::object::Object;

pub const JOURNAL: &str = "/var/lib/tacet/tune/journal";
const VERSION: u32 = 1;
const REMEDY: &str = "run it as root";

/// An object that was changed, or is about to be changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub measure: String,
    #[serde(flatten)]
    pub object: Object,
    pub form: Form,
    /// The value that it showed before the first change; None if it did not exist.
    #[serde(deserialize_with = "present")]
    pub original: Option<String>,
    pub wanted: String,
}

/// Requires the field: a line without it is damaged, and must not mean that the object did not exist.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<String>, D::Error> {
    Option::deserialize(deserializer)
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
enum Record {
    Begin {
        version: u32,
        boot: String,
    },
    Claim(Claim),
    Release {
        owner: Owner,
    },
    Change(Entry),
    Forget {
        object: Object,
    },
    Refuse {
        object: Object,
    },
    /// CPUs that claims of this boot have had.
    Taken {
        cpus: Cpus,
    },
    Saw(Bystander),
    Pending(Waiting),
    /// Forgets all that were pending.
    Settled,
    ForgetBystanders,
}

/// An interrupt that had not moved when the last apply ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub object: Object,
    /// How often it had fired.
    pub fired: u64,
}

/// The sum of all records.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct State {
    pub boot: String,
    pub claims: Vec<Claim>,
    /// In the order of the first change.
    pub entries: Vec<Entry>,
    /// Objects that the kernel refused to change at the last attempt.
    pub refused: Vec<Object>,
    /// Programs' threads before the first partition.
    #[serde(skip)]
    pub bystanders: Vec<Bystander>,
    /// The CPUs of all claims since then, also of those that ended.
    #[serde(skip)]
    pub taken: Cpus,
    pub pending: Vec<Waiting>,
}

impl State {
    pub fn entry(&self, object: &Object) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.object == *object)
    }

    /// CPUs that a countermeasure took offline: their files in /sys do not exist until they are online again.
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
                self.taken = self.taken.union(&claim.cpus);
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
            Record::Taken { cpus } => self.taken = self.taken.union(&cpus),
            Record::Saw(bystander) => self.bystanders.push(bystander),
            Record::Pending(waiting) => self.pending.push(waiting),
            Record::Settled => self.pending.clear(),
            Record::ForgetBystanders => {
                self.bystanders.clear();
                self.taken = Cpus::default();
            }
            Record::Forget { object } => self.entries.retain(|entry| entry.object != object),
        }
    }

    fn records(&self) -> impl Iterator<Item = Record> {
        let begin = Record::Begin { version: VERSION, boot: self.boot.clone() };
        let claims = self.claims.iter().cloned().map(Record::Claim);
        let refused = self.refused.iter().cloned().map(|object| Record::Refuse { object });
        let taken = (!self.taken.is_empty()).then(|| Record::Taken { cpus: self.taken.clone() });
        let seen = taken.into_iter().chain(self.bystanders.iter().cloned().map(Record::Saw));
        let changes = self.entries.iter().cloned().map(Record::Change);
        let pending = self.pending.iter().cloned().map(Record::Pending);
        std::iter::once(begin).chain(seen).chain(claims).chain(changes).chain(refused).chain(pending)
    }
}

/// Reads the journal; without a file the state is empty. The flag says whether the file must be rewritten before the
/// next append.
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
            Error::new(place, cause, "nothing was changed; repair the line, or restore by hand what the lines name")
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
    let kept = state.claims.len() + state.entries.len() + state.refused.len() + state.bystanders.len();
    let long = lines > 2 * kept + 200;
    Ok((state, torn || long || lines == 0))
}

/// Reads the journal of this boot or an earlier one, without the lock.
pub fn read(node: &dyn Node) -> Result<State> {
    parse(node).map(|(state, _)| state)
}

/// The journal, locked, of this boot.
pub struct Journal<'a> {
    node: &'a dyn Node,
    pub state: State,
    /// The number of changes of an earlier boot, which ended with it.
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

    /// Call this before the objects are written.
    pub fn change(&mut self, entries: Vec<Entry>) -> Result<()> {
        self.append(entries.into_iter().map(Record::Change).collect())
    }

    /// Call this after the objects were restored, or were not changed after all.
    pub fn forget(&mut self, objects: &[Object]) -> Result<()> {
        self.append(objects.iter().cloned().map(|object| Record::Forget { object }).collect())
    }

    /// Records that the kernel refused the change and the object is unchanged.
    pub fn refuse(&mut self, object: &Object) -> Result<()> {
        self.append(vec![Record::Refuse { object: object.clone() }])
    }

    /// Call this before the first partition is made.
    pub fn saw(&mut self, bystanders: Vec<Bystander>) -> Result<()> {
        self.append(bystanders.into_iter().map(Record::Saw).collect())
    }

    /// Call this when those that lost their affinity were named.
    pub fn forget_bystanders(&mut self) -> Result<()> {
        self.append(vec![Record::ForgetBystanders])
    }

    /// Call this at the end of an apply.
    pub fn wait_for(&mut self, pending: Vec<Waiting>) -> Result<()> {
        if pending == self.state.pending {
            return Ok(());
        }
        self.append(std::iter::once(Record::Settled).chain(pending.into_iter().map(Record::Pending)).collect())
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

    /// Removes the journal if there are no claims and no changes.
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
