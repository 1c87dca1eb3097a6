// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Says aloud who stole: each way in which quanta were hit, and the kernel's code that ran meanwhile, by name.
//!
//! Called by the benches that measure a profile.

use std::collections::BTreeMap;

use tacet_noise::exact::symbols::Symbols;

use crate::profile::Profile;

/// Of each list; most first.
const MANY_LINES: usize = 40;

/// Names what was stolen, if anything was: the most useful thing to know.
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
