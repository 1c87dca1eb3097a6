// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls with buffers anywhere in memory, and what the device does with them.

use crate::controller::{Controller, NAMESPACE, SECTOR};
use proptest::prelude::*;
use tacet_pico::{Direction, Piece, Transfer};

/// Of the disk.
pub const SECTORS: usize = 4096;

/// A call, and what the device does with it.
#[derive(Debug, Clone)]
pub struct Call {
    pub writes: bool,
    pub through: bool,
    pub sector: usize,
    pub sectors: usize,
    /// Of the first buffer in its page, in words; the others begin elsewhere.
    pub offset: u32,
    /// Each buffer has so many sectors, and the last one what is left.
    pub split: usize,
    /// Decides about the places of pages, and about the order of completions.
    pub seed: u64,
    /// The device fails one of the commands.
    pub fails: bool,
    /// Calls with different ones have different pages.
    pub place: u64,
}

/// A buffer: its pages, where it begins in the first one, its bytes.
pub struct Place {
    pub pages: Vec<u64>,
    pub offset: usize,
    pub bytes: usize,
}

pub fn calls() -> impl Strategy<Value = Call> {
    let sizes = prop_oneof![1..20usize, 1..600usize];
    let splits = prop_oneof![3 => Just(600usize), 1 => 1..40usize, 1 => (1..6usize).prop_map(|pages| pages * 8)];
    (any::<[bool; 2]>(), 0..SECTORS - 600, sizes, prop_oneof![Just(0), 0..1024u32], splits, any::<u64>(), 0..8u8)
        .prop_map(|([writes, through], sector, sectors, offset, split, seed, fails)| Call {
            writes,
            through: writes && through,
            sector,
            sectors,
            offset,
            split,
            seed,
            fails: fails == 0,
            place: 0,
        })
}

impl Call {
    pub fn transfer(&self) -> Transfer {
        Transfer {
            direction: if self.writes { Direction::Write } else { Direction::Read },
            namespace: NAMESPACE,
            sector: self.sector as u64,
            sector_shift: 9,
            bytes: (self.sectors * SECTOR) as u32,
            through: self.through,
        }
    }

    /// Different pages in any order. Some buffers follow each other in whole pages, or within one.
    fn places(&self) -> Vec<Place> {
        let (mut next, mut left, mut places) = (0, self.sectors, Vec::new());
        let mut offset = self.offset as usize * 4;
        while left > 0 {
            let bytes = self.split.min(left) * SECTOR;
            let count = (offset + bytes).div_ceil(4096) as u64;
            let page = |n: u64| ((self.place << 24) + (n * 7 + self.seed % 5) % 100_003) << 12;
            places.push(Place { pages: (next..next + count).map(page).collect(), offset, bytes });
            left -= bytes / SECTOR;
            let end = (offset + bytes) % 4096;
            let follows = self.seed >> 40 & 1 == 0;
            (next, offset) = (next + count, if follows { end } else { self.offset as usize % 7 * 4 });
            if follows && end != 0 {
                next -= 1;
            }
        }
        places
    }

    /// Fills the pages with what depends on the seed.
    pub fn fill(&self, controller: &Controller) -> Vec<Place> {
        let places = self.places();
        let fill = |at: usize| (at as u64 ^ self.seed) as u8;
        let pages = places.iter().flat_map(|place| &place.pages);
        let filled = pages.map(|&page| (page, (0..4096).map(|at| fill(at + page as usize)).collect()));
        let mut memory = controller.memory.borrow_mut();
        memory.retain(|page, _| page >> 36 != self.place);
        memory.extend(filled);
        drop(memory);
        places
    }
}

/// The memory behind the first bytes, page by page.
pub fn pieces(places: &[Place], done: u32) -> Vec<Option<Piece>> {
    let mut skipped = done as usize;
    let mut pieces = Vec::new();
    for place in places {
        let (mut at, end) = (place.offset, place.offset + place.bytes);
        let skips = skipped.min(place.bytes);
        (at, skipped) = (at + skips, skipped - skips);
        while at < end {
            let bytes = (end - at).min(4096 - at % 4096);
            pieces.push(Some(Piece { address: place.pages[at / 4096] + at as u64 % 4096, bytes: bytes as u32 }));
            at += bytes;
        }
    }
    pieces
}

/// Reads 64 sectors.
pub const CALL: Call = Call {
    writes: false,
    through: false,
    sector: 8,
    sectors: 64,
    offset: 0,
    split: 64,
    seed: 1,
    fails: false,
    place: 0,
};
