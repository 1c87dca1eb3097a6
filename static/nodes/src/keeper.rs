// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The keeper of a set: one process that owns the emulated nodes, their daemon and the state directory.
//!
//! Started by `launch.rs` as `tacet static keep`. It ends by SIGTERM, or for a set of one job when the job's command has
//! gone (the end of its standard input), and gives everything back. Must never print anything but its one report.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tacet_ctl::status::{MACHINE, UNDONE, USAGE};
use tacet_ctl::{Error, Result};
use tacet_iod::control::NodeOrder;
use tacet_iod::daemon::Handle;
use tacet_node::Qemu;

use crate::boot_line;
use crate::daemon::{self, from_iod};
use crate::key;
use crate::qemu::{Emulated, Files, distrust_kvm, emulator_words, from_node, last_words, with_kvm};
use crate::spec::{Accelerator, Spec};
use crate::state::{Facts, State};

/// How often the keeper looks at its nodes.
const GLANCE: Duration = Duration::from_millis(50);
/// A node says hello within a second; more on a host where many start.
const PATIENCE: Duration = Duration::from_secs(60);
const PATIENCE_FOR_EACH: Duration = Duration::from_secs(2);
/// A node under KVM says hello within a second. If these do not, though a trial did, they are emulated.
const PATIENCE_WITH_KVM: Duration = Duration::from_secs(8);

/// The first line of the keeper's standard input.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    pub name: String,
    pub spec: Spec,
    /// The set ends with the writer of the standard input.
    pub for_one_job: bool,
}

/// The one line of the keeper's standard output.
#[derive(Debug, Serialize, Deserialize)]
pub enum Report {
    Ready(Facts),
    /// The one line of the error, and its exit status.
    Failed(String, u8),
}

/// Keeps a set until it is told to end.
pub fn keep() -> Result<()> {
    // no terminal's signal is for the nodes
    nix::unistd::setsid().ok();
    let order = read_order()?;
    let end = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&end);
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))
        .map_err(|e| Error::new("signals", e, "").with_status(MACHINE))?;
    if order.for_one_job {
        let flag = Arc::clone(&end);
        thread::spawn(move || {
            io::copy(&mut io::stdin(), &mut io::sink()).ok();
            flag.store(true, Ordering::Relaxed);
        });
    }
    let state = State::create(&order.name)?;
    let mut set = Set::start(&order, &state, &end)?;
    state.publish(&set.facts)?;
    report(&Report::Ready(set.facts.clone()))?;
    set.watch(&end, &state);
    // the set ends before its directory
    drop(set);
    drop(state);
    Ok(())
}

/// Tells the launcher why there is no set.
pub fn failed(error: &Error) {
    report(&Report::Failed(error.to_string(), error.status())).ok();
}

struct Set {
    facts: Facts,
    nodes: Vec<Node>,
    daemon: Handle,
    qemu: Qemu,
    key: String,
}

struct Node {
    files: Files,
    /// `None`: it was powered off.
    emulated: Option<Emulated>,
    /// The daemon knows that it has ended.
    lost: bool,
}

impl Node {
    fn has_ended(&self) -> bool {
        self.emulated.as_ref().is_some_and(|emulated| emulated.ended().is_some())
    }
}

