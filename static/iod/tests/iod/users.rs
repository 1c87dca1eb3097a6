// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Root's daemon for all users: whose a job is, who sees what of it, and who ends it.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use libtest_mimic::Trial;
use nix::unistd::Pid;
use tacet_iod::control::{NodeOrder, Request};
use tempfile::TempDir;

use crate::calls::open;
use crate::control::as_user;
use crate::node::{Job, Node};
use crate::of_two_users;
use crate::processes::{Run, Set, lasting_address};

pub fn tests() -> Vec<Trial> {
    vec![
        of_two_users("a_job_runs_as_the_user_who_submits", a_job_runs_as_the_user_who_submits),
        of_two_users("only_owner_and_root_govern_a_job", only_owner_and_root_govern_a_job),
        of_two_users("a_job_is_adopted_by_its_owner_alone", a_job_is_adopted_by_its_owner_alone),
        of_two_users("only_roots_daemon_serves_all", only_roots_daemon_serves_all),
        of_two_users("a_status_is_known_without_room_for_threads", a_status_is_known_without_room_for_threads),
    ]
}

const ANN: u32 = 65_534;
const BOB: u32 = 65_533;

struct User {
    uid: u32,
    directory: TempDir,
}

impl User {
    fn new(uid: u32) -> Self {
        let directory = tempfile::tempdir().unwrap();
        as_user(directory.path(), uid);
        User { uid, directory }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.directory.path().join("program"));
        command.uid(self.uid).gid(self.uid);
        command
    }

    fn run(&self, set: &Set) -> Run {
        Run::with(self.command(), &set.control(), self.directory.path(), 1, 1)
    }

    /// The daemon's reply or refusal, as one line.
    fn ask(&self, control: &Path, request: &Request) -> String {
        let request = serde_json::to_string(request).unwrap();
        let output = self.command().arg("ask").arg(control).arg(request).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// The user's own work: a file of this user's, and none that is not for this user.
    fn works(&self, job: &Job) {
        let mut thread = job.thread(0, 1);
        let name = format!("by-job-{}", job.id);
        let mine = thread.memory.text(&name);
        assert_eq!(thread.call(libc::SYS_creat, &[mine, 0o600]), 3);
        assert_eq!(std::fs::metadata(self.directory.path().join(name)).unwrap().uid(), self.uid);
        assert_eq!(open(&mut thread, "/etc/shadow", libc::O_RDONLY), -i64::from(libc::EACCES));
        thread.exit(0);
    }
}

/// Two users' jobs at once, and then each on the node that the other had: no node boots for another user.
fn a_job_runs_as_the_user_who_submits() {
    let set = Set::for_all_users();
    let users = [User::new(ANN), User::new(BOB)];
    let mut nodes = [Node::boot(1, 1, set.asks()), Node::boot(2, 2, set.asks())];
    for turn in 0..2 {
        for (place, user) in users.iter().enumerate() {
            let run = user.run(&set);
            let node = &mut nodes[(place + turn) % 2];
            let job = node.next().unwrap();
            user.works(&job);
            node.ended(job.id, "").unwrap();
            let ended = run.end();
            assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        }
    }
}

