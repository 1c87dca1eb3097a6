// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A call whose commands a device has, from the first command to the call's result.
//!
//! A thread that has the CPU alone looks at the device until it is done. If anything waits for the CPU meanwhile, the call
//! pauses: requests are served, then it goes on. If the CPU has other threads, this one waits, they run, and the CPU's loop
//! looks ([`look_aside`]); nothing interrupts them for it. In both cases the thread stays until its device is done, even if
//! it is killed.
//!
//! A call that needs more commands than there are has them in portions; if one fails, the host executes the whole call,
//! which a device bears. A portion of a vector needs the thread's memory, where the vector is: such a thread keeps the
//! CPU until the device has its last portion.

use super::call::Call;
use crate::base::escape::{CallEnd, Escape, Reason};
use crate::base::flights::{Flight, Work};
use crate::base::long::Long;
use crate::base::place::{Event, Wait};
use crate::cpu::Cpu;
use crate::host::{FlightOf, Host, Thread, UsedOf};
use crate::memory::range::Range;
use tacet_arch::Processor;
use tacet_logic::paging::Protection;
use tacet_pico::{Direction, FastPath, Forward, Look, Standing};

/// Looks at the device until the CPU looks at what waits for it: about 16 µs at most.
const LOOKS: u32 = 16;
/// The same of a CPU whose threads all wait. It looks at one device, so others wait for so many pauses more.
const LOOKS_AT_REST: u32 = 4;
/// A device that takes longer is taken away from its commands, as Linux's driver does (its `io_timeout`).
const PATIENCE_MS: u64 = 30_000;
/// -EIO: the device has failed, and nobody but this call knows the file.
const IO_ERROR: u64 = -5_i64 as u64;

/// The calling thread.
struct Caller<'c, 'h, H: Host> {
    cpu: &'h Cpu<H>,
    thread: &'c H::Thread<'h>,
    number: u32,
}

/// Gives the device what the call needs, if it has not yet as much as it takes.
pub fn begin<H: Host>(call: &Call<'_, '_, H>, used: UsedOf<H>, work: Option<Work>) -> CallEnd {
    let caller = Caller { cpu: call.cpu, thread: call.thread, number: call.number };
    let mut flight = Flight { used, device: None, work, since: 0, complained: false, left: false };
    match caller.give(&mut flight) {
        Ok(true) => poll(call, &caller, flight),
        Err(Forward::Busy) if !call.uncontended && flight.may_wait() => poll(call, &caller, flight),
        Ok(false) => caller.end(&flight, Ok(())),
        Err(reason) => caller.end(&flight, Err(reason)),
    }
}

/// Goes on with a call that has paused.
#[inline(never)]
pub fn look<H: Host>(call: &Call<'_, '_, H>) -> CallEnd {
    let caller = Caller { cpu: call.cpu, thread: call.thread, number: call.number };
    match call.cpu.flights.get(call.number) {
        Some(flight) => poll(call, &caller, flight),
        None => CallEnd::NOT_SERVED,
    }
}

/// Looks until the device is done, or the CPU is wanted: then the call pauses, or waits.
fn poll<'h, H: Host>(call: &Call<'_, 'h, H>, caller: &Caller<'_, 'h, H>, mut flight: FlightOf<H>) -> CallEnd {
    let cpu = call.cpu;
    loop {
        if !call.uncontended && flight.may_wait() {
            cpu.rest.set(None);
            cpu.flights.put(call.number, flight);
            cpu.change(call.number, call.thread, Event::Block(Wait::Device));
            return CallEnd::Depart;
        }
        if let Some(result) = caller.advance(&mut flight) {
            cpu.rest.set(None);
            cpu.by_device.set(result.is_ok());
            return caller.end(&flight, result);
        }
        caller.await_news(&flight);
        cpu.host.count_progress();
        caller.complain_if_late(&mut flight);
        if cpu.host.processor().is_wanted() {
            cpu.flights.put(call.number, flight);
            cpu.rest.set(Some(Long::of_device()));
            return CallEnd::Pause;
        }
    }
}

/// Looks at the call of a thread that waits, once. If it is over the thread continues, or its host executes the call.
pub fn look_aside<H: Host>(cpu: &mut Cpu<H>, number: u32, mut flight: FlightOf<H>) {
    let thread = cpu.present(number);
    let caller = Caller { cpu, thread: &thread, number };
    let Some(result) = caller.advance(&mut flight) else {
        caller.complain_if_late(&mut flight);
        cpu.flights.put(number, flight);
        return;
    };
    let end = caller.end(&flight, result);
    drop(thread);
    match end {
        CallEnd::Done(result) => {
            let room = cpu.room(true);
            cpu.end_wait_and_proceed(number, Event::Over(room), result);
        }
        _ => {
            cpu.change_present(number, Event::Leave);
            cpu.give_back(number, Escape::Call(Reason::NotServed));
        }
    }
}

/// Of a CPU that has nothing to run: waits until one of its devices may have done something, but not long.
pub fn await_any<H: Host>(cpu: &Cpu<H>) {
    let device = cpu.flights.all().find_map(|(_, flight)| Some((flight.used, flight.device?)));
    match cpu.host.devices().zip(device) {
        Some((devices, (used, device))) => devices.await_news(used, &device, LOOKS_AT_REST),
        None => tacet_pico::pause(),
    }
}

impl<H: Host> Caller<'_, '_, H> {
    fn devices(&self) -> &H::Devices {
        match self.cpu.host.devices() {
            Some(devices) => devices,
            None => self.cpu.host.die(format_args!("thread {}: its device has gone", self.number)),
        }
    }

