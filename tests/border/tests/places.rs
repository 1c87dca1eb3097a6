// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where a range lies: nowhere where another tool has a fixed place, and at enough random places. Every outcome of the
//! choice is counted; nothing is sampled.

use std::collections::BTreeSet;
use std::ops::Range;

use tacet_border::{border, borders, heap, leaves_room, places, top};

const BYTES: u64 = 512 << 30;
const PAGES: u64 = BYTES >> 12;
/// Pages of the first quarter: the heap's.
const HEAP_PAGES: u64 = PAGES / 4;

/// Addresses that a tool uses itself, or forbids to all others (compiler-rt/lib, the runtimes' own sources).
const TAKEN: &[(&str, Range<u64>)] = &[
    ("page 0 and programs at fixed addresses", 0..0x1_0000_0000),
    ("Java's compressed addresses", 0..0x20_0000_0000),
    ("Go's heap", 0xc0_0000_0000..0x100_0000_0000),
    ("Java's ZGC", 0x400_0000_0000..0x2000_0000_0000),
    ("V8's random hints", 0..0x4000_0000_0000),
    ("Valgrind", 0..0x1000_0000_0000),
    ("Wine's own libraries", 0x6fff_0000_0000..0x7000_0000_0000),
    ("Wine's reservation below the stack", 0x7ff0_0000_0000..0x8000_0000_0000),
    ("address sanitizer: shadow", 0x7fff_8000..0x1000_7fff_8000),
    ("address sanitizer: heap", 0x6000_0000_0000..0x6400_1000_0000),
    ("address sanitizer: heap, from LLVM 17", 0x5000_0000_0000..0x5400_1000_0000),
    ("memory sanitizer: shadow and origins 2 and 3", 0x100_0000_0000..0x5100_0000_0000),
    ("memory sanitizer: origins 1", 0x6000_0000_0000..0x7000_0000_0000),
    ("memory sanitizer: heap", 0x7000_0000_0000..0x7800_0000_0000),
    ("thread sanitizer: heap, to LLVM 17", 0x7b00_0000_0000..0x7c00_0000_0000),
    ("thread sanitizer: heap, LLVM 18", 0x7200_0000_0000..0x7300_0000_0000),
    ("thread sanitizer: heap, from LLVM 20", 0x7a00_0000_0000..0x7b00_0000_0000),
    ("type sanitizer: shadow", 0x100_0000_0000..0x4100_0000_0000),
    ("libraries that share an address between programs", 0x5a00_0000_0000..0x7a00_0000_0000),
];

/// The thread sanitizer refuses to start if a mapping lies outside these, whatever is there (tsan_platform.h).
const PROGRAMS_TO_LLVM_17: [Range<u64>; 2] = [0x5500_0000_0000..0x5680_0000_0000, 0x7e80_0000_0000..0x8000_0000_0000];
const PROGRAMS_FROM_LLVM_18: [Range<u64>; 2] = [0x5500_0000_0000..0x5a00_0000_0000, 0x7a00_0000_0000..0x8000_0000_0000];
const PROGRAMS_FROM_LLVM_20: [Range<u64>; 2] = [0x5500_0000_0000..0x5a00_0000_0000, 0x7c00_0000_0000..0x8000_0000_0000];

fn all_places() -> BTreeSet<u64> {
    (0..1 << 16).flat_map(|random| places(random, false)).collect()
}

#[test]
fn no_range_lies_where_another_tool_has_a_fixed_place() {
    for base in all_places() {
        for (tool, taken) in TAKEN {
            assert!(base + BYTES <= taken.start || base >= taken.end, "{base:#x} is where {tool} is");
        }
        for programs in [PROGRAMS_TO_LLVM_17, PROGRAMS_FROM_LLVM_18, PROGRAMS_FROM_LLVM_20] {
            let within = |place: &Range<u64>| base >= place.start && base + BYTES <= place.end;
            assert!(programs.iter().any(within), "the thread sanitizer expects nothing at {base:#x}");
        }
    }
}

/// Whatever the number is, all places are tried, each once, and aligned; without randomisation never the program's.
#[test]
fn every_place_is_tried() {
    let all = all_places();
    for random in 0..1 << 16 {
        let tried = places(random, false);
        assert_eq!(tried.len(), all.len());
        assert_eq!(tried.into_iter().collect::<BTreeSet<_>>(), all);
    }
    assert!(all.iter().all(|base| base.is_multiple_of(BYTES)));
    assert_ne!(places(0, false)[0], 0x5555_5555_4000 & !(BYTES - 1));
}

