// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `docs/system-calls.md`, the page for users, made from `abi/syscalls.tbl`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use crate::{Result, top};

const TABLE: &str = "abi/syscalls.tbl";
const PAGE: &str = "docs/system-calls.md";
const HEAD: &str = "\
# System calls

Where a system call of a hosted program goes on x86-64. *Local*: the core answers, and Linux does not notice. *Forwarded*:
the thread's Linux task, the proxy, executes it natively, with Linux's own result, errors and side effects. A local call is
forwarded too if only Linux knows the answer (errors included), if the thread is traced, filtered or audited, and while
somebody traces the system calls of the whole node. A process's *range* is the part of its addresses that the partition's
memory backs.

Made from `abi/syscalls.tbl` by `cargo xtask page`.
";

/// Writes the page; with `check`, only says whether it is current.
pub fn page(check: bool) -> Result<()> {
    let table = fs::read_to_string(top().join(TABLE)).map_err(|error| format!("{TABLE}: {error}"))?;
    let page = render(&table)?;
    let path = top().join(PAGE);
    if !check {
        return Ok(fs::write(path, page)?);
    }
    if fs::read_to_string(path).ok().as_ref() == Some(&page) {
        return Ok(());
    }
    Err(format!("{PAGE}: not what {TABLE} says: run `cargo xtask page`").into())
}

fn render(table: &str) -> Result<String> {
    let mut local = String::new();
    let mut forwarded: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let words: Vec<&str> = line.splitn(4, '\t').collect();
        match words[..] {
            [_, name, "local", reason] => {
                let reason = reason.split_once(": ").map_or(reason, |(_, why)| why);
                writeln!(local, "| `{name}` | {reason} |")?;
            }
            [_, name, "forward", reason] => forwarded.entry(reason).or_default().push(name),
            _ => return Err(format!("{TABLE}: `{line}`: not number, name, local or forward, and why").into()),
        }
    }
    let mut page =
        format!("{HEAD}\n## Local\n\n| call | |\n|---|---|\n{local}\n## Forwarded\n\n| why | calls |\n|---|---|\n");
    for (reason, calls) in forwarded {
        let calls: Vec<String> = calls.iter().map(|call| format!("`{call}`")).collect();
        writeln!(page, "| {reason} | {} |", calls.join(" "))?;
    }
    Ok(page)
}
