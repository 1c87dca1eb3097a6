// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The I/O daemon as the commands see it: its addresses, one request at a time, errors as theirs.
//!
//! Used by the keeper of emulated nodes, by `tacet iod` and by every command that asks a daemon.

use std::net::SocketAddr;
use std::path::Path;

use tacet_ctl::status::MACHINE;
use tacet_ctl::{Error, Result};
use tacet_iod::control::{NodeOrder, Reply, Request, Status, ask};
use tacet_iod::daemon::{Config, Daemon};
use tacet_logic::static_map::Map;

use crate::key;

/// The daemon of emulated nodes: they live no longer than it, and are of its user alone.
pub fn bind(key: &str, asks: SocketAddr, control: &Path, nodes: u32) -> Result<Daemon> {
    let (control, key) = (control.to_owned(), key::parse(key)?);
    let config =
        Config { asks, control, key, numbers: None, machines_here: true, nodes: Some(nodes), all_users: false };
    Daemon::bind(&config).map_err(from_iod)
}

/// The daemon of nodes of metal, whose set has its key in this file.
pub fn bind_for_metal(
    key: &Path,
    asks: SocketAddr,
    control: &Path,
    nodes: Option<u32>,
    all_users: bool,
) -> Result<Daemon> {
    let numbers = Some(key.with_added_extension("jobs"));
    let (control, key) = (control.to_owned(), key::parse(&key::in_file(key)?)?);
    let machines_here = false;
    Daemon::bind(&Config { asks, control, key, numbers, machines_here, nodes, all_users }).map_err(from_iod)
}

/// Nodes, jobs and dropped packets, as the daemon behind `control` knows them.
pub fn status(control: &Path) -> Result<Status> {
    match ask(control, &Request::Status {}).map_err(no)? {
        Reply::Status(status) => Ok(*status),
        _ => Err(unexpected(control)),
    }
}

/// Sends the processes of a job a signal.
pub fn kill(control: &Path, job: u32, signal: i32) -> Result<()> {
    ask(control, &Request::Kill { job, signal }).map(drop).map_err(no)
}

/// Drains, returns, resets or powers off a node.
pub fn govern(control: &Path, node: u32, order: NodeOrder) -> Result<()> {
    ask(control, &Request::Node { node, order }).map(drop).map_err(no)
}

/// The map of a running job: a table of each of its nodes.
pub fn map(control: &Path, job: u32) -> Result<String> {
    let Reply::Map { maps } = ask(control, &Request::Map { job }).map_err(no)? else {
        return Err(unexpected(control));
    };
    let mut map = Box::new(Map::EMPTY);
    maps.into_iter().try_fold(String::new(), |text, (node, numbers)| match map.read(numbers) {
        Some(()) => Ok(format!("{text}node {node}\n{}\n", map.table().to_string().trim_end())),
        None => {
            let cause = "what the node told is no map";
            Err(Error::new(format!("node {node}"), cause, "use command and image of one version").with_status(MACHINE))
        }
    })
}

fn unexpected(control: &Path) -> Error {
    Error::new(control.display(), "the daemon gave another reply", "use command and daemon of one version")
        .with_status(MACHINE)
}

/// The same line, as an error of the commands: the machine cannot do it.
pub fn from_iod(error: tacet_iod::Error) -> Error {
    no(error).with_status(MACHINE)
}

/// The same line, where it answers a question: no daemon is up, there is no such job.
fn no(error: tacet_iod::Error) -> Error {
    let text = error.to_string();
    let (object, rest) = text.split_once(": ").unwrap_or(("tacet iod", &text));
    Error::new(object, rest, "")
}
