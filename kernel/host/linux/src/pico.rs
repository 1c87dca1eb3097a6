// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Devices with fast paths, and what Linux granted of them (`pico.h`): this CPU's queues. The other end is `pico/linux`.
//!
//! Linux's numbers are checked where they are read: they decide about memory and registers that a program must not
//! reach. Rings are reached by `queue.rs`.

use crate::queue::Queue;
use core::cell::Cell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use tacet_abi as abi;
use tacet_abi::{
    TACET_MEMORY_BLOCKS, TACET_PICO_AT_LINUX, TACET_PICO_CACHE, TACET_PICO_DEVICES, TACET_PICO_GRANT_FREE,
    TACET_PICO_GRANT_REVOKED, TACET_PICO_GRANT_VALID, TACET_PICO_GRANTS, TACET_PICO_NVME, TACET_PICO_READ,
    TACET_PICO_THROUGH, TACET_PICO_WRITE, tacet_cpu_boot, tacet_pico_device, tacet_pico_grant, tacet_pico_piece,
    tacet_pico_queue,
};
use tacet_pico::{Descriptors, Direction, FastPath, Forward, Grant, Look, Piece, Request, Standing, Transfer};
use tacet_pico_nvme::{Flight, Limits, Pair};

macro_rules! read {
    ($at:expr, $field:ident) => {{
        // SAFETY: mapped for as long as the CPU runs, aligned; Linux writes the field before it says so by `state` or
        // `epoch`, which have been read; a value that is too old is found out when they are read again.
        unsafe { (&raw const (*$at.as_ptr()).$field).read_volatile() }
    }};
}

macro_rules! atomic {
    ($at:expr, $atomic:ident, $field:ident) => {{
        // SAFETY: mapped for as long as the CPU runs; aligned; always accessed atomically.
        unsafe { $atomic::from_ptr(&raw mut (*$at.as_ptr()).$field) }
    }};
}

/// One CPU's way to all devices.
pub struct Devices {
    at: NonNull<abi::tacet_pico>,
    queues: NonNull<tacet_pico_queue>,
    grants: NonNull<tacet_pico_grant>,
    /// How many there are.
    count: u32,
    cpus: u32,
    index: u32,
    spaces: u32,
    /// By device: this CPU's end of its queue.
    pairs: [Cell<Pair>; TACET_PICO_DEVICES as usize],
}

/// A grant that this CPU uses.
#[derive(Clone, Copy)]
pub struct Used {
    at: NonNull<tacet_pico_grant>,
    device: u32,
    generation: u32,
}

impl Used {
    /// While it is used Linux does not change it.
    fn grant(&self) -> Grant {
        let (at, rights) = (self.at, read!(self.at, rights));
        Grant {
            reads: rights & TACET_PICO_READ != 0,
            writes: rights & TACET_PICO_WRITE != 0,
            through: rights & TACET_PICO_THROUGH != 0,
            cached: rights & TACET_PICO_CACHE != 0,
            namespace: read!(at, namespace_id),
            sector_shift: read!(at, block_shift),
            first: read!(at, first),
            count: read!(at, count),
        }
    }
}

impl Devices {
    /// `None`: no device has a fast path.
    pub fn new(boot: &tacet_cpu_boot) -> Option<Self> {
        let at = NonNull::new(boot.pico_base as *mut abi::tacet_pico)?;
        Some(Self {
            at,
            queues: NonNull::new(read!(at, queues_base) as *mut tacet_pico_queue)?,
            grants: NonNull::new(read!(at, grants_base) as *mut tacet_pico_grant)?,
            count: read!(at, device_count).min(TACET_PICO_DEVICES),
            cpus: read!(at, core_count),
            index: boot.index,
            spaces: boot.space_count,
            pairs: Default::default(),
        })
        .filter(|devices| devices.index < devices.cpus)
    }

