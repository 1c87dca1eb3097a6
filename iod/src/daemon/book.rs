// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The book of nodes and jobs: which node may work, which job waits, which node works for which job.
//!
//! The daemon calls it, under one lock, for each ask of a node and each request of a person. It decides and tells the
//! owners of jobs; it must never touch a socket of a node, so that it can be tested without one.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use tacet_shipping::key::KEY_BYTES;

use super::job::{Job, Order, Part, Stage};
use crate::control::{JobStatus, NodeStatus, Reply, Start, Submit};
use crate::error::{Error, Result, one_line};

/// A node that waits for a job asks again and again. After this silence it gets none.
pub const SILENCE: Duration = Duration::from_secs(10);
/// A node that lives takes a signal within milliseconds.
pub const TAKING: Duration = Duration::from_secs(5);

/// The owner of a job: the peer of its control connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    pub uid: u32,
    pub pid: i32,
}

#[derive(Debug)]
struct Node {
    cpus: u32,
    memory_bytes: u64,
    address: String,
    heard: Instant,
    /// It has asked for a job.
    ready: bool,
    job: Option<u32>,
}

/// A job without an owner, on one node.
#[derive(Debug)]
struct Orphan {
    job: u32,
    /// The node has the order to end it; its exchange repeats that until the node has heard it.
    told: bool,
}

#[derive(Debug)]
pub struct Book {
    nodes: BTreeMap<u32, Node>,
    jobs: BTreeMap<u32, Job>,
    queue: VecDeque<u32>,
    last_job: u32,
    /// Nodes that run a job without an owner.
    orphans: BTreeMap<u32, Orphan>,
    /// Where proxies must listen.
    address: IpAddr,
}

impl Book {
    pub fn new(address: IpAddr) -> Self {
        Book {
            nodes: BTreeMap::new(),
            jobs: BTreeMap::new(),
            queue: VecDeque::new(),
            last_job: 0,
            orphans: BTreeMap::new(),
            address,
        }
    }

    /// A node has proved that it holds the key. The job that it had before is lost there.
    pub fn booted(&mut self, node: u32, cpus: u32, memory_bytes: u64, address: String, now: Instant) {
        self.orphans.remove(&node);
        let before = self.nodes.insert(node, Node { cpus, memory_bytes, address, heard: now, ready: false, job: None });
        if let Some(job) = before.and_then(|before| before.job) {
            self.part_over(job, node, Reply::NodeLost { node, why: "it has booted again".into() });
        }
    }

    /// A node will not be heard again.
    pub fn lost(&mut self, node: u32, why: &str) {
        self.orphans.remove(&node);
        if let Some(job) = self.nodes.remove(&node).and_then(|node| node.job) {
            self.part_over(job, node, Reply::NodeLost { node, why: one_line(why) });
        }
    }

    pub fn heard(&mut self, node: u32, now: Instant) {
        let Some(entry) = self.nodes.get_mut(&node) else { return };
        entry.heard = now;
        if let Some(part) = entry.job.and_then(|job| self.jobs.get_mut(&job)?.parts.get_mut(&node)) {
            part.unheard = None;
        }
    }

    /// Nodes that have said nothing for long since a signal for their job: they do not take it.
    pub fn deaf(&self, now: Instant) -> Vec<u32> {
        let is_deaf = |part: &Part| part.unheard.is_some_and(|since| now.saturating_duration_since(since) > TAKING);
        let parts = self.jobs.values().flat_map(|job| &job.parts);
        parts.filter(|(_, part)| !part.over && is_deaf(part)).map(|(node, _)| *node).collect()
    }

    /// A node asks for a job. If it had one, that is over there.
    pub fn ready(&mut self, node: u32) {
        let Some(entry) = self.nodes.get_mut(&node) else { return };
        self.orphans.remove(&node);
        entry.ready = true;
        let job = entry.job;
        match job {
            Some(job) if self.has_been_handed(job, node) => self.ended(node, job, ""),
            Some(_) => {}
            None => self.leave_adopted(node),
        }
    }

    pub fn started(&mut self, node: u32, job: u32, map: &[u8]) {
        let Some(job) = self.jobs.get_mut(&job) else { return };
        if let Some(part) = job.parts.get_mut(&node) {
            part.map = String::from_utf8_lossy(map).into_owned();
            job.tell(Reply::Started { node });
        }
    }

    /// A node listens for orders. After a restart of the daemon, this is how the node's job becomes known.
    pub fn watches(&mut self, node: u32, job: u32) {
        if let Some(entry) = self.nodes.get_mut(&node) {
            entry.job = Some(job);
            entry.ready = false;
        }
        if let Some(part) = self.jobs.get_mut(&job).and_then(|job| job.parts.get_mut(&node)) {
            part.watched = true;
        }
    }

