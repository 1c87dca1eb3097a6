// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One process's addresses: what the handlers of `mmap`, `munmap`, `mprotect` and `brk` call.

use super::fresh::{Fresh, Pieces};
use super::list::{Change, Content, Full, List, Range};
use crate::paging::Protection;

const PAGE_BYTES: u64 = 4096;

/// Where a new mapping shall lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    Anywhere,
    /// There if that is free, else anywhere.
    Hint(u64),
    /// There, instead of what is there (`MAP_FIXED`).
    Fixed(u64),
    /// There if that is free (`MAP_FIXED_NOREPLACE`).
    FixedNoReplace(u64),
}

/// Why a call fails. Nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// `EINVAL`.
    Invalid,
    /// `ENOMEM`: no room, a hole, or more mappings than can be remembered.
    NoMemory,
    /// `EEXIST`.
    Exists,
    /// `EFAULT`.
    Fault,
    /// `EACCES`: memory of a shared mapping would become writable.
    Denied,
}

/// Memory that was given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    pub address: u64,
    /// To be zeroed before the program runs on.
    pub zero: Pieces,
}

/// Memory with equal rights and content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    pub address: u64,
    pub bytes: u64,
    pub protection: Protection,
    pub content: Content,
}

/// The addresses of one process.
pub struct Addresses {
    pub(super) base: u64,
    pub(super) pages: u32,
    pub(super) list: List,
    fresh: Fresh,
    program_break: u64,
}

impl Addresses {
    /// Of no memory yet. `memory` remembers the mappings that differ from their neighbours, nine bytes each; nothing is read
    /// of it before.
    pub fn new(memory: &'static mut [u8]) -> Self {
        let list = List::new(memory);
        Self { base: 0, pages: 0, list, fresh: Fresh { first: 0, end: 0 }, program_break: 0 }
    }

    /// Begins anew with this area, all of it zero. Bytes of less than a page, and beyond 16 TiB, are left out.
    pub fn begin(&mut self, address: u64, bytes: u64) {
        self.base = address;
        self.pages = u32::try_from(bytes / PAGE_BYTES).unwrap_or(u32::MAX);
        self.list.clear();
        self.fresh = Fresh { first: 0, end: self.pages };
        self.program_break = address;
    }

    /// `mmap` of `bytes` bytes. `changed` hears of pages that need other rights.
    pub fn map(
        &mut self,
        placement: Placement,
        bytes: u64,
        (protection, content): (Protection, Content),
        changed: impl FnMut(Change),
    ) -> Result<Given, Error> {
        let pages = pages(bytes)?;
        let (first, end) = match placement {
            Placement::Anywhere => self.free_place(pages)?,
            Placement::Hint(address) => {
                let hinted = self.span(address & !(PAGE_BYTES - 1), bytes).ok();
                let free = hinted.filter(|&(first, end)| self.list.is_free(first, end));
                free.map_or_else(|| self.free_place(pages), Ok)?
            }
            Placement::Fixed(address) => self.span(address, bytes)?,
            Placement::FixedNoReplace(address) => {
                let (first, end) = self.span(address, bytes)?;
                if !self.list.is_free(first, end) {
                    return Err(Error::Exists);
                }
                (first, end)
            }
        };
        self.give(first, end, (protection, content.with(protection)), changed)
    }

    /// `munmap`. Holes are no error.
    pub fn unmap(&mut self, address: u64, bytes: u64, changed: impl FnMut(Change)) -> Result<(), Error> {
        let (first, end) = self.span(address, bytes)?;
        self.set(first, end, None, changed)
    }

    /// `mprotect`. All of it must be mapped, and nothing shared that would become writable.
    pub fn protect(
        &mut self,
        address: u64,
        bytes: u64,
        protection: Protection,
        mut changed: impl FnMut(Change),
    ) -> Result<(), Error> {
        if bytes == 0 && address.is_multiple_of(PAGE_BYTES) {
            return Ok(());
        }
        let (first, end) = self.span(address, bytes)?;
        if !self.list.covers(first, end) {
            return Err(Error::NoMemory);
        }
        let shared = |range: Range| range.content == Content::Shared;
        if protection.write && self.list.within(first, end).any(shared) {
            return Err(Error::Denied);
        }
        if let Some(range) = self.list.only(first, end) {
            return self.set(first, end, Some((protection, range.content.with(protection))), changed);
        }
        // Contents stay apart: at most both ends divide a range.
        if self.list.room() < 2 {
            return Err(Error::NoMemory);
        }
        let mut at = first;
        while at < end {
            let range = self.list.within(at, at + 1).next().ok_or(Error::NoMemory)?;
            let until = range.end.min(end);
            self.set(at, until, Some((protection, range.content.with(protection))), &mut changed)?;
            at = until;
        }
        Ok(())
    }

