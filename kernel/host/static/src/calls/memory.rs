// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A process's calls about its memory: mmap(2), munmap(2), mprotect(2), mremap(2), brk(2), madvise(2).
//!
//! All memory is mapped before the program starts. The calls give out addresses of the heap, clear memory that was used
//! before, and change rights where a program asks for others than read and write. Large reservations lie elsewhere
//! (`reserved`).
//!
//! A file that is mapped is copied as a whole (MAP_COPY): no page of it comes later. So nothing may be asked of the copy that
//! only the file could give. A shared mapping of a file that somebody could write by this descriptor is refused, a copy
//! never becomes longer, and one that was written cannot be made as the file again.

use crate::base::layout::{Area, Layout, PAGE_BYTES, errno, may_discard};
use crate::base::{StaticHost, Subject};
use crate::ship::result;
use tacet_arch::Processor;
use tacet_logic::addresses::{Change, Content, Error, Pieces, Placement, Remap, Where};
use tacet_logic::paging::Protection;
use tacet_wire::calls::number;
use tacet_wire::errno::Errno;

/// Linux reads at most so much at once; so do copies of files.
const PIECE_BYTES: u64 = tacet_wire::packet::LARGE_PIECE_BYTES as u64;
/// A reservation that is larger than such a part of the heap gets addresses without memory.
const RESERVED_PART: u64 = 16;

/// include/uapi/linux/mman.h and asm-generic/mman-common.h
const PROT_READ: u64 = 1;
const PROT_WRITE: u64 = 2;
const PROT_EXEC: u64 = 4;
/// PROT_GROWSDOWN and PROT_GROWSUP
const PROT_GROWS: u64 = 0x300_0000;
const MAP_TYPE: u64 = 15;
const MAP_SHARED: u64 = 1;
const MAP_PRIVATE: u64 = 2;
const MAP_SHARED_VALIDATE: u64 = 3;
const MAP_FIXED: u64 = 0x10;
const MAP_ANONYMOUS: u64 = 0x20;
const MAP_32BIT: u64 = 0x40;
const MAP_FIXED_NOREPLACE: u64 = 0x10_0000;
const MREMAP_MAYMOVE: u64 = 1;
const MREMAP_FIXED: u64 = 2;
const MADV_FREE: u64 = 8;
const MADV_REMOVE: u64 = 9;
/// The end of a program's addresses.
const USER_END: u64 = 0x7fff_ffff_f000;

/// include/uapi/asm-generic/fcntl.h
const F_GETFL: u64 = 3;
const O_ACCMODE: u64 = 3;
const O_RDONLY: u64 = 0;
const O_WRONLY: u64 = 1;

fn protection(bits: u64) -> Protection {
    let has = |bit| bits & bit != 0;
    Protection { read: has(PROT_READ | PROT_WRITE | PROT_EXEC), write: has(PROT_WRITE), execute: has(PROT_EXEC) }
}

/// Changes of rights in progress.
struct Rights<'a> {
    subject: &'a Subject<'a>,
    changed: bool,
    failed: bool,
}

impl Rights<'_> {
    fn change(&mut self, change: Change) {
        let Change { address, bytes, protection } = change;
        let done = self.subject.process.space.with(|space| space.as_mut()?.protect(address, bytes, protection).ok());
        self.changed = true;
        self.failed |= done.is_none();
    }
}

/// Changes the rights of a range of pages, in the heap and in what is beside it. As on Linux, what is before a hole has
/// changed when the hole is met.
fn protect(
    subject: &Subject<'_>,
    layout: &mut Layout,
    address: u64,
    bytes: u64,
    wanted: Protection,
    changed: &mut dyn FnMut(Change),
) -> Result<(), Error> {
    let end = address.checked_add(bytes).ok_or(Error::NoMemory)?;
    let heap = layout.heap.clone();
    let mut at = address;
    while at < end {
        if heap.contains(&at) {
            let until = end.min(heap.end);
            layout.addresses.protect(at, until - at, wanted, &mut *changed)?;
            at = until;
            continue;
        }
        let (_, left, rights) = subject.process.find(at).ok_or(Error::NoMemory)?;
        let next = at.saturating_add(left).min(end);
        let until = if at < heap.start { next.min(heap.start) } else { next };
        if rights != wanted {
            changed(Change { address: at, bytes: until - at, protection: wanted });
        }
        at = until;
    }
    Ok(())
}

