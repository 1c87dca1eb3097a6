// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A core's end of a queue pair.
//!
//! Linux makes a pair for the core and publishes it by an even epoch. It takes the pair away in three steps: the epoch
//! becomes odd, and no command is begun any more; the device forgets the pair, and Linux clears the rings; the epoch is
//! two beyond the even one, or three. A completion counts only if it names a command that is missing, and if the epoch
//! is less than that when the completion has been read. Several calls may have commands in the pair; each look at one
//! takes what is complete of all.

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
    /// The device takes segments (SGL), not only pages.
    pub segments: bool,
}

/// Both rings, as the core last saw them. A new one is for no pair yet.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pair {
    epoch: u32,
    depth: u16,
    tail: u16,
    head: u16,
    /// Completions of the device's current round have this phase.
    phase: bool,
    /// By number, a bit for each: commands whose call does not know yet that they are complete; those that are, and
    /// those of them that have failed.
    given: u32,
    complete: u32,
    failed: u32,
    /// Calls that these belong to.
    calls: u32,
}

/// The commands of a call that the device has.
#[derive(Debug, Clone, Copy)]
pub struct Flight {
    epoch: u32,
    /// Their numbers, a bit for each.
    numbers: u32,
}

impl Flight {
    /// How many commands these are.
    pub fn commands(&self) -> u32 {
        self.numbers.count_ones()
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
        self.open(memory, limits)?;
        let mut commands = Commands::new(memory, limits, transfer, self.tail, !self.given)?;
        commands.put(pieces)?;
        let flight = self.start(memory, commands.count, commands.numbers)?;
        Ok((flight, commands.done))
    }

    /// Has the device keep what it has completed.
    pub fn flush<M: QueueMemory>(&mut self, memory: &M, limits: &Limits, namespace: u32) -> Result<Flight, Forward> {
        self.open(memory, limits)?;
        let number = (!self.given).trailing_zeros();
        memory.put_command(self.tail, &command::flush(FIRST_NUMBER + number as u16, namespace));
        self.start(memory, 1, 1 << number)
    }

    /// Commands that are not complete, and the calls that these and others belong to which no call has looked at.
    pub fn in_flight(&self) -> (u32, u32) {
        ((self.given & !self.complete).count_ones(), self.calls)
    }

    /// A command may be given, as far as is known. There is a place for each number in both rings.
    fn open<M: QueueMemory>(&mut self, memory: &M, limits: &Limits) -> Result<(), Forward> {
        let epoch = memory.epoch();
        if !is_usable(epoch) || limits.depth <= LISTS {
            return Err(Forward::State);
        }
        if epoch != self.epoch {
            *self = Self { epoch, depth: limits.depth, phase: true, ..Self::default() };
        }
        if self.given == u32::MAX { Err(Forward::Busy) } else { Ok(()) }
    }

    /// So many commands stand behind the tail, at least 1: the device may begin.
    fn start<M: QueueMemory>(&mut self, memory: &M, count: u16, numbers: u32) -> Result<Flight, Forward> {
        let tail = (self.tail + count) % self.depth;
        // If Linux takes the pair away now, either this look shows that, or Linux waits until the core has rung.
        memory.set_ringing(true);
        let rings = memory.epoch() == self.epoch;
        if rings {
            tell(memory, Door::Submission, tail);
        }
        memory.set_ringing(false);
        if !rings {
            return Err(Forward::State);
        }
        self.tail = tail;
        self.given |= numbers;
        self.calls += 1;
        Ok(Flight { epoch: self.epoch, numbers })
    }

    /// A look would show nothing: a command of the call is missing, and neither the device nor Linux has done anything.
    #[inline]
    pub fn is_quiet<M: QueueMemory>(&self, memory: &M, flight: &Flight) -> bool {
        flight.numbers & !self.complete != 0
            && memory.completion(self.head).status & 1 != u16::from(self.phase)
            && memory.epoch() == flight.epoch
            && self.epoch == flight.epoch
    }

    /// Looks at what the device has completed of a call.
    pub fn look<M: QueueMemory>(&mut self, memory: &M, flight: &Flight) -> Look {
        // Another call has found the pair renewed.
        if flight.epoch != self.epoch {
            return Look::Forward(Forward::Loss);
        }
        if flight.numbers & !self.complete != 0 {
            let is_dead = self.collect(memory);
            if flight.numbers & !self.complete != 0 {
                return if is_dead { self.forget(flight, Look::Forward(Forward::Loss)) } else { Look::Wait };
            }
        }
        let failed = flight.numbers & self.failed != 0;
        self.forget(flight, if failed { Look::Forward(Forward::Status) } else { Look::Done })
    }

    /// The call is over. Of a dead pair the numbers stay given: the next one begins with all of them.
    fn forget(&mut self, flight: &Flight, over: Look) -> Look {
        if over != Look::Forward(Forward::Loss) {
            self.given &= !flight.numbers;
            self.complete &= !flight.numbers;
            self.failed &= !flight.numbers;
        }
        self.calls = self.calls.saturating_sub(1);
        over
    }

    /// Takes what the device has completed of any call. True: Linux has taken the pair away.
    fn collect<M: QueueMemory>(&mut self, memory: &M) -> bool {
        let mut taken = false;
        let is_dead = loop {
            let completion = memory.completion(self.head);
            let command = 1u32.checked_shl(completion.command.wrapping_sub(FIRST_NUMBER).into()).unwrap_or(0);
            let is_missing = self.given & !self.complete & command != 0;
            if memory.epoch().wrapping_sub(self.epoch) >= 2 {
                break true;
            }
            if completion.status & 1 != u16::from(self.phase) || !is_missing {
                break false;
            }
            taken = true;
            self.complete |= command;
            if completion.status >> 1 & 0x7ff != 0 {
                self.failed |= command;
            }
            self.head += 1;
            if self.head >= self.depth {
                (self.head, self.phase) = (0, !self.phase);
            }
        };
        if taken {
            self.free_completions(memory);
        }
        is_dead
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
