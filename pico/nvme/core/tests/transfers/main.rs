// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Data arrive where they should, whatever the buffers, the rings and the order in which the device works; and a pair that
//! Linux takes away is not touched any more.

mod controller;

use controller::{Controller, LISTS_AT, NAMESPACE, SECTOR};
use proptest::prelude::*;
use tacet_pico::{Direction, Forward, Look, Transfer};
use tacet_pico_nvme::{Flight, Limits, Pair};

const SECTORS: usize = 4096;
const DEPTH: u16 = 64;

/// A call, and what the device does with it.
#[derive(Debug, Clone)]
struct Call {
    writes: bool,
    sector: usize,
    sectors: usize,
    /// In words.
    offset: u32,
    /// Decides about the places of pages, and about the order of completions.
    seed: u64,
    /// The device fails one of the commands.
    fails: bool,
}

fn calls() -> impl Strategy<Value = Call> {
    let sizes = prop_oneof![1..20usize, 1..600usize];
    (any::<bool>(), 0..SECTORS - 600, sizes, prop_oneof![Just(0), 0..1024u32], any::<u64>(), 0..8u8).prop_map(
        |(writes, sector, sectors, offset, seed, fails)| Call {
            writes,
            sector,
            sectors,
            offset,
            seed,
            fails: fails == 0,
        },
    )
}

impl Call {
    fn transfer(&self) -> Transfer {
        Transfer {
            direction: if self.writes { Direction::Write } else { Direction::Read },
            namespace: NAMESPACE,
            sector: self.sector as u64,
            sector_shift: 9,
            bytes: (self.sectors * SECTOR) as u32,
            page_offset: self.offset * 4,
        }
    }

    /// Different pages in any order, full of what depends on the seed.
    fn pages(&self, controller: &Controller) -> Vec<u64> {
        let places = |n: u32| ((u64::from(n) * 7 + self.seed % 5) % 10_007) << 12;
        let pages: Vec<u64> = (0..self.transfer().pages()).map(places).collect();
        let fill = |at: usize| (at as u64 ^ self.seed) as u8;
        *controller.memory.borrow_mut() =
            pages.iter().map(|&page| (page, (0..4096).map(|at| fill(at + page as usize)).collect())).collect();
        pages
    }
}

fn limits(controller: &Controller) -> Limits {
    Limits { depth: DEPTH, most_bytes: controller.most_bytes, lists: LISTS_AT }
}

fn begin(pair: &mut Pair, controller: &Controller, call: &Call, pages: &[u64]) -> Result<Flight, Forward> {
    pair.begin(controller, &limits(controller), &call.transfer(), pages.iter().map(|&page| Some(page)))
}

/// Lets the device work until the call is over.
fn finish(pair: &mut Pair, controller: &Controller, call: &Call, mut flight: Flight) -> Look {
    let (mut seed, mut fails) = (call.seed, call.fails);
    for _ in 0..1000 {
        controller.fetch();
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let status = if std::mem::take(&mut fails) { 0x281 } else { 0 };
        controller.complete_one((seed >> 33) as usize, status);
        if seed >> 60 == 0 {
            continue;
        }
        match pair.look(controller, &mut flight) {
            Look::Wait => {}
            over => return over,
        }
    }
    panic!("the device waits for a doorbell, or the core for a completion");
}

