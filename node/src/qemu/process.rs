// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A child process that only its owner kills.
//!
//! A keeper thread starts the child, waits for it and kills it. So no pid is signalled after it was reaped, and the
//! parent-death signal depends on a thread that lives as long as the child.

use std::fs::File;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::error::{Error, OnPath, Result};

/// How often the keeper checks its child.
const GLANCE: Duration = Duration::from_millis(20);

/// A running child process. Dropping it kills it.
pub struct Process {
    pid: u32,
    stop: Killer,
    ended: Arc<Mutex<Option<ExitStatus>>>,
    keeper: Option<JoinHandle<()>>,
}

/// Kills a process once, if it still runs.
#[derive(Clone)]
pub(crate) struct Killer(Sender<()>);

impl Killer {
    pub fn kill(&self) {
        // a keeper that is gone has no child any more
        self.0.send(()).ok();
    }
}

impl Process {
    /// Starts a command with its output in a log.
    pub fn start(mut command: Command, log: &Path) -> Result<Process> {
        let file = File::create(log).on(log)?;
        command.stdin(Stdio::null()).stdout(file.try_clone().on(log)?).stderr(file);
        let (stop, stopped) = mpsc::channel();
        let (started, start) = mpsc::channel();
        let ended = Arc::new(Mutex::new(None));
        let end = Arc::clone(&ended);
        let keeper = thread::spawn(move || keep(command, &started, &stopped, &end));
        match start.recv() {
            Ok(Ok(pid)) => Ok(Process { pid, stop: Killer(stop), ended, keeper: Some(keeper) }),
            Ok(Err(e)) => Err(Error::new("emulator", format!("cannot start: {e}"), "run `cargo xtask setup`")),
            Err(_) => Err(Error::new("emulator", "its keeper thread died", "report this")),
        }
    }

    /// The process id, for tools that observe it from outside.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Its exit status, if it has ended.
    pub fn status(&self) -> Option<ExitStatus> {
        self.ended.lock().ok().and_then(|status| *status)
    }

    /// For a thread that learns that the process is of no use any more.
    pub(crate) fn killer(&self) -> Killer {
        self.stop.clone()
    }

    /// Waits for it to end by itself.
    pub fn wait(&self, limit: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + limit;
        while self.status().is_none() && Instant::now() < until {
            thread::sleep(GLANCE);
        }
        self.status()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop.kill();
        if let Some(keeper) = self.keeper.take() {
            keeper.join().ok();
        }
    }
}

fn keep(
    mut command: Command,
    started: &Sender<std::io::Result<u32>>,
    stopped: &Receiver<()>,
    ended: &Mutex<Option<ExitStatus>>,
) {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(e) => return drop(started.send(Err(e))),
    };
    started.send(Ok(child.id())).ok();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) => (),
            Err(_) => break None,
        }
        if stopped.recv_timeout(GLANCE) != Err(RecvTimeoutError::Timeout) {
            child.kill().ok();
            break child.wait().ok();
        }
    };
    if let Ok(mut slot) = ended.lock() {
        *slot = status;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn reports_how_it_ended() {
        let log = tempfile::NamedTempFile::new().expect("log");
        let process = Process::start(shell("echo said; exit 3"), log.path()).expect("starts");
        let status = process.wait(Duration::from_secs(10)).expect("it ended");
        assert_eq!(status.code(), Some(3));
        assert_eq!(std::fs::read_to_string(log.path()).expect("log"), "said\n");
    }

    #[test]
    fn dropping_kills() {
        let log = tempfile::NamedTempFile::new().expect("log");
        let process = Process::start(shell("exec sleep 100"), log.path()).expect("starts");
        let directory = format!("/proc/{}", process.pid());
        drop(process);
        assert!(!Path::new(&directory).exists());
    }
}
