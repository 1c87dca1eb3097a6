// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stops the scan of kernel samepage merging.

use super::{About, Measure};
use crate::form::Form;
use crate::split::{Proposal, Split};

pub struct SamePageMerging;

impl Measure for SamePageMerging {
    fn about(&self) -> &'static About {
        &About {
            name: "same-page-merging",
            does: "stops the search for equal pages; merged pages stay merged",
            stops: "kernel thread ksmd, page fault, function call interrupts of tlb",
            cost: "virtual machines that rely on it use more memory",
            applied: "/sys/kernel/mm/ksm/run = 0, if it is 1",
            source: "Documentation/admin-guide/mm/ksm.rst",
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        const RUN: &str = "/sys/kernel/mm/ksm/run";
        match split.read(RUN).as_deref().map(str::trim) {
            Some("1") => proposal.want_file(split, RUN, Form::Text, "0"),
            // 2 means that the kernel separates merged pages, which ends by itself
            Some(_) => (),
            None => proposal.missing(RUN),
        }
        proposal
    }
}
