// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Huge pages by overcommit, without a pool that is set aside.

use super::{About, Measure, Number};
use crate::form::Form;
use crate::split::{Proposal, Split};

pub struct HugePages;

const SIZES: &str = "/sys/kernel/mm/hugepages";
const SIZE: &str = "hugepages-2048kB";

impl Measure for HugePages {
    fn about(&self) -> &'static About {
        &About {
            name: "huge-pages",
            does: "lets programs take so many huge pages of 2 MiB when they ask, without setting memory aside",
            stops: "page fault",
            cost: "whoever may use hugetlbfs may take that much memory; before 6.6 no memory cgroup is charged for it",
            applied: "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_overcommit_hugepages",
            source: "Gerofi et al., SC '21, section 4.1.3; Documentation/admin-guide/mm/hugetlbpage.rst",
            usual: false,
            number: Some(Number { what: "how many", usual: 1024, largest: 1 << 30 }),
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        let pages = split.number.unwrap_or_default().to_string();
        proposal.want_file(split, format!("{SIZES}/{SIZE}/nr_overcommit_hugepages"), Form::Text, pages);
        let mounts = split.read("/proc/mounts").unwrap_or_default();
        let charged =
            mounts.lines().any(|line| line.contains(" cgroup2 ") && line.contains("memory_hugetlb_accounting"));
        if !charged {
            proposal.told("they are charged to the job's memory cgroup only where cgroup2 is mounted with memory_hugetlb_accounting (6.6)");
        }
        proposal.told("whether they are there at once or at the first touch is the program's choice: MAP_POPULATE");
        proposal
    }
}
