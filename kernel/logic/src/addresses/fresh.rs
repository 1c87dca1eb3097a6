// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which memory was never given out, and hence is zero. Used by [`super::Addresses`] alone.
//!
//! Mappings grow from the top and the `brk` heap from the bottom, so what was never used is one interval between them
//! nearly always. If a mapping at a fixed address divides it, the smaller half counts as used: it is zeroed once in vain.

/// Memory to be zeroed before a program sees it: at most two pieces, address and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pieces {
    pub(super) pieces: [(u64, u64); 2],
}

/// Pages from `first` on and before `end`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fresh {
    pub first: u32,
    pub end: u32,
}

impl Fresh {
    /// Gives pages out: those that are not zero, below and above what is.
    pub fn take(&mut self, first: u32, end: u32) -> [(u32, u32); 2] {
        if end <= self.first || self.end <= first || self.first >= self.end {
            return [(first, end), (end, end)];
        }
        let used = [(first, self.first.max(first)), (self.end.min(end), end)];
        let (below, above) = (first.saturating_sub(self.first), self.end.saturating_sub(end));
        if below >= above {
            self.end = self.first + below;
        } else {
            self.first = self.end - above;
        }
        used
    }
}

impl IntoIterator for Pieces {
    type Item = (u64, u64);
    type IntoIter = core::iter::Filter<core::array::IntoIter<(u64, u64), 2>, fn(&(u64, u64)) -> bool>;

    fn into_iter(self) -> Self::IntoIter {
        self.pieces.into_iter().filter(|&(_, bytes)| bytes != 0)
    }
}
