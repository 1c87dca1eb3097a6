// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Jobs from their submission to their exit status.

use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt;

use libtest_mimic::Trial;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tacet_iod::control::{Lines, Reply, Request, ask, send};
use tacet_wire::ask::Refusal;

use crate::control::status;
use crate::node::{Node, Refused};
use crate::processes::{Ended, Run, Set, lasting_address, start_daemon};
use crate::test;

pub fn tests() -> Vec<Trial> {
    vec![
        test("a_job_prints_and_ends_with_its_status", a_job_prints_and_ends_with_its_status),
        test("ranks_are_divided_among_nodes", ranks_are_divided_among_nodes),
        test("a_death_by_signal_is_the_proxys_and_runs", a_death_by_signal_is_the_proxys_and_runs),
        test("jobs_follow_each_other_on_a_node", jobs_follow_each_other_on_a_node),
        test("a_watch_ends_with_its_job", a_watch_ends_with_its_job),
        test("a_node_that_cannot_load_the_program_says_so", a_node_that_cannot_load_the_program_says_so),
        test("a_killed_proxy_ends_the_job", a_killed_proxy_ends_the_job),
        test("a_job_that_waits_can_be_killed", a_job_that_waits_can_be_killed),
        test("a_job_that_would_wait_for_ever_is_refused", a_job_that_would_wait_for_ever_is_refused),
        test("a_stopped_proxy_ends_the_job_with_one_line", a_stopped_proxy_ends_the_job_with_one_line),
        test("a_silent_proxy_that_the_node_names", a_silent_proxy_that_the_node_names),
        test("a_killed_run_takes_its_proxies_along", a_killed_run_takes_its_proxies_along),
        test("a_lost_node_ends_the_job", a_lost_node_ends_the_job),
        test("a_silent_node_with_a_service_cpu_ends_the_job", a_silent_node_with_a_service_cpu_ends_the_job),
        test("a_node_that_boots_again_is_lost", a_node_that_boots_again_is_lost),
        test("a_job_outlives_its_daemon", a_job_outlives_its_daemon),
        test("a_later_daemon_repeats_no_number", a_later_daemon_repeats_no_number),
        test(
            "a_daemon_that_refuses_a_running_job_does_not_end_it",
            a_daemon_that_refuses_a_running_job_does_not_end_it,
        ),
    ]
}

fn a_job_prints_and_ends_with_its_status() {
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    let run = set.run(1, 1);
    let job = node.next().unwrap();
    assert_eq!(
        (job.first_rank, job.ranks, job.arguments.as_slice()),
        (0, 1, [b"a.out".to_vec(), b"\xff b".to_vec()].as_slice())
    );
    node.started(job.id, &[1]).unwrap();
    let mut thread = job.thread(0, 1);
    let text = thread.memory.put(b"hello\n");
    assert_eq!(thread.call(libc::SYS_write, &[1, text, 6]), 6);
    thread.exit(7);
    node.ended(job.id, "").unwrap();
    let ended = run.end();
    assert_eq!((ended.status.code(), ended.stdout.as_str()), (Some(7), "hello\n"), "{}", ended.stderr);
}

fn ranks_are_divided_among_nodes() {
    let set = Set::new();
    let mut nodes: Vec<Node> = (1..=2).map(|number| Node::boot(number, 1, set.asks())).collect();
    let run = set.run(2, 3);
    let mut processes = Vec::new();
    std::thread::scope(|scope| {
        // Both nodes must ask before either gets its part.
        let waiting: Vec<_> = nodes.iter_mut().map(|node| scope.spawn(|| (node.next().unwrap(), node))).collect();
        for (place, waiting) in waiting.into_iter().enumerate() {
            let (job, node) = waiting.join().unwrap();
            assert_eq!((job.first_rank as usize, job.ranks, job.proxies.len()), (3 * place, 6, 3));
            processes.extend(job.proxies.iter().map(|proxy| proxy.1));
            for process in 0..3 {
                // Each rank's status is its own; the first that is not 0 is the job's.
                let rank = u64::from(job.first_rank) + process as u64;
                job.thread(process, 1).exit(if rank < 2 { 0 } else { rank });
            }
            node.ended(job.id, "").unwrap();
        }
    });
    assert_eq!(run.end().status.code(), Some(2));
    processes.sort_unstable();
    processes.dedup();
    assert_eq!(processes.len(), 6, "a process each");
}

