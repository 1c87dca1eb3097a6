// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What Linux granted of a device, and whether a call stays within it.

use crate::buffers::Survey;

/// Linux transfers no more in one call (MAX_RW_COUNT): a longer call has a shorter result, which only Linux gives.
pub const MOST_BYTES: u64 = 0x7fff_f000;
/// Linux's grants have sectors of these sizes only, as powers of two.
const SECTOR_SHIFTS: core::ops::RangeInclusive<u32> = 9..=12;
/// A device reads and writes memory from a multiple of this on.
const MEMORY_ALIGNMENT: u64 = 4;

/// Where data go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the device to memory.
    Read,
    /// From memory to the device.
    Write,
}

/// A part of a device that a descriptor may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    pub reads: bool,
    pub writes: bool,
    /// Each write is to last when its call ends.
    pub through: bool,
    /// What is written lasts only after a flush.
    pub cached: bool,
    pub namespace: u32,
    /// A sector has 2^`sector_shift` bytes.
    pub sector_shift: u32,
    /// The first sector, and how many.
    pub first: u64,
    pub count: u64,
}

/// A call, as the program made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    pub direction: Direction,
    /// The program's buffers.
    pub memory: Survey,
    /// On the descriptor's device.
    pub offset: u64,
    /// What is written is to last when the call ends.
    pub through: bool,
}

/// The same, checked: all of it is granted and aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    pub direction: Direction,
    pub namespace: u32,
    /// On the whole device.
    pub sector: u64,
    pub sector_shift: u32,
    /// At least one sector.
    pub bytes: u32,
    /// What is written is to last.
    pub through: bool,
}

/// Why a call is Linux's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forward {
    /// The device cannot be used now, or its grant is being taken back.
    State,
    /// The grant does not allow this direction.
    Rights,
    /// Not whole sectors, or a buffer begins where the device cannot.
    Alignment,
    /// Nothing, too much, or not all within the grant: an error or a short result.
    Bounds,
    /// Not all of the buffers is present memory of the partition that the program may use so.
    Buffer,
    /// Its buffers lie too far apart.
    Room,
    /// Other calls have all commands, now.
    Busy,
    /// The device has answered with an error: Linux tries again, and knows the error's number.
    Status,
    /// Linux has taken the device away from its commands.
    Loss,
}

impl Grant {
    /// The transfer that a call asks for, if the grant has all of it.
    pub fn check(&self, request: &Request) -> Result<Transfer, Forward> {
        let allowed = match request.direction {
            Direction::Read => self.reads,
            Direction::Write => self.writes,
        };
        if !allowed || !SECTOR_SHIFTS.contains(&self.sector_shift) {
            return Err(Forward::Rights);
        }
        let Request { memory, offset, .. } = *request;
        let (bytes, sector_bytes) = (memory.bytes, 1 << self.sector_shift);
        if !(memory.lengths | offset).is_multiple_of(sector_bytes) || !memory.addresses.is_multiple_of(MEMORY_ALIGNMENT)
        {
            return Err(Forward::Alignment);
        }
        // An offset is signed.
        if bytes == 0 || bytes > MOST_BYTES || i64::try_from(offset).is_err() {
            return Err(Forward::Bounds);
        }
        let first = offset >> self.sector_shift;
        let end = first.checked_add(bytes >> self.sector_shift).filter(|&end| end <= self.count);
        let device_end = end.and_then(|end| self.first.checked_add(end));
        let sector = device_end.and_then(|_| self.first.checked_add(first)).ok_or(Forward::Bounds)?;
        Ok(Transfer {
            direction: request.direction,
            namespace: self.namespace,
            sector,
            sector_shift: self.sector_shift,
            bytes: bytes as u32, // at most MOST_BYTES
            through: request.direction == Direction::Write && (self.through || request.through),
        })
    }
}

impl Transfer {
    /// What is left of it behind its first bytes, which are whole sectors and not all.
    pub fn behind(&self, done: u32) -> Self {
        Self { sector: self.sector + u64::from(done >> self.sector_shift), bytes: self.bytes - done, ..*self }
    }
}
