// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One job: a program on some nodes, from its submission to its status.
//!
//! Called by `tacet static run`, whose children the job's proxies are: they have its user, limits and standard streams.

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use tacet_ctl::{Error, Result};
use tacet_iod::control::{Start, Submit};
use tacet_iod::submit::{self, Ended, Launcher, Submission};
use tacet_wire::job::YIELD_ON_IO;

use crate::daemon::from_iod;

/// The status if a node, a proxy or the daemon is lost.
pub const LOST: u8 = submit::LOST;
/// The word by which the command becomes a proxy.
const PROXY: &str = "iod-proxy";

/// A program and the nodes that it wants.
#[derive(Debug, Clone)]
pub struct Job {
    pub program: PathBuf,
    /// With the program's own name.
    pub arguments: Vec<Vec<u8>>,
    pub nodes: u32,
    /// Of each node.
    pub processes: u32,
    /// Of each process of a node; empty: even shares.
    pub memory_bytes: Vec<u64>,
    pub shared_bytes: u64,
    /// 0: the node's default.
    pub stack_bytes: u64,
    pub yield_on_io: bool,
}

/// The end of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// The highest of all ranks, where signal N counts as 128 + N.
    pub status: u8,
    /// A node was lost, and no program had begun on any.
    pub lost_at_start: bool,
}

impl Job {
    /// Runs it by the daemon behind `control`; `report` gets lines for the user. `emulated`: the nodes end with that daemon.
    pub fn run(&self, control: &Path, emulated: bool, report: &mut dyn FnMut(&str)) -> Result<Ending> {
        let program = std::env::current_exe().map_err(|io| Error::io("this command", &io, ""))?;
        let launcher = Launcher { program, arguments: vec![PROXY.into()] };
        let submission = Submission {
            control: control.to_owned(),
            submit: self.submit(),
            start: self.start(),
            nodes_end_with_daemon: emulated,
        };
        let failed = |error| from_iod(error).with_status(LOST);
        let outcome = submit::run(&submission, &launcher, report).map_err(failed)?;
        Ok(Ending { status: status(&outcome.ranks), lost_at_start: outcome.lost_at_start() })
    }

    /// Refuses a job that this process has no room for.
    pub fn check_room(&self) -> Result<()> {
        submit::check(&self.submit()).map_err(from_iod)
    }

    fn submit(&self) -> Submit {
        let name = self.program.file_name().unwrap_or(self.program.as_os_str()).to_string_lossy().into_owned();
        let (nodes, processes) = (self.nodes, self.processes);
        let memory_bytes = self.memory_bytes.iter().sum::<u64>() + self.shared_bytes;
        Submit { name, nodes, processes, memory_bytes, on: Vec::new() }
    }

    fn start(&self) -> Start {
        Start {
            program: self.program.as_os_str().as_bytes().to_vec(),
            arguments: self.arguments.clone(),
            environment: environment(),
            memory_bytes: self.memory_bytes.clone(),
            shared_bytes: self.shared_bytes,
            stack_bytes: self.stack_bytes,
            flags: if self.yield_on_io { YIELD_ON_IO } else { 0 },
            ..Start::default()
        }
    }
}

/// `NAME=value`, as the program gets them.
fn environment() -> Vec<Vec<u8>> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        [name.into_vec(), b"=".to_vec(), value.into_vec()].concat()
    };
    std::env::vars_os().map(text).collect()
}

fn status(ranks: &[Ended]) -> u8 {
    let of = |rank: &Ended| match *rank {
        Ended::Exit(status) => (status & 0xff) as u8,
        Ended::Signal(signal) => 128 | (signal & 0x7f) as u8,
        Ended::Lost => LOST,
    };
    if ranks.contains(&Ended::Lost) { LOST } else { ranks.iter().map(of).max().unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_status_is_the_jobs() {
        assert_eq!(status(&[Ended::Exit(0), Ended::Exit(3), Ended::Exit(1)]), 3);
        assert_eq!(status(&[Ended::Exit(256 + 7), Ended::Signal(9)]), 137);
        assert_eq!(status(&[Ended::Signal(9), Ended::Lost]), 125);
        assert_eq!(status(&[]), 0);
    }
}
