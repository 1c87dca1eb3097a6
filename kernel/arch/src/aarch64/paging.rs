// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Entries of page tables: VMSAv8-64, stage 1 of EL1&0, granule of 4 KiB, addresses of 48 bits (Arm ARM, D8.3).
//!
//! | bit | valid (bit 0 set) | not valid |
//! |---|---|---|
//! | 1 | table, or page of 4 KiB; clear in a block of 2 MiB or 1 GiB | clear |
//! | 2-4 | AttrIndx 0: ordinary memory | 3: `RESERVED`, 4: `HELD`, bits 12-47 name a frame, inverted |
//! | 5 | NS: clear | clear |
//! | 6, 7 | AP: EL0 may access; 7 set: read only | 6 clear; 7 the same |
//! | 8, 9 | SH: inner shareable | clear |
//! | 10, 11 | AF, nG: always set | clear |
//! | 12-47 | frame, or table | frame with all bits inverted, or zero when only reserved |
//! | 48-52 | GP, DBM, contiguous: clear | clear |
//! | 53 | PXN: always set | clear |
//! | 54 | UXN: no execution | the same |
//! | 55 | `MIRRORED`: Linux may map the page | the same |
//! | 56 | small pages only | the same |
//! | 57 | eager: populated at map time | the same |
//! | 58 | program may read | the same |
//! | 59-62 | NUMA policy, an index into the process's own list | the same |
//! | 63 | not in a core file | the same |
//!
//! Not valid: as on x86-64, zero is absent, `RESERVED` alone is a reservation, `HELD` alone is a page of `PROT_NONE`,
//! and both are a page that is pending.
//!
//! Bits 55-58 are software's. Nothing else is, whatever the configuration; the policy and the last one need more. Bits 59-62 are
//! ignored unless TCR_EL1.HWU059-HWU062 give them to the hardware (PBHA) or TCR2_EL1.POE makes 60-62 the overlay index;
//! bit 63 is ignored in this regime. Only co-kernel cores walk these tables, and these registers of theirs are the
//! co-kernel's: it leaves all of that off. So an entry can tell 16 policies apart, where x86-64 has room for 32: as
//! many as the border keeps for a process. A host on this processor has to keep fewer.
//!
//! AF is set from the beginning and DBM never, so that the processor never writes an entry. An entry that is not valid
//! may hold anything: the architecture lets no processor use its frame. The frame is inverted all the same, as on x86-64,
//! where some processors do; a reservation names none.

use tacet_logic::paging::{Attributes, BreakBeforeMake, Encoding, Entry, Leaf, PageSize, Protection};

const VALID: u64 = 1;
/// At the last level, a page; above, a table. Clear: a block.
const PAGE_OR_TABLE: u64 = 1 << 1;
const RESERVED: u64 = 1 << 3;
const HELD: u64 = 1 << 4;
const USER: u64 = 1 << 6;
const READ_ONLY: u64 = 1 << 7;
const INNER_SHAREABLE: u64 = 3 << 8;
const ACCESSED: u64 = 1 << 10;
const NOT_GLOBAL: u64 = 1 << 11;
const FRAME: u64 = ((1 << 36) - 1) << 12;
const NO_PRIVILEGED_EXECUTE: u64 = 1 << 53;
const NO_EXECUTE: u64 = 1 << 54;
const MIRRORED: u64 = 1 << 55;
const SMALL: u64 = 1 << 56;
const EAGER: u64 = 1 << 57;
const READ: u64 = 1 << 58;
const POLICY_SHIFT: u32 = 59;
const UNDUMPED: u64 = 1 << 63;

/// The bits of every page that a program may touch.
const TOUCHABLE: u64 = VALID | USER | INNER_SHAREABLE | ACCESSED | NOT_GLOBAL | NO_PRIVILEGED_EXECUTE;

/// The encoding of this processor's page-table entries.
#[derive(Debug)]
pub enum Entries {}

impl Encoding for Entries {
    const POLICIES: u8 = 16;

    const LARGE_PAGES_MAY_BE_EXECUTABLE: bool = true;

    /// A permission fault leaves the old translation where it is.
    const FAULTS_FORGET: bool = false;

    const MIRRORED: u64 = MIRRORED;

    // D8.16.1. Processors with FEAT_BBM of level 2 would bear another size, but not another frame.
    type Breaks = BreakBeforeMake;

    #[inline]
    fn encode(entry: Entry, size: PageSize) -> u64 {
        match entry {
            Entry::Absent => 0,
            Entry::Table(table) => table << 12 | PAGE_OR_TABLE | VALID,
            Entry::Reserved(attributes) => encode(attributes) | RESERVED,
            Entry::Leaf(Leaf { frame, attributes, mirrored, pending }) => {
                let state = match () {
                    () if pending => RESERVED | HELD,
                    () if attributes.protection.is_none() => HELD,
                    () => TOUCHABLE | bit(size == PageSize::Kib4, PAGE_OR_TABLE),
                };
                let named = if state & VALID != 0 { frame << 12 } else { !(frame << 12) & FRAME };
                encode(attributes) | named | bit(mirrored, MIRRORED) | state
            }
        }
    }

    #[inline]
    fn decode(raw: u64, size: PageSize) -> Entry {
        if let Some(table) = Self::table(raw, size) {
            return Entry::Table(table);
        }
        let has = |bit| raw & bit != 0;
        let attributes = decode(raw);
        match (has(VALID), has(HELD), has(RESERVED)) {
            (false, false, false) => Entry::Absent,
            (false, false, true) => Entry::Reserved(attributes),
            (valid, _, reserved) => Entry::Leaf(Leaf {
                frame: (if valid { raw & FRAME } else { !raw & FRAME }) >> 12,
                attributes,
                mirrored: has(MIRRORED),
                pending: !valid && reserved,
            }),
        }
    }

    #[inline]
    fn table(raw: u64, size: PageSize) -> Option<u64> {
        let table = raw & (VALID | PAGE_OR_TABLE) == VALID | PAGE_OR_TABLE && size != PageSize::Kib4;
        table.then_some((raw & FRAME) >> 12)
    }
}

#[inline]
fn encode(attributes: Attributes) -> u64 {
    let Attributes { protection: Protection { read, write, execute }, policy, eager, small, undumped } = attributes;
    bit(read, READ)
        | bit(!write, READ_ONLY)
        | bit(!execute, NO_EXECUTE)
        | bit(eager, EAGER)
        | bit(small, SMALL)
        | bit(undumped, UNDUMPED)
        | u64::from(policy & (Entries::POLICIES - 1)) << POLICY_SHIFT
}

#[inline]
fn decode(raw: u64) -> Attributes {
    let has = |bit| raw & bit != 0;
    let protection = Protection { read: has(READ), write: !has(READ_ONLY), execute: !has(NO_EXECUTE) };
    let policy = (raw >> POLICY_SHIFT) as u8 & (Entries::POLICIES - 1);
    Attributes { protection, policy, eager: has(EAGER), small: has(SMALL), undumped: has(UNDUMPED) }
}

/// `bit` if `set`.
const fn bit(set: bool, bit: u64) -> u64 {
    if set { bit } else { 0 }
}

#[cfg(test)]
mod tests;
