// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The book without sockets: who gets which node, and what owners are told.

use std::net::Ipv4Addr;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::*;
use crate::control::Proxy;

const OWNER: Owner = Owner { uid: 1000, pid: 7 };

fn book(nodes: impl IntoIterator<Item = u32>) -> Book {
    let mut book = Book::new(Ipv4Addr::LOCALHOST.into());
    for node in nodes {
        book.booted(node, 4, 1 << 30, format!("10.0.0.{node}:5"), Instant::now());
        book.ready(node);
    }
    book
}

fn submit(book: &mut Book, nodes: u32, on: &[u32]) -> (u32, Receiver<Reply>) {
    let (events, inbox) = channel();
    let submit = Submit { name: "a".into(), nodes, processes: 2, on: on.to_vec() };
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
    inbox.try_iter().filter(|reply| !matches!(reply, Reply::Queued { .. } | Reply::Granted { .. })).collect()
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
    book.booted(9, 1, 1, String::new(), Instant::now());
    book.allocate(Instant::now());
    assert_eq!(granted(&large), None, "a node must ask before it gets work");
    book.ready(9);
    book.allocate(Instant::now());
    assert_eq!(granted(&large), Some(vec![3, 9]));
}

#[test]
fn named_nodes_are_the_only_ones() {
    let mut book = book(1..=4);
    assert_eq!(granted(&submit(&mut book, 2, &[2, 4]).1), Some(vec![2, 4]));
    let (events, _inbox) = channel();
    let few = Submit { name: "a".into(), nodes: 2, processes: 1, on: vec![1] };
    assert!(book.submit(few, OWNER, [0; KEY_BYTES], events).is_err());
}

#[test]
fn a_silent_node_gets_no_work() {
    let mut book = book(1..=1);
    let (events, inbox) = channel();
    book.submit(Submit { name: "a".into(), nodes: 1, processes: 1, on: vec![] }, OWNER, [0; KEY_BYTES], events)
        .unwrap();
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
    book.booted(1, 4, 1, String::new(), Instant::now());
    book.work_of(2).unwrap();
    book.ready(2);
    book.lost(2, "powered off");
    let lost = Reply::NodeLost { node: 1, why: "it has booted again".into() };
    let ended = Reply::NodeEnded { node: 2, failure: String::new() };
    assert_eq!(events(&inbox), [lost, ended, Reply::Finished {}]);
    let (_, inbox) = submit(&mut book, 2, &[]);
    assert_eq!(granted(&inbox), None, "node 2 is lost");
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

#[test]
fn an_adopted_job_ends_like_any() {
    let mut book = Book::new(Ipv4Addr::LOCALHOST.into());
    let (events_in, inbox) = channel();
    let submit = || Submit { name: "a".into(), nodes: 1, processes: 1, on: vec![] };
    book.adopt(5, submit(), OWNER, &[1], events_in.clone()).unwrap();
    assert!(book.adopt(5, submit(), OWNER, &[1], events_in).is_err());
    book.booted(1, 1, 1, String::new(), Instant::now());
    book.watches(1, 5);
    assert!(granted(&submit_one(&mut book)).is_none(), "node 1 works");
    book.ended(1, 5, "");
    assert_eq!(events(&inbox), [Reply::NodeEnded { node: 1, failure: String::new() }, Reply::Finished {}]);
    // This one's node never watched it under the new daemon.
    let (events_in, inbox) = channel();
    book.adopt(6, submit(), OWNER, &[1], events_in).unwrap();
    book.ready(1);
    assert_eq!(events(&inbox), [Reply::NodeEnded { node: 1, failure: String::new() }, Reply::Finished {}]);
    let (next, _) = super::tests::submit(&mut book, 1, &[]);
    assert!(next > 6, "numbers are not used again");
}

fn submit_one(book: &mut Book) -> Receiver<Reply> {
    let inbox = submit(book, 1, &[]).1;
    let queued = book.jobs_status().iter().map(|job| job.job).max().unwrap();
    book.abandon(queued);
    inbox
}
