// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A process of this host with a limit: what it printed, and how it ended.
//!
//! Used for programs, natively and on nodes, and for the command itself.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;

/// Far more than any program needs, on a busy host: only a program that hangs takes so long.
const LIMIT: Duration = Duration::from_secs(200);
const GLANCE: Duration = Duration::from_millis(5);

/// The output and the status of a process that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// As a shell reports it.
    pub status: i32,
}

impl Ended {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub fn error_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

/// Runs a command to its end with these bytes as its input.
pub fn run(command: &mut Command, input: &[u8]) -> Result<Ended> {
    let mut child = start(command)?;
    let mut stdin = child.stdin.take();
    let input = input.to_vec();
    // a thread, because a program may print before it reads
    let writer = thread::spawn(move || stdin.take().map(|mut stdin| stdin.write_all(&input)));
    let ended = finish(child);
    writer.join().ok();
    ended
}

/// Starts a command whose input stays open.
pub fn start(command: &mut Command) -> Result<Child> {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    piped.spawn().map_err(|error| format!("{}: {error}", command.get_program().display()))
}

/// Waits for its end.
pub fn finish(mut child: Child) -> Result<Ended> {
    let (out, err) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let until = Instant::now() + LIMIT;
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if Instant::now() > until => {
                child.kill().ok();
                child.wait().ok();
                return Err(format!(
                    "it hung; standard error: {}",
                    String::from_utf8_lossy(&err.join().unwrap_or_default())
                ));
            }
            None => thread::sleep(GLANCE),
        }
    };
    let (stdout, stderr) = (out.join().unwrap_or_default(), err.join().unwrap_or_default());
    Ok(Ended { stdout, stderr, status: shell(status) })
}

/// Waits until `done` holds.
pub fn until(what: &str, mut done: impl FnMut() -> bool) -> Result<()> {
    let end = Instant::now() + LIMIT;
    while !done() {
        if Instant::now() > end {
            return Err(format!("waited in vain until {what}"));
        }
        thread::sleep(GLANCE);
    }
    Ok(())
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            pipe.read_to_end(&mut bytes).ok();
        }
        bytes
    })
}

fn shell(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}
