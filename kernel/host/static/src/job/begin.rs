// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The beginning of processes and of their first threads: who they are, on which CPUs, and with which stack.
//!
//! Called by CPU 0 (`mod.rs`, `loader.rs`) while no process runs.

use crate::base::layout::PAGE_BYTES;
use crate::base::user_memory::UserMemory;
use crate::base::{StaticHost, Subject};
use crate::threads::places::mask_of;
use core::arch::x86_64::__cpuid;
use core::sync::atomic::Ordering;
use tacet_logic::addresses::{Content, Placement};
use tacet_logic::elf::Program;
use tacet_logic::paging::Protection;
use tacet_logic::process_image::{Image, Sink, write};
use tacet_logic::text::Text;
use tacet_wire::job::Job;
use tacet_wire::key::Key;

/// One line about why a job cannot run.
pub type Failure = Text<112>;

/// Of a first thread, if the job does not say; less if the heap is small.
const STACK_BYTES: u64 = 8 << 20;
const STACK_PART: u64 = 8;
/// Of a signal frame, besides the extended state.
const SIGNAL_FRAME_BYTES: u64 = 1024;

/// A process's memory, for its first stack.
struct Stack<'a>(UserMemory<'a>);

impl Sink for Stack<'_> {
    fn write(&mut self, address: u64, bytes: &[u8]) -> Option<()> {
        self.0.fill(address, bytes)
    }
}

impl StaticHost {
    /// Gives each process its CPUs and its first thread.
    pub fn make_processes(&self, job: &Job<'_>, key: &Key, count: usize) -> Result<(), Failure> {
        let cpus = self.node.program_cpus();
        for (index, (process, described)) in self.node.processes.iter().zip(job.processes.iter()).enumerate() {
            process.key.with(|own| *own = key.clone());
            process.port.store(described.port.into(), Ordering::Relaxed);
            process.process_id.store(described.process_id, Ordering::Relaxed);
            process.rank.store(job.first_rank + index as u32, Ordering::Relaxed);
            let share = |index: usize| index * cpus.len() / count;
            let (first, end) = (cpus.start as usize + share(index), cpus.start as usize + share(index + 1));
            process.first_cpu.store(first as u32, Ordering::Relaxed);
            process.cpu_count.store((end - first) as u32, Ordering::Relaxed);
            let (number, thread) = self.take_thread().ok_or_else(|| {
                Failure::format(format_args!("{count} processes: too little memory for their threads"))
            })?;
            process.leader.store(number, Ordering::Relaxed);
            process.threads.store(1, Ordering::Relaxed);
            process.next_serial.store(1, Ordering::Relaxed);
            thread.serial.store(0, Ordering::Relaxed);
            thread.process.store(index as u32, Ordering::Relaxed);
            thread.process_id.store(described.process_id as i32, Ordering::Relaxed);
            thread.id.store(described.process_id as i32, Ordering::Relaxed);
            thread.home.store(first as u32, Ordering::Relaxed);
            thread.affinity.with(|own| *own = mask_of(process.cpus()));
            if let Some(cpu) = self.node.cpu(first as u32) {
                cpu.threads.fetch_add(1, Ordering::AcqRel);
            }
        }
        Ok(())
    }

