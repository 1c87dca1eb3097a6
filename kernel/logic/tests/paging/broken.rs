// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whatever is done, nothing valid comes where something else has not been broken first; and what needs no flush has
//! none.

use proptest::prelude::*;
use tacet_logic::paging::{Entry, PageSize, Protection, Tables};

use crate::breaks::{EAGER, span, watched};
use crate::histories::operations;
use crate::machine::Machine;
use crate::operation::Operation;

#[test]
fn what_moves_or_goes_is_not_flushed_page_by_page() {
    let flushes = watched(
        |space| space.map(span(3, 400), EAGER),
        |space| {
            space.shift(span(3, 400), 5_000)?;
            space.unmap(span(5_000, 300), |_| {}).map(drop)
        },
    );
    assert_eq!(flushes, 0);
}

#[test]
fn large_pages_may_be_executed() {
    let flushes = watched(
        |space| space.map(span(512, 512), EAGER),
        |space| {
            space.protect(span(512, 512), Protection::READ_EXECUTE)?;
            let view = space.view(600).unwrap();
            assert!(view.size == PageSize::Mib2 && matches!(view.entry, Entry::Leaf(_)));
            Ok(())
        },
    );
    assert_eq!(flushes, 0);
}

/// A history in which some of what is unmapped is mapped anew before the flush, and pages move where a policy wants
/// them.
fn run(history: &[(Operation, bool)]) {
    let mut machine = Machine::new(false);
    let root = machine.root();
    let tlb = machine.watch(root);
    machine.space(root).map(span(0, 1200), EAGER).unwrap();
    machine.space(root).map(span((1 << 18) - 500, 1100), EAGER).unwrap();
    for (operation, anew) in history {
        match *operation {
            Operation::Advise(at, ..) => {
                let advised = operation.perform(&mut machine, root);
                if advised.is_ok() {
                    let flush = || tlb.borrow_mut().flush();
                    let mut retired = Vec::new();
                    machine.space(root).relocate(at, flush, |old| retired.push(old));
                    machine.flush();
                    machine.release(&retired);
                }
            }
            Operation::Unmap(at) if *anew => {
                // As the handler of `mmap` does it.
                let mut retired = Vec::new();
                let mut space = machine.space(root);
                if space.unmap(at, |old| retired.push(old)).is_ok() {
                    let _ = space.map(at, EAGER);
                }
                machine.flush();
                machine.release(&retired);
            }
            _ => drop(operation.perform(&mut machine, root)),
        }
        machine.check(&[root]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn no_history_makes_what_it_has_not_broken(
        history in prop::collection::vec((operations(vec![1, 2, 100, 512, 513, 1024]), any::<bool>()), 1..25),
    ) {
        run(&history);
    }
}
