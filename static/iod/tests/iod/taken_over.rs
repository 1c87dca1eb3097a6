// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A node that was taken over: it has its own key, its session's and its job's, and has read every packet of the network.

use std::net::SocketAddr;

use libtest_mimic::Trial;
use tacet_iod::control::{Dropped, Reply, Request, ask};
use tacet_wire::ask::{Ask, WATCHER};
use tacet_wire::key::Key;
use tacet_wire::packet::{Kind, Party};

use crate::faults::{dropped, forged, packet, proxy};
use crate::node::{Job, Node};
use crate::processes::{Run, Set};
use crate::test;

pub fn tests() -> Vec<Trial> {
    vec![
        test("a_node_greets_as_itself_alone", a_node_greets_as_itself_alone),
        test("a_node_speaks_in_no_session_but_its_own", a_node_speaks_in_no_session_but_its_own),
        test("a_node_tells_nothing_about_another_nodes_job", a_node_tells_nothing_about_another_nodes_job),
        test("a_node_reaches_no_proxy_of_another_job", a_node_reaches_no_proxy_of_another_job),
    ]
}

const TAKEN: u32 = 2;
const OTHER: u32 = 1;

/// Two nodes with a job each; the second was taken over.
struct Scene {
    set: Set,
    other: Node,
    taken: Node,
    runs: [Run; 2],
    jobs: [Job; 2],
}

impl Scene {
    fn new() -> Self {
        let set = Set::new();
        let mut nodes = [OTHER, TAKEN].map(|number| (Node::boot(number, number as u8, set.asks()), None));
        // One after the other, so that it is known which node has which job.
        for (node, found) in &mut nodes {
            let run = set.run(1, 1);
            let job = node.next().unwrap();
            node.started(job.id, &[1]).unwrap();
            *found = Some((run, job));
        }
        let [(other, first), (taken, second)] = nodes;
        let ((run, job), (own_run, own_job)) = (first.unwrap(), second.unwrap());
        Scene { set, other, taken, runs: [run, own_run], jobs: [job, own_job] }
    }

    /// Every key that the node has, or makes from what it has and has heard.
    fn keys(&self) -> Vec<Key> {
        let [job, own_job] = &self.jobs;
        let [boot_nonce, daemon_nonce] = &self.other.nonces;
        let (own, session) = (&self.taken.own, &self.taken.asks.key);
        let bases = [own.clone(), own.of_node(OTHER), session.clone(), own_job.key.clone()];
        let sessions: Vec<Key> = bases.iter().map(|base| base.session(OTHER, boot_nonce, daemon_nonce)).collect();
        let openers: Vec<Key> = bases.into_iter().chain(sessions).collect();
        let opened = openers.iter().map(|key| Key::new(&key.wrapped(job.id, &job.wrapped))).collect::<Vec<_>>();
        openers.into_iter().chain(opened).collect()
    }

    fn dropped(&self) -> Dropped {
        match ask(&self.set.control(), &Request::Status {}) {
            Ok(Reply::Status(status)) => status.dropped,
            other => panic!("{other:?}"),
        }
    }

    /// Both jobs end as their programs say; how the first one's `run` saw it.
    fn end(mut self) -> crate::processes::Ended {
        let [run, own_run] = self.runs;
        let [job, own_job] = self.jobs;
        job.thread(0, 1).exit(3);
        self.other.ended(job.id, "").unwrap();
        let ended = run.end();
        assert_eq!(ended.status.code(), Some(3), "{}", ended.stderr);
        own_job.thread(0, 1).exit(4);
        self.taken.ended(own_job.id, "").unwrap();
        assert_eq!(own_run.end().status.code(), Some(4));
        ended
    }
}

fn message(ask: &Ask<'_>) -> Vec<u8> {
    let mut buffer = vec![0; 1024];
    let bytes = ask.encode(&mut buffer).unwrap();
    buffer.truncate(bytes);
    buffer
}

