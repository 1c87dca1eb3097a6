// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The only file of the tools with `unsafe`: the ioctl calls, `fork`, and the state that this process inherited before
//! Rust's start-up code changed it.
//!
//! Called by `device.rs` (ioctls), `log.rs`, `run.rs` and `attend.rs`. Only this file may build a request that carries
//! an address; it borrows the buffer for as long as the call lasts.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::libc;
use nix::unistd::{ForkResult, Pid};
use tacet_abi as abi;
use tacet_abi::TACET_ABI_REVISION;

/// A request without an address in it: any value of it is safe to send.
pub(crate) trait Request: private::Sealed {}

mod private {
    pub trait Sealed: Sized {
        const NUMBER: u32;
        /// The size in the ioctl number is the size of the structure.
        const CHECKED: () = assert!((Self::NUMBER >> 16 & 0x3fff) as usize == size_of::<Self>());
    }
}

macro_rules! request {
    ($($structure:ident = $number:ident),*) => {$(
        impl private::Sealed for abi::$structure { const NUMBER: u32 = abi::$number; }
    )*};
}
request!(
    tacet_up = TACET_UP,
    tacet_down = TACET_DOWN,
    tacet_resize = TACET_GROW,
    tacet_resize_memory = TACET_GROW_MEMORY,
    tacet_status = TACET_STATUS,
    tacet_cpu_status = TACET_CPU_STATUS,
    tacet_host_self = TACET_HOST_SELF,
    tacet_decouple = TACET_DECOUPLE,
    tacet_recouple = TACET_RECOUPLE,
    tacet_list = TACET_LIST,
    tacet_log_read = TACET_LOG_READ,
    tacet_test_hook = TACET_TEST,
    tacet_profile_read = TACET_PROFILE,
    tacet_job_begin = TACET_JOB_BEGIN,
    tacet_job_end = TACET_JOB_END,
    tacet_job_list = TACET_JOB_LIST
);

impl Request for abi::tacet_down {}
impl Request for abi::tacet_resize {}
impl Request for abi::tacet_resize_memory {}
impl Request for abi::tacet_status {}
impl Request for abi::tacet_cpu_status {}
impl Request for abi::tacet_host_self {}
impl Request for abi::tacet_decouple {}
impl Request for abi::tacet_recouple {}
impl Request for abi::tacet_test_hook {}
impl Request for abi::tacet_job_begin {}
impl Request for abi::tacet_job_end {}

pub(crate) fn call<R: Request>(device: &File, request: &mut R) -> Result<(), Errno> {
    send(device, request)
}

/// The structure of TACET_GROW has this number too.
pub(crate) fn shrink(device: &File, request: &mut abi::tacet_resize) -> Result<(), Errno> {
    const _: () = assert!((abi::TACET_SHRINK >> 16 & 0x3fff) as usize == size_of::<abi::tacet_resize>());
    send_as(device, abi::TACET_SHRINK, request)
}

/// The structure of TACET_GROW_MEMORY has this number too.
pub(crate) fn shrink_memory(device: &File, request: &mut abi::tacet_resize_memory) -> Result<(), Errno> {
    const _: () = assert!((abi::TACET_SHRINK_MEMORY >> 16 & 0x3fff) as usize == size_of::<abi::tacet_resize_memory>());
    send_as(device, abi::TACET_SHRINK_MEMORY, request)
}

/// The module only reads the image. It writes its message into `request`.
pub(crate) fn up(device: &File, request: &mut abi::tacet_up, image: &[u8]) -> Result<(), Errno> {
    request.image_address = image.as_ptr() as u64;
    request.image_bytes = image.len() as u64;
    send(device, request)
}

/// The number of entries written, and the number that exist.
pub(crate) fn list(device: &File, threads: &mut [abi::tacet_thread]) -> Result<(usize, usize), Errno> {
    let mut request = abi::tacet_list {
        revision: TACET_ABI_REVISION,
        capacity: threads.len() as u32,
        address: threads.as_mut_ptr() as u64,
        ..Default::default()
    };
    send(device, &mut request)?;
    Ok(((request.count as usize).min(threads.len()), request.total as usize))
}