fn a_death_by_signal_is_the_proxys_and_runs() {
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    for signal in [libc::SIGSEGV, libc::SIGTERM, libc::SIGKILL, libc::SIGPIPE, libc::SIGRTMIN()] {
        let run = set.run(1, 1);
        let job = node.next().unwrap();
        let _ = job.thread(0, 1).try_call(libc::SYS_exit_group, &[0, signal as u64]);
        node.ended(job.id, "").unwrap();
        let ended = run.end();
        assert_eq!(ended.status.code(), Some(128 + signal), "{}", ended.stderr);
        assert!(!ended.stderr.contains("tacet:"), "{}", ended.stderr);
    }
    let cores = std::fs::read_dir(set.directory.path()).unwrap().flatten();
    assert_eq!(cores.filter(|entry| entry.file_name().to_string_lossy().contains("core")).count(), 0);
}

fn jobs_follow_each_other_on_a_node() {
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    let (first, second) = (set.run(1, 1), set.run(1, 1));
    let mut last = 0;
    let mut old = None;
    for _ in 0..2 {
        let job = node.next().unwrap();
        assert!(job.id > last);
        last = job.id;
        let mut thread = job.thread(0, 1);
        assert!(thread.call(libc::SYS_getppid, &[]) > 0);
        if let Some(port) = old {
            assert_ne!(job.proxies[0].0, port, "the other job's proxy has another port");
        }
        old = Some(job.proxies[0].0);
        thread.exit(0);
        node.ended(job.id, "").unwrap();
    }
    assert_eq!((first.end().status.code(), second.end().status.code()), (Some(0), Some(0)));
}

fn a_watch_ends_with_its_job() {
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    for _ in 0..2 {
        let run = set.run(1, 1);
        let job = node.next().unwrap();
        node.ask_for_orders(job.id);
        node.started(job.id, &[1]).unwrap();
        job.thread(0, 1).exit(0);
        node.ended(job.id, "").unwrap();
        assert_eq!(run.end().status.code(), Some(0));
    }
    // Nobody has answered the questions, and the next one is heard all the same.
    let run = set.run(1, 1);
    let job = node.next().unwrap();
    std::thread::scope(|scope| {
        let order = scope.spawn(|| node.order(job.id));
        // Until the question is there, signals go by the proxy.
        while !order.is_finished() {
            ask(&set.control(), &Request::Kill { job: job.id, signal: libc::SIGUSR1 }).unwrap();
        }
        assert_eq!(order.join().unwrap(), Ok(libc::SIGUSR1 as u32));
    });
    job.thread(0, 1).exit(0);
    node.ended(job.id, "").unwrap();
    assert_eq!(run.end().status.code(), Some(0));
}

fn a_node_that_cannot_load_the_program_says_so() {
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    let run = set.run(1, 2);
    let job = node.next().unwrap();
    node.ended(job.id, "./a.out: 12 MiB are missing").unwrap();
    let ended = run.end();
    assert_ne!(ended.status.code(), Some(0));
    let lines: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("tacet:")).collect();
    assert_eq!(lines, [format!("tacet: job {} ends: node 1: ./a.out: 12 MiB are missing", job.id)]);
}

fn a_killed_proxy_ends_the_job() {
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    let run = set.run(1, 2);
    let job = node.next().unwrap();
    let mut threads = [job.thread(0, 1), job.thread(1, 1)];
    for thread in &mut threads {
        assert!(thread.call(libc::SYS_getppid, &[]) > 0);
    }
    node.ask_for_orders(job.id);
    kill(Pid::from_raw(job.proxies[1].1 as i32), Signal::SIGKILL).unwrap();
    // A process that computes does not ask its proxy: its node is told.
    assert_eq!(node.repeat_ask_for_orders(job.id), libc::SIGKILL as u32);
    // Both ranks learn it by their next calls, without a wait for silence.
    for thread in &mut threads {
        while thread.try_call(libc::SYS_getppid, &[]).is_ok() {}
        assert_eq!(thread.try_call(libc::SYS_getppid, &[]), Err(Refused(Refusal::NoJob)));
    }
    node.ended(job.id, "").unwrap();
    let ended = run.end();
    assert_eq!(ended.status.code(), Some(i32::from(tacet_iod::submit::LOST)));
    let lines: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("tacet:")).collect();
    assert_eq!(lines, [format!("tacet: job {} ends: rank 1: SIGKILL has ended its proxy", job.id)]);
}

/// The lines of `run` itself.
fn said(ended: &Ended) -> Vec<&str> {
    ended.stderr.lines().filter(|line| line.starts_with("tacet:")).collect()
}

fn a_job_that_waits_can_be_killed() {
    let set = Set::new();
    let run = set.run(1, 1);
    while status(&set).jobs.is_empty() {
        std::thread::yield_now();
    }
    ask(&set.control(), &Request::Kill { job: 1, signal: libc::SIGTERM }).unwrap();
    let ended = run.end();
    assert!(!ended.status.success());
    let of_its_end = said(&ended).into_iter().filter(|line| line.contains("SIGTERM has ended it while it waited"));
    assert_eq!(of_its_end.count(), 1, "{}", ended.stderr);
    assert_eq!(status(&set).jobs, []);
}