/// The buffer, and what is around it in its pages.
fn buffer(controller: &Controller, call: &Call, pages: &[u64]) -> (Vec<u8>, Vec<u8>) {
    let memory = controller.memory.borrow();
    let all: Vec<u8> = pages.iter().flat_map(|page| memory[page].clone()).collect();
    let (from, bytes) = (call.offset as usize * 4, call.sectors * SECTOR);
    (all[from..from + bytes].to_vec(), [&all[..from], &all[from + bytes..]].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn data_arrive(calls in prop::collection::vec(calls(), 1..40), most in 1..70u32, shadows: bool) {
        let (controller, mut pair) = (Controller::new(DEPTH, most << 12, shadows, SECTORS), Pair::default());
        for call in &calls {
            let pages = call.pages(&controller);
            let (before, around) = buffer(&controller, call, &pages);
            let there = call.sector * SECTOR..(call.sector + call.sectors) * SECTOR;
            let disk = controller.disk.borrow().clone();
            let commands = (call.sectors * SECTOR).div_ceil(most as usize * 4096);
            let flight = match begin(&mut pair, &controller, call, &pages) {
                Ok(flight) => flight,
                Err(reason) => {
                    prop_assert!(commands > 32 && reason == Forward::Room, "{:?}", reason);
                    continue;
                }
            };
            let over = finish(&mut pair, &controller, call, flight);
            prop_assert_eq!(over, if call.fails { Look::Forward(Forward::Status) } else { Look::Done });
            let (after, around_after) = buffer(&controller, call, &pages);
            prop_assert!(around == around_after, "bytes around the buffer have changed");
            let now = controller.disk.borrow();
            prop_assert!(now[..there.start] == disk[..there.start] && now[there.end..] == disk[there.end..]);
            if call.writes {
                prop_assert!(after == before);
            } else {
                prop_assert!(now[there.clone()] == disk[there.clone()]);
            }
            if !call.fails {
                prop_assert!(now[there] == after);
            }
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
            let pages = call.pages(&controller);
            match begin(&mut pair, &controller, &call, &pages) {
                Err(reason) => prop_assert_eq!((reason, controller.epoch.get() % 2), (Forward::State, 1)),
                Ok(mut flight) => {
                    controller.fetch();
                    if controller.epoch.get() % 2 != 0 {
                        prop_assert_eq!(pair.look(&controller, &mut flight), Look::Wait);
                        controller.renew();
                        let over = pair.look(&controller, &mut flight);
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

const CALL: Call = Call { writes: false, sector: 8, sectors: 64, offset: 0, seed: 1, fails: false };

#[test]
fn a_page_that_cannot_be_used_leaves_the_device_alone() {
    let (controller, mut pair) = (Controller::new(DEPTH, 1 << 14, false, SECTORS), Pair::default());
    let pages = CALL.pages(&controller);
    let some = pages.iter().enumerate().map(|(index, &page)| (index != 6).then_some(page));
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
        let pages = CALL.pages(&controller);
        let flight = begin(&mut pair, &controller, &CALL, &pages).unwrap();
        assert_eq!(finish(&mut pair, &controller, &CALL, flight), Look::Done);
    }
    let one = Call { sectors: 1, ..CALL };
    let mut flight = begin(&mut pair, &controller, &one, &one.pages(&controller)).unwrap();
    controller.epoch.set(3);
    controller.forget();
    assert_eq!(pair.look(&controller, &mut flight), Look::Wait);
    controller.epoch.set(4);
    assert_eq!(pair.look(&controller, &mut flight), Look::Forward(Forward::Loss));
}

#[test]
fn a_device_that_is_at_work_needs_no_bell() {
    let (controller, mut pair) = (Controller::new(DEPTH, 1 << 20, true, SECTORS), Pair::default());
    let pages = CALL.pages(&controller);
    controller.looks_by_itself();
    let flight = begin(&mut pair, &controller, &CALL, &pages).unwrap();
    controller.fetch();
    assert_eq!((controller.rings.get(), controller.commands_begun()), (0, 1));
    controller.complete_one(0, 0);
    let over = pair.look(&controller, &mut { flight });
    assert_eq!((over, controller.rings.get()), (Look::Done, 0));
}

#[test]
fn without_a_pair_nothing_is_begun() {
    let (controller, mut pair) = (Controller::new(DEPTH, 1 << 20, true, SECTORS), Pair::default());
    for epoch in [0, 1, 7] {
        controller.epoch.set(epoch);
        let pages = CALL.pages(&controller);
        assert_eq!(begin(&mut pair, &controller, &CALL, &pages).err(), Some(Forward::State));
    }
    assert_eq!(controller.rings.get(), 0);
}
