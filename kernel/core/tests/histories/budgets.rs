// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls about a million entries: how many of them a CPU looks at before it lets its locks go.

use crate::machine::Machine;
use crate::memory::BASE;
use crate::program::{Action, Call};
use crate::world::World;
use tacet_core::{Common, Permits};
use tacet_logic::paging::Protection;

const ALL: u32 = Permits::CALLS.0 | Permits::MEMORY.0 | Permits::STAYS.0;
const BAD_ADDRESS: u64 = -14i64 as u64;
/// Behind the break's part, and how much there is.
const FIRST: u32 = 160 << 18;
const PAGES: u32 = 1 << 20;
/// Entries of a portion (`memory/portions.rs`), with a table more. A call looks for them, and then at them, through three levels.
const PORTION: u32 = 4096 + 512;
const LOOKS: u32 = 4 * PORTION;

/// The result of one call of a thread whose memory is `PAGES` entries, of which the last have another protection, and the
/// most entries that were looked at under locks.
fn perform(call: Call, others: u32) -> (Vec<u64>, u32) {
    let world = World::new(Box::new(Common::new()), 1, vec![(0, ALL, vec![Action::Exactly(call), Action::GetPid])]);
    world.fill(0, FIRST..FIRST + PAGES - others, Protection::READ);
    world.fill(0, FIRST + PAGES - others..FIRST + PAGES, Protection::NONE);
    let mut machine = Machine::new(&world);
    machine.linux.post(0, 0);
    while machine.linux.ring(0) {}
    let thread = world.thread(0);
    while thread.posted.get().is_some() && thread.results.borrow().is_empty() {
        machine.run(0);
    }
    let results = thread.results.borrow_mut().drain(..).collect();
    machine.end();
    (results, world.memory.most_looks.get())
}

fn grow() -> Call {
    let bytes = u64::from(PAGES) << 12;
    (25, [address(), bytes, bytes + 4096, 0, 0, 0])
}

fn address() -> u64 {
    BASE + (u64::from(FIRST) << 12)
}

#[test]
fn a_mapping_grows_without_a_long_look_at_what_it_is() {
    let (results, looks) = perform(grow(), 0);
    assert_eq!(results, [address()]);
    assert!(looks <= LOOKS, "{looks} entries looked at under locks");
}

#[test]
fn mappings_of_two_kinds_do_not_grow_and_that_is_found_without_a_long_look() {
    let (results, looks) = perform(grow(), 1);
    assert_eq!(results, [BAD_ADDRESS]);
    assert!(looks <= LOOKS, "{looks} entries looked at under locks");
}
