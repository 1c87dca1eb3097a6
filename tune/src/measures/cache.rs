// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Splits the last-level cache between application and system, if the processor can: the commodity form of A64FX's
//! sector cache.

use super::{About, Measure, Number, resctrl};
use crate::split::{Proposal, Split};

pub struct Cache;

impl Measure for Cache {
    fn about(&self) -> &'static About {
        &About {
            name: resctrl::CACHE,
            does: "gives the system this many ways of the last-level cache, and the application all others",
            stops: "slower work beside a busy system CPU (no thief is visible)",
            cost: "the application loses those ways of the cache too",
            applied: "a group /sys/fs/resctrl/tacet with the application's CPUs; schemata of both groups",
            kernels: "where the processor has cache allocation (RDT, PQoS, MPAM) and resctrl is mounted",
            source: "Gerofi et al., SC '21, section 4.2, CPU caches; Documentation/filesystems/resctrl.rst",
            usual: false,
            whole: true,
            number: Some(Number { what: "ways for the system", usual: 2, largest: 63 }),
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let refused = "the last-level cache has no ways to split, or is split for code and data: not touched";
        resctrl::propose(split, resctrl::CACHE, refused)
    }
}
