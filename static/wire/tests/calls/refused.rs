// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls and commands that are not shipped: neither end lets them pass.

use crate::support::{BASE, Memory, PROCESS, error, result_of, ship};
use tacet_wire::calls::{Disposition, disposition};
use tacet_wire::demarshal::{Argument, Call, refuse};
use tacet_wire::errno::Errno;
use tacet_wire::marshal::Shipment;
use tacet_wire::packet::MESSAGE_BYTES;

const IOCTL: u64 = 16;
const FCNTL: u64 = 72;
const FORK: u64 = 57;
const EXECVE: u64 = 59;
const PTRACE: u64 = 101;
const WAIT4: u64 = 61;
const MMAP: u64 = 9;
const CLOSE_RANGE: u64 = 436;
const TCGETS: u64 = 0x5401;
const TIOCSTI: u64 = 0x5412;

#[test]
fn refused_calls_have_the_errors_that_programs_expect() {
    let memory = Memory::new(0x1000);
    for (number, errno) in
        [(FORK, Errno::ENOSYS), (EXECVE, Errno::ENOSYS), (PTRACE, Errno::EPERM), (WAIT4, Errno::ECHILD)]
    {
        assert_eq!(result_of(&memory, number, [0; 6]), error(errno));
        assert_eq!(disposition(number), Disposition::Refuse(errno));
    }
    for number in [400, 474, 100_000, u64::MAX] {
        assert_eq!(disposition(number), Disposition::Refuse(Errno::ENOSYS));
        assert_eq!(result_of(&memory, number, [0; 6]), error(Errno::ENOSYS));
    }
    assert_eq!(disposition(MMAP), Disposition::Local);
    assert_eq!(result_of(&memory, MMAP, [0; 6]), error(Errno::ENOSYS));
}

#[test]
fn commands_are_shipped_by_a_list() {
    let memory = Memory::new(0x1000);
    assert_eq!(result_of(&memory, IOCTL, [0, TIOCSTI, BASE, 0, 0, 0]), error(Errno::ENOTTY));
    assert_eq!(result_of(&memory, FCNTL, [0, 99, BASE, 0, 0, 0]), error(Errno::EINVAL));
    assert_eq!(result_of(&memory, CLOSE_RANGE, [3, 9, 2, 0, 0, 0]), error(Errno::EINVAL));
    let result = ship(&memory, IOCTL, [0, TCGETS, BASE, 0, 0, 0], |seen| {
        assert_eq!(seen.output_span(2).bytes, 36);
        (0, false)
    });
    assert_eq!(result, 0);
}

/// A message of a node that has been taken over: the proxy decides by the table as well.
#[test]
fn a_forged_message_is_refused_by_the_proxy() {
    let honest = |number, arguments| {
        let memory = Memory::new(0x1000);
        let mut message = vec![0; MESSAGE_BYTES];
        let used = Shipment::new(number, arguments).unwrap().request(&memory, &mut message).unwrap();
        message.truncate(used);
        message
    };
    let mut reply = vec![0; MESSAGE_BYTES];
    let mut refused = |message: &[u8]| Call::decode(message, PROCESS, &mut reply).unwrap_err();
    let with = |mut message: Vec<u8>, at: usize, value: u32| {
        message[at..at + 4].copy_from_slice(&value.to_le_bytes());
        message
    };
    let (read, write) = (honest(0, [3, BASE, 100, 0, 0, 0]), honest(1, [3, BASE, 100, 0, 0, 0]));
    let argument = |index: usize| 8 + 8 * index;
    let size = |index: usize| 56 + 4 * index;
    for number in [FORK as u32, EXECVE as u32, PTRACE as u32, MMAP as u32, 299, 10_000, u32::MAX] {
        refused(&with(write.clone(), 0, number));
    }
    // A length that is not the buffer's: Linux would read or write beyond it.
    for length in [0, 99, 101, 0x7fff_ffff, u32::MAX] {
        assert_eq!(refused(&with(read.clone(), argument(2), length)), Errno::EINVAL);
        assert_eq!(refused(&with(write.clone(), argument(2), length)), Errno::EINVAL);
        assert_eq!(refused(&with(read.clone(), argument(2) + 4, length | 1)), Errno::EINVAL);
    }
    for bytes in [0, 99, 101, 0x7fff_ffff, u32::MAX - 3] {
        assert_eq!(refused(&with(read.clone(), size(1), bytes)), Errno::EINVAL);
        assert_eq!(refused(&with(write.clone(), size(1), bytes)), Errno::EINVAL);
    }
    // A buffer that the program may not use is at an address without memory here, not at one of the node's choice.
    for marker in [u32::MAX - 1, u32::MAX - 2] {
        let message = with(with(read.clone(), size(1), marker), argument(1), 0x1234_5678);
        let call = Call::decode(&message, PROCESS, &mut vec![0; MESSAGE_BYTES]).unwrap();
        assert!(matches!(call.arguments[1], Argument::Value(8 | 0x8000_0000_0000_0000)), "{call:?}");
    }
    // More than one iovec, of which the proxy has one.
    let memory = Memory::new(0x1000);
    memory.put_words(BASE, &[BASE + 64, 9]);
    let mut message = vec![0; MESSAGE_BYTES];
    for vectored in [19, 20] {
        let used = Shipment::new(vectored, [1, BASE, 1, 0, 0, 0]).unwrap().request(&memory, &mut message).unwrap();
        for count in [0, 2, 1024, u32::MAX] {
            assert_eq!(refused(&with(message[..used].to_vec(), argument(2), count)), Errno::EINVAL);
        }
    }
    // A buffer in a store that is shorter, longer, or of another call.
    let poll = with(honest(7, [0, 12_000, 0, 0, 0, 0]), size(0), u32::MAX - 3);
    let stored = |message: &[u8], bytes| Call::decode_with_store(message, PROCESS, &mut vec![0; MESSAGE_BYTES], bytes);
    assert!(stored(&poll, 96_000).is_ok());
    for bytes in [0, 95_999, 96_001] {
        assert_eq!(stored(&poll, bytes).unwrap_err(), Errno::EINVAL);
    }
    assert_eq!(stored(&with(write.clone(), size(1), u32::MAX - 3), 100).unwrap_err(), Errno::EINVAL);
    assert_eq!(stored(&write, 100).unwrap_err(), Errno::EINVAL);
    // Another process than the proxy itself.
    let prlimit = honest(302, [u64::from(PROCESS), 7, 0, BASE, 0, 0]);
    assert_eq!(refused(&with(prlimit, argument(0), 1)), Errno::ESRCH);
    // A path without an end, and bytes after the last argument.
    let mut unlink = honest(87, [BASE, 0, 0, 0, 0, 0]);
    *unlink.last_mut().unwrap() = b'x';
    assert_eq!(refused(&unlink), Errno::EINVAL);
    assert_eq!(refused(&[&write[..], &[0]].concat()), Errno::EINVAL);
    for short in 0..write.len() {
        refused(&write[..short]);
    }
}

