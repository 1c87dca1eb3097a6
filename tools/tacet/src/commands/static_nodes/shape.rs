// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From flags to the description of emulated nodes and of their memory.
//!
//! Called by the other files of this folder.

use std::path::Path;

use tacet_ctl::status::USAGE;
use tacet_ctl::{Error, Machine, Result, parse_bytes};
use tacet_static::{Link, Spec, image};

use crate::args::StaticArgs;

/// Memory of an emulated node, unless a job needs more.
pub const NODE_MEMORY: u64 = 256 << 20;
/// The kernel's own share of a node's memory, rounded up.
const KERNEL_MEMORY: u64 = 16 << 20;

/// Memory that a job asks for: of each process of a node, or evenly (0), and of all together.
pub struct Memory {
    pub processes: Vec<u64>,
    pub shared: u64,
}

impl Memory {
    pub fn parse(list: &[String], shared: &str, processes: u32) -> Result<Memory> {
        let sizes = list.iter().map(|text| parse_bytes(text)).collect::<Result<Vec<u64>>>().map_err(wrong)?;
        let processes = match (sizes.as_slice(), processes as usize) {
            ([], _) => Vec::new(),
            ([one], count) => vec![*one; count],
            (several, count) if several.len() == count => several.to_vec(),
            (several, count) => {
                let cause = format!("{} sizes for {count} processes of a node", several.len());
                return Err(wrong(Error::new("--process-memory", cause, "give one size, or one for each process")));
            }
        };
        Ok(Memory { processes, shared: parse_bytes(shared).map_err(wrong)? })
    }

    /// For each process of a node; 0: an even share.
    pub fn shares(&self, processes: u32) -> Vec<u64> {
        if self.processes.is_empty() { vec![0; processes as usize] } else { self.processes.clone() }
    }

    /// An emulated node that has it.
    fn node(&self) -> u64 {
        if self.processes.is_empty() {
            return NODE_MEMORY.max(self.shared + KERNEL_MEMORY + NODE_MEMORY / 2);
        }
        (self.processes.iter().sum::<u64>() + self.shared + KERNEL_MEMORY).next_multiple_of(1 << 20)
    }
}

/// The emulated nodes that the flags describe.
pub fn describe(nodes: u32, args: &StaticArgs, processes: u32, memory: Option<&Memory>) -> Result<Spec> {
    let path = match &args.image {
        Some(path) => absolute(path)?,
        None => image::find()?,
    };
    let mut spec = Spec::new(path);
    spec.nodes = nodes;
    spec.service_cpu = args.service_cpu;
    spec.cpus = args.cpus.unwrap_or(processes) + u32::from(args.service_cpu);
    spec.memory_bytes = match &args.node_memory {
        Some(text) => parse_bytes(text).map_err(wrong)?,
        None => memory.map_or(NODE_MEMORY, Memory::node),
    };
    Machine::default().can_emulate(spec.memory_bytes)?;
    spec.machine = parse(args.machine.as_deref())?;
    spec.link = match (&args.link, &args.card) {
        (None, Some(_)) => Link::Net,
        (link, _) => parse(link.as_deref())?,
    };
    spec.card = parse(args.card.as_deref())?;
    spec.accelerator = parse(args.accel.as_deref())?;
    spec.qemu = args.qemu.as_deref().map(absolute).transpose()?;
    let words = args.emulator_arguments.as_deref().unwrap_or_default();
    spec.emulator_arguments = words.split_whitespace().map(str::to_owned).collect();
    spec.check()?;
    Ok(spec)
}

fn parse<T: Default + std::str::FromStr<Err = Error>>(text: Option<&str>) -> Result<T> {
    text.map_or_else(|| Ok(T::default()), |text| text.parse().map_err(wrong))
}

/// The keeper of the nodes has another working directory.
fn absolute(path: &Path) -> Result<std::path::PathBuf> {
    path.canonicalize().map_err(|io| wrong(Error::io(path.display(), &io, "name a file that exists")))
}

pub fn wrong(error: Error) -> Error {
    error.with_status(USAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_memory(list: &[&str], processes: u32) -> Result<Memory> {
        let list: Vec<String> = list.iter().map(|text| (*text).to_owned()).collect();
        Memory::parse(&list, "16M", processes)
    }

    #[test]
    fn one_size_is_for_every_process() {
        assert_eq!(parse_memory(&["1G"], 2).unwrap().processes, [1 << 30, 1 << 30]);
        assert_eq!(parse_memory(&["2G", "1G"], 2).unwrap().processes, [2 << 30, 1 << 30]);
        assert!(parse_memory(&[], 2).unwrap().processes.is_empty());
        let error = parse_memory(&["2G", "1G"], 3).err().unwrap();
        assert_eq!(
            error.to_string(),
            "--process-memory: 2 sizes for 3 processes of a node; give one size, or one for each process"
        );
    }

    #[test]
    fn a_node_has_what_its_processes_ask_for() {
        let memory = parse_memory(&["1G"], 2).unwrap();
        assert_eq!(memory.node(), (2 << 30) + (32 << 20));
        assert_eq!(parse_memory(&[], 2).unwrap().node(), 256 << 20);
    }
}
