// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A core's attention: a word of bits that say why it is to look, and a bell that interrupts it.
//!
//! The asking side writes what the request is about, then [`request`]s, then rings. Linux does the same
//! (`tacet_attention`). The core [`take`]s all bits at once before it looks at what they are about. Before it runs a
//! program or sleeps it asks once more whether it [`is_wanted`], in code in which a bell that rings has the same effect
//! as a bit that is set (the entry code): so no request is older than the program's next instruction, or the sleep.

use crate::atomic::Atomic32;
use core::sync::atomic::Ordering;

/// Asks a core to look; the caller rings next. `bits` are about something that is written already.
#[inline]
pub fn request<A: Atomic32>(attention: &A, bits: u32) {
    attention.fetch_or(bits, Ordering::SeqCst);
}

/// This core was asked to look. After [`super::idle::announce`] this is the last look: those who ask read what was
/// announced when they have asked.
#[inline]
pub fn is_wanted<A: Atomic32>(attention: &A) -> bool {
    attention.load(Ordering::SeqCst) != 0
}

/// What the core is to look at: from now on it may be asked anew.
#[inline]
pub fn take<A: Atomic32>(attention: &A) -> u32 {
    // Acquires what was written before each request.
    attention.swap(0, Ordering::AcqRel)
}
