// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Prints the thieves: each way in which quanta were hit, and the names of the kernel functions that ran meanwhile.
//!
//! Called by the benches that measure a profile.

use std::collections::BTreeMap;

use tacet_noise::exact::symbols::Symbols;

use crate::profile::Profile;

/// The length of each list; the largest entries come first.
const MANY_LINES: usize = 40;

/// Prints the thieves, if there are any.
pub fn culprits(profile: &Profile, symbols: &Symbols) {
    let mut ways = BTreeMap::new();
    for hit in &profile.hits {
        let way = (symbols.name(hit.first), hit.interrupts, hit.exceptions, hit.kernel);
        let (times, _) = ways.entry(way).or_insert((0, hit.index));
        *times += 1;
    }
    for ((first, interrupts, exceptions, kernel), (times, index)) in ways.iter().take(MANY_LINES) {
        eprintln!(
            "  {times} quanta, first {index}: {interrupts} interrupts, {exceptions} exceptions, {kernel} instructions from {first}"
        );
    }
    for site in profile.sites.iter().take(MANY_LINES) {
        eprintln!(
            "  stolen by {}: {} times {} instructions",
            symbols.name(site.address),
            site.times,
            site.instructions
        );
    }
}
