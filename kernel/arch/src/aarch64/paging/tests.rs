// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The bits against the layout in the Arm ARM (D8.3.1 table descriptors, D8.3.2 block and page descriptors), written
//! down here a second time as fields.

use super::*;

/// A field of a descriptor: its lowest bit and how many it has.
type Field = (u32, u32);

const TYPE: Field = (0, 2);
const ATTR_INDX: Field = (2, 3);
const NS: Field = (5, 1);
const AP: Field = (6, 2);
const SH: Field = (8, 2);
const AF: Field = (10, 1);
const NG: Field = (11, 1);
const GP: Field = (50, 1);
const DBM: Field = (51, 1);
const CONTIGUOUS: Field = (52, 1);
const PXN: Field = (53, 1);
const UXN: Field = (54, 1);

fn field(raw: u64, (low, width): Field) -> u64 {
    raw >> low & ((1 << width) - 1)
}

fn bits(raw: u64, high: u32, low: u32) -> u64 {
    field(raw, (low, high - low + 1))
}

fn protections() -> impl Iterator<Item = Protection> {
    (0..8).map(|n| Protection { read: n & 1 != 0, write: n & 2 != 0, execute: n & 4 != 0 })
}

fn attributes(protection: Protection) -> Attributes {
    Attributes { protection, policy: 0, eager: false, small: false, undumped: false }
}

#[test]
fn every_entry_is_read_as_it_was_written() {
    crate::testing::every_entry_is_read_as_it_was_written::<Entries>(36, 1);
}

#[test]
fn a_page_or_block_is_as_the_architecture_has_it() {
    // The size, its type, the lowest bit of its output address.
    let sizes = [(PageSize::Gib1, 0b01, 30), (PageSize::Mib2, 0b01, 21), (PageSize::Kib4, 0b11, 12)];
    for (size, kind, low) in sizes {
        for protection in protections().filter(|protection| !protection.is_none()) {
            let frame = 0x9_8765_4321u64 >> size.order() << size.order();
            let leaf = Leaf { frame, attributes: attributes(protection), mirrored: false, pending: false };
            let raw = Entries::encode(Entry::Leaf(leaf), size);
            assert_eq!(field(raw, TYPE), kind, "{size:?}");
            assert_eq!(bits(raw, 47, low) << low, frame << 12);
            assert_eq!(field(raw, (12, low - 12)) | bits(raw, 49, 48), 0, "zero: reserved, and no nT");
            assert_eq!(field(raw, AP), if protection.write { 0b01 } else { 0b11 }, "EL0 may access: {protection:?}");
            assert_eq!((field(raw, UXN) == 0, field(raw, PXN)), (protection.execute, 1));
            assert_eq!((field(raw, ATTR_INDX), field(raw, NS), field(raw, SH)), (0, 0, 0b11));
            assert_eq!((field(raw, AF), field(raw, NG), field(raw, DBM)), (1, 1, 0), "the processor never writes it");
            assert_eq!((field(raw, GP), field(raw, CONTIGUOUS)), (0, 0));
        }
    }
}

#[test]
fn a_table_restricts_nothing() {
    for size in [PageSize::Gib1, PageSize::Mib2] {
        let raw = Entries::encode(Entry::Table(0xf_edcb_a987), size);
        assert_eq!((field(raw, TYPE), bits(raw, 47, 12)), (0b11, 0xf_edcb_a987));
        assert_eq!((bits(raw, 63, 59), bits(raw, 58, 48), bits(raw, 11, 2)), (0, 0, 0));
    }
}

#[test]
fn what_is_remembered_is_where_the_processor_does_not_look() {
    let plain = attributes(Protection::READ_WRITE);
    let remembered = Attributes { policy: 15, eager: true, small: true, undumped: true, ..plain };
    for size in [PageSize::Kib4, PageSize::Mib2, PageSize::Gib1] {
        let raw = |attributes, mirrored| {
            Entries::encode(Entry::Leaf(Leaf { frame: 0, attributes, mirrored, pending: false }), size)
        };
        let differ = raw(plain, false) ^ raw(remembered, true);
        assert_eq!(differ, 0b11111 << 59 | 0b111 << 55);
        assert_eq!(raw(plain, false) ^ raw(plain, true), Entries::MIRRORED);
        // May be read: said by the fourth.
        let only_write = attributes(Protection { read: false, ..Protection::READ_WRITE });
        assert_eq!(raw(plain, false) ^ raw(only_write, false), 1 << 58);
    }
}

#[test]
fn what_may_not_be_touched_is_not_valid() {
    let held = Leaf { frame: 7, attributes: attributes(Protection::NONE), mirrored: false, pending: false };
    let pending = Leaf { attributes: attributes(Protection::ALL), pending: true, ..held };
    for size in [PageSize::Kib4, PageSize::Mib2, PageSize::Gib1] {
        for entry in [Entry::Leaf(held), Entry::Leaf(pending), Entry::Reserved(pending.attributes), Entry::Absent] {
            assert_eq!(Entries::encode(entry, size) & 1, 0, "{entry:?}");
        }
    }
    assert_eq!(Entries::encode(Entry::Absent, PageSize::Kib4), 0);
}
