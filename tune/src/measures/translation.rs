// SPDX-License-Identifier: Apache-2.0 OR MIT
//! TLB flushes across CPUs: no setting avoids them, so this only says how this machine sends them.

use super::{About, Measure};
use crate::split::{Proposal, Split};

pub struct Translation;

impl Measure for Translation {
    fn about(&self) -> &'static About {
        &About {
            name: "translation",
            does: "tells how flushes of address translations reach the application's CPUs on this processor",
            stops: "nothing by itself: function call interrupts of tlb, membarrier, text_poke and do_sync_core have senders",
            cost: "none",
            applied: "nothing",
            checked: "nothing; `tacet noise trace` names each sender",
            source: "Gerofi et al., SC '21, section 4.2.2 and Table 2 (CPU-global flush instruction: 90 us against 50 us)",
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        let processor = split.read("/proc/cpuinfo").unwrap_or_default();
        if processor.contains("CPU implementer") {
            proposal.told(arm(split));
        } else if processor.contains("GenuineIntel") || processor.contains("AuthenticAMD") {
            proposal.told(
                "flushes are interrupts between CPUs here: munmap, mprotect and page migration in a process whose threads \
                 also run on the application's CPUs; membarrier; tracing and other code patching, for all CPUs. \
                 `tacet noise trace` names the sender of each",
            );
        }
        proposal
    }
}

/// Red Hat took the patch of the paper's reference 1 into RHEL 8.2. No file shows whether another kernel has it.
fn arm(split: &Split) -> String {
    let release = split.read("/proc/sys/kernel/osrelease").unwrap_or_default();
    let known = if release.contains(".el8") {
        "this is a kernel of RHEL 8, which has the fix since 8.2"
    } else {
        "no file shows whether this kernel has RHEL 8.2's fix"
    };
    format!(
        "flushes are broadcast to all CPUs by one instruction here, about 200 ns each on A64FX; the fix spares \
             processes whose threads are all on one CPU, and {known}"
    )
}
