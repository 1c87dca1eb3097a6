// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Loads and attaches the BPF programs, and fetches their events. When the tracer is dropped, or its process ends in
//! any way, the kernel removes the programs.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::rc::Rc;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Func, Typedef};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, MapType, Object, ObjectBuilder, OpenObject, RingBuffer};
use libbpf_rs::{RingBufferBuilder, libbpf_sys};

use super::attribute::Ran;
use super::clock::Clock;
use super::event::{Event, Task, text};
use super::names::{Symbols, Units};
use super::sources::{Identity, Namer, Tables};
use tacet_words::Failure;

use crate::Result;

const PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/trace.bpf.o"));
/// Size of a ring: some ten thousand events. It is emptied four times a second.
const RING_BYTES: u32 = 1 << 20;
/// The most events that are kept: they take 600 MB during attribution. Events beyond are counted as lost.
const EVENTS_LIMIT: usize = 1 << 23;
/// The programs have room for this many CPUs.
const CPUS_LIMIT: u32 = 4096;

/// An event and its source.
struct Seen {
    cpu: u32,
    source: u32,
    event: Event,
}

pub struct Tracer {
    object: Object,
    links: Vec<Link>,
    rings: RingBuffer<'static>,
    arrived: Rc<RefCell<Vec<(u32, Event)>>>,
    cpus: Vec<u32>,
    namer: Namer,
    sources: HashMap<Identity, u32>,
    seen: Vec<Seen>,
    dropped: u64,
    clock: Clock,
    pub unobserved: Vec<String>,
}

impl Tracer {
    /// Begins to trace everything on `cpus` except the measuring threads of this process.
    pub fn begin(cpus: &[u32]) -> Result<Tracer> {
        if let Some(cpu) = cpus.iter().find(|cpu| **cpu >= CPUS_LIMIT) {
            return Err(format!("cpu {cpu}: tracing supports only CPUs below {CPUS_LIMIT}").into());
        }
        libbpf_rs::set_print(None);
        let (object, mut unobserved) = load()?;
        let arrived = Rc::new(RefCell::new(Vec::new()));
        let rings = rings(&object, cpus, &arrived)?;
        choose(&object, cpus)?;
        let (mut links, mut refused) = (Vec::new(), Vec::new());
        for program in object.progs_mut().filter(|program| program.autoload()) {
            let section = program.section().to_string_lossy().into_owned();
            match program.attach() {
                Ok(link) => links.push(link),
                Err(error) if section.starts_with("tp_btf/") => {
                    return Err(Failure::machine(format!("{section}: cannot attach the program: {error}")).into());
                }
                Err(_) => refused.push(section),
            }
        }
        unobserved.extend(refused.iter().map(|section| absent(section)));
        unobserved.sort();
        unobserved.dedup();
        let mut clock = Clock::default();
        clock.note()?;
        let namer = Namer::new(Symbols::of_this_kernel(), Units::of_this_machine());
        Ok(Tracer {
            object,
            links,
            rings,
            arrived,
            cpus: cpus.to_vec(),
            namer,
            sources: HashMap::new(),
            seen: Vec::new(),
            dropped: 0,
            clock,
            unobserved,
        })
    }

    /// Fetches the events in the rings. Must be called several times a second.
    pub fn fetch(&mut self) -> Result<()> {
        self.clock.note()?;
        self.rings.consume()?;
        let tables = Maps::of(&self.object)?;
        for (cpu, event) in self.arrived.borrow_mut().drain(..) {
            let Some(identity) = self.namer.identity(cpu, &event, &tables) else { continue };
            let next = self.sources.len() as u32;
            let source = *self.sources.entry(identity).or_insert(next);
            if self.seen.len() < EVENTS_LIMIT {
                self.seen.push(Seen { cpu, source, event });
            } else {
                self.dropped += 1;
            }
        }
        Ok(())
    }

