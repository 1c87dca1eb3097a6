// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which addresses `MAP_32BIT` gives out: as on Linux the second GiB, without what the program itself has of it.

use core::ops::Range;

const BEGIN: u64 = 1 << 30;
const END: u64 = 2 << 30;

/// The largest part of the second GiB that none of `others` reaches into. It may be empty, and is in whole pages if they are.
pub fn below_2_gib(others: impl Iterator<Item = Range<u64>>) -> Range<u64> {
    // Both ends close in: a program has few parts, which lie together.
    others.filter(|other| !other.is_empty()).fold(BEGIN..END, |free, other| {
        if other.end <= free.start || other.start >= free.end {
            return free;
        }
        let (below, above) = (free.start..other.start.max(free.start), other.end.min(free.end)..free.end);
        if below.end - below.start > above.end - above.start { below } else { above }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    extern crate std;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_program_that_lies_elsewhere_leaves_all_of_it() {
        assert_eq!(below_2_gib([0x40_0000..0x80_0000, 3 << 30..4 << 30].into_iter()), BEGIN..END);
    }

    #[test]
    fn a_program_in_between_leaves_the_larger_side() {
        let program = [BEGIN + MIB..BEGIN + 2 * MIB, BEGIN + 2 * MIB..BEGIN + 9 * MIB];
        assert_eq!(below_2_gib(program.into_iter()), BEGIN + 9 * MIB..END);
        assert_eq!(below_2_gib(core::iter::once(END - MIB..END + MIB)), BEGIN..END - MIB);
        assert!(below_2_gib(core::iter::once(0..4 << 30)).is_empty());
    }

    proptest! {
        #[test]
        fn nobody_elses_address_is_in_it(others in proptest::collection::vec((0u64..3 << 10, 0u64..1 << 10), 0..6)) {
            let others = || others.iter().map(|&(first, length)| first * MIB..(first + length) * MIB);
            let free = below_2_gib(others());
            prop_assert!(free.start >= BEGIN && free.end <= END && free.start <= free.end);
            prop_assert!(free.is_empty() || others().all(|other| other.is_empty() || other.end <= free.start || free.end <= other.start));
        }
    }
}
