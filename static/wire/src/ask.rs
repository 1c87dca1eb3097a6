// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A node's questions to the daemon, and the daemon's answers.
//!
//! A node greets the daemon, asks for a job, says that the job has started and ended, and meanwhile asks for orders.
//! The daemon answers `Next` and `Watch` only once it has something to say; until then it says that it is busy. The
//! node asks `Watch` as thread [`WATCHER`], everything else as thread 0.

use crate::bytes::{Reader, Writer};
use crate::job::Job;
use crate::key::{NONCE_BYTES, TAG_BYTES};

/// The thread number under which a node asks for orders while a job runs.
pub const WATCHER: u32 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask<'a> {
    /// Signed with the node's key. The answer is `Welcome`, and a session begins. `cpus` execute programs; `service_cpu`: another
    /// one speaks for the node while they do.
    Hello { nonce: [u8; NONCE_BYTES], cpus: u32, memory_bytes: u64, service_cpu: bool },
    /// The answer is a job.
    Next,
    /// The processes are loaded; `map` is the static map, in numbers of eight bytes (`tacet_logic::static_map`).
    Started { job: u32, map: &'a [u8] },
    /// The answer is an order.
    Watch { job: u32 },
    /// The job's processes are gone from this node. `failure` is empty, or says in one line why the job could not run.
    Ended { job: u32, failure: &'a [u8] },
    /// The node's hardware has corrected so many errors since it said so last.
    Corrected { errors: u64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer<'a> {
    /// Signed with the node's key.
    Welcome {
        nonce: [u8; NONCE_BYTES],
    },
    Job(Job<'a>),
    /// Understood.
    Noted,
    /// Send this signal to the process with this rank, or to all.
    Signal {
        process: Option<u32>,
        signal: u32,
    },
    /// Power the node off.
    PowerOff,
    /// Boot again.
    Reset,
    /// The job's `run` is gone, and its proxies with it: end its processes, without a word to anybody.
    Orphaned,
}

/// Why the other end does not serve; the payload of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The daemon does not know the session: it was restarted. Signed with the node's key; the node greets again.
    NoSession,
    /// The proxy or the daemon does not know the job: it has ended.
    NoJob,
}

/// All ranks, as `Signal` encodes them.
const ALL: u32 = u32::MAX;

impl<'a> Ask<'a> {
    #[must_use]
    pub fn decode(message: &'a [u8]) -> Option<Self> {
        let mut fields = Reader::new(message);
        let ask = match fields.u32()? {
            1 => Self::Hello {
                nonce: fields.array()?,
                cpus: fields.u32()?,
                memory_bytes: fields.u64()?,
                service_cpu: fields.u32()? != 0,
            },
            2 => Self::Next,
            3 => Self::Started { job: fields.u32()?, map: fields.text()? },
            4 => Self::Watch { job: fields.u32()? },
            5 => Self::Ended { job: fields.u32()?, failure: fields.text()? },
            6 => Self::Corrected { errors: fields.u64()? },
            _ => return None,
        };
        fields.rest().is_empty().then_some(ask)
    }

    /// Writes the message; how long it is. `None`: it does not fit.
    #[must_use]
    pub fn encode(&self, message: &mut [u8]) -> Option<usize> {
        let mut fields = Writer::new(message);
        match self {
            Self::Hello { nonce, cpus, memory_bytes, service_cpu } => {
                fields.u32(1)?;
                fields.bytes(nonce)?;
                fields.u32(*cpus)?;
                fields.u64(*memory_bytes)?;
                fields.u32((*service_cpu).into())?;
            }
            Self::Next => fields.u32(2)?,
            Self::Started { job, map } => job_and_text(&mut fields, 3, *job, map)?,
            Self::Watch { job } => {
                fields.u32(4)?;
                fields.u32(*job)?;
            }
            Self::Ended { job, failure } => job_and_text(&mut fields, 5, *job, failure)?,
            Self::Corrected { errors } => {
                fields.u32(6)?;
                fields.u64(*errors)?;
            }
        }
        Some(fields.used())
    }
}

impl<'a> Answer<'a> {
    #[must_use]
    pub fn decode(message: &'a [u8]) -> Option<Self> {
        let mut fields = Reader::new(message);
        let answer = match fields.u32()? {
            1 => Self::Welcome { nonce: fields.array()? },
            2 => Self::Job(Job::decode(&mut fields)?),
            3 => Self::Noted,
            4 => {
                let process = fields.u32()?;
                Self::Signal { process: (process != ALL).then_some(process), signal: fields.u32()? }
            }
            5 => Self::PowerOff,
            6 => Self::Orphaned,
            7 => Self::Reset,
            _ => return None,
        };
        fields.rest().is_empty().then_some(answer)
    }

    /// Writes the message; how long it is. `None`: it does not fit.
    #[must_use]
    pub fn encode(&self, message: &mut [u8]) -> Option<usize> {
        let mut fields = Writer::new(message);
        match self {
            Self::Welcome { nonce } => {
                fields.u32(1)?;
                fields.bytes(nonce)?;
            }
            Self::Job(job) => {
                fields.u32(2)?;
                job.encode(&mut fields)?;
            }
            Self::Noted => fields.u32(3)?,
            Self::Signal { process, signal } => {
                fields.u32(4)?;
                fields.u32(process.unwrap_or(ALL))?;
                fields.u32(*signal)?;
            }
            Self::PowerOff => fields.u32(5)?,
            Self::Orphaned => fields.u32(6)?,
            Self::Reset => fields.u32(7)?,
        }
        Some(fields.used())
    }
}

impl Refusal {
    /// The payload's length.
    pub const BYTES: usize = 4 + TAG_BYTES;

    /// The refusal, and the tag of the packet that it answers.
    #[must_use]
    pub fn decode(payload: &[u8]) -> Option<(Self, [u8; TAG_BYTES])> {
        let mut fields = Reader::new(payload);
        let refusal = match fields.u32()? {
            1 => Self::NoSession,
            2 => Self::NoJob,
            _ => return None,
        };
        let tag = fields.array()?;
        fields.rest().is_empty().then_some((refusal, tag))
    }

    /// `tag`: of the packet that it answers. An old refusal, or one of a packet that the node has not sent, is none.
    #[must_use]
    pub fn encode(self, tag: &[u8; TAG_BYTES]) -> [u8; Self::BYTES] {
        let code: u32 = match self {
            Self::NoSession => 1,
            Self::NoJob => 2,
        };
        let mut payload = [0; Self::BYTES];
        payload.iter_mut().zip(code.to_le_bytes().iter().chain(tag)).for_each(|(byte, value)| *byte = *value);
        payload
    }
}

fn job_and_text(fields: &mut Writer<'_>, code: u32, job: u32, text: &[u8]) -> Option<()> {
    fields.u32(code)?;
    fields.u32(job)?;
    fields.text(text)
}