impl StaticHost {
    /// Changes the process's addresses by `work`, which is told where to report changes of rights, and clears what it
    /// gives to clear. All under the lock: no other thread finds memory that is not ready.
    fn change_addresses<T>(
        &self,
        subject: &Subject<'_>,
        work: impl FnOnce(&mut Layout, &mut dyn FnMut(Change)) -> Result<(T, Pieces), Error>,
    ) -> Result<T, Errno> {
        subject.process.memory.with(|layout| {
            let mut rights = Rights { subject, changed: false, failed: false };
            let done = work(layout, &mut |change| rights.change(change)).map_err(errno);
            // Under the lock: whoever changes these pages next flushes after this, and no fault is looked at in between.
            if rights.changed {
                self.cpu.flush(subject.process.root());
            }
            let (result, zero) = done?;
            for (address, bytes) in zero {
                subject.memory.zero(address, bytes).ok_or(Errno::ENOMEM)?;
            }
            if rights.failed { Err(Errno::ENOMEM) } else { Ok(result) }
        })
    }

    pub fn mmap(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [address, bytes, bits, flags, descriptor, offset] = *arguments;
        let file = (flags & MAP_ANONYMOUS == 0).then_some((descriptor, offset));
        let shared = matches!(flags & MAP_TYPE, MAP_SHARED | MAP_SHARED_VALIDATE);
        let refused = match () {
            () if bytes == 0 || !offset.is_multiple_of(PAGE_BYTES) => Some(Errno::EINVAL),
            () if bytes > USER_END => Some(Errno::ENOMEM),
            () if !shared && flags & MAP_TYPE != MAP_PRIVATE => Some(Errno::EINVAL),
            () => None,
        };
        if let Some(refused) = refused {
            // a descriptor that is none comes first
            return Err(self.access_mode(subject, descriptor).err().filter(|_| file.is_some()).unwrap_or(refused));
        }
        if shared && let Some((descriptor, _)) = file {
            self.may_map_shared(subject, descriptor, bits)?;
        }
        let content = match file {
            None => Content::Own,
            Some(_) if shared => Content::Shared,
            Some(_) => Content::File,
        };
        let placement = match flags & (MAP_FIXED | MAP_FIXED_NOREPLACE) {
            0 if address == 0 => Placement::Anywhere,
            0 => Placement::Hint(address),
            flag if flag & MAP_FIXED_NOREPLACE != 0 => Placement::FixedNoReplace(address),
            _ => Placement::Fixed(address),
        };
        let given = self.change_addresses(subject, |layout, changed| {
            let heap_bytes = layout.heap.end - layout.heap.start;
            let is_free = matches!(placement, Placement::Anywhere | Placement::Hint(_));
            let reserves = is_free && file.is_none() && bits == 0 && bytes > heap_bytes / RESERVED_PART;
            let page = address & !(PAGE_BYTES - 1);
            let area = match () {
                () if is_free && flags & MAP_32BIT != 0 => Some(Area::Low),
                () if reserves => Some(Area::Reserved),
                // a hint that cannot be taken says nothing of the area
                () => layout.area_of(address, bytes).filter(|&area| !is_free || layout.area(area).is_free(page, bytes)),
            };
            if let Some(area) = area {
                let given =
                    self.map_reserved(subject, layout, area, (placement, bytes), (protection(bits), content))?;
                return Ok((given, Pieces::default()));
            }
            let given = layout.addresses.map(placement, bytes, (protection(bits), content), changed)?;
            Ok((given.address, given.zero))
        })?;
        let Some((descriptor, offset)) = file else { return Ok(given) };
        let copied = self.copy_file(subject, descriptor, offset, given, bytes);
        copied.map(|()| given).map_err(|error| {
            let _ = self.munmap(subject, &[given, bytes, 0, 0, 0, 0]);
            match self.access_mode(subject, descriptor) {
                Ok(O_WRONLY) => Errno::EACCES, // as mmap(2) says it, not read(2)
                _ => error,
            }
        })
    }

