// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Long reads and writes: several calls that together do what the program's one call would.

use crate::support::{BASE, Memory, error, result_of, ship, ship_by};
use proptest::collection::vec;
use proptest::prelude::*;
use tacet_wire::demarshal::Argument;
use tacet_wire::errno::Errno;
use tacet_wire::marshal::Shipment;
use tacet_wire::packet::{LARGE_MESSAGE_BYTES, LARGE_PIECE_BYTES, MESSAGE_BYTES, PIECE_BYTES};

const READ: u64 = 0;
const WRITE: u64 = 1;
const PREAD: u64 = 17;
const PWRITE: u64 = 18;
const READV: u64 = 19;
const CONNECT: u64 = 42;
const WRITEV: u64 = 20;
const POLL: u64 = 7;
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

/// The pieces of a write stay short: a proxy could not receive more at once.
#[test]
fn a_read_has_long_pieces_where_the_buffer_has_room() {
    let memory = Memory::new(MIB);
    memory.put_words(BASE, &[BASE + 16, 700_000]);
    let (small, large) = (MESSAGE_BYTES, LARGE_MESSAGE_BYTES);
    for (buffer, piece) in
        [(small, PIECE_BYTES), (small + 5, PIECE_BYTES + 5), (large, LARGE_PIECE_BYTES), (MIB, LARGE_PIECE_BYTES)]
    {
        for (number, arguments) in
            [(READ, [3, BASE, 700_000, 0, 0, 0]), (READV, [3, BASE, 1, 0, 0, 0]), (WRITE, [3, BASE, 700_000, 0, 0, 0])]
        {
            let mut left = 700_000;
            let piece = if number == WRITE { PIECE_BYTES } else { piece };
            let moved = ship_by(buffer, &memory, number, arguments, |seen| {
                let bytes = if number == WRITE { seen.input(1).len() } else { seen.output(1).len() };
                assert_eq!(bytes, piece.min(left), "{number}, {buffer}");
                left -= bytes;
                (bytes as i64, true)
            });
            assert_eq!((moved, left), (700_000, 0));
            memory.put_words(BASE, &[BASE + 16, 700_000]);
        }
    }
}

