// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `mremap`: memory of a process that becomes shorter, longer, or lies elsewhere.

use super::area::{Addresses, Error};
use super::fresh::Pieces;
use super::list::{Change, Content};

/// Whether the memory may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    Stays,
    /// If it cannot grow where it is (`MREMAP_MAYMOVE`).
    Anywhere,
    /// There, instead of what is there (`MREMAP_FIXED`).
    Fixed(u64),
}

/// The arguments of `mremap`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remap {
    pub address: u64,
    pub old_bytes: u64,
    pub new_bytes: u64,
    pub to: Where,
}

/// Where the memory is now. If that is elsewhere, the caller copies first and zeroes then; the old place is free, and
/// its contents are untouched until the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remapped {
    pub address: u64,
    /// To be copied from the old place.
    pub copy_bytes: u64,
    pub zero: Pieces,
}

/// A move takes a range out, may divide two others, and adds one.
const MOVE_ROOM: usize = 4;

impl Addresses {
    /// `mremap` of memory whose rights and content are the same everywhere. A copy of a file does not become longer.
    /// `changed` hears of pages that need other rights.
    pub fn remap(&mut self, remap: Remap, mut changed: impl FnMut(Change)) -> Result<Remapped, Error> {
        let Remap { address, old_bytes, new_bytes, to } = remap;
        let (first, old_end) = self.span(address, old_bytes).map_err(|error| match error {
            Error::NoMemory => Error::Fault,
            other => other,
        })?;
        let new_pages = super::area::pages(new_bytes)?;
        let range = self.list.only(first, old_end).ok_or(Error::Fault)?;
        let like = (range.protection, range.content);
        if range.content != Content::Own && new_pages > old_end - first {
            return Err(Error::NoMemory);
        }
        let stays = Remapped { address, copy_bytes: 0, zero: Pieces::default() };
        let new_end = first.checked_add(new_pages).filter(|&end| end <= self.pages);
        match (to, new_end) {
            (Where::Fixed(place), _) => {
                let (new_first, new_end) = self.span(place, new_bytes)?;
                if new_first < old_end && first < new_end {
                    return Err(Error::Invalid);
                }
                self.relocate((first, old_end), (new_first, new_end), changed)
            }
            (_, Some(end)) if end < old_end => self.set(end, old_end, None, changed).map(|()| stays),
            (_, Some(end)) if end == old_end => Ok(stays),
            (_, Some(end)) if self.list.is_free(old_end, end) => {
                let zero = self.give(old_end, end, like, &mut changed)?.zero;
                Ok(Remapped { zero, ..stays })
            }
            (Where::Anywhere, _) => {
                let place = self.free_place(new_pages)?;
                self.relocate((first, old_end), place, changed)
            }
            (Where::Stays, _) => Err(Error::NoMemory),
        }
    }

    /// Gives out the new pages with the rights of the old ones, which are given back. The two do not overlap.
    fn relocate(
        &mut self,
        old: (u32, u32),
        new: (u32, u32),
        mut changed: impl FnMut(Change),
    ) -> Result<Remapped, Error> {
        if self.list.room() < MOVE_ROOM {
            return Err(Error::NoMemory);
        }
        let range = self.list.within(old.0, old.1).next().ok_or(Error::Fault)?;
        let given = self.give(new.0, new.1, (range.protection, range.content), &mut changed)?;
        self.set(old.0, old.1, None, &mut changed)?;
        let copied = (old.1 - old.0).min(new.1 - new.0);
        // Pages that receive a copy need no zeroes.
        let filled = self.address(new.0 + copied);
        let pieces = given.zero.pieces.map(|(address, bytes)| {
            let first = address.max(filled);
            (first, (address + bytes).saturating_sub(first))
        });
        let copy_bytes = self.address(new.0 + copied) - given.address;
        Ok(Remapped { address: given.address, copy_bytes, zero: Pieces { pieces } })
    }
}
