// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `start`: checks, then starts a background process that loads the scheduler and stays with it.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tacet_words::Failure;
use tacet_words::interrupted::Interrupted;
use tacet_words::status::{NO, UNDONE};

use super::print;
use crate::options::Start;
use crate::record::{self, Record};
use crate::resident::{self, READY};
use crate::support::{PATIENCE, progress};
use crate::topology::{CPU_DIRECTORY, Topology};
use crate::{Result, support};

pub fn run(options: &Start, json: bool) -> Result<ExitCode> {
    options.check()?;
    support::check()?;
    if options.dry_run {
        return rehearse(options, json);
    }
    support::check_root()?;
    if options.foreground {
        return resident::stay(options);
    }
    let interrupted = Interrupted::watch()?;
    let mut child = Command::new(env::current_exe()?)
        .arg("stay")
        .args(env::args_os().skip_while(|word| word != "start").skip(1))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // not in the terminal's job, so that Ctrl-C does not end it
        .process_group(0)
        .spawn()?;
    let mut word = String::new();
    if let Some(out) = child.stdout.take() {
        let readable = is_readable(&out, PATIENCE, &interrupted)?;
        if let Some(signal) = interrupted.signal().filter(|_| !readable) {
            return undo(child, signal);
        }
        if !readable {
            let process = child.id();
            return Err(format!("process {process}: not ready after {} s: {}", PATIENCE.as_secs(), progress()).into());
        }
        BufReader::new(out).read_line(&mut word)?;
    }
    if word.trim_end() != READY {
        let mut said = String::new();
        if let Some(mut error) = child.stderr.take() {
            error.read_to_string(&mut said)?;
        }
        let status = child.wait()?.code().and_then(|code| u8::try_from(code).ok()).filter(|code| *code != 0);
        let said = said.trim().trim_start_matches("tacet sched: ");
        return Err(Failure::new(status.unwrap_or(UNDONE), said).into());
    }
    let record = Record::read()?.ok_or("the scheduler started but left no record")?;
    if json {
        return print(&tacet_words::json::text(&record)?);
    }
    print(&format!(
        "HPL schedules (process {} stays with it); if every CPU has HPC tasks, other programs get {} in {} on cpu {}\n",
        record.process,
        humantime::format_duration(options.trickle),
        humantime::format_duration(options.trickle_period),
        record.trickle_cpu
    ))
}

/// Ends the loader, with which the kernel ends its scheduler.
fn undo(mut child: Child, signal: &str) -> Result<ExitCode> {
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM)?;
    child.wait()?;
    let told = format!("start: interrupted by {signal}: HPL is not loaded; repeat the command");
    Err(Failure::new(UNDONE, told).into())
}

/// The same checks as with root, as far as they need none.
fn rehearse(options: &Start, json: bool) -> Result<ExitCode> {
    if record::is_held() {
        return Err(Failure::new(NO, "HPL is loaded already; `tacet sched stop` ends it").into());
    }
    let topology = Topology::read(Path::new(CPU_DIRECTORY))?;
    let cpu = resident::trickle_cpu(&topology, options)?;
    if json {
        return print(&tacet_words::json::text(options)?);
    }
    print(&format!(
        "would load HPL into the kernel; if every CPU had HPC tasks, other programs would get {} in {} on cpu {cpu}\n",
        humantime::format_duration(options.trickle),
        humantime::format_duration(options.trickle_period),
    ))
}

/// Waits until the loader has said something or has closed its output; false if it takes longer than this, or if a
/// signal came.
fn is_readable(out: &ChildStdout, patience: Duration, interrupted: &Interrupted) -> Result<bool> {
    // a signal that comes right before the wait does not end it
    const LOOK: Duration = Duration::from_millis(100);
    let end = Instant::now() + patience;
    let mut files = [uapi::c::pollfd { fd: out.as_raw_fd(), events: uapi::c::POLLIN, revents: 0 }];
    loop {
        let rest = end.saturating_duration_since(Instant::now());
        match uapi::poll(&mut files, i32::try_from(rest.min(LOOK).as_millis())?) {
            Ok(ready) if ready > 0 => return Ok(true),
            Ok(_) if rest.is_zero() || interrupted.signal().is_some() => return Ok(false),
            Ok(_) => (),
            Err(error) if error.0 == uapi::c::EINTR => (),
            Err(error) => return Err(format!("waiting for the loader: {error}").into()),
        }
    }
}
