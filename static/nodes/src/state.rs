// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The state directories of sets of nodes: `$XDG_RUNTIME_DIR/tacet-static/NAME`, for root `/run/tacet-static/NAME`. Without a
//! session manager that variable is not set: then `/tmp/tacet-static-UID/NAME`.
//!
//! A set exists as long as its keeper holds the lock in its directory. Owns the layout of the directory. Must never
//! remove a directory whose lock is held.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use tacet_ctl::status::{MACHINE, USAGE};
use tacet_ctl::{Error, Result};

use crate::spec::Spec;

/// The set that is used if none is named.
pub const DEFAULT_NAME: &str = "default";
/// The names of sets that exist for one job begin with it; the rest is a process number.
const FOR_ONE_JOB: &str = "run-";
const LOCK: &str = "lock";
pub(crate) const FACTS: &str = "set.json";
/// Sockets lie in the directory, and the path of a socket has at most 107 bytes.
const LONGEST_NAME: usize = 40;

/// A keeper's account of its set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    pub name: String,
    /// The keeper.
    pub pid: i32,
    /// The daemon's UDP port.
    pub port: u16,
    /// The daemon's control socket.
    pub control: PathBuf,
    /// The emulated nodes; none if the nodes are of metal.
    pub spec: Option<Spec>,
    /// KVM executes them.
    #[serde(default)]
    pub kvm: bool,
    /// Why, or why not.
    #[serde(default)]
    pub why_kvm: String,
}

/// A directory whose lock this process holds. Dropping it removes the directory.
pub struct State {
    directory: PathBuf,
    _lock: Flock<File>,
}

impl State {
    /// Makes the directory of a set.
    pub fn create(name: &str) -> Result<State> {
        let directory = directory(name)?;
        sweep(directory.parent().unwrap_or(&directory));
        let fail = |io: io::Error| Error::io(directory.display(), &io, "check permissions");
        loop {
            DirBuilder::new().recursive(true).mode(0o700).create(&directory).map_err(fail)?;
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(false).mode(0o600);
            let file = options.open(directory.join(LOCK)).map_err(fail)?;
            let Ok(lock) = Flock::lock(file, FlockArg::LockExclusiveNonblock) else {
                let remedy = format!("end it: `tacet static boot --down --name {name}`, or use another --name");
                return Err(Error::new(format!("nodes `{name}`"), "they are booted already", remedy));
            };
            // a sweeper may have removed the directory meanwhile
            if is_same(&directory.join(LOCK), &lock) {
                clear(&directory);
                return Ok(State { directory, _lock: lock });
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// Tells other commands about the set, whole or not at all.
    pub fn publish(&self, facts: &Facts) -> Result<()> {
        let (path, new) = (self.directory.join(FACTS), self.directory.join("set.new"));
        let text = serde_json::to_string_pretty(facts).unwrap_or_default();
        let written = fs::write(&new, text).and_then(|()| fs::rename(&new, &path));
        written.map_err(|io| Error::io(path.display(), &io, "check free space"))
    }
}

impl Drop for State {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.directory).ok();
    }
}

/// The name of a set for one job of this process.
pub fn name_for_one_job() -> String {
    format!("{FOR_ONE_JOB}{}", std::process::id())
}

/// The facts of a set that is booted.
pub fn booted(name: &str) -> Result<Option<Facts>> {
    let directory = directory(name)?;
    if !is_locked(&directory) {
        return Ok(None);
    }
    let Ok(text) = fs::read_to_string(directory.join(FACTS)) else {
        // its keeper starts
        return Ok(None);
    };
    let facts = serde_json::from_str(&text);
    let remedy = format!("its keeper is of another version: `tacet static boot --down --name {name}`");
    facts.map(Some).map_err(|error| Error::new(directory.join(FACTS).display(), error, remedy).with_status(MACHINE))
}

/// The control socket of root's daemon for all users, in a directory that all may enter.
pub fn socket_for_all(name: &str) -> Result<PathBuf> {
    directory(name)?;
    let parent = Path::new("/run/tacet-iod");
    let made = DirBuilder::new().recursive(true).mode(0o755).create(parent);
    made.map_err(|io| Error::io(parent.display(), &io, "a daemon for all users must be root's"))?;
    Ok(parent.join(name))
}

/// The directory of a set, whether it exists or not.
pub fn directory(name: &str) -> Result<PathBuf> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > LONGEST_NAME || name.starts_with('.') || !name.chars().all(good) {
        let remedy = "use up to 40 letters, digits, `-`, `_` and `.`";
        return Err(Error::new(format!("--name {name}"), "it cannot be a file's name", remedy).with_status(USAGE));
    }
    Ok(parent()?.join(name))
}

