// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the doorbell asked for.
//!
//! Called with no thread in user mode; the one that is loaded, if any, is not
//! in the queue and is not touched. A space that Linux wants dropped runs no
//! thread any more: if one is loaded, the space was left already.

use crate::memory;
use crate::sched::Queue;
use crate::syscall::futex;
use crate::waits::Waits;
use tacet_abi::{
    TACET_ATTENTION_ASK, TACET_ATTENTION_DROP, TACET_ATTENTION_HALT, TACET_ATTENTION_INBOX, TACET_ATTENTION_RECALL,
    TACET_ATTENTION_TEST, TACET_ATTENTION_WAKE, TACET_EVENT_RECALLED, TACET_EVENT_WOKEN, TACET_TEST_ENTRY,
    TACET_TEST_FAULT, TACET_TEST_FULL, TACET_TEST_HANG, TACET_TEST_OUTBOX, TACET_TEST_PANIC,
};
use tacet_metal::{Core, Frames};

/// Serves every request that is pending.
pub fn serve(core: &mut Core, queue: &mut Queue, frames: Option<&mut Frames>, waits: &mut Waits, loaded: bool) {
    let requests = core.take_attention();
    if requests & TACET_ATTENTION_INBOX != 0 {
        receive(core, queue);
    }
    if requests & TACET_ATTENTION_WAKE != 0 {
        futex::wake_for_linux(core);
    }
    if requests & TACET_ATTENTION_ASK != 0 {
        memory::answer(core, frames);
    }
    // whatever rang: an idle core that looks is not rung for it
    resume_woken(core, queue, waits, loaded);
    // a recall may have been asked for before its context came
    if requests & (TACET_ATTENTION_RECALL | TACET_ATTENTION_INBOX) != 0 {
        recall_queued(core, queue);
    }
    if requests & TACET_ATTENTION_RECALL != 0 {
        futex::return_recalled(core, waits);
    }
    if requests & TACET_ATTENTION_TEST != 0 {
        test(core);
    }
    if requests & TACET_ATTENTION_HALT != 0 {
        tacet_metal::halt(core);
    }
    if requests & TACET_ATTENTION_DROP != 0 && !loaded {
        core.drop_space();
    }
}

fn receive(core: &Core, queue: &mut Queue) {
    while let Some(thread) = core.receive() {
        if core.context(thread).is_none() {
            tacet_metal::die(format_args!("inbox: context {thread} is out of range or not posted"));
        }
        if queue.push(thread).is_err() {
            tacet_metal::die(format_args!("inbox: more threads than contexts"));
        }
    }
}

/// Threads whose waits have ended go on here if the core is free, or if they have no other and
/// were woken from it; else Linux looks for a better place, or makes this one.
fn resume_woken(core: &mut Core, queue: &mut Queue, waits: &mut Waits, loaded: bool) {
    futex::take_woken(core, waits, |core, thread, here| {
        let free = here || !loaded && queue.is_empty();
        if !free || queue.push(thread).is_err() {
            core.give_back(thread, TACET_EVENT_WOKEN);
        }
    });
}

fn recall_queued(core: &mut Core, queue: &mut Queue) {
    while let Some(thread) = queue.take(|t| core.context(t).is_some_and(|context| context.recalled())) {
        core.give_back(thread, TACET_EVENT_RECALLED);
    }
}

fn test(core: &Core) {
    match core.test_request() {
        TACET_TEST_PANIC => tacet_metal::die(format_args!("test: a failed check, on request")),
        TACET_TEST_FAULT => core.wild_read(),
        TACET_TEST_HANG => loop {
            core::hint::spin_loop();
        },
        TACET_TEST_OUTBOX => core.corrupt_outbox(true),
        TACET_TEST_ENTRY => core.corrupt_outbox(false),
        TACET_TEST_FULL => core.fill_outbox(),
        _ => {}
    }
}
