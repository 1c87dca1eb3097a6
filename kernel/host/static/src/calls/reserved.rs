// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Addresses apart from the heap, which have no memory until a program asks for it: large reservations (mmap(2) with
//! PROT_NONE), and those below 2 GiB (`MAP_32BIT`).
//!
//! Language runtimes reserve more addresses than a node has memory, and then use small parts. Such a reservation lies in
//! an area of its own. A call that makes a part of an area accessible takes memory from the heap and maps it there at
//! once, so no page ever faults in. `munmap`, and `mmap` over it, give the memory back.
//!
//! Called by `memory` and `moved` with the lock of the process's layout held. The part of the heap that stands behind such a page
//! counts as given out; the program could reach it there too, as it can memory that it gave back. The page tables alone
//! know which part it is: the heap is one piece of RAM, so a physical address tells it.

use crate::base::layout::{Area, Layout, PAGE_BYTES, errno, may_discard};
use crate::base::{StaticHost, Subject};
use crate::machine::Segment;
use tacet_arch::Processor;
use tacet_logic::addresses::{Content, Error, Placement};
use tacet_logic::paging::{PageSize, Protection};
use tacet_wire::errno::Errno;

impl StaticHost {
    /// mmap(2).
    pub fn map_reserved(
        &self,
        subject: &Subject<'_>,
        layout: &mut Layout,
        area: Area,
        (placement, bytes): (Placement, u64),
        (protection, content): (Protection, Content),
    ) -> Result<u64, Error> {
        let given = layout.area_mut(area).map(placement, bytes, (protection, content), |_| {})?.address;
        let bytes = bytes.next_multiple_of(PAGE_BYTES);
        let done = self.release(subject, layout, given, bytes);
        let done = done.and_then(|()| self.make_accessible(subject, layout, given, bytes, protection));
        if let Err(error) = done {
            let _ = self.release(subject, layout, given, bytes);
            layout.area_mut(area).protect(given, bytes, Protection::NONE, |_| {})?;
            return Err(error);
        }
        Ok(given)
    }

    pub fn unmap_reserved(
        &self,
        subject: &Subject<'_>,
        layout: &mut Layout,
        area: Area,
        (address, bytes): (u64, u64),
    ) -> Result<(), Error> {
        layout.area_mut(area).unmap(address, bytes, |_| {})?;
        self.release(subject, layout, address, bytes.next_multiple_of(PAGE_BYTES))
    }

    /// mprotect(2). All of it must be mapped.
    pub fn protect_reserved(
        &self,
        subject: &Subject<'_>,
        layout: &mut Layout,
        area: Area,
        (address, bytes): (u64, u64),
        protection: Protection,
    ) -> Result<(), Error> {
        layout.area_mut(area).protect(address, bytes, protection, |_| {})?;
        self.make_accessible(subject, layout, address, bytes, protection)
    }

    /// MADV_DONTNEED, MADV_FREE: the memory stays, and the program's own is zero.
    pub fn discard_reserved(
        &self,
        subject: &Subject<'_>,
        layout: &Layout,
        area: Area,
        (address, bytes): (u64, u64),
        frees: bool,
    ) -> Result<u64, Errno> {
        let area = layout.area(area);
        if !area.is_mapped(address, bytes) {
            return Err(Errno::ENOMEM);
        }
        may_discard(area.mappings_within(address, bytes), frees)?;
        for mapping in area.mappings_within(address, bytes) {
            if mapping.content != Content::Own {
                continue;
            }
            let start = address.max(mapping.address);
            let end = (address + bytes).min(mapping.address + mapping.bytes);
            let zeroed = each_stretch(subject, start, end - start, |at, bytes, physical| match physical {
                Some(_) => subject.memory.zero(at, bytes).ok_or(Error::Fault),
                None => Ok(()),
            });
            zeroed.map_err(errno)?;
        }
        Ok(0)
    }

    /// Gives these rights to pages that have memory, and memory to those that have none.
    pub fn make_accessible(
        &self,
        subject: &Subject<'_>,
        layout: &mut Layout,
        address: u64,
        bytes: u64,
        rights: Protection,
    ) -> Result<(), Error> {
        let done = each_stretch(subject, address, bytes, |at, bytes, physical| match physical {
            Some(_) => {
                let changed = subject.process.space.with(|space| space.as_mut()?.protect(at, bytes, rights).ok());
                changed.ok_or(Error::NoMemory)
            }
            None if rights.is_none() => Ok(()),
            None => self.supply(subject, layout, at, bytes, rights),
        });
        self.cpu.flush(subject.process.root());
        done
    }

    /// Takes memory from the heap and maps it at addresses where nothing is.
    fn supply(
        &self,
        subject: &Subject<'_>,
        layout: &mut Layout,
        address: u64,
        bytes: u64,
        rights: Protection,
    ) -> Result<(), Error> {
        let given = layout.addresses.map(Placement::Anywhere, bytes, (Protection::READ_WRITE, Content::Own), |_| {})?;
        for (at, bytes) in given.zero {
            subject.memory.zero(at, bytes).ok_or(Error::NoMemory)?;
        }
        // Small pages: where large ones were and went, their tables stay.
        let mapped = subject.process.space.with(|space| {
            let space = space.as_mut()?;
            let physical = space.find(given.address)?.0;
            let segment = Segment { address, physical, bytes, page: PageSize::Kib4, rights };
            let mapped = space.map(self.ram, segment).ok();
            if mapped.is_none() {
                // some of it may be there
                let _ = space.unmap(address, bytes);
            }
            mapped
        });
        if mapped.is_none() {
            layout.addresses.unmap(given.address, bytes, |_| {})?;
        }
        mapped.ok_or(Error::NoMemory)
    }

    /// Takes the memory away from these addresses; the heap has it again.
    fn release(&self, subject: &Subject<'_>, layout: &mut Layout, address: u64, bytes: u64) -> Result<(), Error> {
        let base = subject.process.find(layout.heap.start).ok_or(Error::NoMemory)?.0;
        let mut released = false;
        let done = each_stretch(subject, address, bytes, |at, bytes, physical| {
            let Some(physical) = physical else { return Ok(()) };
            let unmapped = subject.process.space.with(|space| space.as_mut()?.unmap(at, bytes).ok());
            unmapped.ok_or(Error::NoMemory)?;
            released = true;
            let behind = layout.heap.start + physical.checked_sub(base).ok_or(Error::NoMemory)?;
            layout.addresses.unmap(behind, bytes, |_| {})
        });
        if released {
            // No thread gets the memory before: the layout's lock is held.
            self.cpu.flush(subject.process.root());
        }
        done
    }
}

/// Calls `work` for each stretch of these addresses: where it begins, its length, and where its memory is, if it has some.
pub fn each_stretch(
    subject: &Subject<'_>,
    address: u64,
    bytes: u64,
    mut work: impl FnMut(u64, u64, Option<u64>) -> Result<(), Error>,
) -> Result<(), Error> {
    let (mut at, end) = (address, address + bytes);
    while at < end {
        let stretch = subject.process.space.with(|space| space.as_ref().map(|space| space.stretch(at, end)));
        let stretch = stretch.ok_or(Error::NoMemory)?;
        work(at, stretch.bytes, stretch.physical)?;
        at += stretch.bytes;
    }
    Ok(())
}
