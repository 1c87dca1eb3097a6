// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program's wish for a signal: `struct sigaction` as the call passes it.

use super::number::{Default, UNMASKABLE, default_of};
use super::set::Set;

const DEFAULT: u64 = 0;
const IGNORE: u64 = 1;

/// A handler, or none.
#[derive(Clone, Copy, Debug, core::default::Default, PartialEq, Eq)]
pub struct Action {
    /// Its address; 0: the default action, 1: none.
    pub handler: u64,
    pub flags: u64,
    /// Where the handler returns to.
    pub restorer: u64,
    /// Held back while the handler runs.
    pub mask: Set,
}

impl Action {
    pub const BYTES: usize = 32;
    pub const DEFAULT: Self = Self { handler: DEFAULT, flags: 0, restorer: 0, mask: Set::EMPTY };

    /// Flags.
    pub const INFO: u64 = 4;
    pub const RESTORER: u64 = 0x0400_0000;
    pub const ON_STACK: u64 = 0x0800_0000;
    pub const RESTART: u64 = 0x1000_0000;
    /// The signal itself is not held back while the handler runs.
    pub const NO_DEFER: u64 = 0x4000_0000;
    /// The handler runs once.
    pub const RESET: u64 = 0x8000_0000;
    /// The flags that this kernel knows. It clears all others, so a program can find out which these are.
    const KNOWN: u64 = 7 | 0x0800 | Self::RESTORER | Self::ON_STACK | Self::RESTART | Self::NO_DEFER | Self::RESET;

    /// As `rt_sigaction` passes it.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let mut words = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
        let mut next = || words.next().unwrap_or(0);
        let (handler, flags, restorer, mask) = (next(), next(), next(), Set(next()));
        Self { handler, flags: flags & Self::KNOWN, restorer, mask: mask.without(UNMASKABLE) }
    }

    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let words = [self.handler, self.flags, self.restorer, self.mask.0];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    pub(super) const fn has(&self, flag: u64) -> bool {
        self.flags & flag != 0
    }

    /// Whether a handler runs.
    pub(super) const fn is_handled(&self) -> bool {
        self.handler != DEFAULT && self.handler != IGNORE
    }

    /// Whether nothing comes of `signal`.
    pub(super) fn ignores(&self, signal: u8) -> bool {
        self.handler == IGNORE || self.handler == DEFAULT && default_of(signal) == Default::Nothing
    }
}