/// Is a process holding the lock?
pub fn is_locked(directory: &Path) -> bool {
    let Ok(file) = File::open(directory.join(LOCK)) else {
        return false;
    };
    Flock::lock(file, FlockArg::LockSharedNonblock).is_err()
}

pub(crate) fn parent() -> Result<PathBuf> {
    if nix::unistd::geteuid().is_root() {
        return Ok(PathBuf::from("/run/tacet-static"));
    }
    let own = std::env::var_os("XDG_RUNTIME_DIR").filter(|value| !value.is_empty());
    match own {
        Some(own) => Ok(PathBuf::from(own).join("tacet-static")),
        None => private(std::env::temp_dir().join(format!("tacet-static-{}", nix::unistd::geteuid()))),
    }
}

/// A directory where others may make directories too: what is there must be this user's, and nobody else's.
fn private(path: PathBuf) -> Result<PathBuf> {
    let fail = |io: io::Error| Error::io(path.display(), &io, "set XDG_RUNTIME_DIR to a directory of yours");
    match DirBuilder::new().mode(0o700).create(&path) {
        Err(io) if io.kind() != io::ErrorKind::AlreadyExists => return Err(fail(io)),
        _ => {}
    }
    let found = fs::symlink_metadata(&path).map_err(fail)?;
    let own = nix::unistd::geteuid().as_raw();
    if found.is_dir() && found.uid() == own && found.mode() & 0o077 == 0 {
        return Ok(path);
    }
    let remedy = "remove it, or set XDG_RUNTIME_DIR to a directory of yours";
    Err(Error::new(path.display(), "it is not a directory of yours alone", remedy).with_status(MACHINE))
}

/// Removes the directories of sets for one job whose keeper was killed.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let of_one_job = entry.file_name().to_string_lossy().starts_with(FOR_ONE_JOB);
        let Some(file) = of_one_job.then(|| File::open(entry.path().join(LOCK)).ok()).flatten() else {
            continue;
        };
        if let Ok(_held) = Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            fs::remove_dir_all(entry.path()).ok();
        }
    }
}

/// Removes what an earlier keeper of the same name left, which was killed.
fn clear(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_name() != LOCK {
            fs::remove_file(entry.path()).ok();
        }
    }
}

fn is_same(path: &Path, file: &File) -> bool {
    let (Ok(there), Ok(here)) = (fs::metadata(path), file.metadata()) else {
        return false;
    };
    (there.dev(), there.ino()) == (here.dev(), here.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_the_directory() {
        for name in ["", ".", "..", "a/b", ".hidden", "a b", &"x".repeat(41)] {
            let error = directory(name).unwrap_err().to_string();
            assert!(error.contains("cannot be a file's name"), "{error}");
        }
    }

    #[test]
    fn a_directory_without_a_holder_is_free() {
        let scratch = tempfile::tempdir().unwrap();
        assert!(!is_locked(scratch.path()));
        fs::write(scratch.path().join(LOCK), "").unwrap();
        assert!(!is_locked(scratch.path()));
        let file = File::open(scratch.path().join(LOCK)).unwrap();
        let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock).unwrap();
        assert!(is_locked(scratch.path()));
        drop(lock);
        assert!(!is_locked(scratch.path()));
    }

    #[test]
    fn a_directory_among_others_is_made_and_must_be_ours_alone() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("mine");
        assert_eq!(private(path.clone()).unwrap(), path);
        assert_eq!(private(path.clone()).unwrap(), path);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(private(path.clone()).unwrap_err().to_string().contains("not a directory of yours alone"));
        let link = scratch.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(private(link).is_err());
    }

    #[test]
    fn only_jobs_sets_without_a_keeper_are_swept() {
        let scratch = tempfile::tempdir().unwrap();
        for name in ["run-1", "run-2", "default"] {
            fs::create_dir(scratch.path().join(name)).unwrap();
            fs::write(scratch.path().join(name).join(LOCK), "").unwrap();
        }
        let held = File::open(scratch.path().join("run-2").join(LOCK)).unwrap();
        let _held = Flock::lock(held, FlockArg::LockExclusiveNonblock).unwrap();
        sweep(scratch.path());
        let there = |name| scratch.path().join(name).exists();
        assert_eq!((there("run-1"), there("run-2"), there("default")), (false, true, true));
    }
}
