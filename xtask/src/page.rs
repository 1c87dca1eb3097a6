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

Where a system call goes on x86-64. Made from `abi/syscalls.tbl` by `cargo xtask page`.
";
const HOSTED: &str = "\
## Hosted programs

*Local*: the core answers, and Linux does not notice. *Forwarded*: the thread's Linux task, the proxy, executes it
natively, with Linux's own result, errors and side effects. A local call is forwarded too if only Linux knows the answer
(errors included), if the thread is traced, filtered or audited, and while somebody traces the system calls of the whole
node. A process's *range* is the part of its addresses that the partition's memory backs.
";
const STATIC: &str = "\
## Programs on a static node

*Local*: the node answers. *Shipped*: the process's proxy, on a Linux node, executes the call with the rights of the
job's user; descriptors, offsets and directories are the proxy's. Reads and writes longer than 64 KiB are shipped in
pieces. *Refused*: the call fails with this error.

`ioctl`, `fcntl`, `setsockopt` and `getsockopt` are shipped for the commands that `static/wire/src/commands.rs` lists; others
fail with ENOTTY, EINVAL and ENOPROTOOPT. `sendmmsg` and `recvmmsg` move one message and say so. Signal masks of
`pselect6`, `ppoll` and `epoll_pwait` have no effect on the proxy. Numbers that no list has fail with ENOSYS.
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
    let mut on_static_nodes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let columns: Vec<&str> = line.splitn(5, '\t').collect();
        let [_, name, hosted, on_static, reason] = columns[..] else {
            return Err(format!("{TABLE}: `{line}`: not number, name, two dispositions, and why").into());
        };
        match hosted {
            "local" => {
                let reason = reason.split_once(": ").map_or(reason, |(_, why)| why);
                writeln!(local, "| `{name}` | {reason} |")?;
            }
            "forward" => forwarded.entry(reason).or_default().push(name),
            _ => return Err(format!("{TABLE}: {name}: `{hosted}`: not local or forward").into()),
        }
        on_static_nodes.entry(word(name, on_static)?).or_default().push(name);
    }
    let mut page = format!("{HEAD}\n{HOSTED}\n### Local\n\n| call | |\n|---|---|\n{local}\n### Forwarded\n\n");
    rows(&mut page, "why", &forwarded)?;
    write!(page, "\n{STATIC}\n")?;
    rows(&mut page, "", &on_static_nodes)?;
    Ok(page)
}

/// The page's word for a disposition without Linux.
fn word(name: &str, disposition: &str) -> Result<String> {
    // the core and the node's own functions answer before anything is shipped
    let last = disposition.rsplit("; ").next().unwrap_or(disposition);
    let last = if last.starts_with("local ") { "local" } else { last };
    let disposition = if ["core", "escape"].contains(&last) { "local" } else { last };
    let (word, inner) = disposition.split_once('(').unwrap_or((disposition, ""));
    match (word, inner.strip_suffix(')')) {
        ("local", None) => Ok("local".to_owned()),
        ("ship", Some(_)) => Ok("shipped".to_owned()),
        ("refuse", Some(errno)) => Ok(format!("refused: {errno}")),
        _ => Err(format!("{TABLE}: {name}: `{disposition}`: not local, ship(…) or refuse(…)").into()),
    }
}

fn rows<K: AsRef<str>>(page: &mut String, title: &str, calls: &BTreeMap<K, Vec<&str>>) -> Result<()> {
    write!(page, "| {title} | calls |\n|---|---|\n")?;
    for (key, calls) in calls {
        let calls: Vec<String> = calls.iter().map(|call| format!("`{call}`")).collect();
        writeln!(page, "| {} | {} |", key.as_ref(), calls.join(" "))?;
    }
    Ok(())
}
