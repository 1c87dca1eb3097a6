// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a CPU has cached of the address space that it has loaded: the frames of pages that were touched, and the tables on
//! the way to them. It forgets nothing by itself, so a flush that is missing is always seen.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
pub struct Tlb {
    /// By the address of the page.
    frames: RefCell<BTreeMap<u64, u64>>,
    tables: RefCell<BTreeSet<u64>>,
}

impl Tlb {
    pub fn forget(&self) {
        self.frames.borrow_mut().clear();
        self.tables.borrow_mut().clear();
    }

    /// A touch of a page that it knows.
    pub fn frame(&self, page: u64) -> Option<u64> {
        self.frames.borrow().get(&page).copied()
    }

    /// A touch of a page that it did not know.
    pub fn learn(&self, page: u64, frame: u64, tables: impl IntoIterator<Item = u64>) {
        self.frames.borrow_mut().insert(page, frame);
        self.tables.borrow_mut().extend(tables);
    }

    /// Whether it has any of these frames.
    pub fn reaches(&self, frames: std::ops::Range<u64>) -> bool {
        self.frames.borrow().values().any(|frame| frames.contains(frame))
    }

    pub fn walks(&self, table: u64) -> bool {
        self.tables.borrow().contains(&table)
    }
}
