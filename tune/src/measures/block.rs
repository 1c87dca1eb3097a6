// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Block I/O: requests are completed where the device's interrupt arrives, and the queues whose workers run on the
//! application's CPUs are named, because no file moves them.

use super::{About, Measure};
use crate::cpus::Cpus;
use crate::form::Form;
use crate::split::{Proposal, Split};

pub struct Block;

const BLOCK: &str = "/sys/block";
/// blk_mq_hctx_next_cpu() leaves out isolated CPUs.
const LEAVES_ISOLATED_CPUS: (u32, u32) = (6, 10);

impl Measure for Block {
    fn about(&self) -> &'static About {
        &About {
            name: "block",
            does: "completes block I/O on the CPU that its interrupt comes to; names queues whose workers stay",
            stops: "softirq BLOCK, function call interrupts of blk_mq; not kworker blk_mq before 6.10",
            cost: "a completion does not warm the cache of the CPU that asked",
            applied: "/sys/block/DISK/queue/rq_affinity = 0; /sys/block/DISK/mq/N/cpu_list is read only",
            kernels: "all; from 6.10 blk_mq workers stay away from isolated CPUs by themselves",
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
            // without a request queue, or one that refuses: loop and ram disks
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
    if shared == 0 || split.kernel >= LEAVES_ISOLATED_CPUS {
        return;
    }
    let depth = split.read(&format!("{BLOCK}/{disk}/queue/nr_requests")).unwrap_or_default();
    proposal.told(format!(
        "{disk}: {shared} of {} queues (of {} requests each) work on the application's CPUs too; on this kernel only \
         isolcpus=domain,LIST or fewer queues of the driver keep their workers away",
        queues.len(),
        depth.trim()
    ));
}