    pub fn ended(&mut self, node: u32, job: u32, failure: &str) {
        self.orphans.remove(&node);
        if let Some(entry) = self.nodes.get_mut(&node)
            && entry.job == Some(job)
        {
            entry.job = None;
            self.part_over(job, node, Reply::NodeEnded { node, failure: one_line(failure) });
        }
    }

    /// A new job: it waits until enough of its nodes are ready.
    pub fn submit(
        &mut self,
        submit: Submit,
        owner: Owner,
        secret: [u8; KEY_BYTES],
        events: Sender<Reply>,
    ) -> Result<u32> {
        let object = format!("job {}", submit.name);
        if submit.nodes == 0 || submit.processes == 0 {
            return Err(Error::new(object, "it asks for no node or no process", "at least one of each"));
        }
        let named = submit.on.len();
        if named != 0 && named < submit.nodes as usize {
            return Err(Error::new(object, format!("{} nodes of {named} named ones", submit.nodes), "name as many"));
        }
        self.last_job += 1;
        let id = self.last_job;
        let job = Job { submit, owner, secret, events, stage: Stage::Queued, parts: BTreeMap::new() };
        job.tell(Reply::Queued { job: id });
        self.jobs.insert(id, job);
        self.queue.push_back(id);
        Ok(id)
    }

    /// A job of an earlier daemon. Its nodes come back one by one.
    pub fn adopt(&mut self, id: u32, submit: Submit, owner: Owner, nodes: &[u32], events: Sender<Reply>) -> Result<()> {
        if self.jobs.contains_key(&id) {
            return Err(Error::new(format!("job {id}"), "the daemon has another of this number", "it goes on unseen"));
        }
        let is_known = |node: &u32| self.nodes.get(node).is_some_and(|node| node.job == Some(id));
        let part = |(place, node): (usize, &u32)| (*node, Part { watched: is_known(node), ..Part::handed(place) });
        let parts = nodes.iter().enumerate().map(part).collect();
        let secret = [0; KEY_BYTES];
        self.jobs.insert(id, Job { submit, owner, secret, events, stage: Stage::Adopted, parts });
        self.last_job = self.last_job.max(id);
        Ok(())
    }

    /// The proxies of a granted job listen: its nodes may have it.
    pub fn start(&mut self, id: u32, start: Start) -> Result<()> {
        let object = format!("job {id}");
        let Some(job) = self.jobs.get_mut(&id) else {
            return Err(Error::new(object, "there is no such job", "see `tacet static status`"));
        };
        if !matches!(job.stage, Stage::Granted) {
            return Err(Error::new(object, "it has no nodes, or has started", "start it once, after the grant"));
        }
        let ranks = job.submit.nodes as usize * job.submit.processes as usize;
        if start.proxies.len() != ranks {
            return Err(Error::new(object, format!("{} proxies", start.proxies.len()), format!("{ranks}, one a rank")));
        }
        job.stage = Stage::Running(Box::new(start));
        Ok(())
    }

    /// The owner is gone, and its proxies with it. Nodes without a description are free; others must end the job.
    pub fn abandon(&mut self, id: u32) {
        self.queue.retain(|queued| *queued != id);
        let Some(job) = self.jobs.remove(&id) else { return };
        for (node, part) in job.parts {
            match self.nodes.get_mut(&node) {
                Some(entry) if entry.job == Some(id) && !part.handed => entry.job = None,
                _ if part.over => {}
                _ => drop(self.orphans.insert(node, Orphan { job: id, told: false })),
            }
        }
    }