/// A buffer for long replies makes no message longer: the proxy has no room for it.
#[test]
fn a_call_that_cannot_be_cut_is_the_same_message_in_any_buffer() {
    let memory = Memory::new(MIB);
    let connect = |buffer| {
        let mut message = vec![0; buffer];
        let used = Shipment::new(CONNECT, [3, BASE, 100_000, 0, 0, 0]).unwrap().request(&memory, &mut message).unwrap();
        message.truncate(used);
        message
    };
    assert_eq!(connect(LARGE_MESSAGE_BYTES), connect(MESSAGE_BYTES));
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

/// Linux gets a pointer that it refuses, and the lengths as they are: it says which fault of the call comes first.
#[test]
fn impossible_buffers_are_left_to_linux() {
    let memory = Memory::new(MIB);
    let end = BASE + MIB as u64;
    let seen = |number, arguments: [u64; 6]| {
        ship(&memory, number, arguments, |seen| {
            assert!(seen.value(1) == 8 || seen.value(1) == 1 << 63, "a pointer to nothing");
            assert_eq!(seen.value(2), arguments[2]);
            (error(Errno::EBADF), false)
        })
    };
    for number in [READ, WRITE] {
        for (address, bytes) in [(BASE, u64::MAX), (BASE, 1 << 50), (end, 6), (u64::MAX - 5, 100), (u64::MAX, 0)] {
            assert_eq!(seen(number, [1, address, bytes, 0, 0, 0]), error(Errno::EBADF));
        }
    }
    for number in [READV, WRITEV] {
        assert_eq!(seen(number, [1, BASE, 1025, 0, 0, 0]), error(Errno::EBADF));
        assert_eq!(seen(number, [1, end, 1, 0, 0, 0]), error(Errno::EBADF));
        memory.put_words(BASE, &[BASE + 100, u64::MAX]);
        assert_eq!(result_of(&memory, number, [1, BASE, 1, 0, 0, 0]), error(Errno::EINVAL));
        memory.put_words(BASE, &[5, 100]);
        assert_eq!(seen(number, [1, BASE, 1, 0, 0, 0]), error(Errno::EBADF));
    }
}

/// As on Linux: the part moves, and the call says how long it was.
#[test]
fn the_part_of_a_buffer_that_can_be_used_moves() {
    let memory = Memory::new(MIB);
    let end = BASE + MIB as u64;
    for number in [READ, WRITE] {
        let moved = ship(&memory, number, [1, end - 5, 100, 0, 0, 0], |seen| {
            assert_eq!(seen.value(2), 5);
            (5, true)
        });
        assert_eq!(moved, 5);
        let bytes = 2 * PIECE_BYTES as u64;
        let moved =
            ship(&memory, number, [1, end - bytes - 5, MIB as u64, 0, 0, 0], |seen| (seen.value(2) as i64, true));
        assert_eq!(moved, bytes as i64 + 5);
    }
    for number in [READV, WRITEV] {
        memory.put_words(BASE, &[BASE + 100, 10, end - 5, 100, BASE + 100, 10]);
        assert_eq!(ship(&memory, number, [1, BASE, 3, 0, 0, 0], |_| (15, true)), 15);
    }
}

/// The kernel writes twelve bytes for the first version, and programs have no more there.
#[test]
fn the_first_version_of_capget_is_half_as_long() {
    const CAPGET: u64 = 125;
    let memory = Memory::new(0x1000);
    for (version, bytes) in [(0x1998_0330u32, 12), (0x2008_0522, 24)] {
        memory.put(BASE, &version.to_le_bytes());
        memory.put(BASE + 64, &[0x55; 32]);
        let result = ship(&memory, CAPGET, [BASE, BASE + 64, 0, 0, 0, 0], |seen| {
            seen.output(1).fill(7);
            (0, false)
        });
        assert_eq!(result, 0);
        assert_eq!(memory.get(BASE + 64, 32), [vec![7; bytes], vec![0x55; 32 - bytes]].concat());
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

/// They travel by the proxy's store, before the call and after it.
#[test]
fn buffers_that_no_message_can_hold_are_changed_as_short_ones_are() {
    let memory = Memory::new(4 * MIB);
    for count in [8000, 12_000, 100_000usize] {
        let before = memory.get(BASE, 8 * count);
        let mut calls = 0;
        let result = ship(&memory, POLL, [BASE, count as u64, 77, 0, 0, 0], |seen| {
            calls += 1;
            let buffer = if count > 8192 { seen.stored(0) } else { seen.output(0) };
            assert!(buffer == before);
            buffer.iter_mut().for_each(|byte| *byte ^= 0xff);
            assert_eq!((seen.value(1), seen.value(2)), (count as u64, 77));
            (3, false)
        });
        assert_eq!((result, calls), (3, 1));
        assert!(memory.get(BASE, 8 * count).iter().zip(&before).all(|(after, before)| *after == before ^ 0xff));
    }
    let before = memory.get(BASE, MIB);
    assert_eq!(
        ship(&memory, POLL, [BASE, 12_000, 0, 0, 0, 0], |seen| {
            seen.stored(0).fill(0);
            (error(Errno::EINTR), false)
        }),
        error(Errno::EINTR)
    );
    assert!(memory.get(BASE, MIB) == before, "a call that fails changes nothing");
}

/// As many sets as the call has, each with its own end.
#[test]
fn long_sets_of_descriptors_stay_apart() {
    const SELECT: u64 = 23;
    let memory = Memory::new(MIB);
    let (bits, bytes) = (300_001u64, 300_032 / 8);
    let sets = [BASE, BASE + 0x2_0000, 0];
    memory.put_words(BASE + 0x8_0000, &[5, 6]);
    let result = ship(&memory, SELECT, [bits, sets[0], sets[1], sets[2], BASE + 0x8_0000, 0], |seen| {
        assert_eq!((seen.value(3), seen.output(4).len()), (0, 16));
        for (index, value) in [(1, 11), (2, 22)] {
            assert!(seen.stored(index) == memory.get(sets[index - 1], bytes));
            seen.stored(index).fill(value);
        }
        (1, false)
    });
    assert_eq!(result, 1);
    for (set, value) in sets.into_iter().zip([11, 22]) {
        let after = memory.get(set, bytes + 1);
        assert!(after[..bytes].iter().all(|byte| *byte == value) && after[bytes] != value);
    }
}

/// As Linux takes lengths that are int: by their lower half. The upper one is whatever the register had.
#[test]
fn lengths_of_32_bits_are_taken_as_such() {
    const SELECT: u64 = 23;
    const CONNECT: u64 = 42;
    const READLINK: u64 = 89;
    const HIGH: u64 = 1 << 32;
    let memory = Memory::new(0x1000);
    let connected = ship(&memory, CONNECT, [3, BASE, HIGH + 16, 0, 0, 0], |seen| {
        assert_eq!(seen.input(1), memory.get(BASE, 16));
        (0, false)
    });
    let selected = ship(&memory, SELECT, [HIGH + 1, BASE, 0, 0, 0, 0], |seen| {
        assert_eq!(seen.output(1).len(), 8);
        (0, false)
    });
    assert_eq!((connected, selected), (0, 0));
    memory.put(BASE, b"x\0");
    for (bytes, buffer) in [(HIGH + 5, true), (1 << 31, false)] {
        let read = ship(&memory, READLINK, [BASE, BASE + 16, bytes, 0, 0, 0], |seen| {
            assert_eq!(matches!(seen.call.arguments[1], Argument::Output(_)), buffer);
            (-22, false)
        });
        assert_eq!(read, -22);
    }
}

/// Linux says what comes first: too many entries, or memory that the program does not have.
#[test]
fn long_buffers_that_cannot_be_used_do_not_travel() {
    let memory = Memory::new(MIB);
    let end = BASE + MIB as u64;
    for (address, count) in [(end - 80_000, 12_000), (BASE, 1 << 19)] {
        let result = ship(&memory, POLL, [address, count, 0, 0, 0, 0], |seen| {
            assert_eq!((seen.value(0), seen.value(1)), (8, count));
            (error(Errno::EFAULT), false)
        });
        assert_eq!(result, error(Errno::EFAULT));
    }
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
