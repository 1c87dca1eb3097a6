// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Delivery of signals to a thread that has left the co-kernel: frames on its stack, the way back from a handler, the
//! calls that a signal interrupted, and what exceptions of the program are.
//!
//! Called by `proceed.rs` with the thread's state in memory. The extended state passes through the buffer of the CPU's
//! exchange, which nothing else uses then.

use super::signals::with_signals;
use super::waits::place_of_rest;
use crate::base::clock::{NS_PER_S, write_pair};
use crate::base::process::End;
use crate::base::{StaticHost, Subject};
use crate::machine::UserRegisters;
use crate::machine::log;
use crate::machine::signal_frame::{self, EXTENDED_END_BYTES, FRAME_BYTES, Registers, Trap};
use core::sync::atomic::Ordering;
use tacet_arch::UserState;
use tacet_logic::signals::{self, Delivery, Handler, Info, Resume, after_call, codes, interrupted, numbers};
use tacet_logic::text::Text;
use tacet_wire::calls::number::{CLOCK_NANOSLEEP, FUTEX, NANOSLEEP, RT_SIGTIMEDWAIT};
use tacet_wire::calls::{Disposition, disposition};

/// MINSIGSTKSZ
const LEAST_STACK_BYTES: u64 = 2048;
/// The rounding and the exceptions of SSE at a program's start.
const CONTROL_AT: usize = 24;
const CONTROL: u32 = 0x1f80;

const TRAP_FLAG: u64 = 1 << 8;

/// An operation of futex(2), and its bits without the flags.
const FUTEX_WAIT: u64 = 0;
const FUTEX_WAIT_BITSET: u64 = 9;
const FUTEX_COMMAND: u64 = 0x7f;
const TIMER_ABSTIME: u64 = 1;

impl StaticHost {
    /// The program raised an exception: it is a signal.
    pub fn fault(&self, subject: &Subject<'_>, vector: u8, address: Option<u64>) {
        let registers = self.context(subject.number).registers();
        if address.is_some_and(|address| is_allowed_now(subject, address, registers.error)) {
            return;
        }
        let info = self.info_of_fault(subject, vector, &registers, address);
        let (number, error) = (u64::from(vector), registers.error);
        subject.thread.trap.with(|trap| *trap = Trap { error, number, address: address.unwrap_or(0) });
        with_signals(subject.process, subject.thread, |process, thread| process.fault(thread, info));
    }

    fn info_of_fault(
        &self,
        subject: &Subject<'_>,
        vector: u8,
        registers: &UserRegisters,
        address: Option<u64>,
    ) -> Info {
        let at = registers.rip;
        match vector {
            0 => Info::fault(numbers::FPE, codes::INTEGER_DIVISION, at),
            1 if registers.rflags & TRAP_FLAG != 0 => Info::fault(numbers::TRAP, codes::STEP, at),
            1 => Info::fault(numbers::TRAP, codes::BREAKPOINT, at),
            3 => Info::kernel(numbers::TRAP),
            12 => Info::kernel(numbers::BUS),
            6 => Info::fault(numbers::ILL, codes::OPERAND, at),
            14 => {
                let address = address.unwrap_or(0);
                let mapped = subject.process.find(address).is_some();
                let code = if mapped { codes::NOT_ALLOWED } else { codes::NOT_MAPPED };
                Info::fault(numbers::SEGV, code, address)
            }
            16 | 19 => Info::fault(numbers::FPE, self.float_code(subject, vector), at),
            17 => Info::fault(numbers::BUS, codes::ALIGNMENT, at),
            18 => Info::fault(numbers::BUS, codes::MEMORY_ERROR, registers.error),
            _ => Info::kernel(numbers::SEGV),
        }
    }

    /// Which exception of floating point it was: what the unit has noted and does not hold back.
    fn float_code(&self, subject: &Subject<'_>, vector: u8) -> i32 {
        let context = self.context(subject.number);
        let bytes = context.extended_bytes();
        let noted = self.exchange().with(|exchange| {
            let area = exchange.message.get_mut(..bytes)?;
            context.read_extended(area).then_some(())?;
            let word = |at: usize| Some(u32::from_le_bytes(*area.get(at..)?.first_chunk()?));
            // The oldest part: control and status of x87, then MXCSR with both.
            Some(match vector {
                16 => (word(0)? >> 16) & !word(0)?,
                _ => word(CONTROL_AT)? & !(word(CONTROL_AT)? >> 7),
            })
        });
        match noted.unwrap_or(0) {
            noted if noted & 1 != 0 => codes::FLOAT_INVALID,
            noted if noted & 4 != 0 => codes::FLOAT_DIVISION,
            noted if noted & 8 != 0 => codes::FLOAT_OVERFLOW,
            noted if noted & 0x12 != 0 => codes::FLOAT_UNDERFLOW,
            noted if noted & 0x20 != 0 => codes::FLOAT_INEXACT,
            _ => 0,
        }
    }

