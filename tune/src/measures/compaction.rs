// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory is compacted only on request.

use super::{About, Measure};
use crate::form::Form;
use crate::split::{Proposal, Split};

pub struct Compaction;

impl Measure for Compaction {
    fn about(&self) -> &'static About {
        &About {
            name: "compaction",
            does: "stops compaction ahead of need, and leaves locked pages where they are",
            stops: "kernel thread kcompactd, kworker lru_add_drain, function call interrupts of tlb",
            cost: "a large page may be harder to get when it is wanted",
            applied: "vm.compaction_proactiveness = 0, vm.compact_unevictable_allowed = 0",
            source: "Documentation/admin-guide/sysctl/vm.rst",
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        proposal.want_file(split, "/proc/sys/vm/compaction_proactiveness", Form::Text, "0");
        proposal.want_file(split, "/proc/sys/vm/compact_unevictable_allowed", Form::Text, "0");
        proposal
    }
}
