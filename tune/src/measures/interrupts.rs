// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Moves device interrupts, also of future devices, away from the application's CPUs.

use super::{About, Measure};
use crate::apply::Event;
use crate::cpus::Cpus;
use crate::form::Form;
use crate::journal::{State, Waiting};
use crate::node::Node;
use crate::object::Object;
use crate::split::{Proposal, Split};

pub struct Interrupts;

const IRQ: &str = "/proc/irq";
const NAME: &str = "interrupts";
const MANAGED: &str = "managed_irq";

impl Measure for Interrupts {
    fn about(&self) -> &'static About {
        &About {
            name: NAME,
            does: "steers device interrupts to the system's CPUs",
            stops: "interrupt, softirq NET_RX, softirq BLOCK",
            cost: "the system's CPUs serve all devices; irqbalance moves interrupts back unless it is stopped (samplers)",
            applied: "/proc/irq/N/smp_affinity_list and /proc/irq/default_smp_affinity; refused (EIO, EPERM) for managed interrupts",
            checked: "the values, and effective_affinity_list: an interrupt moves only when it next fires",
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
    // the timer's interrupt refuses too, and stays where it does no harm
    let of_devices = |object: &&Object| matches!(object, Object::File { path } if path.starts_with(IRQ));
    let of_devices = split.state.refused.iter().filter(of_devices);
    let kept = of_devices.filter(|object| reaches(split.node, object, &split.application)).count();
    let heeded = split.read("/proc/cmdline").is_some_and(|line| line.contains(MANAGED));
    if kept > 0 && !heeded {
        proposal.told(format!("{kept} of the interrupts are managed: only the kernel places them, at boot"));
        proposal.boot.push(format!("isolcpus={MANAGED},{}", split.application));
    }
}

/// An interrupt that may not come to the application's CPUs any more, but whose next one still does: the kernel moves
/// most interrupts only when they fire. After that it stays away.
pub struct Late {
    pub waiting: Waiting,
    comes_to: Cpus,
}

impl Late {
    pub fn event(&self) -> Event {
        Event::new(NAME, &self.waiting.object, format!("its next one comes to {}", self.comes_to.named()))
    }

    /// Was it told at the end of the last apply, and can only its next one come there? Otherwise a driver that was
    /// loaded again has put it back, or it has fired since and stayed.
    pub fn is_expected(&self, state: &State) -> bool {
        let known = state.pending.iter().find(|known| known.object == self.waiting.object);
        known.is_some_and(|known| self.waiting.fired <= known.fired + 1)
    }
}

pub fn late(node: &dyn Node, state: &State) -> Vec<Late> {
    let claimed = state.claims.iter().filter(|claim| claim.measures.contains_key(NAME));
    let application = claimed.fold(Cpus::default(), |all, claim| all.union(&claim.cpus));
    let mut found = Vec::new();
    for number in node.list(IRQ).unwrap_or_default() {
        let path = format!("{IRQ}/{number}/smp_affinity_list");
        let (asked, comes_to, object) = (list(node, &path), effective(node, &number), Object::file(path));
        // what the file itself allows is told elsewhere: it was refused, or somebody else wrote it
        let allowed = asked.is_none_or(|asked| asked.overlaps(&application)) || state.refused.contains(&object);
        if let Some(comes_to) = comes_to.filter(|cpus| !allowed && cpus.overlaps(&application)) {
            found.push(Late { waiting: Waiting { object, fired: fired(node, &number) }, comes_to });
        }
    }
    found
}

/// Asks once more for what the files say, in case the kernel had no room on the other CPUs before.
pub fn apply_again(node: &dyn Node, state: &State) -> Vec<Late> {
    for Late { waiting: Waiting { object, .. }, .. } in late(node, state) {
        if let (Object::File { path }, Ok(Some(shown))) = (&object, object.read(node)) {
            // a refusal changes nothing: the interrupt is still late, and named
            node.write(path, shown.trim()).unwrap_or(());
        }
    }
    late(node, state)
}

/// Does this interrupt come to these CPUs, as far as the kernel tells?
pub fn reaches(node: &dyn Node, object: &Object, cpus: &Cpus) -> bool {
    let Object::File { path } = object else { return false };
    let number = path.strip_prefix(IRQ).and_then(|rest| rest.split('/').nth(1)).unwrap_or_default();
    effective(node, number).is_none_or(|effective| effective.overlaps(cpus))
}

fn list(node: &dyn Node, path: &str) -> Option<Cpus> {
    node.read(path).ok().and_then(|text| Cpus::from_list(&text))
}

/// None on kernels that do not tell.
fn effective(node: &dyn Node, number: &str) -> Option<Cpus> {
    list(node, &format!("{IRQ}/{number}/effective_affinity_list"))
}

/// How often it fired, on all CPUs together.
fn fired(node: &dyn Node, number: &str) -> u64 {
    let counts = node.read(&format!("/sys/kernel/irq/{number}/per_cpu_count")).unwrap_or_default();
    counts.trim().split(',').filter_map(|count| count.parse::<u64>().ok()).sum()
}
