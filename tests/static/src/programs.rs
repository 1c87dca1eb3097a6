// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The programs of `tests/static/programs`, linked in each way, and jobs of several processes and nodes.

use crate::case::Case;
use crate::nodes::Nodes;
use crate::place::program;
use crate::process;
use crate::{Result, real};

/// With the shared C library, statically, statically and anywhere, with musl.
const LINKED: [&str; 4] = ["", "-static", "-pie", "-musl"];
const EACH_WAY: [&str; 8] = ["hello", "arguments", "files", "pipes", "threads", "signals", "mappings", "allocate"];
const SOME_WAYS: [&str; 5] = ["clocks", "guard", "low", "reserve", "stream"];

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for name in EACH_WAY {
        cases.extend(LINKED.map(|linked| linked_so(name, linked)));
    }
    for name in SOME_WAYS {
        cases.extend(["", "-musl"].map(|linked| linked_so(name, linked)));
    }
    cases.extend(ends());
    cases.push(Case::same("load", &[&program("load"), &program("plugin.so")]));
    cases.push(Case::same("parallel", &[&program("parallel")]));
    cases.push(Case::same("fortran", &[&program("sums-fortran")]).succeeds().more());
    let files = if std::env::var("FULL").is_ok_and(|full| full == "1") { "10000" } else { "1000" };
    cases.push(Case::same("copies", &[&program("copies"), files]).more());
    cases.extend(kernels());
    // Go has more threads than the node has CPUs, and one of them waits for the others in a shipped `epoll_pwait`
    let kept: &[&str] = &[];
    for (language, name, flags) in [("rust", "library-rust", kept), ("go", "runtime-go", &["--yield-on-io"])] {
        let case = Case::same(language, &[&program(name), "one", "and two"]);
        cases.push(case.flags(flags).input("some\ninput\n"));
    }
    cases.push(Case::same("turns", &[&program("turns-static")]).expect("token 36\nslept, waited and read\n", 0));
    let doors = program("doors-static");
    cases.push(Case::same("files of the node by every door", &[&doors, &doors]).expect("4 CPUs\n", 0));
    cases.push(Case::same("copied", &[&program("copied-static")]));
    cases.push(Case::same("alarms", &[&program("alarms-static")]));
    cases.push(Case::same("alarms beside others", &[&program("alarms-static")]).flags(&["--yield-on-io"]));
    for (name, file) in [("many descriptors", "many-static"), ("sockets with time limits", "timed-static")] {
        cases.push(Case::same(name, &[&program(file)]));
        cases.push(Case::same(format!("{name} beside others"), &[&program(file)]).flags(&["--yield-on-io"]));
    }
    cases.push(Case::same("threads on few CPUs", &[&program("threads-static")]).flags(&["--yield-on-io"]));
    let four = ["--nodes", "2", "--processes", "2"];
    cases.push(Case::same("hello of four processes", &[&program("hello")]).flags(&four).expect("hello\n".repeat(4), 0));
    cases.extend(["", "-static"].map(|linked| linked_so("edges", linked)));
    for (way, status) in [("exit", 0), ("kill", 137)] {
        let two = ["--processes", "2", "--shared", "1M"];
        let case = Case::same(format!("robust mutexes of a process that ends by {way}"), &[&program("robust"), way]);
        cases.push(case.flags(&two).expect("dead owners\n", status));
    }
    cases.extend(ranks());
    cases
}

fn linked_so(name: &str, linked: &str) -> Case {
    let title = if linked.is_empty() { format!("{name}-shared") } else { format!("{name}{linked}") };
    // what `arguments` prints; the others read nothing of it
    Case::same(title, &[&program(&format!("{name}{linked}")), "one", "and two", ""]).input("some\ninput\n")
}

fn ends() -> Vec<Case> {
    let ways = [
        "exit 0",
        "exit 3",
        "exit 255",
        "quick 7",
        "return 5",
        "leave 9",
        "signal 15",
        "signal 9",
        "signal 11",
        "abort 0",
        "thread 0",
    ];
    let case = |words: &str| {
        let (way, number) = words.split_once(' ').unwrap_or((words, "0"));
        Case::same(format!("ends {words}"), &[&program("ends-static"), way, number])
    };
    ways.iter().map(|words| case(words)).collect()
}

/// OpenMP with fewer threads than CPUs, and with more, which take turns. As many threads as an emulated node has CPUs spin
/// for long where the host has fewer.
fn kernels() -> [Case; 2] {
    [
        Case::same("openmp kernels", &[&program("nas"), "2", "9"]),
        Case::shared("openmp kernels of four processes", |nodes| {
            let words = [program("nas"), "3".to_owned()];
            let native = process::run(std::process::Command::new(&words[0]).arg(&words[1]), b"")?.text().repeat(4);
            let found = process::run(&mut nodes.run(&["--processes", "4"], &words), b"")?;
            match found.status {
                0 if found.text() == native && !native.is_empty() => Ok(()),
                status => Err(format!("status {status}: {}{}", found.text(), found.error_text())),
            }
        }),
    ]
}

fn ranks() -> Vec<Case> {
    vec![
        Case::shared("two processes on a node", |nodes| ranks_on(nodes, 1, 2, "ranks-static")),
        Case::shared("four processes on a node", |nodes| ranks_on(nodes, 1, 4, "ranks")),
        Case::shared("a process on each of two nodes", |nodes| ranks_on(nodes, 2, 1, "ranks")),
        Case::shared("four processes on two nodes", |nodes| ranks_on(nodes, 2, 2, "ranks-static")),
    ]
}

/// Each process knows the others by a file. The last one's status is the job's.
fn ranks_on(nodes: &Nodes, count: u32, processes: u32, name: &str) -> Result<()> {
    let scratch = real::scratch()?;
    let file = scratch.path().join("ranks").display().to_string();
    let (count, processes) = (count.to_string(), processes.to_string());
    let all = (count.parse::<u32>().unwrap_or(0) * processes.parse::<u32>().unwrap_or(0)).to_string();
    let words = [program(name), file, all.clone()];
    let ended = process::run(&mut nodes.run(&["--nodes", &count, "--processes", &processes], &words), b"")?;
    match (ended.text() == format!("{all} processes\n"), ended.status) {
        (true, 3) => Ok(()),
        (_, status) => Err(format!("status {status}: {}{}", ended.text(), ended.error_text())),
    }
}