    /// A wait of the thread's call has ended early, because the thread is wanted.
    pub fn interrupt_wait(&self, subject: &Subject<'_>) {
        let user = self.context(subject.number).user();
        let [_, flags, _, time, ..] = user.arguments();
        let call = user.call_number();
        subject.thread.call.store(call, Ordering::Relaxed);
        subject.thread.waits_for.store(0, Ordering::SeqCst);
        let code = match call {
            FUTEX if time == 0 => interrupted::IF_ALLOWED,
            FUTEX | NANOSLEEP => interrupted::CONTINUED,
            CLOCK_NANOSLEEP if flags & TIMER_ABSTIME == 0 => interrupted::CONTINUED,
            _ => interrupted::UNLESS_HANDLED,
        };
        subject.thread.interrupted.store(code, Ordering::Relaxed);
    }

    /// Delivers everything that there is to deliver, and settles the call that was interrupted for it.
    pub fn deliver_signals(&self, subject: &Subject<'_>) {
        let mut code = subject.thread.interrupted.swap(0, Ordering::Relaxed);
        while let Some(delivery) = with_signals(subject.process, subject.thread, |p, t| signals::next(t, p)) {
            match delivery {
                Delivery::NotStopped(_) => {}
                Delivery::Death(info) => return self.die_of(subject, &info),
                Delivery::Handler(handler) => {
                    if code != 0 {
                        self.settle_call(subject, after_call(code, Some(&handler.action)));
                        code = 0;
                    }
                    // A sleep of the handler is another one.
                    subject.thread.sleeps_on.store(false, Ordering::Relaxed);
                    let written = self.write_frame(subject, &handler);
                    with_signals(subject.process, subject.thread, |process, thread| match written {
                        Some(()) => thread.entered(&handler),
                        None => process.frame_failed(thread, handler.info.signal),
                    });
                }
            }
        }
        if code != 0 {
            subject.thread.signals.with(signals::Thread::restore_blocked);
            let resume = if self.was_futex_wait(subject) { Resume::Result(0) } else { after_call(code, None) };
            self.settle_call(subject, resume);
        }
    }

    /// A futex wait without a time limit that ended without a signal: the thread moves, or a signal went to another thread.
    /// Made again it would lose a wake-up that came meanwhile and did not change the futex's value; so it ends as if it had
    /// been woken, as futex(2) allows.
    fn was_futex_wait(&self, subject: &Subject<'_>) -> bool {
        let [_, operation, _, time, ..] = self.context(subject.number).user().arguments();
        let waits = matches!(operation & FUTEX_COMMAND, FUTEX_WAIT | FUTEX_WAIT_BITSET);
        subject.thread.call.load(Ordering::Relaxed) == FUTEX && waits && time == 0
    }

    /// The interrupted call has a result, or is made again.
    fn settle_call(&self, subject: &Subject<'_>, resume: Resume) {
        let call = subject.thread.call.load(Ordering::Relaxed);
        match resume {
            Resume::Result(result) => {
                self.write_rest_of_sleep(subject, call);
                self.context(subject.number).user().set_result(result as u64);
            }
            Resume::Again | Resume::Continue => {
                // A sleep goes on until the time that it had, and so does a wait that says how long.
                let arguments = self.context(subject.number).user().arguments();
                let [_, operation, _, time, ..] = arguments;
                let sleeps = match call {
                    FUTEX => operation & FUTEX_COMMAND == FUTEX_WAIT && time != 0,
                    NANOSLEEP | CLOCK_NANOSLEEP | RT_SIGTIMEDWAIT => true,
                    _ => matches!(disposition(call), Disposition::Ship(_)),
                };
                subject.thread.sleeps_on.store(sleeps, Ordering::Relaxed);
                self.repeat_call(subject);
            }
        }
    }

    /// The thread's call begins anew when it goes on: the instruction is two bytes long.
    pub fn repeat_call(&self, subject: &Subject<'_>) {
        let context = self.context(subject.number);
        let mut registers = context.registers();
        registers.rip = registers.rip.wrapping_sub(2);
        registers.rax = subject.thread.call.load(Ordering::Relaxed);
        context.set_registers(&registers);
    }

    /// How much of a sleep or a wait was left, where the call wants to know. An address that cannot be written is ignored.
    fn write_rest_of_sleep(&self, subject: &Subject<'_>, call: u64) {
        let arguments = self.context(subject.number).user().arguments();
        let [_, second, _, fourth, ..] = arguments;
        let rest = match call {
            NANOSLEEP => Some((second, 1)),
            CLOCK_NANOSLEEP if second & TIMER_ABSTIME == 0 => Some((fourth, 1)),
            CLOCK_NANOSLEEP => None,
            _ => place_of_rest(subject, call, &arguments),
        };
        if let Some((at, unit_ns)) = rest.filter(|&(at, _)| at != 0) {
            let left_ns = self.ns_until(subject.thread.sleeps_until_ns.load(Ordering::Relaxed));
            let _ = write_pair(subject, at, left_ns / NS_PER_S, left_ns % NS_PER_S / unit_ns);
        }
    }