impl Set {
    fn start(order: &Order, state: &State, end: &AtomicBool) -> Result<Set> {
        let spec = &order.spec;
        spec.check()?;
        let qemu = Qemu::installed(spec.qemu.as_deref()).map_err(from_node)?;
        let key = key::random()?;
        let control = state.path().join("control");
        // the emulator's network leads to this host's loopback
        let daemon = daemon::bind(&key, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), &control, spec.nodes)?;
        let daemon = daemon.start().map_err(from_iod)?;
        let port = daemon.address().port();
        let (pid, name) = (std::process::id() as i32, order.name.clone());
        let choice = with_kvm(spec, &qemu)?;
        let facts = Facts { name, pid, port, control, spec: Some(spec.clone()), kvm: choice.kvm, why_kvm: choice.why };
        let mut set = Set { facts, nodes: Vec::new(), daemon, qemu, key };
        set.boot(spec, state)?;
        if choice.kvm && spec.accelerator == Accelerator::Auto {
            match set.wait(PATIENCE_WITH_KVM, end) {
                Ok(()) => return Ok(set),
                Err(error) if end.load(Ordering::Relaxed) => return Err(error),
                Err(error) => set.without_kvm(spec, state, &error)?,
            }
        }
        set.wait(PATIENCE + PATIENCE_FOR_EACH * spec.nodes, end)?;
        Ok(set)
    }

    /// KVM did not boot the nodes: emulation does.
    fn without_kvm(&mut self, spec: &Spec, state: &State, error: &Error) -> Result<()> {
        self.nodes.clear();
        self.facts.why_kvm = error.to_string();
        self.facts.kvm = false;
        distrust_kvm(spec, &self.qemu, &self.facts.why_kvm);
        self.boot(spec, state)
    }

    fn boot(&mut self, spec: &Spec, state: &State) -> Result<()> {
        for node in 0..spec.nodes {
            let files = Files::of(state.path(), node);
            let emulated = Some(self.start_emulator(spec, &files)?);
            self.nodes.push(Node { files, emulated, lost: false });
        }
        Ok(())
    }

    fn start_emulator(&self, spec: &Spec, files: &Files) -> Result<Emulated> {
        std::fs::remove_file(&files.link).ok();
        let (node, key) = (files.node, key::of_node(&self.key, files.node)?);
        let words = boot_line::emulated(node, spec.link, self.facts.port, spec.service_cpu, &key);
        Emulated::start(&self.qemu, spec, self.facts.kvm, files, &words)
    }

    /// Waits until every node has asked for a job.
    fn wait(&self, limit: Duration, end: &AtomicBool) -> Result<()> {
        let until = Instant::now() + limit;
        loop {
            if let Some((number, node)) = self.ended().next() {
                let remedy = "the console's last words; `--dry-run` prints how it was started";
                return Err(
                    Error::new(format!("node {number}: it ended"), last_words(&node.files), remedy).with_status(UNDONE)
                );
            }
            let status = daemon::status(&self.facts.control)?;
            let ready: Vec<u32> =
                status.nodes.iter().filter(|node| node.state == "ready").map(|node| node.node).collect();
            if ready.len() == self.nodes.len() {
                return Ok(());
            }
            if end.load(Ordering::Relaxed) {
                return Err(Error::new("nodes", "they were ended while they booted", "").with_status(UNDONE));
            }
            if Instant::now() > until {
                let number = (0..self.nodes.len() as u32).find(|number| !ready.contains(number)).unwrap_or(0);
                let said = self.nodes.get(number as usize).map_or_else(String::new, |node| last_words(&node.files));
                let cause = format!("it did not answer within {} s ({said})", limit.as_secs());
                let remedy = "see `--accel tcg`, or start fewer nodes";
                return Err(Error::new(format!("node {number}"), cause, remedy).with_status(UNDONE));
            }
            thread::sleep(GLANCE);
        }
    }

    /// Tells the daemon of each node that ends, and resets and powers off those that it names.
    fn watch(&mut self, end: &AtomicBool, state: &State) {
        while !end.load(Ordering::Relaxed) && !self.daemon.has_stopped() {
            for (node, order) in self.daemon.ends() {
                self.end(node, order, state);
            }
            for (node, why) in self.newly_lost() {
                self.daemon.node_lost(node, &why);
            }
            thread::sleep(GLANCE);
        }
    }

    fn newly_lost(&mut self) -> Vec<(u32, String)> {
        let new = (0..).zip(&mut self.nodes).filter(|(_, node)| !node.lost && node.has_ended());
        let note = |(number, node): (u32, &mut Node)| {
            node.lost = true;
            (number, why_lost(node))
        };
        new.map(note).collect()
    }

    /// The node's machine ends, and begins anew if it is to be reset.
    fn end(&mut self, number: u32, order: NodeOrder, state: &State) {
        let Some(node) = self.nodes.get_mut(number as usize) else { return };
        // It must end before another one has its files.
        node.emulated = None;
        node.lost = false;
        let Some(spec) = self.facts.spec.as_ref().filter(|_| order == NodeOrder::Reset) else { return };
        let started = self.start_emulator(spec, &Files::of(state.path(), number));
        match (started, self.nodes.get_mut(number as usize)) {
            (Ok(emulated), Some(node)) => node.emulated = Some(emulated),
            (Err(error), _) => self.daemon.node_lost(number, &error.to_string()),
            (Ok(_), None) => {}
        }
    }

    fn ended(&self) -> impl Iterator<Item = (u32, &Node)> {
        (0..).zip(&self.nodes).filter(|(_, node)| node.has_ended())
    }
}

/// The emulator's own words, if it had some.
fn why_lost(node: &Node) -> String {
    let ended = node.emulated.as_ref().and_then(Emulated::ended);
    let status = ended.map_or_else(String::new, |status| format!(", {status}"));
    match emulator_words(&node.files) {
        Some(words) => format!("its emulator ended{status}: {words}"),
        None => format!("its emulator ended{status}"),
    }
}

fn read_order() -> Result<Order> {
    let mut line = Vec::new();
    let mut byte = [0];
    // not a byte more than the line: the rest is the thread's that waits for the end
    while io::stdin().read(&mut byte).is_ok_and(|count| count == 1) && byte != *b"\n" {
        line.extend(byte);
    }
    serde_json::from_slice(&line)
        .map_err(|error| Error::new("the order to the keeper", error, "use `tacet static boot`").with_status(USAGE))
}

fn report(report: &Report) -> Result<()> {
    let text = serde_json::to_string(report).unwrap_or_default();
    writeln!(io::stdout(), "{text}").map_err(|io| Error::io("the launcher", &io, ""))
}
