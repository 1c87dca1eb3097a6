// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The process that holds a cluster: boots it, answers questions at its door, ends with it.
//!
//! A signal or a kill ends this process, and with it the nodes: the emulators are its children.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tacet_ctl::{Error, Result};
use tacet_node::cluster::{Cluster, ClusterSpec, Door, USERS};
use tacet_node::{Cache, Command, Kernel, provision};
use tacet_words::interrupted;

use super::wire::{Frame, Output, Question};
use crate::commands::node_error::from_node;
use crate::commands::node_guest::Guest;
use crate::output;

/// A command whose asker has gone may end by itself for so long.
const GRACE: Duration = Duration::from_secs(10);
const SLURM: Duration = Duration::from_secs(30);

pub fn hold(mut spec: ClusterSpec, json: bool) -> Result<u8> {
    let start = Instant::now();
    let cache = Cache::open().map_err(from_node)?;
    let door = Door::open(&cache).map_err(from_node)?;
    announce(&cache)?;
    provision::ensure(&cache).and_then(|()| provision::ensure_cluster(&cache, spec.slurm)).map_err(from_node)?;
    let kernel = Kernel::installed(&cache, spec.node.kernel).map_err(from_node)?;
    let guest = Guest::prepare(&cache, &kernel)?;
    spec.node = guest.share(spec.node);
    // for programs that Slurm starts: their PATH is not that of a command from outside
    spec.first = Some(format!("ln -sf {}/tacet* /usr/local/bin/", guest.programs().display()));
    let cluster = Cluster::up(&cache, &spec).map_err(from_node)?;
    told(&cluster, start.elapsed(), json)?;
    serve(door, cluster, guest);
    Ok(0)
}

fn announce(cache: &Cache) -> Result<()> {
    let cache = cache.clone();
    let said = move |signal: &str| {
        output::note(&format!("interrupted by {signal}: the cluster is switched off"));
        cache.forget_own_nodes();
    };
    interrupted::announce(said).map_err(|io| Error::io("signals", &io, ""))
}

fn told(cluster: &Cluster, took: Duration, json: bool) -> Result<()> {
    let names: Vec<String> = cluster.states().into_iter().map(|(name, _)| name).collect();
    if json {
        return output::json_line(&json!({ "nodes": names, "seconds": took.as_secs_f64() }));
    }
    output::print(&format!(
        "{} are up after {} s. In another terminal: tacet node cluster run -- srun -N{} hostname\nCtrl-C switches them off.\n",
        names.join(", "),
        took.as_secs(),
        names.len()
    ))
}

/// Answers until somebody asks for the end.
fn serve(door: Door, cluster: Cluster, guest: Guest) {
    let held = Arc::new((cluster, guest));
    let (ender, end) = channel();
    let (door, at) = (Arc::new(door), Arc::clone(&held));
    let listening = Arc::clone(&door);
    thread::spawn(move || {
        while let Ok(stream) = listening.accept() {
            let (held, ender) = (Arc::clone(&at), ender.clone());
            thread::spawn(move || answer(&held.0, &held.1, stream, &ender));
        }
    });
    let Ok(mut asker) = end.recv() else { return };
    for (name, _) in held.0.states().into_iter().filter(|(_, runs)| *runs) {
        if let Err(error) = held.0.kill(&name) {
            output::note(&error.to_string());
        }
    }
    Frame::Ended(0).write(&mut asker).ok();
    // threads that still answer end with this process, which leaves nothing
    if let Ok(cache) = Cache::open() {
        cache.forget_own_nodes();
    }
    door.close();
}

fn answer(cluster: &Cluster, guest: &Guest, stream: UnixStream, ender: &Sender<UnixStream>) {
    let mut line = String::new();
    let Ok(reader) = stream.try_clone() else { return };
    let mut reader = BufReader::new(reader);
    if reader.read_line(&mut line).is_err() {
        return;
    }
    let said = match serde_json::from_str(&line) {
        Ok(Question::Down) => return drop(ender.send(stream)),
        Ok(question) => perform(cluster, guest, question, &stream),
        Err(error) => Err(Error::new("cluster", error, "use the command that booted it")),
    };
    let last = match said {
        Ok(status) => Frame::Ended(status),
        Err(error) => Frame::Failed(parts(&error)),
    };
    let mut stream = stream;
    last.write(&mut stream).ok();
}

