// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Caches of several cores in front of one pool, and the chain of frames on their way back.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use proptest::prelude::*;
use tacet_logic::frames::{Block, Cache, Chain, FreeError, Guard, HUGE_ORDER, Lists, Pool, State};

use crate::model::layout;
use crate::records::MapRecords;

struct Lock {
    lists: RefCell<Lists>,
    taken: Cell<u64>,
}

impl Guard for Lock {
    fn with<T>(&self, _: u8, work: impl FnOnce(&mut Lists) -> T) -> T {
        self.taken.set(self.taken.get() + 1);
        work(&mut self.lists.borrow_mut())
    }
}

/// Two nodes: 40 MiB, neither aligned, and 5 MiB.
fn pool() -> (Pool<'static, MapRecords>, Lock) {
    let pool = Pool::new(layout(&[Block::new(77, 10_240, 0), Block::new(20_000, 1_280, 1)]), MapRecords::default());
    let mut lists = Lists::new();
    pool.fill(&mut lists);
    (pool, Lock { lists: RefCell::new(lists), taken: Cell::new(0) })
}

fn free_frames(lock: &Lock) -> u64 {
    let lists = lock.lists.borrow();
    lists.statistics(0).frames + lists.statistics(1).frames
}

#[test]
fn the_common_path_takes_no_lock() {
    let (pool, lock) = pool();
    let mut cache = Cache::new(0);
    for order in [0, HUGE_ORDER] {
        let first = cache.allocate(&pool, &lock, order, &[0]).unwrap();
        cache.free(&pool, &lock, first, order).unwrap();
        let taken = lock.taken.get();
        for _ in 0..1_000 {
            let frame = cache.allocate(&pool, &lock, order, &[0, 1]).unwrap();
            cache.free(&pool, &lock, frame, order).unwrap();
        }
        assert_eq!(lock.taken.get(), taken, "order {order}");
    }
    assert_eq!(cache.counts().locked, lock.taken.get());
}

#[test]
fn at_worst_one_operation_in_32_takes_the_lock() {
    let (pool, lock) = pool();
    let (mut cache, mut out) = (Cache::new(0), Vec::new());
    for round in 0..if cfg!(miri) { 12 } else { 200 } {
        // The lengths are those that hurt most: just over what a magazine has.
        for _ in 0..33 + round % 32 {
            out.push(cache.allocate(&pool, &lock, 0, &[0]).unwrap());
        }
        for frame in out.drain(..) {
            cache.free(&pool, &lock, frame, 0).unwrap();
        }
    }
    let counts = cache.counts();
    assert!(counts.locked * 32 <= counts.allocated + counts.freed + 32, "{counts:?}");
}

#[test]
fn another_node_and_another_order_go_past_the_cache() {
    let (pool, lock) = pool();
    let mut cache = Cache::new(1);
    let far = cache.allocate(&pool, &lock, 0, &[0]).unwrap();
    let odd = cache.allocate(&pool, &lock, 3, &[1]).unwrap();
    assert_eq!(pool.layout().block(far).unwrap().node(), 0);
    cache.free(&pool, &lock, far, 0).unwrap();
    cache.free(&pool, &lock, odd, 3).unwrap();
    assert_eq!((cache.frames(), free_frames(&lock)), (0, 11_520));
}

#[test]
fn what_the_cache_keeps_is_found_before_memory_is_said_to_be_out() {
    let (pool, lock) = pool();
    let mut cache = Cache::new(1);
    // All 1,280 frames of node 1 one by one, and back: some stay in the cache.
    let frames: Vec<u64> = std::iter::from_fn(|| cache.allocate(&pool, &lock, 0, &[1])).collect();
    assert_eq!(frames.len(), 1_280);
    frames.iter().for_each(|&frame| cache.free(&pool, &lock, frame, 0).unwrap());
    assert!(cache.frames() > 0);
    // 20,000 to 21,280 has one aligned run of 1,024: it needs every frame of it.
    let mut large = Vec::new();
    while let Some(frame) = cache.allocate(&pool, &lock, 8, &[1]) {
        large.push(frame);
    }
    assert_eq!(large.len(), 4);
    assert_eq!(cache.frames(), 0);
}

#[test]
fn a_frame_comes_back_once_whoever_frees_it() {
    let (pool, lock) = pool();
    let (mut one, mut other) = (Cache::new(0), Cache::new(0));
    let frame = one.allocate(&pool, &lock, 0, &[0]).unwrap();
    assert_eq!(other.free(&pool, &lock, frame, HUGE_ORDER), Err(FreeError::Order(0)));
    assert_eq!(other.free(&pool, &lock, frame, 0), Ok(()));
    assert_eq!(one.free(&pool, &lock, frame, 0), Err(FreeError::NotUsed));
    assert_eq!(pool.free(&mut lock.lists.borrow_mut(), frame, 0), Err(FreeError::NotUsed));
    assert_eq!(Chain::new().push(&pool, frame, 0), Err(FreeError::NotUsed));
    assert_eq!(one.free(&pool, &lock, 5, 0), Err(FreeError::Foreign));
    assert_eq!(pool.state(frame), Some(State::Cached(0)));
}

