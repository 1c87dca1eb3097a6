// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The book without sockets: who gets which node, and what owners are told.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::signals::TAKING;
use super::*;
use crate::control::Proxy;
use crate::daemon::node::{LOADING_LOOKS, SILENCE, SILENT_LOOKS};

const SET: [u8; KEY_BYTES] = [1; KEY_BYTES];
const OWNER: Owner = Owner { uid: 1000, pid: 7 };

fn empty() -> Book {
    empty_of(false)
}

fn empty_of(machines_here: bool) -> Book {
    let (asks, key) = (([127, 0, 0, 1], 0).into(), Key::new(&SET));
    let config = Config { asks, control: "c".into(), key, numbers: None, machines_here, nodes: None, all_users: false };
    Book::new(&config, Numbers::new(None).unwrap(), Drained::default())
}

fn means(cpus: u32) -> Means {
    Means { cpus, memory_bytes: 1 << 30, service_cpu: false }
}

fn book(nodes: impl IntoIterator<Item = u32>) -> Book {
    let mut book = empty();
    for node in nodes {
        book.booted(node, means(4), format!("10.0.0.{node}:5"), Instant::now());
        book.ready(node);
    }
    book
}

fn submit(book: &mut Book, nodes: u32, on: &[u32]) -> (u32, Receiver<Reply>) {
    let (events, inbox) = channel();
    let submit = Submit { name: "a".into(), nodes, processes: 2, on: on.to_vec(), ..Submit::default() };
    let job = book.submit(submit, OWNER, [3; KEY_BYTES], events).unwrap();
    book.allocate(Instant::now());
    (job, inbox)
}

fn start(book: &mut Book, job: u32, ranks: usize) -> Result<()> {
    book.start(job, Start { proxies: vec![Proxy::default(); ranks], ..Start::default() })
}

fn granted(inbox: &Receiver<Reply>) -> Option<Vec<u32>> {
    inbox.try_iter().find_map(|reply| match reply {
        Reply::Granted { nodes, .. } => Some(nodes),
        _ => None,
    })
}

fn events(inbox: &Receiver<Reply>) -> Vec<Reply> {
    let is_event = |reply: &Reply| !matches!(reply, Reply::Queued { .. } | Reply::Granted { .. } | Reply::Done {});
    inbox.try_iter().filter(is_event).collect()
}

#[test]
fn jobs_get_nodes_in_their_order() {
    let mut book = book(1..=3);
    let (_, first) = submit(&mut book, 2, &[]);
    let (_, large) = submit(&mut book, 2, &[]);
    let (_, small) = submit(&mut book, 1, &[]);
    assert_eq!(granted(&first), Some(vec![1, 2]));
    assert_eq!(granted(&large), None, "one node is left");
    assert_eq!(granted(&small), None, "a small job does not overtake");
    book.booted(9, means(2), String::new(), Instant::now());
    book.allocate(Instant::now());
    assert_eq!(granted(&large), None, "a node must ask before it gets work");
    book.ready(9);
    book.allocate(Instant::now());
    assert_eq!(granted(&large), Some(vec![3, 9]));
}

#[test]
fn a_job_gets_nodes_that_it_fits_on() {
    let mut book = book(1..=1);
    book.booted(0, means(1), String::new(), Instant::now());
    book.ready(0);
    assert_eq!(granted(&submit(&mut book, 1, &[]).1), Some(vec![1]), "node 0 has one CPU for two processes");
}

#[test]
fn a_job_that_waits_ends_of_a_signal_that_ends_programs() {
    let mut book = book(1..=1);
    let (_, _running) = submit(&mut book, 1, &[]);
    let waiting: Vec<_> = (0..3).map(|_| submit(&mut book, 1, &[])).collect();
    for signal in [0, libc::SIGWINCH, libc::SIGCONT, libc::SIGSTOP] {
        book.kill(waiting[0].0, signal, Instant::now()).unwrap();
    }
    assert_eq!((events(&waiting[0].1), book.jobs_status().len()), (vec![], 4));
    for ((job, inbox), (signal, name)) in
        waiting.iter().zip([(libc::SIGTERM, "SIGTERM"), (libc::SIGKILL, "SIGKILL"), (40, "signal 40")])
    {
        book.kill(*job, signal, Instant::now()).unwrap();
        let reason = format!("job {job}: {name} has ended it while it waited; run it again");
        assert_eq!(events(inbox), [Reply::Refused { reason }]);
        assert!(book.kill(*job, signal, Instant::now()).is_err(), "it is over");
        book.abandon(*job);
    }
    assert_eq!((book.jobs_status().len(), book.orphans.len()), (1, 0));
}

