// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The control socket: what it tells, whom it serves, and bad lines.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use libtest_mimic::Trial;
use tacet_iod::control::{Reply, Request, Status, ask};

use crate::node::{Node, Thread};
use crate::processes::{Run, Set, lasting_address, this_program};
use crate::{of_two_users, test};

pub fn tests() -> Vec<Trial> {
    vec![
        test("status_shows_nodes_and_jobs", status_shows_nodes_and_jobs),
        test("map_is_what_nodes_have_sent", map_is_what_nodes_have_sent),
        test("bad_requests_get_one_line", bad_requests_get_one_line),
        of_two_users("only_the_daemons_user_and_root_are_served", only_the_daemons_user_and_root_are_served),
        of_two_users("a_daemon_of_another_user_is_not_asked", a_daemon_of_another_user_is_not_asked),
        test("a_daemon_serves_a_socket_alone", a_daemon_serves_a_socket_alone),
    ]
}

pub fn status(set: &Set) -> Status {
    match ask(&set.control(), &Request::Status {}) {
        Ok(Reply::Status(status)) => *status,
        other => panic!("{other:?} is no status"),
    }
}

fn status_shows_nodes_and_jobs() {
    let set = Set::new();
    let mut node = Node::boot(3, 1, set.asks());
    assert_eq!(status(&set).nodes, [], "a greeting alone makes no node");
    let run = set.run(1, 2);
    let job = node.next().unwrap();
    let now = status(&set);
    assert_eq!((now.nodes[0].node, now.nodes[0].cpus, now.nodes[0].state.as_str()), (3, 4, "job"));
    assert_eq!(
        (now.jobs[0].job, now.jobs[0].state.as_str(), now.jobs[0].nodes.as_slice()),
        (job.id, "running", &[3][..])
    );
    assert_eq!(now.jobs[0].pid, run.child.id() as i32);
    (0..2).for_each(|process| job.thread(process, 1).exit(0));
    node.ended(job.id, "").unwrap();
    assert_eq!(run.end().status.code(), Some(0));
    assert_eq!(status(&set).jobs, []);
}

fn map_is_what_nodes_have_sent() {
    let set = Set::new();
    let mut node = Node::boot(3, 1, set.asks());
    let run = set.run(1, 1);
    let job = node.next().unwrap();
    let map = || ask(&set.control(), &Request::Map { job: job.id });
    assert!(map().is_err(), "not yet");
    node.started(job.id, &[1, u64::MAX]).unwrap();
    assert_eq!(map().unwrap(), Reply::Map { maps: vec![(3, vec![1, u64::MAX])] });
    job.thread(0, 1).exit(0);
    node.ended(job.id, "").unwrap();
    run.end();
    assert!(map().is_err(), "the job is over");
}

fn bad_requests_get_one_line() {
    let set = Set::new();
    let lines = [
        &b"nonsense\n"[..],
        b"{\"request\":\"kill\",\"job\":77,\"signal\":9}\n",
        b"{\"request\":\"submit\",\"name\":\"a\",\"nodes\":0,\"processes\":1}\n",
        b"{\"request\":\"start\"}\n",
        b"\n",
    ];
    for line in lines {
        let mut stream = UnixStream::connect(set.control()).unwrap();
        stream.write_all(line).unwrap();
        let mut reply = String::new();
        BufReader::new(&stream).read_line(&mut reply).unwrap();
        assert!(reply.starts_with("{\"reply\":\"refused\",\"reason\":\""), "{reply}");
    }
    assert_eq!(status(&set).jobs, []);
}

/// As another user than the daemon's.
fn only_the_daemons_user_and_root_are_served() {
    let set = Set::new();
    let ended = Run::with(as_nobody(set.directory.path()), &set.control(), set.directory.path(), 1, 1).end();
    assert_eq!(ended.status.code(), Some(2), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("user 65534 is neither the daemon's user 0 nor root"), "{}", ended.stderr);
}

/// Its lines would come from somebody who is neither this user nor root.
fn a_daemon_of_another_user_is_not_asked() {
    let directory = tempfile::tempdir().unwrap();
    let (mut daemon, control, _) = daemon_of_nobody(directory.path());
    let line = format!(
        "{}: its daemon is of user 65534, neither yours nor root's; use a daemon of yours or of root",
        control.display()
    );
    for request in [Request::Status {}, Request::Kill { job: 1, signal: 9 }, Request::Shutdown {}] {
        assert_eq!(ask(&control, &request).unwrap_err().to_string(), line);
    }
    let ended = Run::start(&control, directory.path(), 1, 1).end();
    assert_eq!((ended.status.code(), ended.stderr), (Some(2), format!("tacet: {line}\n")));
    assert!(daemon.try_wait().unwrap().is_none(), "the daemon has not heard the request to end");
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}

fn as_nobody(directory: &Path) -> Command {
    as_user(directory, 65534)
}

/// This program as another user: a copy in a directory that the user may use.
pub fn as_user(directory: &Path, user: u32) -> Command {
    std::os::unix::fs::chown(directory, Some(user), Some(user)).unwrap();
    let control = directory.join("c");
    if control.exists() {
        std::fs::set_permissions(control, PermissionsExt::from_mode(0o777)).unwrap();
    }
    let program = directory.join("program");
    // By another process: a descriptor that writes the copy, inherited by a child of another test, would keep it busy.
    assert!(Command::new("cp").arg(this_program()).arg(&program).status().unwrap().success());
    let mut command = Command::new(program);
    command.uid(user).gid(user);
    command
}

fn daemon_of_nobody(directory: &Path) -> (Child, PathBuf, SocketAddr) {
    let (control, address) = (directory.join("c"), lasting_address());
    let mut command = as_nobody(directory);
    let daemon = command.arg("daemon").arg(&control).arg(address.to_string()).spawn().unwrap();
    while UnixStream::connect(&control).is_err() {
        std::thread::yield_now();
    }
    (daemon, control, address)
}

/// A job with daemon, run and proxy of a user that is not root.
pub fn with_other_user(body: impl FnOnce(&Path, &mut Thread)) {
    let directory = tempfile::tempdir().unwrap();
    let (mut daemon, control, address) = daemon_of_nobody(directory.path());
    let mut node = Node::boot(1, 1, address);
    let mut command = Command::new(directory.path().join("program"));
    command.uid(65534).gid(65534);
    let run = Run::with(command, &control, directory.path(), 1, 1);
    let job = node.next().unwrap();
    let mut thread = job.thread(0, 1);
    let mine = thread.memory.text("mine");
    assert_eq!(thread.call(libc::SYS_creat, &[mine, 0o600]), 3);
    assert_eq!(std::fs::metadata(directory.path().join("mine")).unwrap().uid(), 65534);
    body(directory.path(), &mut thread);
    thread.exit(0);
    node.ended(job.id, "").unwrap();
    let ended = run.end();
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
}

fn a_daemon_serves_a_socket_alone() {
    let set = Set::new();
    let config = tacet_iod::daemon::Config {
        asks: "127.0.0.1:0".parse().unwrap(),
        control: set.control(),
        key: crate::processes::set_key(),
        numbers: None,
        machines_here: false,
        nodes: None,
        all_users: false,
    };
    let second = tacet_iod::daemon::Daemon::bind(&config).unwrap_err().to_string();
    assert!(second.contains("another daemon serves it"), "{second}");
    status(&set);
}
