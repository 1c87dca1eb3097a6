// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a scenario is, on which kernels it runs, and which machine it needs.

use std::time::Duration;

use tacet_node::{KernelLine, Topology};

/// One thing that a node goes through.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// What it shows, in a few words; unique.
    pub name: &'static str,
    /// The script of `tests/faults` and its arguments.
    pub script: &'static str,
    /// On which kernels it runs unless everything was asked for.
    pub place: Place,
    /// Which command runs it unless everything was asked for.
    pub part: Part,
    /// On which kernels it can run.
    pub kernels: Kernels,
    /// The machine that it runs on.
    pub machine: Machine,
    /// When the machine is booted.
    pub boot: Boot,
    /// What becomes of the machine.
    pub end: End,
    /// It is killed, and fails, after this time.
    pub limit: Duration,
}

/// Where a scenario runs by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On one kernel. Other scenarios of its kind run on the other kernels.
    One(KernelLine),
    /// On each kernel.
    Each,
    /// Nowhere: minutes that repeat much of what another scenario shows.
    Rare,
}

/// The command that runs a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// `make test`: what shows most for its time.
    First,
    /// `make test-more`.
    More,
}

/// Where a scenario can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernels {
    All,
    /// It needs what the older kernels do not have.
    Newest,
    /// It shows what is said where the newest kernel's features are missing.
    Older,
}

/// How a node differs from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    pub cpus: Topology,
    pub memory_mib: u32,
    /// Tacet's module is loaded.
    pub module: bool,
    /// Words added to the kernel's command line.
    pub arguments: &'static str,
    /// It has an NVMe disk.
    pub nvme: bool,
    /// The disk may have this many virtual functions.
    pub nvme_functions: u32,
    /// See [`tacet_node::NodeSpec::nvme_mdts`].
    pub nvme_mdts: Option<u8>,
    /// It has two more NVMe disks: one of two namespaces, one that can be unplugged.
    pub nvme_more: bool,
    /// Its devices reach memory through an IOMMU.
    pub iommu: bool,
    /// Sockets without a processor: CPUs that are possible and never come.
    pub empty_sockets: u32,
    pub emulation: Emulation,
    /// It runs systemd and all that this starts.
    pub systemd: bool,
    /// Its firmware lets only signed kernels run.
    pub secure_boot: bool,
}

/// How the emulator runs CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emulation {
    /// With a thread for each CPU.
    Parallel,
    /// One CPU after the other: some scenarios make the kernel change its code while it runs, and emulators with a
    /// thread for each CPU do not always survive that.
    InTurn,
    /// The same, and the clock counts instructions: other work on the host takes no time there.
    Counted,
}

/// What a scenario does to its machine in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Nothing: the machine is as before.
    Lives,
    /// It switches the machine off.
    PowersOff,
    /// It makes the kernel panic, with a partition on CPUs 2 and 3.
    Panics,
}

/// When a machine is booted for a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boot {
    /// If there is none of its kind: it leaves the machine as it was, and others may have run on it before.
    IfMissing,
    /// For each scenario.
    Always,
}

impl Machine {
    /// Most scenarios share a node like this.
    pub const USUAL: Machine = Machine {
        cpus: Topology::flat(4),
        memory_mib: 2048,
        module: true,
        arguments: "",
        nvme: false,
        nvme_functions: 0,
        nvme_mdts: None,
        nvme_more: false,
        iommu: false,
        empty_sockets: 0,
        emulation: Emulation::Parallel,
        systemd: false,
        secure_boot: false,
    };
}

impl Scenario {
    /// On the usual machine, with the usual limit.
    pub const fn new(name: &'static str, script: &'static str, place: Place) -> Scenario {
        let (kernels, machine, boot) = (Kernels::All, Machine::USUAL, Boot::IfMissing);
        let limit = Duration::from_secs(600);
        Scenario { name, script, place, part: Part::First, kernels, machine, boot, end: End::Lives, limit }
    }

    /// The kernels on which it runs, of those that were chosen. A scenario whose kernel was not chosen runs on the
    /// first that was.
    pub fn on(&self, chosen: &[KernelLine], everything: bool) -> Vec<KernelLine> {
        let possible = chosen.iter().copied().filter(|kernel| self.can_run_on(*kernel));
        match self.place {
            _ if everything => possible.collect(),
            Place::Each => possible.collect(),
            Place::Rare => Vec::new(),
            Place::One(home) => {
                let possible: Vec<_> = possible.collect();
                let at = possible.iter().position(|kernel| *kernel == home).unwrap_or(0);
                possible.into_iter().skip(at).take(1).collect()
            }
        }
    }

    fn can_run_on(&self, kernel: KernelLine) -> bool {
        match self.kernels {
            Kernels::All => true,
            Kernels::Newest => kernel == KernelLine::V7,
            Kernels::Older => kernel != KernelLine::V7,
        }
    }

    /// The time after which it is called slow: on an idle host scenarios take a fraction of their limit.
    pub fn budget(&self) -> Duration {
        self.limit / 5
    }

    /// Not in `make test`: it takes long, or needs a machine that few others share.
    pub const fn more(mut self) -> Scenario {
        self.part = Part::More;
        self
    }

    /// On the newest kernel only.
    pub const fn only_newest(mut self) -> Scenario {
        self.kernels = Kernels::Newest;
        self
    }

    /// On the older kernels only.
    pub const fn only_older(mut self) -> Scenario {
        self.kernels = Kernels::Older;
        self
    }

    /// On a machine with so many packages, cores in each and threads in each core.
    pub const fn with_cpus(mut self, sockets: u32, cores: u32, threads: u32) -> Scenario {
        self.machine.cpus = Topology { sockets, dies: 1, cores, threads, numa_nodes: 1 };
        self.booted_anew()
    }

