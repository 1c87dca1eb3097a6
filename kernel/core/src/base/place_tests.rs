// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;
extern crate std;
use std::vec::Vec;

/// Every transition that there is.
fn all(recall: Recall) -> Vec<(Place, Event, Place)> {
    let pairs = PLACES.iter().flat_map(|&from| EVENTS.iter().map(move |&event| (from, event)));
    pairs.filter_map(|(from, event)| next(from, event, recall).map(|to| (from, event, to))).collect()
}

#[test]
fn a_recalled_thread_gets_no_nearer_to_user_mode() {
    for (from, event, to) in all(Recall::Always) {
        let stays = to == from && matches!(event, Event::Block(_));
        let waits = matches!(event, Event::Wake(_) | Event::Block(Wait::Device));
        assert!(to == Place::Away || stays || waits, "{from:?}, {event:?}: {to:?}");
    }
}

#[test]
fn the_end_of_a_turn_concerns_a_running_thread_only() {
    let (turn, not) = (all(Recall::Turn), all(Recall::Not));
    for (one, other) in turn.iter().zip(&not) {
        let ends = (one.0, one.1) == (Place::Running, Event::Look);
        assert_eq!(one.2, if ends { Place::Away } else { other.2 });
    }
    assert_eq!(turn.len(), not.len());
}

#[test]
fn a_recall_forbids_nothing_that_could_happen_without() {
    let both = |recall| all(recall).into_iter().map(|(from, event, _)| (from, event)).collect::<Vec<_>>();
    assert_eq!(both(Recall::Always), both(Recall::Not));
}

#[test]
fn every_place_is_reached_and_left() {
    let transitions = all(Recall::Not);
    for place in PLACES {
        assert!(transitions.iter().any(|&(from, _, to)| from != to && to == place), "{place:?} is never reached");
        assert!(transitions.iter().any(|&(from, _, to)| from == place && to != from), "{place:?} is never left");
    }
}

#[test]
fn a_woken_thread_moves_on_unless_it_must_stay() {
    let resumed = |woken, room| next(woken, Event::Resume(room), Recall::Not);
    assert_eq!(resumed(Place::WokenIfFree, Room::Free), Some(Place::Queued));
    assert_eq!(resumed(Place::WokenIfFree, Room::Shared), Some(Place::Away));
    assert_eq!(resumed(Place::WokenHere, Room::Shared), Some(Place::Queued));
    assert_eq!(resumed(Place::WokenHere, Room::Full), Some(Place::Away));
}

#[test]
fn what_cannot_happen_changes_nothing() {
    let places = std::boxed::Box::new(Places::new());
    assert_eq!(places.change(3, Event::Wake(Then::Here), Recall::Not), Err(Some(Place::Away)));
    assert_eq!(places.get(3), Some(Place::Away));
    assert_eq!(places.change(THREADS as u32, Event::Post, Recall::Not), Err(None));
}

#[test]
fn a_place_is_what_was_written() {
    for place in PLACES {
        assert_eq!(Place::decode(place as u8), place);
    }
}

#[test]
fn the_table_is_the_rule() {
    for (index, event) in EVENTS.into_iter().enumerate() {
        assert_eq!(event.index(), index);
        for (from, recall) in PLACES.into_iter().flat_map(|from| RECALLS.map(|recall| (from, recall))) {
            assert_eq!(next(from, event, recall), rule(from, event, recall), "{from:?}, {event:?}, {recall:?}");
        }
    }
    assert_eq!(RECALLS.map(|recall| recall as usize), [0, 1, 2]);
}