#[test]
fn a_refusal_is_a_reply() {
    let memory = Memory::new(0x1000);
    let mut shipment = Shipment::new(3, [5, 0, 0, 0, 0, 0]).unwrap();
    let (mut message, mut reply) = (vec![0; 1000], vec![0; 1000]);
    shipment.request(&memory, &mut message).unwrap();
    let used = refuse(Errno::EPERM, 1 << 14, &mut reply);
    let finished = shipment.finish(&reply[..used], &memory);
    assert_eq!((finished.result, finished.pending), (Some(error(Errno::EPERM)), 1 << 14));
    assert_eq!(shipment.finish(&reply[..used - 1], &memory).result, Some(error(Errno::EIO)));
    // A reply of the right length, and with a byte too many.
    reply[..8].fill(0);
    assert_eq!(shipment.finish(&reply[..used], &memory).result, Some(0));
    assert_eq!(shipment.finish(&reply[..used + 1], &memory).result, Some(error(Errno::EIO)));
}

/// Lengths that Linux reads in the buffers themselves: they must be the buffers'.
#[test]
fn a_forged_length_in_a_buffer_is_refused() {
    const ACCEPT: u64 = 43;
    const SENDMSG: u64 = 46;
    const RECVMSG: u64 = 47;
    let memory = Memory::new(0x1000);
    memory.put(BASE, &[16, 0, 0, 0]);
    memory.put_words(BASE + 0x100, &[BASE + 0x200, 8, BASE + 0x300, 1, BASE + 0x400, 16, 0]);
    memory.put_words(BASE + 0x300, &[BASE + 0x500, 40]);
    let (mut message, mut reply) = (vec![0; MESSAGE_BYTES], vec![0; MESSAGE_BYTES]);
    for (number, arguments, lengths) in [
        (ACCEPT, [3, BASE + 0x200, BASE, 0, 0, 0], 1),
        (SENDMSG, [3, BASE + 0x100, 0, 0, 0, 0], 3),
        (RECVMSG, [3, BASE + 0x100, 0, 0, 0, 0], 3),
    ] {
        let used = Shipment::new(number, arguments).unwrap().request(&memory, &mut message).unwrap();
        assert!(Call::decode(&message[..used], PROCESS, &mut reply).is_ok());
        // The lengths are what follows the head.
        for at in (80..).step_by(4).take(lengths) {
            for change in [1, 2, 0x80] {
                for byte in 0..4 {
                    let mut forged = message[..used].to_vec();
                    forged[at + byte] ^= change;
                    assert_eq!(Call::decode(&forged, PROCESS, &mut reply).unwrap_err(), Errno::EINVAL, "call {number}");
                }
            }
        }
    }
    // A buffer without a length.
    let used = Shipment::new(ACCEPT, [3, BASE + 0x200, BASE, 0, 0, 0]).unwrap().request(&memory, &mut message).unwrap();
    message[56 + 4 * 2..][..4].fill(0xff);
    assert_eq!(Call::decode(&message[..used - 4], PROCESS, &mut reply).unwrap_err(), Errno::EINVAL);
}
