// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Long reads and writes: several calls that together do what the program's one call would.

use crate::support::{BASE, Memory, error, result_of, ship};
use proptest::collection::vec;
use proptest::prelude::*;
use tacet_shipping::demarshal::Argument;
use tacet_shipping::errno::Errno;
use tacet_shipping::packet::PIECE_BYTES;

const READ: u64 = 0;
const WRITE: u64 = 1;
const PREAD: u64 = 17;
const PWRITE: u64 = 18;
const READV: u64 = 19;
const WRITEV: u64 = 20;
const MIB: usize = 1 << 20;

#[test]
fn a_long_write_moves_everything() {
    let memory = Memory::new(MIB);
    let mut file = vec![];
    let bytes = 3 * PIECE_BYTES + 17;
    let result = ship(&memory, WRITE, [1, BASE + 5, bytes as u64, 0, 0, 0], |seen| {
        file.extend_from_slice(seen.input(1));
        assert_eq!(seen.value(2), seen.input(1).len() as u64);
        (seen.value(2) as i64, false)
    });
    assert_eq!(result, bytes as i64);
    assert_eq!(file, memory.get(BASE + 5, bytes));
}

/// As for a pipe that is full, or a process that has a signal: what was written counts.
#[test]
fn a_short_piece_ends_the_call() {
    let memory = Memory::new(MIB);
    for (second, expected) in [(100, PIECE_BYTES as i64 + 100), (-11, PIECE_BYTES as i64), (0, PIECE_BYTES as i64)] {
        let mut results = [PIECE_BYTES as i64, second].into_iter();
        let result = ship(&memory, WRITE, [1, BASE, MIB as u64, 0, 0, 0], |_| (results.next().unwrap(), false));
        assert_eq!(result, expected);
    }
    assert_eq!(ship(&memory, WRITE, [1, BASE, MIB as u64, 0, 0, 0], |_| (-32, false)), -32);
}

/// A full pipe has something for the first piece, and perhaps nothing for the second: the program would wait.
#[test]
fn a_read_goes_on_only_if_that_cannot_wait() {
    let memory = Memory::new(MIB);
    for (whole, pieces) in [(false, 1), (true, 4)] {
        let mut calls = 0;
        let result = ship(&memory, READ, [3, BASE, 4 * PIECE_BYTES as u64, 0, 0, 0], |seen| {
            calls += 1;
            seen.output(1).fill(calls as u8);
            (seen.value(2) as i64, whole)
        });
        assert_eq!((calls, result), (pieces, (pieces * PIECE_BYTES) as i64));
        for piece in 0..pieces {
            assert_eq!(memory.get(BASE + (piece * PIECE_BYTES) as u64, 1), [piece as u8 + 1]);
        }
    }
}

#[test]
fn pieces_of_positioned_calls_follow_each_other() {
    let memory = Memory::new(MIB);
    for number in [PREAD, PWRITE] {
        let mut offsets = vec![];
        let bytes = 2 * PIECE_BYTES as u64 + 1;
        ship(&memory, number, [3, BASE, bytes, 1000, 0, 0], |seen| {
            offsets.push(seen.value(3));
            (seen.value(2) as i64, true)
        });
        assert_eq!(offsets, [1000, 1000 + PIECE_BYTES as u64, 1000 + 2 * PIECE_BYTES as u64]);
    }
}

#[test]
fn impossible_lengths_are_refused_before_anything_is_sent() {
    let memory = Memory::new(MIB);
    for number in [READ, WRITE] {
        assert_eq!(result_of(&memory, number, [1, BASE, u64::MAX, 0, 0, 0]), error(Errno::EINVAL));
        assert_eq!(result_of(&memory, number, [1, BASE + MIB as u64 - 5, 6, 0, 0, 0]), error(Errno::EFAULT));
        assert_eq!(result_of(&memory, number, [1, u64::MAX - 5, 100, 0, 0, 0]), error(Errno::EFAULT));
    }
    for number in [READV, WRITEV] {
        assert_eq!(result_of(&memory, number, [1, BASE, 1025, 0, 0, 0]), error(Errno::EINVAL));
        memory.put_words(BASE, &[BASE + 100, u64::MAX]);
        assert_eq!(result_of(&memory, number, [1, BASE, 1, 0, 0, 0]), error(Errno::EINVAL));
        memory.put_words(BASE, &[5, 100]);
        assert_eq!(result_of(&memory, number, [1, BASE, 1, 0, 0, 0]), error(Errno::EFAULT));
    }
}

