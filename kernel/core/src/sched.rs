// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The loop of a core: tick-less, cooperative, round-robin.
//!
//! A thread keeps the core until it needs Linux, waits, yields or is called back.
//! One thread per core is the normal case and costs nothing here.

use crate::waits::{self, Waits};
use crate::{attention, delegate, memory, syscall};
use core::cell::RefCell;
use tacet_abi::{TACET_LOG_INFO, TACET_RING_ENTRIES};
use tacet_logic::run_queue::RunQueue;
use tacet_logic::text::Text;
use tacet_metal::{Core, Exit, Frames};

/// As many as the outbox can take back at once.
pub type Queue = RunQueue<{ TACET_RING_ENTRIES as usize }>;

/// Serves the core for ever.
pub fn run(core: &mut Core) -> ! {
    let mut queue = Queue::new();
    let mut frames = RefCell::new(Frames::new(core));
    let mut waits = RefCell::new(Waits::new());
    let hello = Text::<64>::format(format_args!("cpu {} is up", core.number()));
    core.log(TACET_LOG_INFO, hello.as_bytes());
    loop {
        attention::serve(core, &mut queue, frames.get_mut().as_mut(), waits.get_mut(), false);
        waits::end_over(core, &mut queue, waits.get_mut());
        match queue.pop() {
            None => {
                let ticks = waits::ticks_left(core, waits.get_mut());
                core.idle(|| syscall::futex::anybody_woken(core), ticks);
            }
            Some(thread) => {
                waits::give_all(core, waits.get_mut());
                run_thread(core, &mut queue, (&mut frames, &mut waits), thread);
            }
        }
    }
}

/// Runs `thread` until it leaves the core.
fn run_thread(
    core: &mut Core,
    queue: &mut Queue,
    (frames, waits): (&mut RefCell<Option<Frames>>, &mut RefCell<Waits>),
    thread: u32,
) {
    if core.load(thread).is_none() {
        tacet_metal::die(format_args!("context {thread}: queued but not posted"));
    }
    let mut repeats = 0;
    loop {
        let alone = queue.is_empty();
        match core.enter(thread, |core, context| syscall::serve(core, context, thread, alone, (&*frames, &*waits))) {
            Exit::Interrupt(vector) => core.foreign_interrupt(vector),
            Exit::Blocked => return,
            Exit::Yielded => {
                if queue.push(thread).is_err() {
                    tacet_metal::die(format_args!("context {thread}: yields, and the queue is full"));
                }
                return;
            }
            Exit::Attention => {
                attention::serve(core, queue, frames.get_mut().as_mut(), waits.get_mut(), true);
                if delegate::recall(core, thread) {
                    return;
                }
            }
            Exit::PageFault(address) if touched(core, frames, thread, address, &mut repeats) => {}
            exit => return delegate::forward(core, thread, exit),
        }
    }
}

/// Whether a page fault was one of the process's own memory, and is resolved.
fn touched(core: &Core, frames: &mut RefCell<Option<Frames>>, thread: u32, address: u64, repeats: &mut u32) -> bool {
    core.context(thread).is_some_and(|context| {
        memory::touch(core, frames.get_mut().as_mut(), &context, address, repeats) == memory::Fate::Again
    })
}
