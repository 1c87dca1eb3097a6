// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Error numbers of Linux on x86-64 and aarch64, as far as a node answers with them itself.

/// A positive error number; a call's result is its negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub u16);

impl Errno {
    pub const EPERM: Self = Self(1);
    pub const ENOENT: Self = Self(2);
    pub const ESRCH: Self = Self(3);
    pub const EINTR: Self = Self(4);
    pub const EIO: Self = Self(5);
    pub const E2BIG: Self = Self(7);
    pub const EBADF: Self = Self(9);
    pub const ECHILD: Self = Self(10);
    pub const EAGAIN: Self = Self(11);
    pub const ENOMEM: Self = Self(12);
    pub const EACCES: Self = Self(13);
    pub const EFAULT: Self = Self(14);
    pub const ENODEV: Self = Self(19);
    pub const EINVAL: Self = Self(22);
    pub const ENOTTY: Self = Self(25);
    pub const ERANGE: Self = Self(34);
    pub const ENAMETOOLONG: Self = Self(36);
    pub const ENOSYS: Self = Self(38);
    pub const EMSGSIZE: Self = Self(90);
    pub const ENOPROTOOPT: Self = Self(92);
    pub const EOPNOTSUPP: Self = Self(95);
    pub const ENOBUFS: Self = Self(105);
    pub const ETIMEDOUT: Self = Self(110);

    /// The result of a call that a signal has interrupted: it is made again after a handler that allows it (SA_RESTART), as
    /// Linux has it inside. Of a call that is not made again after a handler it is EINTR.
    pub const RESTART: i64 = -512;

    /// As a system call returns it.
    #[must_use]
    pub fn result(self) -> i64 {
        -i64::from(self.0)
    }
}
