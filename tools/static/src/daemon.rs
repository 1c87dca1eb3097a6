// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The I/O daemon as the commands see it: its addresses, one request at a time, errors as theirs.
//!
//! Used by the keeper of emulated nodes, by `tacet iod` and by every command that asks a daemon.

use std::net::SocketAddr;
use std::path::Path;

use tacet_ctl::status::{MACHINE, USAGE};
use tacet_ctl::{Error, Result};
use tacet_iod::control::{Reply, Request, Status, ask};
use tacet_iod::daemon::{Config, Daemon};
use tacet_shipping::key::Key;

/// Takes the addresses: `asks` for nodes that have this key, `control` for commands.
pub fn bind(key: &str, asks: SocketAddr, control: &Path) -> Result<Daemon> {
    let key = Key::from_hex(key.as_bytes())
        .ok_or_else(|| Error::new("key", "it is not 64 hexadecimal digits", "").with_status(USAGE))?;
    Daemon::bind(&Config { asks, control: control.to_owned(), key }).map_err(from_iod)
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

/// The map of a running job, as its nodes print it.
pub fn map(control: &Path, job: u32) -> Result<String> {
    match ask(control, &Request::Map { job }).map_err(no)? {
        Reply::Map { text } => Ok(text),
        _ => Err(unexpected(control)),
    }
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
