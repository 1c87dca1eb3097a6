// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The commands of a transfer, made of the pieces of its memory.
//!
//! [`Pair`](crate::Pair) uses it. `pages.rs` and `segments.rs` describe a command's memory: a piece that the description
//! cannot have begins the next command.

use crate::command::{self, Data};
use crate::memory::QueueMemory;
use crate::pages::Pages;
use crate::pair::Limits;
use crate::segments::Segments;
use tacet_pico::{Forward, Piece, Transfer};

/// Commands in flight; each has a list of pages.
pub const LISTS: u16 = 32;
/// Entries of such a list: a page of addresses.
pub const LIST_ENTRIES: u32 = 512;
pub(crate) const PAGE: u32 = 4096;
/// Commands are numbered from here on. So an entry that Linux has cleared, in a round in which zeros look new, names none.
pub(crate) const FIRST_NUMBER: u16 = 0x100;
/// A command's count of sectors has 16 bits.
const MOST_SECTORS: u32 = 1 << 16;

/// Writes the commands behind the tail, where the device does not look yet.
pub(crate) struct Commands<'m, M> {
    memory: &'m M,
    limits: &'m Limits,
    transfer: &'m Transfer,
    tail: u16,
    most: u32,
    /// Numbers, a bit for each, that no command has yet.
    free: u32,
    /// The numbers of those that are written, how many these are, and for how many bytes.
    pub numbers: u32,
    pub count: u16,
    pub done: u32,
    open: Open,
}

/// The memory of the command that is being made.
enum Open {
    Pages(Pages),
    Segments(Segments),
}

impl<'m, M: QueueMemory> Commands<'m, M> {
    /// With at least one number.
    pub fn new(
        memory: &'m M,
        limits: &'m Limits,
        transfer: &'m Transfer,
        tail: u16,
        free: u32,
    ) -> Result<Self, Forward> {
        let most = most_bytes(limits, transfer).ok_or(Forward::State)?;
        let open = Open::new(limits.segments);
        Ok(Self { memory, limits, transfer, tail, most, free, numbers: 0, count: 0, done: 0, open })
    }

    /// Of the command that is being made; its list has the same.
    fn number(&self) -> u16 {
        self.free.trailing_zeros() as u16
    }

    /// As many as there may be; at least 1.
    pub fn put(&mut self, pieces: impl Iterator<Item = Option<Piece>>) -> Result<(), Forward> {
        for piece in pieces {
            let Piece { mut address, mut bytes } = piece.ok_or(Forward::Buffer)?;
            while bytes > 0 {
                let is_full = self.open.bytes() == self.most || !self.open.takes(address);
                if is_full && self.close()? {
                    return Ok(());
                }
                let left = self.transfer.bytes - self.done - self.open.bytes();
                let taken = bytes.min(self.most - self.open.bytes()).min(left);
                if self.free == 0 || taken == 0 {
                    return Ok(());
                }
                let number = self.number();
                self.open.add(self.memory, number, address, taken);
                (address, bytes) = (address + u64::from(taken), bytes - taken);
            }
            // Else the next piece would be looked for, and there may be none.
            if self.done + self.open.bytes() == self.transfer.bytes {
                break;
            }
        }
        self.close()?;
        if self.count == 0 { Err(Forward::Buffer) } else { Ok(()) }
    }

    /// Writes the command that is being made, if there is one. True: it ends before the bytes that were added last, so that
    /// it has whole sectors, and no command can follow.
    fn close(&mut self) -> Result<bool, Forward> {
        let number = self.number();
        let mut open = core::mem::replace(&mut self.open, Open::new(self.limits.segments));
        let extra = open.bytes() & ((1 << self.transfer.sector_shift) - 1);
        if open.bytes() == 0 {
            return Ok(false);
        }
        if extra != 0 && !open.cut(extra) {
            return Err(Forward::Alignment);
        }
        let list = self.limits.lists + u64::from(number) * u64::from(PAGE);
        let sectors = open.bytes() >> self.transfer.sector_shift;
        let command = command::Transfer {
            direction: self.transfer.direction,
            number: FIRST_NUMBER + number,
            namespace: self.transfer.namespace,
            sector: self.transfer.sector + u64::from(self.done >> self.transfer.sector_shift),
            sectors,
            through: self.transfer.through,
            data: open.close(self.memory, number, list),
        };
        self.memory.put_command((self.tail + self.count) % self.limits.depth, &command.encode());
        self.count += 1;
        self.numbers |= self.free & self.free.wrapping_neg();
        self.free &= self.free - 1;
        self.done += open.bytes();
        Ok(extra != 0)
    }
}

impl Open {
    fn new(segments: bool) -> Self {
        if segments { Self::Segments(Segments::default()) } else { Self::Pages(Pages::default()) }
    }

    fn bytes(&self) -> u32 {
        match self {
            Self::Pages(pages) => pages.bytes(),
            Self::Segments(segments) => segments.bytes(),
        }
    }

    /// Memory from this address on may follow.
    fn takes(&self, address: u64) -> bool {
        match self {
            Self::Pages(pages) => pages.takes(address),
            Self::Segments(segments) => segments.takes(address),
        }
    }

    fn add(&mut self, memory: &impl QueueMemory, list: u16, address: u64, bytes: u32) {
        match self {
            Self::Pages(pages) => pages.add(memory, list, address, bytes),
            Self::Segments(segments) => segments.add(memory, list, address, bytes),
        }
    }

    /// Forgets the last bytes. False: it cannot, or none would be left.
    fn cut(&mut self, bytes: u32) -> bool {
        match self {
            Self::Pages(_) => false,
            Self::Segments(segments) => segments.cut(bytes),
        }
    }

    /// The command's words for it; the list is at `at`.
    fn close(&self, memory: &impl QueueMemory, list: u16, at: u64) -> Data {
        match self {
            Self::Pages(pages) => pages.close(at),
            Self::Segments(segments) => segments.close(memory, list, at),
        }
    }
}

/// Of one command: whole pages, so that a command that ends for this begins the next one at a sector.
fn most_bytes(limits: &Limits, transfer: &Transfer) -> Option<u32> {
    let listed = if limits.segments { u32::MAX } else { LIST_ENTRIES * PAGE };
    let most = limits.most_bytes.min(listed).min(MOST_SECTORS << transfer.sector_shift) & !(PAGE - 1);
    (most != 0).then_some(most)
}
