// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A pool, and beside it the set of what is out; every difference is a failure.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tacet_logic::frames::{Block, FreeError, LARGEST_ORDER, Layout, Lists, Pool, State};

use crate::records::MapRecords;

pub fn layout(blocks: &[Block]) -> Layout<'static> {
    Layout::new(Box::leak(blocks.to_vec().into_boxed_slice())).unwrap()
}

/// A pool whose every step is compared.
pub struct Checked {
    pub pool: Pool<'static, MapRecords>,
    pub lists: Lists,
    /// First frame and order of every run that is out.
    pub out: BTreeMap<u64, u8>,
}

impl Checked {
    pub fn new(blocks: &[Block]) -> Self {
        let pool = Pool::new(layout(blocks), MapRecords::default());
        let mut lists = Lists::new();
        pool.fill(&mut lists);
        Self { pool, lists, out: BTreeMap::new() }
    }

    pub fn allocate(&mut self, order: u8, nodes: &[u8]) -> Option<u64> {
        let frame = self.pool.allocate(&mut self.lists, order, nodes);
        match frame {
            Some(frame) => {
                assert_eq!(frame % (1 << order), 0, "order {order}: frame {frame:#x} is not aligned");
                let block = self.pool.layout().block(frame).unwrap();
                assert!(frame + (1 << order) <= block.end() && nodes.contains(&block.node()));
                let before = self.out.range(..frame + (1 << order)).next_back();
                assert!(before.is_none_or(|(&first, &order)| first + (1 << order) <= frame), "{frame:#x} twice");
                self.out.insert(frame, order);
            }
            // Only if no run of that order is free: looked for frame by frame.
            None => assert_eq!(self.free_run(order, nodes), None),
        }
        frame
    }

    pub fn free(&mut self, frame: u64, order: u8) -> Result<(), FreeError> {
        let expected = match self.out.get(&frame) {
            Some(&out) if out == order => Ok(()),
            Some(&out) => Err(FreeError::Order(out)),
            None if self.pool.layout().block(frame).is_none() => Err(FreeError::Foreign),
            None => Err(FreeError::NotUsed),
        };
        let before = self.statistics();
        assert_eq!(self.pool.free(&mut self.lists, frame, order), expected);
        match expected {
            Ok(()) => drop(self.out.remove(&frame)),
            Err(_) => assert_eq!(self.statistics(), before),
        }
        expected
    }

    pub fn split(&mut self, frame: u64, to: u8) {
        let order = self.out.remove(&frame).unwrap();
        self.pool.split(frame, order, to).unwrap();
        self.out.extend((frame..frame + (1 << order)).step_by(1 << to.min(order)).map(|frame| (frame, to.min(order))));
    }

    /// The free lists are exactly what the model says is free, in the largest possible runs.
    pub fn check(&self) {
        let blocks = self.pool.layout().blocks();
        for node in 0..4 {
            let mut runs = [0; 19];
            for block in blocks.iter().filter(|block| block.node() == node) {
                self.largest_free_runs(block, |order| runs[usize::from(order)] += 1);
            }
            assert_eq!(self.lists.statistics(node).runs, runs, "node {node}, out: {:?}", self.out);
        }
        for (&frame, &order) in &self.out {
            assert_eq!(self.pool.state(frame), Some(State::Used(order)));
        }
    }

    fn statistics(&self) -> Vec<[u32; 19]> {
        (0..4).map(|node| self.lists.statistics(node).runs).collect()
    }

    fn is_free(&self, first: u64, order: u8) -> bool {
        let end = first + (1 << order);
        self.out.range(..end).next_back().is_none_or(|(&out, &order)| out + (1 << order) <= first)
    }

    fn free_run(&self, order: u8, nodes: &[u8]) -> Option<u64> {
        let size = 1 << order;
        let blocks = self.pool.layout().blocks().iter().filter(|block| nodes.contains(&block.node()));
        blocks
            .flat_map(|b| (b.first().next_multiple_of(size)..).step_by(1 << order).take_while(|f| f + size <= b.end()))
            .find(|&f| self.is_free(f, order))
    }

    /// From every frame on, the largest aligned run that is free: what complete coalescing leaves.
    fn largest_free_runs(&self, block: &Block, mut found: impl FnMut(u8)) {
        let mut frame = block.first();
        while frame < block.end() {
            let fits = |order: u8| {
                frame.is_multiple_of(1 << order) && frame + (1 << order) <= block.end() && self.is_free(frame, order)
            };
            match (0..=LARGEST_ORDER).rev().find(|&order| fits(order)) {
                Some(order) => {
                    found(order);
                    frame += 1 << order;
                }
                None => frame += 1 << self.out[&frame],
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Allocate(u8, Vec<u8>),
    Free(usize),
    Split(usize, u8),
    Wrong(u64, u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let nodes = prop::sample::select(vec![vec![0], vec![1], vec![0, 1], vec![1, 0, 2], vec![]]);
    let step = prop_oneof![
        6 => (0..12u8, nodes).prop_map(|(order, nodes)| Step::Allocate(order, nodes)),
        4 => any::<usize>().prop_map(Step::Free),
        1 => (any::<usize>(), 0..4u8).prop_map(|(n, down)| Step::Split(n, down)),
        2 => (0..20_000u64, 0..20u8).prop_map(|(frame, order)| Step::Wrong(frame, order)),
    ];
    prop::collection::vec(step, 1..60)
}

fn blocks() -> impl Strategy<Value = Vec<Block>> {
    // Blocks of any length and alignment, some of them neighbours, on three nodes.
    prop::collection::vec((0..3u64, 1..3_000u32, 0..3u8), 1..5).prop_map(|parts| {
        let mut next = 1;
        let place = |(gap, frames, node)| {
            let first = next + gap * 37;
            next = first + u64::from(frames);
            Block::new(first, frames, node)
        };
        parts.into_iter().map(place).rev().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 400 }))]
    #[test]
    fn every_history_agrees_with_the_model(blocks in blocks(), steps in steps()) {
        let mut checked = Checked::new(&blocks);
        checked.check();
        for step in steps {
            let nth = |n: usize| checked.out.keys().nth(n % checked.out.len().max(1)).copied();
            match step {
                Step::Allocate(order, nodes) => drop(checked.allocate(order, &nodes)),
                Step::Free(n) => if let Some(frame) = nth(n) {
                    checked.free(frame, checked.out[&frame]).unwrap();
                },
                Step::Split(n, down) => if let Some(frame) = nth(n) {
                    checked.split(frame, checked.out[&frame].saturating_sub(down));
                },
                Step::Wrong(frame, order) => drop(checked.free(frame, order)),
            }
            checked.check();
        }
        while let Some((&frame, &order)) = checked.out.first_key_value() {
            checked.free(frame, order).unwrap();
        }
        checked.check();
    }
}
