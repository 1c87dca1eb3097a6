// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program's memory, as the node's end of a shipped call reads and writes it.

use crate::bytes::{Reader, Writer};
use crate::errno::Errno;

/// Memory of a program. Nothing here may be trusted to stay as it was: other threads write it.
pub trait UserMemory {
    /// Reads memory as the program would. `None`: the program could not read all of it.
    fn read(&self, address: u64, to: &mut [u8]) -> Option<()>;

    /// Writes memory as the program would. `None`: the program could not write all of it.
    fn write(&self, address: u64, from: &[u8]) -> Option<()>;

    /// Whether the program could write all of it.
    fn is_writable(&self, address: u64, bytes: usize) -> bool;

    /// How many bytes from here the program could read, up to `bytes`.
    fn readable(&self, address: u64, bytes: usize) -> usize {
        usable(address, bytes, |address, _| self.read(address, &mut [0]).is_some())
    }

    /// How many bytes from here the program could write, up to `bytes`.
    fn writable(&self, address: u64, bytes: usize) -> usize {
        if self.is_writable(address, bytes) {
            return bytes;
        }
        usable(address, bytes, |address, bytes| self.is_writable(address, bytes))
    }
}

/// The bytes before the first page that may not be used.
fn usable(address: u64, bytes: usize, may: impl Fn(u64, usize) -> bool) -> usize {
    let mut used = 0;
    while used < bytes {
        let Some(at) = address.checked_add(used as u64) else { break };
        let in_page = ((PAGE_BYTES - at % PAGE_BYTES) as usize).min(bytes - used);
        if !may(at, in_page) {
            break;
        }
        used += in_page;
    }
    used
}

/// The longest text with its NUL, as Linux has it for paths.
const TEXT_BYTES: usize = 4096;
/// Texts are read in portions that lie in one page each.
const PAGE_BYTES: u64 = 4096;
/// The most buffers that a call names at once.
pub(crate) const MAX_VECTOR: u64 = 1024;

/// Reads a text into the beginning of `to`; how long it is with its NUL. One that is too long is cut, and is too long for
/// Linux too.
pub(crate) fn read_text(memory: &impl UserMemory, address: u64, to: &mut [u8]) -> Result<usize, Errno> {
    let mut used = 0;
    while used < TEXT_BYTES {
        let from = address.checked_add(used as u64).ok_or(Errno::EFAULT)?;
        let in_page = (PAGE_BYTES - from % PAGE_BYTES) as usize;
        let end = (used + in_page.min(256)).min(TEXT_BYTES).min(to.len());
        let portion = to.get_mut(used..end).filter(|portion| !portion.is_empty()).ok_or(Errno::ENAMETOOLONG)?;
        memory.read(from, portion).ok_or(Errno::EFAULT)?;
        if let Some(nul) = portion.iter().position(|byte| *byte == 0) {
            return Ok(used + nul + 1);
        }
        used = end;
    }
    *to.get_mut(TEXT_BYTES).ok_or(Errno::ENAMETOOLONG)? = 0;
    Ok(TEXT_BYTES + 1)
}

/// Appends a buffer of a program's, or the part of it that can be read; how long that is.
pub(crate) fn take(memory: &impl UserMemory, fields: &mut Writer<'_>, address: u64, bytes: usize) -> usize {
    let before = fields.used();
    let Some(space) = fields.space(bytes) else { return 0 };
    let taken = if memory.read(address, space).is_some() { bytes } else { memory.readable(address, bytes) };
    fields.rewind(before + taken);
    taken
}

/// How many of an output's bytes the call writes: the first version of capget's structure is half as long.
pub(crate) fn written(number: u32, arguments: &[u64; 6], memory: &impl UserMemory, bytes: usize) -> usize {
    const CAPGET: u32 = 125;
    const FIRST_VERSION: [u8; 4] = 0x1998_0330u32.to_le_bytes();
    let [header, ..] = *arguments;
    let mut version = [0; 4];
    let is_first = number == CAPGET && memory.read(header, &mut version).is_some() && version == FIRST_VERSION;
    if is_first { bytes / 2 } else { bytes }
}

