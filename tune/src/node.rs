// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The tuned node: every access to its files, threads and services goes through here.
//!
//! It is a trait, so that tests can use a directory in place of /proc and /sys and can stop after any step. [`Linux`]
//! is the machine itself. Paths are those of the node (`/proc/...`). This file decides nothing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::fcntl::{Flock, FlockArg};

use crate::cpus::Cpus;

pub trait Node {
    fn read(&self, path: &str) -> io::Result<String>;
    /// Names in a directory, sorted, numbers by their value.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;
    fn exists(&self, path: &str) -> bool;

    /// Writes an existing file in one call, as kernel files need it.
    fn write(&self, path: &str, text: &str) -> io::Result<()>;
    fn make_directory(&self, path: &str) -> io::Result<()>;
    /// Removes an empty directory, or a kernel's directory with its files.
    fn remove_directory(&self, path: &str) -> io::Result<()>;
    /// Does nothing if the file does not exist.
    fn remove_file(&self, path: &str) -> io::Result<()>;
    fn set_affinity(&self, thread: u32, cpus: &Cpus) -> io::Result<()>;
    /// Runs `systemctl WORDS` and returns its output.
    fn systemctl(&self, words: &[&str]) -> io::Result<String>;

    /// Appends, creating file and directories, and returns when the data is on the disk.
    fn append(&self, path: &str, text: &str) -> io::Result<()>;
    /// Takes the lock of this file, and waits for it. Dropping the value releases the lock.
    fn lock(&self, path: &str) -> io::Result<Lock>;
    /// Replaces a file atomically, or creates it, and returns when that is on the disk.
    fn replace(&self, path: &str, text: &str) -> io::Result<()>;
}

pub struct Lock(#[expect(dead_code, reason = "held, not looked at")] Flock<File>);

/// Linux below a directory: `/`, or a directory that looks like it.
pub struct Linux {
    root: PathBuf,
}

impl Linux {
    pub fn at(root: impl Into<PathBuf>) -> Linux {
        Linux { root: root.into() }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Threads and services exist only on the running machine.
    fn running(&self) -> io::Result<()> {
        let here = self.root == Path::new("/");
        if here { Ok(()) } else { Err(io::Error::new(io::ErrorKind::Unsupported, "not the running machine")) }
    }
}

impl Node for Linux {
    fn read(&self, path: &str) -> io::Result<String> {
        String::from_utf8(fs::read(self.path(path))?)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text"))
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.path(path))? {
            names.extend(entry?.file_name().into_string().ok());
        }
        names.sort_by_cached_key(|name| {
            let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
            (stem.to_owned(), name.get(stem.len()..).and_then(|digits| digits.parse::<u64>().ok()), name.clone())
        });
        Ok(names)
    }

    fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).truncate(true).open(self.path(path))?;
        // a kernel file takes the bytes of one call, and an empty value needs at least a newline
        let text = if text.is_empty() { "\n" } else { text };
        match file.write(text.as_bytes())? {
            n if n == text.len() => Ok(()),
            n => Err(io::Error::other(format!("it took {n} of {} bytes", text.len()))),
        }
    }

    fn make_directory(&self, path: &str) -> io::Result<()> {
        fs::create_dir(self.path(path))
    }

    fn remove_directory(&self, path: &str) -> io::Result<()> {
        fs::remove_dir(self.path(path))
    }

    fn remove_file(&self, path: &str) -> io::Result<()> {
        match fs::remove_file(self.path(path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn set_affinity(&self, thread: u32, cpus: &Cpus) -> io::Result<()> {
        self.running()?;
        let mut set = nix::sched::CpuSet::new();
        for cpu in cpus.iter() {
            set.set(cpu as usize)?;
        }
        let thread = i32::try_from(thread).map_err(io::Error::other)?;
        Ok(nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(thread), &set)?)
    }

    fn systemctl(&self, words: &[&str]) -> io::Result<String> {
        self.running()?;
        let output = Command::new("systemctl").args(words).output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(io::Error::other(said.lines().next().unwrap_or("systemctl failed").to_owned()))
    }

    fn lock(&self, path: &str) -> io::Result<Lock> {
        let path = self.path(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        Flock::lock(file, FlockArg::LockExclusive).map(Lock).map_err(|(_, error)| error.into())
    }

    fn append(&self, path: &str, text: &str) -> io::Result<()> {
        let path = self.path(path);
        let new = !path.exists();
        let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        if new { sync_directory(&path) } else { Ok(()) }
    }

    fn replace(&self, path: &str, text: &str) -> io::Result<()> {
        let path = self.path(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let new = path.with_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        sync_directory(&path)
    }
}

/// A file's name is on the disk only after its directory is.
fn sync_directory(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
}

/// `major.minor` of the running kernel; 0.0 if unknown.
pub fn kernel_version(node: &dyn Node) -> (u32, u32) {
    let release = node.read("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.trim().split(|c: char| !c.is_ascii_digit()).map(|digits| digits.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// The boot id, which differs after each boot.
pub fn boot(node: &dyn Node) -> io::Result<String> {
    Ok(node.read("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

pub fn systemd_runs(node: &dyn Node) -> bool {
    node.exists("/run/systemd/system")
}
