// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A CPU's host: the node, seen from one CPU. The floors above work with it; `host.rs` gives it to the core.

use super::node::Node;
use super::process::Process;
use super::thread::ThreadState;
use super::user_memory::UserMemory;
use crate::link::exchange::Exchange;
use crate::machine::{Context, Contexts, Cpu, Locked, Ram, die, take_corrected};
use core::cell::RefCell;
use core::sync::atomic::Ordering;
use tacet_arch::Processor;
use tacet_core::QUEUE;
use tacet_logic::futex::Key;
use tacet_logic::run_queue::RunQueue;
use tacet_logic::static_map::Part;

/// The node, seen from one CPU.
pub struct StaticHost {
    pub cpu: Cpu,
    pub node: &'static Node,
    pub ram: Ram,
    pub contexts: Contexts,
    /// Threads that have ended, until those that wait for them are woken (`threads/exit.rs`).
    pub ended: RefCell<RunQueue<QUEUE>>,
}

/// The thread that a call or an event is about, with everything that it may need.
pub struct Subject<'a> {
    pub number: u32,
    pub thread: &'a ThreadState,
    pub process: &'a Process,
    pub memory: UserMemory<'a>,
}

impl StaticHost {
    pub fn new(cpu: Cpu, node: &'static Node) -> Self {
        let Some(ram) = node.ram.with(|ram| *ram) else {
            die(format_args!("CPU {}: started before its memory was known", cpu.index()));
        };
        Self { cpu, node, ram, contexts: node.contexts, ended: RefCell::new(RunQueue::new()) }
    }

    /// Counts the errors that this CPU's hardware has corrected. Called when no program runs: nothing interrupts for them.
    pub fn count_corrected(&self) {
        self.node.corrected.fetch_add(take_corrected(), Ordering::Relaxed);
    }

    /// A thread that has this number.
    pub fn subject(&self, number: u32) -> Subject<'static> {
        let node = self.node;
        let found = node.thread(number).and_then(|thread| Some((thread, node.process(thread.process())?)));
        let Some((thread, process)) = found else {
            die(format_args!("thread {number}: there is no such thread"));
        };
        Subject { number, thread, process, memory: UserMemory { process, ram: self.ram } }
    }

    /// This CPU's exchange.
    pub fn exchange(&self) -> &'static Locked<Exchange> {
        self.node.link.of_cpu(self.cpu.index())
    }

    /// The registers of a thread that this CPU has.
    pub fn context(&self, number: u32) -> Context<'_> {
        match self.contexts.get(number, &self.cpu) {
            Some(context) => context,
            None => die(format_args!("thread {number}: its registers are not this CPU's")),
        }
    }

    /// A thread of the caller's process; 0: the caller.
    pub fn thread_with_id(&self, subject: &Subject<'_>, id: i32) -> Option<(u32, &'static ThreadState)> {
        let own = subject.thread.id();
        let id = if id == 0 { own } else { id };
        let node = self.node;
        node.threads_of(subject.thread.process()).find(|(_, thread)| thread.id() == id)
    }

    /// The key of a futex: memory that the node's processes share is the same for all.
    pub fn futex_key(&self, thread: &ThreadState, address: u64) -> Key {
        let process = thread.process();
        let shared = self.node.map.with(|map| {
            let shared = map.segments(process).find(|segment| segment.part == Part::Shared)?;
            shared.physical(address, size_of::<u32>() as u64)
        });
        match shared {
            Some(physical) => Key { root: 0, address: physical },
            None => Key { root: thread.root(), address },
        }
    }
}