    /// A shared mapping is a copy, which nobody notices if the program cannot write the file by this descriptor.
    fn may_map_shared(&self, subject: &Subject<'_>, descriptor: u64, bits: u64) -> Result<(), Errno> {
        match self.access_mode(subject, descriptor)? {
            O_RDONLY if bits & PROT_WRITE == 0 => Ok(()),
            O_RDONLY | O_WRONLY => Err(Errno::EACCES),
            _ => Err(Errno::ENODEV), // this file cannot be mapped so
        }
    }

    fn access_mode(&self, subject: &Subject<'_>, descriptor: u64) -> Result<u64, Errno> {
        let flags = self.ship_call(subject, number::FCNTL, &[descriptor, F_GETFL, 0, 0, 0, 0]);
        result(flags).map(|flags| flags & O_ACCMODE)
    }

    /// Copies a file to memory that was just given out; what is beyond its end is zero.
    fn copy_file(
        &self,
        subject: &Subject<'_>,
        descriptor: u64,
        offset: u64,
        address: u64,
        bytes: u64,
    ) -> Result<(), Errno> {
        let mut done = 0;
        while done < bytes {
            let piece = (bytes - done).min(PIECE_BYTES);
            match self.read_file(subject, descriptor, offset + done, address + done, piece)? {
                0 => break,
                read => done += read,
            }
        }
        Ok(())
    }

    pub fn munmap(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [address, bytes, ..] = *arguments;
        if !address.is_multiple_of(PAGE_BYTES) || bytes == 0 {
            return Err(Errno::EINVAL);
        }
        self.change_addresses(subject, |layout, changed| {
            // The program itself stays.
            let end = address.checked_add(bytes).ok_or(Error::Invalid)?;
            let (first, last) = (address.max(layout.heap.start), end.min(layout.heap.end));
            if first < last {
                layout.addresses.unmap(first, last - first, changed)?;
            }
            for area in [Area::Low, Area::Reserved] {
                let extent = layout.area(area).extent();
                let (first, last) = (address.max(extent.start), end.min(extent.end));
                if first < last {
                    self.unmap_reserved(subject, layout, area, (first, last - first))?;
                }
            }
            Ok((0, Pieces::default()))
        })
    }

    pub fn mprotect(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [address, bytes, bits, ..] = *arguments;
        let unknown = bits & !(PROT_READ | PROT_WRITE | PROT_EXEC) != 0;
        let both = bits & PROT_GROWS == PROT_GROWS;
        if both || !address.is_multiple_of(PAGE_BYTES) || bytes != 0 && unknown {
            return Err(Errno::EINVAL);
        }
        let bytes = bytes.checked_next_multiple_of(PAGE_BYTES).ok_or(Errno::ENOMEM)?;
        let wanted = protection(bits);
        self.change_addresses(subject, |layout, changed| {
            if let Some(area) = layout.area_of(address, bytes) {
                self.protect_reserved(subject, layout, area, (address, bytes), wanted)?;
            } else {
                protect(subject, layout, address, bytes, wanted, changed)?;
            }
            Ok((0, Pieces::default()))
        })
    }

