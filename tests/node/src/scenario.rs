// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a scenario is.

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
    /// Only if everything was asked for: minutes that repeat much of what another scenario shows.
    pub rare: bool,
    /// Whether the node survives it.
    pub end: End,
    /// The CPUs of a node of its own; others have four cores.
    pub cpus: Topology,
    /// The memory of a node of its own; others have 2 GiB.
    pub memory_mib: u32,
    /// Whether Tacet's module is loaded.
    pub module: bool,
    /// Words added to its kernel's command line.
    pub arguments: &'static str,
    /// Killed, and failed, after this long.
    pub limit: Duration,
}

/// Where a scenario runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On every kernel: what touches what kernels do differently.
    Everywhere,
    /// On the kernel in the middle of the matrix only.
    Middle,
    /// On the newest kernel, and on no other: what the older ones do not have.
    Newest,
    /// On all but the newest.
    Older,
    /// On all but the middle one, on which another scenario shows the same and more.
    Outer,
}

/// What a scenario leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The node, as it was.
    Node,
    /// Nothing: the node switches itself off. It runs on a node of its own.
    PoweredOff,
    /// The node, which is not used again: its CPUs are arranged for this scenario.
    Apart,
    /// The node, which is not used again. It runs on one of its own whose emulator runs one CPU after the other: the
    /// kernel changes its code while it runs, which emulators with a thread for each CPU do not always survive.
    InTurn,
    /// The same, and its clock counts instructions.
    Counted,
    /// The node, which is not used again. It runs on one of its own with systemd and all that this starts.
    Systemd,
}

impl Scenario {
    /// Runs everywhere, with the usual limit.
    pub const fn new(name: &'static str, script: &'static str) -> Scenario {
        let (place, end, cpus) = (Place::Everywhere, End::Node, Topology::flat(4));
        let limit = Duration::from_secs(600);
        Scenario { name, script, place, rare: false, end, cpus, memory_mib: 2048, module: true, arguments: "", limit }
    }

    /// Whether it runs on this kernel, with everything that runs there or without what one kernel stands for.
    pub fn is_for(&self, kernel: KernelLine, everything: bool) -> bool {
        let here = match self.place {
            Place::Everywhere => true,
            Place::Middle => everything || kernel == KernelLine::V6_12,
            Place::Newest => kernel == KernelLine::V7,
            Place::Outer => everything || kernel != KernelLine::V6_12,
            Place::Older => kernel != KernelLine::V7,
        };
        here && (everything || !self.rare)
    }

    /// On the middle kernel only.
    pub const fn middle(mut self) -> Scenario {
        self.place = Place::Middle;
        self
    }

    /// On the newest kernel only.
    pub const fn newest(mut self) -> Scenario {
        self.place = Place::Newest;
        self
    }

    /// Only if everything was asked for.
    pub const fn rarely(mut self) -> Scenario {
        self.rare = true;
        self
    }

    /// On the others only.
    pub const fn older(mut self) -> Scenario {
        self.place = Place::Older;
        self
    }

    /// On all but the middle one.
    pub const fn outer(mut self) -> Scenario {
        self.place = Place::Outer;
        self
    }

    /// On a node of its own with so many packages, cores in each and threads in each core.
    pub const fn on(mut self, sockets: u32, cores: u32, threads: u32) -> Scenario {
        (self.end, self.cpus) = (End::Apart, Topology { sockets, dies: 1, cores, threads, numa_nodes: 1 });
        self
    }

    /// So many times the cores in each package, with a last-level cache for each part; after `on`.
    pub const fn with_dies(mut self, count: u32) -> Scenario {
        self.cpus.dies = count;
        self
    }

    /// With so much memory: on a node of its own.
    pub const fn with_memory(mut self, mib: u32) -> Scenario {
        (self.end, self.memory_mib) = (End::Apart, mib);
        self
    }

    /// Whose memory is in so many nodes; after `on`.
    pub const fn with_memory_nodes(mut self, count: u32) -> Scenario {
        self.cpus.numa_nodes = count;
        self
    }

    /// Without Tacet's module: on a node of its own, so with `on` or `in_turn`.
    pub const fn without_module(mut self) -> Scenario {
        (self.end, self.module) = (End::Apart, false);
        self
    }

    /// With these words on the kernel's command line: on a node of its own, so after `on` or before `in_turn`.
    pub const fn booted_with(mut self, arguments: &'static str) -> Scenario {
        (self.end, self.arguments) = (End::Apart, arguments);
        self
    }

    /// May take so many seconds.
    pub const fn within(mut self, seconds: u64) -> Scenario {
        self.limit = Duration::from_secs(seconds);
        self
    }

    /// On a node whose CPUs run in turn.
    pub const fn in_turn(mut self) -> Scenario {
        self.end = End::InTurn;
        self
    }

    /// On a node whose CPUs run in turn and whose clock counts instructions: the host's other work takes no time there.
    pub const fn counted(mut self) -> Scenario {
        self.end = End::Counted;
        self
    }

    /// On a node with a whole user land.
    pub const fn with_systemd(mut self) -> Scenario {
        self.end = End::Systemd;
        self
    }

    /// Switches its node off.
    pub const fn powers_off(mut self) -> Scenario {
        self.end = End::PoweredOff;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_runs_where_it_is_for() {
        let where_ = |scenario: Scenario, all| KernelLine::ALL.map(|kernel| scenario.is_for(kernel, all));
        let any = Scenario::new("", "");
        assert_eq!(where_(any, false), [true, true, true]);
        assert_eq!(where_(any.middle(), false), [false, true, false]);
        assert_eq!(where_(any.middle(), true), [true, true, true]);
        assert_eq!(where_(any.newest(), true), [false, false, true]);
        assert_eq!(where_(any.older(), true), [true, true, false]);
        assert_eq!(where_(any.outer(), false), [true, false, true]);
        assert_eq!(where_(any.outer(), true), [true, true, true]);
        assert_eq!(where_(any.newest().rarely(), true), [false, false, true]);
        assert_eq!(where_(any.middle().rarely(), true), [true, true, true]);
        assert_eq!(where_(any.rarely(), false), [false; 3]);
    }
}
