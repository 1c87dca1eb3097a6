// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Blocks that come and go in front of two cores' caches, with jobs' limits: a model knows the blocks that are there and
//! the frames that are out, and every difference is a failure. Controls make mistakes on purpose, which have to be found.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicI64;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tacet_logic::frames::{
    BadLayout, Block, Cache, FreeError, Guard, HUGE_ORDER, JOINED_BLOCKS, Joined, LARGEST_ORDER, LeaveError, Limit,
    Lists, Pool, State,
};

use crate::model::layout;
use crate::records::MapRecords;

struct Lock(RefCell<Lists>);

impl Guard for Lock {
    fn with<T>(&self, _: u8, work: impl FnOnce(&mut Lists) -> T) -> T {
        work(&mut self.0.borrow_mut())
    }
}

/// What the harness does wrong on purpose.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// The second core keeps what it has in store when a block is to leave.
    NotDrained,
    /// A job's frames are not counted when they come back.
    NotCounted,
    /// A block that has not left is taken for one that has.
    TakenForGone,
}

#[derive(Clone, Debug)]
enum Step {
    Allocate { core: usize, job: usize, order: u8 },
    Free { core: usize, which: usize },
    Join { place: usize, at: u64, order: u8, node: u8 },
    Leave { place: usize },
}

const FIRST: u64 = 77;
const FIRST_FRAMES: u32 = 3_000;
const LIMITS: [u64; 2] = [900, 4_000];

struct World {
    pool: Pool<'static, MapRecords>,
    lock: Lock,
    caches: [Cache; 2],
    /// By place: first frame and order.
    here: BTreeMap<usize, (u64, u8)>,
    /// By first frame: order and job.
    out: BTreeMap<u64, (u8, usize)>,
    taken: [AtomicI64; 2],
    mistake: Mistake,
}

impl World {
    fn new(mistake: Mistake) -> Self {
        let layout = layout(&[Block::new(FIRST, FIRST_FRAMES, 0)]).with(Box::leak(Box::new(Joined::new())));
        let pool = Pool::new(layout, MapRecords::default());
        let mut lists = Lists::new();
        pool.fill(&mut lists);
        let (lock, caches) = (Lock(RefCell::new(lists)), [Cache::new(0), Cache::new(1)]);
        Self { pool, lock, caches, here: BTreeMap::new(), out: BTreeMap::new(), taken: Default::default(), mistake }
    }

    fn frames_out(&self, of: usize) -> u64 {
        self.out.values().filter(|(_, job)| *job == of).map(|(order, _)| 1 << order).sum()
    }

    fn frames_here(&self) -> u64 {
        u64::from(FIRST_FRAMES) + self.here.values().map(|(_, order)| 1 << order).sum::<u64>()
    }

    /// Whether frames of the block at `place` are out.
    fn is_in_use(&self, place: usize) -> bool {
        let (first, order) = self.here[&place];
        self.out.range(first..first + (1 << order)).next().is_some()
    }

    fn allocate(&mut self, core: usize, job: usize, order: u8) {
        let limit = Limit::new(LIMITS[job], &self.taken[job]).unwrap();
        let fits = limit.take(1 << order);
        assert_eq!(fits, self.frames_out(job) + (1 << order) <= LIMITS[job], "the limit of job {job}");
        if !fits {
            return;
        }
        let nodes = [[0, 1], [1, 0]][core];
        let Some(frame) = self.caches[core].allocate(&self.pool, &self.lock, order, &nodes) else {
            return limit.give_back(1 << order);
        };
        let end = frame + (1 << order);
        let inside = |first: u64, frames: u64| first <= frame && end <= first + frames;
        let known =
            inside(FIRST, FIRST_FRAMES.into()) || self.here.values().any(|&(first, order)| inside(first, 1 << order));
        assert!(known, "{frame:#x} of order {order} is of no block that is here");
        let before = self.out.range(..end).next_back();
        assert!(before.is_none_or(|(&first, &(order, _))| first + (1 << order) <= frame), "{frame:#x} twice");
        self.out.insert(frame, (order, job));
    }

    fn free(&mut self, core: usize, which: usize) {
        let Some((&frame, &(order, job))) = self.out.iter().nth(which % self.out.len().max(1)) else { return };
        self.out.remove(&frame);
        assert_eq!(self.caches[core].free(&self.pool, &self.lock, frame, order), Ok(()));
        if self.mistake != Mistake::NotCounted {
            Limit::new(LIMITS[job], &self.taken[job]).unwrap().give_back(1 << order);
        }
        assert_eq!(self.caches[core].free(&self.pool, &self.lock, frame, order), Err(FreeError::NotUsed));
    }

    fn join(&mut self, place: usize, first: u64, order: u8, node: u8) {
        let overlaps = self.here.values().any(|&(f, o)| f < first + (1 << order) && first < f + (1 << o));
        let expected = match () {
            () if order < HUGE_ORDER || !first.is_multiple_of(1 << order) => Err(BadLayout::Uneven(first)),
            () if overlaps || first < FIRST + u64::from(FIRST_FRAMES) => Err(BadLayout::Overlaps(first)),
            () if self.here.contains_key(&place) => Err(BadLayout::TooMany(first)),
            () => Ok(()),
        };
        assert_eq!(self.lock.with(0, |lists| self.pool.join(lists, place, first, order, node)), expected);
        if expected.is_ok() {
            self.here.insert(place, (first, order));
        }
    }

