// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The program of a history: threads that do what a list says, in the instructions of the machine that is made up.
//!
//! Each shipped call of a list has a number of its own (`lseek` to it), by which the far end knows it. The first thread
//! waits until all others have ended, then ends the process with [`STATUS`].

use tacet_host_static::fake::instructions::{Assembler, Register};
use tacet_wire::calls::number;

pub const STATUS: u8 = 7;
const TEXT: u64 = 0x40_0000;
const DATA: u64 = 0x60_0000;
const DATA_BYTES: u64 = 0x8000;
const STACK_BYTES: u64 = 0x4000;
/// One word for each thread: its number until it ends.
const ALIVE: u64 = DATA;
/// A futex that threads wait for and wake, and times.
const FUTEX: u64 = DATA + 0x400;
const SHORT: u64 = DATA + 0x500;
const HANDLED: u64 = DATA + 0x600;
const ACTION: u64 = DATA + 0x700;
const MASK: u64 = DATA + 0x800;
/// What clone(2) of pthread_create has, without thread-local memory.
const CLONE: u64 = 0x100 | 0x200 | 0x400 | 0x800 | 0x1_0000 | 0x4_0000 | 0x10_0000 | 0x20_0000;
pub const SIGUSR1: u64 = 10;
const SA_RESTORER_AND_RESTART: u64 = 0x0400_0000 | 0x1000_0000;
const SHORT_NS: u64 = 30_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A shipped call that only its number tells from others.
    Ship,
    /// One that the far end lets wait until it is interrupted or a while has passed.
    ShipLong,
    Compute,
    Yield,
    Sleep,
    /// Waits for a futex, for a short time.
    Wait,
    Wake,
    /// Signals another thread, by its number in the process.
    Signal(u8),
    Map,
    /// Lives on this CPU of the process from here on.
    Move(u8),
}

/// The descriptors of [`Step::Ship`] and [`Step::ShipLong`].
pub const SHIPPED: u64 = 50;
pub const SHIPPED_LONG: u64 = 51;

/// The number of a thread's step.
#[must_use]
pub fn number_of(thread: usize, step: usize) -> u64 {
    (thread as u64) << 16 | step as u64
}

/// The bytes of the file.
#[must_use]
pub fn file(threads: &[Vec<Step>]) -> Vec<u8> {
    let mut a = Assembler::new(TEXT + 0x1000);
    let handler = handler(&mut a);
    let restorer = a.here();
    a.set(Register::Rax, number::RT_SIGRETURN);
    a.system_call();
    let others: Vec<u64> = (1..threads.len())
        .map(|thread| {
            let entry = a.here();
            steps(&mut a, thread, &threads[thread]);
            a.call(number::EXIT, &[0]);
            entry
        })
        .collect();
    let entry = a.here();
    begin(&mut a, handler, restorer);
    for (thread, &at) in (1..).zip(&others) {
        start(&mut a, thread, at);
    }
    steps(&mut a, 0, threads.first().map_or(&[], |steps| steps));
    (1..threads.len()).for_each(|thread| wait_for_end(&mut a, thread));
    a.call(number::EXIT_GROUP, &[STATUS.into()]);
    elf(&a.text, entry)
}

/// Counts the signal, and goes back to the restorer, whose address the frame begins with.
fn handler(a: &mut Assembler) -> u64 {
    let at = a.here();
    a.set(Register::Rbx, HANDLED);
    a.load(Register::Rcx, Register::Rbx);
    a.add(Register::Rcx, 1);
    a.store(Register::Rbx, Register::Rcx);
    // The restorer takes the frame's first word off the stack, as RET does.
    a.add(Register::Rsp, 8);
    a.set(Register::Rax, number::RT_SIGRETURN);
    a.system_call();
    at
}

fn begin(a: &mut Assembler, handler: u64, restorer: u64) {
    for (at, value) in
        [(ACTION, handler), (ACTION + 8, SA_RESTORER_AND_RESTART), (ACTION + 16, restorer), (SHORT + 8, SHORT_NS)]
    {
        a.set(Register::Rbx, at);
        a.set(Register::Rcx, value);
        a.store(Register::Rbx, Register::Rcx);
    }
    a.call(number::RT_SIGACTION, &[SIGUSR1, ACTION, 0, 8]);
}

/// Makes a thread that begins at `at`.
fn start(a: &mut Assembler, thread: usize, at: u64) {
    let word = ALIVE + 8 * thread as u64;
    a.call(number::MMAP, &[0, STACK_BYTES, 3, 0x22, u64::MAX, 0]);
    a.copy(Register::Rsi, Register::Rax);
    a.add(Register::Rsi, STACK_BYTES - 64);
    a.set(Register::Rdi, CLONE);
    a.set(Register::Rdx, word);
    a.set(Register::R10, word);
    a.set(Register::R8, 0);
    a.set(Register::Rax, number::CLONE);
    a.system_call();
    let parent = a.jump_ahead_unless_zero(Register::Rax);
    a.set(Register::Rcx, 1);
    a.jump_unless_zero(Register::Rcx, at);
    a.lead(&parent);
}

