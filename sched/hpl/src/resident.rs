// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The small process that stays with the scheduler. Nothing is pinned: the scheduler is this process's, so that the kernel
//! takes it away whatever becomes of the process, and a machine never keeps a scheduler that nobody answers for.
//!
//! It sleeps without a timeout until it is told to end or the kernel ends the scheduler: a loader must not be noise.

use std::cell::RefCell;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use libbpf_rs::{MapCore, MapHandle, RingBuffer, RingBufferBuilder};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::SignalFd;

use crate::Result;
use crate::layout;
use crate::options::Start;
use crate::record::{self, End, Record};
use crate::scheduler::Scheduler;
use crate::support;
use crate::topology::{CPU_DIRECTORY, Topology};

/// SCX_EXIT_UNREG: the loader took it away.
const KIND_ASKED: i32 = 64;

/// The word that says to whoever waits that it schedules.
pub const READY: &str = "ready";

/// Loads, says so on standard output, stays, and says how it ended: well if somebody asked for it.
pub fn stay(start: &Start) -> Result<ExitCode> {
    start.check()?;
    support::check()?;
    let _held = record::lock()?;
    let topology = Topology::read(Path::new(CPU_DIRECTORY))?;
    let trickle_cpu = start.trickle_cpu.unwrap_or(topology.first());
    if !topology.places.contains_key(&trickle_cpu) {
        return Err(format!("--trickle-cpu {trickle_cpu}: not online; choose one of those that are").into());
    }
    let signals = block_signals()?;
    urgent();
    let mut scheduler = Scheduler::load(true)?;
    scheduler.choose(&topology, start)?;
    let ended = Rc::new(RefCell::new(None));
    let ends = listen(&scheduler.map("ends")?, &ended)?;
    scheduler.count()?;
    scheduler.attach(trickle_cpu)?;
    let mut record = Record {
        process: std::process::id(),
        since: SystemTime::now(),
        options: start.clone(),
        trickle_cpu,
        counts_map: number(&scheduler.map("counts")?)?,
        loads_map: number(&scheduler.map("loads")?)?,
        programs: scheduler.programs(),
        end: None,
    };
    record.write()?;
    let _ = writeln!(std::io::stdout(), "{READY}").and_then(|()| std::io::stdout().flush());
    wait(&signals, &ends)?;
    scheduler.detach();
    ends.poll(Duration::from_secs(5))?;
    let end = ended.borrow_mut().take().unwrap_or_else(unknown);
    say(&format!("ended: {}{}", end.reason, with(&end.message)));
    let code = if end.asked { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    record.end = Some(end);
    record.write()?;
    Ok(code)
}

/// Who started it may be gone, and nobody listen.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "tacet sched: {text}");
}

fn with(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

fn unknown() -> End {
    End { at: SystemTime::now(), reason: "the kernel did not say why".into(), message: String::new(), asked: false }
}

/// From here on they are read from a file; SIGHUP ends a process in the foreground, and Linux's scheduler takes over.
fn block_signals() -> Result<SignalFd> {
    let mut set = SigSet::empty();
    set.add(Signal::SIGTERM);
    set.add(Signal::SIGINT);
    set.thread_block()?;
    Ok(SignalFd::new(&set)?)
}

/// Real-time, so that it can end the scheduler when every CPU computes. It sleeps: nobody waits for it.
fn urgent() {
    let parameters = uapi::c::sched_param { sched_priority: 1 };
    if let Err(error) = uapi::sched_setscheduler(0, uapi::c::SCHED_FIFO, &parameters) {
        say(&format!("no real-time priority: {error}: ending may take as long as the trickle lets it"));
    }
}

/// The kernel's last words go to `ended`.
fn listen(map: &MapHandle, ended: &Rc<RefCell<Option<End>>>) -> Result<RingBuffer<'static>> {
    let ended = Rc::clone(ended);
    let mut builder = RingBufferBuilder::new();
    // the ring's memory outlives the handle
    builder.add(map, move |bytes| {
        if let Some(said) = bytes.get(..size_of::<layout::End>()).map(bytemuck::pod_read_unaligned::<layout::End>) {
            *ended.borrow_mut() = Some(End {
                at: SystemTime::now(),
                reason: layout::text(&said.reason),
                message: layout::text(&said.message),
                asked: said.kind == KIND_ASKED,
            });
        }
        0
    })?;
    Ok(builder.build()?)
}

fn number(map: &MapHandle) -> Result<u32> {
    Ok(map.info()?.info.id)
}

/// Until a signal or the scheduler's end.
fn wait(signals: &SignalFd, ends: &RingBuffer<'_>) -> Result<()> {
    let watched = |fd| uapi::c::pollfd { fd, events: uapi::c::POLLIN, revents: 0 };
    let mut files = [watched(signals.as_raw_fd()), watched(ends.epoll_fd())];
    loop {
        match uapi::poll(&mut files, -1) {
            Ok(_) => return Ok(()),
            Err(error) if error.0 == uapi::c::EINTR => (),
            Err(error) => return Err(format!("waiting: {error}").into()),
        }
    }
}
