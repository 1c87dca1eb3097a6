// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A signal's account of its cause: `siginfo_t`, whose layout is the same on all 64-bit Linux.

/// Why a signal came (`si_code`).
pub mod codes {
    /// `kill`.
    pub const USER: i32 = 0;
    /// The kernel itself.
    pub const KERNEL: i32 = 0x80;
    /// `sigqueue`.
    pub const QUEUE: i32 = -1;
    /// `tgkill`.
    pub const THREAD: i32 = -6;
    /// SIGSEGV: nothing is mapped there.
    pub const NOT_MAPPED: i32 = 1;
    /// SIGSEGV: the rights do not allow it.
    pub const NOT_ALLOWED: i32 = 2;
    /// SIGBUS: not aligned.
    pub const ALIGNMENT: i32 = 1;
    /// SIGBUS: memory has failed there, and the thread wanted it.
    pub const MEMORY_ERROR: i32 = 4;
    /// SIGFPE: an integer divided by zero.
    pub const INTEGER_DIVISION: i32 = 1;
    /// SIGFPE: the others, of floating point.
    pub const FLOAT_DIVISION: i32 = 3;
    pub const FLOAT_OVERFLOW: i32 = 4;
    pub const FLOAT_UNDERFLOW: i32 = 5;
    pub const FLOAT_INEXACT: i32 = 6;
    pub const FLOAT_INVALID: i32 = 7;
    /// SIGILL: an operand that is not one.
    pub const OPERAND: i32 = 2;
    /// SIGTRAP: a breakpoint.
    pub const BREAKPOINT: i32 = 1;
    /// SIGTRAP: a single step.
    pub const STEP: i32 = 2;
}

/// A signal with its cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Info {
    pub signal: u8,
    pub code: i32,
    pub error: i32,
    /// The fields behind the first three numbers: process and user, address, value.
    fields: [u64; 4],
}

const FIELDS: usize = 16;

impl Info {
    /// Bytes of a `siginfo_t`.
    pub const BYTES: usize = 128;

    /// From the kernel, for no reason that has more to tell.
    pub const fn kernel(signal: u8) -> Self {
        Self { signal, code: codes::KERNEL, error: 0, fields: [0; 4] }
    }

    /// From a process of this user: `kill` or `tgkill` by `code`.
    pub const fn sent(signal: u8, code: i32, process: i32, user: u32) -> Self {
        let first = process as u32 as u64 | (user as u64) << 32;
        Self { signal, code, error: 0, fields: [first, 0, 0, 0] }
    }

    /// An instruction of the thread has failed at this address, of memory or its own.
    pub const fn fault(signal: u8, code: i32, address: u64) -> Self {
        Self { signal, code, error: 0, fields: [address, 0, 0, 0] }
    }

    /// The info that `rt_sigqueueinfo` gives for `signal`. `None`: it names the kernel or `kill` as the sender, which a
    /// process may not claim.
    pub fn queued(signal: u8, bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let info = Self { signal, ..Self::from_bytes(bytes) };
        (info.code < 0 && info.code != codes::THREAD).then_some(info)
    }

    /// The sending process, if [`Info::sent`].
    pub const fn process(&self) -> i32 {
        let [first, ..] = self.fields;
        first as u32 as i32
    }

    /// The address, if [`Info::fault`].
    pub const fn address(&self) -> u64 {
        let [first, ..] = self.fields;
        first
    }

    /// A `siginfo_t`.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let (head, tail) = bytes.split_at_mut(FIELDS);
        let numbers = [i32::from(self.signal), self.error, self.code];
        for (place, number) in head.chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        for (place, field) in tail.chunks_exact_mut(8).zip(self.fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    /// Reads a `siginfo_t`. The bytes behind the first 48, which no signal uses here, are lost.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let (head, tail) = bytes.split_at(FIELDS);
        let mut numbers = head.as_chunks().0.iter().map(|number| i32::from_le_bytes(*number));
        let mut next = || numbers.next().unwrap_or(0);
        let (signal, error, code) = (next(), next(), next());
        let mut info = Self { signal: u8::try_from(signal).unwrap_or(0), code, error, fields: [0; 4] };
        for (field, bytes) in info.fields.iter_mut().zip(tail.as_chunks().0) {
            *field = u64::from_le_bytes(*bytes);
        }
        info
    }
}