#[test]
fn named_nodes_are_the_only_ones() {
    let mut book = book(1..=4);
    assert_eq!(granted(&submit(&mut book, 2, &[2, 4]).1), Some(vec![2, 4]));
    let (events, _inbox) = channel();
    let few = Submit { name: "a".into(), nodes: 2, processes: 1, on: vec![1], ..Submit::default() };
    assert!(book.submit(few, OWNER, [0; KEY_BYTES], events).is_err());
}

#[test]
fn a_silent_node_gets_no_work() {
    let mut book = book(1..=1);
    let (events, inbox) = channel();
    let submit = Submit { name: "a".into(), nodes: 1, processes: 1, ..Submit::default() };
    book.submit(submit, OWNER, [0; KEY_BYTES], events).unwrap();
    book.allocate(Instant::now() + SILENCE);
    assert_eq!(granted(&inbox), None);
    book.heard(1, Instant::now() + SILENCE);
    book.allocate(Instant::now() + SILENCE);
    assert_eq!(granted(&inbox), Some(vec![1]));
}

#[test]
fn a_job_is_handed_out_once_and_after_its_start() {
    let mut book = book(1..=2);
    let (job, inbox) = submit(&mut book, 2, &[]);
    assert!(book.work_of(1).is_none(), "no proxies yet");
    assert!(start(&mut book, job, 3).is_err());
    start(&mut book, job, 4).unwrap();
    assert!(start(&mut book, job, 4).is_err());
    assert_eq!(book.work_of(2).map(|(id, _, place)| (id, place)), Some((job, 1)));
    assert!(book.work_of(2).is_none());
    book.work_of(1).unwrap();
    book.ended(1, job, "");
    book.ended(1, job, "");
    book.ended(2, job, "no\nroom");
    let ended = |node, failure: &str| Reply::NodeEnded { node, failure: failure.into() };
    assert_eq!(events(&inbox), [ended(1, ""), ended(2, "no room"), Reply::Finished {}]);
    assert!(book.jobs_status().is_empty());
}

#[test]
fn a_node_that_boots_again_or_asks_again_has_left_its_job() {
    let mut book = book(1..=2);
    let (job, inbox) = submit(&mut book, 2, &[]);
    start(&mut book, job, 4).unwrap();
    book.work_of(1).unwrap();
    book.ready(2);
    assert_eq!(events(&inbox), [], "node 2 has not had its job yet");
    book.booted(1, means(4), String::new(), Instant::now());
    book.work_of(2).unwrap();
    book.ready(2);
    book.lost(2, "powered off");
    let lost = Reply::NodeLost { node: 1, why: "it has booted again".into() };
    let ended = Reply::NodeEnded { node: 2, failure: String::new() };
    assert_eq!(events(&inbox), [lost, ended, Reply::Finished {}]);
    let (_, inbox) = submit(&mut book, 2, &[]);
    assert_eq!(granted(&inbox), None, "node 2 is lost");
}

/// The looks of the daemon until it finds somebody silent; more than enough without.
fn looks(book: &mut Book) -> (u32, Vec<u32>) {
    let first = (1..3 * LOADING_LOOKS).map(|look| (look, book.look())).find(|(_, silent)| !silent.is_empty());
    first.unwrap_or_default()
}

