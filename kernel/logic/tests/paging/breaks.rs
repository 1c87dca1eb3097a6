// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What puts something valid in the place of something else, under the eyes of a processor that wants break before
//! make. Each says how often that was flushed on the way.

use tacet_logic::paging::{AddressSpace, Attributes, Error, PIECE_PAGES, Protection, Span, Tables};

use crate::machine::Machine;

pub const EAGER: Attributes =
    Attributes { protection: Protection::READ_WRITE, policy: 0, eager: true, small: false, undumped: false };

pub fn span(first: u32, pages: u32) -> Span {
    Span::new(first, pages).unwrap()
}

/// Does `prepare`, flushes, does `act` as one operation, and says how often that has flushed.
pub fn watched(
    prepare: impl FnOnce(&mut AddressSpace<'_, Machine>) -> Result<(), Error>,
    act: impl FnOnce(&mut AddressSpace<'_, Machine>) -> Result<(), Error>,
) -> usize {
    let mut machine = Machine::new(true);
    let root = machine.root();
    let tlb = machine.watch(root);
    prepare(&mut machine.space(root)).unwrap();
    machine.flush();
    let before = tlb.borrow().flushes;
    act(&mut machine.space(root)).unwrap();
    let during = tlb.borrow().flushes - before;
    machine.flush();
    during
}

pub fn divide_a_large_page() -> usize {
    watched(|space| space.map(span(0, PIECE_PAGES), EAGER), |space| space.unmap(span(700, 3), |_| {}).map(drop))
}

/// `mmap` with `MAP_FIXED`.
pub fn map_anew() -> usize {
    watched(
        |space| space.map(span(10, 100), EAGER),
        |space| {
            space.unmap(span(20, 50), |_| {})?;
            space.map(span(30, 40), EAGER)
        },
    )
}

pub fn map_where_a_table_was() -> usize {
    watched(
        |space| space.map(span(10, 100), EAGER),
        |space| {
            space.unmap(span(10, 100), |_| {})?;
            space.map(span(0, PIECE_PAGES), EAGER)
        },
    )
}