/// As on Linux: an address counts only if something is there.
#[test]
fn no_bytes_can_be_read_to_and_written_from_anywhere() {
    let memory = Memory::new(0x1000);
    for number in [READ, WRITE] {
        assert_eq!(ship(&memory, number, [3, 1, 0, 0, 0, 0], |_| (0, false)), 0);
    }
    memory.put_words(BASE, &[1, 0, BASE + 100, 10]);
    for number in [READV, WRITEV] {
        assert_eq!(ship(&memory, number, [3, BASE, 2, 0, 0, 0], |_| (10, false)), 10);
    }
}

/// Descriptors among the control data must not arrive twice.
#[test]
fn the_control_data_of_a_long_message_goes_with_its_first_piece() {
    const SENDMSG: u64 = 46;
    let memory = Memory::new(MIB);
    memory.put_words(BASE + 0x100, &[BASE + 0x1000, 100_000]);
    memory.put_words(BASE, &[0, 0, BASE + 0x100, 1, BASE + 0x200, 24, 0]);
    let mut pieces = vec![];
    let result = ship(&memory, SENDMSG, [3, BASE, 0, 0, 0, 0], |seen| {
        let Argument::InputMessage { control, data, .. } = seen.call.arguments[1] else { panic!("no message") };
        pieces.push((control.bytes, data.bytes));
        (data.bytes as i64, false)
    });
    assert_eq!(result, 100_000);
    assert_eq!(pieces, [(24, PIECE_BYTES), (0, 100_000 - PIECE_BYTES)]);
}

/// A buffer that no call shortens must fit into one reply.
#[test]
fn what_no_reply_can_hold_is_refused() {
    const POLL: u64 = 7;
    let memory = Memory::new(MIB);
    assert_eq!(ship(&memory, POLL, [BASE, 8000, 0, 0, 0, 0], |_| (0, false)), 0);
    assert_eq!(result_of(&memory, POLL, [BASE, 9800, 0, 0, 0, 0]), error(Errno::EINVAL));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Buffers do not overlap: each begins where the one before it has its end.
    #[test]
    fn vectors_are_their_buffers_one_after_the_other(lengths in vec(prop_oneof![0..300usize, 0..90_000usize], 0..8)) {
        let memory = Memory::new(MIB);
        let data = BASE + 0x1000;
        let mut next = data;
        for (at, length) in lengths.iter().enumerate() {
            memory.put_words(BASE + 16 * at as u64, &[next, *length as u64]);
            next += *length as u64;
        }
        let bytes: usize = lengths.iter().sum();
        let arguments = [1, BASE, lengths.len() as u64, 0, 0, 0];
        let mut written = vec![];
        let result = ship(&memory, WRITEV, arguments, |seen| {
            written.extend_from_slice(seen.input(1));
            (seen.input(1).len() as i64, false)
        });
        prop_assert_eq!(result, bytes as i64);
        prop_assert!(written == memory.get(data, bytes));
        let file: Vec<u8> = (0..bytes).map(|at| (at * 13 / 5) as u8).collect();
        let mut at = 0;
        let result = ship(&memory, READV, arguments, |seen| {
            let output = seen.output(1);
            output.copy_from_slice(&file[at..at + output.len()]);
            at += output.len();
            (output.len() as i64, true)
        });
        prop_assert_eq!(result, bytes as i64);
        prop_assert!(file == memory.get(data, bytes));
    }
}