fn a_job_that_would_wait_for_ever_is_refused() {
    let set = Set::of(2);
    let ended = set.run(3, 1).end();
    assert_eq!(said(&ended).len(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("job test: it wants 3 nodes, and there are 2; ask for less"), "{}", ended.stderr);
    let mut nodes = [Node::boot(0, 1, set.asks()), Node::boot(1, 1, set.asks())];
    nodes.iter_mut().for_each(Node::wait_for_work);
    while status(&set).nodes.len() < 2 {
        std::thread::yield_now();
    }
    let ended = set.run(1, 5).end();
    assert_eq!(said(&ended).len(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("no node has more than 4 CPUs"), "{}", ended.stderr);
}

/// The proxy hears neither its program's end nor that its node has given it up.
fn a_stopped_proxy_ends_the_job_with_one_line() {
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    let run = set.run(1, 2);
    let job = node.next().unwrap();
    assert!(job.thread(1, 1).call(libc::SYS_getppid, &[]) > 0);
    kill(Pid::from_raw(job.proxies[1].1 as i32), Signal::SIGSTOP).unwrap();
    job.thread(0, 1).exit(3);
    node.ended(job.id, "").unwrap();
    let ended = run.end();
    assert_eq!(ended.status.code(), Some(i32::from(tacet_iod::submit::LOST)));
    let line = format!("tacet: job {} ends: rank 1: node 1 has ended it, and its proxy has not heard how", job.id);
    assert_eq!(said(&ended), [line]);
}

fn a_silent_proxy_that_the_node_names() {
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    let run = set.run(1, 1);
    let job = node.next().unwrap();
    kill(Pid::from_raw(job.proxies[0].1 as i32), Signal::SIGSTOP).unwrap();
    node.ended(job.id, "process 0 ends: its proxy is silent").unwrap();
    let ended = run.end();
    assert_eq!(ended.status.code(), Some(i32::from(tacet_iod::submit::LOST)));
    assert_eq!(said(&ended), [format!("tacet: job {} ends: node 1: process 0 ends: its proxy is silent", job.id)]);
}

fn a_killed_run_takes_its_proxies_along() {
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    let mut run = set.run(1, 2);
    let job = node.next().unwrap();
    run.child.kill().unwrap();
    assert_eq!(run.child.wait().unwrap().signal(), Some(libc::SIGKILL));
    for (_, process) in &job.proxies {
        // Proxies without a parent are adopted and buried by another process, so the number is free in the end.
        while is_running(*process) {
            std::thread::yield_now();
        }
    }
    node.orphaned(job.id).unwrap();
    let next = set.run(1, 1);
    let job = node.next().unwrap();
    job.thread(0, 1).exit(0);
    node.ended(job.id, "").unwrap();
    assert_eq!(next.end().status.code(), Some(0));
}

fn is_running(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    status.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

fn a_lost_node_ends_the_job() {
    let set = Set::new();
    let mut nodes = [Node::boot(1, 1, set.asks()), Node::boot(2, 1, set.asks())];
    let run = set.run(2, 1);
    let jobs = std::thread::scope(|scope| {
        let waiting: Vec<_> = nodes.iter_mut().map(|node| scope.spawn(|| node.next().unwrap())).collect();
        waiting.into_iter().map(|waiting| waiting.join().unwrap()).collect::<Vec<_>>()
    });
    set.daemon.node_lost(2, "its emulator has ended");
    let mut thread = jobs[0].thread(0, 1);
    while thread.try_call(libc::SYS_getppid, &[]).is_ok() {}
    nodes[0].ended(jobs[0].id, "").unwrap();
    let ended = run.end();
    assert_eq!(ended.status.code(), Some(i32::from(tacet_iod::submit::LOST)));
    let lines: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("tacet:")).collect();
    assert_eq!(lines, [format!("tacet: job {} ends: node 2 is lost: its emulator has ended", jobs[0].id)]);
    for job in &jobs {
        assert!(!is_running(job.proxies[0].1));
    }
}

fn a_silent_node_with_a_service_cpu_ends_the_job() {
    let set = Set::new();
    let mut node = Node::boot_with(1, 1, set.asks(), 4, true);
    let run = set.run(1, 1);
    let job = node.next().unwrap();
    node.started(job.id, &[1]).unwrap();
    let ended = run.end();
    assert_eq!(ended.status.code(), Some(i32::from(tacet_iod::submit::LOST)));
    assert_eq!(said(&ended), [format!("tacet: job {} ends: node 1 is lost: it is silent", job.id)]);
    assert_eq!(status(&set).nodes[0].state, "lost");
}

fn a_node_that_boots_again_is_lost() {
    let set = Set::new();
    let mut node = Node::boot(1, 1, set.asks());
    let run = set.run(1, 1);
    let job = node.next().unwrap();
    let mut again = Node::boot(1, 2, set.asks());
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| again.next().unwrap());
        let ended = run.end();
        assert_ne!(ended.status.code(), Some(0));
        assert!(ended.stderr.contains("node 1 is lost: it has booted again"), "{}", ended.stderr);
        let next = set.run(1, 1);
        let second = waiting.join().unwrap();
        assert_ne!(second.id, job.id);
        second.thread(0, 1).exit(3);
        assert_eq!(next.end().status.code(), Some(3));
    });
}

