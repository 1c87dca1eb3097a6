// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `/dev/tacet`: one method for each request. Arguments and answers are checked values.
//!
//! Called by the command and by tests. The descriptor must not survive an exec; std opens files close-on-exec.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;
use tacet_abi as abi;
use tacet_abi::TACET_ABI_REVISION;

use crate::facts::text;
use crate::hints::{self, Request};
use crate::{CpuSet, CpuStatus, Error, Image, Plan, Profile, Result, Status, Thread, raw};

pub const DEVICE: &str = "/dev/tacet";

/// The module lists at most this many threads.
const MAX_THREADS: usize = 65536;

/// The module lists at most this many costs.
const MAX_COSTS: usize = 4096;

#[derive(Debug)]
pub struct Device {
    pub(crate) file: File,
}

/// How a program is hosted.
#[derive(Debug, Clone, Default)]
pub struct HostOptions {
    /// Allowed CPUs; empty: any of the partition.
    pub cpus: CpuSet,
    /// Host children of fork too.
    pub follow: bool,
    /// Fault in and lock the memory of the program that is executed next.
    pub populate: bool,
    /// Give the program that is executed next a range: its anonymous memory comes from the partition.
    pub range: bool,
    /// With `range`: put its `.data` and `.bss` there too, if the program is position-independent.
    pub data_in_range: bool,
    /// Bind threads to these of the allowed CPUs, in this order; empty: do not bind them.
    pub order: Vec<u32>,
    /// No fast paths of devices: Linux serves all of its I/O.
    pub no_pico: bool,
    /// Its threads stay on Linux while they make many calls.
    pub bursts: bool,
    /// The job that the program joins; without it the module finds the user's only one.
    pub job: Option<String>,
    /// Keep a profile, for [`Device::profile`] of this same opened device.
    pub profile: bool,
}

type Resize = fn(&File, &mut abi::tacet_resize) -> std::result::Result<(), Errno>;
type ResizeMemory = fn(&File, &mut abi::tacet_resize_memory) -> std::result::Result<(), Errno>;

impl Device {
    pub fn open() -> Result<Device> {
        Device::open_at(Path::new(DEVICE))
    }

    pub(crate) fn open_at(path: &Path) -> Result<Device> {
        let file = OpenOptions::new().read(true).write(true).open(path);
        Ok(Device { file: file.map_err(|io| hints::open(path, &io))? })
    }

    /// Starts a partition. `fail_step` is 0; with test hooks, it is the step before which the start fails.
    pub fn up(&self, plan: &Plan, image: &Image, fail_step: u32) -> Result<()> {
        let mut request = abi::tacet_up {
            revision: TACET_ABI_REVISION,
            node_count: plan.memory.len() as u32,
            cpus: plan.cpus.words(),
            spare: plan.spare.words(),
            fail_step,
            spared: abi::TACET_MEASURES_ALL & !plan.isolation.measures.bits(),
            waived: if plan.mix_users { abi::TACET_MEASURE_ONE_USER } else { 0 },
            ..Default::default()
        };
        for (entry, wanted) in request.nodes.iter_mut().zip(&plan.memory) {
            entry.node = wanted.node;
            entry.bytes = wanted.bytes;
        }
        raw::up(&self.file, &mut request, image.bytes())
            .map_err(|errno| hints::failure(&Request::Up(plan), errno, &text(&request.message)))
    }

    /// Gives everything back; with `recouple` also while threads are hosted.
    pub fn down(&self, recouple: bool) -> Result<()> {
        let flags = if recouple { abi::TACET_DOWN_RECOUPLE } else { 0 };
        let mut request = abi::tacet_down { revision: TACET_ABI_REVISION, flags, ..Default::default() };
        raw::call(&self.file, &mut request)
            .map_err(|errno| hints::failure(&Request::Down, errno, &text(&request.message)))
    }

    /// These CPUs join the partition; how long that took, in nanoseconds.
    pub fn grow(&self, cpus: &CpuSet) -> Result<u64> {
        self.resize(cpus, Request::Grow(cpus), raw::call)
    }

    /// These CPUs leave the partition, and their threads go to its others; how long that took, in nanoseconds.
    pub fn shrink(&self, cpus: &CpuSet) -> Result<u64> {
        self.resize(cpus, Request::Shrink(cpus), raw::shrink)
    }

