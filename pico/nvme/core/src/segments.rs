// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A command's memory as runs of bytes (SGL): large pages and neighbours are one run, and a run may begin anywhere.
//!
//! For devices that take it: a command has as many bytes as the device takes, and vectors of small buffers share one.
//! `commands.rs` uses it.

use crate::command::{Data, SEGMENT_BYTES};
use crate::commands::{LIST_ENTRIES, PAGE};
use crate::memory::QueueMemory;

/// Of one list, which is a page.
const MOST: u32 = PAGE / SEGMENT_BYTES;
const _: () = assert!(2 * MOST == LIST_ENTRIES);

#[derive(Clone, Copy, Default)]
pub(crate) struct Segments {
    bytes: u32,
    /// Those before the last one; the list has them.
    others: u32,
    /// The last one.
    first: u64,
    end: u64,
}

impl Segments {
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    pub fn takes(&self, address: u64) -> bool {
        self.bytes == 0 || address == self.end || self.others + 1 < MOST
    }

    pub fn add(&mut self, memory: &impl QueueMemory, list: u16, address: u64, bytes: u32) {
        if self.bytes == 0 {
            self.first = address;
        } else if address != self.end {
            self.put(memory, list);
            self.others += 1;
            self.first = address;
        }
        self.bytes += bytes;
        self.end = address + u64::from(bytes);
    }

    /// Forgets the last bytes, all in the last one. False: these are more, or all that there are.
    pub fn cut(&mut self, bytes: u32) -> bool {
        let may_be = self.last_bytes() >= bytes && self.bytes > bytes;
        if may_be {
            self.bytes -= bytes;
            self.end -= u64::from(bytes);
        }
        may_be
    }

    pub fn close(&self, memory: &impl QueueMemory, list: u16, at: u64) -> Data {
        if self.others == 0 {
            return Data::Segment { address: self.first, bytes: self.bytes };
        }
        // All of the last one may have been cut.
        if self.last_bytes() > 0 {
            self.put(memory, list);
        }
        Data::Segments { list: at, count: self.others + u32::from(self.last_bytes() > 0) }
    }

    fn last_bytes(&self) -> u32 {
        (self.end - self.first) as u32
    }

    /// Writes the entry of the last one: its address, then its length; the kind, in the last byte, is 0.
    fn put(&self, memory: &impl QueueMemory, list: u16) {
        let entry = 2 * self.others as u16;
        memory.put_word(list, entry, self.first);
        memory.put_word(list, entry + 1, self.last_bytes().into());
    }
}