#[test]
fn a_node_with_a_service_cpu_that_says_nothing_is_lost() {
    let mut book = empty();
    for (node, service_cpu) in [(1, true), (2, false)] {
        book.booted(node, Means { service_cpu, ..means(4) }, String::new(), Instant::now());
        book.ready(node);
    }
    assert_eq!(looks(&mut book), (0, vec![]), "nobody executes anything");
    let (job, inbox) = submit(&mut book, 2, &[]);
    start(&mut book, job, 4).unwrap();
    for node in [1, 2] {
        book.work_of(node).unwrap();
        book.watches(node, job);
    }
    assert_eq!(looks(&mut book), (LOADING_LOOKS + 1, vec![1]), "a node that loads is busy for longer");
    book.heard(1, Instant::now());
    book.started(1, job, &8u64.to_le_bytes());
    book.started(2, job, &8u64.to_le_bytes());
    assert_eq!(looks(&mut book), (SILENT_LOOKS + 1, vec![1]), "node 2 has no CPU that would speak");
    book.heard(1, Instant::now());
    assert_eq!(book.look(), Vec::<u32>::new(), "one packet is enough");
    events(&inbox);
    book.lost(1, "silent");
    assert_eq!(events(&inbox), [Reply::NodeLost { node: 1, why: "silent".into() }]);
    assert_eq!((state(&book, 1), state(&book, 2)), ("lost".into(), "job".into()));
    // It was the network: the node greets, goes on with its job, and is told to end it.
    book.booted(1, means(4), String::new(), Instant::now());
    book.watches(1, job);
    assert!(book.has_orders(1));
    assert_eq!(book.order_of(1, job), Some(Order::Orphaned));
    assert_eq!(granted(&submit(&mut book, 1, &[]).1), None, "it is not free yet");
    book.ended(1, job, "");
    book.ready(1);
    assert_eq!((state(&book, 1), book.has_orders(1)), ("ready".into(), false));
}

fn state(book: &Book, node: u32) -> String {
    let of = |status: &NodeStatus| status.node == node;
    book.nodes_status(Instant::now()).iter().find(|status| of(status)).unwrap().state.clone()
}

#[test]
fn a_drained_node_ends_its_job_and_gets_no_other() {
    let mut book = book(1..=1);
    let now = Instant::now();
    let (job, inbox) = submit(&mut book, 1, &[]);
    book.govern(1, NodeOrder::Drain, now).unwrap();
    assert_eq!(state(&book, 1), "draining");
    start(&mut book, job, 2).unwrap();
    book.work_of(1).unwrap();
    book.ended(1, job, "");
    assert_eq!(events(&inbox), [Reply::NodeEnded { node: 1, failure: String::new() }, Reply::Finished {}]);
    book.ready(1);
    let (_, waiting) = submit(&mut book, 1, &[]);
    assert_eq!((granted(&waiting), state(&book, 1)), (None, "drained".into()));
    // Also after a boot.
    book.booted(1, means(4), String::new(), now);
    book.ready(1);
    book.allocate(now);
    assert_eq!((granted(&waiting), state(&book, 1)), (None, "drained".into()));
    book.govern(1, NodeOrder::Return, now).unwrap();
    book.allocate(now);
    assert_eq!((granted(&waiting), state(&book, 1)), (Some(vec![1]), "job".into()));
    assert!(book.govern(5, NodeOrder::Drain, now).is_err(), "nobody knows node 5");
}

#[test]
fn a_node_is_reset_when_it_has_no_job() {
    let now = Instant::now();
    for (order, until_it_boots) in [(NodeOrder::Reset, "reset"), (NodeOrder::PowerOff, "off")] {
        let mut book = book(1..=1);
        let (job, _inbox) = submit(&mut book, 1, &[]);
        let refused = book.govern(1, order, now).unwrap_err().to_string();
        assert!(refused.contains(&format!("it has job {job}")), "{refused}");
        book.abandon(job);
        book.govern(1, order, now).unwrap();
        assert_eq!(state(&book, 1), until_it_boots);
        assert_eq!(granted(&submit(&mut book, 1, &[]).1), None);
        assert_eq!((book.end_of(1), book.end_of(1)), (Some(order), None), "told once");
        let refused = book.govern(1, order, now).unwrap_err().to_string();
        assert!(refused.contains("does not listen"), "{refused}");
        book.booted(1, means(4), String::new(), now);
        assert_eq!(state(&book, 1), "booted");
    }
    // The holder of an emulated machine needs no word of its node.
    let mut book = empty_of(true);
    book.booted(1, means(4), String::new(), now);
    book.lost(1, "it is silent");
    book.govern(1, NodeOrder::Reset, now).unwrap();
    assert_eq!((book.end_of(1), book.take_ends()), (None, vec![(1, NodeOrder::Reset)]));
}

