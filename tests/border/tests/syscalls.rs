// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every system call must have a row in abi/syscalls.tbl.

use std::collections::BTreeMap;
use std::fs;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../abi/syscalls.tbl");
const HEADERS: [&str; 2] = ["/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"];

struct Row {
    name: String,
    disposition: String,
    on_static: String,
    reason: String,
}

fn rows() -> BTreeMap<u32, Row> {
    let mut rows = BTreeMap::new();
    for line in fs::read_to_string(TABLE).unwrap().lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let mut words = line.splitn(5, '\t').map(str::trim);
        let number = words.next().unwrap().parse().unwrap_or_else(|_| panic!("{line}: no number"));
        let row = Row {
            name: words.next().unwrap_or_default().into(),
            disposition: words.next().unwrap_or_default().into(),
            on_static: words.next().unwrap_or_default().into(),
            reason: words.next().unwrap_or_default().into(),
        };
        assert!(rows.insert(number, row).is_none(), "call {number}: two rows");
    }
    rows
}

#[test]
fn every_row_says_what_and_why() {
    let rows = rows();
    assert!(rows.len() > 360, "only {} rows", rows.len());
    for (number, row) in &rows {
        assert!(["local", "forward", "refuse"].contains(&row.disposition.as_str()), "{number}: {}", row.disposition);
        assert!(!row.name.is_empty() && !row.reason.is_empty(), "{number}: incomplete");
    }
}

/// The kinds of a shipped call's arguments.
fn kinds(column: &str) -> Option<Vec<&str>> {
    let inner = column.rsplit("; ").next()?.strip_prefix("ship(")?.strip_suffix(')')?;
    Some(inner.split(", ").filter(|kind| !kind.is_empty()).collect())
}

#[test]
fn on_a_static_node_every_row_is_local_shipped_or_refused() {
    let mut shipped = 0;
    for (number, row) in rows() {
        let (own, column) = row.on_static.rsplit_once("; ").unwrap_or(("", &row.on_static));
        let is_own = |word: &str| {
            let (word, ints) = word.split_once(" int ").unwrap_or((word, "#1"));
            ["core", "local", "escape"].contains(&word) && ints.split(' ').all(|int| int.starts_with('#'))
        };
        assert!(own.is_empty() || own.split("; ").all(is_own), "{number}: {own}");
        let refused = column.strip_prefix("refuse(").and_then(|rest| rest.strip_suffix(')'));
        let is_errno = refused.is_some_and(|errno| ["ENOSYS", "EPERM", "ECHILD"].contains(&errno));
        assert!(is_own(column) || kinds(column).is_some() || is_errno, "{number}: {column}");
        shipped += u32::from(kinds(column).is_some());
    }
    assert!(shipped > 150, "only {shipped} calls are shipped");
}

/// A buffer's length is an argument that is there, and of the kind that a length has.
#[test]
fn lengths_of_shipped_buffers_are_arguments() {
    for (number, row) in rows() {
        let Some(kinds) = kinds(&row.on_static) else { continue };
        assert!(kinds.len() <= 6, "{number}: {} arguments", kinds.len());
        for kind in &kinds {
            for (mark, expected) in [('#', "value"), ('@', "inout 4")] {
                let Some((_, argument)) = kind.split_once(mark) else { continue };
                let argument: usize = argument.parse().unwrap_or_else(|_| panic!("{number}: {kind}: no argument"));
                let actual = kinds.get(argument.wrapping_sub(1)).copied();
                assert_eq!(actual, Some(expected), "{number} ({}): {kind}", row.name);
            }
        }
    }
}

/// The numbers of arguments are Linux's: a kind that is missing would drop an argument.
#[test]
fn shipped_calls_have_all_their_arguments() {
    let counts = [
        ("getppid", 0),
        ("close", 1),
        ("rename", 2),
        ("read", 3),
        ("pwrite64", 4),
        ("statx", 5),
        ("sendto", 6),
        ("select", 5),
        ("pselect6", 6),
        ("epoll_pwait2", 6),
        ("copy_file_range", 6),
        ("preadv2", 6),
        ("linkat", 5),
        ("recvmmsg", 5),
        ("setxattr", 5),
        ("faccessat", 3),
        ("faccessat2", 4),
        ("fchownat", 5),
        ("utimensat", 4),
        ("mq_timedreceive", 5),
        ("splice", 6),
        ("timerfd_settime", 4),
        ("prlimit64", 4),
        ("openat2", 4),
        ("ppoll", 5),
    ];
    let rows = rows();
    for (name, count) in counts {
        let row = rows.values().find(|row| row.name == name).unwrap_or_else(|| panic!("{name}: no row"));
        assert_eq!(kinds(&row.on_static).map(|kinds| kinds.len()), Some(count), "{name}");
    }
}

#[test]
fn every_call_of_the_host_has_a_row() {
    let rows = rows();
    let header = HEADERS.iter().find_map(|path| fs::read_to_string(path).ok()).expect("unistd_64.h of the host");
    let mut calls = 0;
    for line in header.lines() {
        let Some(rest) = line.strip_prefix("#define __NR_") else { continue };
        let (name, number) = rest.split_once(' ').expect("a name and a number");
        let number: u32 = number.trim().parse().expect("a number");
        assert_eq!(rows.get(&number).map(|row| row.name.as_str()), Some(name), "call {number}");
        calls += 1;
    }
    assert!(calls > 300, "only {calls} calls in the header");
}
