// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Nodes that stop without an end: an emulator whose machine stops, or one that is frozen itself. Nothing waits for them.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use tempfile::TempDir;

use crate::Result;
use crate::case::Case;
use crate::left::nothing_of;
use crate::nodes::{Nodes, tacet};
use crate::process::{self, Ended, until};
use crate::unplug::{LOST, begin, emulators, expect, hello, send};

pub fn cases() -> Vec<Case> {
    vec![
        Case::own("an emulator whose machine never starts", never_starts),
        Case::own("an emulator that stops its machine", stops),
        Case::own("one signal for a node that does not take it", || frozen(1)),
        Case::own("a frozen node that has a service CPU", silent),
        Case::own("two signals for a node that does not take them", || frozen(2)),
    ]
}

/// `-S`: the machine is made, and waits for a monitor's word.
fn never_starts() -> Result<()> {
    let name = format!("test-stopped-{}", std::process::id());
    let nodes = std::mem::ManuallyDrop::new(Nodes { name: name.clone() });
    let words = ["boot", "--name", &name, "--nodes", "1", "--emulator-arguments=-S"];
    let ended = process::run(&mut tacet(&words), b"")?;
    let said = ended.error_text();
    if ended.status == 0 || !said.contains("the emulator stopped it (prelaunch)") || said.lines().count() != 1 {
        return Err(format!("status {}: {said}", ended.status));
    }
    nothing_of(&nodes)
}

/// The machine stops while the program waits, as by an internal error of KVM.
fn stops() -> Result<()> {
    let scratch = TempDir::new().map_err(|error| error.to_string())?;
    let socket = scratch.path().join("monitor").display().to_string();
    let monitor = format!("--emulator-arguments=-monitor unix:{socket},server=on,wait=off");
    let nodes = Nodes::boot(1, &[&monitor])?;
    let job = begin(&nodes, &[], "wait")?;
    let mut stream = UnixStream::connect(&socket).map_err(|error| format!("{socket}: {error}"))?;
    stream.write_all(b"stop\n").map_err(|error| error.to_string())?;
    // until the emulator is gone
    stream.read_to_end(&mut Vec::new()).ok();
    let ended = process::finish(job.child)?;
    lost(&ended, "the emulator stopped it (paused)")?;
    until("its emulator is gone", || emulators(&nodes).is_empty())?;
    expect(&nodes.down()?, 0)?;
    nothing_of(&nodes)
}

/// The emulator itself is frozen, so nothing tells that its machine stopped. The first signal ends the job because the node
/// does not take it; the second one because it is the second.
fn frozen(signals: u32) -> Result<()> {
    let nodes = Nodes::boot(1, &[])?;
    let mut job = begin(&nodes, &[], "spin")?;
    let emulator = emulators(&nodes).first().copied().ok_or("there is no emulator")?;
    send("STOP", emulator)?;
    send("TERM", job.child.id())?;
    if signals == 2 {
        // the same signal is another one after half a second
        std::thread::sleep(std::time::Duration::from_millis(700));
        if job.child.try_wait().map_err(|error| error.to_string())?.is_none() {
            send("TERM", job.child.id())?;
        }
    }
    let ended = process::finish(job.child)?;
    match signals {
        1 => lost(&ended, "has not taken a signal for 5 s")?,
        _ if ended.status == 0 => return Err("the killed job succeeded".into()),
        _ => {}
    }
    send("CONT", emulator).ok();
    expect(&nodes.down()?, 0)?;
    nothing_of(&nodes)
}

/// Nobody signals, and no emulator says that its machine stopped: the node's silence alone tells. It comes back with a job that
/// is over.
fn silent() -> Result<()> {
    let nodes = Nodes::boot(1, &["--service-cpu"])?;
    let job = begin(&nodes, &[], "spin")?;
    // A node that loads has more time.
    let number = job.number.to_string();
    until("the program executes", || {
        let map = process::run(&mut tacet(&["map", "--name", &nodes.name, "--job", &number]), b"");
        map.is_ok_and(|map| map.status == 0)
    })?;
    let emulator = emulators(&nodes).first().copied().ok_or("there is no emulator")?;
    send("STOP", emulator)?;
    let ended = process::finish(job.child);
    let state = nodes.status().map(|status| status["nodes"][0]["state"].clone());
    send("CONT", emulator)?;
    lost(&ended?, "it is silent")?;
    if state? != "lost" {
        return Err("the status does not say that the node is lost".into());
    }
    until("the node is ready again", || nodes.ready() == 1)?;
    hello(&nodes)?;
    expect(&nodes.down()?, 0)?;
    nothing_of(&nodes)
}

/// One line names the node and the reason.
fn lost(ended: &Ended, why: &str) -> Result<()> {
    expect(ended, LOST)?;
    let said = ended.error_text();
    let lines = said.lines().filter(|line| line.contains("node 0") && line.contains(why)).count();
    if lines == 1 { Ok(()) } else { Err(format!("no line with `{why}`: {said}")) }
}
