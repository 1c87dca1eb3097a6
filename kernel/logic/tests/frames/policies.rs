// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which nodes are asked, in which order.

use tacet_logic::frames::{BIND, DEFAULT, INTERLEAVE, LOCAL, PREFERRED, PREFERRED_MANY, Policy};

/// Seen from node 2, whose neighbour is 3.
const NEAR: [u8; 4] = [2, 3, 0, 1];

fn order(mode: u32, nodes: u32, allowed: u32, turn: u32) -> (Vec<u8>, Vec<u8>) {
    let order = Policy { mode, nodes }.order(&NEAR, allowed, turn);
    let (wanted, all) = (order.wanted().to_vec(), order.all().to_vec());
    assert_eq!(all.split_at(wanted.len()).0, wanted);
    (wanted, all)
}

#[test]
fn without_a_policy_the_nearest_comes_first() {
    assert_eq!(order(LOCAL, 0, u32::MAX, 0), (vec![2], vec![2, 3, 0, 1]));
    assert_eq!(order(DEFAULT, 0, 0b1011, 0), (vec![3], vec![3, 0, 1]));
    assert_eq!(order(LOCAL, 0, 0b10000, 0), (vec![], vec![]));
}

#[test]
fn what_is_preferred_comes_first_and_what_is_bound_alone() {
    assert_eq!(order(PREFERRED, 0b10, u32::MAX, 0), (vec![1], vec![1, 2, 3, 0]));
    assert_eq!(order(PREFERRED_MANY, 0b1010, 0b1011, 0), (vec![3, 1], vec![3, 1, 0]));
    assert_eq!(order(BIND | 1 << 15, 0b1001, u32::MAX, 0), (vec![3, 0], vec![3, 0]));
    assert_eq!(order(BIND, 0b1001, 0b0110, 0), (vec![], vec![]));
}

#[test]
fn interleaved_pages_take_turns() {
    let turns: Vec<_> = (0..6).map(|turn| order(INTERLEAVE, 0b1011, u32::MAX, turn).0).collect();
    assert_eq!(turns, [[3], [0], [1], [3], [0], [1]].map(|nodes: [u8; 1]| nodes.to_vec()));
    assert_eq!(order(INTERLEAVE, 0b1011, u32::MAX, 1).1, vec![0, 2, 3, 1]);
    assert_eq!(order(INTERLEAVE, 0, u32::MAX, 1), (vec![], vec![2, 3, 0, 1]));
    assert!(Policy { mode: INTERLEAVE | 1 << 15, nodes: 1 }.interleaves() && !Policy::NONE.interleaves());
}
