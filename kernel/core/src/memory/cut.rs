// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where a portion ends, and how the rest of a call is put off (`portions.rs`).

use super::range::{Refusal, Result, Work};
use crate::base::long::{Kind, Long, PORTION, ZEROED};
use crate::host::Host;
use tacet_logic::paging::{PageSize, Span};

impl<H: Host> Work<'_, H> {
    /// It is long: portions of this kind come when the locks are free. `result`: the call's, if it is known.
    pub fn later<T>(&self, span: Span, kind: Kind, result: u64) -> Result<T> {
        self.cpu.rest.set(Some(Long { span, at: span.first(), kind, result, staged: false }));
        Err(Refusal::Later)
    }

    /// A change of `span` is one portion.
    pub fn is_short(&self, span: Span) -> bool {
        span.pages() <= PORTION / 8 || self.space.is_portion(span, PORTION, self.steps())
    }

    /// Of a large page that is taken away.
    fn steps(&self) -> impl Fn(PageSize) -> u32 + use<H> {
        let looked_at = self.leaving.is_slow();
        move |size| if looked_at { size.pages() / 8 } else { 1 }
    }

    /// The first part of `span` that is one portion.
    pub fn part(&self, span: Span) -> Span {
        self.space.portion(span, PORTION, self.steps())
    }

    /// The same, if pages are copied.
    pub fn part_to_copy(&self, span: Span) -> Span {
        self.space.portion(span, ZEROED, PageSize::pages)
    }
}
