// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A bad network, strangers, and nodes that lie.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use libtest_mimic::Trial;
use tacet_iod::control::{Reply, Request, ask};
use tacet_wire::key::Key;
use tacet_wire::packet::{Header, Kind, Packet, Party, seal};

use crate::calls::{open, with_job};
use crate::node::{Job, Node, Thread};
use crate::processes::{Run, Set, this_program};
use crate::relay::Relay;
use crate::{of_two_users, test};

pub fn tests() -> Vec<Trial> {
    vec![
        test("a_bad_network_changes_nothing", a_bad_network_changes_nothing),
        test("strangers_are_counted_and_not_served", strangers_are_counted_and_not_served),
        test("a_flood_of_strangers_stops_nobody", a_flood_of_strangers_stops_nobody),
        test("old_packets_are_not_performed_again", old_packets_are_not_performed_again),
        test(
            "a_lost_end_of_a_thread_comes_again_after_many_others",
            a_lost_end_of_a_thread_comes_again_after_many_others,
        ),
        test("another_ranks_packets_are_not_served", another_ranks_packets_are_not_served),
        test("another_jobs_packets_are_not_served", another_jobs_packets_are_not_served),
        test("lengths_that_lie_are_refused", lengths_that_lie_are_refused),
        of_two_users("what_the_user_may_not_do_the_call_may_not", what_the_user_may_not_do_the_call_may_not),
        test("an_old_greeting_unseats_nobody", an_old_greeting_unseats_nobody),
        test("strangers_are_counted_by_the_daemon", strangers_are_counted_by_the_daemon),
        test("a_repeated_packet_moves_no_thread", a_repeated_packet_moves_no_thread),
        test("a_repeated_packet_moves_no_session", a_repeated_packet_moves_no_session),
        test("an_order_that_was_lost_comes_again", an_order_that_was_lost_comes_again),
        test("an_order_reaches_a_node_whose_question_was_lost", an_order_reaches_a_node_whose_question_was_lost),
        test("a_proxy_that_closes_its_stream_and_lives_on", a_proxy_that_closes_its_stream_and_lives_on),
    ]
}

pub fn proxy(job: &Job, process: usize) -> SocketAddr {
    (job.host, job.proxies[process].0).into()
}

fn a_bad_network_changes_nothing() {
    let set = Set::new();
    let to_daemon = Relay::new(set.asks());
    let mut node = Node::boot(1, 1, to_daemon.address);
    let run = set.run(1, 1);
    let job = node.next().unwrap();
    let to_proxy = Relay::new(proxy(&job, 0));
    let mut thread = job.thread_by(0, 1, to_proxy.address);
    let file = open(&mut thread, "f", libc::O_CREAT | libc::O_RDWR | libc::O_APPEND) as u64;
    let mut expected = Vec::new();
    for round in 0..60_usize {
        let text = vec![round as u8; round * round * 9 % 20_000 + 1];
        let at = thread.memory.put(&text);
        assert_eq!(thread.call(libc::SYS_write, &[file, at, text.len() as u64]), text.len() as i64);
        expected.extend_from_slice(&text);
    }
    assert_eq!(std::fs::read(set.directory.path().join("f")).unwrap(), expected, "each write once, and in order");
    let room = thread.memory.room(expected.len());
    assert_eq!(thread.call(libc::SYS_pread64, &[file, room, expected.len() as u64, 0]), expected.len() as i64);
    assert_eq!(thread.memory.get(room, expected.len()), expected);
    thread.exit(9);
    node.ended(job.id, "").unwrap();
    assert_eq!(run.end().status.code(), Some(9));
}

/// A call as an attacker forms it.
pub fn forged(party: Party, sequence: u64, key: &Key) -> Vec<u8> {
    let mut message = Vec::new();
    message.extend_from_slice(&(libc::SYS_exit_group as u32).to_le_bytes());
    message.extend_from_slice(&0_u32.to_le_bytes());
    [66_u64, 0, 0, 0, 0, 0].iter().for_each(|word| message.extend_from_slice(&word.to_le_bytes()));
    message.extend_from_slice(&[0xff; 24]);
    packet(Kind::Call, party, sequence, &message, key)
}

