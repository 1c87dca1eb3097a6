// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Private futexes (futex(2)): waiting, waking and requeueing without the host.
//!
//! Other threads of the process may wait for the same futex with the host: a thread that is there for a moment, or
//! one whose CPU runs others. The host counts its waiters before it compares ([`FutexCounters`]). If there are any, a
//! call that wakes escapes. The other way round, the host asks a CPU to wake. A waiting thread that is recalled
//! goes back with its wait: the host ends that, as if the thread had been woken, or restarts it after a signal.

use super::call::Call;
use super::time::deadline;
use crate::base::escape::CallEnd;
use crate::base::place::{Event, Place, Then, Wait};
use crate::base::request;
use crate::cpu::Cpu;
use crate::host::{FutexCounters, Host, Permits, Thread};
use tacet_arch::{Processor, UserState};
use tacet_logic::deadlines::Deadline;
use tacet_logic::futex::{Key, Refusal};

/// include/uapi/linux/futex.h
pub const WAIT: u32 = 0;
pub const WAKE: u32 = 1;
pub const REQUEUE: u32 = 3;
pub const CMP_REQUEUE: u32 = 4;
pub const WAIT_BITSET: u32 = 9;
pub const WAKE_BITSET: u32 = 10;
pub const PRIVATE_FLAG: u32 = 128;
pub const CLOCK_REALTIME: u32 = 256;
pub const MATCH_ANY: u32 = u32::MAX;

/// Beyond every address of a program, unless it asks for addresses above 2^47. What Linux says of a futex there that is
/// not read depends on its version.
pub const USER_END: u64 = 0x7fff_ffff_f000;

/// EAGAIN, as a call gives it.
pub const AGAIN: u64 = -11i64 as u64;

pub fn futex<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    let [address, operation, value, timeout, second, third] = call.user.arguments();
    let (operation, value) = (operation as u32, value as u32);
    let unlocked = call.thread.permits().has(Permits::FUTEXES);
    if !unlocked || operation & PRIVATE_FLAG == 0 || !address.is_multiple_of(4) {
        return CallEnd::NOT_SERVED;
    }
    // The common case: a lock is released that another thread may wait for.
    if operation == WAKE | PRIVATE_FLAG {
        return wake(call, address, value, MATCH_ANY);
    }
    let plain = operation & !PRIVATE_FLAG;
    // The clock means nothing without a time limit; but not every operation may name one.
    let clockless = timeout == 0 && plain == WAIT_BITSET | CLOCK_REALTIME;
    match if clockless { WAIT_BITSET } else { plain } {
        WAIT if timeout == 0 => wait(call, address, value, MATCH_ANY, None),
        WAIT_BITSET if timeout == 0 && third as u32 != 0 => wait(call, address, value, third as u32, None),
        // until a time of CLOCK_MONOTONIC: if it is interrupted, the host can continue the wait
        WAIT_BITSET if third as u32 != 0 => match deadline(call, timeout, true) {
            Some(until) => wait(call, address, value, third as u32, Some(until)),
            None => CallEnd::NOT_SERVED,
        },
        _ if plain == WAKE => wake(call, address, value, MATCH_ANY),
        _ if plain == WAKE_BITSET && third as u32 != 0 => wake(call, address, value, third as u32),
        _ if plain == REQUEUE => requeue(call, address, second, (value, timeout as u32), None),
        _ if plain == CMP_REQUEUE => requeue(call, address, second, (value, timeout as u32), Some(third as u32)),
        _ => CallEnd::NOT_SERVED,
    }
}

fn wait<H: Host>(call: &Call<'_, '_, H>, address: u64, value: u32, bitset: u32, until: Option<Deadline>) -> CallEnd {
    let Some(space) = call.cpu.host.space(call.thread) else { return CallEnd::NOT_SERVED };
    let key = Key { root: call.thread.root(), address };
    space.begin_wait();
    let unchanged = || {
        if call.user_load(address).ok_or(())? != value {
            return Ok(false);
        }
        // Before a waker can find it. A recalled thread waits with its host.
        match call.cpu.change(call.number, call.thread, Event::Block(Wait::Futex)) {
            Place::WaitsForFutex => Ok(true),
            _ => Err(()),
        }
    };
    let end = match call.cpu.common().futexes.wait(key, bitset, call.number, unchanged) {
        Ok(()) => {
            // `deadline` made sure that there is room. If the thread is woken already, this CPU removes it again.
            if let Some(until) = until {
                let _ = call.cpu.waits.borrow_mut().add(call.number, until);
            }
            return CallEnd::Block;
        }
        Err(Refusal::Changed) => CallEnd::Done(AGAIN),
        Err(Refusal::Failed(())) => CallEnd::NOT_SERVED,
    };
    space.end_wait();
    end
}

