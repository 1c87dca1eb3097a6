// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Loads, configures and attaches the scheduler in the kernel. When this object is dropped, or its process ends in any
//! way, the kernel unloads the scheduler, and all tasks return to Linux's own.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object, ObjectBuilder, PrintLevel, ProgramInput};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use tacet_words::Failure;

use crate::Result;
use crate::keep::{self, Kept};
use crate::layout::{self, Place};
use crate::options::Start;
use crate::record::Program;
use crate::topology::Topology;

const PROGRAMS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/hpl.bpf.o"));
/// The struct_ops map that defines the scheduler.
const SCHEDULER: &str = "tacet_hpl";
const GROUPS: &str = "/sys/fs/cgroup";
/// The most instructions that the kernel's verifier may process for one program. It gives up at a million, and each one
/// costs time at the start.
pub const VERIFIED_INSTRUCTIONS_LIMIT: u32 = 20_000;

/// The loaded scheduler; it schedules after `attach`.
pub struct Scheduler {
    object: Object,
    links: Vec<Link>,
}

impl Scheduler {
    /// Loads all programs, or only those that count.
    pub fn load(with_scheduler: bool) -> Result<Scheduler> {
        libbpf_rs::set_print(Some((PrintLevel::Warn, remember)));
        let mut open = ObjectBuilder::default().open_memory(PROGRAMS)?;
        if !with_scheduler {
            for mut map in open.maps_mut().filter(|map| map.name() == SCHEDULER) {
                map.set_autocreate(false)?;
            }
            for mut program in
                open.progs_mut().filter(|program| !program.section().to_string_lossy().starts_with("tp_btf"))
            {
                program.set_autoload(false);
            }
        }
        let object = open.load().map_err(|error| {
            Failure::machine(if nix::unistd::geteuid().is_root() {
                format!("the kernel refuses the scheduler: {error}: {}", last_words())
            } else {
                "not permitted: it needs root (CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN)".to_owned()
            })
        })?;
        Ok(Scheduler { object, links: Vec::new() })
    }

    /// Writes the CPUs' positions and the user's choices to the maps. Must be called before `attach`.
    pub fn choose(&self, topology: &Topology, start: &Start) -> Result<()> {
        let places = self.map("places")?;
        for (cpu, place) in &topology.places {
            places.update(&cpu.to_ne_bytes(), bytemuck::bytes_of::<Place>(place), MapFlags::ANY)?;
        }
        let groups = self.map("groups")?;
        for group in &start.groups {
            groups.update(&group_number("--group", group)?.to_ne_bytes(), &[layout::GROUP_HPC], MapFlags::ANY)?;
        }
        let kept = Kept::read(&start.keep, keep::user)?;
        self.keep(&kept)?;
        let daemons = self.map("daemons")?;
        for name in &start.daemons {
            for process in processes(name)? {
                daemons.update(&process.to_ne_bytes(), &[1], MapFlags::ANY)?;
            }
        }
        let options = layout::Options {
            quantum_ns: start.quantum.as_nanos() as u64,
            trickle_ns: start.trickle.as_nanos() as u64,
            trickle_period_ns: start.trickle_period.as_nanos() as u64,
            trickle_cpu: start.trickle_cpu.unwrap_or(topology.first()),
            groups: start.groups.len() as u32,
            keeps: kept.bits(),
            padding: 0,
        };
        let bytes = bytemuck::bytes_of(&options);
        Ok(self.map("options")?.update(&0u32.to_ne_bytes(), bytes, MapFlags::ANY)?)
    }

    /// Writes what is kept to the maps.
    fn keep(&self, kept: &Kept) -> Result<()> {
        let groups = self.map("groups")?;
        for group in &kept.groups {
            let number = group_number("--keep", group)?;
            groups.update(&number.to_ne_bytes(), &[layout::GROUP_KEPT], MapFlags::NO_EXIST).map_err(|error| {
                format!("--keep {}: {error}: name a group once, for the HPC class or to be kept", group.display())
            })?;
        }
        let users = self.map("kept_users")?;
        for user in &kept.users {
            users.update(&user.to_ne_bytes(), &[1], MapFlags::ANY)?;
        }
        Ok(())
    }

    /// Begins to count.
    pub fn count(&mut self) -> Result<()> {
        for program in
            self.object.progs_mut().filter(|program| program.section().to_string_lossy().starts_with("tp_btf"))
        {
            let section = program.section().to_string_lossy().into_owned();
            let link = program.attach().map_err(|error| format!("{section}: cannot attach the program: {error}"))?;
            self.links.push(link);
        }
        Ok(())
    }

