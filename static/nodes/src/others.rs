// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sets of nodes that are booted under other names, or by other users, as far as this user may see them.
//!
//! Called for the message that a set is not booted. Must never change anything there.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::state::{self, Facts};

/// A set that is booted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    pub name: String,
    pub uid: u32,
    pub control: PathBuf,
}

/// All sets that are booted, those of this user first.
pub fn all() -> Vec<Other> {
    let own = state::parent().ok();
    let sessions = below(Path::new("/run/user")).into_iter().map(|session| session.join("tacet-static"));
    let without_session = below(&std::env::temp_dir()).into_iter().filter(|path| named_so(path));
    let mut parents: Vec<PathBuf> = own.into_iter().chain([PathBuf::from("/run/tacet-static")]).collect();
    parents.extend(sessions.chain(without_session).filter(|path| path.is_dir()));
    let mut seen = Vec::new();
    parents.retain(|path| {
        !seen.contains(path) && {
            seen.push(path.clone());
            true
        }
    });
    parents.iter().flat_map(|parent| booted_below(parent)).collect()
}

fn named_so(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("tacet-static-"))
}

fn booted_below(parent: &Path) -> Vec<Other> {
    let mut sets: Vec<Other> =
        below(parent).iter().filter(|set| state::is_locked(set)).filter_map(|set| read(set)).collect();
    sets.sort_by(|a, b| a.name.cmp(&b.name));
    sets
}

fn read(set: &Path) -> Option<Other> {
    let uid = fs::metadata(set).ok()?.uid();
    let facts: Facts = serde_json::from_str(&fs::read_to_string(set.join(state::FACTS)).ok()?).ok()?;
    Some(Other { name: facts.name, uid, control: facts.control })
}

fn below(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::fcntl::{Flock, FlockArg};

    #[test]
    fn only_sets_with_a_keeper_are_told() {
        let scratch = tempfile::tempdir().unwrap();
        let mut held = Vec::new();
        for (name, has_keeper) in [("b", true), ("a", true), ("left", false)] {
            let set = scratch.path().join(name);
            fs::create_dir(&set).unwrap();
            let facts = Facts {
                name: name.into(),
                pid: 1,
                port: 1,
                control: set.join("control"),
                spec: None,
                kvm: false,
                why_kvm: String::new(),
            };
            fs::write(set.join(state::FACTS), serde_json::to_string(&facts).unwrap()).unwrap();
            let lock = fs::File::create(set.join("lock")).unwrap();
            held.extend(has_keeper.then(|| Flock::lock(lock, FlockArg::LockExclusiveNonblock).unwrap()));
        }
        let found = booted_below(scratch.path());
        let names: Vec<&str> = found.iter().map(|other| other.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(found[0].control, scratch.path().join("a/control"));
    }
}
