// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The description of a set of emulated nodes.
//!
//! Written by the command line, kept in the set's state directory as JSON; `qemu/` turns it into command lines. Must not
//! depend on the emulator's options.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tacet_ctl::status::USAGE;
use tacet_ctl::{Error, Result};

const MIB: u64 = 1 << 20;
/// The kernel keeps per-CPU data for so many.
const MOST_CPUS: u32 = 64;
/// Every node has two threads and four descriptors in the keeper.
const MOST_NODES: u32 = 1024;

/// Nodes that are alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    pub nodes: u32,
    /// CPUs of each node.
    pub cpus: u32,
    /// Memory of each node.
    pub memory_bytes: u64,
    /// One of the CPUs executes no programs, and looks after the link.
    #[serde(default)]
    pub service_cpu: bool,
    pub machine: Machine,
    pub link: Link,
    pub card: Card,
    pub accelerator: Accelerator,
    /// The kernel's ELF image.
    pub image: PathBuf,
    /// The emulator, if it is not the usual one.
    pub qemu: Option<PathBuf>,
    /// Words for the end of the emulator's command line, for benches; `{node}` is the node's number.
    pub emulator_arguments: Vec<String>,
}

/// The emulated board.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Machine {
    /// No PCI, no firmware tables that a kernel must interpret: it starts fastest.
    #[default]
    Microvm,
    /// A PC with PCI Express.
    Q35,
}

/// The way of a node's packets to the daemon.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Link {
    /// A virtio network card as a cable to the keeper, with long frames, which it passes on as UDP.
    #[default]
    Bridge,
    /// A virtio network card; the emulator passes UDP on.
    Net,
    /// A virtio console; the keeper passes its frames on too.
    Console,
    /// The second serial port, with the same frames.
    Com2,
}

/// The network card of the link `net`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Card {
    #[default]
    Virtio,
    /// Intel's 82574.
    E1000e,
    /// Intel's 82576.
    Igb,
}

/// The executor of the nodes' instructions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accelerator {
    /// KVM if this user may use it, else emulation.
    #[default]
    Auto,
    Kvm,
    Tcg,
}

impl Spec {
    /// Four nodes of one CPU and 256 MiB.
    pub fn new(image: PathBuf) -> Spec {
        Spec {
            nodes: 4,
            cpus: 1,
            memory_bytes: 256 * MIB,
            service_cpu: false,
            machine: Machine::default(),
            link: Link::default(),
            card: Card::default(),
            accelerator: Accelerator::default(),
            image,
            qemu: None,
            emulator_arguments: Vec::new(),
        }
    }

    /// Refuses a description that no emulator can start.
    pub fn check(&self) -> Result<()> {
        let wrong =
            |object: &str, cause: String, remedy: &str| Err(Error::new(object, cause, remedy).with_status(USAGE));
        if !(1..=MOST_NODES).contains(&self.nodes) {
            return wrong("--nodes", format!("{} is not possible", self.nodes), "use 1 to 1024");
        }
        if !(1..=MOST_CPUS).contains(&self.cpus) {
            return wrong("--cpus", format!("{} is not possible", self.cpus), "use 1 to 64");
        }
        if self.service_cpu && self.cpus < 2 {
            return wrong(
                "--service-cpu",
                "a node's only CPU must execute programs".into(),
                "use --node-cpus 2 or more",
            );
        }
        if self.memory_bytes < 2 * MIB || !self.memory_bytes.is_multiple_of(MIB) {
            let cause = format!("{} is not possible", tacet_ctl::format_bytes(self.memory_bytes));
            return wrong("--node-memory", cause, "use a whole number of MiB, at least 2M");
        }
        if self.link == Link::Com2 && self.machine == Machine::Microvm {
            return wrong(
                "--link com2",
                "a microvm has one serial port".into(),
                "use --machine q35, or --link console",
            );
        }
        if self.card != Card::Virtio && (self.machine == Machine::Microvm || self.link != Link::Net) {
            let remedy = "use --machine q35 and --link net";
            return wrong(&format!("--card {}", self.card), "there is no place for this card".into(), remedy);
        }
        crate::image::check(&self.image)
    }
}

/// The names that `--help` lists and `FromStr` reads.
macro_rules! names {
    ($type:ident, $flag:literal, $($name:literal => $value:ident),+) => {
        impl $type {
            pub const NAMES: &'static [&'static str] = &[$($name),+];
        }

        impl FromStr for $type {
            type Err = Error;

            fn from_str(text: &str) -> Result<$type> {
                match text {
                    $($name => Ok($type::$value),)+
                    _ => {
                        let remedy = format!("use {}", Self::NAMES.join(", "));
                        Err(Error::new(format!("{} {text}", $flag), "no such kind", remedy).with_status(USAGE))
                    }
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $($type::$value => $name),+ })
            }
        }
    };
}

names!(Machine, "--machine", "microvm" => Microvm, "q35" => Q35);
names!(Link, "--link", "bridge" => Bridge, "net" => Net, "console" => Console, "com2" => Com2);
names!(Card, "--card", "virtio" => Virtio, "e1000e" => E1000e, "igb" => Igb);
names!(Accelerator, "--accel", "auto" => Auto, "kvm" => Kvm, "tcg" => Tcg);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_printed() {
        for name in Machine::NAMES {
            assert_eq!(name.parse::<Machine>().unwrap().to_string(), *name);
        }
        let error = "vax".parse::<Machine>().unwrap_err().to_string();
        assert_eq!(error, "--machine vax: no such kind; use microvm, q35");
    }

    #[test]
    fn what_cannot_be_started_is_refused() {
        // any ELF file
        let good = Spec::new(std::env::current_exe().unwrap());
        assert!(good.check().is_ok());
        for (bad, word) in [
            (Spec { nodes: 0, ..good.clone() }, "--nodes: 0"),
            (Spec { cpus: 65, ..good.clone() }, "--cpus: 65"),
            (Spec { memory_bytes: MIB, ..good.clone() }, "--node-memory: 1 MiB"),
            (Spec { link: Link::Com2, ..good.clone() }, "--link com2"),
            (Spec { card: Card::Igb, ..good.clone() }, "--card igb"),
            (Spec { image: "/nowhere".into(), ..good.clone() }, "/nowhere: no such file"),
        ] {
            let error = bad.check().unwrap_err().to_string();
            assert!(error.starts_with(word), "{error}");
        }
    }
}
