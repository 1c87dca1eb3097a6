// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Properties of the pool that need no random history.

use tacet_logic::frames::{BadLayout, Block, FreeError, JOINED_SLOTS, Layout, NODES, State};

use crate::model::Checked;

#[test]
fn blocks_that_cannot_be_used_are_refused_by_name() {
    let refused = |blocks: &mut [Block]| Layout::new(blocks).map(|_| ());
    assert_eq!(refused(&mut [Block::new(9, 0, 0)]), Err(BadLayout::Empty(9)));
    assert_eq!(refused(&mut [Block::new(10, 5, 0), Block::new(8, 3, 0)]), Err(BadLayout::Overlaps(10)));
    assert_eq!(refused(&mut [Block::new(8, 3, NODES as u8)]), Err(BadLayout::Node(8)));
    assert_eq!(refused(&mut [Block::new(u64::MAX, 1, 0)]), Err(BadLayout::Beyond(u64::MAX)));
    assert_eq!(refused(&mut [Block::new((1 << 40) - 1, 2, 0)]), Err(BadLayout::Beyond((1 << 40) - 1)));
    let two = &mut [Block::new(0, JOINED_SLOTS, 0), Block::new(1 << 33, 1, 0)];
    assert_eq!(refused(two), Err(BadLayout::TooMany(1 << 33)));
    assert_eq!(refused(&mut []), Ok(()));
}

#[test]
fn a_gigabyte_is_one_run_again_after_its_last_page() {
    // One frame before and two behind an aligned gigabyte.
    let mut checked = Checked::new(&[Block::new((1 << 18) - 1, (1 << 18) + 3, 0)]);
    let whole = checked.lists.statistics(0);
    assert_eq!((whole.runs[18], whole.frames), (1, (1 << 18) + 3));
    let gigabyte = checked.allocate(18, &[0]).unwrap();
    checked.split(gigabyte, 9);
    let huge: Vec<u64> = checked.out.keys().copied().collect();
    assert_eq!(huge.len(), 512);
    checked.split(huge[3], 0);
    let parts: Vec<(u64, u8)> = checked.out.iter().map(|(&frame, &order)| (frame, order)).collect();
    // Odd ones first, so that nothing joins until the end.
    for (frame, order) in parts.iter().skip(1).step_by(2).chain(parts.iter().step_by(2)) {
        assert_eq!(checked.pool.free(&mut checked.lists, *frame, *order), Ok(()));
    }
    assert_eq!(checked.lists.statistics(0), whole);
}

#[test]
fn nodes_are_a_fallback_or_strict() {
    let mut checked = Checked::new(&[Block::new(0, 4, 0), Block::new(4, 4, 1)]);
    // Neighbours on different nodes never join.
    assert_eq!(checked.allocate(3, &[0, 1]), None);
    assert_eq!(checked.allocate(2, &[1, 0]), Some(4));
    assert_eq!(checked.allocate(2, &[1]), None);
    assert_eq!(checked.allocate(2, &[1, 0]), Some(0));
    assert_eq!(checked.allocate(0, &[1, 0, 77]), None);
    checked.check();
}

#[test]
fn what_is_not_out_cannot_come_back() {
    let mut checked = Checked::new(&[Block::new(16, 16, 0)]);
    let frame = checked.allocate(2, &[0]).unwrap();
    assert_eq!(checked.free(frame, 1), Err(FreeError::Order(2)));
    assert_eq!(checked.free(frame + 1, 0), Err(FreeError::NotUsed));
    assert_eq!(checked.free(15, 0), Err(FreeError::Foreign));
    assert_eq!(checked.free(32, 0), Err(FreeError::Foreign));
    assert_eq!(checked.free(u64::MAX, 200), Err(FreeError::Foreign));
    assert_eq!(checked.free(frame, 200), Err(FreeError::Order(2)));
    assert_eq!(checked.free(frame, 2), Ok(()));
    assert_eq!(checked.free(frame, 2), Err(FreeError::NotUsed));
    assert_eq!(checked.pool.split(frame, 2, 0), Err(FreeError::NotUsed));
    assert_eq!(checked.pool.allocate(&mut checked.lists, 19, &[0]), None);
    assert_eq!(checked.pool.allocate(&mut checked.lists, 255, &[0]), None);
    checked.check();
}

#[test]
fn every_short_history_agrees_with_the_model() {
    // Seven frames, neither aligned nor a power of two; every sequence of five of eight operations.
    let length = if cfg!(miri) { 2 } else { 5 };
    for history in 0..8u32.pow(length) {
        let mut checked = Checked::new(&[Block::new(1, 7, 0)]);
        let mut operations = history;
        for _ in 0..length {
            let operation = operations % 8;
            match (operation, checked.out.iter().nth(operation as usize % 2)) {
                (0..3, _) => drop(checked.allocate(operation as u8, &[0])),
                (3..5, Some((&frame, &order))) => checked.free(frame, order).unwrap(),
                (5, Some((&frame, _))) => checked.split(frame, 0),
                (6, _) => drop(checked.free(2, 0)),
                (7, _) => drop(checked.free(4, 2)),
                _ => {}
            }
            operations /= 8;
            checked.check();
        }
    }
}

#[test]
fn a_tag_that_nobody_wrote_is_the_inside_of_a_run() {
    for tag in [1, 0x512, u32::MAX, 0x600] {
        assert_eq!(State::decode(tag), State::Inside);
    }
    for order in 0..19 {
        for state in [State::Free(order), State::Used(order), State::Cached(order), State::Retired(order)] {
            assert_eq!(State::decode(state.encode()), state);
        }
    }
}
