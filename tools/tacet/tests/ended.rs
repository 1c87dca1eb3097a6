// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tacet node` that a signal ends: it says so in one line, and leaves neither a node nor a terminal in raw mode.
//!
//! Boots nodes: `cargo xtask build`, then `cargo test -p tacet-cli --test ended -- --ignored`.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rexpect::session::spawn_command;

/// Nodes are emulated.
const PATIENCE_MS: u64 = 300_000;
/// For the end of processes that nobody waits for here.
const LOOKS: u32 = 600;

fn tacet() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../build/bin/tacet")
}

fn line() -> String {
    std::env::var("TACET_TEST_KERNEL").unwrap_or_else(|_| "6.12".to_owned())
}

fn send(signal: &str, pid: u32) {
    let sent = Command::new("kill").args(["-s", signal, &pid.to_string()]).status();
    assert!(sent.expect("kill").success());
}

/// The parent of each process that runs; a zombie does not.
fn parents() -> Vec<(u32, u32)> {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let parent = |process: fs::DirEntry| {
        let pid = process.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(process.path().join("stat")).ok()?;
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        let state = fields.next()?;
        (state != "Z").then_some((pid, fields.next()?.parse().ok()?))
    };
    processes.filter_map(parent).collect()
}

/// All that a process started.
fn descendants(of: u32) -> Vec<u32> {
    let (all, mut found) = (parents(), vec![of]);
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        found.extend(all.iter().filter(|(_, its)| *its == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    found.split_off(1)
}

fn end(processes: &[u32]) {
    let still = || parents().iter().any(|(pid, _)| processes.contains(pid));
    let ended = (0..LOOKS).any(|_| {
        sleep(Duration::from_millis(100));
        !still()
    });
    assert!(ended, "{processes:?} are still there");
}

#[test]
#[ignore = "boots nodes"]
fn node_run_says_which_signal_ended_it() {
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let mut command = Command::new(tacet());
        command.args(["node", "--kernel", &line(), "run", "--", "sh", "-c", "echo computes; sleep 10000"]);
        let mut job = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        let (mut said, mut complained) = (String::new(), String::new());
        let mut output = BufReader::new(job.stdout.take().expect("a pipe"));
        output.read_line(&mut said).expect("its output");
        assert_eq!(said, "computes\n");
        let node = descendants(job.id());
        assert!(!node.is_empty());
        send(signal, job.id());
        let status = job.wait().expect("its end");
        assert_eq!(status.signal(), Some(number), "{status}");
        job.stderr.take().expect("a pipe").read_to_string(&mut complained).expect("its complaints");
        assert_eq!(complained, format!("tacet: interrupted by SIG{signal}: the node is switched off\n"));
        end(&node);
    }
}

#[test]
#[ignore = "boots a node"]
fn a_shell_that_is_killed_leaves_the_terminal_as_it_was() {
    let script = "echo before=$(stty -g).; \"$0\" node --kernel \"$1\" shell; echo after=$(stty -g).";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(tacet()).arg(line());
    let mut terminal = spawn_command(command, Some(PATIENCE_MS)).expect("a terminal");
    terminal.exp_string("before=").expect("the mode");
    let before = terminal.exp_string(".").expect("the mode");
    terminal.exp_string("# ").expect("a prompt of the node");
    let shell = u32::try_from(terminal.process().child_pid.as_raw()).expect("a process");
    let started = parents();
    let (tacet, _) = started.iter().find(|(_, parent)| *parent == shell).expect("tacet");
    let node = descendants(*tacet);
    assert!(!node.is_empty());
    send("TERM", *tacet);
    let said = "interrupted by SIGTERM: the node is switched off";
    terminal.exp_string(said).expect("one line");
    terminal.exp_string("after=").expect("the mode");
    assert_eq!(terminal.exp_string(".").expect("the mode"), before);
    end(&node);
}

/// A cluster's holder that is killed has no last words, and its nodes end with it all the same.
#[test]
#[ignore = "boots nodes"]
fn a_cluster_ends_with_the_command_that_holds_it() {
    for (signal, number) in [("INT", 2), ("KILL", 9)] {
        let mut command = Command::new(tacet());
        command.args(["node", "--kernel", &line(), "cluster", "--nodes", "2"]);
        let mut holder = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        let mut said = String::new();
        BufReader::new(holder.stdout.take().expect("a pipe")).read_line(&mut said).expect("its output");
        assert!(said.starts_with("n1, n2 are up after "), "{said}");
        let nodes = descendants(holder.id());
        send(signal, holder.id());
        assert_eq!(holder.wait().expect("its end").signal(), Some(number));
        let mut complained = String::new();
        holder.stderr.take().expect("a pipe").read_to_string(&mut complained).expect("text");
        if signal != "KILL" {
            assert!(complained.ends_with("interrupted by SIGINT: the cluster is switched off\n"), "{complained}");
        }
        end(&nodes);
        let status = Command::new(tacet()).args(["node", "cluster", "status"]).output().expect("it runs");
        assert!(String::from_utf8_lossy(&status.stderr).contains("cluster: none runs"), "{status:?}");
    }
}
