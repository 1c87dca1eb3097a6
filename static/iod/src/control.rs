// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The lines of the control socket: one JSON object a line, requests one way, replies and events the other.
//!
//! The daemon and `submit` both use these types, and so does `tacet static status|kill|map`. It must never act on a
//! request: the daemon does.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::geteuid;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A program's arguments and environment fit several times; a peer cannot fill the daemon's memory.
pub const LONGEST_LINE_BYTES: u64 = 2 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Asks for nodes. The connection belongs to the job from here: when it closes, the job ends.
    Submit(Submit),
    /// The proxies of the granted job listen.
    Start(Box<Start>),
    /// A job that began under an earlier daemon. The connection belongs to it from here.
    Adopt(Adoption),
    Status {},
    /// Signal 0 sends none: the job's nodes must only show that they live.
    Kill {
        job: u32,
        signal: i32,
    },
    /// By a job's owner: a signal for one rank, which makes no call that could bring it.
    Signal {
        job: u32,
        rank: u32,
        signal: i32,
    },
    Map {
        job: u32,
    },
    /// By the daemon's user or root.
    Node {
        node: u32,
        order: NodeOrder,
    },
    Shutdown {},
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeOrder {
    /// It ends its job, and gets no other.
    Drain,
    /// It gets jobs again.
    Return,
    Reset,
    PowerOff,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submit {
    /// The program's name, for `status`.
    pub name: String,
    /// Number of nodes.
    pub nodes: u32,
    /// Processes on each node.
    pub processes: u32,
    /// Memory of each node that the job names; 0: what there is.
    #[serde(default)]
    pub memory_bytes: u64,
    /// Only these nodes, unless empty.
    #[serde(default)]
    pub on: Vec<u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adoption {
    pub job: u32,
    /// The program's name.
    pub name: String,
    pub nodes: Vec<u32>,
    /// Processes on each node.
    pub processes: u32,
    /// As it came with the grant.
    pub voucher: String,
}

/// The program and its surroundings; strings are bytes, since neither names nor variables need be UTF-8.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// By rank.
    pub proxies: Vec<Proxy>,
    pub program: Vec<u8>,
    pub arguments: Vec<Vec<u8>>,
    pub environment: Vec<Vec<u8>>,
    /// Memory of each process of a node; empty or 0: what is left, evenly.
    pub memory_bytes: Vec<u64>,
    pub shared_bytes: u64,
    /// 0: the default of the node.
    pub stack_bytes: u64,
    /// Bits of [`tacet_wire::job`].
    pub flags: u32,
    /// 32 bytes with which the nodes' random numbers begin, for runs that repeat; empty: drawn.
    pub seed: Vec<u8>,
    /// uid, gid, effective uid, effective gid.
    pub credentials: [u32; 4],
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proxy {
    /// Its UDP port.
    pub port: u16,
    /// Its number on Linux, which the program sees as its own.
    pub process_id: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
pub enum Reply {
    /// The job waits for nodes; only if it must.
    Queued {
        job: u32,
    },
    /// These nodes are the job's. `address`: where its proxies must listen.
    Granted {
        job: u32,
        key: String,
        nodes: Vec<u32>,
        address: std::net::IpAddr,
        /// With this a later daemon believes the job's `run` that all this was granted.
        voucher: String,
    },
    /// A node has loaded the programs of the job: from here on they execute.
    Started {
        node: u32,
    },
    /// A node has no process of the job any more. `failure` says why the job could not run there, or is empty.
    NodeEnded {
        node: u32,
        failure: String,
    },
    NodeLost {
        node: u32,
        why: String,
    },
    /// Send this signal to the proxies of these nodes, or to this rank's alone. The others got it from the daemon.
    Signal {
        signal: i32,
        nodes: Vec<u32>,
        rank: Option<u32>,
    },
    /// Every node of the job has ended or is lost.
    Finished {},
    Status(Box<Status>),
    /// Of each node the numbers that it has told, which nobody has checked.
    Map {
        maps: Vec<(u32, Vec<u64>)>,
    },
    Done {},
    /// One line for the person who asked.
    Refused {
        reason: String,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    pub nodes: Vec<NodeStatus>,
    pub jobs: Vec<JobStatus>,
    pub dropped: Dropped,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeStatus {
    pub node: u32,
    pub address: String,
    pub cpus: u32,
    pub memory_bytes: u64,
    /// Besides the CPUs above, one speaks for the node while they compute.
    #[serde(default)]
    pub service_cpu: bool,
    /// `booted`, `ready`, `job`, `silent` or `lost`; `draining` and `drained`; `reset` until it boots, `off`.
    pub state: String,
    pub job: Option<u32>,
    /// Errors that the node's hardware has corrected since it booted, as it said after its last job.
    #[serde(default)]
    pub corrected_errors: u64,
    /// Since the node's last packet.
    pub silent_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobStatus {
    pub job: u32,
    /// Empty for other users than the owner and root.
    pub name: String,
    pub uid: u32,
    /// Of the `tacet static run` that the job belongs to.
    pub pid: i32,
    /// `queued`, `granted` or `running`.
    pub state: String,
    pub nodes: Vec<u32>,
    pub processes: u32,
}

/// Packets that the daemon did not serve, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// Too short, a wrong magic, version or length.
    pub malformed: u64,
    /// A wrong tag: a stranger's, or another boot's.
    pub strangers: u64,
    /// An old sequence.
    pub stale: u64,
}

/// Reads lines of one peer, and refuses a line that is too long.
pub struct Lines<R> {
    reader: BufReader<R>,
}

impl<R: Read> Lines<R> {
    pub fn new(reader: R) -> Self {
        Lines { reader: BufReader::new(reader) }
    }

    /// `None` at the end of the connection.
    pub fn read<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        let mut line = Vec::new();
        let read = self.reader.by_ref().take(LONGEST_LINE_BYTES).read_until(b'\n', &mut line);
        let bytes = read.map_err(|error| Error::new("control socket", error, "is the daemon alive?"))?;
        if bytes == 0 {
            return Ok(None);
        }
        if line.last() != Some(&b'\n') {
            return Err(Error::new(
                "control socket",
                "a line is cut or too long",
                "one JSON object a line, up to 2 MiB",
            ));
        }
        let value = serde_json::from_slice(&line);
        value.map(Some).map_err(|error| Error::new("control socket", error, "one request or reply a line"))
    }
}

/// Writes one line at once.
pub fn send(mut stream: impl Write, value: &impl Serialize) -> Result<()> {
    let mut line = serde_json::to_vec(value).map_err(|error| Error::new("control socket", error, "no such value"))?;
    line.push(b'\n');
    stream.write_all(&line).map_err(|error| Error::new("control socket", error, "is the daemon alive?"))
}

/// One request, one reply: `status`, `kill`, `map`, `shutdown`.
pub fn ask(path: &Path, request: &Request) -> Result<Reply> {
    let stream = connect(path)?;
    send(&stream, request)?;
    match Lines::new(&stream).read()? {
        Some(Reply::Refused { reason }) => Err(Error::new("tacet iod", reason, "see `tacet static status`")),
        Some(reply) => Ok(reply),
        None => Err(Error::new(path.display(), "the daemon closed the connection", "see its log")),
    }
}

/// A connection to a daemon of this user or of root. Another user's would learn programs and environments, and could
/// have the proxies, which have this user's rights, do anything.
pub(crate) fn connect(path: &Path) -> Result<UnixStream> {
    let stream = UnixStream::connect(path)
        .map_err(|error| Error::new(path.display(), format!("no daemon answers: {error}"), "start `tacet iod`"))?;
    let peer = getsockopt(&stream, PeerCredentials)
        .map_err(|error| Error::new(path.display(), error, "the daemon must be on this machine"))?;
    trust(path, peer.uid(), geteuid().as_raw())?;
    Ok(stream)
}

/// Linux tells who listened there: not whose the file is, which anybody may have moved.
fn trust(path: &Path, daemon: u32, mine: u32) -> Result<()> {
    if daemon == mine || daemon == 0 {
        return Ok(());
    }
    let cause = format!("its daemon is of user {daemon}, neither yours nor root's");
    Err(Error::new(path.display(), cause, "use a daemon of yours or of root"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_survive_the_line() {
        let start = Start {
            proxies: vec![Proxy { port: 1, process_id: 2 }],
            arguments: vec![b"a\xff\n".to_vec()],
            ..Start::default()
        };
        let requests = [Request::Start(Box::new(start)), Request::Status {}, Request::Kill { job: 3, signal: 9 }];
        let mut line = Vec::new();
        for request in &requests {
            send(&mut line, request).unwrap();
        }
        let mut lines = Lines::new(line.as_slice());
        for request in requests {
            assert_eq!(lines.read().unwrap(), Some(request));
        }
        assert_eq!(lines.read::<Request>().unwrap(), None);
    }

    #[test]
    fn bad_lines_are_errors() {
        for line in
            [&b"{}\n"[..], b"{\"request\":\"status\"}", b"\xff\n", b"{\"request\":\"kill\",\"job\":-1,\"signal\":9}\n"]
        {
            assert!(Lines::new(line).read::<Request>().is_err(), "{line:?}");
        }
        let endless = std::io::repeat(b'a');
        assert!(Lines::new(endless).read::<Request>().is_err());
    }
}
