// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A job while it runs: takes its events, one by one, until all its processes have ended.
//!
//! A job is whole or over: if a node or a proxy is lost, the rest is killed, with one line that says why.

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::child::Child;
use super::events::{Event, Events};
use super::{Ended, Grant, Outcome, Submission};
use crate::control::{Adoption, Dropped, Reply, Request, send};

/// A node has ended its processes, and has their proxies' answers: a proxy that goes on after so long was silent to its node.
const FAREWELL: Duration = Duration::from_secs(5);
/// All processes have ended: their nodes say so soon, or never.
const NEWS: Duration = Duration::from_secs(2);
/// A proxy whose stream has ended dies at once, and at once of SIGKILL, unless Linux waits for a device there. On a busy
/// host the end of its threads takes seconds.
const DEATH: Duration = Duration::from_secs(10);
/// Another daemon may come in place of the one that has refused the job.
const AFTER_REFUSAL: Duration = Duration::from_secs(5);
/// A signal that comes again so soon is the same.
const SAME: Duration = Duration::from_millis(500);
/// A program that gets a signal mostly ends.
const OBEDIENCE: Duration = Duration::from_secs(3);

pub struct Running<'a> {
    grant: Grant,
    submission: &'a Submission,
    children: Vec<Child>,
    /// `None` while there is no daemon that has the job.
    daemon: Option<UnixStream>,
    /// A daemon that was told about the job, and has not said yet that it takes it.
    candidate: Option<UnixStream>,
    /// The daemon that granted the job is gone.
    orphaned: bool,
    /// The last daemon that was told about the job did not take it.
    unseen: bool,
    events: Events,
    report: &'a mut dyn FnMut(&str),
    /// Tells the threads that answer for dead proxies to stop.
    over: Arc<AtomicBool>,
    dropped: Dropped,
    /// Why the job is being killed.
    doomed: bool,
    /// The last signal that has come for the job, and when.
    last_signal: Option<(i32, Instant)>,
    finished: bool,
    /// A node has loaded its programs.
    begun: bool,
    /// At these moments, something that should have happened is not waited for any longer.
    deadlines: Vec<(Instant, Overdue)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overdue {
    /// The proxies of a node that has ended its processes.
    Farewell(u32),
    /// A proxy that says nothing more.
    Death(u32),
    /// A proxy that was killed for that.
    Killed(u32),
    /// The nodes of a job whose proxies have ended.
    News,
    /// A program that should end of this signal.
    Obedience(i32),
}

fn ranks_of(children: &[Child]) -> impl Iterator<Item = Ended> {
    children.iter().map(|child| child.ended.unwrap_or(Ended::Lost))
}

impl<'a> Running<'a> {
    pub fn new(
        grant: Grant,
        submission: &'a Submission,
        children: Vec<Child>,
        daemon: UnixStream,
        events: Events,
        over: Arc<AtomicBool>,
        report: &'a mut dyn FnMut(&str),
    ) -> Self {
        Running {
            grant,
            submission,
            children,
            daemon: Some(daemon),
            candidate: None,
            orphaned: false,
            unseen: false,
            events,
            report,
            over,
            dropped: Dropped::default(),
            doomed: false,
            last_signal: None,
            finished: false,
            begun: false,
            deadlines: Vec::new(),
        }
    }

