// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Frames that jobs have for themselves: runs go from nobody's lists to a job's and back, in front of two cores' caches. A
//! model knows the owner of each frame, and every difference is a failure. Controls make mistakes on purpose, which have
//! to be found.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tacet_logic::frames::{Block, Cache, Chain, FreeError, Guard, HUGE_ORDER, Lists, Pool, State};

use crate::model::layout;
use crate::records::MapRecords;

const OWNERS: usize = 3;
const FIRST: u64 = 77;
const FRAMES: u32 = 9_000;

struct Locks([RefCell<Lists>; OWNERS]);

impl Guard for Locks {
    fn with<T>(&self, owner: u8, work: impl FnOnce(&mut Lists) -> T) -> T {
        work(&mut self.0[usize::from(owner)].borrow_mut())
    }
}

/// The mistake that the harness makes on purpose.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// A core serves a job with what it has in store for another one.
    NotServed,
    /// The second core keeps what it has in store when a job ends.
    NotDrained,
}

#[derive(Clone, Debug)]
enum Step {
    Give { owner: u8, order: u8 },
    TakeBack { owner: u8 },
    Allocate { core: usize, owner: u8, order: u8 },
    Free { core: usize, which: usize },
    Retire { core: usize, which: usize },
}

struct World {
    pool: Pool<'static, MapRecords>,
    locks: Locks,
    caches: [Cache; 2],
    /// By frame, from `FIRST` on.
    owners: Vec<u8>,
    /// By first frame.
    out: BTreeMap<u64, u8>,
    mistake: Mistake,
}

impl World {
    fn new(mistake: Mistake) -> Self {
        let pool = Pool::new(layout(&[Block::new(FIRST, FRAMES, 0)]), MapRecords::default());
        let locks = Locks(std::array::from_fn(|owner| {
            let mut lists = Lists::new();
            lists.set_owner(owner as u8);
            RefCell::new(lists)
        }));
        locks.with(0, |lists| pool.fill(lists));
        let owners = vec![0; FRAMES as usize];
        Self { pool, locks, caches: [Cache::new(0), Cache::new(0)], owners, out: BTreeMap::new(), mistake }
    }

    fn owners_of(&mut self, frame: u64, order: u8) -> &mut [u8] {
        let first = (frame - FIRST) as usize;
        &mut self.owners[first..first + (1 << order)]
    }

    /// As a core does it for Linux.
    fn give(&mut self, owner: u8, order: u8) {
        let Some(frame) = self.locks.with(0, |lists| self.pool.allocate(lists, order, &[0])) else { return };
        assert!(self.owners_of(frame, order).iter().all(|&owner| owner == 0), "a job gets another job's frames");
        assert_eq!(self.locks.with(owner, |lists| self.pool.adopt(lists, frame, order)), Ok(()));
        self.owners_of(frame, order).fill(owner);
    }

    /// As Linux does it when the job has ended: all of it that no one holds is nobody's again.
    fn take_back(&mut self, owner: u8) {
        for cache in &mut self.caches[..if self.mistake == Mistake::NotDrained { 1 } else { 2 }] {
            cache.drain(&self.pool, &self.locks);
        }
        while let Some((frame, order)) = self.locks.with(owner, |lists| self.pool.allocate_any(lists)) {
            assert!(self.owners_of(frame, order).iter().all(|&of| of == owner));
            assert_eq!(self.locks.with(0, |lists| self.pool.adopt(lists, frame, order)), Ok(()));
            self.owners_of(frame, order).fill(0);
        }
        let left = self.owners.iter().filter(|&&of| of == owner).count() as u64;
        assert_eq!(left, self.frames_out(owner), "what is not held has come back");
    }

    fn frames_out(&mut self, owner: u8) -> u64 {
        let out = self.out.clone();
        out.iter().filter(|&(&frame, _)| self.owners_of(frame, 0)[0] == owner).map(|(_, order)| 1 << order).sum()
    }

    fn allocate(&mut self, core: usize, owner: u8, order: u8) {
        if self.mistake != Mistake::NotServed {
            self.caches[core].serve(&self.pool, &self.locks, owner);
        }
        let Some(frame) = self.caches[core].allocate(&self.pool, &self.locks, order, &[0]) else { return };
        assert!(self.owners_of(frame, order).iter().all(|&of| of == owner), "{frame:#x} is not that job's");
        assert_eq!((self.pool.owner(frame), self.pool.state(frame)), (Some(owner), Some(State::Used(order))));
        let before = self.out.range(..frame + (1 << order)).next_back();
        assert!(before.is_none_or(|(&first, &order)| first + (1 << order) <= frame), "{frame:#x} twice");
        self.out.insert(frame, order);
    }

    fn take_out(&mut self, which: usize) -> Option<(u64, u8)> {
        let (&frame, &order) = self.out.iter().nth(which % self.out.len().max(1))?;
        self.out.remove(&frame);
        Some((frame, order))
    }

