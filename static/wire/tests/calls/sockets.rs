// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Messages and addresses of sockets.

use crate::support::{BASE, Memory, error, result_of, ship};
use tacet_wire::demarshal::Argument;
use tacet_wire::errno::Errno;
use tacet_wire::packet::PIECE_BYTES;

const ACCEPT: u64 = 43;
const SENDMSG: u64 = 46;
const RECVMSG: u64 = 47;
const GETSOCKOPT: u64 = 55;
const RECVMMSG: u64 = 299;
const SENDMMSG: u64 = 307;
const RECVFROM: u64 = 45;
const NAME: u64 = BASE + 0x1000;
const CONTROL: u64 = BASE + 0x2000;
const DATA: u64 = BASE + 0x3000;

/// A msghdr at [`BASE`] with two buffers of 10 and 20 bytes.
fn message(memory: &Memory) {
    memory.put_words(BASE + 0x100, &[DATA, 10, DATA + 0x100, 20]);
    memory.put_words(BASE, &[NAME, 16, BASE + 0x100, 2, CONTROL, 24, 0xdead, 0]);
}

#[test]
fn a_sent_message_arrives_in_its_parts() {
    let memory = Memory::new(0x5000);
    message(&memory);
    let result = ship(&memory, SENDMSG, [3, BASE, 0x4000, 0, 0, 0], |seen| {
        let Argument::InputMessage { name, control, data } = seen.call.arguments[1] else { panic!("no message") };
        assert_eq!(name.of(seen.message), memory.get(NAME, 16));
        assert_eq!(control.of(seen.message), memory.get(CONTROL, 24));
        assert_eq!(data.of(seen.message), [memory.get(DATA, 10), memory.get(DATA + 0x100, 20)].concat());
        assert_eq!(seen.value(2), 0x4000);
        (30, false)
    });
    assert_eq!(result, 30);
}

#[test]
fn a_received_message_fills_its_parts() {
    let memory = Memory::new(0x5000);
    message(&memory);
    let result = ship(&memory, RECVMSG, [3, BASE, 0, 0, 0, 0], |seen| {
        let Argument::OutputMessage { lengths, name, control, data } = seen.call.arguments[1] else { panic!("none") };
        assert_eq!((name.bytes, control.bytes, data.bytes), (16, 24, 30));
        // The sender's address is longer than the buffer; the control data shorter.
        lengths.of_mut(seen.reply).copy_from_slice(&[28, 0, 0, 0, 20, 0, 0, 0, 0x20, 0, 0, 0]);
        name.of_mut(seen.reply).fill(1);
        control.of_mut(seen.reply).fill(2);
        data.of_mut(seen.reply).fill(3);
        (12, false)
    });
    assert_eq!(result, 12);
    assert_eq!(memory.get(BASE + 8, 4), 28u32.to_le_bytes());
    assert_eq!(memory.get(BASE + 40, 8), 20u64.to_le_bytes());
    assert_eq!(memory.get(BASE + 48, 4), 0x20u32.to_le_bytes());
    let before = Memory::new(0x5000);
    assert_eq!(memory.get(NAME, 17), [vec![1; 16], before.get(NAME + 16, 1)].concat());
    assert_eq!(memory.get(CONTROL, 21), [vec![2; 20], before.get(CONTROL + 20, 1)].concat());
    assert_eq!(memory.get(DATA, 11), [vec![3; 10], before.get(DATA + 10, 1)].concat());
    assert_eq!(memory.get(DATA + 0x100, 3), [vec![3; 2], before.get(DATA + 0x102, 1)].concat());
}

/// Another thread makes the buffers smaller while the call is under way: what is beyond them stays as it was.
#[test]
fn a_received_message_keeps_to_the_buffers_as_they_are_now() {
    let memory = Memory::new(0x5000);
    message(&memory);
    let (name_before, control_before) = (memory.get(NAME, 16), memory.get(CONTROL, 24));
    ship(&memory, RECVMSG, [3, BASE, 0, 0, 0, 0], |seen| {
        let Argument::OutputMessage { lengths, name, control, .. } = seen.call.arguments[1] else { panic!("none") };
        lengths.of_mut(seen.reply).copy_from_slice(&[16, 0, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0]);
        name.of_mut(seen.reply).fill(1);
        control.of_mut(seen.reply).fill(2);
        memory.put_words(BASE, &[NAME, 4]);
        memory.put_words(BASE + 32, &[CONTROL, 5]);
        (12, false)
    });
    assert_eq!(memory.get(NAME, 16), [&[1; 4][..], &name_before[4..]].concat());
    assert_eq!(memory.get(CONTROL, 24), [&[2; 5][..], &control_before[5..]].concat());
}

#[test]
fn of_many_messages_one_moves() {
    let memory = Memory::new(0x5000);
    for (number, shipped) in [(SENDMMSG, SENDMSG), (RECVMMSG, RECVMSG)] {
        message(&memory);
        memory.put(BASE + 56, &[0xff; 4]);
        let result = ship(&memory, number, [3, BASE, 5, 0x4000, 0, 0], |seen| {
            assert_eq!(u64::from(seen.call.number), shipped);
            assert_eq!(seen.value(2), 0x4000);
            (30, false)
        });
        assert_eq!(result, 1);
        assert_eq!(memory.get(BASE + 56, 4), 30u32.to_le_bytes());
        assert_eq!(ship(&memory, number, [3, BASE, 5, 0, 0, 0], |_| (-11, false)), -11);
        // of none, Linux says what it thinks of the descriptor; it counts by 32 bits
        for none in [0, 1 << 40] {
            let result = ship(&memory, number, [3, BASE, none, 0, 0, 0], |seen| {
                assert_eq!((u64::from(seen.call.number), seen.value(1)), (number, 0));
                (-88, false)
            });
            assert_eq!(result, -88);
        }
    }
}

