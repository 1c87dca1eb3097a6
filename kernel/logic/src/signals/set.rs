// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A set of signals, as programs pass it: bit n − 1 is signal n.

use core::ops::{BitAnd, BitOr, Not};

/// Some of the signals 1 to 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Set(pub u64);

impl Set {
    pub const EMPTY: Self = Self(0);

    /// These.
    pub const fn of(signals: &[u8]) -> Self {
        let mut set = Self::EMPTY;
        let mut rest = signals;
        while let [signal, others @ ..] = rest {
            set.0 |= Self::bit(*signal);
            rest = others;
        }
        set
    }

    pub const fn has(self, signal: u8) -> bool {
        self.0 & Self::bit(signal) != 0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The lowest number.
    pub const fn first(self) -> Option<u8> {
        if self.0 == 0 { None } else { Some(self.0.trailing_zeros() as u8 + 1) }
    }

    pub(super) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// No bit for a number that is no signal's.
    const fn bit(signal: u8) -> u64 {
        if signal >= 1 && signal <= 64 { 1 << (signal - 1) } else { 0 }
    }
}

impl BitOr for Set {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for Set {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Not for Set {
    type Output = Self;

    fn not(self) -> Self {
        Self(!self.0)
    }
}