    fn resize(&self, cpus: &CpuSet, about: Request<'_>, call: Resize) -> Result<u64> {
        let mut request = abi::tacet_resize { revision: TACET_ABI_REVISION, cpus: cpus.words(), ..Default::default() };
        call(&self.file, &mut request).map_err(|errno| hints::failure(&about, errno, &text(&request.message)))?;
        Ok(request.took_ns)
    }

    /// So many bytes of memory, near NUMA node `node` or anywhere, join the partition; how long that took, in nanoseconds.
    pub fn grow_memory(&self, bytes: u64, node: Option<u32>) -> Result<u64> {
        self.resize_memory(bytes, node, Request::GrowMemory(bytes), raw::call)
    }

    /// So much of the memory that joined leaves the partition. An error if less can leave now; then what can has left.
    pub fn shrink_memory(&self, bytes: u64, node: Option<u32>) -> Result<u64> {
        self.resize_memory(bytes, node, Request::ShrinkMemory(bytes), raw::shrink_memory)
    }

    fn resize_memory(&self, bytes: u64, node: Option<u32>, about: Request<'_>, call: ResizeMemory) -> Result<u64> {
        let node = node.unwrap_or(abi::TACET_ANY_NODE);
        let mut request = abi::tacet_resize_memory { revision: TACET_ABI_REVISION, node, bytes, ..Default::default() };
        call(&self.file, &mut request).map_err(|errno| hints::failure(&about, errno, &text(&request.message)))?;
        Ok(request.took_ns)
    }

    pub fn status(&self) -> Result<Status> {
        let mut request = abi::tacet_status { revision: TACET_ABI_REVISION, ..Default::default() };
        self.call(&mut request, Request::Status)?;
        Ok(Status::from(&request))
    }

    pub fn cpu_status(&self, cpu: u32) -> Result<CpuStatus> {
        let mut request = abi::tacet_cpu_status { revision: TACET_ABI_REVISION, cpu, ..Default::default() };
        self.call(&mut request, Request::Cpu(cpu))?;
        Ok(CpuStatus::from(&request))
    }

    /// For how long no job has had the CPU, which is kept for the next one; `None`: it is not kept, or is in use.
    pub fn kept_for(&self, cpu: u32) -> Result<Option<Duration>> {
        let mut request = abi::tacet_cpu_status { revision: TACET_ABI_REVISION, cpu, ..Default::default() };
        self.call(&mut request, Request::Cpu(cpu))?;
        let idle = request.kept_ms > 0 && request.hosted_threads == 0;
        Ok(idle.then(|| Duration::from_millis(request.kept_ms - 1)))
    }

    /// Hosts the calling thread: after its next return to user mode it runs on the partition.
    pub fn host_self(&self, options: &HostOptions) -> Result<()> {
        self.host_self_unless_taken(options)?.map_or(Ok(()), Err)
    }

    /// The same; if it was refused because another user's programs are there, that is the result.
    pub fn host_self_unless_taken(&self, options: &HostOptions) -> Result<Option<Error>> {
        let follow = if options.follow { abi::TACET_HOST_FOLLOW } else { 0 };
        let populate = if options.populate { abi::TACET_HOST_POPULATE } else { 0 };
        let range = if options.range { abi::TACET_HOST_RANGE } else { 0 };
        let data = if options.data_in_range { abi::TACET_HOST_DATA_IN_RANGE } else { 0 };
        let bind = if options.order.is_empty() { 0 } else { abi::TACET_HOST_BIND };
        let profile = if options.profile { abi::TACET_HOST_PROFILE } else { 0 };
        let no_pico = if options.no_pico { abi::TACET_HOST_NO_PICO } else { 0 };
        let bursts = if options.bursts { abi::TACET_HOST_BURSTS } else { 0 };
        let mut request = abi::tacet_host_self {
            revision: TACET_ABI_REVISION,
            flags: follow | populate | range | data | bind | profile | no_pico | bursts,
            cpus: options.cpus.words(),
            order_count: options.order.len() as u32,
            ..Default::default()
        };
        for (entry, cpu) in request.order.iter_mut().zip(&options.order) {
            *entry = u16::try_from(*cpu).unwrap_or(u16::MAX);
        }
        for (byte, value) in request.job.iter_mut().zip(options.job.iter().flat_map(|job| job.bytes())) {
            *byte = value as i8;
        }
        match raw::call(&self.file, &mut request) {
            Ok(()) => Ok(None),
            Err(errno) => {
                let error = hints::failure(&Request::Host(&options.cpus), errno, "");
                if errno == Errno::EUSERS { Ok(Some(error)) } else { Err(error) }
            }
        }
    }

