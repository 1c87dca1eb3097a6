// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why an operation was refused. What is mapped is then as it was before.

/// The number is the first page where it is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// Address or length is not a multiple of 4 KiB (`EINVAL`).
    Misaligned,
    /// Empty, or not within the range (`EINVAL` or `ENOMEM`).
    Outside,
    /// From and to of a move share pages (`EINVAL`).
    Overlap,
    /// The page is mapped (`EEXIST`).
    Occupied(u32),
    /// The page is not mapped (`ENOMEM`, `EFAULT`, or the signal `SEGV_MAPERR`).
    Unmapped(u32),
    /// Its protection does not allow it (`SEGV_ACCERR`).
    NotAllowed(u32),
    /// No memory for a page table (`ENOMEM`).
    NoTable,
    /// No frame where the policy allows (`ENOMEM`).
    NoFrame,
}
