// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rings against a card that is made up: it uses a descriptor only while the tail gave it that one.

use super::*;
extern crate std;
use std::vec::Vec;

const BUFFERS: Buffers = Buffers { at: 0x10_0000, bytes: 2048 };

fn ring() -> &'static [Descriptor] {
    Vec::leak((0..ENTRIES).map(|_| Descriptor::new()).collect())
}

/// The card's side of a ring: the descriptors from head to tail are its own.
struct Card {
    ring: &'static [Descriptor],
    head: u32,
    tail: u32,
}

impl Card {
    /// A frame arrives. False: there is no buffer for it.
    fn arrive(&mut self, bytes: u64, flags: u64) -> bool {
        if self.head == self.tail {
            return false;
        }
        let descriptor = &self.ring[self.head as usize];
        assert_eq!(descriptor.place.load(Ordering::Relaxed), BUFFERS.at + u64::from(self.head) * 2048);
        assert_eq!(descriptor.state.load(Ordering::Relaxed), 0, "descriptor {} was given twice", self.head);
        descriptor.place.store(0x1234, Ordering::Relaxed);
        descriptor.state.store(ARRIVED | flags | bytes << 32, Ordering::Release);
        self.head = after(self.head);
        true
    }

    /// Sends one frame: its command and length.
    fn leave(&mut self) -> Option<(u64, u64)> {
        if self.head == self.tail {
            return None;
        }
        let descriptor = &self.ring[self.head as usize];
        let state = descriptor.state.fetch_or(SENT, Ordering::AcqRel);
        self.head = after(self.head);
        Some((state, state & 0xfffff))
    }
}

fn receiver() -> (Arriving, Card) {
    let ring = ring();
    (Arriving::new(ring, BUFFERS), Card { ring, head: 0, tail: Arriving::FIRST_TAIL })
}

#[test]
fn frames_arrive_in_order_over_many_rounds() {
    let (mut arriving, mut card) = receiver();
    let (mut sent, mut taken) = (0, 0);
    for burst in (0..400).map(|round| round * 7 % 40) {
        sent += (0..burst).take_while(|more| card.arrive(60 + (sent + more) % 1000, WHOLE)).count() as u64;
        while let Some(arrived) = arriving.next() {
            let (buffer, bytes) = (taken as usize % ENTRIES, 60 + taken as usize % 1000);
            assert_eq!(arrived, Arrived { buffer, bytes });
            taken += 1;
            card.tail = arriving.done().unwrap_or(card.tail);
        }
        card.tail = arriving.tell().unwrap_or(card.tail);
        assert_eq!(taken, sent);
    }
}

#[test]
fn a_full_ring_waits_for_the_reader() {
    let (mut arriving, mut card) = receiver();
    assert_eq!((0..100).take_while(|_| card.arrive(60, WHOLE)).count(), ENTRIES - 1);
    assert!(arriving.next().is_some());
    assert_eq!(arriving.done(), None);
    assert!(!card.arrive(60, WHOLE), "the card was not told yet");
    card.tail = arriving.tell().unwrap();
    assert_eq!(arriving.tell(), None);
    assert!(card.arrive(60, WHOLE) && !card.arrive(60, WHOLE));
}

#[test]
fn what_is_not_a_whole_frame_has_no_bytes() {
    let (mut arriving, mut card) = receiver();
    for (bytes, flags, want) in
        [(60, WHOLE, 60), (60, 0, 0), (60, WHOLE | FAULTY, 0), (2049, WHOLE, 0), (2048, WHOLE, 2048)]
    {
        assert!(card.arrive(bytes, flags));
        assert_eq!(arriving.next().unwrap().bytes, want);
        card.tail = arriving.done().unwrap_or(card.tail);
    }
    assert_eq!(arriving.next(), None);
}

#[test]
fn frames_leave_while_there_is_room() {
    let ring = ring();
    let (mut leaving, mut card) = (Leaving::new(ring, BUFFERS, Form::Advanced), Card { ring, head: 0, tail: 0 });
    for round in 0..5 {
        let mut sent = 0;
        while let Some(buffer) = leaving.free() {
            assert_eq!(buffer, (round * (ENTRIES - 1) + sent) % ENTRIES);
            card.tail = leaving.send(100 + sent);
            sent += 1;
        }
        assert_eq!(sent, ENTRIES - 1);
        assert_eq!(card.leave().unwrap().1, 100);
        assert!(leaving.free().is_some(), "one is free again");
        assert_eq!(std::iter::from_fn(|| card.leave()).count(), ENTRIES - 2);
    }
}

#[test]
fn each_family_reads_its_own_form() {
    for (form, command) in [(Form::Extended, 0x2b10_003c), (Form::Advanced, 60 << 46 | 0x2b30_003c)] {
        let ring = ring();
        let mut leaving = Leaving::new(ring, BUFFERS, form);
        assert_eq!((leaving.free(), leaving.send(60)), (Some(0), 1));
        assert_eq!(ring[0].state.load(Ordering::Relaxed), command);
        assert_eq!(ring[0].place.load(Ordering::Relaxed), BUFFERS.at);
    }
}
