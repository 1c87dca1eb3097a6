// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The loop of a CPU: tick-less, round-robin.
//!
//! A thread keeps the CPU until it needs its host, waits, yields or is recalled. One thread per CPU is the normal
//! case and costs nothing here. Where a Linux host shares the CPUs out, it recalls a thread whose turn is over; a host that
//! answers calls itself has no other kernel to do so, and there the CPU's own timer ends a turn (`turns.rs`).

mod attention;
mod devices;
mod idle;
mod turns;
mod waits;

pub use turns::TURN_NS;

use crate::base::escape::{CallEnd, Escape, Left, Reason};
use crate::base::place::{Event, Place, Recall};
use crate::cpu::Cpu;
use crate::host::partition::PartitionMemory;
use crate::host::{Host, Thread};
use crate::memory::fault;
use crate::syscall;
use crate::syscall::call::Call;
use core::ops::ControlFlow;
use tacet_arch::{Mode, Processor, UserState};
use tacet_logic::text::Text;

impl<H: Host> Cpu<H> {
    /// Serves until the host ends the service.
    pub fn run(&mut self) {
        let hello = Text::<64>::format(format_args!("cpu {} is up", self.host.cpu_number()));
        self.host.log(hello.as_bytes());
        while self.step() {}
        if H::ANSWERS {
            self.host.processor().end_turn();
        }
        self.leave_space();
        // others may stay, and need the frames that this CPU has in store
        if let Some(memory) = self.memory.get_mut() {
            memory.drain();
        }
        // the CPU is the host's again, whose programs are anybody's
        self.part_users(0);
    }

    /// One turn of the loop: looks at requests and times, then runs a thread, or rests. False: the host ends the
    /// service.
    pub fn step(&mut self) -> bool {
        if !self.serve_requests(false) {
            return false;
        }
        self.end_waits_that_are_over();
        match self.queue.pop() {
            None if !self.flights.is_empty() => {
                syscall::flight::await_any(self);
                true
            }
            None => {
                let mut ticks = self.ticks_until_a_wait_ends();
                if H::ANSWERS {
                    let most = self.host.rests();
                    ticks = ticks.map_or(most, |ticks| Some(most.map_or(ticks, |most| ticks.min(most))));
                    self.host.processor().end_turn();
                }
                self.idle(ticks);
                true
            }
            Some(number) => {
                if !H::ANSWERS {
                    self.give_waits_away();
                }
                self.run_thread(number)
            }
        }
    }

    /// Runs a thread until it leaves the CPU. False: the host ends the service.
    fn run_thread(&mut self, number: u32) -> bool {
        if self.change_present(number, Event::Enter) == Place::Away {
            self.give_back(number, Escape::Recalled);
            return true;
        }
        if let Err(vector) = self.load_thread(number) {
            self.escape(number, Escape::Exception(vector));
            return true;
        }
        self.begin_turn();
        let mut repeats = 0;
        loop {
            match self.enter(number) {
                Left::Interrupt(vector) => {
                    self.host.processor().foreign_interrupt(vector);
                    if self.turn_is_over() {
                        return self.pass_turn_on(number);
                    }
                }
                Left::Blocked | Left::OnDevice => return true,
                Left::Yielded => {
                    self.yield_cpu(number);
                    return true;
                }
                Left::Doorbell => {
                    if !self.serve_requests(true) {
                        return false;
                    }
                    if self.change_present(number, Event::Look) == Place::Away {
                        self.give_back(number, Escape::Recalled);
                        return true;
                    }
                    self.begin_turn_if_others_came();
                }
                Left::Paused => {
                    if !self.serve_requests(true) {
                        return false;
                    }
                    if self.leaves_after_pause(number) {
                        self.give_back(number, Escape::Recalled);
                        return true;
                    }
                }
                Left::PageFault(address) => {
                    if let Err(reason) = fault::touch(self, number, address, &mut repeats) {
                        self.escape(number, Escape::PageFault(address, reason));
                        return true;
                    }
                }
                Left::Call(reason) => {
                    self.escape(number, Escape::Call(reason));
                    return true;
                }
                Left::Exception(vector) => {
                    self.escape(number, Escape::Exception(vector));
                    return true;
                }
            }
        }
    }

    /// The thread's call has paused, or ended after a pause, and requests are served. Whether the thread leaves the CPU:
    /// if it is recalled, and its call is done, needs no result any more, or has it already (`memory/portions.rs`).
    fn leaves_after_pause(&mut self, number: u32) -> bool {
        let thread = self.present(number);
        let rest = self.rest.get();
        let result = rest.and_then(|rest| rest.result_without_rest());
        let may_leave = rest.is_none() || result.is_some() || thread.is_killed();
        // A device may still write into the memory of a killed thread.
        if thread.recall() == Recall::Not || !may_leave || self.flights.has(number) {
            return false;
        }
        self.rest.set(None);
        if let Some(result) = result {
            self.host.user(&thread).set_result(result);
            thread.count_local_call();
        }
        drop(thread);
        self.change_present(number, Event::Look) == Place::Away
    }

