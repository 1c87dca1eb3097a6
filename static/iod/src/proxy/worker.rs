// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A proxy thread: performs the calls of one compute thread, one after the other.
//!
//! It may block for as long as the call does. Only the signal `KICK` reaches it there.

use std::sync::Arc;

use nix::sys::signal::SigSet;
use tacet_wire::errno::Errno;

use super::perform::{Kept, Outcome, perform, refusal};
use super::service::Service;
use super::signals::KICK;
use super::thread::{Call, Thread};

/// A proxy thread's large buffers are not on its stack.
pub const STACK_BYTES: usize = 256 << 10;

pub fn work(service: &Arc<Service>, thread: &Arc<Thread>) {
    let mut kick = SigSet::empty();
    kick.add(KICK);
    let _ = kick.thread_unblock();
    thread.work_here();
    let mut kept = Kept::default();
    while serve(service, thread, thread.next_call(), &mut kept) {}
}

/// Performs a call and answers it. `false`: the thread has had its last one.
fn serve(service: &Arc<Service>, thread: &Arc<Thread>, mut call: Call, kept: &mut Kept) -> bool {
    let message = call.message.get(..call.bytes).unwrap_or_default();
    match thread.while_in_call(|| perform(message, &mut call.reply, kept, service, thread)) {
        Outcome::Reply(bytes) => {
            thread.reply(call, bytes);
            service.replied(thread);
            true
        }
        Outcome::ThreadEnds(bytes) => {
            thread.last_reply(call, bytes);
            service.thread_ended(thread);
            service.replied(thread);
            false
        }
        Outcome::ProcessEnds(bytes, end) => {
            thread.last_reply(call, bytes);
            service.end(thread, end);
            false
        }
    }
}

/// Linux gives the proxy no more threads: the call fails, and the thread's next call tries again. Only an end cannot fail:
/// it waits for nothing, so it is performed here. A process that ends has a thread of its own for that, and its status
/// would be lost.
pub fn serve_without_thread(service: &Arc<Service>, thread: &Arc<Thread>) {
    let mut call = thread.next_call();
    thread.has_no_worker();
    if tacet_wire::demarshal::Call::is_last(call.message.get(..call.bytes).unwrap_or_default()) {
        serve(service, thread, call, &mut Kept::default());
        return;
    }
    let bytes = refusal(Errno::EAGAIN, &mut call.reply);
    thread.reply(call, bytes);
    service.replied(thread);
}
