// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls on descriptors that the host granted: the device gets its commands from this CPU (`tacet_pico`).
//!
//! The CPU looks at the device until it is done. If anything waits for the CPU meanwhile, the call pauses: requests are
//! served, then it goes on. The thread stays until then, even if it is killed. With other threads in the queue the call
//! is the host's: they run while it waits there. A call that needs more commands than there are has them in portions;
//! if one fails, the host executes the whole call, which a device bears.

use super::Call;
use crate::escape::CallEnd;
use crate::host::{Host, Permits, Thread};
use crate::memory::{Long, Range};
use core::hint::spin_loop;
use tacet_arch::{Processor, UserState};
use tacet_logic::paging::Protection;
use tacet_pico::{Buffer, Buffers, Direction, FastPath, Forward, Look, Request, Transfer};

/// Looks at the device until the CPU looks at what waits for it.
const LOOKS: u32 = 64;
/// A device that takes longer is taken away from its commands, as Linux's driver does (its `io_timeout`).
const PATIENCE_MS: u64 = 30_000;

/// A call whose commands a device has.
#[derive(Clone, Copy)]
pub struct Flight<U, F> {
    used: U,
    device: F,
    /// `None`: a flush.
    work: Option<Work>,
    since: u64,
    complained: bool,
}

/// Data that a call moves.
#[derive(Clone, Copy)]
struct Work {
    transfer: Transfer,
    buffers: Buffers,
    /// All that is used of the program's memory.
    extent: (u64, u64),
    /// Bytes that have been moved, and those that the device has.
    done: u32,
    begun: u32,
    /// The file's position when the call has ended, if it moves it.
    position: Option<u64>,
}

type UsedOf<H> = <<H as Host>::Devices as FastPath>::Used;

pub type FlightOf<H> = Flight<UsedOf<H>, <<H as Host>::Devices as FastPath>::Flight>;

/// Which arguments a call has.
#[derive(Clone, Copy)]
enum Form {
    /// A buffer, and where: else at the file's position.
    Buffer,
    BufferAt,
    /// The same with a vector of buffers.
    Vector,
    VectorAt,
    /// And flags; an offset of -1 is the file's position.
    VectorWith,
    /// None: all that was written is to last.
    Flush,
}

/// RWF_HIPRI says how to wait, which the CPU decides. With RWF_DSYNC or RWF_SYNC what is written is to last.
const POLLED: u64 = 1;
const THROUGH: u64 = 2 | 4;

macro_rules! calls {
    ($($name:ident: $form:ident, $direction:ident;)*) => {
        $(#[inline]
        pub fn $name<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
            serve(call, Form::$form, Direction::$direction)
        })*
    };
}

calls! {
    read: Buffer, Read;
    write: Buffer, Write;
    pread64: BufferAt, Read;
    pwrite64: BufferAt, Write;
    readv: Vector, Read;
    writev: Vector, Write;
    preadv: VectorAt, Read;
    pwritev: VectorAt, Write;
    preadv2: VectorWith, Read;
    pwritev2: VectorWith, Write;
    fsync: Flush, Write;
    fdatasync: Flush, Write;
}

#[inline]
fn serve<H: Host>(call: &Call<'_, '_, H>, form: Form, direction: Direction) -> CallEnd {
    match call.cpu.host.granted_space(call.thread) {
        Some(space) => begin(call, space, form, direction),
        None => CallEnd::NOT_SERVED,
    }
}

/// Finds the descriptor's grant, if there is one, and begins.
#[inline(never)]
fn begin<H: Host>(call: &Call<'_, '_, H>, space: u32, form: Form, direction: Direction) -> CallEnd {
    let [descriptor, ..] = call.user.arguments();
    if !call.alone || !call.thread.permits().has(Permits::CALLS) {
        return CallEnd::NOT_SERVED;
    }
    let Some(devices) = call.cpu.host.devices() else { return CallEnd::NOT_SERVED };
    let Some(used) = devices.find(space, descriptor as i32) else { return CallEnd::NOT_SERVED };
    let begun = match form {
        Form::Flush => devices.flush(used).map(|device| device.map(|device| (device, None))),
        _ => examine(call, devices, used, form, direction)
            .and_then(|mut work| give(call, devices, used, &mut work).map(|device| Some((device, Some(work))))),
    };
    match begun {
        Ok(Some((device, work))) => {
            let since = call.cpu.host.processor().cycles();
            call.cpu.flight.set(Some(Flight { used, device, work, since, complained: false }));
            look(call)
        }
        // The device has no cache.
        Ok(None) => {
            devices.end(used, Ok(None));
            CallEnd::Done(0)
        }
        Err(reason) => {
            devices.end(used, Err(reason));
            CallEnd::NOT_SERVED
        }
    }
}