/// The daemon answers each packet in order, so what it has counted after a good ask is of all packets before that.
fn throw(scene: &mut Scene, to: SocketAddr, packets: &[Vec<u8>]) -> Dropped {
    let before = scene.dropped();
    packets.iter().for_each(|packet| scene.taken.asks.throw_to(to, packet));
    let own = scene.jobs[1].id;
    scene.taken.started(own, &[1]).unwrap();
    let after = scene.dropped();
    Dropped {
        malformed: after.malformed - before.malformed,
        strangers: after.strangers - before.strangers,
        stale: after.stale - before.stale,
    }
}

fn a_node_greets_as_itself_alone() {
    let mut scene = Scene::new();
    let (party, to) = (Party { node: OTHER, ..Party::default() }, scene.set.asks());
    let hello = message(&Ask::Hello { nonce: [7; 16], cpus: 1, memory_bytes: 1 << 20, service_cpu: false });
    let greetings: Vec<_> = scene.keys().iter().map(|key| packet(Kind::Ask, party, 1, &hello, key)).collect();
    let counted = throw(&mut scene, to, &greetings);
    assert_eq!((counted.strangers, counted.malformed), (greetings.len() as u64, 0), "a greeting was heard");
    scene.end();
}

fn a_node_speaks_in_no_session_but_its_own() {
    let mut scene = Scene::new();
    let (job, to) = (scene.jobs[0].id, scene.set.asks());
    let asks = [Ask::Next, Ask::Ended { job, failure: b"" }, Ask::Watch { job }];
    let mut packets = Vec::new();
    for key in scene.keys() {
        for (ask, thread) in asks.iter().zip([0, 0, WATCHER]) {
            let party = Party { node: OTHER, thread, ..Party::default() };
            packets.push(packet(Kind::Ask, party, 9, &message(ask), &key));
        }
    }
    assert_eq!(throw(&mut scene, to, &packets).strangers, packets.len() as u64);
    scene.end();
}

fn a_node_tells_nothing_about_another_nodes_job() {
    let mut scene = Scene::new();
    let job = scene.jobs[0].id;
    scene.taken.started(job, &[2]).unwrap();
    scene.taken.ended(job, "a failure that lies").unwrap();
    // No order: the daemon has none for this node.
    scene.taken.ask_for_orders(job);
    let own = scene.jobs[1].id;
    scene.taken.started(own, &[1]).unwrap();
    let map = ask(&scene.set.control(), &Request::Map { job }).unwrap();
    assert_eq!(map, Reply::Map { maps: vec![(1, vec![1])] });
    let status = match ask(&scene.set.control(), &Request::Status {}) {
        Ok(Reply::Status(status)) => status,
        other => panic!("{other:?}"),
    };
    assert_eq!(status.nodes.iter().map(|node| node.job).collect::<Vec<_>>(), [Some(job), Some(own)]);
    // The order goes where the job is.
    scene.other.ask_for_orders(job);
    scene.other.started(job, &[1]).unwrap();
    ask(&scene.set.control(), &Request::Kill { job, signal: libc::SIGTERM }).unwrap();
    assert_eq!(scene.other.repeat_ask_for_orders(job), libc::SIGTERM as u32);
    scene.end();
}

fn a_node_reaches_no_proxy_of_another_job() {
    let scene = Scene::new();
    let [job, own_job] = &scene.jobs;
    let mut thread = job.thread(0, 3);
    thread.call(libc::SYS_getppid, &[]);
    let keys = scene.keys();
    let mut sent = 0;
    for key in &keys {
        // A thread that there is, one that there is not, and the taken node's own names.
        let own = own_job.thread(0, 1).line.party;
        for party in [thread.line.party, Party { thread: 5, ..thread.line.party }, own] {
            scene.taken.asks.throw_to(proxy(job, 0), &forged(party, 2, key));
            sent += 1;
        }
    }
    // Received behind all of these, and served.
    thread.call(libc::SYS_getppid, &[]);
    assert_eq!(dropped(&scene.end(), "strangers"), sent);
}