    /// Moves a process, or with `thread` one thread, to the partition.
    pub fn decouple(&self, pid: i32, cpu: Option<u32>, thread: bool, follow: bool) -> Result<()> {
        let only = if thread { abi::TACET_DECOUPLE_THREAD } else { 0 };
        let follow = if follow { abi::TACET_DECOUPLE_FOLLOW } else { 0 };
        let mut request = abi::tacet_decouple {
            revision: TACET_ABI_REVISION,
            pid,
            cpu: cpu.unwrap_or(abi::TACET_ANY_CPU),
            flags: only | follow,
        };
        self.call(&mut request, Request::Decouple { pid, cpu })
    }

    /// Brings a process, or with `thread` one thread, back to Linux; no core runs it when this returns.
    pub fn recouple(&self, pid: i32, thread: bool) -> Result<()> {
        let flags = if thread { abi::TACET_DECOUPLE_THREAD } else { 0 };
        let mut request = abi::tacet_recouple { revision: TACET_ABI_REVISION, pid, flags, reserved: 0 };
        self.call(&mut request, Request::Recouple(pid))
    }

    /// The hosted threads that the caller may see, by process and thread number.
    pub fn threads(&self) -> Result<Vec<Thread>> {
        let mut buffer = vec![abi::tacet_thread::default(); 256];
        loop {
            let (count, total) =
                raw::list(&self.file, &mut buffer).map_err(|errno| hints::failure(&Request::List, errno, ""))?;
            if total <= buffer.len() || buffer.len() == MAX_THREADS {
                let mut threads: Vec<Thread> = buffer.iter().take(count).map(Thread::from).collect();
                threads.sort_by_key(|thread| (thread.pid, thread.tid));
                return Ok(threads);
            }
            buffer.resize(total.next_power_of_two().min(MAX_THREADS), Default::default());
        }
    }

    /// The profile of process `pid`; without it, of all processes that were hosted with a profile through this opened
    /// device.
    pub fn profile(&self, pid: Option<i32>) -> Result<Profile> {
        let mut costs = vec![abi::tacet_cost::default(); MAX_COSTS];
        let answer = raw::profile(&self.file, pid.unwrap_or(0), &mut costs)
            .map_err(|errno| hints::failure(&Request::Profile(pid), errno, ""))?;
        Ok(Profile::new(&answer, &costs[..answer.count as usize]))
    }

    /// Causes a failure on purpose (`enum tacet_test`); the module must have test hooks.
    pub fn test(&self, cpu: u32, test: u32) -> Result<()> {
        let mut request = abi::tacet_test_hook { revision: TACET_ABI_REVISION, cpu, test, reserved: 0 };
        self.call(&mut request, Request::Test(cpu))
    }

    /// The module's answer about one log source; see `log.rs`.
    pub(crate) fn log_read(
        &self,
        source: u32,
        after: u64,
        entries: &mut [abi::tacet_log_entry],
    ) -> std::result::Result<(usize, u64), Errno> {
        raw::log_read(&self.file, source, after, entries)
    }

    fn call<R: raw::Request>(&self, request: &mut R, what: Request<'_>) -> Result<()> {
        raw::call(&self.file, request).map_err(|errno| hints::failure(&what, errno, ""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::fcntl::{FcntlArg, FdFlag, fcntl};

    #[test]
    fn the_descriptor_does_not_outlive_an_exec() {
        let device = Device::open_at(Path::new("/dev/null")).unwrap();
        let flags = fcntl(&device.file, FcntlArg::F_GETFD).unwrap();
        assert!(FdFlag::from_bits_truncate(flags).contains(FdFlag::FD_CLOEXEC));
    }

    #[test]
    fn another_device_in_its_place_is_detected() {
        let device = Device::open_at(Path::new("/dev/null")).unwrap();
        let error = device.status().unwrap_err().to_string();
        assert!(error.starts_with("/dev/tacet: the loaded module does not speak revision"), "{error}");
        assert!(device.threads().is_err());
    }
}