/// An array of iovec in a program.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Vector {
    pub(crate) address: u64,
    pub(crate) count: u64,
}

/// The part of a vector that a walk has passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Walked {
    pub(crate) bytes: usize,
    /// The vector goes on, or the buffer that ended the walk.
    pub(crate) more: bool,
}

impl Vector {
    /// Calls `each` with the address and length of the vector's buffers, in order: after the first `skip` bytes, and up
    /// to `limit`. It says how many bytes it took: if not all, the walk ends.
    pub(crate) fn walk(
        self,
        memory: &impl UserMemory,
        mut skip: u64,
        limit: usize,
        mut each: impl FnMut(u64, usize) -> usize,
    ) -> Result<Walked, Errno> {
        if self.count > MAX_VECTOR {
            return Err(Errno::EINVAL);
        }
        let mut walked = Walked::default();
        for index in 0..self.count {
            let mut entry = [0; 16];
            let entry_at = self.address.checked_add(16 * index).ok_or(Errno::EFAULT)?;
            memory.read(entry_at, &mut entry).ok_or(Errno::EFAULT)?;
            let mut fields = Reader::new(&entry);
            let (start, bytes) = (fields.u64().unwrap_or(0), fields.u64().unwrap_or(0));
            if bytes > i64::MAX as u64 {
                return Err(Errno::EINVAL);
            }
            let skipped = skip.min(bytes);
            skip -= skipped;
            let room = limit - walked.bytes;
            let used = usize::try_from(bytes - skipped).map_or(room, |bytes| bytes.min(room));
            walked.more |= bytes - skipped > used as u64;
            let taken = if used > 0 { each(start.wrapping_add(skipped), used).min(used) } else { 0 };
            walked.bytes += taken;
            if taken < used {
                walked.more = true;
                return if walked.bytes > 0 { Ok(walked) } else { Err(Errno::EFAULT) };
            }
        }
        Ok(walked)
    }
}

/// A msghdr of a program.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MessageHeader {
    pub(crate) name: u64,
    pub(crate) name_bytes: usize,
    pub(crate) vector: Vector,
    pub(crate) control: u64,
    pub(crate) control_bytes: usize,
}

/// Where a msghdr has what a call changes.
pub(crate) const NAME_LENGTH_AT: u64 = 8;
pub(crate) const CONTROL_LENGTH_AT: u64 = 40;
pub(crate) const FLAGS_AT: u64 = 48;
/// A msghdr's length; an mmsghdr continues with the length of the message.
pub(crate) const MESSAGE_LENGTH_AT: u64 = 56;

/// The longest socket address, and the longest control data that is shipped.
const NAME_BYTES: u32 = 128;
pub(crate) const CONTROL_BYTES: usize = 4096;

impl MessageHeader {
    pub(crate) fn read(memory: &impl UserMemory, address: u64) -> Result<Self, Errno> {
        let mut header = [0; MESSAGE_LENGTH_AT as usize];
        memory.read(address, &mut header).ok_or(Errno::EFAULT)?;
        let header = Self::decode(&mut Reader::new(&header)).ok_or(Errno::EFAULT)?;
        if header.vector.count > MAX_VECTOR {
            return Err(Errno::EMSGSIZE);
        }
        Ok(header)
    }

    fn decode(fields: &mut Reader<'_>) -> Option<Self> {
        let (name, name_bytes, _) = (fields.u64()?, fields.u32()?, fields.u32()?);
        let vector = Vector { address: fields.u64()?, count: fields.u64()? };
        let (control, control_bytes) = (fields.u64()?, fields.u64()?);
        let name_bytes = if name == 0 { 0 } else { name_bytes.min(NAME_BYTES) };
        let control_bytes = if control == 0 { 0 } else { usize::try_from(control_bytes).unwrap_or(usize::MAX) };
        Some(Self { name, name_bytes: name_bytes as usize, vector, control, control_bytes })
    }
}
