// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Divides a node's memory among its processes. Called by the loader once for each job.
//!
//! First the shared memory and what comes from files, each in the smallest piece where it fits, so that large pieces
//! stay whole; then the heaps of given sizes, largest first; the rest is divided evenly. An even heap gives up at
//! most 1/32 of its size for larger pages; one of a given size is as large as it was given.

use super::free::Free;
use super::map::{FilePart, Map, Memory, PARTS, Process};
use super::request::{Missing, PROCESSES, Refused, Request};
use super::segment::{PAGE_BYTES, Part};
use crate::elf::Program;

/// Where the memory lies in a process, if the program does not say. Far apart, so that no part can reach the next.
pub(super) const HEAP_BASE: u64 = 0x1000_0000_0000;
const PROGRAM_BASE: u64 = 0x5555_4000_0000;
pub(super) const SHARED_BASE: u64 = 0x6000_0000_0000;
const INTERPRETER_BASE: u64 = 0x7ffe_0000_0000;
/// Below, a program would lie where null pointers with an offset lead.
const PROGRAM_FIRST: u64 = 0x1_0000;
/// The most bytes that a file of position-independent code may take.
const MOST_BYTES: u64 = 1 << 32;

const PAGE_SIZES_BYTES: [u64; 3] = [1 << 30, 1 << 21, PAGE_BYTES];
/// One part in so many is given up for larger pages.
const PRICE: u64 = 32;

/// Fills `map` as `request` wants it. After an error the map is of no process.
pub fn partition(request: &Request<'_>, map: &mut Map) -> Result<(), Refused> {
    (map.process_count, map.part_count, map.shared) = (0, 0, Memory::NONE);
    let count = request.shares.len();
    if count == 0 || count > PROCESSES {
        return Err(Refused::Processes(count));
    }
    place_files(request, map)?;
    check_shares(request)?;
    let mut free = Free::new(request.ranges)?;
    take_shared(request, map, &mut free)?;
    for process in 0..count {
        take_files(map, &mut free, process)?;
    }
    take_given_heaps(request, map, &mut free)?;
    take_even_heaps(request, map, &mut free)?;
    map.unused_bytes = free.bytes();
    map.process_count = count;
    Ok(())
}

/// Where the program and its dynamic linker lie, and their parts.
fn place_files(request: &Request<'_>, map: &mut Map) -> Result<(), Refused> {
    use Part::{Data, LinkerData, LinkerReadOnlyData, LinkerText, ReadOnlyData, Text};
    map.program_place = place(request.program, PROGRAM_BASE)?;
    add_parts(request.program, map.program_place, [Text, ReadOnlyData, Data], map);
    if let Some(interpreter) = request.interpreter {
        map.interpreter_place = place(interpreter, INTERPRETER_BASE)?;
        let extent = |program: &Program, place: u64| {
            let (first, end) = program.extent();
            (place.wrapping_add(first), place.wrapping_add(end))
        };
        let (first, end) = extent(request.program, map.program_place);
        let (linker, linker_end) = extent(interpreter, map.interpreter_place);
        if first < linker_end && linker < end {
            return Err(Refused::Address(linker));
        }
        add_parts(interpreter, map.interpreter_place, [LinkerText, LinkerReadOnlyData, LinkerData], map);
    }
    Ok(())
}

/// The number to add to the addresses in the file.
fn place(program: &Program, base: u64) -> Result<u64, Refused> {
    let (first, end) = program.extent();
    let fits = if program.relocatable {
        program.alignment <= 1 << 30 && end - first <= MOST_BYTES
    } else {
        first >= PROGRAM_FIRST && end <= HEAP_BASE
    };
    match (fits, program.relocatable) {
        (false, _) => Err(Refused::Address(first)),
        (true, false) => Ok(0),
        // An address beyond the base wraps around to below it: the sums with the file's addresses come out right.
        (true, true) => Ok((base.next_multiple_of(program.alignment)).wrapping_sub(first - first % program.alignment)),
    }
}

fn add_parts(program: &Program, place: u64, names: [Part; 3], map: &mut Map) {
    let [text, read_only, data] = names;
    for segment in program.segments() {
        let part = match segment.protection {
            protection if protection.execute => text,
            protection if protection.write => data,
            _ => read_only,
        };
        let address = place.wrapping_add(segment.first_page());
        let bytes = segment.pages_end() - segment.first_page();
        if let Some(room) = map.parts.get_mut(map.part_count) {
            *room = FilePart { part, address, bytes, protection: segment.protection };
            map.part_count += 1;
        }
    }
}

fn check_shares(request: &Request<'_>) -> Result<(), Refused> {
    let needed = request.least_heap_bytes;
    let short = |&(_, &share): &(usize, &u64)| share != 0 && share < needed;
    request.shares.iter().enumerate().find(short).map_or(Ok(()), |(process, &share_bytes)| {
        Err(Refused::Share { process, share_bytes, missing_bytes: needed - share_bytes })
    })
}

