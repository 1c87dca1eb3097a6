// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls of the running thread that the core does not serve: answered here, left to `threads/proceed.rs` if they need the
//! thread's registers, shipped otherwise. A shipped call keeps its CPU: no other thread runs meanwhile, unless the job asks
//! for that.
//!
//! The dispatch is made from `abi/syscalls.tbl` (`build.rs`): a row that says `local` is the function of its name here.

mod limits;
mod memory;
mod moved;
mod own_files;
mod own_paths;
mod process;
mod reserved;
mod scheduling;
mod signals;
mod time;

use crate::base::{StaticHost, Subject};
use crate::machine::User;
use core::sync::atomic::Ordering;
use tacet_arch::UserState;
use tacet_core::Answer;
use tacet_wire::calls::{Disposition, disposition, number};
use tacet_wire::errno::Errno;

include!(concat!(env!("OUT_DIR"), "/dispatch.rs"));

/// The node's answer to a call, if it has one.
enum Local {
    Result(Result<u64, Errno>),
    /// It is not a plain result.
    Answer(Answer),
    /// The proxy's, or nobody's.
    Ship,
}

impl From<Result<u64, Errno>> for Local {
    fn from(result: Result<u64, Errno>) -> Self {
        Self::Result(result)
    }
}

impl From<Option<Result<u64, Errno>>> for Local {
    fn from(result: Option<Result<u64, Errno>>) -> Self {
        result.map_or(Self::Ship, Self::Result)
    }
}

impl From<Answer> for Local {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}

/// The arguments with those that Linux takes as int sign-extended from their lower half, whatever the upper one is.
fn with_ints(arguments: &[u64; 6], places: &[usize]) -> [u64; 6] {
    let mut narrow = *arguments;
    for place in places {
        if let Some(argument) = narrow.get_mut(*place) {
            *argument = i64::from(*argument as i32) as u64;
        }
    }
    narrow
}

impl StaticHost {
    pub fn answer_call(&self, subject: &Subject<'_>, user: &User<'_>) -> Answer {
        let (number, arguments) = (user.call_number(), user.arguments());
        subject.thread.call.store(number, Ordering::Relaxed);
        let result = match self.answer_local(subject, number, &arguments) {
            Local::Answer(answer) => return answer,
            Local::Result(result) => result.unwrap_or_else(|error| error.result() as u64),
            Local::Ship if self.yields() && matches!(disposition(number), Disposition::Ship(_)) => {
                return Answer::Escape;
            }
            Local::Ship => self.ship_interruptibly(subject, number, &arguments) as u64,
        };
        // A thread that is wanted leaves the co-kernel with its result.
        if subject.thread.is_wanted() { Answer::Yield(result) } else { Answer::Done(result) }
    }
}