    /// Begins to schedule, with the trickle's timer on its CPU.
    pub fn attach(&mut self, trickle_cpu: u32) -> Result<()> {
        let found = self.object.maps_mut().find(|map| map.name() == SCHEDULER).map(|mut map| map.attach_struct_ops());
        let link =
            found.ok_or("the scheduler is not in its object")?.map_err(|error| match crate::support::loaded() {
                Some(other) => format!("another scheduler is loaded: {other}; end it first"),
                None => format!("the kernel refuses the scheduler: {error}: {}", last_words()),
            })?;
        self.links.push(link);
        on_cpu(trickle_cpu, || {
            let found = self.object.progs_mut().find(|program| program.name() == "begin_trickle");
            let status = found.ok_or("no begin_trickle")?.test_run(ProgramInput::default())?.return_value;
            if status == 0 { Ok(()) } else { Err(format!("the trickle's timer does not start: step {status}").into()) }
        })
    }

    /// Unloads the scheduler. Returns when all tasks are back with Linux's own.
    pub fn detach(&mut self) {
        // The scheduler, which came last, goes first: to detach the programs that count waits for RCU, and this must not
        // wait for tasks that the scheduler holds up.
        while let Some(link) = self.links.pop() {
            drop(link);
        }
    }

    pub fn map(&self, name: &str) -> Result<MapHandle> {
        let found = self.object.maps().find(|map| map.name() == name).ok_or_else(|| format!("no map {name}"))?;
        Ok(MapHandle::try_from(&found)?)
    }

    /// The verifier's work on each program.
    pub fn programs(&self) -> Vec<Program> {
        let ours: BTreeMap<u32, String> = self
            .object
            .progs_mut()
            .filter_map(|program| {
                let id = libbpf_rs::Program::id_from_fd(program.as_fd()).ok()?;
                Some((id, program.name().to_string_lossy().into_owned()))
            })
            .collect();
        let known = ProgInfoIter::default().filter_map(|info| {
            let name = ours.get(&info.id)?.clone();
            Some(Program { name, verified_instructions: info.verified_insns })
        });
        known.collect()
    }
}

/// Runs an action with this thread bound to one CPU.
fn on_cpu(cpu: u32, action: impl FnOnce() -> Result<()>) -> Result<()> {
    let before = sched_getaffinity(Pid::from_raw(0))?;
    let mut one = CpuSet::new();
    let refused =
        |error| format!("cpu {cpu}: the trickle cannot run there: {error}; name an online CPU that root may use");
    one.set(cpu as usize).map_err(refused)?;
    sched_setaffinity(Pid::from_raw(0), &one).map_err(refused)?;
    let result = action();
    sched_setaffinity(Pid::from_raw(0), &before)?;
    result
}

/// The kernel's number of a control group.
fn group_number(flag: &str, group: &Path) -> Result<u64> {
    let mut path = PathBuf::from(GROUPS);
    if group.starts_with(GROUPS) {
        path = group.to_owned();
    } else {
        path.push(group.strip_prefix("/").unwrap_or(group));
    }
    let wrong = |why: &str| format!("{flag} {}: {why}: name a group below {GROUPS} (version 2)", group.display());
    let about = fs::metadata(&path).map_err(|error| wrong(&error.to_string()))?;
    if !path.join("cgroup.procs").exists() {
        return Err(wrong("not a control group").into());
    }
    if about.ino() == fs::metadata(GROUPS)?.ino() {
        return Err(wrong("it holds every task").into());
    }
    Ok(about.ino())
}

/// The processes of this name.
fn processes(name: &str) -> Result<Vec<i32>> {
    let numbers = fs::read_dir("/proc")?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let called =
        |process: &i32| fs::read_to_string(format!("/proc/{process}/comm")).is_ok_and(|comm| comm.trim_end() == name);
    let found: Vec<i32> = numbers.filter(called).collect();
    if found.is_empty() {
        return Err(format!("--daemon {name}: no process of this name runs (names have 15 letters at most)").into());
    }
    Ok(found)
}

/// libbpf's warnings.
static SAID: Mutex<String> = Mutex::new(String::new());

fn remember(_: PrintLevel, text: String) {
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    said.push_str(&text);
}

/// The end of libbpf's warnings, which has the reason, in one line.
fn last_words() -> String {
    let said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let all = std::env::var_os("TACET_SCHED_VERBOSE").is_some();
    let from = if all { 0 } else { lines.len().saturating_sub(3) };
    lines.get(from..).unwrap_or_default().join(if all { "\n" } else { "; " })
}
