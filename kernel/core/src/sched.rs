// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The loop of a core: tick-less, cooperative, round-robin.
//!
//! A thread keeps the core until it needs Linux, waits, yields or is called back.
//! One thread per core is the normal case and costs nothing here.

use crate::{attention, delegate, syscall};
use tacet_abi::{TACET_LOG_INFO, TACET_RING_ENTRIES};
use tacet_logic::run_queue::RunQueue;
use tacet_logic::text::Text;
use tacet_metal::{Core, Exit};

/// As many as the outbox can take back at once.
pub type Queue = RunQueue<{ TACET_RING_ENTRIES as usize }>;

/// Serves the core for ever.
pub fn run(core: &mut Core) -> ! {
    let mut queue = Queue::new();
    let hello = Text::<64>::format(format_args!("cpu {} is up", core.number()));
    core.log(TACET_LOG_INFO, hello.as_bytes());
    loop {
        attention::serve(core, &mut queue, false);
        match queue.pop() {
            None => core.idle(|| syscall::futex::anybody_woken(core)),
            Some(thread) => run_thread(core, &mut queue, thread),
        }
    }
}

/// Runs `thread` until it leaves the core.
fn run_thread(core: &mut Core, queue: &mut Queue, thread: u32) {
    if core.load(thread).is_none() {
        tacet_metal::die(format_args!("context {thread}: queued but not posted"));
    }
    loop {
        let alone = queue.is_empty();
        match core.enter(thread, |core, context| syscall::serve(core, context, thread, alone)) {
            Exit::Interrupt(vector) => core.foreign_interrupt(vector),
            Exit::Blocked => return,
            Exit::Yielded => {
                if queue.push(thread).is_err() {
                    tacet_metal::die(format_args!("context {thread}: yields, and the queue is full"));
                }
                return;
            }
            Exit::Attention => {
                attention::serve(core, queue, true);
                if delegate::recall(core, thread) {
                    return;
                }
            }
            exit => return delegate::forward(core, thread, exit),
        }
    }
}