    /// This CPU's queue at a device.
    fn queue(&self, device: u32) -> Option<Queue> {
        let number = device * self.cpus + self.index;
        // SAFETY: Linux has mapped one for each device and each CPU; both numbers are below their counts.
        (device < self.count).then(|| Queue::new(unsafe { self.queues.add(number as usize) }))
    }

    fn device(&self, number: u32) -> Option<NonNull<tacet_pico_device>> {
        let base = self.at.as_ptr();
        // SAFETY: the number is within the array.
        (number < self.count).then(|| unsafe {
            NonNull::new_unchecked((&raw mut (*base).devices).cast::<tacet_pico_device>().add(number as usize))
        })
    }

    /// The device's address of a page of 4 KiB of the partition. `last`: the piece that was found last.
    fn device_address(
        &self,
        device: NonNull<tacet_pico_device>,
        physical: u64,
        last: &mut tacet_pico_piece,
    ) -> Option<u64> {
        let inside = |piece: &tacet_pico_piece| {
            physical
                .checked_sub(piece.physical)
                .filter(|offset| offset.checked_add(4096).is_some_and(|end| end <= piece.bytes))
        };
        if inside(last).is_none() {
            let count = read!(device, piece_count).min(TACET_MEMORY_BLOCKS) as usize;
            // SAFETY: the index is within the array; Linux does not change it while the queue's epoch is the same, which
            // is looked at again before a command is given.
            let piece = |index| unsafe {
                (&raw const (*device.as_ptr()).pieces).cast::<tacet_pico_piece>().add(index).read_volatile()
            };
            *last = (0..count).map(piece).find(|piece| inside(piece).is_some())?;
        }
        inside(last)?.checked_add(last.device)
    }

    /// Gives this CPU's queue at the grant's device something, if the queue is usable.
    fn give<T>(
        &self,
        used: Used,
        work: impl FnOnce(&mut Pair, &Queue, NonNull<tacet_pico_device>, &Limits) -> Result<T, Forward>,
    ) -> Result<T, Forward> {
        let device = self.device(used.device).ok_or(Forward::State)?;
        let given = self.with(used.device, |pair, queue| {
            let limits = queue.limits().filter(|_| read!(device, kind) == TACET_PICO_NVME).ok_or(Forward::State)?;
            let given = work(pair, queue, device, &limits);
            queue.show_flight(pair.in_flight());
            given
        });
        given.unwrap_or(Err(Forward::State))
    }

    /// The state of this CPU's end of a queue, which `work` may change.
    fn with<T>(&self, device: u32, work: impl FnOnce(&mut Pair, &Queue) -> T) -> Option<T> {
        let (cell, queue) = (self.pairs.get(device as usize)?, self.queue(device)?);
        let mut pair = cell.get();
        let result = work(&mut pair, &queue);
        cell.set(pair);
        Some(result)
    }
}

impl FastPath for Devices {
    type Used = Used;
    type Flight = Flight;

    fn find(&self, Descriptors { space, table }: Descriptors, descriptor: i32) -> Option<Used> {
        if space >= self.spaces {
            return None;
        }
        let first = space as usize * TACET_PICO_GRANTS as usize;
        (0..TACET_PICO_GRANTS as usize).find_map(|index| {
            // SAFETY: Linux has mapped so many for each space; both numbers are below their counts.
            let at = unsafe { self.grants.add(first + index) };
            let is_it = || {
                let state = atomic!(at, AtomicU32, state).load(Ordering::Acquire);
                state == TACET_PICO_GRANT_VALID && read!(at, descriptor) == descriptor && read!(at, table) == table
            };
            if !is_it() {
                return None;
            }
            let using = atomic!(at, AtomicU32, using);
            // A full barrier on both sides: either Linux finds that the grant is used, or the CPU that it is taken back.
            using.fetch_add(1, Ordering::SeqCst);
            fence(Ordering::SeqCst);
            if !is_it() {
                using.fetch_sub(1, Ordering::Release);
                return None;
            }
            Some(Used { at, device: read!(at, device), generation: read!(at, generation) })
        })
    }

    fn check(&self, used: Used, request: &Request) -> Result<Transfer, Forward> {
        used.grant().check(request)
    }

