// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What Linux asks about ranges and frames (`enum tacet_ask`). The other end is `linux/border/ask.c`.

use crate::page::{Page, field};
use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use tacet_abi::{
    TACET_ASK_CLEAR, TACET_ASK_COPY, TACET_ASK_DISCARD, TACET_ASK_DRAIN, TACET_ASK_FREE, TACET_ASK_GIVE,
    TACET_ASK_JOIN, TACET_ASK_LEAVE, TACET_ASK_MAP, TACET_ASK_OPEN, TACET_ASK_TAKE, TACET_ASK_TOUCH,
    TACET_SLOT_ANSWERED, TACET_SLOT_FREE, TACET_SLOT_OPEN, TACET_SLOT_TAKEN,
};
use tacet_core::memory::{Question, Source};
use tacet_logic::frames::Policy;
use tacet_logic::handshake::slot;

const _: () = assert!(slot::FREE == TACET_SLOT_FREE && slot::OPEN == TACET_SLOT_OPEN);
const _: () = assert!(slot::TAKEN == TACET_SLOT_TAKEN && slot::ANSWERED == TACET_SLOT_ANSWERED);

impl Page {
    /// Lets `work` answer Linux's question, if there is one.
    pub fn answer_question(&self, work: impl FnOnce(Question) -> i32) {
        let state = field!(self, AtomicU32, ask_state);
        if !slot::take(state) {
            return;
        }
        // SAFETY: mapped; the question is taken: Linux writes the next one after the answer.
        let arguments = unsafe { (&raw const (*self.at.as_ptr()).ask_arguments).read_volatile() };
        let kind = field!(self, AtomicU32, ask_kind).load(Ordering::Relaxed);
        let result = work(decode(kind, arguments).unwrap_or(Question::Unknown));
        field!(self, AtomicI32, ask_result).store(result, Ordering::Relaxed);
        slot::answer(state);
    }
}

/// `None`: an argument is out of range.
fn decode(kind: u32, [first, second, third, fourth]: [u64; 4]) -> Option<Question> {
    let range = || u32::try_from(first).ok();
    let page = |page: u64| u32::try_from(page).ok();
    // The last two arguments say where memory comes from, and the lowest word of the first of them is the kind's.
    let from =
        Source { policy: Policy { mode: (third >> 32) as u32, nodes: fourth as u32 }, allowed: (fourth >> 32) as u32 };
    Some(match kind {
        TACET_ASK_OPEN => Question::Open { range: range()? },
        TACET_ASK_TOUCH => Question::Touch { range: range()?, page: page(second)?, write: third as u32 != 0, from },
        TACET_ASK_COPY => Question::Copy { from: range()?, to: second.try_into().ok()?, at: page(third)? },
        TACET_ASK_CLEAR => Question::Clear { range: range()?, at: page(second)? },
        TACET_ASK_DISCARD => {
            let (first, pages) = (second as u32, (second >> 32) as u32);
            Question::Discard { range: range()?, first, pages, at: page(third)? }
        }
        TACET_ASK_FREE => Question::Free { frame: first },
        TACET_ASK_MAP => {
            let (first, pages) = (second as u32, (second >> 32) as u32);
            Question::Map { range: range()?, first, pages, at: third as u32, from }
        }
        TACET_ASK_JOIN => Question::Join {
            place: page(first)?,
            first: second,
            order: u8::try_from(third).ok()?,
            node: u8::try_from(fourth).ok()?,
        },
        TACET_ASK_LEAVE => Question::Leave { place: page(first)? },
        TACET_ASK_DRAIN => Question::Drain,
        TACET_ASK_GIVE => Question::Give { job: page(first)?, order: u8::try_from(second).ok()? },
        TACET_ASK_TAKE => Question::Take { job: page(first)? },
        _ => return None,
    })
}
