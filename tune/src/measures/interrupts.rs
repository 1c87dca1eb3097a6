// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Moves device interrupts, also of future devices, away from the application's CPUs.

use super::{About, Measure};
use crate::form::Form;
use crate::object::Object;
use crate::split::{Proposal, Split};

pub struct Interrupts;

const IRQ: &str = "/proc/irq";
const MANAGED: &str = "managed_irq";

impl Measure for Interrupts {
    fn about(&self) -> &'static About {
        &About {
            name: "interrupts",
            does: "steers device interrupts to the system's CPUs",
            stops: "interrupt, softirq NET_RX, softirq BLOCK",
            cost: "the system's CPUs serve all devices; irqbalance moves interrupts back unless it is stopped (samplers)",
            applied: "/proc/irq/N/smp_affinity_list and /proc/irq/default_smp_affinity; refused (EIO, EPERM) for managed interrupts",
            boot: "isolcpus=managed_irq,LIST for managed interrupts, which only the kernel places",
            source: "Gerofi et al., SC '21, section 4.2; proc(5); Documentation/core-api/irq/irq-affinity.rst",
            refusable: true,
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        proposal.leave(split, format!("{IRQ}/default_smp_affinity"), Form::Mask);
        for number in split.list(IRQ).iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())) {
            let path = format!("{IRQ}/{number}/smp_affinity_list");
            // an interrupt that cannot move, such as the timer's, has no such file
            if split.node.exists(&path) {
                proposal.leave(split, path, Form::List);
            }
        }
        managed(split, &mut proposal);
        proposal
    }
}

/// Reports managed interrupts. No file lists them; the kernel refuses to move them.
fn managed(split: &Split, proposal: &mut Proposal) {
    let of_devices = |object: &&Object| matches!(object, Object::File { path } if path.starts_with(IRQ));
    let kept = split.state.refused.iter().filter(of_devices).count();
    let heeded = split.read("/proc/cmdline").is_some_and(|line| line.contains(MANAGED));
    if kept > 0 && !heeded {
        proposal.told(format!("{kept} of the interrupts are managed: only the kernel places them, at boot"));
        proposal.boot.push(format!("isolcpus={MANAGED},{}", split.application));
    }
}
