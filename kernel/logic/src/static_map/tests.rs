// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tests of [`super`]: programs and memories of any shape against what a map promises, and a few known maps.

use super::segment::bytes_of;
use super::*;
use crate::elf::Program;
use crate::elf::tests::{Header, MACHINE, head};
use crate::paging::{PageSize, Protection};
use proptest::prelude::*;
use std::boxed::Box;
use std::format;
use std::string::ToString;
use std::vec::Vec;
extern crate std;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const PAGE: u64 = 4096;
/// Rights of segments as ELF has them: executable 1, writable 2, readable 4.
const TEXT: u32 = 5;
const READ: u32 = 4;
const DATA: u32 = 6;

/// A program whose segments are these: pages skipped before, pages, rights.
fn program(relocatable: bool, first: u64, segments: &[(u64, u64, u32)]) -> Program {
    let mut end = first;
    let mut headers: Vec<Header> = Vec::new();
    for &(skipped, pages, rights) in segments {
        let address = end + skipped * PAGE;
        end = address + pages * PAGE;
        // what is not in the file need not be there for a map
        headers.push((1, rights, 0, address, 0, pages * PAGE, PAGE));
    }
    let entry = headers.iter().find(|header| header.1 == TEXT).map_or(first, |header| header.3);
    let kind = if relocatable { 3 } else { 2 };
    Program::parse(&head(kind, entry, &headers), MIB, MACHINE).unwrap()
}

fn hello() -> Program {
    program(false, 0x40_0000, &[(0, 1, READ), (0, 150, TEXT), (0, 40, READ), (3, 9, DATA)])
}

fn linker() -> Program {
    program(true, 0, &[(0, 1, READ), (0, 38, TEXT), (0, 10, READ), (0, 3, DATA)])
}

fn range(address: u64, bytes: u64) -> Range {
    Range { address, bytes }
}

fn made(request: &Request<'_>) -> Result<Box<Map>, Refused> {
    let mut map = Box::new(Map::EMPTY);
    partition(request, &mut map).map(|()| map)
}

fn request<'a>(program: &'a Program, shares: &'a [u64], ranges: &'a [Range]) -> Request<'a> {
    Request { program, interpreter: None, shares, shared_bytes: 0, least_heap_bytes: MIB, ranges }
}

fn numbers(map: &Map) -> Vec<u64> {
    let mut numbers = Vec::new();
    map.numbers(|number| numbers.push(number));
    numbers
}

#[test]
fn a_map_comes_back_from_its_numbers_or_not_at_all() {
    let (hello, linker) = (hello(), linker());
    let ranges = [range(0x1000, 632 * KIB), range(16 * MIB, 3 * GIB - 16 * MIB)];
    let request = Request { interpreter: Some(&linker), shared_bytes: MIB, ..request(&hello, &[0, 64 * MIB], &ranges) };
    let (map, mut read) = (made(&request).unwrap(), Box::new(Map::EMPTY));
    let told = numbers(&map);
    assert!(told.len() <= MOST_NUMBERS);
    read.read(told.clone()).unwrap();
    assert_eq!(format!("{}{}", read.table(), read.text(1)), format!("{}{}", map.table(), map.text(1)));
    assert_eq!((numbers(&read), read.heap(1)), (told.clone(), map.heap(1)));
    assert_eq!(read.read(told[..told.len() - 1].to_vec()), None);
    assert_eq!(read.read([&told[..], &[0]].concat()), None);
}

proptest! {
    /// Nodes that were taken over tell what they want.
    #[test]
    fn any_numbers_are_a_map_that_can_be_told_or_none(
        counts in (0u64..70, 0u64..20),
        numbers in proptest::collection::vec(prop_oneof![Just(u64::MAX), 0u64..3000, (0u64..1 << 52).prop_map(|n| n & !4095)], 0..60),
    ) {
        let mut map = Box::new(Map::EMPTY);
        if map.read([counts.0, counts.1].into_iter().chain(numbers)).is_some() {
            prop_assert!(!map.table().to_string().is_empty());
        }
    }
}

#[test]
fn a_small_machine_is_used_to_the_last_page() {
    let hello = hello();
    let ranges = [range(0x1000, 158 * PAGE), range(0x12_3000, 4 * MIB - 0x12_3000)];
    let map = made(&request(&hello, &[0], &ranges)).unwrap();
    let heap = map.heap(0).unwrap();
    assert_eq!(heap.physical_address + heap.bytes, 4 * MIB);
    // headers and text fill the small range but for 7 pages, the other 49 pages of the program are in the large one
    assert_eq!((map.unused_bytes(), heap.bytes), (7 * PAGE, (733 - 49) * PAGE));
    assert_eq!(map.physical(0, 0x40_1234, 8), Some(0x2234));
    assert_eq!(map.physical(0, heap.virtual_address + heap.bytes - 4, 8), None);
    assert_eq!((map.physical(0, 0x40_0000 - 1, 1), map.physical(1, 0x40_0000, 1)), (None, None));
}

