// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Moves packets that software steers (RPS) away from the application's CPUs.

use super::{About, Measure};
use crate::cpus::Cpus;
use crate::form::Form;
use crate::split::{Proposal, Split};

pub struct Network;

const DEVICES: &str = "/sys/class/net";

impl Measure for Network {
    fn about(&self) -> &'static About {
        &About {
            name: "network",
            does: "steers received packets to the system's CPUs, if software steers them at all",
            stops: "softirq NET_RX, function call interrupts of receive steering",
            cost: "the system's CPUs handle all packets; receive flow steering does not follow the application",
            applied: "/sys/class/net/DEVICE/queues/rx-N/rps_cpus, where it is not 0",
            source: "Documentation/networking/scaling.rst",
            ..About::COMMON
        }
    }

    fn propose(&self, split: &Split) -> Proposal {
        let mut proposal = Proposal::default();
        for device in split.list(DEVICES) {
            let queues = format!("{DEVICES}/{device}/queues");
            for queue in split.list(&queues).iter().filter(|name| name.starts_with("rx-")) {
                let path = format!("{queues}/{queue}/rps_cpus");
                // 0 is off: each packet stays on the CPU that got its interrupt
                let steered = split.read(&path).as_deref().and_then(Cpus::from_mask).unwrap_or_default();
                if !steered.is_empty() {
                    proposal.leave(split, path, Form::Mask);
                }
            }
        }
        proposal
    }
}
