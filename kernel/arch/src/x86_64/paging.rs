// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Entries of page tables. Linux reads them too: `TACET_ENTRY_*` in the border's `memory.h` are the same bits, which
//! the host checks.
//!
//! | bit | present (bit 0 set) | not present |
//! |---|---|---|
//! | 1 | writable | program may write |
//! | 2, 5, 6 | user, accessed, dirty: always set | clear |
//! | 3 | clear | `RESERVED` |
//! | 4 | clear | `HELD`: bits 12-51 name a frame, inverted |
//! | 7 | leaf of 2 MiB or 1 GiB | clear |
//! | 9 | `MIRRORED`: Linux may map the page | the same |
//! | 10 | small pages only | the same |
//! | 11 | eager: populated at map time | the same |
//! | 12-51 | frame | frame with all bits inverted, or all ones when only reserved |
//! | 52-56 | NUMA policy, an index into the process's own list | the same |
//! | 57 | not in a core file | the same |
//! | 58 | program may read | the same |
//! | 59-62 | protection key, always 0 | clear |
//! | 63 | no execution | the same |
//!
//! Not present: zero is absent; `RESERVED` alone is address space without a
//! frame; `HELD` alone is a page that may not be touched but keeps its content
//! (`PROT_NONE`); both together are a page that is being populated, which for
//! everybody else is still a reservation.
//!
//! Accessed and dirty are set from the beginning so that the processor never
//! writes an entry.
//!
//! Some processors (L1TF, CVE-2018-3620) read ahead from the frame that an entry names although it is not present: a
//! program could learn what is in the cache of that frame. So such an entry never names a frame that exists: it has the
//! inverted number, as Linux's entries do, and a reservation has the highest number there could be.

use tacet_logic::paging::{Attributes, Encoding, Entry, Leaf, PageSize, Protection, Unordered};

pub const PRESENT: u64 = 1;
pub const WRITE: u64 = 1 << 1;
const USER: u64 = 1 << 2;
pub const RESERVED: u64 = 1 << 3;
pub const HELD: u64 = 1 << 4;
const ACCESSED: u64 = 1 << 5;
const DIRTY: u64 = 1 << 6;
pub const LEAF: u64 = 1 << 7;
pub const MIRRORED: u64 = 1 << 9;
const SMALL: u64 = 1 << 10;
const EAGER: u64 = 1 << 11;
pub const FRAME: u64 = ((1 << 40) - 1) << 12;
const POLICY_SHIFT: u32 = 52;
pub const UNDUMPED: u64 = 1 << 57;
pub const READ: u64 = 1 << 58;
pub const NO_EXECUTE: u64 = 1 << 63;

/// The encoding of this processor's page-table entries.
#[derive(Debug)]
pub enum Entries {}

impl Encoding for Entries {
    const POLICIES: u8 = 32;

    // "iTLB multi-hit" (CVE-2018-12207): some processors stop for ever if they find code in a large page and in a small
    // one at a time.
    const LARGE_PAGES_MAY_BE_EXECUTABLE: bool = false;

    /// The processor removes the faulting address from its TLB itself, and never caches an entry that is not present.
    const FAULTS_FORGET: bool = true;

    const MIRRORED: u64 = MIRRORED;

    // Until the flush, a large translation and its parts may both be used (SDM vol. 3, 4.10.2.4).
    type Breaks = Unordered;

    #[inline]
    fn encode(entry: Entry, size: PageSize) -> u64 {
        match entry {
            Entry::Absent => 0,
            Entry::Table(table) => table << 12 | PRESENT | WRITE | USER | ACCESSED,
            Entry::Reserved(attributes) => encode(attributes) | FRAME | RESERVED,
            Entry::Leaf(Leaf { frame, attributes, mirrored, pending }) => {
                let state = match () {
                    () if pending => RESERVED | HELD,
                    () if attributes.protection.is_none() => HELD,
                    () => PRESENT | USER | ACCESSED | DIRTY | bit(size != PageSize::Kib4, LEAF),
                };
                let named = if state & PRESENT != 0 { frame << 12 } else { !(frame << 12) & FRAME };
                encode(attributes) | named | bit(mirrored, MIRRORED) | state
            }
        }
    }

    #[inline]
    fn decode(raw: u64, size: PageSize) -> Entry {
        let has = |bit| raw & bit != 0;
        let frame = (if has(PRESENT) { raw & FRAME } else { !raw & FRAME }) >> 12;
        match () {
            () if has(PRESENT) && size != PageSize::Kib4 && !has(LEAF) => Entry::Table(frame),
            () if has(PRESENT) || has(HELD) => Entry::Leaf(Leaf {
                frame,
                attributes: decode(raw),
                mirrored: has(MIRRORED),
                pending: has(HELD) && has(RESERVED),
            }),
            () if has(RESERVED) => Entry::Reserved(decode(raw)),
            () => Entry::Absent,
        }
    }

    #[inline]
    fn table(raw: u64, size: PageSize) -> Option<u64> {
        (raw & (PRESENT | LEAF) == PRESENT && size != PageSize::Kib4).then_some((raw & FRAME) >> 12)
    }
}

#[inline]
fn encode(attributes: Attributes) -> u64 {
    let Attributes { protection: Protection { read, write, execute }, policy, eager, small, undumped } = attributes;
    bit(read, READ)
        | bit(write, WRITE)
        | bit(!execute, NO_EXECUTE)
        | bit(eager, EAGER)
        | bit(small, SMALL)
        | bit(undumped, UNDUMPED)
        | u64::from(policy & (Entries::POLICIES - 1)) << POLICY_SHIFT
}

#[inline]
fn decode(raw: u64) -> Attributes {
    let has = |bit| raw & bit != 0;
    let protection = Protection { read: has(READ), write: has(WRITE), execute: !has(NO_EXECUTE) };
    let policy = (raw >> POLICY_SHIFT) as u8 & (Entries::POLICIES - 1);
    Attributes { protection, policy, eager: has(EAGER), small: has(SMALL), undumped: has(UNDUMPED) }
}

/// `bit` if `set`.
const fn bit(set: bool, bit: u64) -> u64 {
    if set { bit } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_read_as_it_was_written() {
        crate::testing::every_entry_is_read_as_it_was_written::<Entries>(40, PRESENT);
    }

    #[test]
    fn bits_are_where_the_processor_and_linux_look_for_them() {
        let attributes =
            Attributes { protection: Protection::READ_WRITE, policy: 0x15, eager: true, small: true, undumped: true };
        let leaf = Leaf { frame: 0x12345, attributes, mirrored: true, pending: false };
        let small = 0x8000_0000_1234_5000 | 0x15 << 52 | 3 << 57 | 1 << 11 | 1 << 10 | 1 << 9 | 0x67;
        assert_eq!(Entries::encode(Entry::Leaf(leaf), PageSize::Kib4), small);
        assert_eq!(Entries::encode(Entry::Leaf(leaf), PageSize::Mib2), small | 1 << 7);
        let none = Leaf { attributes: attributes.with(Protection::NONE), ..leaf };
        let held = 0x800f_ffff_edcb_a000 | 0x35 << 52 | 0xe00 | 1 << 4;
        assert_eq!(Entries::encode(Entry::Leaf(none), PageSize::Kib4), held);
        let code = Entry::Reserved(attributes.with(Protection::READ_EXECUTE));
        assert_eq!(Entries::encode(code, PageSize::Gib1), 0x075f_ffff_ffff_fc08);
        assert_eq!(Entries::encode(Entry::Table(0x777), PageSize::Gib1), 0x777_027);
    }
}