    /// By any core, whomever it serves: a frame that Linux held comes back so.
    fn free(&mut self, core: usize, which: usize) {
        let Some((frame, order)) = self.take_out(which) else { return };
        let owner = self.owners_of(frame, 0)[0];
        let other = (owner + 1) % OWNERS as u8;
        let by_other = self.locks.with(other, |lists| self.pool.free(lists, frame, order));
        assert_eq!(by_other, Err(FreeError::Owner(owner)));
        assert_eq!(self.caches[core].free(&self.pool, &self.locks, frame, order), Ok(()));
    }

    /// Unmapped first, and freed in parts.
    fn retire(&mut self, core: usize, which: usize) {
        let Some((frame, order)) = self.take_out(which) else { return };
        assert_eq!(self.pool.split(frame, order, order / 2), Ok(()));
        let mut chain = Chain::new();
        for part in (frame..frame + (1 << order)).step_by(1 << (order / 2)) {
            assert_eq!(chain.push(&self.pool, part, order / 2), Ok(()));
        }
        assert_eq!(chain.free(&self.pool, &self.locks, &mut self.caches[core]), Ok(()));
    }

    fn check(&mut self) {
        let stored: u64 = self.caches.iter().map(Cache::frames).sum();
        let free: u64 = self.locks.0.iter().map(|lists| lists.borrow().statistics(0).frames).sum();
        let out: u64 = self.out.values().map(|order| 1 << order).sum();
        assert_eq!(free + stored + out, u64::from(FRAMES));
        for owner in 1..OWNERS as u8 {
            let free = self.locks.with(owner, |lists| lists.statistics(0).frames);
            let all = self.owners.iter().filter(|&&of| of == owner).count() as u64;
            assert!(free + self.frames_out(owner) <= all, "job {owner} has frames that are not its own");
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Give { owner, order } => self.give(owner, order),
            Step::TakeBack { owner } => self.take_back(owner),
            Step::Allocate { core, owner, order } => self.allocate(core, owner, order),
            Step::Free { core, which } => self.free(core, which),
            Step::Retire { core, which } => self.retire(core, which),
        }
        self.check();
    }

    /// All comes back, and is what it was.
    fn end(mut self) {
        while !self.out.is_empty() {
            self.free(0, 0);
        }
        (1..OWNERS as u8).for_each(|owner| self.take_back(owner));
        self.caches.iter_mut().for_each(|cache| cache.drain(&self.pool, &self.locks));
        let fresh = World::new(Mistake::None);
        let runs = |world: &World| world.locks.with(0, |lists| lists.statistics(0));
        assert_eq!(runs(&self), runs(&fresh), "all runs are as large as at the start");
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let order = prop::sample::select(vec![0, 0, 0, 1, 3, HUGE_ORDER, 10]);
    let given = prop::sample::select(vec![HUGE_ORDER, HUGE_ORDER, 10, 11]);
    let step = prop_oneof![
        3 => (1..OWNERS as u8, given).prop_map(|(owner, order)| Step::Give { owner, order }),
        1 => (1..OWNERS as u8).prop_map(|owner| Step::TakeBack { owner }),
        10 => (0..2usize, 0..OWNERS as u8, order).prop_map(|(core, owner, order)| Step::Allocate { core, owner, order }),
        5 => (0..2usize, any::<usize>()).prop_map(|(core, which)| Step::Free { core, which }),
        2 => (0..2usize, any::<usize>()).prop_map(|(core, which)| Step::Retire { core, which }),
    ];
    prop::collection::vec(step, 1..120)
}

fn histories(mistake: Mistake) -> Result<(), String> {
    let config = Config { failure_persistence: None, ..Config::with_cases(if cfg!(miri) { 2 } else { 300 }) };
    let history = |steps: Vec<Step>| {
        let mut world = World::new(mistake);
        steps.into_iter().for_each(|step| world.step(step));
        world.end();
        Ok(())
    };
    TestRunner::new(config).run(&steps(), history).map_err(|error| error.to_string())
}

#[test]
fn no_job_gets_a_frame_of_another_and_all_come_back() {
    if let Err(error) = histories(Mistake::None) {
        panic!("{error}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "so few histories find no mistake")]
fn mistakes_are_found() {
    for mistake in [Mistake::NotServed, Mistake::NotDrained] {
        let found = catch_unwind(AssertUnwindSafe(|| histories(mistake)));
        assert!(!matches!(found, Ok(Ok(()))), "mistake {} is not found", mistake as u8);
    }
}

#[test]
fn a_jobs_run_does_not_coalesce_with_its_free_neighbour() {
    let mut world = World::new(Mistake::None);
    world.give(1, HUGE_ORDER);
    let largest = |world: &World, owner| world.locks.with(owner, |lists| lists.statistics(0).runs);
    assert_eq!(largest(&world, 1)[usize::from(HUGE_ORDER)], 1);
    world.allocate(0, 1, 0);
    world.free(0, 0);
    world.take_back(1);
    assert_eq!(largest(&world, 1), [0; 19]);
    world.end();
}