    /// Runs the loaded thread in user mode until something ends it that is not answered on the spot. Answering counts
    /// as the program's own time.
    fn enter(&self, number: u32) -> Left {
        let Some(thread) = self.host.thread(number) else { return Left::Doorbell };
        let processor = self.host.processor();
        let user = self.host.user(&thread);
        // Where the host answers, others keep their times on this CPU while a thread runs: it yields for them too.
        let uncontended = self.queue.is_empty()
            && self.flights.is_empty_but_for(number)
            && (!H::ANSWERS || self.waits.borrow().is_empty());
        thread.entered();
        processor.set_mode(Mode::User);
        let rest = match self.rest.get() {
            Some(_) => self.continue_call(&Call { cpu: self, thread: &thread, user: &user, number, uncontended }),
            None => ControlFlow::Continue(()),
        };
        let run = || {
            processor.run(&user, |user| {
                if !user.is_call() || thread.permits().is_none() {
                    return ControlFlow::Break(user.exit().into());
                }
                self.answer(&Call { cpu: self, thread: &thread, user, number, uncontended })
            })
        };
        let left = match rest {
            ControlFlow::Break(left) => left,
            ControlFlow::Continue(()) => run().unwrap_or(Left::Doorbell),
        };
        processor.set_mode(Mode::Kernel);
        self.host.count_entry();
        thread.left(left);
        left
    }

    /// The rest of a call that has paused. The bell of a recall is answered by then: nothing but this look tells of it.
    #[cold]
    #[inline(never)]
    fn continue_call(&self, call: &Call<'_, '_, H>) -> ControlFlow<Left> {
        let left = match self.flights.get(call.number) {
            Some(_) => self.end_answer(call, self.begin_answer(call), syscall::flight::look(call)),
            None => self.answer(call),
        };
        match left {
            ControlFlow::Continue(()) if call.thread.recall() != Recall::Not => ControlFlow::Break(Left::Paused),
            left => left,
        }
    }

    /// Answers a system call, if it is one that the CPU answers.
    #[inline(always)]
    fn answer(&self, call: &Call<'_, '_, H>) -> ControlFlow<Left> {
        let began = self.begin_answer(call);
        self.end_answer(call, began, syscall::dispatch(call))
    }

    /// The call's number and the time, if its owner wants to know how long it takes.
    #[inline(always)]
    fn begin_answer(&self, call: &Call<'_, '_, H>) -> Option<(u64, u64)> {
        call.thread.is_profiled().then(|| {
            self.by_device.set(false);
            (call.user.call_number(), self.host.processor().cycles())
        })
    }

    #[inline(always)]
    fn end_answer(&self, call: &Call<'_, '_, H>, began: Option<(u64, u64)>, end: CallEnd) -> ControlFlow<Left> {
        match end {
            CallEnd::Escape(reason) => return self.ask(call, reason),
            CallEnd::Block => return ControlFlow::Break(Left::Blocked),
            CallEnd::Depart => return ControlFlow::Break(Left::OnDevice),
            CallEnd::Pause => return ControlFlow::Break(Left::Paused),
            CallEnd::Done(result) => {
                call.user.set_result(result);
                if let Some((number, began)) = began {
                    let ticks = self.host.processor().cycles().wrapping_sub(began);
                    call.thread.spent_on_local_call(number, ticks, self.by_device.get());
                }
            }
            CallEnd::Yield(result) => {
                call.user.set_result(result);
                call.thread.count_local_call();
                return ControlFlow::Break(Left::Yielded);
            }
        }
        call.thread.count_local_call();
        ControlFlow::Continue(())
    }

    /// A call that is not served here escapes, unless the host answers it.
    #[inline(always)]
    fn ask(&self, call: &Call<'_, '_, H>, reason: Reason) -> ControlFlow<Left> {
        if !H::ANSWERS {
            return ControlFlow::Break(Left::Call(reason));
        }
        let (left, result) = match syscall::ask_host(call, reason) {
            CallEnd::Done(result) => (None, Some(result)),
            CallEnd::Yield(result) => (Some(Left::Yielded), Some(result)),
            CallEnd::Block => (Some(Left::Blocked), None),
            CallEnd::Depart => (Some(Left::OnDevice), None),
            CallEnd::Pause => (Some(Left::Paused), None),
            CallEnd::Escape(reason) => (Some(Left::Call(reason)), None),
        };
        if let Some(result) = result {
            call.user.set_result(result);
            call.thread.count_local_call();
        }
        left.map_or(ControlFlow::Continue(()), ControlFlow::Break)
    }
}
