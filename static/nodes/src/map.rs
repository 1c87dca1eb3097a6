// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The static memory map of a program on a node, computed here with the node's own partitioning step.
//!
//! Called by `tacet static map`, and by `run` before a job starts. The node's map may differ in its last mebibytes: the
//! kernel's own memory there is an estimate here.

use tacet_ctl::status::USAGE;
use tacet_ctl::{Error, Result, format_bytes};
use tacet_logic::static_map::{self, Map, PROCESSES, Range, Refused, Request};

use crate::program::{Found, NOT_EXECUTABLE};
use crate::spec::Machine;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// An emulated node's kernel lies from 1 MiB on; what it needs for each CPU, for page tables and for contexts follows.
const KERNEL_END: u64 = 2 * MIB;
/// A heap with stacks below this does not hold the C library's first allocations and a stack.
const LEAST_HEAP: u64 = 128 << 10;

/// The memory of one node, and of the processes there.
#[derive(Debug, Clone)]
pub struct Node {
    pub memory_bytes: u64,
    pub machine: Machine,
    /// Bytes of each process; 0: an even share of what is left.
    pub shares: Vec<u64>,
    pub shared_bytes: u64,
}

/// Where everything lies, or why it does not fit.
pub fn of(found: &Found, node: &Node) -> Result<Box<Map>> {
    if !(1..=PROCESSES).contains(&node.shares.len()) {
        let remedy = format!("use 1 to {PROCESSES}");
        return Err(
            Error::new("--processes", format!("{} is not possible", node.shares.len()), remedy).with_status(USAGE)
        );
    }
    let mut map = Box::new(Map::EMPTY);
    let ranges = ranges(node);
    let request = Request {
        program: &found.program,
        interpreter: found.interpreter.as_ref().map(|(_, program)| program),
        shares: &node.shares,
        shared_bytes: node.shared_bytes,
        least_heap_bytes: LEAST_HEAP,
        ranges: &ranges,
    };
    static_map::partition(&request, &mut map).map_err(|refused| {
        let remedy = match refused {
            Refused::Missing(_) | Refused::Share { .. } => "give the node more (--node-memory), or the processes less",
            _ => "",
        };
        let object = format!("{} on a node of {}", found.path.display(), format_bytes(node.memory_bytes));
        // the program itself asks for such an address
        let status = if let Refused::Address(_) = refused { NOT_EXECUTABLE } else { USAGE };
        Error::new(object, refused, remedy).with_status(status)
    })?;
    Ok(map)
}

/// The memory of an emulated node that its kernel does not use. Above 4 GiB lies what has no place below devices.
fn ranges(node: &Node) -> Vec<Range> {
    let below = match node.machine {
        Machine::Microvm => 3 * GIB,
        Machine::Q35 if node.memory_bytes >= 0xb000_0000 => 2 * GIB,
        Machine::Q35 => 0xb000_0000,
    };
    let low = node.memory_bytes.min(below);
    let mut ranges = vec![Range { address: KERNEL_END, bytes: low.saturating_sub(KERNEL_END) }];
    if node.memory_bytes > low {
        ranges.push(Range { address: 4 * GIB, bytes: node.memory_bytes - low });
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program;
    use std::ffi::OsStr;

    fn own(memory_bytes: u64, shares: &[u64]) -> Result<Box<Map>> {
        let own = std::env::current_exe().unwrap();
        let found = program::find(own.as_os_str(), OsStr::new("")).unwrap();
        let node = Node { memory_bytes, machine: Machine::Microvm, shares: shares.to_vec(), shared_bytes: MIB };
        of(&found, &node)
    }

    #[test]
    fn a_program_has_a_map() {
        let map = own(GIB, &[0, 0]).unwrap();
        let table = map.table().to_string();
        assert_eq!(map.processes(), 2);
        assert!(table.contains("text") && table.contains("shared") && table.contains("TLB entries"), "{table}");
    }

    #[test]
    fn what_does_not_fit_says_how_much_is_missing() {
        let error = own(64 * MIB, &[512 * MIB, 0]).err().unwrap().to_string();
        assert!(error.contains("on a node of 64 MiB: heap of process 0: "), "{error}");
        assert!(error.contains("KiB are missing") && error.ends_with("or the processes less"), "{error}");
        assert!(own(64 * MIB, &[]).is_err());
    }

    #[test]
    fn memory_beyond_the_devices_lies_above_four_gibibytes() {
        let node = |machine| Node { memory_bytes: 5 * GIB, machine, shares: vec![0], shared_bytes: 0 };
        let above = ranges(&node(Machine::Microvm))[1];
        assert_eq!((above.address, above.bytes), (4 * GIB, 2 * GIB));
        assert_eq!(ranges(&node(Machine::Q35))[1].bytes, 3 * GIB);
    }
}
