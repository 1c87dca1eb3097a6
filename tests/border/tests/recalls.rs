// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Linux waits until recalled threads are back (`linux/process/recall.c`). It may wait for those recalls alone that no thread
//! outlives: a recall that ends a turn stays with a thread that waits by then, for as long as that waits.

use tacet_abi::{TACET_RECALL_ALWAYS, TACET_RECALL_KILLED, TACET_RECALL_NOT, TACET_RECALL_TURN};
use tacet_border::recall_returns;
use tacet_core::{Event, Place, Recall, Wait, next};

/// As `kernel/host/linux/src/context.rs` reads them.
const RECALLS: [(u32, Recall); 4] = [
    (TACET_RECALL_NOT, Recall::Not),
    (TACET_RECALL_ALWAYS, Recall::Always),
    (TACET_RECALL_TURN, Recall::Turn),
    (TACET_RECALL_KILLED, Recall::Always),
];

#[test]
fn linux_waits_for_a_recall_if_and_only_if_no_wait_begins_under_it() {
    for (code, recall) in RECALLS {
        for (wait, place) in [(Wait::Futex, Place::WaitsForFutex), (Wait::Time, Place::WaitsForTime)] {
            let waits = next(Place::Running, Event::Block(wait), recall) == Some(place);
            assert_eq!(recall_returns(code), !waits, "{recall:?} and {wait:?}");
        }
    }
}