    /// So many times the cores in each package, with a last-level cache for each part; after `with_cpus`.
    pub const fn with_dies(mut self, count: u32) -> Scenario {
        self.machine.cpus.dies = count;
        self.booted_anew()
    }

    /// With so much memory.
    pub const fn with_memory(mut self, mib: u32) -> Scenario {
        self.machine.memory_mib = mib;
        self.booted_anew()
    }

    /// With memory in so many nodes; after `with_cpus`.
    pub const fn with_memory_nodes(mut self, count: u32) -> Scenario {
        self.machine.cpus.numa_nodes = count;
        self.booted_anew()
    }

    /// Without Tacet's module.
    pub const fn without_module(mut self) -> Scenario {
        self.machine.module = false;
        self.booted_anew()
    }

    /// With these words on the kernel's command line.
    pub const fn booted_with(mut self, arguments: &'static str) -> Scenario {
        self.machine.arguments = arguments;
        self.booted_anew()
    }

    /// On a machine with an NVMe disk, which others of the kind share.
    pub const fn with_nvme(mut self) -> Scenario {
        self.machine.nvme = true;
        self
    }

    /// On a machine with room for four cores and an NVMe disk whose commands move 8 KiB at most, which others of the kind
    /// share.
    pub const fn with_nvme_and_six_cpus(mut self) -> Scenario {
        self.machine.nvme_mdts = Some(1);
        self.with_nvme().with_cpus(1, 6, 1).after_others()
    }

    /// On a machine with an NVMe disk that has two virtual functions.
    pub const fn with_virtual_nvme(mut self) -> Scenario {
        self.machine.nvme_functions = 2;
        self.with_nvme()
    }

    /// On a machine with three NVMe disks: an ordinary one, one of two namespaces, one that can be unplugged.
    pub const fn with_more_nvme(mut self) -> Scenario {
        self.machine.nvme_more = true;
        self.with_nvme()
    }

    /// On a machine with an IOMMU, of which these words on the kernel's command line make use.
    pub const fn with_iommu(mut self, arguments: &'static str) -> Scenario {
        self.machine.iommu = true;
        self.booted_with(arguments)
    }

    /// On a machine with room for more processors.
    pub const fn with_empty_sockets(mut self, sockets: u32) -> Scenario {
        self.machine.empty_sockets = sockets;
        self
    }

    /// On a machine whose CPUs run in turn.
    pub const fn in_turn(mut self) -> Scenario {
        self.machine.emulation = Emulation::InTurn;
        self.booted_anew()
    }

    /// On a machine whose CPUs run in turn and whose clock counts instructions.
    pub const fn counted(mut self) -> Scenario {
        self.machine.emulation = Emulation::Counted;
        self.booted_anew()
    }

    /// On a machine with a whole user land.
    pub const fn with_systemd(mut self) -> Scenario {
        self.machine.systemd = true;
        self.booted_anew()
    }

    /// On a machine with Secure Boot; the script loads the module.
    pub const fn with_secure_boot(mut self) -> Scenario {
        self.machine.secure_boot = true;
        self.without_module()
    }

    const fn booted_anew(mut self) -> Scenario {
        self.boot = Boot::Always;
        self
    }

    /// On the machine that the scenario before it left, if that is of the same kind; last of all.
    pub const fn after_others(mut self) -> Scenario {
        self.boot = Boot::IfMissing;
        self
    }

    /// It switches its machine off.
    pub const fn powers_off(mut self) -> Scenario {
        self.end = End::PowersOff;
        self
    }

    /// It makes its kernel panic, which then waits for ever.
    pub const fn panics(mut self) -> Scenario {
        self.end = End::Panics;
        self.booted_with("panic=0")
    }

    /// It may take so many seconds.
    pub const fn within(mut self, seconds: u64) -> Scenario {
        self.limit = Duration::from_secs(seconds);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [KernelLine; 3] = KernelLine::ALL;
    const MIDDLE: Scenario = Scenario::new("", "", Place::One(KernelLine::V6_12));

    #[test]
    fn by_default_a_scenario_runs_on_its_kernel() {
        assert_eq!(MIDDLE.on(&ALL, false), [KernelLine::V6_12]);
        assert_eq!(Scenario::new("", "", Place::Each).on(&ALL, false), ALL);
        assert_eq!(Scenario::new("", "", Place::Rare).on(&ALL, false), []);
    }

    #[test]
    fn everything_is_every_kernel_that_can() {
        let rare = Scenario::new("", "", Place::Rare);
        assert_eq!(MIDDLE.on(&ALL, true), ALL);
        assert_eq!(rare.on(&ALL, true), ALL);
        assert_eq!(rare.only_newest().on(&ALL, true), [KernelLine::V7]);
        assert_eq!(rare.only_older().on(&ALL, true), [KernelLine::V6_1, KernelLine::V6_12]);
    }

    #[test]
    fn a_chosen_kernel_takes_the_scenarios_of_others() {
        assert_eq!(MIDDLE.on(&[KernelLine::V7], false), [KernelLine::V7]);
        assert_eq!(MIDDLE.on(&[KernelLine::V6_1, KernelLine::V7], false), [KernelLine::V6_1]);
        assert_eq!(MIDDLE.only_older().on(&[KernelLine::V7], false), []);
    }

    #[test]
    fn a_machine_of_its_own_is_booted_for_each() {
        assert_eq!((MIDDLE.boot, MIDDLE.in_turn().boot), (Boot::IfMissing, Boot::Always));
        assert_eq!(MIDDLE.in_turn().after_others().boot, Boot::IfMissing);
        assert_eq!(MIDDLE.powers_off().machine, Machine::USUAL);
    }
}
