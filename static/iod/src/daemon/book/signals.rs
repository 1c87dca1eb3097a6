// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signals for jobs: by the nodes that listen, else by the proxies; and the nodes that take none.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::Book;
use crate::control::Reply;
use crate::daemon::job::{Order, Part, Stage};
use crate::error::{Error, Result};

/// A node that lives takes a signal within milliseconds.
pub const TAKING: Duration = Duration::from_secs(5);

impl Book {
    /// Sends a signal to a job: by its nodes, if they listen, or else by their proxies. A node that has been given its
    /// part must say something soon. A job that waits for nodes ends of a signal that ends programs.
    pub fn kill(&mut self, id: u32, signal: i32, now: Instant) -> Result<()> {
        let Some(job) = self.jobs.get_mut(&id) else {
            return Err(Error::new(format!("job {id}"), "there is no such job", "see `tacet static status`"));
        };
        if matches!(job.stage, Stage::Queued) {
            if ends_programs(signal) {
                self.end_queued(id, signal);
            }
            return Ok(());
        }
        let deadly = signal == libc::SIGKILL;
        let mut by_proxy = Vec::new();
        for (node, part) in job.parts.iter_mut().filter(|(_, part)| !part.over) {
            part.wants_sign(now);
            if part.watched || deadly {
                // Also for a node that listens later.
                part.order(Order::Signal { rank: None, signal });
            }
            if deadly || (signal != 0 && !part.watched) {
                by_proxy.push(*node);
            }
        }
        job.tell(Reply::Signal { signal, nodes: by_proxy, rank: None });
        Ok(())
    }

    fn end_queued(&mut self, id: u32, signal: i32) {
        self.queue.retain(|queued| *queued != id);
        let Some(job) = self.jobs.remove(&id) else { return };
        let name = Signal::try_from(signal).map_or_else(|_| format!("signal {signal}"), |signal| signal.to_string());
        let reason = Error::new(format!("job {id}"), format!("{name} has ended it while it waited"), "run it again");
        job.tell(Reply::Refused { reason: reason.to_string() });
    }

    /// Sends a signal to one rank in the same way.
    pub fn signal(&mut self, id: u32, rank: u32, signal: i32, now: Instant) -> Result<()> {
        let Some(job) = self.jobs.get_mut(&id) else { return Ok(()) };
        let place = rank.checked_div(job.submit.processes).unwrap_or_default() as usize;
        let Some((node, part)) = job.parts.iter_mut().find(|(_, part)| part.place == place) else {
            return Err(Error::new(format!("job {id}"), format!("it has no rank {rank}"), "see `tacet static status`"));
        };
        part.wants_sign(now);
        if part.watched {
            part.order(Order::Signal { rank: Some(rank), signal });
        } else {
            let nodes = vec![*node];
            job.tell(Reply::Signal { signal, nodes, rank: Some(rank) });
        }
        Ok(())
    }

    /// Nodes that have said nothing for long since a signal for their job: they do not take it.
    pub fn deaf(&self, now: Instant) -> Vec<u32> {
        let is_deaf = |part: &Part| part.unheard.is_some_and(|since| now.saturating_duration_since(since) > TAKING);
        let has = |node, job| self.nodes.get(node).is_some_and(|node| node.job == Some(job));
        let parts = self.jobs.iter().flat_map(|(id, job)| job.parts.iter().map(move |(node, part)| (*id, node, part)));
        let deaf = parts.filter(|(id, node, part)| !part.over && is_deaf(part) && has(node, *id));
        deaf.map(|(_, node, _)| *node).collect()
    }
}

/// Whether a program that does nothing about it ends of the signal; signal 0 is none.
fn ends_programs(signal: i32) -> bool {
    use Signal::{SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH};
    let others = [SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH];
    signal != 0 && Signal::try_from(signal).map_or(true, |signal| !others.contains(&signal))
}