/// A position-independent program covers at most two of the places below the middle, its libraries at most two of the
/// others: one is free.
#[test]
fn one_place_is_always_free() {
    let (low, high): (Vec<u64>, Vec<u64>) = all_places().into_iter().partition(|&base| base < 0x6000_0000_0000);
    assert_eq!((low.len(), high.len()), (3, 2));
}

#[test]
fn linux_has_room_below_its_mappings() {
    let base = 0x7e80_0000_0000;
    let end = base + BYTES;
    assert!(!leaves_room(base, end));
    assert!(!leaves_room(base, end + (64 << 30) - 1));
    assert!(leaves_room(base, end + (64 << 30)));
    assert!(leaves_room(base, base), "mappings lie below it");
}

/// Exactly: 2^25 first pages of mappings in each place (2^16 of mappings with large pages), and 2^24 of the heap.
#[test]
fn a_range_has_more_than_sixteen_random_bits() {
    let tops = count(0..1 << 25, |random| u64::from(top(random)), 1);
    assert_eq!(tops, 1 << 25);
    let large = count(0..1 << 25, |random| u64::from(top(random)) - 512, 512);
    assert!(large >= 1 << 16, "{large}");
    let heaps = count(0..1 << 24, |random| u64::from(heap(random, 0)), 1);
    assert_eq!(heaps, 1 << 24);
    for random in [0, 1, u32::MAX / 2, u32::MAX] {
        assert!(u64::from(top(random)) < PAGES && u64::from(top(random)) > PAGES / 2);
        assert!(u64::from(heap(random, 3 << 21)) < HEAP_PAGES);
        assert!(heap(random, 513) >= 1024 + 512);
    }
}

/// The number of different values, in units of `unit`.
fn count(randoms: Range<u32>, of: impl Fn(u32) -> u64, unit: u64) -> usize {
    let mut seen = vec![0u64; (PAGES / 64) as usize];
    for random in randoms {
        let value = of(random) / unit;
        seen[(value / 64) as usize] |= 1 << (value % 64);
    }
    seen.iter().map(|word| word.count_ones() as usize).sum()
}

/// Exactly: a moved program has 41 * 2048 addresses, whatever its alignment is. If it cannot have so many it is not moved.
#[test]
fn a_moved_program_has_more_than_sixteen_random_bits() {
    for alignment in [4096, 1 << 16, 2 << 20] {
        for first in [0x4000_u64, 0x20_0000, 0x1234_5000] {
            let room = u64::from(borders() - 1) * alignment;
            let lowest = first.next_multiple_of(alignment);
            let data = first..lowest + room + 4096;
            let mut addresses = BTreeSet::new();
            for random in 0..borders() {
                let border = border(random, borders(), &data, alignment).expect("there is room");
                assert!(data.contains(&border) && border.is_multiple_of(alignment));
                let bases = (0..41).map(|random| places(random, true)[0]);
                addresses.extend(bases.map(|base| base - border));
            }
            assert_eq!(addresses.len(), 41 * 2048);
            assert!(addresses.len() >= 1 << 16);
            for random in 0..borders() {
                assert_eq!(border(random, borders(), &(first..lowest + room), alignment), None);
            }
        }
    }
}

/// Without randomisation all of the data that may be in the range are there, however few they are.
#[test]
fn without_randomisation_the_border_is_the_first_one() {
    assert_eq!(border(0, 1, &(0x4000..0x5000), 4096), Some(0x4000));
    assert_eq!(border(0, 1, &(0x4000..0x4000), 4096), None);
    assert_eq!(border(0, 1, &(0x4000..0x20_1000), 2 << 20), Some(0x20_0000));
    assert_eq!(border(0, 1, &(0x4000..0x20_0000), 2 << 20), None);
    assert_eq!(border(0, 1, &(u64::MAX - 4095..u64::MAX), 2 << 20), None);
}

/// Where a moved program may lie: not in the heap of an address sanitizer.
#[test]
fn no_program_is_moved_into_the_heap_of_a_sanitizer() {
    for base in (0..1 << 16).flat_map(|random| places(random, true)).collect::<BTreeSet<_>>() {
        for (tool, taken) in TAKEN.iter().filter(|(tool, _)| tool.starts_with("address") || tool.starts_with("Wine")) {
            assert!(base + BYTES <= taken.start || base - BYTES >= taken.end, "{base:#x} is where {tool} is");
        }
    }
}
