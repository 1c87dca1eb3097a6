// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every system call must have a row in abi/syscalls.tbl.

use std::collections::BTreeMap;
use std::fs;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../abi/syscalls.tbl");
const HEADERS: [&str; 2] = ["/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"];

struct Row {
    name: String,
    disposition: String,
    reason: String,
}

fn rows() -> BTreeMap<u32, Row> {
    let mut rows = BTreeMap::new();
    for line in fs::read_to_string(TABLE).unwrap().lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let mut words = line.splitn(4, char::is_whitespace).map(str::trim);
        let number = words.next().unwrap().parse().unwrap_or_else(|_| panic!("{line}: no number"));
        let row = Row {
            name: words.next().unwrap_or_default().into(),
            disposition: words.next().unwrap_or_default().into(),
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