/// Waits until the thread's word is zero, as pthread_join does.
fn wait_for_end(a: &mut Assembler, thread: usize) {
    let word = ALIVE + 8 * thread as u64;
    let again = a.here();
    a.set(Register::Rbx, word);
    a.load(Register::R12, Register::Rbx);
    let lives = a.jump_ahead_unless_zero(Register::R12);
    a.set(Register::Rcx, 1);
    let ended = a.jump_ahead_unless_zero(Register::Rcx);
    a.lead(&lives);
    a.set(Register::Rdi, word);
    a.set(Register::Rsi, 0);
    a.copy(Register::Rdx, Register::R12);
    a.set(Register::R10, 0);
    a.set(Register::Rax, number::FUTEX);
    a.system_call();
    a.set(Register::Rcx, 1);
    a.jump_unless_zero(Register::Rcx, again);
    a.lead(&ended);
}

fn steps(a: &mut Assembler, thread: usize, steps: &[Step]) {
    for (index, step) in steps.iter().enumerate() {
        match *step {
            Step::Ship => a.call(number::LSEEK, &[SHIPPED, number_of(thread, index), 0]),
            Step::ShipLong => a.call(number::LSEEK, &[SHIPPED_LONG, number_of(thread, index), 0]),
            Step::Compute => compute(a),
            Step::Yield => a.call(number::SCHED_YIELD, &[]),
            Step::Sleep => a.call(number::NANOSLEEP, &[SHORT, 0]),
            Step::Wait => a.call(number::FUTEX, &[FUTEX, 128, 0, SHORT]),
            Step::Wake => a.call(number::FUTEX, &[FUTEX, 129, 8]),
            Step::Signal(other) => signal(a, other),
            Step::Map => map(a),
            Step::Move(cpu) => {
                a.set(Register::Rbx, MASK + 8 * thread as u64);
                a.set(Register::Rcx, 1 << cpu);
                a.store(Register::Rbx, Register::Rcx);
                a.call(number::SCHED_SETAFFINITY, &[0, 8, MASK + 8 * thread as u64]);
            }
        }
    }
}

fn compute(a: &mut Assembler) {
    a.set(Register::Rbx, 40);
    let again = a.here();
    a.add(Register::Rbx, u64::MAX);
    a.jump_unless_zero(Register::Rbx, again);
}

/// By the id in its word; one that has ended has none, and 0 is no id.
fn signal(a: &mut Assembler, other: u8) {
    a.set(Register::Rbx, ALIVE + 8 * u64::from(other));
    a.load(Register::Rdi, Register::Rbx);
    a.set(Register::Rsi, SIGUSR1);
    a.set(Register::Rax, number::TKILL);
    a.system_call();
}

/// Maps a page, uses it, and unmaps it.
fn map(a: &mut Assembler) {
    a.call(number::MMAP, &[0, 4096, 3, 0x22, u64::MAX, 0]);
    a.copy(Register::R12, Register::Rax);
    a.store(Register::R12, Register::R12);
    a.copy(Register::Rdi, Register::R12);
    a.set(Register::Rsi, 4096);
    a.set(Register::Rax, number::MUNMAP);
    a.system_call();
}

/// A static program: its text, and data that is zero.
fn elf(text: &[u8], entry: u64) -> Vec<u8> {
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let half = |file: &mut Vec<u8>, value: u16| file.extend(value.to_le_bytes());
    half(&mut file, 2);
    half(&mut file, 62);
    file.extend(1u32.to_le_bytes());
    for value in [entry, 64, 0] {
        file.extend(value.to_le_bytes());
    }
    file.extend(0u32.to_le_bytes());
    for value in [64, 56, 2, 0, 0, 0] {
        half(&mut file, value);
    }
    let segments =
        [(5u32, 0x1000u64, TEXT + 0x1000, text.len() as u64, text.len() as u64), (6, 0x1000, DATA, 0, DATA_BYTES)];
    for (rights, offset, address, file_bytes, memory_bytes) in segments {
        file.extend(1u32.to_le_bytes());
        file.extend(rights.to_le_bytes());
        for value in [offset, address, address, file_bytes, memory_bytes, 0x1000] {
            file.extend(value.to_le_bytes());
        }
    }
    file.resize(0x1000, 0);
    file.extend(text);
    file
}
