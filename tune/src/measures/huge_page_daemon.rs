// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keeps khugepaged from joining pages of running programs.

use super::{About, Measure};
use crate::form::Form;
use crate::split::{Proposal, Split};

pub struct HugePageDaemon;

impl Measure for HugePageDaemon {
    fn about(&self) -> &'static About {
        &About {
            name: "huge-page-daemon",
            does: "lets khugepaged scan once an hour, and compact nothing",
            stops: "kernel thread khugepaged, function call interrupts of tlb and lru_add_drain",
            cost: "memory that was first touched in small pages stays in small pages; huge pages at the first touch are not affected",
            applied: "/sys/kernel/mm/transparent_hugepage/khugepaged/{scan_sleep_millisecs,defrag}",
            source: "Documentation/admin-guide/mm/transhuge.rst",
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        const DAEMON: &str = "/sys/kernel/mm/transparent_hugepage/khugepaged";
        proposal.want_file(split, format!("{DAEMON}/scan_sleep_millisecs"), Form::Text, "3600000");
        proposal.want_file(split, format!("{DAEMON}/defrag"), Form::Text, "0");
        proposal
    }
}