    /// Ends the trace. Returns the runs, in nanoseconds since `origin_ticks`, their sources, and the number of lost
    /// events.
    pub fn end(mut self, origin_ticks: u64, ticks_per_second: f64) -> Result<(Vec<Ran>, Vec<Identity>, u64)> {
        self.links.clear();
        self.fetch()?;
        let ns = |monotonic_ns: u64| {
            let ticks = self.clock.ticks(monotonic_ns) - origin_ticks as i64;
            (ticks as f64 * 1e9 / ticks_per_second).round() as i64
        };
        let ran = self.seen.iter().map(|seen| Ran {
            cpu: seen.cpu,
            source: seen.source,
            start_ns: ns(seen.event.start_ns),
            gross_ns: seen.event.gross_ns,
            net_ns: seen.event.net_ns,
            begins: !seen.event.continued,
        });
        let ran = ran.collect();
        let lost = self.dropped + lost(&self.object, &self.cpus)?;
        let mut sources: Vec<(Identity, u32)> = self.sources.into_iter().collect();
        sources.sort_by_key(|(_, number)| *number);
        Ok((ran, sources.into_iter().map(|(identity, _)| identity).collect(), lost))
    }
}

/// Loads the programs that this kernel can run. Also returns what this kernel cannot observe.
fn load() -> Result<(Object, Vec<String>)> {
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        let why = "/sys/kernel/btf/vmlinux: not found: tracing needs a kernel with CONFIG_DEBUG_INFO_BTF";
        return Err(Failure::machine(why).into());
    }
    let kernel = Btf::from_vmlinux().map_err(|error| Failure::machine(format!("/sys/kernel/btf/vmlinux: {error}")))?;
    // Some kernels have tracepoints but do not allow tracing functions.
    load_without(&kernel, "").or_else(|_| load_without(&kernel, "f")).map_err(|error| {
        let why = if nix::unistd::geteuid().is_root() {
            format!("tracing: the kernel refuses the programs: {error}")
        } else {
            "tracing: not permitted: it needs root (CAP_BPF, CAP_PERFMON and CAP_SYSLOG)".to_owned()
        };
        Failure::machine(why).into()
    })
}

/// Loads without the programs whose section begins with `left_out`; an empty `left_out` leaves none out.
fn load_without(kernel: &Btf<'_>, left_out: &str) -> Result<(Object, Vec<String>)> {
    let mut object = open()?;
    let mut unobserved = Vec::new();
    for mut program in object.progs_mut() {
        let section = program.section().to_string_lossy().into_owned();
        if is_superseded(kernel, &section) {
            program.set_autoload(false);
        } else if !has(kernel, &section) || (!left_out.is_empty() && section.starts_with(left_out)) {
            program.set_autoload(false);
            unobserved.extend(is_expected(&section).then(|| absent(&section)));
        }
    }
    Ok((object.load()?, unobserved))
}

/// Whether the kernel has a better way: newer kernels have tracepoints for what older ones show only as functions.
fn is_superseded(kernel: &Btf<'_>, section: &str) -> bool {
    let has_tracepoint = has(kernel, "tp_btf/ipi_send_cpu");
    section.starts_with("fentry/native_") && has_tracepoint || section.contains("/ipi_send_") && !has_tracepoint
}

fn open() -> Result<OpenObject> {
    Ok(ObjectBuilder::default().open_memory(PROGRAMS)?)
}

fn has(kernel: &Btf<'_>, section: &str) -> bool {
    match section.split_once('/') {
        Some(("tp_btf", name)) => kernel.type_by_name::<Typedef<'_>>(&format!("btf_trace_{name}")).is_some(),
        Some((_, name)) => kernel.type_by_name::<Func<'_>>(name).is_some(),
        None => false,
    }
}

/// Whether kernels of this architecture should have it. Only some processors have the interrupts for machine errors.
fn is_expected(section: &str) -> bool {
    if ["threshold_apic", "deferred_error_apic"].iter().any(|name| section.contains(name)) {
        return false;
    }
    let of_x86 = ["local_timer", "reschedule", "call_function", "irq_work", "_apic", "x86_platform", "nmi_", "native_"];
    let is_x86 = of_x86.iter().any(|part| section.contains(part));
    let is_arm = ["tp_btf/ipi_entry", "tp_btf/ipi_exit"].contains(&section);
    if cfg!(target_arch = "x86_64") { !is_arm } else { !is_x86 }
}