    /// Sends a signal to a job: by its nodes, if they listen, or else by their proxies. A node that has been given its
    /// part must say something soon.
    pub fn kill(&mut self, id: u32, signal: i32, now: Instant) -> Result<()> {
        let Some(job) = self.jobs.get_mut(&id) else {
            return Err(Error::new(format!("job {id}"), "there is no such job", "see `tacet static status`"));
        };
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

    /// Gives nodes to the jobs that wait, in their order: a job that wants many nodes is not overtaken.
    pub fn allocate(&mut self, now: Instant) {
        while let Some(id) = self.queue.front().copied() {
            let Some(job) = self.jobs.get(&id) else {
                self.queue.pop_front();
                continue;
            };
            let on = &job.submit.on;
            let free =
                self.nodes.iter().filter(|(number, node)| node.may_work(now) && (on.is_empty() || on.contains(number)));
            let chosen: Vec<u32> = free.map(|(number, _)| *number).take(job.submit.nodes as usize).collect();
            if chosen.len() < job.submit.nodes as usize {
                return;
            }
            self.queue.pop_front();
            self.grant(id, &chosen);
        }
    }

    /// The job for a node that asks for one. The caller hands it out: the next answer is for another job.
    pub fn work_of(&mut self, node: u32) -> Option<(u32, &Job, usize)> {
        let id = self.nodes.get(&node)?.job?;
        let job = self.jobs.get_mut(&id)?;
        if !matches!(job.stage, Stage::Running(_)) {
            return None;
        }
        let part = job.parts.get_mut(&node)?;
        if part.handed {
            return None;
        }
        part.handed = true;
        let place = part.place;
        if let Some(entry) = self.nodes.get_mut(&node) {
            entry.ready = false;
        }
        Some((id, job, place))
    }

    /// The next order for a node that watches this job.
    pub fn order_of(&mut self, node: u32, job: u32) -> Option<Order> {
        if let Some(orphan) = self.orphans.get_mut(&node).filter(|orphan| orphan.job == job) {
            return (!std::mem::replace(&mut orphan.told, true)).then_some(Order::Orphaned);
        }
        self.jobs.get_mut(&job)?.parts.get_mut(&node)?.orders.pop_front()
    }

    /// Whether the node must ask for orders: there is one that it has not been given.
    pub fn has_orders(&self, node: u32) -> bool {
        let is_orphan = self.orphans.get(&node).is_some_and(|orphan| !orphan.told);
        let job = self.nodes.get(&node).and_then(|node| node.job);
        let part = job.and_then(|job| self.jobs.get(&job)?.parts.get(&node));
        is_orphan || part.is_some_and(|part| part.handed && !part.over && !part.orders.is_empty())
    }

    pub fn job(&self, id: u32) -> Option<&Job> {
        self.jobs.get(&id)
    }

    pub fn map_of(&self, id: u32) -> Result<String> {
        let Some(job) = self.jobs.get(&id) else {
            return Err(Error::new(format!("job {id}"), "there is no such job", "see `tacet static status`"));
        };
        let maps = job.parts.iter().filter(|(_, part)| !part.map.is_empty());
        let text: String = maps.map(|(node, part)| format!("node {node}\n{}\n", part.map.trim_end())).collect();
        if text.is_empty() {
            return Err(Error::new(format!("job {id}"), "no node has loaded it yet", "ask again"));
        }
        Ok(text)
    }

    pub fn nodes_status(&self, now: Instant) -> Vec<NodeStatus> {
        self.nodes.iter().map(|(number, node)| node.status(*number, now)).collect()
    }

    pub fn jobs_status(&self) -> Vec<JobStatus> {
        self.jobs.iter().map(|(id, job)| job.status(*id)).collect()
    }

    /// A node that is ready has ended its job of an earlier daemon, whether it could tell or not.
    fn leave_adopted(&mut self, node: u32) {
        let is_its = |job: &Job| job.parts.get(&node).is_some_and(|part| part.handed && !part.over);
        if let Some(id) = self.jobs.iter().find(|(_, job)| is_its(job)).map(|(id, _)| *id) {
            self.part_over(id, node, Reply::NodeEnded { node, failure: String::new() });
        }
    }

    fn has_been_handed(&self, job: u32, node: u32) -> bool {
        match self.jobs.get(&job) {
            Some(job) => job.parts.get(&node).is_none_or(|part| part.handed),
            None => true,
        }
    }

    fn grant(&mut self, id: u32, chosen: &[u32]) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        for (place, number) in chosen.iter().enumerate() {
            if let Some(node) = self.nodes.get_mut(number) {
                node.job = Some(id);
            }
            job.parts.insert(*number, Part::new(place));
        }
        job.stage = Stage::Granted;
        let key = job.secret.iter().map(|byte| format!("{byte:02x}")).collect();
        job.tell(Reply::Granted { job: id, key, nodes: chosen.to_vec(), address: self.address });
    }

    fn part_over(&mut self, id: u32, node: u32, event: Reply) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let Some(part) = job.parts.get_mut(&node).filter(|part| !part.over) else { return };
        part.over = true;
        job.tell(event);
        if job.parts.values().all(|part| part.over) {
            job.tell(Reply::Finished {});
            self.jobs.remove(&id);
        }
    }
}

impl Node {
    fn may_work(&self, now: Instant) -> bool {
        self.ready && self.job.is_none() && now.saturating_duration_since(self.heard) < SILENCE
    }

    fn status(&self, number: u32, now: Instant) -> NodeStatus {
        let silent = now.saturating_duration_since(self.heard);
        let state = match (self.job, self.ready) {
            (Some(_), _) => "job",
            (None, true) if silent < SILENCE => "ready",
            (None, true) => "silent",
            (None, false) => "booted",
        };
        NodeStatus {
            node: number,
            address: self.address.clone(),
            cpus: self.cpus,
            memory_bytes: self.memory_bytes,
            state: state.into(),
            job: self.job,
            silent_ms: u64::try_from(silent.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

#[cfg(test)]
mod tests;