fn wake<H: Host>(call: &Call<'_, '_, H>, address: u64, count: u32, bitset: u32) -> CallEnd {
    let Some(space) = call.cpu.host.space(call.thread) else { return CallEnd::NOT_SERVED };
    // On Linux a count of 0, or a negative one, still wakes one thread.
    if count as i32 <= 0 || address >= USER_END || space.waited_for_with_host(address) {
        return CallEnd::NOT_SERVED;
    }
    if !space.waited_for_on_cpus() {
        return CallEnd::Done(0);
    }
    let key = Key { root: call.thread.root(), address };
    CallEnd::Done(call.cpu.wake(key, bitset, count, Waker::Thread).into())
}

fn requeue<H: Host>(
    call: &Call<'_, '_, H>,
    from: u64,
    to: u64,
    (wake, take): (u32, u32),
    expected: Option<u32>,
) -> CallEnd {
    let Some(space) = call.cpu.host.space(call.thread) else { return CallEnd::NOT_SERVED };
    if ((wake | take) as i32) < 0
        || !to.is_multiple_of(4)
        || from >= USER_END
        || space.waited_for_with_host(from)
        || space.waited_for_with_host(to)
    {
        return CallEnd::NOT_SERVED;
    }
    // Linux notices a bad second address only if it moves a thread there.
    if call.user_load(to).is_none() {
        return CallEnd::NOT_SERVED;
    }
    let root = call.thread.root();
    let keys = (Key { root, address: from }, Key { root, address: to });
    let unchanged = || match expected {
        Some(expected) => call.user_load(from).map(|now| now == expected).ok_or(()),
        None => Ok(true),
    };
    match call.cpu.requeue(keys, (wake, take), Waker::Thread, unchanged) {
        Ok(done) => CallEnd::Done(done.into()),
        Err(Refusal::Changed) => CallEnd::Done(AGAIN),
        Err(Refusal::Failed(())) => CallEnd::NOT_SERVED,
    }
}

impl<H: Host> Cpu<H> {
    /// Wakes and moves what the host wants woken and moved.
    pub(crate) fn wake_for_host(&self) {
        self.host.answer_wake(|request| {
            let key = Key { root: request.root, address: request.address };
            if request.moved == 0 {
                return self.wake(key, request.bitset, request.count, Waker::Host);
            }
            let keys = (key, Key { root: request.root, address: request.to });
            // The host has compared.
            let unchanged = || Ok::<_, ()>(true);
            self.requeue(keys, (request.count, request.moved), Waker::Host, unchanged).unwrap_or(0)
        });
    }

    /// Wakes and moves threads. Returns how many in all, as Linux counts.
    pub(super) fn requeue<E>(
        &self,
        keys: (Key, Key),
        most: (u32, u32),
        waker: Waker,
        unchanged: impl FnOnce() -> Result<bool, E>,
    ) -> Result<u32, Refusal<E>> {
        let mut bell = Bell { waker, home: None };
        let done = self.common().futexes.requeue(keys, most, unchanged, |thread| bell.deliver(self, thread));
        bell.ring(self);
        done.map(|(woken, moved)| woken + moved)
    }

    /// Wakes threads, and returns how many.
    pub(super) fn wake(&self, key: Key, bitset: u32, count: u32, waker: Waker) -> u32 {
        let mut bell = Bell { waker, home: None };
        let woken = self.common().futexes.wake(key, bitset, count, |thread| bell.deliver(self, thread));
        bell.ring(self);
        woken
    }
}

/// The waker.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Waker {
    /// The thread that runs on this CPU.
    Thread,
    Host,
}

/// A CPU that must still be told of threads that were woken. Mostly there is one, and it is told when the bucket's
/// lock is free, which its thread may want at once.
struct Bell {
    waker: Waker,
    home: Option<u32>,
}

impl Bell {
    /// The thread's wait has ended; its CPU must learn it. Under the bucket's lock.
    fn deliver<H: Host>(&mut self, cpu: &Cpu<H>, number: u32) {
        let thread = cpu.present(number);
        let home = thread.home();
        let Some(list) = cpu.common().woken.get(home as usize) else {
            cpu.host.die(format_args!("thread {number}: its CPU is number {home}"));
        };
        // A thread that wakes another of its own CPU, which may have no other, will mostly wait for it next.
        let beside = self.waker == Waker::Thread && home == cpu.host.processor().index();
        let then = if beside && thread.permits().has(Permits::STAYS) { Then::Here } else { Then::IfFree };
        cpu.change(number, &thread, Event::Wake(then));
        list.push(&cpu.common().next_woken, number);
        if self.home != Some(home) {
            self.ring(cpu);
            self.home = Some(home);
        }
    }

    fn ring<H: Host>(&mut self, cpu: &Cpu<H>) {
        if let Some(home) = self.home.take() {
            cpu.host.processor().call_for_woken(home, request::WOKEN);
        }
    }
}