pub fn packet(kind: Kind, party: Party, sequence: u64, message: &[u8], key: &Key) -> Vec<u8> {
    let bytes = message.len() as u32;
    let header = Header { kind, party, slot: 0, index: 0, count: 1, flags: 1, bytes, sequence, have: 0 };
    let mut datagram = vec![0; 1472];
    let used = seal(&header, message, key, &mut datagram).unwrap();
    datagram.truncate(used);
    datagram
}

/// The number after a word in the line that the test's `run` prints.
pub fn dropped(ended: &crate::processes::Ended, word: &str) -> u64 {
    let line = ended.stderr.lines().find(|line| line.starts_with("dropped:")).unwrap_or_default();
    let rest = line.split_once(&format!("{word}: ")).unwrap_or_default().1;
    rest.split(|letter: char| !letter.is_ascii_digit()).next().unwrap().parse().expect(line)
}

fn strangers_are_counted_and_not_served() {
    let mut sent = 0;
    let ended = with_job(1, |_, _, job| {
        let mut thread = job.thread(0, 1);
        thread.call(libc::SYS_getppid, &[]);
        let stranger = Key::new(&[1; 32]);
        for sequence in 1..10 {
            thread.line.throw(&forged(thread.line.party, sequence, &stranger));
            thread.line.throw(&forged(Party { thread: 5, ..thread.line.party }, sequence, &stranger));
            sent += 2;
        }
        // One bit of a good packet.
        let mut good = forged(thread.line.party, 100, &job.key);
        *good.last_mut().unwrap() ^= 1;
        thread.line.throw(&good);
        // Packets that are none.
        thread.line.throw(b"");
        thread.line.throw(&[0x41; 1472]);
        thread.call(libc::SYS_getppid, &[]);
    });
    assert_eq!(dropped(&ended, "strangers"), sent + 1);
    assert_eq!(dropped(&ended, "malformed"), 2);
}

fn a_flood_of_strangers_stops_nobody() {
    with_job(1, |_, _, job| {
        let (over, sent) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let thread = job.thread(0, 9);
                let datagram = forged(thread.line.party, 1, &Key::new(&[1; 32]));
                while !over.load(Ordering::Relaxed) {
                    thread.line.throw(&datagram);
                    sent.fetch_add(1, Ordering::Relaxed);
                }
            });
            let mut thread = job.thread(0, 1);
            let mut calls = 0;
            while calls < 200 || sent.load(Ordering::Relaxed) < 1000 {
                assert!(thread.call(libc::SYS_getppid, &[]) > 0);
                calls += 1;
            }
            over.store(true, Ordering::Relaxed);
        });
    });
}

fn old_packets_are_not_performed_again() {
    let ended = with_job(1, |set, _, job| {
        let mut thread = job.thread(0, 1);
        let file = open(&mut thread, "f", libc::O_CREAT | libc::O_RDWR | libc::O_APPEND) as u64;
        let text = thread.memory.put(b"x");
        for _ in 0..5 {
            assert_eq!(thread.call(libc::SYS_write, &[file, text, 1]), 1);
        }
        let old: Vec<Vec<u8>> = thread.line.sent.clone();
        old.iter().chain(old.iter().rev()).for_each(|packet| thread.line.throw(packet));
        assert_eq!(thread.call(libc::SYS_write, &[file, text, 1]), 1);
        assert_eq!(thread.call(libc::SYS_exit, &[0]), 0);
        // The thread is gone, and its packets do not bring it back.
        let other = &mut job.thread(0, 2);
        old.iter().for_each(|packet| other.line.throw(packet));
        other.call(libc::SYS_getppid, &[]);
        assert_eq!(std::fs::read(set.directory.path().join("f")).unwrap(), b"xxxxxx");
    });
    assert!(dropped(&ended, "stale") > 10);
}

