// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A proxy thread: performs the calls of one compute thread, one after the other.
//!
//! It may block for as long as the call does. Only the signal `KICK` reaches it there.

use std::sync::Arc;

use nix::sys::signal::SigSet;
use tacet_shipping::errno::Errno;

use super::perform::{Outcome, perform, refusal};
use super::service::Service;
use super::signals::KICK;
use super::thread::Thread;

/// A proxy thread's large buffers are not on its stack.
pub const STACK_BYTES: usize = 256 << 10;

pub fn work(service: &Arc<Service>, thread: &Arc<Thread>) {
    let mut kick = SigSet::empty();
    kick.add(KICK);
    let _ = kick.thread_unblock();
    thread.work_here();
    loop {
        let mut call = thread.next_call();
        let message = call.message.get(..call.bytes).unwrap_or_default();
        match thread.while_in_call(|| perform(message, &mut call.reply, &service.pending)) {
            Outcome::Reply(bytes) => {
                thread.reply(call, bytes);
                service.replied(thread);
            }
            Outcome::ThreadEnds(bytes) => {
                thread.last_reply(call, bytes);
                service.thread_ended(thread);
                service.replied(thread);
                return;
            }
            Outcome::ProcessEnds(bytes, end) => {
                thread.last_reply(call, bytes);
                service.end(thread, end);
                return;
            }
        }
    }
}

/// Linux gives the proxy no more threads: the call fails, and the thread's next call tries again.
pub fn refuse(service: &Arc<Service>, thread: &Arc<Thread>) {
    let mut call = thread.next_call();
    let bytes = refusal(Errno::EAGAIN, &mut call.reply);
    thread.has_no_worker();
    thread.reply(call, bytes);
    service.replied(thread);
}