#[test]
fn an_abandoned_job_frees_its_nodes_and_kills_what_runs() {
    let mut book = book(1..=2);
    let (job, _inbox) = submit(&mut book, 2, &[]);
    start(&mut book, job, 4).unwrap();
    book.work_of(1).unwrap();
    book.watches(1, job);
    book.abandon(job);
    assert!(book.has_orders(1) && !book.has_orders(2));
    assert_eq!(book.order_of(1, job), Some(Order::Orphaned));
    assert_eq!(book.order_of(1, job), None, "it is told once, however often it asks before it has obeyed");
    assert!(!book.has_orders(1));
    assert_eq!(granted(&submit(&mut book, 1, &[1]).1), None, "node 1 has not left its job");
    book.abandon(job + 1);
    assert_eq!(granted(&submit(&mut book, 1, &[2]).1), Some(vec![2]));
    book.ready(1);
    assert_eq!(granted(&submit(&mut book, 1, &[1]).1), Some(vec![1]));
}

#[test]
fn signals_go_by_nodes_that_listen_and_else_by_proxies() {
    let mut book = book(1..=2);
    let (job, inbox) = submit(&mut book, 2, &[]);
    book.watches(1, job);
    book.kill(job, libc::SIGTERM, Instant::now()).unwrap();
    book.kill(job, libc::SIGKILL, Instant::now()).unwrap();
    let signal = |signal, nodes: &[u32]| Reply::Signal { signal, nodes: nodes.to_vec(), rank: None };
    assert_eq!(events(&inbox), [signal(libc::SIGTERM, &[2]), signal(libc::SIGKILL, &[1, 2])]);
    assert_eq!(book.order_of(1, job), Some(Order::Signal { rank: None, signal: libc::SIGTERM }));
    assert_eq!(book.order_of(1, job), Some(Order::Signal { rank: None, signal: libc::SIGKILL }));
    assert_eq!(book.order_of(1, job), None);
    // One rank of the two on each node.
    book.signal(job, 1, libc::SIGALRM, Instant::now()).unwrap();
    book.signal(job, 1, libc::SIGALRM, Instant::now()).unwrap();
    book.signal(job, 2, libc::SIGALRM, Instant::now()).unwrap();
    assert!(book.signal(job, 4, libc::SIGALRM, Instant::now()).is_err());
    assert_eq!(book.order_of(1, job), Some(Order::Signal { rank: Some(1), signal: libc::SIGALRM }));
    assert_eq!(book.order_of(1, job), None, "one waits, as on Linux");
    assert_eq!(events(&inbox), [Reply::Signal { signal: libc::SIGALRM, nodes: vec![2], rank: Some(2) }]);
    assert!(book.kill(job + 1, 15, Instant::now()).is_err());
}

#[test]
fn a_node_listens_for_orders_of_its_own_job_alone() {
    let mut book = book(1..=3);
    let (job, _inbox) = submit(&mut book, 2, &[]);
    start(&mut book, job, 4).unwrap();
    book.work_of(1).unwrap();
    let jobs = |book: &Book| -> Vec<_> { book.nodes_status(Instant::now()).iter().map(|node| node.job).collect() };
    let as_granted = [Some(job), Some(job), None];
    // Its own; not one that it does not have, nor one of nodes 1 and 2, nor any while it waits for a job.
    for (node, of) in [(1, job), (1, job + 1), (3, job), (3, job + 1)] {
        book.watches(node, of);
        assert_eq!(jobs(&book), as_granted, "node {node}, job {of}");
    }
    book.booted(3, means(4), String::new(), Instant::now());
    book.watches(3, job);
    assert_eq!(jobs(&book), as_granted);
    book.watches(3, 77);
    assert_eq!(
        jobs(&book),
        [Some(job), Some(job), Some(77)],
        "a job of an earlier daemon, for all that this one knows"
    );
}

#[test]
fn a_node_that_takes_no_signal_is_deaf_until_it_says_something() {
    let mut book = book(1..=3);
    let (job, inbox) = submit(&mut book, 2, &[]);
    start(&mut book, job, 4).unwrap();
    book.work_of(1).unwrap();
    book.watches(1, job);
    events(&inbox);
    let now = Instant::now();
    let late = now + TAKING + Duration::from_millis(1);
    assert_eq!(book.deaf(late), [0; 0], "nobody has sent a signal");
    book.kill(job, 0, now).unwrap();
    assert_eq!(events(&inbox), [Reply::Signal { signal: 0, nodes: vec![], rank: None }], "0 is for no program");
    assert_eq!(book.order_of(1, job), Some(Order::Signal { rank: None, signal: 0 }));
    assert_eq!(book.deaf(now + TAKING), [0; 0]);
    assert_eq!(book.deaf(late), [1], "node 2 has nothing of the job yet, node 3 has no job");
    // a second signal gives it no more time
    book.kill(job, libc::SIGTERM, late).unwrap();
    assert_eq!(book.deaf(late), [1]);
    book.heard(2, late);
    assert_eq!(book.deaf(late), [1]);
    book.heard(1, late);
    assert_eq!(book.deaf(late), [0; 0]);
    book.signal(job, 1, libc::SIGALRM, late).unwrap();
    book.lost(1, "");
    assert_eq!(book.deaf(late + 2 * TAKING), [0; 0], "what is lost is not lost again");
}

