// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A core's end of a queue pair.
//!
//! Linux makes a pair for the core and publishes it by an even epoch. It takes the pair away in three steps: the epoch
//! becomes odd, and no command is begun any more; the device forgets the pair, and Linux clears the rings; the epoch is
//! two beyond the even one, or three. A completion counts only if it names a command that is missing, and if the epoch
//! is less than that when the completion has been read.

use crate::command;
use crate::commands::{Commands, FIRST_NUMBER, LISTS};
use crate::memory::{Door, QueueMemory};
use tacet_pico::{Forward, Look, Piece, Transfer};

/// What Linux says of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Entries of each ring.
    pub depth: u16,
    /// Of one command.
    pub most_bytes: u32,
    /// The device's address of the first list; the others follow.
    pub lists: u64,
}

/// Both rings, as the core last saw them. A new one is for no pair yet.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pair {
    epoch: u32,
    tail: u16,
    head: u16,
    /// Completions of the device's current round have this phase.
    phase: bool,
}

/// The commands of a call that the device has.
#[derive(Debug, Clone, Copy)]
pub struct Flight {
    epoch: u32,
    depth: u16,
    /// By number: the command is not complete.
    missing: u32,
    failed: bool,
}

impl Flight {
    /// How many commands are not complete.
    pub fn missing(&self) -> u32 {
        self.missing.count_ones()
    }
}

impl Pair {
    /// Gives the device the commands of a transfer, or as many as there may be, or none: for how many bytes. `pieces` is
    /// the memory in order, at the device's addresses.
    pub fn begin<M: QueueMemory>(
        &mut self,
        memory: &M,
        limits: &Limits,
        transfer: &Transfer,
        pieces: impl Iterator<Item = Option<Piece>>,
    ) -> Result<(Flight, u32), Forward> {
        let epoch = self.open(memory, limits)?;
        let mut commands = Commands::new(memory, limits, transfer, self.tail)?;
        commands.put(pieces)?;
        let flight = self.start(memory, limits, epoch, commands.number)?;
        Ok((flight, commands.done))
    }

    /// Has the device keep what it has completed.
    pub fn flush<M: QueueMemory>(&mut self, memory: &M, limits: &Limits, namespace: u32) -> Result<Flight, Forward> {
        let epoch = self.open(memory, limits)?;
        memory.put_command(self.tail, &command::flush(FIRST_NUMBER, namespace));
        self.start(memory, limits, epoch, 1)
    }

    /// Both rings are empty; the pair's epoch.
    fn open<M: QueueMemory>(&mut self, memory: &M, limits: &Limits) -> Result<u32, Forward> {
        let epoch = memory.epoch();
        if !is_usable(epoch) || limits.depth <= LISTS {
            return Err(Forward::State);
        }
        if epoch != self.epoch {
            *self = Self { epoch, tail: 0, head: 0, phase: true };
        }
        Ok(epoch)
    }

    /// So many commands stand behind the tail, at least 1: the device may begin.
    fn start<M: QueueMemory>(
        &mut self,
        memory: &M,
        limits: &Limits,
        epoch: u32,
        count: u16,
    ) -> Result<Flight, Forward> {
        let tail = (self.tail + count) % limits.depth;
        // If Linux takes the pair away now, either this look shows that, or Linux waits until the core has rung.
        memory.set_ringing(true);
        let rings = memory.epoch() == epoch;
        if rings {
            tell(memory, Door::Submission, tail);
        }
        memory.set_ringing(false);
        if !rings {
            return Err(Forward::State);
        }
        self.tail = tail;
        Ok(Flight { epoch, depth: limits.depth, missing: u32::MAX >> (32 - u32::from(count)), failed: false })
    }

    /// Looks at what the device has completed.
    pub fn look<M: QueueMemory>(&mut self, memory: &M, flight: &mut Flight) -> Look {
        let mut taken = false;
        while flight.missing != 0 {
            let completion = memory.completion(self.head);
            let command = 1u32.checked_shl(completion.command.wrapping_sub(FIRST_NUMBER).into()).unwrap_or(0);
            let is_new = completion.status & 1 == u16::from(self.phase) && flight.missing & command != 0;
            if memory.epoch().wrapping_sub(flight.epoch) >= 2 {
                return Look::Forward(Forward::Loss);
            }
            if !is_new {
                break;
            }
            taken = true;
            flight.missing &= !command;
            flight.failed |= completion.status >> 1 & 0x7ff != 0;
            self.head += 1;
            if self.head >= flight.depth {
                (self.head, self.phase) = (0, !self.phase);
            }
        }
        if taken {
            self.free_completions(memory);
        }
        match flight {
            Flight { missing: 0, failed: false, .. } => Look::Done,
            Flight { missing: 0, failed: true, .. } => Look::Forward(Forward::Status),
            _ => Look::Wait,
        }
    }

    /// The device may use the completions' entries again: unless its pair is being taken away, and with it the doorbell.
    fn free_completions<M: QueueMemory>(&self, memory: &M) {
        memory.set_ringing(true);
        if memory.epoch() == self.epoch {
            tell(memory, Door::Completion, self.head);
        }
        memory.set_ringing(false);
    }
}

/// Linux lets the core begin commands.
fn is_usable(epoch: u32) -> bool {
    epoch != 0 && epoch.is_multiple_of(2)
}

/// Tells the device where an end of a ring is now. A device with shadows looks there by itself for as long as it is at
/// work, and says how far: beyond that the doorbell must ring (base specification, "Doorbell Buffer Config").
fn tell<M: QueueMemory>(memory: &M, door: Door, value: u16) {
    let rings = match memory.exchange_shadow(door, value) {
        None => true,
        Some((old, event)) => value.wrapping_sub(event).wrapping_sub(1) < value.wrapping_sub(old),
    };
    if rings {
        memory.ring(door, value);
    }
}
