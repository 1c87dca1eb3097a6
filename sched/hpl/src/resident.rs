// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The small process that stays with the scheduler. It pins nothing in the BPF file system, so the kernel unloads the
//! scheduler in whatever way this process ends, and no scheduler is left without a process that controls it.
//!
//! It sleeps without a timeout until a signal comes or the kernel ends the scheduler: a loader must not cause noise.

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
use crate::grace;
use crate::layout;
use crate::options::Start;
use crate::record::{self, End, Record};
use crate::scheduler::Scheduler;
use crate::support;
use crate::topology::{CPU_DIRECTORY, Topology};

/// SCX_EXIT_UNREG: the loader ended it.
const KIND_ASKED: i32 = 64;

/// Tells the waiting parent process that the scheduler is active.
pub const READY: &str = "ready";

/// Loads the scheduler, reports this on standard output, stays until the end, and reports the reason. The exit status
/// is success only if a signal asked for the end.
pub fn stay(start: &Start) -> Result<ExitCode> {
    start.check()?;
    support::check()?;
    let _held = record::lock()?;
    let topology = Topology::read(Path::new(CPU_DIRECTORY))?;
    let trickle_cpu = trickle_cpu(&topology, start)?;
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
        cpus: topology.places.keys().copied().collect(),
        counts_map: number(&scheduler.map("counts")?)?,
        loads_map: number(&scheduler.map("loads")?)?,
        programs: scheduler.programs(),
        end: None,
    };
    record.write()?;
    let _ = writeln!(std::io::stdout(), "{READY}").and_then(|()| std::io::stdout().flush());
    wait(&signals, &ends)?;
    let urgent = grace::rcu_first();
    scheduler.detach();
    drop(urgent);
    ends.poll(Duration::from_secs(5))?;
    let end = ended.borrow_mut().take().unwrap_or_else(unknown);
    say(&format!("ended: {}{}", end.reason, with(&end.message)));
    let code = if end.asked { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    record.end = Some(end);
    record.write()?;
    Ok(code)
}

/// The CPU on which normal tasks get their time if every CPU has HPC tasks.
pub fn trickle_cpu(topology: &Topology, start: &Start) -> Result<u32> {
    let cpu = start.trickle_cpu.unwrap_or(topology.first());
    if topology.places.contains_key(&cpu) {
        return Ok(cpu);
    }
    Err(format!("--trickle-cpu: CPU {cpu}: it does not exist or is offline; see `lscpu -e`").into())
}

/// Writes to standard error; ignores failures, since the starter may have closed it.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "tacet sched: {text}");
}

fn with(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

fn unknown() -> End {
    End { at: SystemTime::now(), reason: "the kernel gave no reason".into(), message: String::new(), asked: false }
}

/// Blocks SIGTERM and SIGINT, which are then read from a file. SIGHUP still ends a process in the foreground, and
/// Linux's scheduler takes over.
fn block_signals() -> Result<SignalFd> {
    let mut set = SigSet::empty();
    set.add(Signal::SIGTERM);
    set.add(Signal::SIGINT);
    set.thread_block()?;
    Ok(SignalFd::new(&set)?)
}

/// Gives this process a real-time priority, so that it can end the scheduler while every CPU computes. It only sleeps,
/// so it disturbs no other task.
fn urgent() {
    let parameters = uapi::c::sched_param { sched_priority: 1 };
    if let Err(error) = uapi::sched_setscheduler(0, uapi::c::SCHED_FIFO, &parameters) {
        say(&format!("no real-time priority: {error}: ending may have to wait for the trickle"));
    }
}

/// Stores the kernel's final message in `ended`.
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

/// Waits for a signal or for the scheduler's end.
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
