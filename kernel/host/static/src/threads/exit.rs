// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The end of threads, and of processes with their last thread.
//!
//! A thread that ends is out of the co-kernel already. Its CPU then wakes those that wait for it (`wake_for_ended`, which
//! the co-kernel calls for its own doorbell), tells the thread's proxy, and gives the number away. The CPU on which the
//! last thread of a process ends tells the process's proxy; the last process of the node lets all CPUs stop serving.

use crate::base::process::End;
use crate::base::thread::wanted;
use crate::base::{StaticHost, Subject};
use core::sync::atomic::Ordering;
use tacet_arch::Processor;
use tacet_core::{WakeRequest, request};
use tacet_logic::futex::Key;
use tacet_logic::run_queue::RunQueue;
use tacet_wire::calls::number;

/// include/uapi/linux/futex.h
const WAITERS: u32 = 0x8000_0000;
const OWNER_DIED: u32 = 0x4000_0000;
const OWNER: u32 = 0x3fff_ffff;
/// As Linux: a list may be a circle.
const LONGEST_LIST: u32 = 2048;

impl StaticHost {
    /// Records that the thread executes nothing any more. The rest follows when the co-kernel looks at its doorbell.
    pub fn end_thread(&self, subject: &Subject<'_>) {
        // A CPU has at most as many threads as the queue has room for.
        let _ = self.ended.borrow_mut().push(subject.number);
        self.cpu.call(self.cpu.index(), request::WAKE);
    }

    /// Wakes those that wait for threads that have ended, and gives the threads' numbers away.
    pub fn wake_for_ended(&self, mut wake: impl FnMut(WakeRequest) -> u32) {
        loop {
            let next = self.ended.try_borrow_mut().ok().and_then(|mut ended| RunQueue::pop(&mut ended));
            let Some(number) = next else { return };
            let subject = self.subject(number);
            // Before anybody learns of the end: a thread that then makes another one finds the CPU free.
            self.unsettle(subject.process, subject.thread.home());
            self.let_go_of_futexes(&subject, &mut wake);
            self.bury(&subject);
        }
    }

    /// The thread's robust futexes say that their owner died, however it died: other processes may share them. The word
    /// that its exit clears is cleared, for those threads of its process that go on.
    fn let_go_of_futexes(&self, subject: &Subject<'_>, wake: &mut impl FnMut(WakeRequest) -> u32) {
        let mut wake_one = |address: u64| {
            // Those that wait may be of another process.
            let Key { root, address } = self.futex_key(subject.thread, address);
            wake(WakeRequest { root, address, bitset: u32::MAX, count: 1, moved: 0, to: 0 });
        };
        let list = subject.thread.robust_list.load(Ordering::Relaxed);
        if list != 0 {
            self.walk_robust_list(subject, list, &mut wake_one);
        }
        let clear = subject.thread.clear_at_end.load(Ordering::Relaxed);
        if clear != 0 && subject.process.end().is_none() && subject.memory.write_u32(clear, 0).is_some() {
            wake_one(clear);
        }
    }

    /// struct robust_list_head: the first entry, the distance from an entry to its futex, and an entry in progress. `None`:
    /// the program's memory is not as it should be.
    fn walk_robust_list(&self, subject: &Subject<'_>, list: u64, wake_one: &mut impl FnMut(u64)) -> Option<()> {
        let memory = &subject.memory;
        let [first, distance, pending] = [0, 8, 16].map(|offset| memory.read_u64(list.wrapping_add(offset)));
        let (first, distance, pending) = (first?, distance?, pending? & !1);
        let mut entry = first & !1;
        for _ in 0..LONGEST_LIST {
            if entry == list {
                break;
            }
            let next = memory.read_u64(entry)? & !1;
            if entry != pending {
                self.abandon_futex(subject, entry.wrapping_add(distance), false, wake_one)?;
            }
            entry = next;
        }
        if pending != 0 {
            self.abandon_futex(subject, pending.wrapping_add(distance), true, wake_one)?;
        }
        Some(())
    }

    /// `pending`: the thread was about to take or to release it.
    fn abandon_futex(
        &self,
        subject: &Subject<'_>,
        address: u64,
        pending: bool,
        wake_one: &mut impl FnMut(u64),
    ) -> Option<()> {
        let (physical, _, rights) = subject.process.find(address).filter(|_| address.is_multiple_of(4))?;
        if !rights.write {
            return None;
        }
        let mut word = self.ram.load(physical)?;
        loop {
            if pending && word & OWNER == 0 {
                // Released, and nobody was woken yet.
                wake_one(address);
                return Some(());
            }
            if word & OWNER != subject.thread.id() as u32 {
                return Some(());
            }
            match self.ram.compare_exchange(physical, word, word & WAITERS | OWNER_DIED)? {
                Ok(_) => break,
                Err(other) => word = other,
            }
        }
        if word & WAITERS != 0 {
            wake_one(address);
        }
        Some(())
    }

    /// The thread's number is nobody's from here on.
    fn bury(&self, subject: &Subject<'_>) {
        let Subject { number, thread, process, .. } = *subject;
        let cycles = thread.user_cycles.load(Ordering::Relaxed);
        process.ended_cycles.fetch_add(cycles, Ordering::Relaxed);
        let last = process.threads.fetch_sub(1, Ordering::AcqRel) == 1;
        if last {
            self.bury_process(subject);
        } else if process.end().is_none() {
            if thread.wanted.load(Ordering::Acquire) & wanted::SIGNAL != 0 {
                self.pass_signals_on(subject);
            }
            // Its proxy thread ends. Nobody needs the result.
            let _ = self.ship_call(subject, number::EXIT, &[0; 6]);
        }
        self.contexts.release(number, &self.cpu);
        process.forget_leader(number, thread);
        thread.free();
        if last && self.node.living.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.stop_all();
        }
    }

    /// The process's last thread has ended.
    fn bury_process(&self, subject: &Subject<'_>) {
        // Threads that all called exit(2) leave a process that ends well.
        subject.process.begin_end(End::Exit(0));
        if subject.process.orphaned.load(Ordering::Relaxed) {
            return;
        }
        // By a proxy thread of its own: the thread's may be in a call that was given up.
        let serial = subject.process.next_serial.fetch_add(1, Ordering::AcqRel);
        subject.thread.serial.store(serial, Ordering::Relaxed);
        subject.thread.sequence.store(0, Ordering::Relaxed);
        let (status, signal) = subject.process.end().map_or((0, 0), End::arguments);
        // The proxy ends before it answers this message; its launcher answers.
        let _ = self.ship_call(subject, number::EXIT_GROUP, &[status, signal, 0, 0, 0, 0]);
    }

    /// The job has no process here any more: no CPU serves.
    fn stop_all(&self) {
        for index in 0..self.node.cpus.len() as u32 {
            self.cpu.call(index, request::HALT);
        }
    }
}
