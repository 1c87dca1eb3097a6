// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rest of a call whose work depends on what the program has: what is done and what is left to do.
//! `memory/portions.rs` says why, and does it.

use tacet_logic::frames::Policy;
use tacet_logic::paging::{Attributes, PIECE_PAGES, Protection, Span};

/// Entries that a portion changes: about 100 µs. More than what is left of any range whose addresses are withdrawn: at
/// most 512 entries of each smaller size at both edges, and 510 pieces.
pub const PORTION: u32 = 4096;
/// Pages that are zeroed or copied until the CPU looks at what waits for it: the same. A page of 1 GiB is moved at once.
pub const ZEROED: u32 = 512;

/// The rest of a call.
#[derive(Clone, Copy, Debug)]
pub struct Long {
    pub span: Span,
    /// All before this page is done.
    pub at: u32,
    pub kind: Kind,
    /// Of the call, as far as it is known.
    pub result: u64,
    /// Some pages are pending; of [`Kind::Same`], some may be of another mapping.
    pub staged: bool,
}

/// What is to be done with each page.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// It gets a frame; later that is zeroed.
    Stage(Short),
    /// Its frame is zeroed.
    Zero,
    /// It is taken away, but not its address. Then the call begins again, and is short.
    Withdraw,
    /// It is taken away for a new one with these attributes, as others see it at once. Then that is staged, if it is
    /// eager.
    Replace(Attributes),
    /// The same; then its address too, and the call has failed.
    Undo(Failure),
    /// All must be like this, as one mapping of the host's is; if not, the call is the host's, or has this error. Then the
    /// call begins again. Nothing is changed.
    Same(Attributes, Option<u64>),
    /// It is divided, because it is to be code.
    Divide(Protection),
    /// The host must not map it. Nothing is changed yet.
    Check(Change),
    Change(Change),
}

/// How a call ends if there are too few frames for what it is to stage.
#[derive(Clone, Copy, Debug)]
pub enum Short {
    /// Pages without one get theirs at the first touch, if there is one then.
    Bears,
    /// It is the host's, and so is the range.
    Beyond,
    Undo(Failure),
}

/// How a call fails whose mapping is undone.
#[derive(Clone, Copy, Debug)]
pub enum Failure {
    /// It is the host's.
    Elsewhere,
    /// The program's break is what it was.
    Break(u64),
}

#[derive(Clone, Copy, Debug)]
pub enum Change {
    Discard,
    Protect(Protection),
    Advise(Advice),
    /// Moves it to where this policy wants it. If the call is strict, a page that could not be moved is an error.
    Bind(Policy, bool),
    /// Gives it a frame, if this access is allowed.
    Populate(Protection),
}

/// What madvise(2) changes.
#[derive(Clone, Copy, Debug)]
pub enum Advice {
    /// Nothing that matters here.
    Nothing,
    /// Whether the page may be a large one.
    Small(bool),
    /// Whether the page is left out of core files.
    Undumped(bool),
}

impl Advice {
    pub fn apply(self, old: Attributes) -> Attributes {
        match self {
            Self::Nothing => old,
            Self::Small(small) => Attributes { small, ..old },
            Self::Undumped(undumped) => Attributes { undumped, ..old },
        }
    }
}

impl Long {
    /// The call's result, if only zeroing is left: the first touch of each page can do that.
    pub fn result_without_rest(&self) -> Option<u64> {
        matches!(self.kind, Kind::Zero).then_some(self.result)
    }

    /// Nothing is left but to begin the call again.
    pub fn again() -> Self {
        let at = Span::ALL.end();
        Self { span: Span::ALL, at, kind: Kind::Withdraw, result: 0, staged: false }
    }

    /// A call that waits for a device.
    pub fn of_device() -> Self {
        Self::again()
    }

    /// No page is left.
    pub fn is_done(&self) -> bool {
        self.at >= self.span.end()
    }

    /// What is left in one piece.
    pub fn next(&self) -> Option<Span> {
        let end = self.span.end().min((self.at / PIECE_PAGES + 1) * PIECE_PAGES);
        Span::new(self.at, end.checked_sub(self.at)?)
    }

    /// No more pages, and the call has this result.
    pub fn ends(&mut self, result: u64) {
        (self.at, self.result) = (self.span.end(), result);
    }
}
