// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Physical memory that no part has yet, while a map is made. Used by [`super::partition`] alone.
//!
//! A fixed number of pieces, sorted by address. If there are more, the smallest is lost to the job, which costs memory
//! but never correctness.

use super::request::{RANGES, Range, Refused};
use super::segment::PAGE_BYTES;

const PIECES: usize = 2 * RANGES;
/// No processor has more physical addresses.
const PHYSICAL_END: u64 = 1 << 52;

pub(super) struct Free {
    pieces: [Range; PIECES],
    count: usize,
}

impl Free {
    /// The whole pages of all ranges.
    pub fn new(ranges: &[Range]) -> Result<Self, Refused> {
        let mut free = Self { pieces: [Range::default(); PIECES], count: 0 };
        if let Some(range) = ranges.get(RANGES) {
            return Err(Refused::Ranges(range.address));
        }
        for range in ranges.iter().filter(|range| range.bytes > 0) {
            let overlaps = |other: &Range| range.address < other.end() && other.address < range.end();
            let end = range.address.checked_add(range.bytes).filter(|&end| end <= PHYSICAL_END);
            if end.is_none() || ranges.iter().filter(|other| overlaps(other)).count() != 1 {
                return Err(Refused::Ranges(range.address));
            }
            let first = range.address.next_multiple_of(PAGE_BYTES);
            let end = range.end() & !(PAGE_BYTES - 1);
            free.insert(Range { address: first, bytes: end.saturating_sub(first) });
        }
        free.join();
        Ok(free)
    }

    pub fn pieces(&self) -> &[Range] {
        self.pieces.get(..self.count).unwrap_or(&[])
    }

    /// All bytes.
    pub fn bytes(&self) -> u64 {
        self.pieces().iter().map(|piece| piece.bytes).sum()
    }

    /// Bytes of the largest piece.
    pub fn largest(&self) -> u64 {
        self.pieces().iter().map(|piece| piece.bytes).max().unwrap_or(0)
    }

    /// Takes `bytes` bytes at an address that is `remainder` modulo `alignment`, from the smallest piece where they fit.
    pub fn take(&mut self, bytes: u64, alignment: u64, remainder: u64) -> Option<u64> {
        let place = |piece: &Range| {
            let address = piece.address + remainder.wrapping_sub(piece.address) % alignment;
            (address.checked_add(bytes)? <= piece.end()).then_some(address)
        };
        let fitting = self.pieces().iter().enumerate().filter_map(|(at, piece)| Some((piece.bytes, at, place(piece)?)));
        let (_, at, address) = fitting.min()?;
        let piece = *self.pieces().get(at)?;
        self.remove(at);
        self.insert(Range { address: piece.address, bytes: address - piece.address });
        self.insert(Range { address: address + bytes, bytes: piece.end() - (address + bytes) });
        Some(address)
    }

    /// In how many pieces of `bytes` bytes, each aligned, the memory can be cut.
    pub fn cuts(&self, bytes: u64, alignment: u64) -> u64 {
        let of = |piece: &Range| {
            let skipped = piece.address.wrapping_neg() % alignment;
            piece.bytes.saturating_sub(skipped) / bytes.max(1)
        };
        self.pieces().iter().map(of).sum()
    }

    fn remove(&mut self, at: usize) {
        if let Some(tail) = self.pieces.get_mut(at..self.count) {
            tail.rotate_left(1);
            self.count -= 1;
        }
    }

    fn insert(&mut self, piece: Range) {
        if piece.bytes == 0 {
            return;
        }
        if self.count == PIECES {
            let smallest = self.pieces().iter().enumerate().min_by_key(|(_, piece)| piece.bytes);
            match smallest.map(|(at, smallest)| (at, smallest.bytes)) {
                Some((at, bytes)) if bytes < piece.bytes => self.remove(at),
                _ => return,
            }
        }
        let at = self.pieces().partition_point(|other| other.address < piece.address);
        if let Some(tail) = self.pieces.get_mut(at..=self.count) {
            tail.rotate_right(1);
            self.count += 1;
        }
        if let Some(place) = self.pieces.get_mut(at) {
            *place = piece;
        }
    }

    /// Makes one piece of pieces that touch.
    fn join(&mut self) {
        let mut at = 1;
        while let Some(&[left, right]) = self.pieces().get(at - 1..=at).and_then(|pair| pair.first_chunk()) {
            if left.end() == right.address {
                self.remove(at);
                if let Some(place) = self.pieces.get_mut(at - 1) {
                    place.bytes += right.bytes;
                }
            } else {
                at += 1;
            }
        }
    }
}
