// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The whole machine: what the kernel's start takes from it, and its life from the boot to the end.

use super::contexts::Contexts;
use super::cpu::Cpu;
use super::devices::{Console, Network};
use super::memory::{RAM_BASE, Ram, Tables};
use super::world::{Far, Faults, Locked, World};
use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::thread;
use tacet_arch::x86_64::machine::memory::Range;
use tacet_core::Common;
use tacet_logic::static_map::Map;

/// Kernels keep their CPUs' stacks small, but a host's standard library does not.
const STACK_BYTES: usize = 1 << 20;
const TSC_KHZ: u64 = 1_000_000;

/// A machine to be.
#[derive(Debug, Clone, Copy)]
pub struct Config {
    pub cpus: usize,
    pub ram_bytes: usize,
    pub command_line: &'static str,
    pub faults: Faults,
    pub seed: u64,
    /// A turn takes so much of the clock, by which the processor's counter counts nanoseconds.
    pub turn_ns: u64,
}

/// How the machine ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// `Err`: the kernel died, or somebody would have waited for ever.
    pub end: Result<(), String>,
    pub log: Vec<String>,
    /// Bytes of RAM that each CPU has zeroed.
    pub zeroed: Vec<u64>,
    /// Instructions of programs that each CPU has executed.
    pub executed: Vec<u64>,
}

/// Boots a kernel, which begins with `main`, on a machine of its own, and waits for its end.
#[must_use]
pub fn boot(config: &Config, far: Box<dyn Far>, main: fn(Machine) -> !) -> Outcome {
    let Config { cpus, ram_bytes, command_line, faults, seed, turn_ns } = *config;
    let world = World::new(cpus, ram_bytes, command_line, far, faults, (seed, turn_ns));
    start_cpu(&world, 0, move || main(Machine { taken_bytes: 0, has_console: true }));
    let mut state = world.wait_until_all_are_done();
    let end = state.end.take().unwrap_or_else(|| Err("the machine has no end".to_owned()));
    let zeroed = state.cpus.iter().map(|cpu| cpu.zeroed).collect();
    let executed = state.cpus.iter().map(|cpu| cpu.executed).collect();
    Outcome { end, log: std::mem::take(&mut state.log), zeroed, executed }
}

fn start_cpu(world: &Arc<World>, index: usize, life: impl FnOnce() + Send + 'static) {
    let world = Arc::clone(world);
    let live = move || {
        world.enter(index);
        let lived = panic::catch_unwind(AssertUnwindSafe(|| {
            world.begin(index);
            life();
        }));
        if let Err(panicked) = lived {
            // a defect of the kernel's; the end of the history is no panic of anybody
            if let Some(why) = text(panicked.as_ref()) {
                world.end(Err(format!("CPU {index}: {why}")));
            }
        }
        world.leave(index);
    };
    thread::Builder::new().stack_size(STACK_BYTES).spawn(live).expect("a thread");
}

/// The text of a panic. The unwinding with which a history ends has none.
fn text(panicked: &(dyn Any + Send)) -> Option<String> {
    let ends = ["the history is over", "the kernel died", "the machine ended"];
    match (panicked.downcast_ref::<String>(), panicked.downcast_ref::<&str>()) {
        (Some(text), _) => Some(text.clone()),
        (_, Some(text)) if !ends.contains(text) => Some((*text).to_owned()),
        _ => None,
    }
}

pub struct Machine {
    taken_bytes: u64,
    has_console: bool,
}

impl Machine {
    pub fn option(&self, name: &str) -> Option<&'static [u8]> {
        let line = World::mine().0.lock().option_line;
        line.split(' ').filter_map(|word| word.strip_prefix(name)?.strip_prefix('=')).next_back().map(str::as_bytes)
    }

    pub fn cpus(&self) -> u32 {
        World::mine().0.lock().cpus.len() as u32
    }

    pub fn tsc_khz(&self) -> u64 {
        TSC_KHZ
    }

    pub fn entropy(&self) -> Option<[u8; 32]> {
        Some([7; 32])
    }

    pub fn free_bytes(&self) -> u64 {
        (World::mine().0.lock().ram.len() as u64).saturating_sub(self.taken_bytes)
    }

    /// The memory is the host's, and is not given back: a history's machine is small.
    pub fn keep<T>(&mut self, count: usize, make: impl FnMut(usize) -> T) -> Option<&'static mut [T]> {
        Some(Vec::leak((0..count).map(make).collect()))
    }

    pub fn keep_bytes(&mut self, bytes: usize) -> Option<&'static mut [u8]> {
        self.keep(bytes, |_| 0)
    }

    pub fn contexts(&mut self, count: u32) -> Option<Contexts> {
        Some(Contexts::new(count))
    }

    pub fn tables(&mut self, pages: u32) -> Option<Tables> {
        self.taken_bytes += u64::from(pages) * 4096;
        Some(Tables::new(pages))
    }

    pub fn network(&mut self, _: usize) -> Option<Network> {
        None
    }

    pub fn console(&mut self) -> Option<Console> {
        std::mem::take(&mut self.has_console).then_some(Console(()))
    }

    pub fn serial_link(&mut self) -> Option<Console> {
        None
    }

    pub fn ram(&mut self) -> Ram {
        let bytes = World::mine().0.lock().ram.len() as u64;
        Ram::new(vec![Range { base: RAM_BASE, bytes }].leak())
    }

    pub fn start<T: Sync>(self, shared: &'static T, main: fn(Cpu, &'static T) -> !) -> ! {
        let (world, _) = World::mine();
        let cpus = world.lock().cpus.len();
        for index in 1..cpus {
            world.lock().cpus[index].away = false;
            start_cpu(&world, index, move || main(Cpu::new(index), shared));
        }
        main(Cpu::new(0), shared)
    }
}

/// For each machine its own.
pub fn common() -> &'static Common {
    Box::leak(Box::new(Common::new()))
}

pub fn map() -> &'static Locked<Map> {
    Box::leak(Box::new(Locked::new(Map::EMPTY)))
}
