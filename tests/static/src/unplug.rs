// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pulls out everything that can be pulled out while a job runs, and checks that all is given back; other boards and links;
//! nodes of one job.

use std::process::{Child, Command};

use crate::Result;
use crate::case::Case;
use crate::left::{children, naming, nothing_of};
use crate::nodes::{Nodes, tacet};
use crate::place::program;
use crate::process::{self, Ended, until};

/// The status of a job whose node or daemon failed.
pub const LOST: i32 = 125;

pub fn cases() -> Vec<Case> {
    vec![
        Case::shared("a signal ends a job that waits", |nodes| signalled(nodes, "wait", "TERM", 143)),
        Case::shared("a signal ends a job that computes", |nodes| signalled(nodes, "spin", "KILL", 137)),
        Case::shared("ctrl-c reaches the program", interrupted),
        Case::shared("the end of the input reaches the program", input_ends),
        Case::shared("a killed proxy", killed_proxy),
        Case::shared("a killed run", killed_run),
        Case::shared("twenty jobs one after another", twenty_jobs).more(),
        Case::own("a killed emulator", killed_emulator),
        Case::own("a killed daemon", killed_daemon),
        Case::own("nodes of one job", nodes_of_one_job),
        Case::own("a killed run with its nodes", killed_run_with_nodes),
        Case::own("kill all", kill_all).more(),
        Case::own("a console link on a q35", || other_board(&["--machine", "q35", "--link", "console"])).more(),
        Case::own("the emulator's network", || other_board(&["--link", "net"])),
        Case::own("a bridge on a q35", || other_board(&["--machine", "q35"])).more(),
        Case::own("a console link on a microvm", || other_board(&["--link", "console"])).more(),
        Case::own("a network card on a q35", || other_board(&["--machine", "q35"])).more(),
    ]
}

/// A job that has printed its first line.
pub struct Job {
    pub child: Child,
    pub number: u32,
}

pub fn begin(nodes: &Nodes, flags: &[&str], way: &str) -> Result<Job> {
    let child = process::start(&mut nodes.run(flags, &[program("ends-static"), way.into()]))?;
    let pid = child.id();
    let mut number = None;
    until("the job runs", || {
        number = job_of(nodes, pid);
        number.is_some()
    })?;
    Ok(Job { child, number: number.unwrap_or(0) })
}

/// The running job of a `tacet static run`.
pub fn job_of(nodes: &Nodes, pid: u32) -> Option<u32> {
    let status = nodes.status().ok()?;
    let jobs = status["jobs"].as_array()?;
    let own = jobs.iter().find(|job| job["pid"] == pid && job["state"] == "running")?;
    own["job"].as_u64().and_then(|number| number.try_into().ok())
}

pub fn send(signal: &str, pid: u32) -> Result<()> {
    let ended = process::run(Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]), b"")?;
    if ended.status == 0 { Ok(()) } else { Err(ended.error_text()) }
}

pub fn expect(ended: &Ended, status: i32) -> Result<()> {
    let good = ended.status == status;
    if good {
        Ok(())
    } else {
        Err(format!("status {} instead of {status}: {}{}", ended.status, ended.text(), ended.error_text()))
    }
}

pub fn hello(nodes: &Nodes) -> Result<()> {
    let ended = process::run(&mut nodes.run(&[], &[program("hello-static")]), b"")?;
    expect(&ended, 0)?;
    if ended.text() == "hello\n" { Ok(()) } else { Err(format!("it printed {}", ended.text())) }
}

fn signalled(nodes: &Nodes, way: &str, signal: &str, status: i32) -> Result<()> {
    let job = begin(nodes, &[], way)?;
    let number = job.number.to_string();
    let kill = process::run(&mut tacet(&["kill", "--name", &nodes.name, "--signal", signal, &number]), b"")?;
    expect(&kill, 0)?;
    expect(&process::finish(job.child)?, status)?;
    hello(nodes)
}

fn interrupted(nodes: &Nodes) -> Result<()> {
    let job = begin(nodes, &[], "wait")?;
    send("INT", job.child.id())?;
    let ended = process::finish(job.child)?;
    expect(&ended, 130)?;
    let said = String::from_utf8_lossy(&ended.stderr);
    if said.contains("tacet: interrupted by SIGINT: the job has ended") {
        Ok(())
    } else {
        Err(format!("it said {said}"))
    }
}

fn input_ends(nodes: &Nodes) -> Result<()> {
    let mut child = process::start(&mut nodes.run(&[], &[program("stream-static")]))?;
    let pid = child.id();
    until("the job runs", || job_of(nodes, pid).is_some())?;
    drop(child.stdin.take());
    expect(&process::finish(child)?, 0)
}

fn killed_proxy(nodes: &Nodes) -> Result<()> {
    let job = begin(nodes, &[], "wait")?;
    let proxies = children(job.child.id());
    let proxy = proxies.first().ok_or("the job has no proxy")?;
    send("KILL", *proxy)?;
    let ended = process::finish(job.child)?;
    if ended.status == 0 {
        return Err("the job succeeded without its proxy".into());
    }
    hello(nodes)
}

fn killed_run(nodes: &Nodes) -> Result<()> {
    let mut job = begin(nodes, &[], "spin")?;
    let proxies = children(job.child.id());
    job.child.kill().and_then(|()| job.child.wait()).map_err(|error| error.to_string())?;
    until("its proxies are gone", || {
        proxies.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists())
    })?;
    until("its node is ready again", || nodes.status().is_ok_and(|status| !has_job(&status, job.number)))?;
    hello(nodes)
}

