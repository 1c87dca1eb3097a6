// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The folder that a measurement shares with its node, which sees it at the same path.
//!
//! Owns the folder's name and lifetime. A reproducible measurement must see the same path each time, so its folder is
//! named after its seed and locked. A second measurement with the same seed waits; a folder that a killed measurement
//! left behind is emptied and used again. Must never remove files of another user, nor follow a link.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

const PREFIX: &str = "tacet-exact-";

#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// The lock on a seed's folder; released after the folder is removed.
    _lock: Option<File>,
}

impl Folder {
    /// An empty folder in `parent` for the caller alone. Calls `busy` once before it waits for another measurement.
    pub fn new(parent: &Path, seed: Option<u64>, busy: impl FnOnce(&Path)) -> Result<Folder> {
        let Some(seed) = seed else {
            let any = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
            return Ok(Folder { path: any.keep(), _lock: None });
        };
        let path = parent.join(format!("{PREFIX}{seed}"));
        let mut busy = Some(busy);
        loop {
            let lock = opened(&path)?;
            match lock.try_lock() {
                Ok(()) => (),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) => {
                    busy.take().into_iter().for_each(|say| say(&path));
                    lock.lock()?;
                }
            }
            // The last holder removes the folder before it releases the lock; then the name is free or belongs to another
            // folder.
            if fs::symlink_metadata(&path).is_ok_and(|now| lock.metadata().is_ok_and(|held| held.ino() == now.ino())) {
                empty(&path)?;
                return Ok(Folder { path, _lock: Some(lock) });
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Opens the folder, and makes it if there is none. Refuses one that belongs to another user.
fn opened(path: &Path) -> Result<File> {
    loop {
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => (),
        }
        match fs::symlink_metadata(path) {
            Ok(found) if found.is_dir() && found.uid() == geteuid().as_raw() => (),
            Ok(_) => {
                let why = format!("{} is another user's, or not a folder", path.display());
                return Err(Error::new(ErrorKind::PermissionDenied, why));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        }
        match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => (),
            opened => return opened,
        }
    }
}

fn empty(path: &Path) -> Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() { fs::remove_dir_all(entry.path())? } else { fs::remove_file(entry.path())? }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(_: &Path) {
        panic!("nobody holds it");
    }

    #[test]
    fn the_folder_of_a_killed_measurement_is_used_again() {
        let parent = tempfile::tempdir().expect("a folder");
        let left = parent.path().join("tacet-exact-7");
        fs::create_dir_all(left.join("deep")).expect("made");
        fs::write(left.join("deep/plugin.log"), "old").expect("written");
        let folder = Folder::new(parent.path(), Some(7), free).expect("taken over");
        assert_eq!(folder.path(), left);
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 0);
        drop(folder);
        assert!(!left.exists());
    }

    #[test]
    fn the_second_with_a_seed_waits_for_the_first() {
        let parent = tempfile::tempdir().expect("a folder");
        let first = Folder::new(parent.path(), Some(7), free).expect("a folder");
        let other = Folder::new(parent.path(), Some(8), free).expect("another seed's");
        let (path, mut held) = (first.path().to_owned(), Some(first));
        let second = Folder::new(parent.path(), Some(7), |busy| {
            assert_eq!(busy, path);
            drop(held.take());
        });
        assert_eq!(second.expect("after the first").path(), path);
        assert!(path.parent().is_some_and(|parent| fs::read_dir(parent).is_ok_and(|list| list.count() == 1)));
        drop(other);
    }

    #[test]
    fn a_link_is_refused_and_left_alone() {
        let parent = tempfile::tempdir().expect("a folder");
        let target = tempfile::tempdir().expect("a folder");
        fs::write(target.path().join("kept"), "").expect("written");
        std::os::unix::fs::symlink(target.path(), parent.path().join("tacet-exact-7")).expect("linked");
        let refused = Folder::new(parent.path(), Some(7), free).expect_err("refused");
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        assert!(target.path().join("kept").exists());
    }
}