    /// As Linux does it: once, then again with nothing in store.
    fn leave(&mut self, place: usize) {
        let leave = |world: &Self| world.lock.with(0, |lists| world.pool.leave(lists, place));
        if !self.here.contains_key(&place) {
            return assert_eq!(leave(self), Err(LeaveError::Foreign));
        }
        let in_use = self.is_in_use(place);
        let mut left = leave(self);
        if left.is_err() {
            for cache in &mut self.caches[..if self.mistake == Mistake::NotDrained { 1 } else { 2 }] {
                cache.drain(&self.pool, &self.lock);
            }
            left = leave(self);
        }
        assert_eq!(left, if in_use { Err(LeaveError::InUse) } else { Ok(()) });
        if left.is_ok() || self.mistake == Mistake::TakenForGone {
            self.here.remove(&place);
        }
    }

    fn check(&self) {
        let free: u64 = (0..2).map(|node| self.lock.0.borrow().statistics(node).frames).sum();
        let stored: u64 = self.caches.iter().map(Cache::frames).sum();
        let out = self.frames_out(0) + self.frames_out(1);
        assert_eq!(free + stored + out, self.frames_here(), "free, in store and out, of what is here");
        assert_eq!(self.pool.layout().frames(), self.frames_here());
        for (&frame, &(order, _)) in &self.out {
            assert_eq!(self.pool.state(frame), Some(State::Used(order)));
        }
        for &(first, order) in self.here.values() {
            let block = |frame| self.pool.layout().block(frame).map(|block| block.first());
            assert_eq!((block(first), block(first + (1 << order) - 1)), (Some(first), Some(first)));
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Allocate { core, job, order } => self.allocate(core, job, order),
            Step::Free { core, which } => self.free(core, which),
            Step::Join { place, at, order, node } => self.join(place, at << HUGE_ORDER, order, node),
            Step::Leave { place } => self.leave(place),
        }
        self.check();
    }

    /// All comes back, and all blocks leave.
    fn end(mut self) {
        while !self.out.is_empty() {
            self.free(0, 0);
        }
        for place in 0..JOINED_BLOCKS {
            self.leave(place);
        }
        self.check();
        assert_eq!(self.frames_here(), FIRST_FRAMES.into());
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let place = prop::sample::select(vec![0, 1, 2, JOINED_BLOCKS - 1]);
    let order = prop::sample::select(vec![0, 0, 0, 1, 3, HUGE_ORDER, HUGE_ORDER, 10]);
    let joins = prop::sample::select(vec![8, HUGE_ORDER, HUGE_ORDER, 10, 11]);
    let step = prop_oneof![
        8 => (0..2usize, 0..2usize, order).prop_map(|(core, job, order)| Step::Allocate { core, job, order }),
        6 => (0..2usize, any::<usize>()).prop_map(|(core, which)| Step::Free { core, which }),
        2 => (place.clone(), 5..16u64, joins, 0..2u8)
            .prop_map(|(place, at, order, node)| Step::Join { place, at, order, node }),
        2 => place.prop_map(|place| Step::Leave { place }),
    ];
    prop::collection::vec(step, 1..150)
}

fn histories(mistake: Mistake) -> Result<(), String> {
    let config = Config { failure_persistence: None, ..Config::with_cases(if cfg!(miri) { 2 } else { 400 }) };
    let history = |steps: Vec<Step>| {
        let mut world = World::new(mistake);
        steps.into_iter().for_each(|step| world.step(step));
        world.end();
        Ok(())
    };
    TestRunner::new(config).run(&steps(), history).map_err(|error| error.to_string())
}

#[test]
fn blocks_come_and_go_and_no_frame_is_lost_or_given_twice() {
    if let Err(error) = histories(Mistake::None) {
        panic!("{error}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "so few histories find no mistake")]
fn mistakes_are_found() {
    for mistake in [Mistake::NotDrained, Mistake::NotCounted, Mistake::TakenForGone] {
        let found = catch_unwind(AssertUnwindSafe(|| histories(mistake)));
        assert!(!matches!(found, Ok(Ok(()))), "mistake {} is not found", mistake as u8);
    }
}

#[test]
fn the_largest_block_is_one_run_in_the_last_place() {
    let mut world = World::new(Mistake::None);
    world.join(JOINED_BLOCKS - 1, 1 << LARGEST_ORDER, LARGEST_ORDER, 1);
    world.check();
    assert_eq!(world.lock.0.borrow().statistics(1).runs[usize::from(LARGEST_ORDER)], 1);
    world.leave(JOINED_BLOCKS - 1);
    world.check();
}

#[test]
fn what_is_no_place_or_no_node_is_refused_and_a_layout_without_a_table_takes_none() {
    let world = World::new(Mistake::None);
    let join = |place, first, node| world.lock.with(0, |lists| world.pool.join(lists, place, first, HUGE_ORDER, node));
    assert_eq!(join(JOINED_BLOCKS, 1 << 20, 0), Err(BadLayout::TooMany(1 << 20)));
    assert_eq!(join(0, 1 << 20, 32), Err(BadLayout::Node(1 << 20)));
    assert_eq!(join(0, 1 << 40, 0), Err(BadLayout::Beyond(1 << 40)));
    world.check();
    let fixed = Pool::new(layout(&[Block::new(0, 512, 0)]), MapRecords::default());
    assert_eq!(fixed.join(&mut Lists::new(), 0, 1 << 20, HUGE_ORDER, 0), Err(BadLayout::TooMany(1 << 20)));
}
