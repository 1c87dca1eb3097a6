// SPDX-License-Identifier: Apache-2.0 OR MIT
//! New threads (clone(2) as glibc's and musl's pthread_create call it). A new process is refused: a node's processes are
//! those of the job.
//!
//! A new thread gets the CPU of its process that has the fewest threads, and stays there. Called when the parent has left
//! the co-kernel, so that its registers are in memory.

use crate::base::thread::{ThreadState, wanted};
use crate::base::{StaticHost, Subject};
use core::sync::atomic::{Ordering, fence};
use tacet_wire::errno::Errno;

/// include/uapi/linux/sched.h
const VM: u64 = 0x100;
const FS: u64 = 0x200;
const FILES: u64 = 0x400;
const SIGHAND: u64 = 0x800;
const THREAD: u64 = 0x1_0000;
const SYSVSEM: u64 = 0x4_0000;
const SETTLS: u64 = 0x8_0000;
const PARENT_SETTID: u64 = 0x10_0000;
const CHILD_CLEARTID: u64 = 0x20_0000;
const DETACHED: u64 = 0x40_0000;
const CHILD_SETTID: u64 = 0x100_0000;
/// The flags of what every thread shares with its process.
const OF_A_THREAD: u64 = VM | FS | FILES | SIGHAND | THREAD;
const KNOWN: u64 = OF_A_THREAD | SYSVSEM | SETTLS | PARENT_SETTID | CHILD_CLEARTID | DETACHED | CHILD_SETTID;

impl StaticHost {
    /// The new thread's id.
    pub fn clone_thread(&self, parent: &Subject<'_>, arguments: &[u64; 6]) -> Result<u64, Errno> {
        let [flags, stack, parent_id_at, child_id_at, thread_base, _] = *arguments;
        if flags & THREAD == 0 {
            return Err(Errno::ENOSYS);
        }
        // A thread has no signal for its end.
        if flags & OF_A_THREAD != OF_A_THREAD || flags & !KNOWN != 0 || stack == 0 {
            return Err(Errno::EINVAL);
        }
        let (number, child) = self.take_thread().ok_or(Errno::EAGAIN)?;
        if !self.contexts.take(number, &self.cpu) {
            child.free();
            return Err(Errno::EAGAIN);
        }
        if self.found(parent, child).is_none() {
            self.contexts.release(number, &self.cpu);
            child.free();
            return Err(Errno::EAGAIN);
        }
        let id = child.id();
        let context = self.context(number);
        context.copy_from(&self.context(parent.number));
        let mut registers = context.registers();
        (registers.rax, registers.rsp) = (0, stack);
        let ready = context.set_registers(&registers)
            && (flags & SETTLS == 0 || context.set_fs_base(thread_base))
            && (flags & PARENT_SETTID == 0 || parent.memory.write_u32(parent_id_at, id as u32).is_some())
            && (flags & CHILD_SETTID == 0 || parent.memory.write_u32(child_id_at, id as u32).is_some());
        self.contexts.release(number, &self.cpu);
        if !ready {
            self.unfound(parent, child);
            return Err(Errno::EFAULT);
        }
        if flags & CHILD_CLEARTID != 0 {
            child.clear_at_end.store(child_id_at, Ordering::Relaxed);
        }
        // Pairs with `StaticHost::end_process`.
        fence(Ordering::SeqCst);
        if parent.process.end().is_some() {
            child.wanted.fetch_or(wanted::END, Ordering::AcqRel);
        }
        self.node.post(number, &self.cpu);
        Ok(id as u64)
    }

    /// A thread that nobody has.
    pub fn take_thread(&self) -> Option<(u32, &'static ThreadState)> {
        let take = |thread: &&'static ThreadState| {
            thread.taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let count = self.contexts.count() as usize;
        let node = self.node;
        let (number, thread) = (0..).zip(node.threads).take(count).find(|(_, thread)| take(thread))?;
        thread.clear();
        Some((number, thread))
    }

    /// Makes the child a thread of the parent's process, on the emptiest CPU that the parent may run on. `None`: all are
    /// full.
    fn found(&self, parent: &Subject<'_>, child: &ThreadState) -> Option<()> {
        let index = parent.thread.process();
        let mask = parent.thread.affinity.with(|mask| *mask);
        let home = self.emptiest_cpu(index, parent.process, &mask)?;
        if !self.settle(index, parent.process, home) {
            return None;
        }
        let serial = parent.process.next_serial.fetch_add(1, Ordering::AcqRel);
        let process_id = parent.thread.process_id.load(Ordering::Relaxed);
        child.serial.store(serial, Ordering::Relaxed);
        child.process_id.store(process_id, Ordering::Relaxed);
        child.id.store(id_of(serial, index, self.node.processes.len()), Ordering::Relaxed);
        child.root.store(parent.thread.root(), Ordering::Relaxed);
        child.home.store(home, Ordering::Relaxed);
        child.affinity.with(|own| *own = mask);
        let blocked = parent.thread.signals.with(|parent| parent.blocked());
        child.signals.with(|child| child.begin(blocked));
        let name = parent.thread.name.with(|name| *name);
        child.name.with(|own| *own = name);
        child.timer_slack_ns.store(parent.thread.timer_slack_ns.load(Ordering::Relaxed), Ordering::Relaxed);
        // Last: from here on signals of the process may choose it, by its mask.
        child.process.store(index as u32, Ordering::Release);
        parent.process.threads.fetch_add(1, Ordering::AcqRel);
        Some(())
    }

    fn unfound(&self, parent: &Subject<'_>, child: &ThreadState) {
        parent.process.threads.fetch_sub(1, Ordering::AcqRel);
        self.unsettle(parent.process, child.home());
        child.free();
    }
}

/// Linux gives processes numbers below this.
const FIRST_ID: u32 = 1 << 22;
/// A clock's number has room for so large a thread's (pthread_getcpuclockid(3)), and a futex too.
const IDS: u32 = (1 << 28) - FIRST_ID;

/// The id of a process's thread other than the first. No other thread of the node has it: the processes may share
/// mutexes, which know their owners by it.
fn id_of(serial: u32, process: usize, processes: usize) -> i32 {
    let number = serial.wrapping_mul(processes as u32).wrapping_add(process as u32);
    (FIRST_ID + number % IDS) as i32
}