fn absent(section: &str) -> String {
    match section.split_once('/') {
        Some(("tp_btf", name)) => {
            let name = name.trim_end_matches("_entry").trim_end_matches("_exit");
            format!("this kernel has no tracepoint {name}")
        }
        Some((_, "handle_mm_fault")) => {
            "this kernel does not allow tracing handle_mm_fault: page faults are not seen".into()
        }
        Some((_, name)) => format!("this kernel does not allow tracing {name}: some senders of interrupts are unknown"),
        None => section.to_owned(),
    }
}

fn map(object: &Object, name: &str) -> Result<MapHandle> {
    let found = object.maps().find(|map| map.name() == name).ok_or_else(|| format!("no map {name}"))?;
    Ok(MapHandle::try_from(&found)?)
}

/// One ring for each CPU, whose events go to `arrived`.
fn rings(object: &Object, cpus: &[u32], arrived: &Rc<RefCell<Vec<(u32, Event)>>>) -> Result<RingBuffer<'static>> {
    use std::os::fd::{AsFd, AsRawFd};
    let outer = map(object, "rings")?;
    let options = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    let mut inner = Vec::new();
    for cpu in cpus {
        let ring = MapHandle::create(MapType::RingBuf, Some("tacet_events"), 0, 0, RING_BYTES, &options)?;
        outer.update(&cpu.to_ne_bytes(), &ring.as_fd().as_raw_fd().to_ne_bytes(), MapFlags::ANY)?;
        inner.push((*cpu, ring));
    }
    let mut builder = RingBufferBuilder::new();
    for (cpu, ring) in &inner {
        let (cpu, arrived) = (*cpu, Rc::clone(arrived));
        builder.add(ring, move |bytes| {
            arrived.borrow_mut().extend(Event::read(bytes).map(|event| (cpu, event)));
            0
        })?;
    }
    Ok(builder.build()?)
}

/// Tells the programs the measured CPUs and the measuring process.
fn choose(object: &Object, cpus: &[u32]) -> Result<()> {
    let measured = map(object, "measured")?;
    let process = std::process::id().to_ne_bytes();
    for cpu in cpus {
        measured.update(&cpu.to_ne_bytes(), &process, MapFlags::ANY)?;
    }
    let words = cpus.iter().max().map_or(0, |last| last / 64 + 1);
    Ok(map(object, "mask_words")?.update(&0u32.to_ne_bytes(), &words.to_ne_bytes(), MapFlags::ANY)?)
}

fn lost(object: &Object, cpus: &[u32]) -> Result<u64> {
    let (counts, mut sum) = (map(object, "lost")?, 0);
    for cpu in cpus {
        let bytes = counts.lookup(&cpu.to_ne_bytes(), MapFlags::ANY)?;
        sum += bytes.and_then(|bytes| Some(u64::from_ne_bytes(bytes.try_into().ok()?))).unwrap_or(0);
    }
    Ok(sum)
}

/// The programs' maps that contain names.
struct Maps {
    tasks: MapHandle,
    interrupts: MapHandle,
    stacks: MapHandle,
}

impl Maps {
    fn of(object: &Object) -> Result<Maps> {
        let [tasks, interrupts, stacks] = ["tasks", "interrupts", "stacks"].map(|name| map(object, name));
        Ok(Maps { tasks: tasks?, interrupts: interrupts?, stacks: stacks? })
    }
}

fn find(map: &MapHandle, key: u32) -> Option<Vec<u8>> {
    map.lookup(&key.to_ne_bytes(), MapFlags::ANY).ok().flatten()
}

impl Tables for Maps {
    fn task(&self, thread: u32) -> Option<Task> {
        let in_kernel = find(&self.tasks, thread).and_then(|bytes| Task::read(&bytes));
        in_kernel.or_else(|| {
            let name = fs::read_to_string(format!("/proc/{thread}/comm")).ok()?;
            Some(Task { name: name.trim_end().into(), ..Task::default() })
        })
    }

    fn interrupt(&self, number: u32) -> Option<String> {
        find(&self.interrupts, number).map(|bytes| text(&bytes)).filter(|name| !name.is_empty())
    }

    fn stack(&self, number: u64) -> Vec<u64> {
        let bytes = u32::try_from(number).ok().and_then(|number| find(&self.stacks, number)).unwrap_or_default();
        let words = bytes.chunks_exact(8).filter_map(|word| Some(u64::from_ne_bytes(word.try_into().ok()?)));
        words.take_while(|address| *address != 0).collect()
    }
}