    pub fn until_over(mut self, inbox: &Receiver<Event>) -> Outcome {
        while !(self.finished && self.all_ended()) {
            let next = self.deadlines.iter().map(|(when, _)| *when).min();
            let wait = next.map_or(Duration::MAX, |when| when.saturating_duration_since(Instant::now()));
            match inbox.recv_timeout(wait.min(Duration::from_secs(3600))) {
                Ok(event) => self.take(event),
                Err(RecvTimeoutError::Timeout) => self.look_at_deadlines(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.over.store(true, Ordering::Relaxed);
        let ranks = ranks_of(&self.children).collect();
        let killed = |rank: &Ended| matches!(rank, Ended::Signal(_));
        if let Some((signal, _)) = self.last_signal.filter(|_| ranks_of(&self.children).any(|rank| killed(&rank))) {
            let name = Signal::try_from(signal).map_or("a signal", Signal::as_str);
            (self.report)(&format!("interrupted by {name}: the job has ended"));
        }
        Outcome { job: self.grant.job, ranks, dropped: self.dropped, begun: self.begun }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Control(reply) => self.hear(reply),
            Event::ControlGone => self.lose_daemon(),
            Event::ControlBack(stream) => self.candidate = Some(stream),
            Event::Signal { signal, to_all } => self.pass_on(signal, to_all),
            Event::ChildSignals(rank, signals) => self.give_to_node(rank, signals),
            Event::ChildSilent(rank) => self.expect(DEATH, Overdue::Death(rank)),
            Event::ChildDied(rank, farewell) => self.bury(rank, farewell),
        }
    }

    fn hear(&mut self, reply: Reply) {
        match reply {
            Reply::Started { .. } => self.begun = true,
            Reply::NodeEnded { node, failure } if failure.is_empty() => self.expect(FAREWELL, Overdue::Farewell(node)),
            Reply::NodeEnded { node, failure } => self.doom(&format!("node {node}: {failure}")),
            Reply::NodeLost { node, why } => self.doom(&format!("node {node} is lost: {why}")),
            Reply::Signal { signal, nodes, rank } => {
                let is_meant =
                    |child: &Child| nodes.contains(&child.node) && rank.is_none_or(|rank| rank == child.rank);
                self.children.iter_mut().filter(|child| is_meant(child)).for_each(|child| child.signal(signal));
            }
            Reply::Finished {} => self.finished = true,
            Reply::Done {} => {
                self.unseen = false;
                self.daemon = self.candidate.take();
            }
            Reply::Refused { reason } => self.hear_refusal(&reason),
            _ => {}
        }
    }

    /// The daemon that granted the job ends it. A later one, which does not take it, has no right to its end.
    fn hear_refusal(&mut self, reason: &str) {
        if !self.orphaned {
            (self.report)(reason);
            self.finished = true;
            return self.doom("the daemon has refused it");
        }
        if !std::mem::replace(&mut self.unseen, true) {
            (self.report)(&format!("the new daemon does not take job {}: {reason}", self.grant.job));
        }
    }

    /// Proxies serve without a daemon, so the job goes on, unless its nodes are gone too.
    fn lose_daemon(&mut self) {
        self.daemon = None;
        if self.all_ended() {
            self.finished = true;
            return;
        }
        if self.submission.nodes_end_with_daemon {
            return self.doom("its nodes and their daemon are gone");
        }
        self.orphaned = true;
        if !self.unseen {
            (self.report)(&format!("tacet iod is gone; job {} goes on without it", self.grant.job));
        }
        let adopt = Request::Adopt(Adoption {
            job: self.grant.job,
            name: self.submission.submit.name.clone(),
            nodes: self.grant.nodes.clone(),
            processes: self.submission.submit.processes,
            voucher: self.grant.voucher.clone(),
        });
        let pause = if self.unseen { AFTER_REFUSAL } else { Duration::ZERO };
        self.events.await_daemon(self.submission.control.clone(), adopt, pause);
    }

    /// The first signal is the program's, the second the job's end. A sender that ends a process group sends one twice.
    fn pass_on(&mut self, signal: i32, to_all: bool) {
        let now = Instant::now();
        if self.last_signal.is_some_and(|(last, when)| last == signal && now < when + SAME) {
            return;
        }
        let signal = match self.last_signal.replace((signal, now)) {
            None if to_all => {
                // The proxies have it. If one gave it to a node that is dead, nobody else would notice.
                let sign = Request::Kill { job: self.grant.job, signal: 0 };
                let _ = self.daemon.as_ref().map(|daemon| send(daemon, &sign));
                return self.expect(OBEDIENCE, Overdue::Obedience(signal));
            }
            None => signal,
            Some(_) => libc::SIGKILL,
        };
        let request = Request::Kill { job: self.grant.job, signal };
        let told = self.daemon.as_ref().is_some_and(|daemon| send(daemon, &request).is_ok());
        if !told || signal == libc::SIGKILL {
            self.children.iter_mut().for_each(|child| child.signal(signal));
        }
        self.expect(OBEDIENCE, Overdue::Obedience(signal));
    }

    /// A program that computes gets its signals by the daemon, or by its proxy once more.
    fn give_to_node(&mut self, rank: u32, signals: u64) {
        for signal in (1..=64).filter(|signal| signals & (1 << (signal - 1)) != 0) {
            let request = Request::Signal { job: self.grant.job, rank, signal };
            let told = self.daemon.as_ref().is_some_and(|daemon| send(daemon, &request).is_ok());
            if !told && let Some(child) = self.children.get_mut(rank as usize) {
                child.signal(signal);
            }
        }
    }

    fn bury(&mut self, rank: u32, farewell: Option<Dropped>) {
        let child = self.children.get_mut(rank as usize).filter(|child| child.is_alive());
        let Some(child) = child else { return };
        let ended = child.bury();
        let is_strange = farewell.is_none() && !child.killed;
        if is_strange || (child.killed && self.doomed && farewell.is_none()) {
            child.ended = Some(Ended::Lost);
        }
        if let Some(dropped) = farewell {
            self.dropped.malformed += dropped.malformed;
            self.dropped.strangers += dropped.strangers;
            self.dropped.stale += dropped.stale;
        }
        if is_strange {
            let how = match ended {
                Ended::Signal(signal) => {
                    Signal::try_from(signal).map_or("a signal".into(), |signal| signal.to_string())
                }
                Ended::Exit(status) => format!("its exit with status {status}"),
                Ended::Lost => "an unknown cause".into(),
            };
            self.doom(&format!("rank {rank}: {how} has ended its proxy"));
        }
        self.expect_news();
    }

    /// A proxy has ended. After the last one, the nodes' news are all that is missing.
    fn expect_news(&mut self) {
        if self.all_ended() {
            self.finished |= self.daemon.is_none();
            self.expect(NEWS, Overdue::News);
        }
    }

    /// The job cannot end by itself any more.
    fn doom(&mut self, why: &str) {
        if !self.doomed {
            (self.report)(&format!("job {} ends: {why}", self.grant.job));
            // A node that computes would not ask its proxies.
            let kill = Request::Kill { job: self.grant.job, signal: libc::SIGKILL };
            let _ = self.daemon.as_ref().map(|daemon| send(daemon, &kill));
        }
        self.doomed = true;
        for child in self.children.iter_mut().filter(|child| child.is_alive()) {
            child.kill();
        }
    }

    fn expect(&mut self, within: Duration, overdue: Overdue) {
        self.deadlines.push((Instant::now() + within, overdue));
    }

    fn look_at_deadlines(&mut self) {
        let now = Instant::now();
        let (due, later) = std::mem::take(&mut self.deadlines).into_iter().partition(|(when, _)| *when <= now);
        self.deadlines = later;
        let due: Vec<_> = due;
        for (_, overdue) in due {
            match overdue {
                Overdue::Farewell(node) => self.miss_farewells(node),
                Overdue::Death(rank) if self.is_alive(rank) => {
                    self.doom(&format!("rank {rank}: its proxy serves no more, and does not end"));
                    self.children.iter_mut().filter(|child| child.rank == rank).for_each(Child::kill);
                    self.expect(DEATH, Overdue::Killed(rank));
                }
                Overdue::Killed(rank) if self.is_alive(rank) => self.leave(rank),
                Overdue::Death(_) | Overdue::Killed(_) => {}
                Overdue::News => self.finished = true,
                Overdue::Obedience(signal) if signal != libc::SIGKILL && !self.all_ended() => {
                    let name = Signal::try_from(signal).map_or("the signal", Signal::as_str);
                    (self.report)(&format!("the program has {name}; another one kills job {}", self.grant.job));
                }
                Overdue::Obedience(_) => {}
            }
        }
    }

    /// Nobody knows how the programs of these proxies have ended.
    fn miss_farewells(&mut self, node: u32) {
        let left = self.children.iter().find(|child| child.node == node && child.is_alive());
        if let Some(rank) = left.map(|child| child.rank) {
            self.doom(&format!("rank {rank}: node {node} has ended it, and its proxy has not heard how"));
        }
    }

    fn leave(&mut self, rank: u32) {
        let Some(child) = self.children.get_mut(rank as usize) else { return };
        child.leave();
        let line = format!("rank {rank}: its proxy, process {}, cannot be killed: see what it waits for", child.pid());
        (self.report)(&line);
        self.expect_news();
    }

    fn is_alive(&self, rank: u32) -> bool {
        self.children.get(rank as usize).is_some_and(Child::is_alive)
    }

    fn all_ended(&self) -> bool {
        self.children.iter().all(|child| !child.is_alive())
    }
}
