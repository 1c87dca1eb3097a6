// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Vectors of buffers in a program's memory: all bytes in order, from any byte on, page by page; and nothing but `None`
//! from what the program has changed meanwhile.

use proptest::prelude::*;
use tacet_pico::{Buffer, Buffers, Forward, MOST_BUFFERS, Piece};

const AT: u64 = 0x7000;

/// A program's memory that has a vector.
fn load(vector: &[(u64, u64)], address: u64) -> Option<u32> {
    let words: Vec<u64> = vector.iter().flat_map(|&(address, bytes)| [address, bytes]).collect();
    let offset = address.checked_sub(AT)?;
    Some((words.get(offset as usize / 8)? >> (offset % 8 * 8)) as u32)
}

fn vector_of(vector: &[(u64, u64)]) -> Buffers {
    Buffers::vector(AT, vector.len() as u64).unwrap()
}

/// Pages lie elsewhere in memory, in the same order.
fn frame(address: u64) -> Option<u64> {
    assert!(address.is_multiple_of(4096));
    Some(address + (1 << 40))
}

proptest! {
    #[test]
    fn pieces_are_all_bytes_in_order(
        vector in prop::collection::vec(((0..1u64 << 18).prop_map(|n| n * 4), (0..40u64).prop_map(|n| n * 512)), 0..12),
        skipped in 0..20u64,
    ) {
        let bytes = |(address, bytes): (u64, u64)| (address..address + bytes).step_by(4);
        let all: Vec<u64> = vector.iter().copied().flat_map(bytes).collect();
        let from = (skipped * 512).min(all.len() as u64 * 4);
        let pieces = vector_of(&vector).pieces(from, 512, |at| load(&vector, at), frame);
        let mut found = Vec::new();
        for piece in pieces {
            let Piece { address, bytes: count } = piece.expect("a piece");
            prop_assert!(count > 0 && address >> 12 == (address + u64::from(count) - 1) >> 12, "one page");
            found.extend(bytes((address - (1 << 40), count.into())));
        }
        prop_assert_eq!(&found[..], &all[from as usize / 4..]);
    }
}

#[test]
fn a_survey_knows_the_extent() {
    let vector = [(0x9000, 512), (1, 0), (0x3004, 1024), (0x5000, 4096)];
    let survey = vector_of(&vector).survey(|at| load(&vector, at)).unwrap();
    assert_eq!((survey.bytes, survey.first, survey.end), (512 + 1024 + 4096, 0x3004, 0x9200));
    assert_eq!((survey.addresses & 7, survey.lengths), (4, 512 | 1024 | 4096));
}

#[test]
fn what_linux_refuses_is_linuxs() {
    assert_eq!(Buffers::vector(AT, MOST_BUFFERS + 1), Err(Forward::Buffer));
    assert_eq!(Buffers::vector(AT, u64::MAX), Err(Forward::Buffer));
    assert_eq!(Buffers::vector(AT + 2, 1), Err(Forward::Buffer));
    let long = Buffers::vector(AT, 3).unwrap();
    assert_eq!(long.survey(|at| load(&[(0x1000, 512)], at)), Err(Forward::Buffer), "entries that cannot be read");
    let last = Buffers::vector(u64::MAX - 7, 1).unwrap();
    assert_eq!(last.survey(|_| Some(0)), Err(Forward::Buffer));
    for vector in [[(u64::MAX - 511, 1024), (0, 0)], [(0x1000, u64::MAX - 4096), (0x1000, 8192)]] {
        assert_eq!(vector_of(&vector).survey(|at| load(&vector, at)), Err(Forward::Bounds));
    }
}

/// The program may write to it while the device is at work.
#[test]
fn a_vector_that_has_changed_gives_no_memory() {
    for changed in [vec![(0x1000, 511)], vec![(u64::MAX - 3, 512)], vec![]] {
        let buffers = Buffers::vector(AT, 1).unwrap();
        let pages = |address| (address < 1 << 48).then_some(address);
        let first = buffers.pieces(0, 512, |at| load(&changed, at), pages).next();
        assert_eq!(first, Some(None));
    }
    let one = Buffers::One(Buffer { address: 0x1ff0, bytes: 512 });
    let pieces: Vec<_> = one.pieces(0, 512, |_| None, frame).map(|piece| piece.unwrap().bytes).collect();
    assert_eq!(pieces, [16, 496]);
}