/// The number of entries written, and of jobs that exist.
pub(crate) fn jobs(device: &File, jobs: &mut [abi::tacet_job_entry]) -> Result<(usize, usize), Errno> {
    let mut request = abi::tacet_job_list {
        revision: TACET_ABI_REVISION,
        capacity: jobs.len() as u32,
        address: jobs.as_mut_ptr() as u64,
        ..Default::default()
    };
    send(device, &mut request)?;
    Ok(((request.count as usize).min(jobs.len()), request.total as usize))
}

/// The number of entries written, and of records lost.
pub(crate) fn log_read(
    device: &File,
    source: u32,
    after: u64,
    entries: &mut [abi::tacet_log_entry],
) -> Result<(usize, u64), Errno> {
    let mut request = abi::tacet_log_read {
        revision: TACET_ABI_REVISION,
        cpu: source,
        sequence: after,
        address: entries.as_mut_ptr() as u64,
        capacity: entries.len() as u32,
        ..Default::default()
    };
    send(device, &mut request)?;
    Ok(((request.count as usize).min(entries.len()), request.lost))
}

/// The answer; `total` is the number of costs that exist, `count` the number written.
pub(crate) fn profile(
    device: &File,
    pid: i32,
    costs: &mut [abi::tacet_cost],
) -> Result<abi::tacet_profile_read, Errno> {
    let mut request = abi::tacet_profile_read {
        revision: TACET_ABI_REVISION,
        pid,
        address: costs.as_mut_ptr() as u64,
        capacity: costs.len() as u32,
        ..Default::default()
    };
    send(device, &mut request)?;
    request.count = request.count.min(costs.len() as u32);
    Ok(request)
}

/// None in the child.
pub(crate) fn fork() -> Result<Option<Pid>, Errno> {
    // SAFETY: this command has one thread, so the child may do everything that its parent may.
    match unsafe { nix::unistd::fork() }? {
        ForkResult::Child => Ok(None),
        ForkResult::Parent { child } => Ok(Some(child)),
    }
}

fn send<R: private::Sealed>(device: &File, request: &mut R) -> Result<(), Errno> {
    let () = R::CHECKED;
    send_as(device, R::NUMBER, request)
}

/// `number` carries the size of `R`, which the caller has checked.
fn send_as<R: private::Sealed>(device: &File, number: u32, request: &mut R) -> Result<(), Errno> {
    // SAFETY: the number carries the size of `R` (caller), so the module reads and writes
    // within `request`, whose bytes are integers: any value of them is valid. An address inside
    // it is that of a slice which the caller of `send`, in this file, holds borrowed for the call
    // together with its length; those entries too are integers only.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), number.into(), std::ptr::from_mut(request)) };
    Errno::result(result).map(drop)
}

/// Which of 0, 1, 2 the parent left closed (bits), and whether it ignored SIGPIPE.
static CLOSED: AtomicI32 = AtomicI32::new(0);
static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);

/// Rust's start-up opens closed standard streams and ignores SIGPIPE. A program that replaces this one must find both
/// as the parent left them, so this function records them; the C library calls it before Rust's start-up.
// SAFETY: `.init_array` holds functions of this type, called once, before `main`, single-threaded.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = record_inheritance;

extern "C" fn record_inheritance() {
    for fd in 0..3 {
        // SAFETY: F_GETFD reads a flag of a descriptor, open or not.
        if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
            CLOSED.fetch_or(1 << fd, Ordering::Relaxed);
        }
    }
    PIPE_IGNORED.store(ignores(libc::SIGPIPE), Ordering::Relaxed);
}

fn ignores(signal: i32) -> bool {
    // SAFETY: all zeroes is a valid `sigaction`; with a null new action the call only fills `old`.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut old) == 0 && old.sa_sigaction == libc::SIG_IGN
    }
}

/// Undoes the changes of Rust's start-up. Call it only right before `execve`.
pub(crate) fn restore_inheritance() {
    let closed = CLOSED.load(Ordering::Relaxed);
    let (input, output, error) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
    for (number, stream) in [input.as_fd(), output.as_fd(), error.as_fd()].into_iter().enumerate() {
        if closed >> number & 1 == 1 {
            // It stays open for this process and closes in the next.
            let _ = fcntl(stream, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC));
        }
    }
    if !PIPE_IGNORED.load(Ordering::Relaxed) {
        // SAFETY: the default action runs no code of this process.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    }
}

/// Ignores SIGPIPE again, for the message after `execve` has failed.
pub(crate) fn ignore_broken_pipes() {
    // SAFETY: ignoring a signal runs no code of this process.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}