/// The data that the call moves, if the grant has all of them.
fn examine<H: Host>(
    call: &Call<'_, '_, H>,
    devices: &H::Devices,
    used: UsedOf<H>,
    form: Form,
    direction: Direction,
) -> Result<Work, Forward> {
    let [_, at, size, offset, _, flags] = call.user.arguments();
    let buffers = match form {
        Form::Buffer | Form::BufferAt => Buffers::One(Buffer { address: at, bytes: size }),
        _ => Buffers::vector(at, size)?,
    };
    let (offset, flags) = match form {
        Form::BufferAt | Form::VectorAt => (Some(offset), 0),
        Form::VectorWith => (Some(offset).filter(|&offset| offset != u64::MAX), flags),
        _ => (None, 0),
    };
    // The kernel takes an int.
    if flags as u32 as u64 & !(POLLED | THROUGH) != 0 {
        return Err(Forward::Rights);
    }
    let memory = buffers.survey(|address| call.user_load(address))?;
    let moves = offset.is_none();
    let offset = offset.or_else(|| devices.position(used)).ok_or(Forward::State)?;
    let transfer = devices.check(used, &Request { direction, memory, offset, through: flags & THROUGH != 0 })?;
    let position = moves.then_some(offset + memory.bytes);
    Ok(Work { transfer, buffers, extent: (memory.first, memory.end), done: 0, begun: 0, position })
}

/// Gives the device the commands for what is left, or the first part of it.
fn give<H: Host>(
    call: &Call<'_, '_, H>,
    devices: &H::Devices,
    used: UsedOf<H>,
    work: &mut Work,
) -> Result<<H::Devices as FastPath>::Flight, Forward> {
    let rest = work.transfer.behind(work.done);
    let access = match rest.direction {
        Direction::Read => Protection::READ_WRITE,
        Direction::Write => Protection::READ,
    };
    let mut memory = call.cpu.memory.borrow_mut();
    let mut range = Range::of(call.cpu, memory.as_mut(), call.thread).ok_or(Forward::Buffer)?;
    let (buffers, done, unit) = (work.buffers, work.done.into(), 1 << rest.sector_shift);
    let (device, begun) = range.lend(work.extent, access, |frame| {
        let mut pieces = buffers.pieces(done, unit, |address| call.user_load(address), frame);
        devices.begin(used, &rest, &mut pieces)
    })?;
    work.begun = begun;
    Ok(device)
}

/// Looks until the device is done, or the CPU is wanted: then the call pauses.
#[inline(never)]
pub fn look<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    let (cpu, processor) = (call.cpu, call.cpu.host.processor());
    let (Some(mut flight), Some(devices)) = (cpu.flight.get(), cpu.host.devices()) else { return CallEnd::NOT_SERVED };
    loop {
        for _ in 0..LOOKS {
            match devices.look(flight.used, &mut flight.device) {
                Look::Wait => spin_loop(),
                Look::Done => match proceed(call, devices, &mut flight) {
                    Ok(true) => {}
                    Ok(false) => return end(call, devices, &flight, Ok(())),
                    Err(reason) => return end(call, devices, &flight, Err(reason)),
                },
                Look::Forward(reason) => return end(call, devices, &flight, Err(reason)),
            }
        }
        cpu.host.count_progress();
        let waited = processor.cycles().wrapping_sub(flight.since);
        if !flight.complained && waited > PATIENCE_MS.saturating_mul(processor.cycles_per_ms()) {
            devices.complain(flight.used);
            flight.complained = true;
        }
        if processor.is_wanted() {
            cpu.flight.set(Some(flight));
            cpu.rest.set(Some(Long::of_device()));
            return CallEnd::Pause;
        }
    }
}

/// The device has done what it had. True: it has more of the same call now.
fn proceed<H: Host>(call: &Call<'_, '_, H>, devices: &H::Devices, flight: &mut FlightOf<H>) -> Result<bool, Forward> {
    let Some(work) = &mut flight.work else { return Ok(false) };
    work.done += work.begun;
    if work.done >= work.transfer.bytes {
        return Ok(false);
    }
    call.cpu.common().loans.end(call.cpu.host.processor().index());
    // Nobody waits for a killed thread's data.
    if call.thread.is_killed() {
        return Err(Forward::State);
    }
    flight.device = give(call, devices, flight.used, work)?;
    flight.since = call.cpu.host.processor().cycles();
    flight.complained = false;
    Ok(true)
}

/// The device touches the buffers no more.
fn end<H: Host>(
    call: &Call<'_, '_, H>,
    devices: &H::Devices,
    flight: &FlightOf<H>,
    result: Result<(), Forward>,
) -> CallEnd {
    let cpu = call.cpu;
    cpu.flight.set(None);
    cpu.rest.set(None);
    cpu.common().loans.end(cpu.host.processor().index());
    let work = flight.work.as_ref();
    if let (Ok(()), Some(position)) = (result, work.and_then(|work| work.position)) {
        devices.set_position(flight.used, position);
    }
    devices.end(flight.used, result.map(|()| work.map(|work| &work.transfer)));
    match result {
        Ok(()) => {
            cpu.by_device.set(true);
            CallEnd::Done(work.map_or(0, |work| work.transfer.bytes.into()))
        }
        Err(_) => CallEnd::NOT_SERVED,
    }
}
