// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The door of the one cluster that a person has running: a socket in the cache, by which other commands find the process
//! that holds the cluster.
//!
//! Owns the socket and the lock that makes it one. What is said through it is its users' affair.

use std::fs::{self, File};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use nix::fcntl::Flock;

use crate::cache::Cache;
use crate::error::{Error, OnPath, Result};

/// A socket on which the holder of a cluster listens. Dropping it removes the socket.
pub struct Door {
    listener: UnixListener,
    path: PathBuf,
    _lock: Flock<File>,
}

impl Door {
    /// Fails if another process holds a cluster.
    pub fn open(cache: &Cache) -> Result<Door> {
        let running = || Error::new("cluster", "one runs already", "end it by `tacet node cluster down`");
        let lock = cache.try_lock_for("cluster.lock")?.ok_or_else(running)?;
        let path = cache.cluster_door();
        // of a process that was killed
        fs::remove_file(&path).ok();
        let listener = UnixListener::bind(&path).on(&path)?;
        Ok(Door { listener, path, _lock: lock })
    }

    /// Waits for somebody.
    pub fn accept(&self) -> Result<UnixStream> {
        self.listener.accept().map(|(stream, _)| stream).on(&self.path)
    }

    /// Removes the socket, for a process that ends with a thread in [`Door::accept`].
    pub fn close(&self) {
        fs::remove_file(&self.path).ok();
    }

    /// A connection to the process that holds the cluster.
    pub fn knock(cache: &Cache) -> Result<UnixStream> {
        let none = |_| Error::new("cluster", "none runs", "boot one by `tacet node cluster --nodes 2`");
        UnixStream::connect(cache.cluster_door()).map_err(none)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_holds_a_cluster_and_a_killed_one_leaves_the_door_usable() {
        let scratch = tempfile::tempdir().expect("scratch");
        let cache = Cache::at(scratch.path()).expect("cache");
        assert!(Door::knock(&cache).is_err_and(|error| error.cause() == "none runs"));
        // the socket of a process that was killed: nobody listens, and nobody has the lock
        drop(UnixListener::bind(cache.cluster_door()).expect("binds"));
        assert!(Door::knock(&cache).is_err());
        let door = Door::open(&cache).expect("opens");
        assert!(Door::open(&cache).is_err_and(|error| error.cause() == "one runs already"));
        Door::knock(&cache).expect("somebody listens");
        door.accept().expect("it was heard");
        drop(door);
        assert!(!cache.cluster_door().exists());
        Door::open(&cache).expect("opens again");
    }
}