    /// Lets the thread begin a handler. `None`: there is no room for its frame.
    fn write_frame(&self, subject: &Subject<'_>, handler: &Handler) -> Option<()> {
        let context = self.context(subject.number);
        let mut registers = context.registers();
        let stack = subject.thread.signals.with(|thread| thread.stack());
        let trap = subject.thread.trap.with(|trap| *trap);
        let bytes = context.extended_bytes();
        let frame = signal_frame::build(handler, &Registers::from(&registers), &stack, bytes, trap)?;
        self.exchange().with(|exchange| {
            let area = exchange.message.get_mut(..bytes + EXTENDED_END_BYTES)?;
            context.read_extended(area.get_mut(..bytes)?).then_some(())?;
            signal_frame::seal(area, context.extended_features())?;
            subject.memory.write(frame.extended_address, area)
        })?;
        subject.memory.write(frame.address, &frame.bytes)?;
        frame.registers.put(&mut registers);
        context.set_registers(&registers).then_some(())
    }

    /// rt_sigreturn(2). A frame that cannot be restored raises SIGSEGV.
    pub fn return_from_handler(&self, subject: &Subject<'_>) {
        if self.restore_frame(subject).is_none() {
            let info = Info::kernel(numbers::SEGV);
            with_signals(subject.process, subject.thread, |process, thread| process.fault(thread, info));
        }
    }

    fn restore_frame(&self, subject: &Subject<'_>) -> Option<()> {
        let context = self.context(subject.number);
        let mut registers = context.registers();
        let mut frame = [0; FRAME_BYTES];
        subject.memory.read(registers.rsp.checked_sub(8)?, &mut frame)?;
        let restored = signal_frame::parse(&frame)?;
        let bytes = context.extended_bytes();
        self.exchange().with(|exchange| {
            let area = exchange.message.get_mut(..bytes + EXTENDED_END_BYTES)?;
            area.fill(0);
            match restored.extended_address {
                0 => area.get_mut(CONTROL_AT..)?.first_chunk_mut().map(|control| *control = CONTROL.to_le_bytes())?,
                at => subject.memory.read(at, area)?,
            }
            signal_frame::open(area, context.extended_features())?;
            context.write_extended(area.get(..bytes)?).then_some(())
        })?;
        restored.registers.put(&mut registers);
        let stack_pointer = registers.rsp;
        context.set_registers(&registers).then_some(())?;
        subject.thread.signals.with(|thread| {
            thread.restore(restored.blocked, restored.stack, stack_pointer, LEAST_STACK_BYTES);
        });
        Some(())
    }

    /// The process dies of a signal. If that is a fault, the thread is named, to the user and to the node's log.
    fn die_of(&self, subject: &Subject<'_>, info: &Info) {
        let faulted = matches!(info.signal, numbers::SEGV | numbers::BUS | numbers::FPE | numbers::ILL);
        if faulted && info.code > 0 {
            let text = self.last_words(subject, info);
            log(text.as_bytes().trim_ascii_end());
            self.tell_user(subject, text.as_bytes());
        }
        self.end_process(subject.thread.process(), End::Signal(info.signal));
    }

    fn last_words(&self, subject: &Subject<'_>, info: &Info) -> Text<200> {
        let rank = subject.process.rank.load(Ordering::Relaxed);
        let serial = subject.thread.serial.load(Ordering::Relaxed);
        let (name, address) = (signals::name(info.signal), info.address());
        let at = self.context(subject.number).registers().rip;
        let guarded =
            info.code == codes::NOT_ALLOWED && subject.process.find(address).is_some_and(|(_, _, rights)| !rights.read);
        let which = if guarded { ", in a guard area: its stack is full" } else { "" };
        let thread = subject.thread.id();
        Text::format(format_args!(
            "process {rank}, thread {serial} (id {thread}): {name} at instruction {at:#x}, address {address:#x}{which}\n"
        ))
    }
}

/// Whether what the program did at `address`, by the page fault's error code (SDM vol. 3, 4.7), is allowed by now: another
/// thread has just changed the rights there. The lock waits for its change, which ends with a flush.
fn is_allowed_now(subject: &Subject<'_>, address: u64, error: u64) -> bool {
    const PRESENT: u64 = 1;
    const WRITE: u64 = 2;
    const USER: u64 = 4;
    const FETCH: u64 = 16;
    let rights = subject.process.memory.with(|_| subject.process.find(address));
    let Some((_, _, rights)) = rights else { return false };
    let others = error & !(PRESENT | WRITE | USER | FETCH);
    others == 0 && rights.read && (error & WRITE == 0 || rights.write) && (error & FETCH == 0 || rights.execute)
}
