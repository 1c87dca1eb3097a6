// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An emulator whose machine executes. If the machine stops, the emulator is killed, and the reason becomes the last line
//! of its log: whoever waits for the emulator's end learns of both in the same way, and at once.
//!
//! Owned by nodes of either kind. Dropping it ends the emulator. Must never end an emulator whose machine runs.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::monitor::until_stopped;
use super::process::Process;
use crate::error::{OnPath, Result};

/// How often the thread looks whether the emulator has connected.
const GLANCE: Duration = Duration::from_millis(20);

/// A running emulator.
pub struct Guarded {
    process: Option<Process>,
    pid: u32,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Guarded {
    /// Starts an emulator with its output in `log`. With `socket`, it is guarded: [`words`] must be among its arguments.
    pub fn start(command: Command, log: &Path, socket: Option<&Path>) -> Result<Guarded> {
        let listener = socket.map(listen).transpose()?;
        let process = Process::start(command, log)?;
        let over = Arc::new(AtomicBool::new(false));
        let (is_over, killer, log) = (Arc::clone(&over), process.killer(), log.to_owned());
        let thread = listener.map(|listener| {
            thread::spawn(move || {
                if let Some(state) = accept(&listener, &is_over).and_then(|stream| until_stopped(&stream)) {
                    explain(&log, &state);
                    killer.kill();
                }
            })
        });
        Ok(Guarded { pid: process.pid(), process: Some(process), over, thread })
    }

    /// The process id, for tools that observe it from outside.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Its exit status, if it has ended: by itself, or because its machine had stopped.
    pub fn status(&self) -> Option<ExitStatus> {
        self.process.as_ref().and_then(Process::status)
    }

    /// Ends it at once, whoever else holds it.
    pub fn kill(&self) {
        if let Some(process) = &self.process {
            process.killer().kill();
        }
    }

    /// Waits for its end.
    pub fn wait(&self, limit: Duration) -> Option<ExitStatus> {
        self.process.as_ref().and_then(|process| process.wait(limit))
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // the end of the emulator is the end of the stream
        drop(self.process.take());
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// The emulator's arguments for the guard.
pub fn words(socket: &Path) -> [String; 2] {
    ["-qmp".into(), format!("unix:{}", socket.display().to_string().replace(',', ",,"))]
}

/// The emulator connects when it starts, so the socket is there before.
fn listen(path: &Path) -> Result<UnixListener> {
    fs::remove_file(path).ok();
    let listener = UnixListener::bind(path).on(path)?;
    listener.set_nonblocking(true).on(path)?;
    Ok(listener)
}

fn accept(listener: &UnixListener, over: &AtomicBool) -> Option<UnixStream> {
    while !over.load(Ordering::Relaxed) {
        if let Ok((stream, _)) = listener.accept() {
            return stream.set_nonblocking(false).ok().map(|()| stream);
        }
        thread::sleep(GLANCE);
    }
    None
}

/// Adds the line to the log, with the emulator's own complaint. A log that takes no line leaves the emulator's words.
fn explain(log: &Path, state: &str) {
    let said = fs::read(log).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let complaint = said.lines().find(|line| line.to_lowercase().contains("error"));
    let complaint = complaint.map_or_else(String::new, |line| format!(": {}", line.trim()));
    let file = File::options().append(true).open(log);
    file.and_then(|mut file| writeln!(file, "\nthe emulator stopped it ({state}){complaint}")).ok();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// An emulator made of Python: it stops its machine after `seconds`, and then waits for ever.
    const EMULATOR: &str = "import json, socket, sys, time
print('KVM internal error. Suberror: 1'); print('RAX=0'); sys.stdout.flush()
guard = socket.socket(socket.AF_UNIX); guard.connect(sys.argv[1])
say = lambda value: guard.sendall((json.dumps(value) + '\\n').encode())
say({'QMP': {}})
asked = 0
for line in guard.makefile():
    status = json.loads(line)['execute'] == 'query-status'
    asked += status
    say({'return': {'running': asked < 2, 'status': 'internal-error' if asked > 1 else 'running'} if status else {}})
    if asked == 1: say({'event': 'STOP'})
time.sleep(1000)";

    #[test]
    fn an_emulator_whose_machine_stops_is_ended_with_its_reason() {
        let scratch = tempfile::tempdir().expect("scratch");
        let (log, socket) = (scratch.path().join("log"), scratch.path().join("guard"));
        let mut command = Command::new("python3");
        command.args(["-c", EMULATOR]).arg(&socket);
        let guarded = Guarded::start(command, &log, Some(&socket)).expect("starts");
        let until = Instant::now() + Duration::from_secs(60);
        while guarded.status().is_none() && Instant::now() < until {
            thread::sleep(GLANCE);
        }
        assert!(guarded.status().is_some_and(|status| !status.success()));
        let said = fs::read_to_string(&log).expect("log");
        let last = said.lines().last();
        assert_eq!(last, Some("the emulator stopped it (internal-error): KVM internal error. Suberror: 1"));
    }

    #[test]
    fn an_emulator_that_never_connects_can_be_dropped() {
        let scratch = tempfile::tempdir().expect("scratch");
        let (log, socket) = (scratch.path().join("log"), scratch.path().join("guard"));
        let mut command = Command::new("sleep");
        command.arg("1000");
        let guarded = Guarded::start(command, &log, Some(&socket)).expect("starts");
        assert!(guarded.status().is_none());
        let directory = format!("/proc/{}", guarded.pid());
        drop(guarded);
        assert!(!Path::new(&directory).exists());
    }
}
