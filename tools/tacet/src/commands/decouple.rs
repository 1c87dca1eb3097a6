// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet decouple` and `tacet recouple` move a running process to the partition and back.

use serde::Serialize;
use tacet_ctl::status::USAGE;
use tacet_ctl::{Device, Error, Result, Thread};

use super::run::check;
use crate::args::{DecoupleArgs, RecoupleArgs};
use crate::output;
use crate::text::count;

/// systemd, or what else the kernel began.
const FIRST_PROCESS: i32 = 1;

/// The JSON of both commands. `hosted` has the threads hosted afterwards; on a dry run, those hosted now.
#[derive(Serialize)]
struct Report {
    pid: i32,
    dry_run: bool,
    hosted: Vec<Thread>,
}

pub fn decouple(args: DecoupleArgs, json: bool) -> Result<u8> {
    if args.pid == FIRST_PROCESS && !args.force {
        let cause = "it starts and ends everything else on this machine, which then waits for a core";
        return Err(Error::new("process 1", cause, "name another, or repeat with --force").with_status(USAGE));
    }
    let device = Device::open()?;
    let status = device.status()?;
    check(&status, &args.cpu.into_iter().collect())?;
    if args.dry_run {
        let cpu = args.cpu.map_or_else(|| format!("a free one of {}", status.cpus.named()), |cpu| format!("CPU {cpu}"));
        let what = what(args.pid, args.thread);
        return rehearse(&device, args.pid, &format!("would move {what} to {cpu}\n"), json);
    }
    device.decouple(args.pid, args.cpu, args.thread, args.follow)?;
    let hosted = hosted(&device, args.pid)?;
    if json {
        output::json(&Report { pid: args.pid, dry_run: false, hosted })?;
    } else {
        let threads = count(hosted.len() as u64, "thread is", "threads are");
        output::print(&format!("process {}: {threads} hosted\n", args.pid))?;
    }
    Ok(0)
}

pub fn recouple(args: RecoupleArgs, json: bool) -> Result<u8> {
    let device = Device::open()?;
    if args.dry_run {
        let what = what(args.pid, args.thread);
        return rehearse(&device, args.pid, &format!("would bring {what} back to Linux\n"), json);
    }
    device.recouple(args.pid, args.thread)?;
    if json {
        output::json(&Report { pid: args.pid, dry_run: false, hosted: hosted(&device, args.pid)? })?;
    } else {
        output::print(&format!("{} is on Linux\n", what(args.pid, args.thread)))?;
    }
    Ok(0)
}

fn rehearse(device: &Device, pid: i32, text: &str, json: bool) -> Result<u8> {
    if json {
        output::json(&Report { pid, dry_run: true, hosted: hosted(device, pid)? })?;
    } else {
        output::print(text)?;
    }
    Ok(0)
}

fn what(pid: i32, thread: bool) -> String {
    format!("{} {pid}", if thread { "thread" } else { "process" })
}

/// `pid` may be a process or one of its threads.
fn hosted(device: &Device, pid: i32) -> Result<Vec<Thread>> {
    let mut threads = device.threads()?;
    threads.retain(|thread| thread.pid == pid || thread.tid == pid);
    Ok(threads)
}
