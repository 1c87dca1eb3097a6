// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls on descriptors that the host granted: the device gets its commands from this CPU (`tacet_pico`). Here they are
//! checked; `flight.rs` has them executed.

use super::call::Call;
use super::flight;
use crate::base::escape::CallEnd;
use crate::base::flights::Work;
use crate::host::{Host, Permits, Thread, UsedOf};
use tacet_arch::UserState;
use tacet_pico::{Buffer, Buffers, Descriptors, Direction, FastPath, Forward, Request};

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
    match call.cpu.host.granted(call.thread) {
        Some(descriptors) => begin(call, descriptors, form, direction),
        None => CallEnd::NOT_SERVED,
    }
}

/// Finds the descriptor's grant, if there is one, and begins.
#[inline(never)]
fn begin<H: Host>(call: &Call<'_, '_, H>, of: Descriptors, form: Form, direction: Direction) -> CallEnd {
    let [descriptor, ..] = call.user.arguments();
    if !call.thread.permits().has(Permits::CALLS) {
        return CallEnd::NOT_SERVED;
    }
    let Some(devices) = call.cpu.host.devices() else { return CallEnd::NOT_SERVED };
    let Some(used) = devices.find(of, descriptor as i32) else { return CallEnd::NOT_SERVED };
    let work = match form {
        _ if call.cpu.flights.is_full() => Err(Forward::Busy),
        Form::Flush => Ok(None),
        _ => examine(call, devices, used, form, direction).map(Some),
    };
    match work {
        Ok(work) => flight::begin(call, used, work),
        Err(reason) => {
            devices.count(used, Err(reason));
            devices.leave(used);
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
    Ok(Work::new(transfer, buffers, (memory.first, memory.end), position))
}