fn parts(error: &Error) -> [String; 3] {
    let text = error.to_string();
    let mut parts = text.splitn(2, ": ");
    let object = parts.next().unwrap_or_default().to_owned();
    let rest = parts.next().unwrap_or_default();
    let (cause, remedy) = rest.split_once("; ").unwrap_or((rest, ""));
    [object, cause.to_owned(), remedy.to_owned()]
}

fn perform(cluster: &Cluster, guest: &Guest, question: Question, stream: &UnixStream) -> Result<u8> {
    match question {
        Question::Run { on, user, directory, words } => {
            let words = as_user(user.as_deref(), &words)?;
            run(cluster, &on, &guest.command_in(Path::new(&directory), &words), stream)
        }
        Question::Kill { node } => cluster.kill(&node).map(|()| 0).map_err(from_node),
        Question::Boot { node } => cluster.boot(&node).map(|()| 0).map_err(from_node),
        Question::Status => status(cluster, stream),
        Question::Down => Ok(0),
    }
}

fn as_user(user: Option<&str>, words: &[String]) -> Result<Vec<OsString>> {
    let front = match user {
        None | Some("root") => Vec::new(),
        Some(user) if USERS.iter().any(|(name, _)| *name == user) => {
            let home = format!("HOME=/home/{user}");
            ["runuser", "-u", user, "--", "env", &home].map(str::to_owned).to_vec()
        }
        Some(user) => {
            return Err(Error::new(format!("user {user}"), "no such user", "use root, alice, bob or carol"));
        }
    };
    Ok(front.iter().chain(words).map(OsString::from).collect())
}

/// Runs a command whose asker reads its output; ends it if the asker goes.
fn run(cluster: &Cluster, on: &str, command: &Command, stream: &UnixStream) -> Result<u8> {
    let lost = |io| Error::io("the asker", &io, "");
    let job = cluster.node(on).and_then(|node| node.start(command)).map_err(from_node)?;
    let (signal, mut asker) = (job.signaller(), stream.try_clone().map_err(lost)?);
    thread::spawn(move || {
        // it sends nothing more: what is read is its end
        std::io::copy(&mut asker, &mut std::io::sink()).ok();
        if signal(15).is_ok() {
            thread::sleep(GRACE);
            signal(9).ok();
        }
    });
    let to = Mutex::new(stream.try_clone().map_err(lost)?);
    let (mut out, mut err) = (Output { to: &to, frame: Frame::Stdout }, Output { to: &to, frame: Frame::Stderr });
    let status = job.follow(&mut out, &mut err).map_err(from_node)?;
    drop(to.into_inner().unwrap_or_else(PoisonError::into_inner));
    Ok(status.shell_code())
}

fn status(cluster: &Cluster, stream: &UnixStream) -> Result<u8> {
    let states = cluster.states();
    let asked = Command::new(["sinfo", "-h", "-N", "-o", "%N %T"]).timeout(SLURM);
    let first = states.iter().find(|(_, runs)| *runs);
    let slurm = first.and_then(|(name, _)| cluster.node(name).and_then(|node| node.run(&asked)).ok());
    let slurm = slurm.map(|output| output.text()).unwrap_or_default();
    let state_of = |name: &str| {
        let line = slurm.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or("unknown").to_owned()
    };
    let nodes = (1..).zip(&states).map(|(number, (name, runs))| {
        let counts = cluster.switch().counts(number);
        json!({
            "name": name, "state": if *runs { "up" } else { "off" }, "slurm": state_of(name),
            "frames_received": counts.received, "frames_sent": counts.sent,
            "frames_dropped": counts.dropped, "frames_lost": counts.lost,
        })
    });
    let mut stream = stream.try_clone().map_err(|io| Error::io("the asker", &io, ""))?;
    let text = json!({ "nodes": nodes.collect::<Vec<_>>() }).to_string();
    Frame::Told(text.into_bytes()).write(&mut stream).map_err(|io| Error::io("the asker", &io, ""))?;
    Ok(0)
}