/// The reply to a thread's `exit` is lost, and other CPUs of the node make and end more threads than a proxy remembers before
/// the thread's CPU asks again.
fn a_lost_end_of_a_thread_comes_again_after_many_others() {
    with_job(1, |_, _, job| {
        let mut thread = job.thread(0, 1);
        assert_eq!(thread.call(libc::SYS_exit, &[0]), 0);
        for other in 2..600 {
            assert_eq!(job.thread(0, other).call(libc::SYS_exit, &[0]), 0);
        }
        assert_eq!(thread.call_again(), 0);
        // Another key's question gets no answer, and this one's brings no thread back.
        let (stranger, last) = (job.thread(0, 1), thread.line.sequence);
        stranger.line.throw(&forged(stranger.line.party, last, &Key::new(&[1; 32])));
        stranger.line.throw(&forged(stranger.line.party, last, &job.key));
        let answer = stranger.line.overhear().expect("one answer");
        assert!(Packet::parse(&answer).is_ok_and(|packet| packet.is_genuine(&job.key)));
        probe(&mut job.thread(0, 600));
        assert!(stranger.line.is_silent(), "the other question had an answer too");
    });
}

fn another_ranks_packets_are_not_served() {
    with_job(2, |_, _, job| {
        let mut threads = [job.thread(0, 1), job.thread(1, 1)];
        threads.iter_mut().for_each(probe);
        let party = threads[0].line.party;
        // The right key, and the number of another node, job or process.
        let others = [Party { process: 1, ..party }, Party { node: 2, ..party }, Party { job: party.job + 1, ..party }];
        for other in others {
            for thread in [1, 77] {
                threads[0].line.throw(&forged(Party { thread, ..other }, 50, &job.key));
            }
        }
        // Process 0's number at process 1's port.
        threads[1].line.throw(&forged(Party { thread: 77, ..party }, 50, &job.key));
        threads.iter_mut().for_each(probe);
    });
}

/// A call that must be served.
fn probe(thread: &mut Thread) {
    assert!(thread.call(libc::SYS_getppid, &[]) > 0);
}

fn another_jobs_packets_are_not_served() {
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    let mut old: Option<(Job, Vec<Vec<u8>>)> = None;
    for status in 0..2 {
        let run = set.run(1, 1);
        let job = node.next().unwrap();
        let mut thread = job.thread(0, 1);
        if let Some((before, packets)) = &old {
            packets.iter().for_each(|packet| thread.line.throw(packet));
            // The old key signs even this job's numbers in vain.
            thread.line.throw(&forged(thread.line.party, 1, &before.key));
        }
        thread.call(libc::SYS_getppid, &[]);
        thread.exit(status);
        let sent = thread.line.sent.clone();
        node.ended(job.id, "").unwrap();
        let ended = run.end();
        assert_eq!(ended.status.code(), Some(status as i32));
        if let Some((_, packets)) = &old {
            assert_eq!(dropped(&ended, "strangers"), packets.len() as u64 + 1);
        }
        old = Some((job, sent));
    }
}