/// Linux gives neither `run` nor the proxies another thread from some moment on (a user's limit, which root does not have,
/// or a cgroup's): a thread's first call fails then. Threads end, and so does each process, whose status is `run`'s.
fn a_status_is_known_without_room_for_threads() {
    let set = Set::for_all_users();
    let ann = User::new(ANN);
    let mut node = Node::boot(1, 1, set.asks());
    let run = Run::with(ann.command(), &set.control(), ann.directory.path(), 1, 2);
    let job = node.next().unwrap();
    let mut first = job.thread(0, 1);
    assert!(first.call(libc::SYS_getppid, &[]) > 0);
    let proxies = job.proxies.iter().map(|proxy| proxy.1);
    for process in proxies.clone().chain([run.child.id()]) {
        forbid_threads(&ann, process);
    }
    let mut late = job.thread(0, 2);
    assert_eq!(late.call(libc::SYS_getppid, &[]), -i64::from(libc::EAGAIN));
    assert_eq!(late.call(libc::SYS_exit, &[0]), 0);
    assert_eq!(late.call_again(), 0, "its last reply is kept");
    assert!(first.call(libc::SYS_getppid, &[]) > 0);
    // As a node does it: by a thread that has made no call.
    job.thread(0, 3).exit(7);
    job.thread(1, 1).exit(0);
    node.ended(job.id, "").unwrap();
    let ended = run.end();
    assert_eq!(ended.status.code(), Some(7), "{}", ended.stderr);
    assert!(!ended.stderr.contains("tacet:"), "{}", ended.stderr);
    assert!(proxies.into_iter().all(|proxy| nix::sys::signal::kill(Pid::from_raw(proxy.cast_signed()), None).is_err()));
}

fn forbid_threads(user: &User, process: u32) {
    let mut command = Command::new("prlimit");
    command.uid(user.uid).gid(user.uid).arg(format!("--pid={process}")).arg("--nproc=1:1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn only_owner_and_root_govern_a_job() {
    let set = Set::for_all_users();
    let [ann, bob] = [User::new(ANN), User::new(BOB)];
    let mut node = Node::boot(1, 1, set.asks());
    let run = ann.run(&set);
    let job = node.next().unwrap();
    node.started(job.id, &[1]).unwrap();
    let control = set.control();
    let (kill, map) = (Request::Kill { job: job.id, signal: 0 }, Request::Map { job: job.id });
    for request in [&kill, &map] {
        let refused = bob.ask(&control, request);
        assert!(refused.contains(&format!("job {}: it is of user {ANN}", job.id)), "{refused}");
    }
    // The nodes are root's, also while one works for Ann.
    let governs = Request::Node { node: 1, order: NodeOrder::Drain };
    for request in [&governs, &Request::Shutdown {}] {
        for user in [&ann, &bob] {
            assert!(user.ask(&control, request).contains("the daemon is not yours"));
        }
    }
    tacet_iod::control::ask(&control, &governs).expect("root drains");
    assert_eq!(crate::control::status(&set).nodes[0].state, "draining");
    // Everybody sees the job; its program only those whom it concerns.
    let status = Request::Status {};
    let (theirs, own) = (bob.ask(&control, &status), ann.ask(&control, &status));
    assert!(theirs.contains(&format!("\"name\":\"\",\"uid\":{ANN}")), "{theirs}");
    assert!(own.contains(&format!("\"name\":\"test\",\"uid\":{ANN}")), "{own}");
    assert!(ann.ask(&control, &map).contains("[1,[1]]"));
    assert!(ann.ask(&control, &kill).contains("done"));
    for request in [&map, &kill] {
        tacet_iod::control::ask(&control, request).expect("root governs each");
    }
    ann.works(&job);
    node.ended(job.id, "").unwrap();
    assert_eq!(run.end().status.code(), Some(0));
    assert!(!set.daemon.has_stopped());
}

/// Bob has read all about Ann's job but its voucher, which only the daemon and her `run` have.
fn a_job_is_adopted_by_its_owner_alone() {
    let set = Set::for_all_users();
    let bob = User::new(BOB);
    let adoption = tacet_iod::control::Adoption {
        job: 1,
        name: "mine".into(),
        nodes: vec![1],
        processes: 1,
        voucher: "0".repeat(32),
    };
    let refused = bob.ask(&set.control(), &Request::Adopt(adoption));
    assert!(refused.contains("it was not granted to this user"), "{refused}");
    assert!(bob.ask(&set.control(), &Request::Status {}).contains("\"jobs\":[]"));
}

fn only_roots_daemon_serves_all() {
    let ann = User::new(ANN);
    let control = ann.directory.path().join("c");
    let mut command = ann.command();
    let output = command.arg("daemon-for-all").arg(&control).arg(lasting_address().to_string()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("a daemon for all users must be root's"), "{said}");
}
