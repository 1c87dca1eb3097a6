// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls on descriptors that the host granted: the device gets its commands from this CPU (`tacet_pico`).
//!
//! The CPU looks at the device until it is done. If anything waits for the CPU meanwhile, the call pauses: requests are
//! served, then it goes on. The thread stays until then, even if it is killed. With other threads in the queue the call
//! is the host's: they run while it waits there.

use super::Call;
use crate::escape::CallEnd;
use crate::host::{Host, Permits, Thread};
use crate::memory::{Long, Range};
use core::hint::spin_loop;
use tacet_arch::{Processor, UserState};
use tacet_logic::paging::Protection;
use tacet_pico::{Direction, FastPath, Forward, Look, Request, Transfer};

/// Looks at the device until the CPU looks at what waits for it.
const LOOKS: u32 = 64;
/// A device that takes longer is taken away from its commands, as Linux's driver does (its `io_timeout`).
const PATIENCE_MS: u64 = 30_000;

/// A call whose commands a device has.
#[derive(Clone, Copy)]
pub struct Flight<U, F> {
    used: U,
    device: F,
    transfer: Transfer,
    since: u64,
    complained: bool,
}

type UsedOf<H> = <<H as Host>::Devices as FastPath>::Used;

pub type FlightOf<H> = Flight<UsedOf<H>, <<H as Host>::Devices as FastPath>::Flight>;

#[inline]
pub fn pread64<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    serve(call, Direction::Read)
}

#[inline]
pub fn pwrite64<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    serve(call, Direction::Write)
}

#[inline]
fn serve<H: Host>(call: &Call<'_, '_, H>, direction: Direction) -> CallEnd {
    match call.cpu.host.granted_space(call.thread) {
        Some(space) => begin(call, space, direction),
        None => CallEnd::NOT_SERVED,
    }
}

/// Finds the descriptor's grant, if there is one, and begins.
#[inline(never)]
fn begin<H: Host>(call: &Call<'_, '_, H>, space: u32, direction: Direction) -> CallEnd {
    let [descriptor, address, bytes, offset, ..] = call.user.arguments();
    let request = Request { direction, address, bytes, offset };
    if !call.alone || !call.thread.permits().has(Permits::CALLS) {
        return CallEnd::NOT_SERVED;
    }
    let Some(devices) = call.cpu.host.devices() else { return CallEnd::NOT_SERVED };
    let Some(used) = devices.find(space, descriptor as i32) else { return CallEnd::NOT_SERVED };
    match give(call, devices, used, &request) {
        Ok(flight) => {
            call.cpu.flight.set(Some(flight));
            look(call)
        }
        Err(reason) => {
            devices.end(used, Err(reason));
            CallEnd::NOT_SERVED
        }
    }
}

/// Gives the device the call's commands.
fn give<H: Host>(
    call: &Call<'_, '_, H>,
    devices: &H::Devices,
    used: UsedOf<H>,
    request: &Request,
) -> Result<FlightOf<H>, Forward> {
    let transfer = devices.check(used, request)?;
    let access = match transfer.direction {
        Direction::Read => Protection::READ_WRITE,
        Direction::Write => Protection::READ,
    };
    let mut memory = call.cpu.memory.borrow_mut();
    let mut range = Range::of(call.cpu, memory.as_mut(), call.thread).ok_or(Forward::Buffer)?;
    let buffer = (request.address, transfer.pages());
    let device = range.lend(buffer, access, |frames| {
        let mut pages = frames.map(|frame| frame.map(|frame| frame << 12));
        devices.begin(used, &transfer, &mut pages)
    })?;
    Ok(Flight { used, device, transfer, since: call.cpu.host.processor().cycles(), complained: false })
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
                Look::Done => return end(call, devices, &flight, Ok(())),
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

/// The device touches the buffer no more.
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
    devices.end(flight.used, result.map(|()| &flight.transfer));
    match result {
        Ok(()) => {
            cpu.by_device.set(true);
            CallEnd::Done(flight.transfer.bytes.into())
        }
        Err(_) => CallEnd::NOT_SERVED,
    }
}
