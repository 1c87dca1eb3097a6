// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Page tables in a vector, and what an address finds in them.

use super::*;
extern crate std;
use std::collections::BTreeMap;
use std::vec::Vec;
use tacet_logic::paging::Attributes;

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

/// Tables at the physical addresses 0x1000, 0x2000 and so on.
struct Fake {
    tables: BTreeMap<u64, [u64; 512]>,
    most: usize,
    freed: Vec<u64>,
}

impl Fake {
    fn new(most: usize) -> Self {
        Self { tables: BTreeMap::from([(0x1000, [0; 512])]), most, freed: Vec::new() }
    }

    fn directory(&mut self) -> Directory<'_, Self> {
        Directory { root: 0x1000, pages: self }
    }
}

impl Pages for Fake {
    fn load(&self, table: u64, index: usize) -> u64 {
        self.tables[&table][index]
    }

    fn store(&mut self, table: u64, index: usize, entry: u64) {
        self.tables.get_mut(&table).expect("a table")[index] = entry;
    }

    fn allocate(&mut self) -> Option<u64> {
        let table = 0x1000 * (self.tables.len() as u64 + 1);
        (self.tables.len() < self.most).then(|| self.tables.insert(table, [0; 512]))?;
        Some(table)
    }

    fn free(&mut self, table: u64) {
        self.freed.push(table);
    }
}

fn leaf(physical: u64, size: PageSize) -> u64 {
    let attributes =
        Attributes { protection: Protection::READ_WRITE, policy: 0, eager: true, small: false, undumped: false };
    Entries::encode(Entry::Leaf(Leaf { frame: physical >> 12, attributes, mirrored: false, pending: false }), size)
}

fn mapping(address: u64, physical: u64, bytes: u64) -> Mapping {
    Mapping { address, physical, bytes, largest: PageSize::Gib1 }
}

#[test]
fn the_largest_pages_that_fit_are_used() {
    let mut fake = Fake::new(64);
    let mut directory = fake.directory();
    directory.map(mapping(2 * GIB - 3 * MIB, 4 * GIB - 3 * MIB, GIB + 5 * MIB + 0x3000), leaf).expect("mapped");
    let find = |address| directory.find(address).expect("mapped");
    assert_eq!(find(2 * GIB - 3 * MIB), (4 * GIB - 3 * MIB, 0x1000, Protection::READ_WRITE));
    assert_eq!(find(2 * GIB - 2 * MIB + 5), (4 * GIB - 2 * MIB + 5, 2 * MIB - 5, Protection::READ_WRITE));
    assert_eq!(find(2 * GIB + 0x123), (4 * GIB + 0x123, GIB - 0x123, Protection::READ_WRITE));
    assert_eq!(find(3 * GIB), (5 * GIB, 2 * MIB, Protection::READ_WRITE));
    assert_eq!(find(3 * GIB + 2 * MIB + 0x2000).1, 0x1000);
    assert_eq!(directory.find(3 * GIB + 2 * MIB + 0x3000), None);
    assert_eq!(directory.find(2 * GIB - 3 * MIB - 1), None);
}

#[test]
fn pages_are_no_larger_than_asked_for() {
    let mut fake = Fake::new(64);
    let mut directory = fake.directory();
    directory.map(Mapping { largest: PageSize::Mib2, ..mapping(GIB, GIB, GIB) }, leaf).expect("mapped");
    assert_eq!(directory.find(GIB).map(|found| found.1), Some(2 * MIB));
    directory.map(Mapping { largest: PageSize::Kib4, ..mapping(3 * GIB, GIB, 2 * MIB) }, leaf).expect("mapped");
    assert_eq!(directory.find(3 * GIB).map(|found| found.1), Some(4096));
}

#[test]
fn what_is_mapped_is_not_mapped_again() {
    let mut fake = Fake::new(64);
    let mut directory = fake.directory();
    directory.map(mapping(GIB, GIB, GIB), leaf).expect("mapped");
    assert_eq!(directory.map(mapping(GIB + 4096, 0, 4096), leaf), Err(Refused::Overlap(GIB + 4096)));
    assert_eq!(directory.map(mapping(0, 0, 3 * GIB), leaf), Err(Refused::Overlap(GIB)));
    assert_eq!(directory.map(mapping(0x1001, 0, 4096), leaf), Err(Refused::Misaligned(0x1001)));
    assert_eq!(directory.map(mapping(0x1000, 0, 0), leaf), Err(Refused::Misaligned(0x1000)));
}

