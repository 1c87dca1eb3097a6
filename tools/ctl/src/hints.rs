// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The meaning of each errno of the module, and what a person can do about it.
//!
//! Called by `device.rs` and `log.rs` for every failed request. An errno without a text here must still be shown.

use std::io;
use std::path::Path;

use nix::errno::Errno;
use tacet_abi::TACET_ABI_REVISION;
use tacet_words::status;

use crate::error::lower_first;
use crate::plan::DEFAULT_MEMORY;
use crate::size::format_bytes;
use crate::{CpuSet, DEVICE, Error, Plan};

/// The request that failed.
pub(crate) enum Request<'a> {
    Up(&'a Plan),
    Down,
    Grow(&'a CpuSet),
    Shrink(&'a CpuSet),
    GrowMemory(u64),
    ShrinkMemory(u64),
    Status,
    Cpu(u32),
    Host(&'a CpuSet),
    Job(&'a str),
    Decouple { pid: i32, cpu: Option<u32> },
    Recouple(i32),
    Profile(Option<i32>),
    List,
    Log,
    Test(u32),
}

/// The module got memory from Linux, but not as much in one block as it needs itself.
const NOT_ENOUGH: &str = "the first block is too small";

const NO_PARTITION: (&str, &str) = ("no partition is up", "start one as root: `tacet up`");

pub(crate) fn open(path: &Path, io: &io::Error) -> Error {
    let remedy = match io.kind() {
        io::ErrorKind::NotFound => {
            return Error::new(
                path.display(),
                "the module is not loaded",
                "`tacet up` as root loads it and starts a partition; `tacet doctor` says whether this machine can",
            );
        }
        io::ErrorKind::PermissionDenied => "join the group that owns the device (`ls -l /dev/tacet`), or use root",
        _ => "`tacet log` and `dmesg` may say more",
    };
    Error::io(path.display(), io, remedy)
}

/// `message` is the text of the module, object and cause; empty if it sent none.
pub(crate) fn failure(request: &Request<'_>, errno: Errno, message: &str) -> Error {
    if let Errno::EPROTO | Errno::ENOTTY = errno {
        let cause = format!("the loaded module does not speak revision {TACET_ABI_REVISION}, as this command does");
        let remedy = "install module and command of one version, then `rmmod tacet`";
        return Error::new(DEVICE, cause, remedy).with_status(status::MACHINE);
    }
    let (cause, remedy) = explain(request, errno);
    let remedy = match request {
        Request::Up(plan) if errno == Errno::ENOMEM && message.contains(NOT_ENOUGH) => more(plan),
        _ => remedy,
    };
    let error = match (message.split_once(": "), message, cause) {
        (Some((object, cause)), _, _) => Error::new(object, cause, remedy),
        (None, "", "") => Error::new(object(request), lower_first(errno.desc()), remedy),
        (None, "", cause) => Error::new(object(request), cause, remedy),
        (None, message, _) => Error::new(object(request), message, remedy),
    };
    error.with_status(status(request, errno))
}

fn status(request: &Request<'_>, errno: Errno) -> u8 {
    match (request, errno) {
        (_, Errno::EPERM | Errno::EACCES) => status::MACHINE,
        (Request::Up(_), Errno::ENOMEM | Errno::ENOEXEC | Errno::EOPNOTSUPP) => status::MACHINE,
        (Request::Up(_), Errno::EBUSY) => status::NO,
        (Request::Up(_) | Request::Grow(_) | Request::Shrink(_) | Request::Job(_), Errno::EINVAL) => status::USAGE,
        (Request::GrowMemory(_) | Request::ShrinkMemory(_), Errno::EINVAL) => status::USAGE,
        (Request::GrowMemory(_), Errno::ENOMEM) => status::MACHINE,
        (Request::Shrink(_), Errno::EBUSY | Errno::ENODEV | Errno::ENOSPC) | (Request::Grow(_), Errno::ENODEV) => {
            status::NO
        }
        // the steps that were done are undone
        (Request::Up(_) | Request::Grow(_) | Request::Shrink(_), _) => status::UNDONE,
        _ => status::NO,
    }
}

fn object(request: &Request<'_>) -> String {
    match request {
        Request::Up(plan) => format!("partition on {}", plan.cpus.named()),
        Request::Down => "partition".to_string(),
        Request::Grow(cpus) | Request::Shrink(cpus) => cpus.named(),
        Request::GrowMemory(bytes) | Request::ShrinkMemory(bytes) => format_bytes(*bytes),
        Request::Status | Request::List | Request::Log => DEVICE.to_string(),
        Request::Cpu(cpu) | Request::Test(cpu) => format!("CPU {cpu}"),
        Request::Host(cpus) if !cpus.is_empty() => cpus.named(),
        Request::Host(_) => "partition".to_string(),
        Request::Job(id) => format!("job {id}"),
        Request::Decouple { pid, cpu: Some(cpu) } => format!("process {pid} on CPU {cpu}"),
        Request::Decouple { pid, cpu: None } | Request::Recouple(pid) | Request::Profile(Some(pid)) => {
            format!("process {pid}")
        }
        Request::Profile(None) => "profile".to_string(),
    }
}

/// Cause (empty: the errno's own text) and remedy.
fn explain(request: &Request<'_>, errno: Errno) -> (&'static str, &'static str) {
    match (request, errno) {
        (Request::Profile(_), Errno::ENODATA) => {
            ("it keeps no account of its time", "start it with `tacet run --profile`")
        }
        (Request::Profile(_), Errno::ESRCH) => ("it is not hosted", "see `tacet ps`"),
        (Request::Decouple { .. } | Request::Profile(_), Errno::EPERM | Errno::EACCES) => {
            ("it belongs to another user, or this user may not trace it", "use its owner's account, or root")
        }
        (Request::Test(_), Errno::EPERM) => {
            ("failures on purpose need root and test hooks", "load the module with test_hooks=1")
        }
        (Request::Up(_), Errno::EPERM) => (
            "it needs root with the right to load modules, and the image of the module",
            "repeat with sudo; install image and module of one build",
        ),
        (Request::Host(_), Errno::EACCES) => {
            ("the partition is divided into jobs, none of which is this user's", "see `tacet job list`")
        }
        (_, Errno::EPERM | Errno::EACCES) => ("only root may do this", "repeat with sudo"),
        (_, Errno::EINTR) => ("interrupted by a signal", "repeat the command"),
        (Request::Up(_), _) => explain_up(errno),
        (Request::Down, Errno::EBUSY) => {
            ("threads are hosted", "end them (`tacet ps`), or send them back to Linux with `tacet down --force`")
        }
        (Request::Grow(_), Errno::EINVAL) => {
            ("not CPUs that may join", "see `tacet status`: `tacet up --spare` says which may")
        }
        (Request::Shrink(_), Errno::EINVAL) => ("not CPUs of the partition", "see `tacet status`"),
        (Request::Shrink(_), Errno::EBUSY) => {
            ("threads are hosted", "leave it a CPU, end them (`tacet ps`), or `tacet down --force`")
        }
        (Request::Shrink(_), Errno::ENOSPC) => {
            ("its other CPUs have no room for the threads", "end some (`tacet ps`), or leave it more CPUs")
        }
        (Request::GrowMemory(_) | Request::ShrinkMemory(_), _) => explain_memory(request, errno),
        (Request::Job(_), _) => explain_job(errno),
        (_, Errno::ENOTUNIQ) => ("its user has several jobs", "name one: TACET_JOB=ID tacet run (`tacet job list`)"),
        (Request::Host(_), Errno::ESRCH) => ("the job has not begun, or is ending", "see `tacet job list`"),
        (Request::Host(cpus), Errno::EINVAL | Errno::ENODEV) if !cpus.is_empty() => {
            ("no partition is up, or not all of them belong to it", "see `tacet status` for the partition's CPUs")
        }
        (Request::Decouple { .. }, Errno::EINVAL) => (
            "the CPU is not in the partition, or it is a kernel thread or a 32-bit program",
            "see `tacet status` for the partition's CPUs",
        ),
        (Request::Cpu(_) | Request::Test(_), Errno::ENODEV) => {
            ("it is not a CPU of the partition", "see `tacet status`")
        }
        (_, Errno::ENODEV) => NO_PARTITION,
        (_, Errno::ENOSPC) => {
            ("no further thread can be hosted", "end or recouple hosted threads; `tacet status` has the limit")
        }
        (_, Errno::EUSERS) => (
            "another user's programs are there, which this processor could let yours read",
            "wait until they have ended (`tacet run --wait`), or use a job with a memory limit (`tacet job begin`)",
        ),
        (_, Errno::EALREADY) => ("it is hosted already", "see `tacet ps`"),
        (Request::Recouple(_), Errno::ESRCH) => ("none of its threads is hosted", "see `tacet ps`"),
        (_, Errno::ETIMEDOUT) => ("a hosted thread does not come back to Linux", "`tacet ps` and `tacet log` show it"),
        (_, Errno::ESRCH) => ("there is no such process", "see `ps -e`"),
        _ => ("", "`tacet log` and `dmesg` may say more"),
    }
}

fn more(plan: &Plan) -> &'static str {
    if plan.memory_bytes() < DEFAULT_MEMORY {
        return "ask for more (--memory; the default is 64M)";
    }
    "Linux's free memory is in small pieces: `sysctl vm.compact_memory=1` as root, then repeat"
}

fn explain_memory(request: &Request<'_>, errno: Errno) -> (&'static str, &'static str) {
    match (request, errno) {
        (Request::GrowMemory(_), Errno::ENOMEM) => {
            ("Linux cannot free so much in contiguous blocks", "ask for less, or free memory (`tacet doctor`)")
        }
        (Request::GrowMemory(_), Errno::EINVAL) => ("not memory that can join", "give a multiple of 2M"),
        (Request::ShrinkMemory(_), Errno::EINVAL) => {
            ("not memory that joined", "the memory with which it came up stays until `tacet down`")
        }
        (Request::ShrinkMemory(_), Errno::EBUSY) => {
            ("it is in use", "repeat it when the program has ended or given memory back (`tacet ps`)")
        }
        (_, Errno::EOPNOTSUPP) => ("programs can have no memory of this partition", "`tacet up` with more memory"),
        (_, Errno::ENODEV) => NO_PARTITION,
        _ => ("", "see `tacet log`"),
    }
}

fn explain_job(errno: Errno) -> (&'static str, &'static str) {
    match errno {
        Errno::ENODEV => NO_PARTITION,
        Errno::EEXIST => ("it has begun with other arguments", "see `tacet job list`; `tacet job end` ends it"),
        Errno::EBUSY => ("another job has a CPU, or it is ending", "see `tacet job list`; `tacet job end` goes on"),
        Errno::EINVAL => ("an argument was refused", "see `tacet status` for the CPUs, and `tacet job begin --help`"),
        Errno::ENOMEM => ("the partition's memory is promised to other jobs", "see `tacet job list`; ask for less"),
        Errno::ENOSPC => ("threads without a job have no other CPU", "see `tacet ps`; leave them one, or end them"),
        Errno::ETIMEDOUT => ("a thread does not end", "`tacet ps` and `tacet log` show it; repeat the command"),
        _ => ("", "`tacet log` and `dmesg` may say more"),
    }
}

fn explain_up(errno: Errno) -> (&'static str, &'static str) {
    match errno {
        Errno::EBUSY => ("a partition is up or changing", "see `tacet status`; `tacet down` ends it"),
        Errno::EINVAL => ("an argument was refused", "see `tacet up --dry-run` and `lscpu -e`"),
        Errno::ENOMEM => (
            "Linux cannot free the memory in contiguous blocks",
            "ask for less (--memory), or free memory first (`sync; sysctl vm.drop_caches=3 vm.compact_memory=1`); \
             what `movablecore=`, `kernelcore=` or onlining makes movable is never taken",
        ),
        Errno::EIO => ("a core did not start", "everything was given back; `dmesg` has the module's account"),
        Errno::ENOEXEC => {
            ("the module does not accept the image", "install image and module of one version, or see --image")
        }
        Errno::EOPNOTSUPP => ("this machine cannot run a partition", "`tacet doctor` says why"),
        _ => ("", "everything was given back; `tacet log` and `dmesg` may say more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NodeMemory;

    #[test]
    fn every_documented_errno_has_cause_and_remedy() {
        let (none, some) = (CpuSet::default(), CpuSet::from_iter([2]));
        let any = Request::Decouple { pid: 7, cpu: None };
        let one = Request::Decouple { pid: 7, cpu: Some(2) };
        for (request, errno, words) in [
            (&Request::Down, Errno::EBUSY, "partition: threads are hosted; "),
            (&Request::Down, Errno::EPERM, "partition: only root may do this; "),
            (&Request::Host(&none), Errno::ENODEV, "partition: no partition is up; "),
            (&Request::Host(&some), Errno::EINVAL, "CPU 2: no partition is up, or not all"),
            (&Request::Host(&none), Errno::ENOSPC, "partition: no further thread"),
            (&Request::Host(&none), Errno::EUSERS, "partition: another user's programs are there"),
            (&any, Errno::EUSERS, "process 7: another user's programs are there"),
            (&Request::Host(&none), Errno::EALREADY, "partition: it is hosted already; "),
            (&any, Errno::ESRCH, "process 7: there is no such process; "),
            (&any, Errno::EPERM, "process 7: it belongs to another user"),
            (&one, Errno::EINVAL, "process 7 on CPU 2: the CPU is not in the partition"),
            (&Request::Recouple(7), Errno::ESRCH, "process 7: none of its threads is hosted; "),
            (&Request::Cpu(9), Errno::ENODEV, "CPU 9: it is not a CPU of the partition; "),
            (&Request::Status, Errno::EPROTO, "/dev/tacet: the loaded module does not speak revision"),
            (&Request::List, Errno::EFAULT, "/dev/tacet: bad address; "),
        ] {
            let error = failure(request, errno, "").to_string();
            assert!(error.starts_with(words), "{error}");
            assert!(error.contains("; ") && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn the_modules_own_words_come_first() {
        let cpus = CpuSet::from_iter([2, 3]);
        let (isolation, mix_users) = (Default::default(), false);
        let plan = Plan {
            cpus,
            spare: CpuSet::default(),
            cpus_proposed: false,
            memory: vec![],
            isolation,
            mix_users,
            warnings: vec![],
        };
        let error = failure(&Request::Up(&plan), Errno::EIO, "cpu 3: no answer").to_string();
        assert!(error.starts_with("cpu 3: no answer; everything was given back"), "{error}");
        let error = failure(&Request::Up(&plan), Errno::EIO, "no answer").to_string();
        assert!(error.starts_with("partition on CPUs 2-3: no answer; everything was given back"), "{error}");
        for (message, bytes, remedy) in [
            ("memory: the first block is too small for 2 CPUs", 2 << 20, "ask for more (--memory; the default is 64M)"),
            ("image: the first block is too small", 2 << 20, "ask for more (--memory; the default is 64M)"),
            ("memory: the first block is too small for 2 CPUs", 1 << 30, "Linux's free memory is in small pieces"),
            ("memory: node 0 has too few free blocks", 1 << 30, "ask for less (--memory)"),
        ] {
            let plan = Plan { memory: vec![NodeMemory { node: 0, bytes }], ..plan.clone() };
            let error = failure(&Request::Up(&plan), Errno::ENOMEM, message).to_string();
            assert!(error.starts_with(&format!("{message}; {remedy}")), "{error}");
        }
        for errno in [Errno::EBUSY, Errno::EINVAL, Errno::ENOMEM, Errno::ENOEXEC, Errno::EOPNOTSUPP, Errno::ENOENT] {
            assert!(failure(&Request::Up(&plan), errno, "").to_string().contains("; "));
        }
    }
}
