// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The questions of a host to a CPU about ranges and frames (`memory/answer.rs` does it).

use tacet_logic::frames::Policy;

/// A question; a range is named by its number.
#[derive(Debug, Clone, Copy)]
pub enum Question {
    /// Make a range's table.
    Open { range: u32 },
    /// Put a frame behind a page.
    Touch { range: u32, page: u32, write: bool, from: Source },
    /// Copy a range, from page `at` on, into one that has nothing there.
    Copy { from: u32, to: u32, at: u32 },
    /// Unmap all of a range from page `at` on, and take its table away.
    Clear { range: u32, at: u32 },
    /// Take the frames behind pages away, which stay mapped. `at`: 0, or the page to continue at.
    Discard { range: u32, first: u32, pages: u32, at: u32 },
    /// Free a frame that was unmapped while the host used it.
    Free { frame: u64 },
    /// Map pages that are free, for a program's data. `at`: 0, or the page to continue at.
    Map { range: u32, first: u32, pages: u32, at: u32, from: Source },
    /// A block of 2^order frames joins the pool, all free.
    Join { place: u32, first: u64, order: u8, node: u8 },
    /// The block at this place leaves the pool if all of it is free.
    Leave { place: u32 },
    /// Give what this CPU has in store to all, and leave the address space if no thread runs.
    Drain,
    /// A job gets a run of 2^order frames for itself.
    Give { job: u32, order: u8 },
    /// The job gives the free frames that it owns back to the pool of all.
    Take { job: u32 },
    /// A question that this co-kernel does not know.
    Unknown,
}

/// Where memory comes from.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    pub policy: Policy,
    /// Nodes, as bits.
    pub allowed: u32,
}
