// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A node that holds the job's key and sends anything: the proxy answers each message, and still serves afterwards.
//!
//! The messages are by a fixed sequence of random numbers, half of them with sizes that agree with the table, so that
//! Linux sees the calls. As another user than root, in a scratch directory.

use libtest_mimic::Trial;
use tacet_wire::calls::{Disposition, Kind, Size, disposition, kinds};

use crate::node::Thread;
use crate::of_two_users;

const MESSAGES: usize = 20_000;

/// Calls that end the thread or the process as they should, change the proxy's limits, or wait for somebody.
const LEFT_OUT: [i64; 9] = [
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_prlimit64,
    libc::SYS_setrlimit,
    libc::SYS_sync,
    libc::SYS_select,
    libc::SYS_pselect6,
    libc::SYS_poll,
    libc::SYS_ppoll,
];

pub fn tests() -> Vec<Trial> {
    vec![of_two_users("any_message_is_answered", any_message_is_answered)]
}

fn any_message_is_answered() {
    crate::control::with_other_user(|_, thread| {
        let mut dice = Dice(1);
        let mut performed = 0_usize;
        thread.line.interrupt = true;
        for _ in 0..MESSAGES {
            let message = message(&mut dice);
            let result = thread.raw_message(&message);
            thread.line.sent.clear();
            performed += usize::from(result != -i64::from(libc::EINVAL) && result != -i64::from(libc::ENOSYS));
        }
        assert!(performed > MESSAGES / 20, "only {performed} messages were calls");
        still_serves(thread);
    });
}

fn still_serves(thread: &mut Thread) {
    thread.line.interrupt = false;
    assert!(thread.call(libc::SYS_getppid, &[]) > 0);
    let room = thread.memory.room(390);
    assert_eq!(thread.call(libc::SYS_uname, &[room]), 0);
    assert!(thread.memory.get(room, 5).starts_with(b"Linux"));
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn of<T: Copy>(&mut self, choice: &[T]) -> T {
        choice[self.roll(choice.len() as u64) as usize]
    }
}

fn message(dice: &mut Dice) -> Vec<u8> {
    let number = loop {
        let number = dice.roll(470);
        let is_shipped = matches!(disposition(number), Disposition::Ship(_));
        if !LEFT_OUT.contains(&(number as i64)) && (is_shipped || dice.roll(8) == 0) {
            break number as u32;
        }
    };
    let values = [0, 1, 2, 3, 7, 64, 4096, 65_536, 1 << 31, u64::from(u32::MAX), 1 << 47, u64::MAX];
    let mut arguments = [0; 6].map(|_: u64| dice.of(&values));
    let mut sizes = [u32::MAX; 6];
    let mut input = Vec::new();
    let Ok(kinds) = kinds(number, &arguments) else {
        return finished(dice, number, arguments, sizes, input);
    };
    for (index, kind) in kinds.into_iter().enumerate() {
        let (size, has_input) = match kind {
            Kind::Descriptor => {
                // Not 0 to 2: they are shared with the test, and reads of 0 wait.
                arguments[index] = 3 + dice.roll(6);
                continue;
            }
            Kind::Text => {
                let text = dice.of(&[
                    &b"f"[..],
                    b"..",
                    b"/",
                    b"/etc/shadow",
                    b"/proc/self/mem",
                    b"/proc/self/fd/3",
                    b"\xff/",
                    b"",
                ]);
                input.extend_from_slice(text);
                input.push(0);
                sizes[index] = text.len() as u32 + 1;
                continue;
            }
            Kind::In(size) | Kind::InOut(size) => (size, true),
            Kind::Out(size) | Kind::Fill(size) => (size, false),
            Kind::Stream(length) => (Size::Times(1, length), true),
            _ => continue,
        };
        let bytes = match size {
            Size::Bytes(bytes) => u64::from(bytes),
            Size::Times(unit, length) => {
                let count = dice.of(&[0, 1, 2, 100]);
                arguments[usize::from(length)] = count;
                u64::from(unit) * count
            }
            _ => dice.roll(64),
        };
        sizes[index] = bytes as u32;
        if has_input {
            input.extend((0..bytes).map(|_| dice.roll(256) as u8));
        }
    }
    finished(dice, number, arguments, sizes, input)
}

/// Half of the messages get a wrong byte, size or end.
fn finished(dice: &mut Dice, number: u32, arguments: [u64; 6], mut sizes: [u32; 6], input: Vec<u8>) -> Vec<u8> {
    if dice.roll(4) == 0 {
        sizes[dice.roll(6) as usize] = dice.of(&[0, 1, 4096, 70_000, 80_000, 1 << 31, u32::MAX - 1]);
    }
    let mut message = crate::faults::raw(number, &arguments, sizes);
    message.extend_from_slice(&input);
    match dice.roll(8) {
        0 => message.truncate(1 + dice.roll(message.len() as u64) as usize),
        1 => message.extend_from_slice(&[0x55; 9]),
        _ => {}
    }
    message
}
