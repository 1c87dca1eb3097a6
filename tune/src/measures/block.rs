// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Block I/O: completes requests on the CPU that gets the device's interrupt, and names the queues whose workers run on
//! the application's CPUs, because no file can move those.

use super::{About, Measure};
use crate::cpus::Cpus;
use crate::form::Form;
use crate::split::{Proposal, Split};

pub struct Block;

const BLOCK: &str = "/sys/block";
/// Since this version blk_mq_map_swqueue() leaves out CPUs that are isolated (at boot or by a cpuset partition) when it
/// runs; for most disks it runs at boot.
const LEAVES_ISOLATED_CPUS: (u32, u32) = (6, 10);
/// The CPUs of the boot parameter `isolcpus=domain,LIST`.
const ISOLATED: &str = "/sys/devices/system/cpu/isolated";

impl Measure for Block {
    fn about(&self) -> &'static About {
        &About {
            name: "block",
            does: "completes block I/O on the CPU that its interrupt comes to; names queues whose workers stay",
            stops: "softirq BLOCK, function call interrupts of blk_mq; not kworker blk_mq before 6.10",
            cost: "a completion does not warm the cache of the CPU that asked",
            applied: "/sys/block/DISK/queue/rq_affinity = 0; /sys/block/DISK/mq/N/cpu_list is read only",
            kernels: "all; from 6.10 blk_mq workers stay away from CPUs that were isolated, at boot or by a partition, when \
                      the disk was found",
            boot: "isolcpus=managed_irq,LIST",
            source: "Gerofi et al., SC '21, section 4.2.1 and Table 2 (blk-mq worker tasks: 388 us against 50 us), by a \
                     changed struct blk_mq_hw_ctx.cpumask; Documentation/ABI/stable/sysfs-block",
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        for disk in split.list(BLOCK) {
            let path = format!("{BLOCK}/{disk}/queue/rq_affinity");
            // loop and ram disks have no request queue, or one that refuses
            if split.node.exists(&format!("{BLOCK}/{disk}/mq")) && split.node.exists(&path) {
                proposal.want_file(split, path, Form::Text, "0");
            }
            name_queues(split, &disk, &mut proposal);
        }
        proposal
    }
}

fn name_queues(split: &Split, disk: &str, proposal: &mut Proposal) {
    let queues = split.list(&format!("{BLOCK}/{disk}/mq"));
    let cpus = |queue: &String| split.read(&format!("{BLOCK}/{disk}/mq/{queue}/cpu_list"));
    let shared = queues.iter().filter_map(cpus).filter_map(|text| Cpus::from_list(&text.replace(' ', "")));
    let shared = shared.filter(|cpus| cpus.overlaps(&split.application)).count();
    let isolated = split.read(ISOLATED).and_then(|text| Cpus::from_list(text.trim())).unwrap_or_default();
    let heeded = split.kernel >= LEAVES_ISOLATED_CPUS;
    if shared == 0 || heeded && split.application.is_subset(&isolated) {
        return;
    }
    let depth = split.read(&format!("{BLOCK}/{disk}/queue/nr_requests")).unwrap_or_default();
    let remedy = match heeded {
        true => format!(
            "isolcpus=domain,{} at boot, a disk found again within the partition, or fewer queues",
            split.application
        ),
        false => "fewer queues of its driver".to_owned(),
    };
    proposal.told(format!(
        "{disk}: {shared} of {} queues (of {} requests each) work on the application's CPUs too; only {remedy} keep their \
         workers away",
        queues.len(),
        depth.trim(),
    ));
}
