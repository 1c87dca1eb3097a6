// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What every encoding of page-table entries must do.

use tacet_logic::paging::{Attributes, Encoding, Entry, Leaf, PageSize, Protection};

const SIZES: [PageSize; 3] = [PageSize::Kib4, PageSize::Mib2, PageSize::Gib1];

/// `valid` is the bit by which the processor knows a valid entry; frames have numbers of `frame_bits` bits.
pub fn every_entry_is_read_as_it_was_written<E: Encoding>(frame_bits: u32, valid: u64) {
    let all_frames = (1u64 << frame_bits) - 1;
    assert!(E::POLICIES.is_power_of_two() && E::MIRRORED.is_power_of_two());
    for bits in (0..1u32 << 12).step_by(if cfg!(miri) { 67 } else { 1 }) {
        let has = |bit: u32| bits >> bit & 1 == 1;
        let protection = Protection { read: has(0), write: has(1), execute: has(2) };
        let policy = (bits >> 3 & 0x3f) as u8 & (E::POLICIES - 1);
        let attributes = Attributes { protection, policy, eager: has(9), small: has(10), undumped: has(11) };
        for frame in [0u64, 1 << 18, (1 << frame_bits) - (1 << 18)] {
            for (mirrored, pending) in [(false, false), (true, false), (false, true), (true, true)] {
                let leaf = Entry::Leaf(Leaf { frame, attributes, mirrored, pending });
                for size in SIZES {
                    let raw = E::encode(leaf, size);
                    assert_eq!(E::decode(raw, size), leaf);
                    assert_eq!(E::table(raw, size), None);
                    assert_eq!(raw & E::MIRRORED != 0, mirrored);
                    assert_eq!(raw & valid != 0, leaf.is_valid());
                    assert_eq!(leaf.is_valid(), !pending && !protection.is_none());
                    // An entry that the processor must not use does not name its frame.
                    let named = raw >> 12 & all_frames;
                    assert!(leaf.is_valid() || named == frame ^ all_frames, "{leaf:?}");
                }
            }
        }
        for size in SIZES {
            let reserved = Entry::Reserved(attributes);
            let raw = E::encode(reserved, size);
            assert_eq!((E::decode(raw, size), raw & (valid | E::MIRRORED)), (reserved, 0));
        }
    }
    for size in [PageSize::Mib2, PageSize::Gib1] {
        let table = Entry::Table(0x1234);
        let raw = E::encode(table, size);
        assert_eq!((E::decode(raw, size), E::table(raw, size)), (table, Some(0x1234)));
    }
    for size in SIZES {
        assert_eq!((E::encode(Entry::Absent, size), E::decode(0, size)), (0, Entry::Absent));
    }
}