fn a_job_outlives_its_daemon() {
    let directory = tempfile::tempdir().unwrap();
    let control = directory.path().join("c");
    let address = lasting_address();
    let mut daemon = start_daemon(&control, address);
    let mut node = Node::boot(1, 1, address);
    let run = Run::start(&control, directory.path(), 1, 1);
    let job = node.next().unwrap();
    let mut thread = job.thread(0, 1);
    assert!(thread.call(libc::SYS_getppid, &[]) > 0);
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    assert!(thread.call(libc::SYS_getppid, &[]) > 0, "calls do not pass through the daemon");
    let mut daemon = start_daemon(&control, address);
    assert_eq!(node.ended(job.id, ""), Err(Refused(Refusal::NoSession)));
    let mut node = Node::boot(1, 1, address);
    // The job is known again, by its owner and by its node.
    let status = || match ask(&control, &Request::Status {}) {
        Ok(Reply::Status(status)) => *status,
        other => panic!("{other:?} is no status"),
    };
    std::thread::scope(|scope| {
        let order = scope.spawn(|| node.order(job.id));
        while status().jobs.is_empty() || status().nodes[0].job != Some(job.id) {
            std::thread::yield_now();
        }
        ask(&control, &Request::Kill { job: job.id, signal: 15 }).unwrap();
        assert_eq!(order.join().unwrap(), Ok(15));
    });
    thread.exit(5);
    node.ended(job.id, "").unwrap();
    let ended = run.end();
    assert_eq!(ended.status.code(), Some(5), "{}", ended.stderr);
    assert!(ended.stderr.contains("goes on without it"), "{}", ended.stderr);
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}

fn a_later_daemon_repeats_no_number() {
    let directory = tempfile::tempdir().unwrap();
    let (control, address) = (directory.path().join("c"), lasting_address());
    let mut last = 0;
    for nonce in 1..4 {
        let mut daemon = start_daemon(&control, address);
        let mut node = Node::boot(1, nonce, address);
        for _ in 0..2 {
            let run = Run::start(&control, directory.path(), 1, 1);
            let job = node.next().unwrap();
            assert!(job.id > last, "{} after {last}", job.id);
            last = job.id;
            job.thread(0, 1).exit(0);
            node.ended(job.id, "").unwrap();
            assert_eq!(run.end().status.code(), Some(0));
        }
        daemon.kill().unwrap();
        daemon.wait().unwrap();
    }
}

/// In place of the daemon comes one that has never heard of the set's jobs, or has another of this number; then the old one.
fn a_daemon_that_refuses_a_running_job_does_not_end_it() {
    let directory = tempfile::tempdir().unwrap();
    let (control, address) = (directory.path().join("c"), lasting_address());
    let mut daemon = start_daemon(&control, address);
    let mut node = Node::boot(1, 1, address);
    let mut run = Run::start(&control, directory.path(), 1, 1);
    let job = node.next().unwrap();
    let mut thread = job.thread(0, 1);
    assert!(thread.call(libc::SYS_getppid, &[]) > 0);
    // Both sockets change hands at once: `run` must not find the old daemon again.
    let refuser = UnixListener::bind(directory.path().join("other")).unwrap();
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    std::fs::rename(directory.path().join("other"), &control).unwrap();
    let (stream, _) = refuser.accept().unwrap();
    let told: Request = Lines::new(&stream).read().unwrap().unwrap();
    assert!(matches!(&told, Request::Adopt(adoption) if adoption.job == job.id), "{told:?}");
    send(&stream, &Reply::Refused { reason: "it is not mine".into() }).unwrap();
    drop((stream, refuser));
    assert!(thread.call(libc::SYS_getppid, &[]) > 0);
    let mut daemon = start_daemon(&control, address);
    let status = || match ask(&control, &Request::Status {}) {
        Ok(Reply::Status(status)) => *status,
        other => panic!("{other:?} is no status"),
    };
    while status().jobs.is_empty() {
        assert!(run.child.try_wait().unwrap().is_none(), "the job has ended");
        std::thread::yield_now();
    }
    thread.exit(5);
    let ended = run.end();
    assert_eq!(ended.status.code(), Some(5), "{}", ended.stderr);
    assert!(ended.stderr.contains("the new daemon does not take job"), "{}", ended.stderr);
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}
