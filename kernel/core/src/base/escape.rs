// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why threads leave user mode, and why they leave the CPU. What a host does with a thread that left is its own
//! business; for Linux see `kernel/host/linux/src/park.rs`.

use tacet_arch::Exit;

/// Why a thread goes back to its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// It made a system call that is not answered here. The instruction is done; the registers have the call.
    Call(Reason),
    /// It touched, at this address, what cannot be had here.
    PageFault(u64, Reason),
    /// It raised another exception.
    Exception(u8),
    /// Its host wants it.
    Recalled,
    /// Its local wait has ended, and its CPU has other threads.
    Woken,
    /// Its host wants it, or its CPU has got another thread, while it waited in a local call: the wait continues with
    /// the host. The registers have the call. `left_ns`: of a sleep, what is left.
    Waiting { left_ns: Option<u64> },
}

/// Why a system call or a page fault is not served here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It is nothing that this CPU serves.
    NotServed,
    /// The host maps some of these pages of the process's range, and must unmap them first.
    Mirrored { start: u64, end: u64 },
    /// The process's range is being handed over to the host.
    Closed,
    /// The process may not have such pages yet: it lacks these rights (`memory::rights`).
    Rights(u32),
    /// It is about the process's range, and cannot be done here.
    Beyond,
}

/// How a system call ends here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallEnd {
    /// It has this result; the thread continues.
    Done(u64),
    /// It has this result; others go first.
    Yield(u64),
    /// The thread waits.
    Block,
    /// The thread waits for a device.
    Depart,
    /// The CPU is wanted: the rest of the call comes afterwards.
    Pause,
    /// The thread leaves the CPU.
    Escape(Reason),
}

impl CallEnd {
    /// The call is not one that this CPU answers.
    pub const NOT_SERVED: Self = Self::Escape(Reason::NotServed);
}

/// Why a thread left user mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// For a system call that escapes.
    Call(Reason),
    PageFault(u64),
    Exception(u8),
    /// For an interrupt that has no business on this CPU.
    Interrupt(u8),
    /// The doorbell.
    Doorbell,
    /// It waits in a local call.
    Blocked,
    /// It waits for a device that executes its call.
    OnDevice,
    /// Its call has its result, and others go first.
    Yielded,
    /// The CPU is wanted in the middle of its call.
    Paused,
}

impl From<Exit> for Left {
    #[inline]
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Call => Self::Call(Reason::NotServed),
            Exit::PageFault(address) => Self::PageFault(address),
            Exit::Exception(vector) => Self::Exception(vector),
            Exit::Interrupt(vector) => Self::Interrupt(vector),
        }
    }
}
