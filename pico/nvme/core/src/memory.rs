// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a queue pair needs of its host: access to memory that the device and Linux use at the same time.

use crate::command::Command;

/// One end of a ring, as the device is told of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// The tail of the submission queue.
    Submission,
    /// The head of the completion queue.
    Completion,
}

/// The second half of an entry of a completion queue: the device writes it last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    pub command: u16,
    /// Bit 0 is the phase.
    pub status: u16,
}

/// The memory of one queue pair. Indices are below what [`Limits`](crate::Limits) say; the host checks them again.
pub trait QueueMemory {
    /// Linux's number of this pair: even and not 0 while commands may be begun. All later accesses come after this one.
    fn epoch(&self) -> u32;

    /// Tells Linux that the core is about to ring. All earlier accesses come before this one, all later ones after it.
    fn set_ringing(&self, ringing: bool);

    /// Writes an entry of the submission queue.
    fn put_command(&self, slot: u16, command: &Command);

    /// Writes a word of a list: a page's address, or half of a segment's entry.
    fn put_word(&self, list: u16, index: u16, word: u64);

    /// Reads the second half of an entry of the completion queue, in one access. All later accesses come after it.
    fn completion(&self, slot: u16) -> Completion;

    /// Writes a doorbell's shadow in memory, then reads where the device wants the doorbell itself to be rung: what the
    /// shadow was before, and that. All earlier accesses come before. `None`: the device has no shadows.
    fn exchange_shadow(&self, door: Door, value: u16) -> Option<(u16, u16)>;

    /// Writes a doorbell. All earlier accesses come before.
    fn ring(&self, door: Door, value: u16);
}