fn has_job(status: &serde_json::Value, number: u32) -> bool {
    let of = |list: &str| status[list].as_array().is_some_and(|all| all.iter().any(|entry| entry["job"] == number));
    of("jobs") || of("nodes")
}

fn twenty_jobs(nodes: &Nodes) -> Result<()> {
    (0..20).try_for_each(|_| hello(nodes))
}

fn killed_emulator() -> Result<()> {
    let nodes = Nodes::boot(2, &[])?;
    let job = begin(&nodes, &["--nodes", "2"], "wait")?;
    let proxies = children(job.child.id());
    let emulator = emulators(&nodes).first().copied().ok_or("there is no emulator")?;
    send("KILL", emulator)?;
    let ended = process::finish(job.child)?;
    expect(&ended, LOST)?;
    if !ended.error_text().contains("node") {
        return Err(format!("no line names the node: {}", ended.error_text()));
    }
    until("the proxies are gone", || {
        proxies.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists())
    })?;
    until("the other node is ready", || nodes.ready() == 1)?;
    hello(&nodes)?;
    expect(&nodes.down()?, 0)?;
    nothing_of(&nodes)
}

/// The emulators of a set: they name its directory.
pub fn emulators(nodes: &Nodes) -> Vec<u32> {
    naming(&format!("{}/node-", nodes.directory()))
}

fn keeper(nodes: &Nodes) -> Result<u32> {
    let text = std::fs::read_to_string(format!("{}/set.json", nodes.directory())).map_err(|error| error.to_string())?;
    let facts: serde_json::Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    facts["pid"].as_u64().and_then(|pid| pid.try_into().ok()).ok_or_else(|| "the set has no keeper".into())
}

fn killed_daemon() -> Result<()> {
    let nodes = Nodes::boot(1, &[])?;
    let job = begin(&nodes, &[], "wait")?;
    send("KILL", keeper(&nodes)?)?;
    let ended = process::finish(job.child)?;
    expect(&ended, LOST)?;
    if ended.error_text().lines().count() != 1 {
        return Err(format!("not one line: {}", ended.error_text()));
    }
    until("the emulators are gone", || emulators(&nodes).is_empty())?;
    // They end with one of its threads; the lock ends with the last.
    let lock = format!("{}/lock", nodes.directory());
    until("the daemon is gone", || std::fs::File::open(&lock).is_ok_and(|lock| lock.try_lock().is_ok()))?;
    // what the killed one left does not hinder the next
    let words = ["boot", "--name", &nodes.name, "--nodes", "1"];
    expect(&process::run(&mut tacet(&words), b"")?, 0)?;
    hello(&nodes)?;
    expect(&nodes.down()?, 0)?;
    nothing_of(&nodes)
}

/// No set is named, and none is booted by this user's default name.
fn with_own_nodes(flags: &[&str], words: &[&str]) -> Command {
    let mut command = tacet(&["run", "--own-nodes"]);
    command.args(flags).arg("--").args(words);
    command
}

fn nodes_of_one_job() -> Result<()> {
    let hello = program("hello-static");
    let child = process::start(&mut with_own_nodes(&["--nodes", "2"], &[&hello]))?;
    let name = format!("run-{}", child.id());
    let ended = process::finish(child)?;
    expect(&ended, 0)?;
    if ended.text() != "hello\nhello\n" {
        return Err(format!("it printed {}", ended.text()));
    }
    gone(name)
}

fn killed_run_with_nodes() -> Result<()> {
    let spin = program("ends-static");
    let mut child = process::start(&mut with_own_nodes(&[], &[&spin, "wait"]))?;
    let name = format!("run-{}", child.id());
    let nodes = std::mem::ManuallyDrop::new(Nodes { name: name.clone() });
    until("the job runs", || job_of(&nodes, child.id()).is_some())?;
    child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
    gone(name)
}

fn gone(name: String) -> Result<()> {
    // its keeper ends it, not this
    nothing_of(&std::mem::ManuallyDrop::new(Nodes { name }))
}

fn kill_all() -> Result<()> {
    let nodes = Nodes::boot(1, &[])?;
    let job = begin(&nodes, &[], "spin")?;
    expect(&process::run(&mut tacet(&["kill", "--all", "--name", &nodes.name]), b"")?, 0)?;
    let ended = process::finish(job.child)?;
    if ended.status == 0 {
        return Err("the killed job succeeded".into());
    }
    nothing_of(&nodes)
}

fn other_board(flags: &[&str]) -> Result<()> {
    let nodes = Nodes::boot(1, flags)?;
    hello(&nodes)?;
    for name in ["stream-static", "files-static"] {
        let native = process::run(&mut Command::new(program(name)), b"input\n")?;
        let ended = process::run(&mut nodes.run(&[], &[program(name)]), b"input\n")?;
        if ended.stdout != native.stdout {
            return Err(format!("{name} printed {}{}", ended.text(), ended.error_text()));
        }
    }
    expect(&process::run(&mut tacet(&["console", "--name", &nodes.name, "0"]), b"")?, 0)?;
    expect(&nodes.down()?, 0)?;
    nothing_of(&nodes)
}
