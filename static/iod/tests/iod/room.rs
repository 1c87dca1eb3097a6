// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Jobs of many ranks, and the descriptors that `run` needs for them.

use std::process::Command;
use std::thread;
use std::time::Duration;

use libtest_mimic::Trial;

use crate::node::{Job, Node};
use crate::processes::{Run, Set, this_program};
use crate::test;

pub fn tests() -> Vec<Trial> {
    vec![test("a_job_needs_two_descriptors_for_each_rank", a_job_needs_two_descriptors_for_each_rank)]
}

const RANKS: u32 = 100;
const SOFT: u32 = 30;

/// A `run` that may have no more descriptors than it says it needs has all its ranks, and each program the limit of the
/// shell; with one descriptor less, nothing begins.
fn a_job_needs_two_descriptors_for_each_rank() {
    let set = Set::new();
    let node = Node::boot_with(1, 1, set.asks(), RANKS, false);
    let run = |hard: u32| {
        let mut command = Command::new("/bin/sh");
        let script = format!("ulimit -Sn {SOFT} && ulimit -Hn {hard} && exec \"$0\" \"$@\"");
        command.args(["-c", &script]).arg(this_program());
        Run::with(command, &set.control(), set.directory.path(), 1, RANKS)
    };
    let refused = run(2 * RANKS).end();
    assert_eq!((refused.status.code(), refused.stderr.lines().count()), (Some(2), 1), "{}", refused.stderr);
    let mut numbers = refused.stderr.split(' ').filter_map(|word| word.parse::<u32>().ok());
    let needed = numbers.find(|number| *number > RANKS).expect("what it needs");
    assert!(needed - 2 * RANKS < SOFT, "{needed}: two of each rank, and few of all");
    let refused = run(needed - 1).end();
    assert!(refused.stderr.contains(&format!("may have {}", needed - 1)), "{}", refused.stderr);
    let (mut node, job, run) = begun(node, run(needed));
    assert_eq!(job.proxies.len(), RANKS as usize);
    for process in 0..RANKS as usize {
        let mut thread = job.thread(process, 1);
        let limit = thread.memory.room(16);
        assert_eq!(thread.call(libc::SYS_prlimit64, &[0, u64::from(libc::RLIMIT_NOFILE), 0, limit]), 0);
        assert_eq!(thread.memory.get(limit, 8), u64::from(SOFT).to_le_bytes());
        thread.exit(0);
    }
    node.ended(job.id, "").unwrap();
    let ended = run.end();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
}

/// The node's part of the job, unless `run` ends before there is one.
fn begun(mut node: Node, mut run: Run) -> (Node, Job, Run) {
    let waits = thread::spawn(move || {
        let job = node.next().expect("a job");
        (node, job)
    });
    while !waits.is_finished() {
        if run.child.try_wait().expect("its status").is_some() {
            panic!("no job: {}", run.end().stderr);
        }
        thread::sleep(Duration::from_millis(5));
    }
    let (node, job) = waits.join().expect("a node");
    (node, job, run)
}