#[test]
fn a_chain_holds_frames_back_until_it_is_freed() {
    let (pool, lock) = pool();
    let (mut cache, mut chain) = (Cache::new(0), Chain::new());
    for order in [0, 0, HUGE_ORDER, 5] {
        let frame = cache.allocate(&pool, &lock, order, &[0]).unwrap();
        chain.push(&pool, frame, order).unwrap();
        assert_eq!(cache.free(&pool, &lock, frame, order), Err(FreeError::NotUsed));
        assert_eq!(chain.push(&pool, frame, order), Err(FreeError::NotUsed));
    }
    assert_eq!(chain.frames(), 1 + 1 + 512 + 32);
    chain.free(&pool, &lock, &mut cache).unwrap();
    assert_eq!(chain.frames(), 0);
    cache.drain(&pool, &lock);
    assert_eq!(free_frames(&lock), 11_520);
}

/// Whoever else uses a frame, it is in the chain like all others until that is freed.
#[test]
fn frames_that_somebody_keeps_are_in_the_chain_and_stay_out() {
    let (pool, lock) = pool();
    let (mut cache, mut chain) = (Cache::new(0), Chain::new());
    let runs = [0, HUGE_ORDER].map(|order| (cache.allocate(&pool, &lock, order, &[0]).unwrap(), order));
    for (frame, order) in runs {
        chain.push(&pool, frame, order).unwrap();
    }
    let kept = [runs[0].0, runs[1].0 + 7];
    assert_eq!(chain.frames(), 1 + 512);
    assert_eq!(chain.free_but(&pool, &lock, &mut cache, |frame| kept.contains(&frame)), Ok(511));
    assert_eq!(chain.frames(), 0);
    cache.drain(&pool, &lock);
    assert_eq!(free_frames(&lock), 11_520 - 2);
    for frame in kept {
        assert_eq!(pool.state(frame), Some(State::Used(0)));
        cache.free(&pool, &lock, frame, 0).unwrap();
    }
    cache.drain(&pool, &lock);
    assert_eq!(free_frames(&lock), 11_520);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 200 }))]
    #[test]
    fn no_frame_is_out_twice_and_none_is_lost(
        steps in prop::collection::vec((0..3usize, prop::sample::select(vec![0u8, 0, 0, 1, 9, 9, 10]), 0..100u8, any::<usize>()), 1..400),
    ) {
        let (pool, lock) = pool();
        let whole = (lock.lists.borrow().statistics(0), lock.lists.borrow().statistics(1));
        let mut caches = [Cache::new(0), Cache::new(0), Cache::new(1)];
        let mut out = BTreeMap::<u64, u8>::new();
        for (core, order, what, n) in steps {
            if what < 60 {
                if let Some(frame) = caches[core].allocate(&pool, &lock, order, &[(core / 2) as u8, 1]) {
                    let below = out.range(..frame + (1 << order)).next_back();
                    prop_assert!(below.is_none_or(|(first, order)| first + (1 << order) <= frame));
                    prop_assert_eq!(pool.state(frame), Some(State::Used(order)));
                    out.insert(frame, order);
                }
            } else if let Some((&frame, &order)) = out.iter().nth(n % out.len().max(1)) {
                out.remove(&frame);
                prop_assert_eq!(caches[core].free(&pool, &lock, frame, order), Ok(()));
            }
            let held: u64 = out.values().map(|order| 1 << order).sum();
            let cached: u64 = caches.iter().map(Cache::frames).sum();
            prop_assert_eq!(held + cached + free_frames(&lock), 11_520);
        }
        for (frame, order) in out {
            caches[0].free(&pool, &lock, frame, order).unwrap();
        }
        caches.iter_mut().for_each(|cache| cache.drain(&pool, &lock));
        let lists = lock.lists.borrow();
        prop_assert_eq!((lists.statistics(0), lists.statistics(1)), whole);
    }
}

#[test]
fn a_bad_frame_is_never_handed_out_and_its_neighbours_are() {
    for order in [0, 3, 9, 12] {
        let blocks = [Block::new(0, 1 << 13, 0)];
        let (pool, lock) = (
            Pool::new(layout(&blocks), MapRecords::default()),
            Lock { lists: RefCell::new(Lists::new()), taken: Cell::new(0) },
        );
        pool.fill(&mut lock.lists.borrow_mut());
        let (bad, mut cache) = ([5u64, 700, 701, 4096], Cache::new(0));
        let has_bad = |frame: u64, order: u8| bad.iter().any(|bad| bad >> order == frame >> order);
        // one was free when it turned bad, and one was in use
        let used = cache.allocate(&pool, &lock, 0, &[0]).unwrap();
        let mut out = 0u64;
        while let Some(frame) = cache.allocate_good(&pool, &lock, order, &[0], has_bad) {
            assert!(!has_bad(frame, order), "order {order}: {frame} is bad");
            out += 1 << order;
        }
        cache.free(&pool, &lock, used, 0).unwrap();
        // whatever is left is had frame by frame
        while let Some(frame) = cache.allocate_good(&pool, &lock, 0, &[0], has_bad) {
            assert!(!bad.contains(&frame));
            out += 1;
        }
        assert_eq!(out, (1 << 13) - bad.len() as u64, "order {order}");
        assert_eq!((cache.frames(), free_frames(&lock)), (0, 0));
    }
}
