// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Data arrive where they should, whatever the buffers, the rings and the order in which the device works; and a pair that
//! Linux takes away is not touched any more.

mod calls;
mod controller;

use calls::{CALL, Call, Place, SECTORS, calls, pieces};
use controller::{Controller, LISTS_AT, NAMESPACE, SECTOR};
use proptest::prelude::*;
use tacet_pico::{Forward, Look, Piece, Transfer};
use tacet_pico_nvme::{Flight, Limits, Pair};

const DEPTH: u16 = 64;

fn limits(controller: &Controller) -> Limits {
    Limits { depth: DEPTH, most_bytes: controller.most_bytes, lists: LISTS_AT, segments: controller.segments.get() }
}

/// All of the call.
fn begin(pair: &mut Pair, controller: &Controller, call: &Call, places: &[Place]) -> Result<Flight, Forward> {
    let begun = begin_behind(pair, controller, call, places, 0);
    begun.map(|(flight, bytes)| {
        assert_eq!(bytes as usize, call.sectors * SECTOR);
        flight
    })
}

fn begin_behind(
    pair: &mut Pair,
    controller: &Controller,
    call: &Call,
    places: &[Place],
    done: u32,
) -> Result<(Flight, u32), Forward> {
    pair.begin(controller, &limits(controller), &call.transfer().behind(done), pieces(places, done).into_iter())
}

/// Looks as a core does, which looks closely only if the pair is not quiet.
fn look(pair: &mut Pair, controller: &Controller, flight: &Flight) -> Look {
    let quiet = pair.is_quiet(controller, flight);
    let look = pair.look(controller, flight);
    assert!(!quiet || look == Look::Wait, "quiet, and a look shows {look:?}");
    look
}

/// Lets the device work until the call is over.
fn finish(pair: &mut Pair, controller: &Controller, call: &Call, flight: Flight) -> Look {
    let (mut seed, mut fails) = (call.seed, call.fails);
    for _ in 0..1000 {
        controller.fetch();
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let status = if std::mem::take(&mut fails) { 0x281 } else { 0 };
        controller.complete_one((seed >> 33) as usize, |_| status);
        if seed >> 60 == 0 {
            continue;
        }
        match look(pair, controller, &flight) {
            Look::Wait => {}
            over => return over,
        }
    }
    panic!("the device waits for a doorbell, or the core for a completion");
}