#[test]
fn a_large_machine_needs_few_entries() {
    let (hello, linker) = (hello(), linker());
    let ranges = [range(0x1000, 632 * KIB), range(16 * MIB, 3 * GIB - 16 * MIB), range(4 * GIB, 61 * GIB)];
    let request = Request { interpreter: Some(&linker), shared_bytes: GIB, ..request(&hello, &[0], &ranges) };
    let map = made(&request).unwrap();
    assert_eq!(map.heap(0).unwrap().bytes, 61 * GIB);
    // 252 pages come from files
    assert_eq!(map.entries(0), Entries { kib4: 252, mib2: 0, gib1: 62 });
    let heaps = |shares: &[u64]| -> Vec<u64> {
        let map = made(&Request { shares, ..request }).unwrap();
        (0..shares.len()).map(|process| map.heap(process).unwrap().bytes).collect()
    };
    assert_eq!(heaps(&[0; 4]), [15 * GIB; 4]);
    assert_eq!(heaps(&[8 * GIB, 32 * GIB, 0]), [8 * GIB, 32 * GIB, 21 * GIB]);
}

#[test]
fn what_is_missing_is_named() {
    let hello = hello();
    let refused = |shares: &[u64], shared_bytes: u64, ranges: &[Range]| {
        format!("{}", made(&Request { shared_bytes, ..request(&hello, shares, ranges) }).err().unwrap())
    };
    let small = [range(MIB, 150 * PAGE)];
    assert_eq!(refused(&[0], 0, &small), "text of process 0: 4 KiB are missing of 600 KiB in one piece");
    let medium = [range(MIB, 3 * MIB)];
    assert_eq!(refused(&[0; 2], 0, &medium), "heap of process 0: 288 KiB are missing of 1024 KiB in one piece");
    assert_eq!(refused(&[0], 4 * MIB, &medium), "shared memory: 1024 KiB are missing of 4096 KiB in one piece");
    let uneven = [2 * MIB, 4 * MIB];
    assert_eq!(refused(&uneven, 0, &medium), "heap of process 1: 2624 KiB are missing of 4096 KiB in one piece");
    let share = "process 1: its share of 1000 KiB is 24 KiB less than a heap with stacks needs";
    assert_eq!(refused(&[0, 1000 * KIB], 0, &medium), share);
    assert_eq!(refused(&[], 0, &medium), "0 processes on a node; 1 to 64 are possible");
    assert_eq!(made(&request(&hello, &[0; 65], &medium)).err(), Some(Refused::Processes(65)));
    let overlap = [range(0, MIB), range(MIB - 1, 1)];
    assert_eq!(made(&request(&hello, &[0], &overlap)).err(), Some(Refused::Ranges(0)));
    let low = program(false, 0x1000, &[(0, 1, TEXT)]);
    assert_eq!(made(&request(&low, &[0], &medium)).err(), Some(Refused::Address(0x1000)));
}

#[test]
fn the_table_and_the_lines() {
    let program = program(true, 0, &[(1, 2, TEXT), (0, 1, DATA)]);
    let map = made(&request(&program, &[0], &[range(2 * MIB - 3 * PAGE, 68 * MIB + 4 * PAGE)])).unwrap();
    let lines = "0x555540000000 0x1fd000 8192 4096 r-x text\n\
        0x555540002000 0x1ff000 4096 4096 rw- data\n\
        0x100000200000 0x200000 71303168 2097152 rw- heap\n";
    assert_eq!(format!("{}", map.text(0)), lines);
    let table = "process  part                 virtual       physical          KiB      pages\n      \
        0  text            555540000000         1fd000            8  r-x 2x4K\n      \
        0  data            555540002000         1ff000            4  rw- 1x4K\n      \
        0  heap            100000200000         200000        69632  rw- 34x2M\n\
        TLB entries of a process: at most 37 (34x2M 3x4K)\n\
        TLB entries of all processes: 37 (34x2M 3x4K)\n\
        unused: 4 KiB\n";
    assert_eq!(format!("{}", map.table()), table);
}

fn programs() -> impl Strategy<Value = Program> {
    let segments = prop::collection::vec((0u64..600, prop_oneof![1u64..50, 400u64..1600]), 1..4);
    (any::<bool>(), segments).prop_map(|(relocatable, sizes)| {
        let rights = [TEXT, READ, DATA];
        let segments: Vec<_> = sizes.iter().zip(rights).map(|(&(skip, pages), rights)| (skip, pages, rights)).collect();
        program(relocatable, if relocatable { 0 } else { 0x40_0000 }, &segments)
    })
}

/// Ranges with holes, not always of whole pages.
fn memories() -> impl Strategy<Value = Vec<Range>> {
    let bytes = prop_oneof![1u64..MIB, 8 * MIB..300 * MIB, GIB..80 * GIB];
    prop::collection::vec((0u64..MIB, bytes), 1..8).prop_map(|pairs| {
        let mut end = 0;
        let mut next = |&(hole, bytes): &(u64, u64)| {
            let found = range(end + hole, bytes);
            end = found.end();
            found
        };
        pairs.iter().map(&mut next).collect()
    })
}

