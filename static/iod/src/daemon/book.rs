// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The book of nodes and jobs: which node may work, which job waits, which node works for which job.
//!
//! The daemon calls it, under one lock, for each ask of a node and each request of a person. It decides and tells the
//! owners of jobs; it must never touch a socket of a node, so that it can be tested without one.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::mpsc::Sender;
use std::time::Instant;

use tacet_wire::key::{KEY_BYTES, Key};

use super::Config;
use super::drained::Drained;
use super::job::{Job, Order, Part, Stage};
use super::node::{Means, Node, can_never_have};
use super::numbers::Numbers;
use crate::control::{Adoption, JobStatus, NodeOrder, NodeStatus, Reply, Start, Submit};
use crate::error::{Error, Result, one_line};

/// The owner of a job: the peer of its control connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    pub uid: u32,
    pub pid: i32,
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
    numbers: Numbers,
    /// The set's: signs vouchers.
    key: Key,
    /// Nodes that run a job without an owner.
    orphans: BTreeMap<u32, Orphan>,
    /// Where proxies must listen.
    address: IpAddr,
    /// How many nodes the set has, if that is known: their numbers begin with 0.
    size: Option<u32>,
    drained: Drained,
    /// Others than the nodes themselves reset them.
    machines_here: bool,
    /// Nodes that are to be reset or powered off, and have not been told.
    ends: BTreeMap<u32, NodeOrder>,
}

impl Book {
    pub fn new(config: &Config, numbers: Numbers, drained: Drained) -> Self {
        let Config { asks, key, nodes: size, machines_here, .. } = config;
        Book {
            nodes: BTreeMap::new(),
            jobs: BTreeMap::new(),
            queue: VecDeque::new(),
            numbers,
            key: key.clone(),
            orphans: BTreeMap::new(),
            address: asks.ip(),
            size: *size,
            drained,
            machines_here: *machines_here,
            ends: BTreeMap::new(),
        }
    }

    /// A node has proved that it holds the key. The job that it had before is lost there.
    pub fn booted(&mut self, node: u32, means: Means, address: String, now: Instant) {
        // It may still execute a job that ended without it, and has not heard of this daemon's order to end it.
        if let Some(orphan) = self.orphans.get_mut(&node) {
            orphan.told = false;
        }
        let mut entry = Node::new(means, address, now);
        entry.drained = self.drained.has(node);
        let before = self.nodes.insert(node, entry);
        if let Some(job) = before.and_then(|before| before.job) {
            self.part_over(job, node, Reply::NodeLost { node, why: "it has booted again".into() });
        }
    }

    /// A node will not be heard again; if it is after all, it must greet first, and end the job that it had.
    pub fn lost(&mut self, node: u32, why: &str) {
        let Some(entry) = self.nodes.get_mut(&node) else { return };
        (entry.ready, entry.away) = (false, Some("lost"));
        if let Some(job) = entry.job.take() {
            self.orphans.insert(node, Orphan { job, told: false });
            self.part_over(job, node, Reply::NodeLost { node, why: one_line(why) });
        }
    }

    /// The daemon looks, ten times a second: the nodes with a job that should have spoken long ago.
    pub fn look(&mut self) -> Vec<u32> {
        let Book { nodes, jobs, .. } = self;
        let mut silent = Vec::new();
        for (number, node) in nodes.iter_mut() {
            let part = node.job.and_then(|job| jobs.get(&job)?.parts.get(number));
            if let Some(part) = part.filter(|part| part.handed && !part.over)
                && node.look(part.started)
            {
                silent.push(*number);
            }
        }
        silent
    }

