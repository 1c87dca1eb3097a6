// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs commands one after the other, and stops early on Ctrl-C or a request to terminate.

use std::ffi::OsString;
use std::io::{Read, Seek};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use tacet_ctl::{Error, Result};
use tacet_words::status;

use crate::commands::program as beside;

/// How long it may take until a request to stop is seen.
const POLL: Duration = Duration::from_millis(50);

/// Runs processes; knows whether the user asked to stop.
#[derive(Clone)]
pub struct Processes {
    stop: Arc<AtomicBool>,
}

/// A command that ended.
pub struct Ended {
    pub status: ExitStatus,
    pub seconds: f64,
    /// Its standard output, and the last line of its standard error.
    pub said: String,
    pub complained: String,
}

impl Processes {
    /// Installs the handler of Ctrl-C, SIGTERM and SIGHUP.
    pub fn new() -> Result<Processes> {
        let stop = tacet_words::interrupted::flag().map_err(|error| Error::new("signals", error, ""))?;
        Ok(Processes { stop })
    }

    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Runs a command to its end, or kills it when the user asks to stop. Its output goes to files, not pipes: a
    /// process that it leaves behind cannot keep us waiting for the end of a pipe.
    pub fn run(&self, words: &[OsString]) -> Result<Ended> {
        self.wait(words, || self.stopped())
    }

    /// Runs a command to its end even if the user asks to stop: it undoes something.
    pub fn finish(&self, words: &[OsString]) -> Result<Ended> {
        self.wait(words, || false)
    }

    fn wait(&self, words: &[OsString], stopped: impl Fn() -> bool + Sync) -> Result<Ended> {
        let Some((program, arguments)) = words.split_first() else {
            return Err(Error::new("command", "none is given", ""));
        };
        let failed =
            |error: std::io::Error| Error::io(program.display(), &error, "name a program that can be executed");
        let (mut said, mut complained) = (file()?, file()?);
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null());
        command.stdout(said.try_clone().map_err(failed)?).stderr(complained.try_clone().map_err(failed)?);
        let begin = Instant::now();
        let mut child = command.spawn().map_err(failed)?;
        // The main thread sees the end with WNOWAIT and reaps the child only after the killer thread has ended: until
        // then the child's number cannot belong to another process.
        let done = AtomicBool::new(false);
        let id = Pid::from_raw(child.id().cast_signed());
        std::thread::scope(|scope| {
            let watch = scope.spawn(|| {
                while !done.load(Ordering::Relaxed) && !stopped() {
                    std::thread::park_timeout(POLL);
                }
                if !done.load(Ordering::Relaxed) {
                    let _ = kill(id, Signal::SIGKILL);
                }
            });
            let _ = waitid(Id::Pid(id), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT);
            done.store(true, Ordering::Relaxed);
            watch.thread().unpark();
        });
        let seconds = begin.elapsed().as_secs_f64();
        let status = child.wait().map_err(failed)?;
        if stopped() {
            return Err(Error::new("compare", "interrupted", "all is undone").with_status(status::UNDONE));
        }
        let complaints = text(&mut complained)?;
        let last = complaints.trim().lines().last().unwrap_or_default().to_owned();
        Ok(Ended { status, seconds, said: text(&mut said)?, complained: last })
    }
}

fn file() -> Result<std::fs::File> {
    tempfile::tempfile().map_err(|error| Error::io("temporary file", &error, ""))
}

fn text(file: &mut std::fs::File) -> Result<String> {
    let mut bytes = Vec::new();
    let read = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
    read.map_err(|error| Error::io("temporary file", &error, ""))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A command line whose program is the one beside this one.
pub fn words<S: AsRef<str>>(program: &str, rest: impl IntoIterator<Item = S>) -> Vec<OsString> {
    let rest = rest.into_iter().map(|word| OsString::from(word.as_ref()));
    std::iter::once(beside(program).into_os_string()).chain(rest).collect()
}