fn take_shared(request: &Request<'_>, map: &mut Map, free: &mut Free) -> Result<(), Refused> {
    let bytes = request.shared_bytes.checked_next_multiple_of(PAGE_BYTES).unwrap_or(request.shared_bytes);
    if bytes > 0 {
        let address = take_aligned(free, bytes, |size| (size <= bytes).then_some(0));
        map.shared = Memory { address: address.ok_or(missing(free, Part::Shared, 0, bytes))?, bytes };
    }
    Ok(())
}

fn take_files(map: &mut Map, free: &mut Free, process: usize) -> Result<(), Refused> {
    let mut taken = Process { parts: [0; PARTS], heap: Memory::NONE };
    for (part, physical) in map.parts.iter().take(map.part_count).zip(&mut taken.parts) {
        // A page of this size lies within the part: then the physical address must agree.
        let agree = |size: u64| {
            let first = part.address.next_multiple_of(size);
            (first + size <= part.address + part.bytes).then_some(part.address % size)
        };
        let address = take_aligned(free, part.bytes, |size| if size == PAGE_BYTES { Some(0) } else { agree(size) });
        *physical = address.ok_or(missing(free, part.part, process, part.bytes))?;
    }
    if let Some(room) = map.processes.get_mut(process) {
        *room = taken;
    }
    Ok(())
}

fn take_given_heaps(request: &Request<'_>, map: &mut Map, free: &mut Free) -> Result<(), Refused> {
    let unplaced = |map: &Map| {
        let all = request.shares.iter().zip(&map.processes).enumerate();
        let left = all.filter(|(_, (share, process))| **share != 0 && process.heap.bytes == 0);
        // The largest first; of equals the first process.
        left.map(|(number, (&share, _))| (share, usize::MAX - number)).max()
    };
    while let Some((share, number)) = unplaced(map) {
        let process = usize::MAX - number;
        let bytes = share.checked_next_multiple_of(PAGE_BYTES).unwrap_or(share);
        let address = take_aligned(free, bytes, |size| (size <= bytes || size == PAGE_BYTES).then_some(0));
        let memory = Memory { address: address.ok_or(missing(free, Part::Heap, process, bytes))?, bytes };
        if let Some(process) = map.processes.get_mut(process) {
            process.heap = memory;
        }
    }
    Ok(())
}

fn take_even_heaps(request: &Request<'_>, map: &mut Map, free: &mut Free) -> Result<(), Refused> {
    let even = |&(_, &share): &(usize, &u64)| share == 0;
    let count = request.shares.iter().enumerate().filter(even).count() as u64;
    let Some((first, _)) = request.shares.iter().enumerate().find(even) else { return Ok(()) };
    let least = request.least_heap_bytes.max(PAGE_BYTES);
    let most = largest_cut(free, count, PAGE_BYTES);
    if most < least {
        let bytes = least - most;
        return Err(Refused::Missing(Missing { part: Part::Heap, process: first, bytes, needed_bytes: least }));
    }
    let worth_it = |&(bytes, _): &(u64, u64)| bytes >= least && bytes >= most - most / PRICE;
    let cuts = PAGE_SIZES_BYTES.map(|size| (largest_cut(free, count, size), size));
    let (bytes, size) = cuts.into_iter().find(worth_it).unwrap_or((most, PAGE_BYTES));
    for (process, _) in request.shares.iter().enumerate().filter(even) {
        let address = free.take(bytes, size, 0).ok_or(missing(free, Part::Heap, process, bytes))?;
        if let Some(process) = map.processes.get_mut(process) {
            process.heap = Memory { address, bytes };
        }
    }
    Ok(())
}

/// The most bytes, a multiple of `granule`, that `count` processes can have in aligned pieces of free memory.
fn largest_cut(free: &Free, count: u64, granule: u64) -> u64 {
    // Larger cuts are fewer: search for the last that are enough.
    let (mut enough, mut too_few) = (0, free.largest() / granule + 1);
    while too_few - enough > 1 {
        let middle = enough + (too_few - enough) / 2;
        if free.cuts(middle * granule, granule) >= count { enough = middle } else { too_few = middle }
    }
    enough * granule
}

/// Takes memory whose address modulo the largest size is what `remainder` wants, where that is possible. `None`: a page
/// of this size is of no use here.
fn take_aligned(free: &mut Free, bytes: u64, remainder: impl Fn(u64) -> Option<u64>) -> Option<u64> {
    PAGE_SIZES_BYTES.into_iter().find_map(|size| free.take(bytes, size, remainder(size)?))
}

fn missing(free: &Free, part: Part, process: usize, needed_bytes: u64) -> Refused {
    let bytes = needed_bytes.saturating_sub(free.largest());
    Refused::Missing(Missing { part, process, bytes, needed_bytes })
}