    pub fn heard(&mut self, node: u32, now: Instant) {
        let Some(entry) = self.nodes.get_mut(&node) else { return };
        entry.heard(now);
        if let Some(part) = entry.job.and_then(|job| self.jobs.get_mut(&job)?.parts.get_mut(&node)) {
            part.unheard = None;
        }
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

    pub fn corrected(&mut self, node: u32, errors: u64) {
        if let Some(entry) = self.nodes.get_mut(&node) {
            entry.corrected = entry.corrected.saturating_add(errors);
        }
    }

    pub fn started(&mut self, node: u32, job: u32, map: &[u8]) {
        let Some(job) = self.jobs.get_mut(&job) else { return };
        if let Some(part) = job.parts.get_mut(&node) {
            part.map = map.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number)).collect();
            part.started = true;
            job.tell(Reply::Started { node });
        }
    }

    /// A node listens for orders. After a restart of the daemon, this is how the node's job becomes known. It
    /// changes nothing if the daemon knows that the node has another job or waits for one, or that this job is of others.
    pub fn watches(&mut self, node: u32, id: u32) {
        let Some(entry) = self.nodes.get_mut(&node) else { return };
        let may_be_of_an_earlier_daemon = entry.job.is_none() && !entry.ready;
        if entry.job != Some(id) && !may_be_of_an_earlier_daemon {
            return;
        }
        match self.jobs.get_mut(&id).map(|job| job.parts.get_mut(&node)) {
            Some(None) => return,
            Some(Some(part)) => part.watched = true,
            None => {}
        }
        entry.job = Some(id);
        entry.ready = false;
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

    /// A new job: it waits until enough of its nodes are ready. One that would wait for ever is refused.
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
        if let Some(cause) = can_never_have(&self.nodes, self.size, &submit) {
            return Err(Error::new(object, cause, "ask for less"));
        }
        let id = self.numbers.next()?;
        let job = Job { submit, owner, secret, events, stage: Stage::Queued, parts: BTreeMap::new() };
        job.tell(Reply::Queued { job: id });
        self.jobs.insert(id, job);
        self.queue.push_back(id);
        Ok(id)
    }

    /// A job of an earlier daemon, as that one has granted it to this user. Its nodes come back one by one.
    pub fn adopt(&mut self, adoption: &Adoption, owner: Owner, events: Sender<Reply>) -> Result<()> {
        let Adoption { job: id, nodes, processes, name, voucher } = adoption;
        let (id, processes) = (*id, *processes);
        let refused = |cause: &str| Err(Error::new(format!("job {id}"), cause, "it goes on unseen"));
        if !same(voucher.as_bytes(), self.voucher(id, owner.uid, processes, nodes).as_bytes()) {
            return refused("it was not granted to this user by a daemon of this set");
        }
        if self.jobs.contains_key(&id) {
            return refused("the daemon has it already");
        }
        let is_known = |node: &u32| self.nodes.get(node).is_some_and(|node| node.job == Some(id));
        let part = |(place, node): (usize, &u32)| (*node, Part { watched: is_known(node), ..Part::handed(place) });
        let parts = nodes.iter().enumerate().map(part).collect();
        let count = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
        let submit = Submit { name: name.clone(), nodes: count, processes, ..Submit::default() };
        let job = Job { submit, owner, secret: [0; KEY_BYTES], events, stage: Stage::Adopted, parts };
        // The first line: before it, `run` does not know whether the daemon has the job.
        job.tell(Reply::Done {});
        self.jobs.insert(id, job);
        self.numbers.taken(id);
        Ok(())
    }

    /// Proves to a later daemon what this one has granted, and to whom. Nothing else is signed with the set's own key.
    fn voucher(&self, id: u32, uid: u32, processes: u32, nodes: &[u32]) -> String {
        let numbers = [id, uid, processes].into_iter().chain(nodes.iter().copied());
        let numbers: Vec<u8> = numbers.flat_map(u32::to_le_bytes).collect();
        self.key.tag(&[b"voucher", &numbers]).iter().map(|byte| format!("{byte:02x}")).collect()
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
                // An adopted job that was over: the node has another one.
                Some(entry) if entry.job.is_some_and(|job| job != id) => {}
                _ => drop(self.orphans.insert(node, Orphan { job: id, told: false })),
            }
        }
    }

    /// Gives nodes to the jobs that wait, in their order: a job that wants many nodes is not overtaken.
    pub fn allocate(&mut self, now: Instant) {
        while let Some(id) = self.queue.front().copied() {
            let Some(job) = self.jobs.get(&id) else {
                self.queue.pop_front();
                continue;
            };
            let on = &job.submit.on;
            let may = |node: &Node| node.may_work(now) && node.fits(&job.submit);
            let free = self.nodes.iter().filter(|(number, node)| may(node) && (on.is_empty() || on.contains(number)));
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

    pub fn map_of(&self, id: u32) -> Result<Vec<(u32, Vec<u64>)>> {
        let Some(job) = self.jobs.get(&id) else {
            return Err(Error::new(format!("job {id}"), "there is no such job", "see `tacet static status`"));
        };
        let maps = job.parts.iter().filter(|(_, part)| !part.map.is_empty());
        let maps: Vec<_> = maps.map(|(node, part)| (*node, part.map.clone())).collect();
        if maps.is_empty() {
            return Err(Error::new(format!("job {id}"), "no node has loaded it yet", "ask again"));
        }
        Ok(maps)
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
        let (uid, processes) = (job.owner.uid, job.submit.processes);
        let voucher = self.voucher(id, uid, processes, chosen);
        let Some(job) = self.jobs.get(&id) else { return };
        let key = job.secret.iter().map(|byte| format!("{byte:02x}")).collect();
        job.tell(Reply::Granted { job: id, key, nodes: chosen.to_vec(), address: self.address, voucher });
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

/// In a time that does not depend on where they differ.
fn same(one: &[u8], other: &[u8]) -> bool {
    let difference = one.iter().zip(other).fold(0, |difference, (one, other)| difference | (one ^ other));
    one.len() == other.len() && std::hint::black_box(difference) == 0
}

mod govern;
pub mod signals;
#[cfg(test)]
mod tests;