fn shares() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(prop_oneof![3 => Just(0), 1 => 10 * MIB..100 * MIB], 1..9)
}

fn apart(mut spans: Vec<(u64, u64)>) -> bool {
    spans.sort_unstable();
    spans.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0)
}

/// At each address the largest page that both addresses and the length allow, and every byte once.
fn check_runs(segment: &Segment) -> Result<(), TestCaseError> {
    let mut offset = 0;
    for run in segment.runs() {
        prop_assert_eq!(run.virtual_address, segment.virtual_address + offset);
        prop_assert_eq!(run.physical_address, segment.physical_address + offset);
        prop_assert!(run.bytes > 0 && run.bytes % bytes_of(run.page) == 0);
        for page in [offset, offset + run.bytes - bytes_of(run.page)] {
            let (from, to) = (segment.virtual_address + page, segment.physical_address + page);
            let fits = |size: &PageSize| (from | to) % bytes_of(*size) == 0 && page + bytes_of(*size) <= segment.bytes;
            let largest = [PageSize::Gib1, PageSize::Mib2, PageSize::Kib4].into_iter().find(fits);
            prop_assert_eq!(Some(run.page), largest);
        }
        offset += run.bytes;
    }
    prop_assert_eq!(offset, segment.bytes);
    Ok(())
}

fn check_map(request: &Request<'_>, map: &Map) -> Result<(), TestCaseError> {
    let mut physical = Vec::new();
    for (process, &share) in request.shares.iter().enumerate() {
        let segments: Vec<Segment> = map.segments(process).collect();
        prop_assert!(apart(segments.iter().map(|segment| (segment.virtual_address, segment.bytes)).collect()));
        segments.iter().try_for_each(check_runs)?;
        let own = segments.iter().filter(|segment| segment.part != Part::Shared || process == 0);
        physical.extend(own.map(|segment| (segment.physical_address, segment.bytes)));
        let heap = map.heap(process).unwrap();
        prop_assert!(share == 0 || heap.bytes == share.next_multiple_of(PAGE));
        prop_assert!(heap.bytes >= request.least_heap_bytes && heap.protection == Protection::READ_WRITE);
    }
    let within = |&(address, bytes): &(u64, u64)| {
        // ranges may touch, and a part may lie across
        let covered = |range: &Range| range.end().min(address + bytes).saturating_sub(range.address.max(address));
        request.ranges.iter().map(covered).sum::<u64>() == bytes
    };
    prop_assert!(physical.iter().all(within));
    let used: u64 = physical.iter().map(|span| span.1).sum();
    prop_assert!(apart(physical));
    let all: u64 = request.ranges.iter().map(|range| range.bytes).sum();
    prop_assert!(used + map.unused_bytes() <= all && all < used + map.unused_bytes() + 16 * PAGE);
    let even = request.shares.iter().enumerate().filter(|(_, share)| **share == 0);
    let mut heaps: Vec<u64> = even.map(|(process, _)| map.heap(process).unwrap().bytes).collect();
    heaps.dedup();
    prop_assert!(heaps.len() <= 1, "not even: {heaps:?}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 2000 }))]

    #[test]
    fn every_map_keeps_its_promises(
        program in programs(), ranges in memories(), shares in shares(), linked in any::<bool>(),
        shared_bytes in prop_oneof![Just(0), 1..MIB, 3 * MIB..20 * MIB],
    ) {
        let linker = linker();
        let interpreter = linked.then_some(&linker);
        let request = Request { interpreter, shared_bytes, ..request(&program, &shares, &ranges) };
        match (made(&request), made(&request)) {
            (Ok(map), Ok(again)) => {
                check_map(&request, &map)?;
                let lines = |map: &Map| -> Vec<_> { (0..shares.len()).flat_map(|n| map.segments(n).collect::<Vec<_>>()).collect() };
                prop_assert_eq!(lines(&map), lines(&again));
            }
            (Err(Refused::Missing(missing)), again) => {
                prop_assert!(missing.bytes > 0 && missing.bytes <= missing.needed_bytes);
                prop_assert_eq!(again.err(), Some(Refused::Missing(missing)));
            }
            (Err(other), _) => prop_assert!(false, "{other}"),
            (Ok(_), Err(_)) => prop_assert!(false, "the second map differs"),
        }
    }

    /// Where a part has room for a larger page at all, it has one if memory is plenty.
    #[test]
    fn plenty_of_memory_means_large_pages(program in programs()) {
        let map = made(&request(&program, &[0], &[range(3 * MIB + PAGE, 64 * GIB)])).unwrap();
        for segment in map.segments(0) {
            let first = segment.virtual_address.next_multiple_of(2 * MIB);
            let room = (segment.virtual_address + segment.bytes).saturating_sub(first) / (2 * MIB);
            let entries = segment.entries();
            prop_assert!(segment.part == Part::Heap || entries.mib2 == room, "{segment:?}: {entries}");
        }
        prop_assert!(map.entries(0).gib1 >= 62);
    }
}
