// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Records in a map, so that a gigabyte of frames costs only what is used of it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use tacet_logic::frames::{Neighbours, Records};

type Table = HashMap<u32, (u32, Option<Neighbours>)>;

/// A handle: clones see the same table.
#[derive(Clone, Default)]
pub struct MapRecords {
    records: Rc<RefCell<Table>>,
}

impl MapRecords {
    /// A table of its own with the same content.
    #[allow(dead_code, reason = "not every test takes pictures")]
    pub fn picture(&self) -> Self {
        Self { records: Rc::new(RefCell::new(self.records.borrow().clone())) }
    }
}

impl Records for MapRecords {
    fn tag(&self, slot: u32) -> u32 {
        self.records.borrow().get(&slot).map_or(0, |record| record.0)
    }

    fn set_tag(&self, slot: u32, tag: u32) {
        self.records.borrow_mut().entry(slot).or_default().0 = tag;
    }

    fn exchange_tag(&self, slot: u32, current: u32, new: u32) -> bool {
        let same = self.tag(slot) == current;
        if same {
            self.set_tag(slot, new);
        }
        same
    }

    fn neighbours(&self, slot: u32) -> Neighbours {
        self.records.borrow()[&slot].1.expect("links are written before they are read")
    }

    fn set_neighbours(&self, slot: u32, links: Neighbours) {
        self.records.borrow_mut().entry(slot).or_default().1 = Some(links);
    }
}