#[test]
fn an_address_is_cut_at_its_buffer() {
    let memory = Memory::new(0x5000);
    memory.put(BASE, &[8, 0, 0, 0]);
    let before = memory.get(NAME, 20);
    let result = ship(&memory, ACCEPT, [3, NAME, BASE, 0, 0, 0], |seen| {
        assert_eq!(seen.output_span(1).bytes, 8);
        seen.output(1).fill(7);
        assert_eq!(seen.output(2), [8, 0, 0, 0]);
        seen.output(2)[0] = 16;
        (5, false)
    });
    assert_eq!(result, 5);
    assert_eq!(memory.get(NAME, 20), [&[7; 8][..], &before[8..]].concat());
    assert_eq!(memory.get(BASE, 4), [16, 0, 0, 0]);
    memory.put(BASE, &[0, 0, 0, 0x80]);
    for length in [BASE, 0] {
        let result = ship(&memory, ACCEPT, [3, NAME, length, 0, 0, 0], |seen| {
            assert_eq!(seen.value(1), 8, "a pointer to nothing: Linux says what is wrong first");
            (error(Errno::EBADF), false)
        });
        assert_eq!(result, error(Errno::EBADF));
    }
    assert_eq!(ship(&memory, ACCEPT, [3, 0, 0, 0, 0, 0], |seen| (seen.value(1) as i64, false)), 0);
}

/// With MSG_TRUNC, Linux says how long a datagram was that did not fit.
#[test]
fn a_datagram_longer_than_its_buffer_says_so() {
    let memory = Memory::new(0x5000);
    let result = ship(&memory, RECVFROM, [3, DATA, 10, 0x20, 0, 0], |seen| {
        seen.output(1).fill(9);
        (5000, false)
    });
    assert_eq!(result, 5000);
    assert_eq!(memory.get(DATA, 10), [9; 10]);
    assert_ne!(memory.get(DATA + 10, 1), [9]);
}

#[test]
fn control_data_that_is_too_long_is_refused() {
    let memory = Memory::new(0x5000);
    message(&memory);
    memory.put_words(BASE + 40, &[1 << 40]);
    // Linux looks at the descriptor first
    let refused = |errno: Errno| {
        for (found, result) in [(-88, -88), (error(Errno::EFAULT), error(errno))] {
            let shipped = ship(&memory, SENDMSG, [3, BASE, 0, 0, 0, 0], |seen| {
                assert!(seen.value(1) < 4096, "an address where nothing is");
                (found, false)
            });
            assert_eq!(shipped, result);
        }
    };
    refused(Errno::ENOBUFS);
    memory.put_words(BASE + 24, &[1025]);
    refused(Errno::EMSGSIZE);
}

#[test]
fn options_with_pointers_are_refused() {
    let memory = Memory::new(0x5000);
    memory.put(BASE, &[64, 0, 0, 0]);
    // SO_ATTACH_FILTER, TCP_ZEROCOPY_RECEIVE, IPT_SO_GET_INFO, a level that nobody knows
    for (level, name) in [(1, 26), (6, 35), (0, 64), (99, 1)] {
        assert_eq!(result_of(&memory, GETSOCKOPT, [3, level, name, NAME, BASE, 0]), error(Errno::ENOPROTOOPT));
    }
    let result = ship(&memory, GETSOCKOPT, [3, 1, 4, NAME, BASE, 0], |seen| {
        assert_eq!(seen.output_span(3).bytes, 64);
        seen.output(4)[0] = 4;
        (0, false)
    });
    assert_eq!((result, memory.get(BASE, 1)), (0, vec![4]));
}

/// A long receive that waits for all goes on after a piece, but not if it only looks, or if control data may come.
#[test]
fn a_receive_that_waits_for_all_gets_all() {
    const ALL: u64 = 0x100;
    const PEEK: u64 = 2;
    let memory = Memory::new(0x40000);
    let bytes = PIECE_BYTES as u64 + 10;
    let received = |number, arguments| {
        let mut sizes = vec![];
        let result = ship(&memory, number, arguments, |seen| {
            let size = match seen.call.arguments[1] {
                Argument::OutputMessage { data, .. } => data.bytes,
                _ => seen.output_span(1).bytes,
            };
            sizes.push(size);
            (size as i64, false)
        });
        (result as u64, sizes.len())
    };
    let piece = PIECE_BYTES as u64;
    assert_eq!(received(RECVFROM, [3, DATA, bytes, ALL, 0, 0]), (bytes, 2));
    assert_eq!(received(RECVFROM, [3, DATA, bytes, ALL | PEEK, 0, 0]), (piece, 1));
    for (control, flags, expected) in [(0, ALL, (bytes, 2)), (0, ALL | PEEK, (piece, 1)), (24, ALL, (piece, 1))] {
        memory.put_words(BASE + 0x100, &[DATA, bytes]);
        memory.put_words(BASE, &[0, 0, BASE + 0x100, 1, CONTROL, control, 0]);
        assert_eq!(received(RECVMSG, [3, BASE, flags, 0, 0, 0]), expected);
    }
}

/// Linux would send from the proxy's buffer after the call, which has the next message by then.
#[test]
fn nothing_is_sent_without_a_copy() {
    const SETSOCKOPT: u64 = 54;
    let memory = Memory::new(0x1000);
    assert_eq!(result_of(&memory, SETSOCKOPT, [3, 1, 60, BASE, 4, 0]), error(Errno::ENOPROTOOPT));
}
