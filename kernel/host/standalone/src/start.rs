// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The node's beginning: its settings, its memory, its link, then all CPUs. CPU 0 leads (`job.rs`); the others serve
//! whenever there is a job.

use crate::exchange::Exchange;
use crate::host::Alone;
use crate::job;
use crate::lead::Session;
use crate::link::Link;
use crate::memory::Layout;
use crate::network::Endpoint;
use crate::node::{Clock, CpuState, JobState, MAP, Node, Program};
use crate::outstanding::{CALLS, Spare};
use crate::process::Process;
use crate::settings::Settings;
use crate::thread::ThreadState;
use crate::watch::Watch;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use tacet_arch::Processor;
use tacet_arch::native::Cpu;
use tacet_arch::native::alone::{Locked, Machine, die};
use tacet_core::{THREADS, request};
use tacet_logic::elf::HEAD_BYTES;
use tacet_logic::run_queue::RunQueue;
use tacet_logic::static_map::PROCESSES;
use tacet_shipping::packet::{LARGE_PACKET_BYTES, MESSAGE_BYTES};

/// Of the memory, one part in so many is for threads' registers, and for page tables.
const THREADS_PART: u64 = 32;
const TABLES_PART: u64 = 128;
const THREAD_BYTES: u64 = 16 << 10;
const PAGE_BYTES: u64 = 4096;
/// The same for exchanges of calls that are shipped while others run, and their number at most.
const SPARES_PART: u64 = 64;
const MOST_SPARES: u64 = 128;
/// The same for what the processes remember of their mappings: for each as many as on Linux at most (65,530, of nine bytes),
/// and as many as two pages have room for at least.
const MAPPINGS_PART: u64 = 512;
const LEAST_MAPPINGS_BYTES: u64 = 2 * PAGE_BYTES;
const MOST_MAPPINGS_BYTES: u64 = 65_530 * 9;
/// Threads and page tables that every node has.
const LEAST_THREADS: u64 = 8;
const LEAST_TABLES: u64 = 48;

/// Called once, by the image, before any other CPU runs.
pub fn main(mut machine: Machine) -> ! {
    let settings = Settings::read(&machine);
    let (cpus, free) = (machine.cpus(), machine.free_bytes());
    let Some(node) = make_node(&mut machine, settings) else {
        die(format_args!("{} KiB of memory are too few for {cpus} CPUs", free >> 10));
    };
    let ram = machine.ram();
    node.ram.with(|own| *own = Some(ram));
    machine.start(node, serve)
}

/// `None`: too little memory.
fn make_node(machine: &mut Machine, settings: Settings) -> Option<&'static Node> {
    let cpus = machine.cpus() as usize;
    let free_bytes = machine.free_bytes();
    let threads = (free_bytes / THREADS_PART / THREAD_BYTES).clamp(LEAST_THREADS + cpus as u64, THREADS as u64);
    let tables = (free_bytes / TABLES_PART / PAGE_BYTES).max(LEAST_TABLES);
    let contexts = machine.contexts(threads as u32)?;
    let tables = machine.tables(tables as u32)?;
    let endpoint = Endpoint::open(machine);
    let large = endpoint.takes_large_packets();
    let link = Locked::new(Link::new(machine, endpoint)?);
    let watch = Locked::new(Watch::new(Exchange::new(machine, cpus as u16, large)?));
    let states = make_cpu_states(machine, cpus, large)?;
    let spares = make_spares(machine, cpus, large)?;
    let threads = machine.keep(threads as usize, |_| ThreadState::new())?;
    let processes = make_processes(machine, cpus.min(PROCESSES))?;
    let description = Locked::new(machine.keep_bytes(MESSAGE_BYTES)?);
    let scratch = Locked::new(machine.keep_bytes(HEAD_BYTES)?);
    let session = Locked::new(Session::new(&settings.key, machine.entropy()));
    let mut node = Some(Node {
        settings,
        free_bytes,
        cpus: states,
        threads,
        processes,
        contexts,
        tables,
        ram: Locked::new(None),
        link,
        session,
        watch,
        spares,
        next_look: AtomicU64::new(0),
        map: &MAP,
        description,
        scratch,
        program: Locked::new(Program::NONE),
        job: Locked::new(JobState::NONE),
        clock: Clock::new(),
        generation: AtomicU32::new(0),
        parked: AtomicU32::new(0),
        living: AtomicU32::new(0),
    });
    match machine.keep(1, |_| node.take())? {
        [Some(node)] => Some(node),
        _ => None,
    }
}

/// Processes, with memory for what they remember of their mappings: a part of what there is.
fn make_processes(machine: &mut Machine, count: usize) -> Option<&'static [Process]> {
    let part = machine.free_bytes() / MAPPINGS_PART / count.max(1) as u64;
    let heap_bytes = part.clamp(LEAST_MAPPINGS_BYTES, MOST_MAPPINGS_BYTES) as usize;
    let reserved_bytes = heap_bytes / 4;
    let mut rest = machine.keep_bytes(count * (heap_bytes + reserved_bytes))?;
    let mut take = |bytes| rest.split_off_mut(..bytes).unwrap_or_default();
    let processes = machine.keep(count, |_| Process::new(Layout::new(take(heap_bytes), take(reserved_bytes))))?;
    Some(processes)
}

/// Exchanges for calls that are shipped while others run: as many as the memory allows.
fn make_spares(machine: &mut Machine, cpus: usize, large_packets: bool) -> Option<&'static [Option<Spare>]> {
    let bytes = (MESSAGE_BYTES + LARGE_PACKET_BYTES) as u64;
    let count = (machine.free_bytes() / SPARES_PART / bytes).min(MOST_SPARES) as usize;
    let spares = machine.keep(count, |_| None)?;
    for (number, spare) in spares.iter_mut().enumerate() {
        let exchange = Exchange::new(machine, (cpus + 1 + number) as u16, large_packets)?;
        *spare = Some(Spare { exchange: Locked::new(exchange), taken: AtomicBool::new(false) });
    }
    Some(spares)
}

fn make_cpu_states(machine: &mut Machine, cpus: usize, large_packets: bool) -> Option<&'static [Option<CpuState>]> {
    let states = machine.keep(cpus, |_| None)?;
    for (slot, state) in (0..).zip(states.iter_mut()) {
        *state = Some(CpuState {
            inbox: Locked::new(RunQueue::new()),
            threads: AtomicU32::new(0),
            guest: Locked::new((0, 0)),
            exchange: Locked::new(Exchange::new(machine, slot, large_packets)?),
            calls: Locked::new([const { None }; CALLS]),
        });
    }
    Some(states)
}

/// A CPU's life.
fn serve(cpu: Cpu, node: &'static Node) -> ! {
    let leads = cpu.index() == 0;
    if leads {
        cpu.listen_to_link(request::POSTED);
    }
    let mut core = tacet_core::Cpu::new(Alone::new(cpu, node));
    if leads {
        job::lead(&mut core);
    }
    let mut seen = 0;
    loop {
        while node.generation.load(Ordering::Acquire) == seen {
            core.host().cpu.halt(None);
        }
        seen = node.generation.load(Ordering::Acquire);
        core.run();
        node.parked.fetch_add(1, Ordering::AcqRel);
    }
}
