// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What Linux asks about ranges and frames (`enum tacet_ask`). The other end is `linux/border/ask.c`.

use crate::page::{Page, field};
use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use tacet_abi::{TACET_ASK_CLEAR, TACET_ASK_COPY, TACET_ASK_FREE, TACET_ASK_MAP, TACET_ASK_OPEN, TACET_ASK_TOUCH};
use tacet_core::memory::{Question, Source};
use tacet_logic::frames::Policy;

impl Page {
    /// Lets `work` answer Linux's question, if there is one that has no answer yet.
    pub fn answer_question(&self, work: impl FnOnce(Question) -> i32) {
        // Pairs with Linux's release: what it asks is written.
        let ordinal = field!(self, AtomicU32, ask_requested).load(Ordering::Acquire);
        if ordinal == field!(self, AtomicU32, ask_answered).load(Ordering::Relaxed) {
            return;
        }
        // SAFETY: mapped; Linux writes it only after the answer.
        let arguments = unsafe { (&raw const (*self.at.as_ptr()).ask_arguments).read_volatile() };
        let kind = field!(self, AtomicU32, ask_kind).load(Ordering::Relaxed);
        let result = work(decode(kind, arguments).unwrap_or(Question::Unknown));
        field!(self, AtomicI32, ask_result).store(result, Ordering::Relaxed);
        // Pairs with Linux's acquire: the answer is written.
        field!(self, AtomicU32, ask_answered).store(ordinal, Ordering::Release);
    }
}

/// `None`: an argument is out of range.
fn decode(kind: u32, [first, second, third, fourth]: [u64; 4]) -> Option<Question> {
    let range = || u32::try_from(first).ok();
    // The last two arguments say where memory comes from, and the lowest word of the first of them is the kind's.
    let from =
        Source { policy: Policy { mode: (third >> 32) as u32, nodes: fourth as u32 }, allowed: (fourth >> 32) as u32 };
    Some(match kind {
        TACET_ASK_OPEN => Question::Open { range: range()? },
        TACET_ASK_TOUCH => {
            Question::Touch { range: range()?, page: second.try_into().ok()?, write: third as u32 != 0, from }
        }
        TACET_ASK_COPY => Question::Copy { from: range()?, to: second.try_into().ok()? },
        TACET_ASK_CLEAR => Question::Clear { range: range()? },
        TACET_ASK_FREE => Question::Free { frame: first },
        TACET_ASK_MAP => Question::Map { range: range()?, first: second as u32, pages: (second >> 32) as u32, from },
        _ => return None,
    })
}
