// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Huge pages by overcommit, without a reserved pool.

use super::{About, Measure, Number, partition};
use crate::claim::Claim;
use crate::form::Form;
use crate::object::Object;
use crate::split::{Proposal, Split};

pub struct HugePages;

const SIZES: &str = "/sys/kernel/mm/hugepages";
const SIZE: &str = "hugepages-2048kB";
const BYTES: u64 = 2 << 20;

impl Measure for HugePages {
    fn about(&self) -> &'static About {
        &About {
            name: "huge-pages",
            does: "lets programs allocate this many huge pages of 2 MiB on demand, without reserving memory",
            stops: "page fault",
            cost: "whoever may use hugetlbfs may take that much memory; before 6.6 no memory cgroup is charged for it",
            applied: "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_overcommit_hugepages; hugetlb.2MB.rsvd.max and hugetlb.2MB.max of \
                      the claim's cgroup, which is charged for each page, and the hugetlb controller for the cgroups below the root",
            kernels: "all; the charge needs a partition, and cgroup v2 with the hugetlb controller",
            source: "Gerofi et al., SC '21, section 4.1.3; Documentation/admin-guide/mm/hugetlbpage.rst",
            usual: false,
            number: Some(Number { what: "how many", usual: 1024, largest: 1 << 30 }),
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        proposal.want_file(
            split,
            format!("{SIZES}/{SIZE}/nr_overcommit_hugepages"),
            Form::Text,
            pages(split).to_string(),
        );
        charge(split, self.about().name, &mut proposal);
        let mounts = split.read("/proc/mounts").unwrap_or_default();
        let charged =
            mounts.lines().any(|line| line.contains(" cgroup2 ") && line.contains("memory_hugetlb_accounting"));
        if !charged {
            proposal.told("the job's limit of memory counts them only where cgroup2 is mounted with memory_hugetlb_accounting (6.6)");
        }
        proposal.told("the program chooses whether they are allocated at once (MAP_POPULATE) or at the first touch");
        proposal
    }
}

/// The pages of all claims together: a job may have its own, whatever the others have taken. A job within the node's
/// CPUs has no cgroup of its own and shares the node's pages.
fn pages(split: &Split) -> u64 {
    let number = |claim: &&Claim| claim.measures.get("huge-pages").copied().flatten();
    let own = split.claims.iter().copied().filter(|claim| partition::has_group(split, claim));
    own.filter_map(|claim| number(&claim)).fold(0, u64::saturating_add)
}

/// Charges each claim's pages to its own cgroup, limited to its own number. The limit of reservations makes `mmap` fail
/// with ENOMEM. Without it the kernel would grant the mapping and end the program by SIGBUS at the first touch.
fn charge(split: &Split, name: &str, proposal: &mut Proposal) {
    if !partition::controls(split, partition::HUGETLB) {
        proposal.told("no cgroup is charged for them: cgroup v2 has no hugetlb controller here");
        return;
    }
    partition::want_controllers(split, proposal);
    for (claim, number) in partition::with_groups(split, name, proposal) {
        for limit in ["hugetlb.2MB.rsvd.max", "hugetlb.2MB.max"] {
            let object = Object::file(format!("{}/{limit}", partition::group(&claim.owner)));
            proposal.make(object, Form::Text, number.saturating_mul(BYTES).to_string());
        }
    }
}