fn lengths_that_lie_are_refused() {
    with_job(1, |_, _, job| {
        let mut thread = job.thread(0, 1);
        let einval = -i64::from(libc::EINVAL);
        let [read, write] = [libc::SYS_read, libc::SYS_write].map(|number| number as u32);
        for giant in [70_000, u64::from(u32::MAX), u64::MAX, 1 << 40] {
            // Without a buffer, the address is a null pointer, whatever the node says.
            assert_eq!(thread.raw_call(write, &[1, 1, giant, 0, 0, 0]), -i64::from(libc::EFAULT), "{giant}");
        }
        // The highest lengths say that there is no buffer, or none that the program may use: Linux's word. Any other that
        // says more than the message has, or than the reply can hold, is refused.
        let longest = u32::MAX - 8;
        for (number, size) in [(write, 4), (write, longest), (read, 300_000), (read, longest)] {
            let message = raw(
                number,
                &[1, 1, u64::from(size), 0, 0, 0],
                [u32::MAX, size, u32::MAX, u32::MAX, u32::MAX, u32::MAX],
            );
            assert_eq!(thread.raw_message(&message), einval, "{number} {size}");
        }
        // A header that promises more fragments than there can be: no packet at all.
        let message = raw(libc::SYS_getppid as u32, &[0; 6], [u32::MAX; 6]);
        let header = Header {
            kind: Kind::Call,
            party: thread.line.party,
            slot: 0,
            index: 65_000,
            count: 65_535,
            flags: 1,
            bytes: u32::MAX,
            sequence: 1 << 40,
            have: u64::MAX,
        };
        let mut datagram = vec![0; 1472];
        let used = seal(&header, &message, &job.key, &mut datagram).unwrap();
        thread.line.throw(&datagram[..used]);
        assert!(thread.call(libc::SYS_getppid, &[]) > 0);
    });
}

/// A call's message, as a node that lies would write it.
pub fn raw(number: u32, arguments: &[u64; 6], sizes: [u32; 6]) -> Vec<u8> {
    let mut message = [number.to_le_bytes(), 0_u32.to_le_bytes()].concat();
    arguments.iter().for_each(|word| message.extend_from_slice(&word.to_le_bytes()));
    sizes.iter().for_each(|size| message.extend_from_slice(&size.to_le_bytes()));
    message
}

/// As another user than root, who is refused nothing.
fn what_the_user_may_not_do_the_call_may_not() {
    let denied = |thread: &mut Thread| {
        let paths =
            ["/etc/shadow", "../../../../../../etc/shadow", "link", "/proc/1/environ", "/proc/self/root/etc/shadow"];
        for path in paths {
            let result = open(thread, path, libc::O_RDONLY);
            assert_eq!(result, -i64::from(libc::EACCES), "{path}");
        }
        for flags in [libc::O_WRONLY, libc::O_RDWR | libc::O_CREAT] {
            let result = open(thread, "/etc/passwd", flags);
            assert_eq!(result, -i64::from(libc::EACCES));
        }
        let path = thread.memory.text("/etc/passwd");
        assert_eq!(thread.call(libc::SYS_chown, &[path, 65534, 65534]), -i64::from(libc::EPERM));
        let signal = [u64::from(libc::SIGKILL as u32)];
        assert!(thread.raw_call(libc::SYS_kill as u32, &[1, signal[0], 0, 0, 0, 0]) < 0);
        assert!(thread.raw_call(libc::SYS_setuid as u32, &[0; 6]) < 0);
    };
    crate::control::with_other_user(|directory, thread| {
        std::os::unix::fs::symlink("/etc/shadow", directory.join("link")).unwrap();
        denied(thread);
    });
}

fn an_old_greeting_unseats_nobody() {
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    let run = set.run(1, 1);
    let job = node.next().unwrap();
    node.started(job.id, &[1]).unwrap();
    // Anybody can repeat old greetings, or this boot's, but not sign what must follow.
    for nonce in 0..20 {
        let _ = Node::boot(1, nonce, set.asks());
    }
    job.thread(0, 1).exit(4);
    node.ended(job.id, "").unwrap();
    assert_eq!(run.end().status.code(), Some(4));
}

