// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One process's addresses: what the handlers of `mmap`, `munmap`, `mprotect` and `brk` call.

use super::fresh::{Fresh, Pieces};
use super::list::{Change, Full, List, Range};
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
}

/// Memory that was given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    pub address: u64,
    /// To be zeroed before the program runs on.
    pub zero: Pieces,
}

/// Memory with equal rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    pub address: u64,
    pub bytes: u64,
    pub protection: Protection,
}

/// The addresses of one process, with at most `N` mappings that differ from their neighbours.
pub struct Addresses<const N: usize> {
    pub(super) base: u64,
    pub(super) pages: u32,
    pub(super) list: List<N>,
    fresh: Fresh,
    program_break: u64,
}

impl<const N: usize> Addresses<N> {
    /// Of no memory.
    pub const EMPTY: Self =
        Self { base: 0, pages: 0, list: List::EMPTY, fresh: Fresh { first: 0, end: 0 }, program_break: 0 };

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
        protection: Protection,
        changed: impl FnMut(Change),
    ) -> Result<Given, Error> {
        let pages = pages(bytes)?;
        let (first, end) = match placement {
            Placement::Anywhere => self.free_place(pages)?,
            Placement::Hint(address) => {
                let hinted = self.span(address & !(PAGE_BYTES - 1), bytes).ok();
                let free = hinted.filter(|&(first, end)| self.list.within(first, end).is_empty());
                free.map_or_else(|| self.free_place(pages), Ok)?
            }
            Placement::Fixed(address) => self.span(address, bytes)?,
            Placement::FixedNoReplace(address) => {
                let (first, end) = self.span(address, bytes)?;
                if !self.list.within(first, end).is_empty() {
                    return Err(Error::Exists);
                }
                (first, end)
            }
        };
        self.give(first, end, protection, changed)
    }

    /// `munmap`. Holes are no error.
    pub fn unmap(&mut self, address: u64, bytes: u64, changed: impl FnMut(Change)) -> Result<(), Error> {
        let (first, end) = self.span(address, bytes)?;
        self.set(first, end, None, changed)
    }

    /// `mprotect`. All of it must be mapped.
    pub fn protect(
        &mut self,
        address: u64,
        bytes: u64,
        protection: Protection,
        changed: impl FnMut(Change),
    ) -> Result<(), Error> {
        if bytes == 0 && address.is_multiple_of(PAGE_BYTES) {
            return Ok(());
        }
        let (first, end) = self.span(address, bytes)?;
        if !self.list.covers(first, end) {
            return Err(Error::NoMemory);
        }
        self.set(first, end, Some(protection), changed)
    }

    /// `brk`: the program break after it, which is the old one if `address` cannot be reached, and what to zero.
    pub fn set_break(&mut self, address: u64, changed: impl FnMut(Change)) -> Given {
        let unchanged = Given { address: self.program_break, zero: Pieces::default() };
        let page = |address: u64| u32::try_from(address.checked_sub(self.base)?.div_ceil(PAGE_BYTES)).ok();
        let (Some(new), Some(old)) = (page(address), page(self.program_break)) else { return unchanged };
        if new > self.pages || new > old && !self.list.within(old, new).is_empty() {
            return unchanged;
        }
        let done = match new {
            _ if new > old => self.give(old, new, Protection::READ_WRITE, changed).map(|given| given.zero),
            _ if new < old => self.set(new, old, None, changed).map(|()| Pieces::default()),
            _ => Ok(Pieces::default()),
        };
        let Ok(zero) = done else { return unchanged };
        self.program_break = address;
        Given { address, zero }
    }

    /// Whether all of it is mapped.
    pub fn is_mapped(&self, address: u64, bytes: u64) -> bool {
        self.span(address, bytes).is_ok_and(|(first, end)| self.list.covers(first, end))
    }

    /// The rights at this address; `None`: it is not mapped.
    pub fn protection(&self, address: u64) -> Option<Protection> {
        let (first, end) = self.span(address & !(PAGE_BYTES - 1), 1).ok()?;
        self.list.within(first, end).first().map(|range| range.protection)
    }

    /// All mappings, lowest first.
    pub fn mappings(&self) -> impl Iterator<Item = Mapping> + '_ {
        self.list.all().iter().map(|&Range { first, end, protection }| {
            let bytes = u64::from(end - first) * PAGE_BYTES;
            Mapping { address: self.address(first), bytes, protection }
        })
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
        protection: Protection,
        changed: impl FnMut(Change),
    ) -> Result<Given, Error> {
        self.set(first, end, Some(protection), changed)?;
        let address = |page: u32| self.base + u64::from(page) * PAGE_BYTES;
        let pieces = self.fresh.take(first, end).map(|(low, high)| (address(low), address(high) - address(low)));
        Ok(Given { address: address(first), zero: Pieces { pieces } })
    }

    pub(super) fn set(
        &mut self,
        first: u32,
        end: u32,
        to: Option<Protection>,
        mut changed: impl FnMut(Change),
    ) -> Result<(), Error> {
        let base = self.base;
        let report = |Range { first, end, protection }: Range| {
            let address = base + u64::from(first) * PAGE_BYTES;
            changed(Change { address, bytes: u64::from(end - first) * PAGE_BYTES, protection });
        };
        self.list.set(first, end, to, report).map_err(|Full| Error::NoMemory)
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