    fn begin(
        &self,
        used: Used,
        transfer: &Transfer,
        pieces: &mut dyn Iterator<Item = Option<Piece>>,
    ) -> Result<(Flight, u32), Forward> {
        let mut last = tacet_pico_piece { physical: 0, bytes: 0, device: 0 };
        self.give(used, |pair, queue, device, limits| {
            let pieces = pieces.map(|piece| {
                let Piece { address, bytes } = piece?;
                let offset = address & 4095;
                let page = self.device_address(device, address - offset, &mut last)?;
                Some(Piece { address: page + offset, bytes })
            });
            let (flight, bytes) = pair.begin(queue, limits, transfer, pieces)?;
            queue.count_commands(flight.commands());
            Ok((flight, bytes))
        })
    }

    fn flush(&self, used: Used) -> Result<Option<Flight>, Forward> {
        let grant = used.grant();
        if !grant.cached {
            return Ok(None);
        }
        self.give(used, |pair, queue, _, limits| {
            let flight = pair.flush(queue, limits, grant.namespace)?;
            queue.count_commands(1);
            Ok(Some(flight))
        })
    }

    fn position(&self, used: Used) -> Option<u64> {
        let position = atomic!(used.at, AtomicU64, position).load(Ordering::Acquire);
        (position & TACET_PICO_AT_LINUX as u64 == 0).then_some(position)
    }

    fn set_position(&self, used: Used, position: u64) {
        // Whatever it is now: two calls at the same time are the program's mistake, on Linux too.
        let at_linux = |now: u64| Some(now & TACET_PICO_AT_LINUX as u64 | position & !(TACET_PICO_AT_LINUX as u64));
        let word = atomic!(used.at, AtomicU64, position);
        _ = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, at_linux);
    }

    fn look(&self, used: Used, flight: &Flight) -> Look {
        let look = self.with(used.device, |pair, queue| {
            let look = pair.look(queue, flight);
            if look != Look::Wait {
                queue.show_flight(pair.in_flight());
            }
            look
        });
        look.unwrap_or(Look::Wait)
    }

    fn await_news(&self, used: Used, flight: &Flight, looks: u32) {
        let pair = self.pairs.get(used.device as usize).map(Cell::get);
        let Some((pair, queue)) = pair.zip(self.queue(used.device)) else { return };
        for _ in 0..looks {
            tacet_pico::pause();
            if !pair.is_quiet(&queue, flight) {
                break;
            }
        }
    }

    fn complain(&self, used: Used) {
        if let Some(queue) = self.queue(used.device) {
            queue.complain();
        }
    }

    fn standing(&self, used: Used) -> Standing {
        // What the device has completed comes before this look; pairs with Linux, which revokes before it reads the blocks.
        fence(Ordering::SeqCst);
        match atomic!(used.at, AtomicU32, state).load(Ordering::SeqCst) {
            TACET_PICO_GRANT_VALID => Standing::Valid,
            TACET_PICO_GRANT_REVOKED => Standing::Revoked,
            _ => Standing::Ended,
        }
    }

    fn leave(&self, used: Used) {
        // The device and this CPU are done with all that the grant stands for.
        atomic!(used.at, AtomicU32, using).fetch_sub(1, Ordering::Release);
    }

    fn is_settled(&self, used: Used) -> bool {
        atomic!(used.at, AtomicU32, generation).load(Ordering::Acquire) != used.generation
            || atomic!(used.at, AtomicU32, state).load(Ordering::Acquire) == TACET_PICO_GRANT_FREE
    }

    fn count(&self, used: Used, answer: Result<Option<&Transfer>, Forward>) {
        if let Some(queue) = self.queue(used.device) {
            match answer {
                Ok(Some(transfer)) => queue.count_call(transfer.direction == Direction::Write, transfer.bytes),
                Ok(None) => queue.count_call(false, 0),
                Err(reason) => queue.count_fallback(reason),
            }
        }
    }
}