    /// Gives the device the commands for what is left, or the first part of it. False: nothing is to be done.
    fn give(&self, flight: &mut FlightOf<H>) -> Result<bool, Forward> {
        let (cpu, devices, used) = (self.cpu, self.devices(), flight.used);
        let processor = cpu.host.processor();
        flight.device = match &mut flight.work {
            None => devices.flush(used)?,
            Some(work) => {
                let rest = work.transfer.behind(work.done);
                let access = match rest.direction {
                    Direction::Read => Protection::READ_WRITE,
                    Direction::Write => Protection::READ,
                };
                let mut memory = cpu.memory.borrow_mut();
                let mut range = Range::of(cpu, memory.as_mut(), self.thread).ok_or(Forward::Buffer)?;
                let (buffers, done, unit) = (work.buffers, work.done.into(), 1 << rest.sector_shift);
                let (device, begun) = range.lend(self.number, work.extent, access, |frame| {
                    let mut pieces = buffers.pieces(done, unit, |address| processor.user_load(address), frame);
                    devices.begin(used, &rest, &mut pieces)
                })?;
                work.begun = begun;
                Some(device)
            }
        };
        (flight.since, flight.complained) = (processor.cycles(), false);
        Ok(flight.device.is_some())
    }

    fn await_news(&self, flight: &FlightOf<H>) {
        match &flight.device {
            Some(device) => self.devices().await_news(flight.used, device, LOOKS),
            None => tacet_pico::pause(),
        }
    }

    /// Looks at the device, and gives it the next portion if it is done with one. `None`: the call is not over.
    fn advance(&self, flight: &mut FlightOf<H>) -> Option<Result<(), Forward>> {
        if flight.left {
            let is_over = self.devices().is_settled(flight.used) || self.thread.is_killed();
            return is_over.then_some(Ok(()));
        }
        let mut has_begun = false;
        if let Some(device) = &flight.device {
            match self.devices().look(flight.used, device) {
                Look::Wait => return None,
                Look::Forward(reason) => return self.fail(flight, reason),
                Look::Done => {}
            }
            flight.device = None;
            has_begun = true;
            let Some(work) = &mut flight.work else { return Some(Ok(())) };
            work.done += work.begun;
            work.begun = 0;
            if work.done >= work.transfer.bytes {
                return self.finish(flight);
            }
            self.cpu.common().loans.end(self.number);
        }
        // Nobody waits for a killed thread's data.
        if self.thread.is_killed() {
            return Some(Err(Forward::State));
        }
        // Each portion is a new command: Linux may have changed what the disk or the descriptor is.
        if self.devices().standing(flight.used) != Standing::Valid {
            return self.fail(flight, Forward::State);
        }
        match self.give(flight) {
            Ok(true) => None,
            Err(Forward::Busy) if flight.may_wait() => None,
            Ok(false) => Some(Ok(())),
            Err(reason) if has_begun => self.fail(flight, reason),
            Err(reason) => Some(Err(reason)),
        }
    }

    /// All is moved that will be. Whoever has read written blocks meanwhile has old ones: Linux forgets those before the
    /// program learns that it has written.
    fn finish(&self, flight: &mut FlightOf<H>) -> Option<Result<(), Forward>> {
        let wrote = flight.work.as_ref().is_some_and(|work| work.transfer.direction == Direction::Write);
        if !wrote || self.devices().standing(flight.used) == Standing::Valid {
            return Some(Ok(()));
        }
        self.cpu.common().loans.end(self.number);
        self.leave(flight);
        flight.left = true;
        None
    }

    /// A call that has begun, and goes no further here. Linux executes it from its beginning, unless the descriptor may mean
    /// another file by now: then its result is what is done, or an error.
    fn fail(&self, flight: &mut FlightOf<H>, reason: Forward) -> Option<Result<(), Forward>> {
        match &mut flight.work {
            Some(work) if self.devices().standing(flight.used) == Standing::Ended => {
                work.transfer.bytes = work.done;
                self.finish(flight)
            }
            _ => Some(Err(reason)),
        }
    }

    /// The grant is not used any more. A position that the call moves is Linux's as soon as nobody uses the grant.
    fn leave(&self, flight: &FlightOf<H>) {
        if let Some(work) = &flight.work
            && let Some(position) = work.position
        {
            let missing = work.asked - work.transfer.bytes;
            self.devices().set_position(flight.used, position - u64::from(missing));
        }
        self.devices().leave(flight.used);
    }

    fn complain_if_late(&self, flight: &mut FlightOf<H>) {
        let processor = self.cpu.host.processor();
        let waited = processor.cycles().wrapping_sub(flight.since);
        let late = waited > PATIENCE_MS.saturating_mul(processor.cycles_per_ms());
        if flight.device.is_some() && !flight.complained && late {
            self.devices().complain(flight.used);
            flight.complained = true;
        }
    }

    /// The device touches the buffers no more.
    fn end(&self, flight: &FlightOf<H>, result: Result<(), Forward>) -> CallEnd {
        let cpu = self.cpu;
        cpu.flights.remove(self.number);
        cpu.common().loans.end(self.number);
        let work = flight.work.as_ref();
        self.devices().count(flight.used, result.map(|()| work.map(|work| &work.transfer)));
        match result {
            _ if flight.left => {}
            Ok(()) => self.leave(flight),
            Err(_) => self.devices().leave(flight.used),
        }
        match (result, work.map(|work| work.transfer.bytes)) {
            (Err(_), _) => CallEnd::NOT_SERVED,
            (Ok(()), Some(0)) => CallEnd::Done(IO_ERROR),
            (Ok(()), bytes) => CallEnd::Done(bytes.unwrap_or(0).into()),
        }
    }
}