    /// The first thread of a process.
    pub fn leader(&self, index: usize) -> Option<Subject<'static>> {
        let process = self.node.process(index)?;
        Some(self.subject(process.leader.load(Ordering::Relaxed)))
    }

    /// Makes the first thread's stack and registers.
    pub fn prepare_start(
        &self,
        leader: &Subject<'_>,
        job: &Job<'_>,
        index: usize,
        program: &Program,
        interpreter: Option<&Program>,
    ) -> Result<(), Failure> {
        let fail = |text: &str| Failure::format(format_args!("process {index}: {text}"));
        let (bottom, top) = self.make_stack(leader, job).ok_or_else(|| fail("no memory for its stack"))?;
        if !self.contexts.take(leader.number, &self.cpu) {
            return Err(fail("no registers for its thread"));
        }
        let context = self.context(leader.number);
        context.reset();
        let (program_place, interpreter_place) =
            self.node.map.with(|map| (map.program_place(), map.interpreter_place()));
        let mut random = [0; 16];
        random.iter_mut().zip(job.seed).for_each(|(byte, seed)| *byte = seed ^ index as u8);
        let image = Image {
            program,
            program_place,
            interpreter_place: interpreter.map_or(0, |_| interpreter_place),
            path: job.program,
            platform: b"x86_64",
            hardware: [__cpuid(1).edx.into(), 0],
            least_signal_stack_bytes: SIGNAL_FRAME_BYTES + context.extended_bytes() as u64,
            user: job.user.uid,
            effective_user: job.user.euid,
            group: job.user.gid,
            effective_group: job.user.egid,
            random,
        };
        let mut sink = Stack(leader.memory);
        let rank = Text::<24>::format(format_args!("TACET_RANK={}", u64::from(job.first_rank) + index as u64));
        let ranks = Text::<24>::format(format_args!("TACET_RANKS={}", job.ranks));
        let environment = job.environment.iter().chain([rank.as_bytes(), ranks.as_bytes()]);
        let stack = write(&image, job.arguments.iter(), environment, (bottom, top), &mut sink)
            .map_err(|failure| Failure::format(format_args!("process {index}: {failure}")))?;
        let mut registers = context.registers();
        registers.rsp = stack;
        registers.rip = match interpreter {
            Some(interpreter) => interpreter_place.wrapping_add(interpreter.entry),
            None => program_place.wrapping_add(program.entry),
        };
        let set = context.set_registers(&registers);
        self.contexts.release(leader.number, &self.cpu);
        if set { Ok(()) } else { Err(fail("its entry is not an address of programs")) }
    }

    /// The stack's bottom and top; a page below it can not be touched.
    fn make_stack(&self, leader: &Subject<'_>, job: &Job<'_>) -> Option<(u64, u64)> {
        leader.process.memory.with(|layout| {
            let top = layout.heap.end;
            let heap_bytes = layout.heap.end - layout.heap.start;
            let bytes = match job.stack_bytes {
                0 => STACK_BYTES.min(heap_bytes / STACK_PART),
                bytes => bytes,
            };
            let bottom = top.checked_sub(bytes)? & !(PAGE_BYTES - 1);
            let guard = bottom.checked_sub(PAGE_BYTES).filter(|&guard| guard > layout.heap.start)?;
            let mut failed = false;
            let protect = |change: tacet_logic::addresses::Change| {
                let protected = leader
                    .process
                    .space
                    .with(|space| space.as_mut()?.protect(change.address, change.bytes, change.protection).ok());
                failed |= protected.is_none();
            };
            let own = |rights| (rights, Content::Own);
            layout.addresses.map(Placement::Fixed(bottom), top - bottom, own(Protection::READ_WRITE), |_| {}).ok()?;
            layout.addresses.map(Placement::Fixed(guard), PAGE_BYTES, own(Protection::NONE), protect).ok()?;
            (!failed).then_some((bottom, top))
        })
    }

    /// Hands the first threads over to their CPUs.
    pub fn post_leaders(&self) {
        let count = self.node.living.load(Ordering::Acquire) as usize;
        for process in self.node.processes.iter().take(count) {
            self.node.post(process.leader.load(Ordering::Relaxed), &self.cpu);
        }
    }

    /// After a job, or one that could not be loaded: nobody has a thread, nor its registers.
    pub fn forget_threads(&self) {
        for (number, thread) in (0..).zip(self.node.threads) {
            // A process that could not be made ready may still have its first thread's here.
            self.contexts.release(number, &self.cpu);
            thread.free();
        }
        for cpu in self.node.cpus {
            cpu.threads.store(0, Ordering::Release);
            cpu.guest.with(|guest| *guest = (0, 0));
        }
    }
}
