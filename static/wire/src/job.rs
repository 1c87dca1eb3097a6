// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The description of a job, as a node gets it: everything that the node must know before its first call.
//!
//! The daemon encodes one for each node of the job; the node decodes it in place, without memory of its own.

use crate::bytes::{Reader, Writer};
use crate::key::KEY_BYTES;
use core::ffi::CStr;

/// Other threads of a core run while a call of one is shipped.
pub const YIELD_ON_IO: u32 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job<'a> {
    pub id: u32,
    /// The secret of the job's key, encrypted: see [`crate::key::Key::wrapped`].
    pub wrapped_key: [u8; KEY_BYTES],
    /// The seed of the node's random numbers.
    pub seed: [u8; 32],
    pub flags: u32,
    /// The rank of the node's first process, and how many processes the whole job has.
    pub first_rank: u32,
    pub ranks: u32,
    pub shared_bytes: u64,
    /// Of each process's first thread. 0: the node chooses.
    pub stack_bytes: u64,
    /// The daemon's clocks at the moment of sending.
    pub realtime_ns: u64,
    pub monotonic_ns: u64,
    pub user: User,
    pub host_name: &'a [u8],
    /// As the user wrote it: the proxy finds it.
    pub program: &'a [u8],
    /// This node's processes, in the order of their ranks.
    pub processes: Processes<'a>,
    pub arguments: Texts<'a>,
    pub environment: Texts<'a>,
}

/// The user of the job, for calls that ask; the proxies have the user's rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
    pub euid: u32,
    pub egid: u32,
}

/// One process of the job on this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// The UDP port of its proxy.
    pub port: u16,
    /// The proxy's number on Linux: the process's own, as programs see it.
    pub process_id: u32,
    /// Its part of the memory. 0: what is left, divided evenly.
    pub memory_bytes: u64,
}

const PROCESS_BYTES: usize = 14;

/// Processes, encoded: [`Process::to_bytes`] of each, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Processes<'a>(&'a [u8]);

/// Texts, encoded: each ends with a NUL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Texts<'a>(&'a [u8]);

impl<'a> Job<'a> {
    /// Takes a description from the front of a message.
    pub fn decode(fields: &mut Reader<'a>) -> Option<Self> {
        Some(Self {
            id: fields.u32()?,
            wrapped_key: fields.array()?,
            seed: fields.array()?,
            flags: fields.u32()?,
            first_rank: fields.u32()?,
            ranks: fields.u32()?,
            shared_bytes: fields.u64()?,
            stack_bytes: fields.u64()?,
            realtime_ns: fields.u64()?,
            monotonic_ns: fields.u64()?,
            user: User { uid: fields.u32()?, gid: fields.u32()?, euid: fields.u32()?, egid: fields.u32()? },
            host_name: fields.text()?,
            program: fields.text()?,
            processes: Processes::new(fields.text()?)?,
            arguments: Texts::new(fields.text()?)?,
            environment: Texts::new(fields.text()?)?,
        })
    }

    /// Appends the description to a message.
    pub fn encode(&self, fields: &mut Writer<'_>) -> Option<()> {
        fields.u32(self.id)?;
        fields.bytes(&self.wrapped_key)?;
        fields.bytes(&self.seed)?;
        for number in [self.flags, self.first_rank, self.ranks] {
            fields.u32(number)?;
        }
        for number in [self.shared_bytes, self.stack_bytes, self.realtime_ns, self.monotonic_ns] {
            fields.u64(number)?;
        }
        let User { uid, gid, euid, egid } = self.user;
        for number in [uid, gid, euid, egid] {
            fields.u32(number)?;
        }
        for text in [self.host_name, self.program, self.processes.0, self.arguments.0, self.environment.0] {
            fields.text(text)?;
        }
        Some(())
    }
}

impl Process {
    #[must_use]
    pub fn to_bytes(self) -> [u8; PROCESS_BYTES] {
        let [p0, p1] = self.port.to_le_bytes();
        let [i0, i1, i2, i3] = self.process_id.to_le_bytes();
        let [m0, m1, m2, m3, m4, m5, m6, m7] = self.memory_bytes.to_le_bytes();
        [p0, p1, i0, i1, i2, i3, m0, m1, m2, m3, m4, m5, m6, m7]
    }
}

impl<'a> Processes<'a> {
    /// `None`: that is not a whole number of processes.
    #[must_use]
    pub fn new(encoded: &'a [u8]) -> Option<Self> {
        encoded.len().is_multiple_of(PROCESS_BYTES).then_some(Self(encoded))
    }

    #[must_use]
    pub fn count(self) -> usize {
        self.0.len() / PROCESS_BYTES
    }

    pub fn iter(self) -> impl Iterator<Item = Process> + Clone + use<'a> {
        self.0.chunks_exact(PROCESS_BYTES).filter_map(|process| {
            let mut fields = Reader::new(process);
            Some(Process { port: fields.u16()?, process_id: fields.u32()?, memory_bytes: fields.u64()? })
        })
    }
}

impl<'a> Texts<'a> {
    /// `None`: the last one does not end.
    #[must_use]
    pub fn new(encoded: &'a [u8]) -> Option<Self> {
        matches!(encoded, [] | [.., 0]).then_some(Self(encoded))
    }

    /// The texts, without their NULs.
    pub fn iter(self) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        let mut rest = self.0;
        core::iter::from_fn(move || {
            // It looks for a NUL by words, not by bytes.
            let text = CStr::from_bytes_until_nul(rest).ok()?.to_bytes();
            rest = rest.get(text.len() + 1..)?;
            Some(text)
        })
    }
}
