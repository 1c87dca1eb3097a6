// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The commands of a transfer, made of the pieces of its memory.
//!
//! [`Pair`](crate::Pair) uses it. A command's memory is whole pages but for the beginning of the first one and the end of
//! the last one (PRP): a piece that does not continue so begins the next command.

use crate::command;
use crate::memory::QueueMemory;
use crate::pair::Limits;
use tacet_pico::{Forward, Piece, Transfer};

/// Commands in flight; each has a list of pages.
pub const LISTS: u16 = 32;
/// Entries of such a list: a page of addresses.
pub const LIST_ENTRIES: u32 = 512;
const PAGE: u32 = 4096;
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

/// The command that is being made.
#[derive(Clone, Copy, Default)]
struct Open {
    bytes: u32,
    /// Where its memory begins, and where it ends now.
    first: u64,
    end: u64,
    /// Pages behind the first one, and the first of them.
    others: u32,
    second: u64,
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
        let open = Open::default();
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
                if self.open.bytes == self.most || !self.open.continues(address) {
                    self.close()?;
                }
                let left = self.transfer.bytes - self.done - self.open.bytes;
                let taken = bytes.min(self.most - self.open.bytes).min(left);
                if self.free == 0 || taken == 0 {
                    return Ok(());
                }
                self.add(address, taken);
                (address, bytes) = (address + u64::from(taken), bytes - taken);
            }
            // Else the next piece would be looked for, and there may be none.
            if self.done + self.open.bytes == self.transfer.bytes {
                break;
            }
        }
        self.close()?;
        if self.count == 0 { Err(Forward::Buffer) } else { Ok(()) }
    }

    fn add(&mut self, address: u64, bytes: u32) {
        let (number, open) = (self.number(), &mut self.open);
        if open.bytes == 0 {
            *open = Open { first: address, ..Open::default() };
        } else if address.is_multiple_of(u64::from(PAGE)) {
            match open.others {
                0 => open.second = address,
                others => {
                    if others == 1 {
                        self.memory.put_page(number, 0, open.second);
                    }
                    self.memory.put_page(number, others as u16, address);
                }
            }
            open.others += 1;
        }
        open.bytes += bytes;
        open.end = address + u64::from(bytes);
    }

    /// Writes the command that is being made, if there is one.
    fn close(&mut self) -> Result<(), Forward> {
        let open = core::mem::take(&mut self.open);
        let sectors = open.bytes >> self.transfer.sector_shift;
        if open.bytes == 0 {
            return Ok(());
        }
        if sectors << self.transfer.sector_shift != open.bytes {
            return Err(Forward::Alignment);
        }
        let second_page_or_list = match open.others {
            0 | 1 => open.second,
            _ => self.limits.lists + u64::from(self.number()) * u64::from(PAGE),
        };
        let command = command::Transfer {
            direction: self.transfer.direction,
            number: FIRST_NUMBER + self.number(),
            namespace: self.transfer.namespace,
            sector: self.transfer.sector + u64::from(self.done >> self.transfer.sector_shift),
            sectors,
            through: self.transfer.through,
            first_page: open.first,
            second_page_or_list,
        };
        self.memory.put_command((self.tail + self.count) % self.limits.depth, &command.encode());
        self.count += 1;
        self.numbers |= self.free & self.free.wrapping_neg();
        self.free &= self.free - 1;
        self.done += open.bytes;
        Ok(())
    }
}

impl Open {
    /// Memory from this address on may follow: a whole page after another one, or more of the same page.
    fn continues(&self, address: u64) -> bool {
        let page = u64::from(PAGE);
        let is_same_page = address == self.end && !address.is_multiple_of(page);
        self.bytes == 0 || is_same_page || (self.end | address).is_multiple_of(page)
    }
}

/// Of one command: whole pages, so that a command that ends for this begins the next one at a sector.
fn most_bytes(limits: &Limits, transfer: &Transfer) -> Option<u32> {
    let most = limits.most_bytes.min(LIST_ENTRIES * PAGE).min(MOST_SECTORS << transfer.sector_shift) & !(PAGE - 1);
    (most != 0).then_some(most)
}