    pub fn mremap(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [address, old_bytes, new_bytes, flags, place, _] = *arguments;
        let to = match flags {
            0 => Where::Stays,
            MREMAP_MAYMOVE => Where::Anywhere,
            flags if flags == MREMAP_MAYMOVE | MREMAP_FIXED => Where::Fixed(place),
            _ => return Err(Errno::EINVAL),
        };
        self.change_addresses(subject, |layout, changed| {
            let remap = Remap { address, old_bytes, new_bytes, to };
            if self.leaves_heap(layout, &remap) {
                return Ok((self.remap_apart(subject, layout, remap, changed)?, Pieces::default()));
            }
            let remapped = layout.addresses.remap(remap, changed)?;
            if remapped.copy_bytes > 0 {
                subject.memory.copy(address, remapped.address, remapped.copy_bytes).ok_or(Error::Fault)?;
            }
            Ok((remapped.address, remapped.zero))
        })
    }

    /// It gives the program break, whatever happens.
    pub fn brk(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [address, ..] = *arguments;
        self.change_addresses(subject, |layout, changed| {
            let given = layout.addresses.set_break(address, changed);
            Ok((given.address, given.zero))
        })
    }

    pub fn madvise(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [address, bytes, advice, ..] = *arguments;
        let bytes = bytes.checked_next_multiple_of(PAGE_BYTES).ok_or(Errno::EINVAL)?;
        if !address.is_multiple_of(PAGE_BYTES) || address.checked_add(bytes).is_none() {
            return Err(Errno::EINVAL);
        }
        match advice {
            MADV_REMOVE if bytes == 0 => Ok(0),
            // DONTNEED, FREE, DONTNEED_LOCKED
            4 | MADV_FREE | 24 => subject.process.memory.with(|layout| {
                if let Some(area) = layout.area_of(address, bytes) {
                    return self.discard_reserved(subject, layout, area, (address, bytes), advice == MADV_FREE);
                }
                if !layout.has(address, bytes) {
                    return Err(Errno::ENOMEM);
                }
                may_discard(layout.addresses.mappings_within(address, bytes), advice == MADV_FREE)?;
                for mapping in layout.addresses.mappings_within(address, bytes) {
                    let start = address.max(mapping.address);
                    let end = (address + bytes).min(mapping.address + mapping.bytes);
                    if mapping.content == Content::Own {
                        subject.memory.zero(start, end - start).ok_or(Errno::ENOMEM)?;
                    }
                }
                if layout.addresses.is_mapped(address, bytes) { Ok(0) } else { Err(Errno::ENOMEM) }
            }),
            // hints, and what is always so here
            0..=3 | 10..=25 => subject.process.memory.with(|layout| {
                let hole = layout.has(address, bytes) && bytes > 0 && !layout.addresses.is_mapped(address, bytes);
                if hole { Err(Errno::ENOMEM) } else { Ok(0) }
            }),
            _ => Err(Errno::EINVAL),
        }
    }

    /// All memory is there, and stays.
    pub fn msync(&self, _: &Subject<'_>, _: &[u64; 6]) -> Result<u64, Errno> {
        Ok(0)
    }

    pub fn mlock(&self, _: &Subject<'_>, _: &[u64; 6]) -> Result<u64, Errno> {
        Ok(0)
    }

    pub fn mlock2(&self, _: &Subject<'_>, _: &[u64; 6]) -> Result<u64, Errno> {
        Ok(0)
    }

    pub fn munlock(&self, _: &Subject<'_>, _: &[u64; 6]) -> Result<u64, Errno> {
        Ok(0)
    }

    pub fn mlockall(&self, _: &Subject<'_>, _: &[u64; 6]) -> Result<u64, Errno> {
        Ok(0)
    }

    pub fn munlockall(&self, _: &Subject<'_>, _: &[u64; 6]) -> Result<u64, Errno> {
        Ok(0)
    }

    /// mincore(2): all memory is there.
    pub fn mincore(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [address, bytes, vector, ..] = *arguments;
        for page in 0..bytes.div_ceil(PAGE_BYTES) {
            subject.process.find(address.wrapping_add(page * PAGE_BYTES)).ok_or(Errno::ENOMEM)?;
            subject.memory.write(vector.wrapping_add(page), &[1]).ok_or(Errno::EFAULT)?;
        }
        Ok(0)
    }
}