fn strangers_are_counted_by_the_daemon() {
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    let dropped = || match ask(&set.control(), &Request::Status {}) {
        Ok(Reply::Status(status)) => status.dropped,
        other => panic!("{other:?}"),
    };
    let run = set.run(1, 1);
    let job = node.next().unwrap();
    let old = node.asks.sent.clone();
    let party = node.asks.party;
    node.asks.throw(&packet(Kind::Ask, party, 9, &[2, 0, 0, 0], &Key::new(&[1; 32])));
    node.asks.throw(&packet(Kind::Ask, party, 9, &[2, 0, 0, 0], &job.key));
    node.asks.throw(&packet(Kind::Call, party, 9, &[2, 0, 0, 0], &node.asks.key.clone()));
    node.asks.throw(&packet(Kind::Ask, Party { job: 5, ..party }, 9, &[2, 0, 0, 0], &node.asks.key.clone()));
    node.asks.throw(b"no packet");
    node.started(job.id, &[1]).unwrap();
    old.iter().for_each(|packet| node.asks.throw(packet));
    job.thread(0, 1).exit(0);
    node.ended(job.id, "").unwrap();
    assert_eq!(run.end().status.code(), Some(0));
    let dropped = dropped();
    assert_eq!((dropped.strangers, dropped.malformed), (2, 3));
    assert_eq!(dropped.stale, old.len() as u64);
}

/// Somebody else repeats the thread's last question: the answer goes to the thread.
fn a_repeated_packet_moves_no_thread() {
    with_job(1, |_, _, job| {
        let (mut thread, stranger) = (job.thread(0, 1), job.thread(0, 1).line);
        probe(&mut thread);
        stranger.throw(&packet(Kind::Call, thread.line.party, thread.line.sequence, b"again", &job.key));
        assert!(thread.line.overhear().is_some());
    });
}

fn a_repeated_packet_moves_no_session() {
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    let run = set.run(1, 1);
    let job = node.next().unwrap();
    node.started(job.id, &[1]).unwrap();
    let (asks, stranger) = (&node.asks, job.thread(0, 1).line);
    stranger.throw_to(set.asks(), &packet(Kind::Ask, asks.party, asks.sequence, b"again", &asks.key));
    assert!(asks.overhear().is_some());
    job.thread(0, 1).exit(0);
    node.ended(job.id, "").unwrap();
    assert_eq!(run.end().status.code(), Some(0));
}

fn kill(set: &Set, job: &Job, signal: i32) {
    let reply = ask(&set.control(), &Request::Kill { job: job.id, signal });
    assert!(reply.is_ok(), "{reply:?}");
}

/// The node's CPUs all compute: none of them repeats the question, and each packet that comes lets one look.
fn an_order_that_was_lost_comes_again() {
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    let run = set.run(1, 1);
    let job = node.next().unwrap();
    node.ask_for_orders(job.id);
    // Ended by a later ask, so the daemon has heard the question.
    node.started(job.id, &[1]).unwrap();
    kill(&set, &job, libc::SIGTERM);
    assert!(node.watch.overhear().is_some(), "the order, which is lost");
    assert!(node.watch.overhear().is_some(), "the daemon reminds the node");
    assert_eq!(node.repeat_ask_for_orders(job.id), libc::SIGTERM as u32);
    job.thread(0, 1).exit(0);
    node.ended(job.id, "").unwrap();
    assert_eq!(run.end().status.code(), Some(0));
}

fn an_order_reaches_a_node_whose_question_was_lost() {
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    let run = set.run(1, 1);
    let job = node.next().unwrap();
    node.started(job.id, &[1]).unwrap();
    kill(&set, &job, libc::SIGKILL);
    assert!(node.asks.overhear().is_some(), "the daemon reminds the node");
    assert_eq!(node.order(job.id), Ok(libc::SIGKILL as u32));
    node.ended(job.id, "").unwrap();
    assert_eq!(run.end().status.code(), Some(128 + libc::SIGKILL));
}

fn a_proxy_that_closes_its_stream_and_lives_on() {
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    let mut command = Command::new(this_program());
    command.arg("run-silent");
    let run = Run::with_words(command, &set.control(), set.directory.path(), 1, 2);
    let job = node.next().unwrap();
    assert_eq!(node.order(job.id), Ok(libc::SIGKILL as u32));
    node.ended(job.id, "").unwrap();
    let ended = run.end();
    assert_eq!(ended.status.code(), Some(125), "{}", ended.stderr);
    assert!(ended.stderr.contains("its proxy serves no more, and does not end"), "{}", ended.stderr);
}