#[test]
fn rights_change_for_exactly_the_pages_that_are_meant() {
    let mut fake = Fake::new(64);
    let mut directory = fake.directory();
    directory.map(mapping(GIB, 2 * GIB, 2 * GIB), leaf).expect("mapped");
    directory.protect(GIB + 0x5000, GIB - 0x5000 + 4 * MIB, Protection::NONE).expect("changed");
    for (offset, left, rights) in [
        (0, 0x1000, Protection::READ_WRITE),
        (0x4fff, 1, Protection::READ_WRITE),
        (0x5000, 0x1000, Protection::NONE),
        (2 * MIB, 2 * MIB, Protection::NONE),
        (GIB + 2 * MIB, 2 * MIB, Protection::NONE),
        (GIB + 4 * MIB, 2 * MIB, Protection::READ_WRITE),
    ] {
        assert_eq!(directory.find(GIB + offset), Some((2 * GIB + offset, left, rights)), "{offset:#x}");
    }
    directory.protect(GIB, GIB, Protection::READ_EXECUTE).expect("changed");
    assert_eq!(directory.find(GIB + 0x5000), Some((2 * GIB + 0x5000, 0x1000, Protection::READ_EXECUTE)));
}

#[test]
fn a_stretch_is_what_follows_without_a_gap() {
    let mut fake = Fake::new(64);
    let mut directory = fake.directory();
    let stretch = |bytes, physical| Stretch { bytes, physical };
    assert_eq!(directory.stretch(GIB, 9 * GIB), stretch(8 * GIB, None));
    directory.map(mapping(2 * GIB, 4 * GIB, 2 * MIB), leaf).expect("mapped");
    directory.map(mapping(2 * GIB + 2 * MIB, 4 * GIB + 2 * MIB, 0x3000), leaf).expect("mapped");
    directory.map(mapping(2 * GIB + 2 * MIB + 0x3000, GIB, 0x1000), leaf).expect("mapped");
    directory.protect(2 * GIB + 0x1000, 0x1000, Protection::NONE).expect("changed");
    assert_eq!(directory.stretch(GIB, 9 * GIB), stretch(GIB, None));
    assert_eq!(directory.stretch(2 * GIB, 9 * GIB), stretch(2 * MIB + 0x3000, Some(4 * GIB)));
    assert_eq!(directory.stretch(2 * GIB + 0x1000, 2 * GIB + 0x2000), stretch(0x1000, Some(4 * GIB + 0x1000)));
    assert_eq!(directory.stretch(2 * GIB + 2 * MIB + 0x3000, 9 * GIB), stretch(0x1000, Some(GIB)));
}

#[test]
fn what_is_unmapped_may_be_mapped_again() {
    let mut fake = Fake::new(64);
    let mut directory = fake.directory();
    directory.map(mapping(2 * GIB, 4 * GIB, 4 * MIB), leaf).expect("mapped");
    directory.unmap(2 * GIB + 0x1000, 2 * MIB).expect("unmapped");
    assert_eq!(directory.find(2 * GIB + 0xfff), Some((4 * GIB + 0xfff, 1, Protection::READ_WRITE)));
    assert_eq!(directory.stretch(2 * GIB + 0x1000, 3 * GIB), Stretch { bytes: 2 * MIB, physical: None });
    assert_eq!(directory.stretch(2 * GIB + 2 * MIB + 0x1000, 3 * GIB).physical, Some(4 * GIB + 2 * MIB + 0x1000));
    let again = Mapping { largest: PageSize::Kib4, ..mapping(2 * GIB + 0x1000, 7 * GIB, 2 * MIB) };
    directory.map(again, leaf).expect("mapped");
    assert_eq!(directory.stretch(2 * GIB + 0x1000, 3 * GIB), Stretch { bytes: 2 * MIB, physical: Some(7 * GIB) });
    assert_eq!(directory.unmap(GIB, GIB), Ok(()), "holes are no error");
    assert_eq!(directory.unmap(USER_END, 0x1000), Err(Refused::Outside(USER_END)));
}

#[test]
fn a_change_that_is_refused_changes_nothing() {
    let mut fake = Fake::new(3); // the root, one of GiB, one of MiB
    let mut directory = fake.directory();
    directory.map(mapping(GIB, GIB, 2 * MIB), leaf).expect("mapped");
    for (address, bytes, refused) in [
        (GIB + 0x1000, 0x1000, Refused::NoTable),
        (GIB, 4 * MIB, Refused::Unmapped(GIB + 2 * MIB)),
        (GIB, 0x800, Refused::Misaligned(GIB | 0x800)),
        (0, 0x1000, Refused::Outside(0)),
        (USER_END, 0x1000, Refused::Outside(USER_END)),
        (0x1000, !0xfff, Refused::Outside(0x1000)),
    ] {
        assert_eq!(directory.protect(address, bytes, Protection::READ), Err(refused));
        assert_eq!(directory.find(GIB + 0x1000), Some((GIB + 0x1000, 2 * MIB - 0x1000, Protection::READ_WRITE)));
    }
}

#[test]
fn the_end_frees_each_table_once_and_leaves_the_kernels() {
    let mut fake = Fake::new(64);
    fake.tables.get_mut(&0x1000).expect("the root")[256] = 0xdead_0000 | 3; // followed, it would not be found
    let mut directory = fake.directory();
    directory.map(mapping(GIB - 4096, GIB - 4096, GIB + 8192), leaf).expect("mapped");
    directory.end();
    let mut freed = std::mem::take(&mut fake.freed);
    freed.sort_unstable();
    assert_eq!(freed, fake.tables.keys().copied().collect::<Vec<_>>());
}