/// As the `run` of job 5 on node 1 has it, of the daemon that has granted it.
fn adoption(id: u32, nodes: &[u32]) -> Adoption {
    let voucher = empty().voucher(id, OWNER.uid, 1, nodes);
    Adoption { job: id, name: "a".into(), nodes: nodes.to_vec(), processes: 1, voucher }
}

#[test]
fn an_adopted_job_ends_like_any() {
    let mut book = empty();
    let (events_in, inbox) = channel();
    book.adopt(&adoption(5, &[1]), OWNER, events_in.clone()).unwrap();
    assert!(book.adopt(&adoption(5, &[1]), OWNER, events_in).is_err());
    book.booted(1, means(2), String::new(), Instant::now());
    book.watches(1, 5);
    assert!(granted(&submit_one(&mut book)).is_none(), "node 1 works");
    book.ended(1, 5, "");
    assert_eq!(events(&inbox), [Reply::NodeEnded { node: 1, failure: String::new() }, Reply::Finished {}]);
    // This one's node never watched it under the new daemon.
    let (events_in, inbox) = channel();
    book.adopt(&adoption(6, &[1]), OWNER, events_in).unwrap();
    book.ready(1);
    assert_eq!(events(&inbox), [Reply::NodeEnded { node: 1, failure: String::new() }, Reply::Finished {}]);
    let (next, _) = super::tests::submit(&mut book, 1, &[]);
    assert!(next > 6, "numbers are not used again");
}

#[test]
fn only_what_was_granted_is_adopted() {
    let mut book = book(1..=2);
    let (job, inbox) = submit(&mut book, 2, &[]);
    let voucher = inbox.try_iter().find_map(|reply| match reply {
        Reply::Granted { voucher, .. } => Some(voucher),
        _ => None,
    });
    let good = Adoption { voucher: voucher.unwrap(), processes: 2, ..adoption(job, &[1, 2]) };
    let mut book = empty();
    let (events, _inbox) = channel();
    let other = Owner { uid: 1001, ..OWNER };
    assert!(book.adopt(&good, other, events.clone()).is_err(), "another user's");
    let bad = [
        Adoption { job: job + 1, ..good.clone() },
        Adoption { nodes: vec![1, 2, 3], ..good.clone() },
        Adoption { nodes: vec![2, 1], ..good.clone() },
        Adoption { processes: 1, ..good.clone() },
        Adoption { voucher: String::new(), ..good.clone() },
        Adoption { voucher: format!("+{}", &good.voucher[1..]), ..good.clone() },
    ];
    for bad in bad {
        assert!(book.adopt(&bad, OWNER, events.clone()).is_err(), "{bad:?}");
    }
    book.adopt(&good, OWNER, events).unwrap();
}

/// A job that ended under the earlier daemon, on a node that has another's now.
#[test]
fn an_old_adoption_harms_no_job_of_now() {
    let mut book = book(1..=1);
    let (job, inbox) = submit(&mut book, 1, &[]);
    start(&mut book, job, 2).unwrap();
    book.work_of(1).unwrap();
    book.watches(1, job);
    events(&inbox);
    let (old, _old_inbox) = channel();
    let now = Instant::now();
    book.adopt(&adoption(77, &[1]), OWNER, old).unwrap();
    book.kill(77, libc::SIGKILL, now).unwrap();
    assert_eq!(book.order_of(1, job), None);
    assert_eq!(book.deaf(now + 2 * TAKING), [0; 0], "the node does not owe that job a sign");
    book.abandon(77);
    assert!(!book.has_orders(1));
    assert_eq!(book.order_of(1, job), None);
    assert_eq!(events(&inbox), []);
}

fn submit_one(book: &mut Book) -> Receiver<Reply> {
    let inbox = submit(book, 1, &[]).1;
    let queued = book.jobs_status().iter().map(|job| job.job).max().unwrap();
    book.abandon(queued);
    inbox
}
