// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A command's memory as pages (PRP): all whole, but for the beginning of the first one and the end of the last one.
//!
//! Every device takes it. `commands.rs` uses it.

use crate::command::Data;
use crate::commands::PAGE;
use crate::memory::QueueMemory;

#[derive(Clone, Copy, Default)]
pub(crate) struct Pages {
    bytes: u32,
    /// Where the memory begins, and where it ends now.
    first: u64,
    end: u64,
    /// Pages behind the first one, and the first of them.
    others: u32,
    second: u64,
}

impl Pages {
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// A whole page after another one, or more of the same page.
    pub fn takes(&self, address: u64) -> bool {
        let page = u64::from(PAGE);
        let is_same_page = address == self.end && !address.is_multiple_of(page);
        self.bytes == 0 || is_same_page || (self.end | address).is_multiple_of(page)
    }

    /// A page has an entry in the list once there are two behind the first one.
    pub fn add(&mut self, memory: &impl QueueMemory, list: u16, address: u64, bytes: u32) {
        if self.bytes == 0 {
            *self = Self { first: address, ..Self::default() };
        } else if address.is_multiple_of(u64::from(PAGE)) {
            match self.others {
                0 => self.second = address,
                others => {
                    if others == 1 {
                        memory.put_word(list, 0, self.second);
                    }
                    memory.put_word(list, others as u16, address);
                }
            }
            self.others += 1;
        }
        self.bytes += bytes;
        self.end = address + u64::from(bytes);
    }

    pub fn close(&self, list: u64) -> Data {
        Data::Pages { first: self.first, second_or_list: if self.others < 2 { self.second } else { list } }
    }
}