    /// `brk`: the program break after it, which is the old one if `address` cannot be reached, and what to zero.
    pub fn set_break(&mut self, address: u64, changed: impl FnMut(Change)) -> Given {
        let unchanged = Given { address: self.program_break, zero: Pieces::default() };
        let page = |address: u64| u32::try_from(address.checked_sub(self.base)?.div_ceil(PAGE_BYTES)).ok();
        let (Some(new), Some(old)) = (page(address), page(self.program_break)) else { return unchanged };
        if new > self.pages || new > old && !self.list.is_free(old, new) {
            return unchanged;
        }
        let done = match new {
            _ if new > old => {
                self.give(old, new, (Protection::READ_WRITE, Content::Own), changed).map(|given| given.zero)
            }
            _ if new < old => self.set(new, old, None, changed).map(|()| Pieces::default()),
            _ => Ok(Pieces::default()),
        };
        let Ok(zero) = done else { return unchanged };
        self.program_break = address;
        Given { address, zero }
    }

    /// The whole area.
    pub const fn extent(&self) -> core::ops::Range<u64> {
        self.base..self.address(self.pages)
    }

    /// Whether none of it is mapped, and all of it is in the area.
    pub fn is_free(&self, address: u64, bytes: u64) -> bool {
        self.span(address, bytes).is_ok_and(|(first, end)| self.list.is_free(first, end))
    }

    /// Whether all of it is mapped.
    pub fn is_mapped(&self, address: u64, bytes: u64) -> bool {
        self.span(address, bytes).is_ok_and(|(first, end)| self.list.covers(first, end))
    }

    /// The rights at this address; `None`: it is not mapped.
    pub fn protection(&self, address: u64) -> Option<Protection> {
        let (first, end) = self.span(address & !(PAGE_BYTES - 1), 1).ok()?;
        self.list.within(first, end).next().map(|range| range.protection)
    }

    /// All mappings, lowest first.
    pub fn mappings(&self) -> impl Iterator<Item = Mapping> + '_ {
        self.list.all().map(|range| self.mapping(range))
    }

    /// The mappings with memory from `address` on, as far as `bytes` reach.
    pub fn mappings_within(&self, address: u64, bytes: u64) -> impl Iterator<Item = Mapping> + '_ {
        let (first, end) = self.span(address & !(PAGE_BYTES - 1), bytes).unwrap_or((0, 0));
        self.list.within(first, end).map(|range| self.mapping(range))
    }

    fn mapping(&self, Range { first, end, protection, content }: Range) -> Mapping {
        let bytes = u64::from(end - first) * PAGE_BYTES;
        Mapping { address: self.address(first), bytes, protection, content }
    }

    /// The highest free place.
    pub(super) fn free_place(&self, pages: u32) -> Result<(u32, u32), Error> {
        let end = self.list.gap_below(self.pages, pages).ok_or(Error::NoMemory)?;
        Ok((end - pages, end))
    }

    pub(super) fn give(
        &mut self,
        first: u32,
        end: u32,
        to: (Protection, Content),
        changed: impl FnMut(Change),
    ) -> Result<Given, Error> {
        self.set(first, end, Some(to), changed)?;
        let address = |page: u32| self.base + u64::from(page) * PAGE_BYTES;
        let pieces = self.fresh.take(first, end).map(|(low, high)| (address(low), address(high) - address(low)));
        Ok(Given { address: address(first), zero: Pieces { pieces } })
    }

    pub(super) fn set(
        &mut self,
        first: u32,
        end: u32,
        to: Option<(Protection, Content)>,
        changed: impl FnMut(Change),
    ) -> Result<(), Error> {
        let base = self.base;
        let address = |page: u32| base + u64::from(page) * PAGE_BYTES;
        self.list.set(first, end, to, changed, address).map_err(|Full| Error::NoMemory)
    }

    /// The pages from `address` on, which begins one, up to where `bytes` bytes end.
    pub(super) fn span(&self, address: u64, bytes: u64) -> Result<(u32, u32), Error> {
        let pages = pages(bytes)?;
        if !address.is_multiple_of(PAGE_BYTES) {
            return Err(Error::Invalid);
        }
        let offset = address.checked_sub(self.base).ok_or(Error::NoMemory)?;
        let first = u32::try_from(offset / PAGE_BYTES).map_err(|_| Error::NoMemory)?;
        let end = first.checked_add(pages).filter(|&end| end <= self.pages);
        end.map(|end| (first, end)).ok_or(Error::NoMemory)
    }

    pub(super) const fn address(&self, page: u32) -> u64 {
        self.base + page as u64 * PAGE_BYTES
    }
}

pub(super) fn pages(bytes: u64) -> Result<u32, Error> {
    match bytes {
        0 => Err(Error::Invalid),
        _ => u32::try_from(bytes.div_ceil(PAGE_BYTES)).map_err(|_| Error::NoMemory),
    }
}
