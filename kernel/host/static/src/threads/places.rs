// SPDX-License-Identifier: Apache-2.0 OR MIT
//! On which CPU a thread lives. A process has CPUs of its own; its threads live there, each on the one with the fewest.
//!
//! Beyond that a thread may be sent to a CPU of another process by its affinity (sched_setaffinity(2)): each CPU takes
//! threads of its own process and of one other, the first that comes, until the last of these has ended or left. So a
//! process can have all CPUs of the node for a while in which the others wait.

use crate::base::process::Process;
use crate::base::thread::{ThreadState, wanted};
use crate::base::{StaticHost, Subject};
use core::sync::atomic::{Ordering, fence};
use tacet_arch::Processor;
use tacet_core::{CPUS, QUEUE};
use tacet_wire::errno::Errno;

/// Bits of CPUs.
pub type Mask = [u64; CPUS / 64];

/// The bits of these CPUs.
pub fn mask_of(cpus: core::ops::Range<u32>) -> Mask {
    let mut mask = [0; CPUS / 64];
    for cpu in cpus {
        if let Some(word) = mask.get_mut(cpu as usize / 64) {
            *word |= 1 << (cpu % 64);
        }
    }
    mask
}

pub fn has(mask: &Mask, cpu: u32) -> bool {
    mask.get(cpu as usize / 64).is_some_and(|word| word >> (cpu % 64) & 1 != 0)
}

impl StaticHost {
    /// The CPUs of the node that a process may have threads on.
    pub fn open_cpus(&self, index: usize, process: &Process) -> Mask {
        let mut mask = mask_of(process.cpus());
        for cpu in self.node.program_cpus().filter(|&cpu| self.is_open(index, process, cpu)) {
            if let Some(word) = mask.get_mut(cpu as usize / 64) {
                *word |= 1 << (cpu % 64);
            }
        }
        mask
    }

    fn is_open(&self, index: usize, process: &Process, cpu: u32) -> bool {
        let guest = self.node.cpu(cpu).map(|state| state.guest.with(|guest| guest.0));
        process.cpus().contains(&cpu) || matches!(guest, Some(guest) if guest == 0 || guest == index as u32 + 1)
    }

    /// A thread of the process lives on the CPU from here on. False: it cannot.
    pub fn settle(&self, index: usize, process: &Process, cpu: u32) -> bool {
        let Some(state) = self.node.cpu(cpu) else { return false };
        let one_more = |threads: u32| ((threads as usize) < QUEUE).then_some(threads + 1);
        // Another CPU may have given it its last thread since somebody looked.
        if state.threads.fetch_update(Ordering::AcqRel, Ordering::Relaxed, one_more).is_err() {
            return false;
        }
        let own = process.cpus().contains(&cpu);
        let welcome = own
            || state.guest.with(|guest| {
                let free = guest.0 == 0 || guest.0 == index as u32 + 1;
                if free {
                    *guest = (index as u32 + 1, guest.1 + 1);
                }
                free
            });
        if !welcome {
            state.threads.fetch_sub(1, Ordering::AcqRel);
        }
        welcome
    }

    /// One thread fewer of the process lives on the CPU from here on.
    pub fn unsettle(&self, process: &Process, cpu: u32) {
        let Some(state) = self.node.cpu(cpu) else { return };
        state.threads.fetch_sub(1, Ordering::AcqRel);
        if !process.cpus().contains(&cpu) {
            state.guest.with(|guest| {
                let left = guest.1.saturating_sub(1);
                *guest = (if left == 0 { 0 } else { guest.0 }, left);
            });
        }
    }

    /// Of the CPUs in the mask, one with the fewest threads, if possible not this one, whose thread goes on. `None`: all are
    /// full, or belong to others.
    pub fn emptiest_cpu(&self, index: usize, process: &Process, mask: &Mask) -> Option<u32> {
        let open = |cpu: &u32| has(mask, *cpu) && self.is_open(index, process, *cpu);
        let here = self.cpu.index();
        let load = |cpu: u32| Some((self.node.cpu(cpu)?.threads.load(Ordering::Relaxed), cpu == here, cpu));
        let (threads, _, cpu) = self.node.program_cpus().filter(open).filter_map(load).min()?;
        ((threads as usize) < QUEUE).then_some(cpu)
    }

    /// A thread that has left the co-kernel moves to where its mask allows it to be. If no CPU takes it, it stays.
    ///
    /// Another thread that sets the mask meanwhile does not want this one if the mask has its old home. So the home is
    /// changed first, then the mask is looked at again (`set_affinity` does both the other way round).
    pub fn move_if_needed(&self, subject: &Subject<'_>) {
        let (thread, index): (&ThreadState, usize) = (subject.thread, subject.thread.process());
        loop {
            let mask = thread.affinity.with(|mask| *mask);
            let home = thread.home();
            if has(&mask, home) {
                return;
            }
            match self.emptiest_cpu(index, subject.process, &mask) {
                Some(best) if self.settle(index, subject.process, best) => {
                    self.unsettle(subject.process, home);
                    thread.home.store(best, Ordering::SeqCst);
                }
                _ => return,
            }
        }
    }

    /// sched_setaffinity(2). A thread that is on none of the wanted CPUs moves before it goes on.
    pub fn set_affinity(&self, subject: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [id, bytes, address, ..] = *arguments;
        let (number, thread) = self.thread_with_id(subject, id as i32).ok_or(Errno::ESRCH)?;
        let mut mask = [[0; 8]; CPUS / 64];
        let bytes = (bytes as u32 as usize).min(size_of_val(&mask));
        let wanted = mask.as_flattened_mut().get_mut(..bytes).ok_or(Errno::EINVAL)?;
        subject.memory.read(address, wanted).ok_or(Errno::EFAULT)?;
        let mut mask = mask.map(u64::from_le_bytes);
        let open = self.open_cpus(subject.thread.process(), subject.process);
        mask.iter_mut().zip(open).for_each(|(word, open)| *word &= open);
        self.emptiest_cpu(subject.thread.process(), subject.process, &mask).ok_or(Errno::EINVAL)?;
        thread.affinity.with(|cpus| *cpus = mask);
        // Pairs with `move_if_needed`: either the home is read that the thread has now, or the thread reads this mask.
        fence(Ordering::SeqCst);
        if number != subject.number && !has(&mask, thread.home()) {
            self.node.want(number, wanted::MOVE, &self.cpu);
        }
        Ok(0)
    }

    /// Gives the thread's registers up if another CPU is to have them.
    pub fn hand_over(&self, subject: &Subject<'_>) {
        if subject.thread.home() != self.cpu.index() {
            self.contexts.release(subject.number, &self.cpu);
        }
        self.node.post(subject.number, &self.cpu);
    }
}
