// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The node's settings, from the command line of its kernel. Read once at the start; a setting that is wrong or missing
//! ends the node with one line.

use crate::machine::{Machine, die};
use tacet_wire::key::Key;

#[derive(Clone)]
pub struct Settings {
    /// The node's number in its set.
    pub node: u32,
    pub key: Key,
    /// Where the daemon listens.
    pub daemon_port: u16,
    /// CPU 0 gets no program's threads: it looks after the link while the others compute.
    pub service_cpu: bool,
    /// The CPUs' records are written to the serial port.
    pub verbose: bool,
}

impl Settings {
    pub fn read(machine: &Machine) -> Self {
        let node = machine.option("tacet.node").map_or(Some(0), number);
        let Some(node) = node.and_then(|node| u32::try_from(node).ok()) else {
            die(format_args!("tacet.node: not a number"));
        };
        let Some(digits) = machine.option("tacet.key") else {
            die(format_args!("tacet.key: missing; 64 hexadecimal digits"));
        };
        let Some(key) = Key::from_hex(digits) else {
            die(format_args!("tacet.key: not 64 hexadecimal digits"));
        };
        let port = machine.option("tacet.iod").and_then(|place| number(place.rsplit(|&byte| byte == b':').next()?));
        let Some(daemon_port) = port.and_then(|port| u16::try_from(port).ok()) else {
            die(format_args!("tacet.iod: missing, or no ADDRESS:PORT"));
        };
        let is_set = |name| machine.option(name) == Some(b"1");
        let service_cpu = is_set("tacet.service_cpu");
        if service_cpu && machine.cpus() < 2 {
            die(format_args!("tacet.service_cpu: the node's only CPU must execute programs"));
        }
        Self { node, key, daemon_port, service_cpu, verbose: is_set("tacet.verbose") }
    }
}

/// A decimal number.
pub fn number(digits: &[u8]) -> Option<u64> {
    core::str::from_utf8(digits).ok()?.parse().ok()
}
