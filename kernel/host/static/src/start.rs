// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The node's beginning: its settings, its memory, its link, then all CPUs. CPU 0 leads (`job/`); the others serve
//! whenever there is a job.

use crate::base::StaticHost;
use crate::base::layout::{Layout, PAGE_BYTES};
use crate::base::node::{CALLS, Clock, CpuState, JobState, Node, Program, Zeroing};
use crate::base::process::Process;
use crate::base::settings::Settings;
use crate::base::thread::ThreadState;
use crate::job;
use crate::link::Link;
use crate::link::session::{Session, Watch};
use crate::machine::{self, Cpu};
use crate::machine::{Locked, Machine, die};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use tacet_arch::Processor;
use tacet_core::{THREADS, request};
use tacet_logic::run_queue::RunQueue;
use tacet_logic::static_map::PROCESSES;
use tacet_wire::packet::MESSAGE_BYTES;

/// Of the memory, one part in so many is for threads' registers, and for page tables.
const THREADS_PART: u64 = 32;
const TABLES_PART: u64 = 128;
const THREAD_BYTES: u64 = 16 << 10;
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
    let link = Link::open(machine, cpus)?;
    let spares = machine.keep(link.spares(), |_| AtomicBool::new(false))?;
    let states = machine.keep(cpus, |_| make_cpu_state())?;
    let threads = machine.keep(threads as usize, |_| ThreadState::new())?;
    let processes = make_processes(machine, (cpus - usize::from(settings.service_cpu)).min(PROCESSES))?;
    let description = Locked::new(machine.keep_bytes(MESSAGE_BYTES)?);
    let scratch = Locked::new(machine.keep_bytes(job::SCRATCH_BYTES)?);
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
        watch: Locked::new(Watch::NONE),
        spares,
        next_look: AtomicU64::new(0),
        map: machine::map(),
        common: machine::common(),
        description,
        scratch,
        program: Locked::new(Program::NONE),
        job: Locked::new(JobState::NONE),
        clock: Clock::new(),
        generation: AtomicU32::new(0),
        zeroing: Zeroing::new(),
        parked: AtomicU32::new(0),
        living: AtomicU32::new(0),
        corrected: AtomicU64::new(0),
        silent: Locked::new(None),
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
    let apart_bytes = heap_bytes / 4;
    let mut rest = machine.keep_bytes(count * (heap_bytes + 2 * apart_bytes))?;
    let mut take = |bytes| rest.split_off_mut(..bytes).unwrap_or_default();
    let processes =
        machine.keep(count, |_| Process::new(Layout::new(take(heap_bytes), take(apart_bytes), take(apart_bytes))))?;
    Some(processes)
}

fn make_cpu_state() -> CpuState {
    CpuState {
        inbox: Locked::new(RunQueue::new()),
        threads: AtomicU32::new(0),
        guest: Locked::new((0, 0)),
        calls: Locked::new([const { None }; CALLS]),
    }
}

/// A CPU's life.
fn serve(cpu: Cpu, node: &'static Node) -> ! {
    let leads = cpu.index() == 0;
    if leads {
        cpu.listen_to_link(request::POSTED);
    }
    let mut core = tacet_core::Cpu::new(StaticHost::new(cpu, node));
    if leads {
        job::lead(&mut core);
    }
    let (mut seen, mut zeroed) = (0, 0);
    loop {
        let cpu = &core.host().cpu;
        let taken = loop {
            // What is asked between jobs is about threads that are nobody's, and would end each halt at once. Taken before
            // the look: a job that begins now ends the halt.
            let taken = cpu.take_attention();
            core.host().zero_if_called(&mut zeroed);
            if node.generation.load(Ordering::Acquire) != seen {
                break taken;
            }
            cpu.halt(None);
        };
        // What was taken may have been the job's: its beginning, and, of a CPU that slept through all of it, its end.
        cpu.call(cpu.index(), taken | request::POSTED);
        seen = node.generation.load(Ordering::Acquire);
        core.run();
        core.host().count_corrected();
        node.parked.fetch_add(1, Ordering::AcqRel);
    }
}
