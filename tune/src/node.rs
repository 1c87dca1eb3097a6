// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The node that is tuned: every access to its files, threads and services goes through here.
//!
//! A trait, so that tests give a directory that plays the part of /proc and /sys and may stop after any step. [`Linux`]
//! is the machine itself. Paths are the node's own (`/proc/...`). Nothing here decides anything.

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

    /// Writes an existing file in one go, as kernel files want it.
    fn write(&self, path: &str, text: &str) -> io::Result<()>;
    fn make_directory(&self, path: &str) -> io::Result<()>;
    /// An empty one, or one of the kernel's, whose files go with it.
    fn remove_directory(&self, path: &str) -> io::Result<()>;
    /// Nothing happens if it is not there.
    fn remove_file(&self, path: &str) -> io::Result<()>;
    fn set_affinity(&self, thread: u32, cpus: &Cpus) -> io::Result<()>;
    /// `systemctl WORDS`: what it printed.
    fn systemctl(&self, words: &[&str]) -> io::Result<String>;

    /// Appends, creating file and directories, and returns when it is on the disk.
    fn append(&self, path: &str, text: &str) -> io::Result<()>;
    /// Waits until nobody else holds the lock of this file, and holds it while the answer lives.
    fn lock(&self, path: &str) -> io::Result<Lock>;
    /// Puts a whole file in the place of another, or of none, and returns when that is on the disk.
    fn replace(&self, path: &str, text: &str) -> io::Result<()>;
}

pub struct Lock(#[expect(dead_code, reason = "held, not looked at")] Flock<File>);

/// Linux below a directory: `/`, or what looks like it.
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

    /// Threads and services are of the running machine only.
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
        // a kernel file takes what one call brings, and an empty value needs a line
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

/// A name is on the disk when its directory is.
fn sync_directory(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
}

/// `major.minor` of the running kernel; 0.0 if it does not say.
pub fn kernel_version(node: &dyn Node) -> (u32, u32) {
    let release = node.read("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.trim().split(|c: char| !c.is_ascii_digit()).map(|digits| digits.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// What differs after each boot.
pub fn boot(node: &dyn Node) -> io::Result<String> {
    Ok(node.read("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

pub fn systemd_runs(node: &dyn Node) -> bool {
    node.exists("/run/systemd/system")
}