/// The buffers, and what is around them in their pages.
fn buffer(controller: &Controller, places: &[Place]) -> (Vec<u8>, Vec<u8>) {
    let mut memory = controller.memory.borrow().clone();
    let mut inside = Vec::new();
    for piece in pieces(places, 0).into_iter().flatten() {
        let offset = (piece.address & 4095) as usize;
        let bytes = &mut memory.get_mut(&(piece.address & !4095)).unwrap()[offset..offset + piece.bytes as usize];
        inside.extend_from_slice(bytes);
        bytes.fill(0);
    }
    (inside, memory.into_values().flatten().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn data_arrive(calls in prop::collection::vec(calls(), 1..40), most in 1..70u32, shadows: bool, segments: bool) {
        let (controller, mut pair) = (Controller::new(DEPTH, most << 12, shadows, SECTORS), Pair::default());
        controller.segments.set(segments);
        for call in &calls {
            let places = call.fill(&controller);
            let (before, around) = buffer(&controller, &places);
            let there = call.sector * SECTOR..(call.sector + call.sectors) * SECTOR;
            let disk = controller.disk.borrow().clone();
            let (mut done, mut failed) = (0, false);
            while done < call.sectors * SECTOR && !failed {
                let (flight, bytes) = begin_behind(&mut pair, &controller, call, &places, done as u32).unwrap();
                prop_assert!(bytes > 0 && (bytes as usize).is_multiple_of(SECTOR));
                controller.full.set(false);
                let over = finish(&mut pair, &controller, call, flight);
                prop_assert_eq!(over, if call.fails { Look::Forward(Forward::Status) } else { Look::Done });
                (done, failed) = (done + bytes as usize, call.fails);
                let is_full = flight.commands() == 32 || controller.full.get();
                prop_assert!(done == call.sectors * SECTOR || is_full || failed, "it could do more");
            }
            let (after, around_after) = buffer(&controller, &places);
            prop_assert!(around == around_after, "bytes around the buffers have changed");
            let now = controller.disk.borrow();
            prop_assert!(now[..there.start] == disk[..there.start] && now[there.end..] == disk[there.end..]);
            if call.writes {
                prop_assert!(after == before);
            } else {
                prop_assert!(now[there.clone()] == disk[there.clone()]);
            }
            if !call.fails {
                prop_assert!(now[there] == after);
                prop_assert_eq!(controller.through.take(), if call.through { call.sectors } else { 0 });
            }
            controller.through.set(0);
        }
    }

    /// Linux begins to take the pair away at any moment, forgets it, and makes it anew. The fake panics if the core touches
    /// a doorbell in between.
    #[test]
    fn a_pair_is_taken_away(calls in prop::collection::vec(calls(), 2..12), looks in 0..60u32, shadows: bool) {
        let (controller, mut pair) = (Controller::new(DEPTH, 1 << 17, shadows, SECTORS), Pair::default());
        controller.looks_left.set(Some(looks));
        for call in &calls {
            let call = Call { fails: false, ..call.clone() };
            let places = call.fill(&controller);
            match begin_behind(&mut pair, &controller, &call, &places, 0).map(|(flight, _)| flight) {
                Err(reason) => prop_assert_eq!((reason, controller.epoch.get() % 2), (Forward::State, 1)),
                Ok(flight) => {
                    controller.fetch();
                    if controller.epoch.get() % 2 != 0 {
                        prop_assert_eq!(look(&mut pair, &controller, &flight), Look::Wait);
                        controller.renew();
                        let over = look(&mut pair, &controller, &flight);
                        prop_assert_eq!(over, Look::Forward(Forward::Loss));
                    } else {
                        prop_assert_eq!(finish(&mut pair, &controller, &call, flight), Look::Done);
                    }
                }
            }
            if controller.epoch.get() % 2 != 0 {
                controller.renew();
            }
        }
    }
}

/// A call whose commands the device has, and its place.
struct Flying {
    call: Call,
    places: Vec<Place>,
    flight: Flight,
    bytes: usize,
}

/// So many calls at the same time at most, each with sectors and pages of its own.
const CALLS: usize = 6;

impl Flying {
    /// The device is done with it: with what it had of the call, or with an error.
    fn check(&self, controller: &Controller, over: Look) {
        let fails = self.call.fails;
        assert_eq!(over, if fails { Look::Forward(Forward::Status) } else { Look::Done });
        if !fails {
            let there = self.call.sector * SECTOR;
            let (memory, _) = buffer(controller, &self.places);
            assert!(controller.disk.borrow()[there..there + self.bytes] == memory[..self.bytes]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever order they begin, are executed and are looked at in.
    #[test]
    fn calls_are_in_flight_at_the_same_time(
        calls in prop::collection::vec(calls(), 10..60), most in 1..70u32, shadows: bool, segments: bool, mut seed: u64
    ) {
        let (controller, mut pair) = (Controller::new(DEPTH, most << 12, shadows, SECTORS), Pair::default());
        controller.segments.set(segments);
        let mut flying = Vec::<Flying>::new();
        let mut calls = calls.into_iter().peekable();
        let mut random = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize
        };
        while calls.peek().is_some() || !flying.is_empty() {
            let place = (0..CALLS as u64).find(|&place| flying.iter().all(|other| other.call.place != place));
            match (random() % 4, place) {
                (0, Some(place)) if let Some(call) = calls.next() => {
                    let call = Call { place, sector: place as usize * 680 + call.sector % 80, ..call };
                    let places = call.fill(&controller);
                    match begin_behind(&mut pair, &controller, &call, &places, 0) {
                        Ok((flight, bytes)) => flying.push(Flying { call, places, flight, bytes: bytes as usize }),
                        Err(reason) => prop_assert_eq!((reason, pair.in_flight().1 > 0), (Forward::Busy, true)),
                    }
                    prop_assert!(pair.in_flight().0 <= 32 && pair.in_flight().1 as usize == flying.len());
                }
                (1, _) => controller.fetch(),
                (2, _) => controller.complete_one(random(), |sector| {
                    let of = |flying: &&Flying| flying.call.place == sector / 680;
                    if flying.iter().find(of).is_some_and(|flying| flying.call.fails) { 0x281 } else { 0 }
                }),
                _ if !flying.is_empty() => {
                    let which = random() % flying.len();
                    let over = look(&mut pair, &controller, &flying[which].flight);
                    if over != Look::Wait {
                        flying.swap_remove(which).check(&controller, over);
                    }
                }
                _ => {}
            }
        }
        prop_assert_eq!(pair.in_flight(), (0, 0));
    }
}

/// Linux takes the pair away from several calls. One that begins in the next one does not bring them back.
#[test]
fn all_calls_of_a_pair_that_is_taken_away_are_lost() {
    let (controller, mut pair) = (Controller::new(DEPTH, 1 << 20, false, SECTORS), Pair::default());
    let calls = [0, 1, 2].map(|place| Call { place, sector: 680 * place as usize, ..CALL });
    let places = calls.each_ref().map(|call| call.fill(&controller));
    let begin = |pair: &mut Pair, nth: usize| begin(pair, &controller, &calls[nth], &places[nth]).unwrap();
    let (first, second) = (begin(&mut pair, 0), begin(&mut pair, 1));
    controller.renew();
    assert_eq!(look(&mut pair, &controller, &first), Look::Forward(Forward::Loss));
    let third = begin(&mut pair, 2);
    assert_eq!(look(&mut pair, &controller, &second), Look::Forward(Forward::Loss));
    assert_eq!(finish(&mut pair, &controller, &calls[2], third), Look::Done);
    assert_eq!(pair.in_flight(), (0, 0));
}

#[test]
fn a_page_that_cannot_be_used_leaves_the_device_alone() {
    let (controller, mut pair) = (Controller::new(DEPTH, 1 << 14, false, SECTORS), Pair::default());
    let pages = CALL.fill(&controller);
    let some = pieces(&pages, 0).into_iter().enumerate().map(|(index, piece)| piece.filter(|_| index != 6));
    let begun = pair.begin(&controller, &limits(&controller), &CALL.transfer(), some);
    assert_eq!(begun.err(), Some(Forward::Buffer));
    assert_eq!(controller.rings.get(), 0);
    let flight = begin(&mut pair, &controller, &CALL, &pages).unwrap();
    assert_eq!(finish(&mut pair, &controller, &CALL, flight), Look::Done);
}

/// In the second round of the rings, zeros look like the device's answer; they name no command.
#[test]
fn a_cleared_ring_is_no_completion() {
    let (controller, mut pair) = (Controller::new(DEPTH, 1 << 14, false, SECTORS), Pair::default());
    for _ in 0..40 {
        let pages = CALL.fill(&controller);
        let flight = begin(&mut pair, &controller, &CALL, &pages).unwrap();
        assert_eq!(finish(&mut pair, &controller, &CALL, flight), Look::Done);
    }
    let one = Call { sectors: 1, ..CALL };
    let flight = begin(&mut pair, &controller, &one, &one.fill(&controller)).unwrap();
    controller.epoch.set(3);
    controller.forget();
    assert_eq!(look(&mut pair, &controller, &flight), Look::Wait);
    controller.epoch.set(4);
    assert_eq!(look(&mut pair, &controller, &flight), Look::Forward(Forward::Loss));
}

#[test]
fn a_device_that_is_at_work_needs_no_bell() {
    let (controller, mut pair) = (Controller::new(DEPTH, 1 << 20, true, SECTORS), Pair::default());
    let pages = CALL.fill(&controller);
    controller.looks_by_itself();
    let flight = begin(&mut pair, &controller, &CALL, &pages).unwrap();
    controller.fetch();
    assert_eq!((controller.rings.get(), controller.commands_begun()), (0, 1));
    assert!(pair.is_quiet(&controller, &flight));
    controller.complete_one(0, |_| 0);
    let over = look(&mut pair, &controller, &flight);
    assert_eq!((over, controller.rings.get()), (Look::Done, 0));
}

/// Buffers that follow each other page by page need one command, and so do those within one page; others if the device
/// takes segments.
#[test]
fn buffers_that_follow_each_other_share_a_command() {
    for (offset, split, segments, commands) in
        [(0, 8, false, 1), (0, 1, false, 1), (1, 8, false, 8), (1, 8, true, 1), (1, 1, true, 1)]
    {
        let (controller, mut pair) = (Controller::new(DEPTH, 1 << 20, false, SECTORS), Pair::default());
        controller.segments.set(segments);
        let call = Call { offset, split, seed: (u64::from(offset)) << 40, ..CALL };
        let flight = begin(&mut pair, &controller, &call, &call.fill(&controller)).unwrap();
        assert_eq!(flight.commands(), commands, "{offset} {split}");
        assert_eq!(finish(&mut pair, &controller, &call, flight), Look::Done);
    }
}

/// A list of pages ends at 2 MiB, a list of 256 segments nowhere: one command has what the device takes.
#[test]
fn a_command_by_segments_is_as_long_as_the_device_takes() {
    for (segments, commands) in [(false, 4), (true, 1)] {
        let (controller, mut pair) = (Controller::new(DEPTH, 8 << 20, false, 16384), Pair::default());
        controller.segments.set(segments);
        controller.memory.borrow_mut().extend((0..2048u64).map(|page| (page << 12, vec![0; 4096])));
        let transfer = Transfer { sector: 0, bytes: 8 << 20, ..CALL.transfer() };
        let pages = (0..2048u64).map(|page| Some(Piece { address: page << 12, bytes: 4096 }));
        let (flight, bytes) = pair.begin(&controller, &limits(&controller), &transfer, pages).unwrap();
        assert_eq!((flight.commands(), bytes), (commands, 8 << 20));
        assert_eq!(finish(&mut pair, &controller, &CALL, flight), Look::Done);
        let memory: Vec<u8> = controller.memory.borrow().values().flatten().copied().collect();
        assert!(memory == *controller.disk.borrow());
    }
}

/// The 257th run does not fit: the command ends with the last whole sector before, and the call goes on from there.
#[test]
fn a_full_list_ends_at_a_sector() {
    let (controller, mut pair) = (Controller::new(DEPTH, 8 << 20, false, SECTORS), Pair::default());
    controller.segments.set(true);
    let call = Call { sectors: 2400, split: 2400, offset: 3, seed: 0, ..CALL };
    let places = call.fill(&controller);
    let (flight, bytes) = begin_behind(&mut pair, &controller, &call, &places, 0).unwrap();
    assert_eq!((flight.commands(), bytes), (1, 255 * 4096 + 4096 - 512));
    assert_eq!(finish(&mut pair, &controller, &call, flight), Look::Done);
    assert!(controller.full.get());
    let (flight, rest) = begin_behind(&mut pair, &controller, &call, &places, bytes).unwrap();
    assert_eq!((flight.commands(), bytes + rest), (1, 2400 * 512));
}

#[test]
fn a_flush_is_a_command_without_data() {
    let (controller, mut pair) = (Controller::new(DEPTH, 1 << 20, false, SECTORS), Pair::default());
    for fails in [false, true] {
        let flight = pair.flush(&controller, &limits(&controller), NAMESPACE).unwrap();
        assert_eq!(flight.commands(), 1);
        let over = finish(&mut pair, &controller, &Call { fails, ..CALL }, flight);
        assert_eq!(over, if fails { Look::Forward(Forward::Status) } else { Look::Done });
    }
    assert_eq!(controller.flushes.get(), 1);
    controller.epoch.set(3);
    assert_eq!(pair.flush(&controller, &limits(&controller), NAMESPACE).err(), Some(Forward::State));
}

#[test]
fn without_a_pair_nothing_is_begun() {
    let (controller, mut pair) = (Controller::new(DEPTH, 1 << 20, true, SECTORS), Pair::default());
    for epoch in [0, 1, 7] {
        controller.epoch.set(epoch);
        let pages = CALL.fill(&controller);
        assert_eq!(begin(&mut pair, &controller, &CALL, &pages).err(), Some(Forward::State));
    }
    assert_eq!(controller.rings.get(), 0);
}
