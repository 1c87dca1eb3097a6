// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The CPUs, each a coroutine that executes its loop.

use crate::host::FakeHost;
use crate::linux::Linux;
use crate::memory;
use crate::processor::{Pause, Seat};
use crate::world::{SPACES, World};
use generator::{Gn, LocalGenerator};
use std::cell::RefCell;
use tacet_core::{Cpu, Recall, request};
use tacet_pico::Look;

/// In words.
const STACK: usize = 0x4000;
/// Until everything is over once Linux wants all threads back.
const ROUNDS: usize = 4000;

pub struct Machine<'w> {
    pub world: &'w World,
    pub linux: Linux<'w>,
    cpus: Vec<LocalGenerator<'w, (), Pause>>,
    /// The CPU that holds a lock.
    pub holder: Option<usize>,
}

impl<'w> Machine<'w> {
    pub fn new(world: &'w World) -> Self {
        let cpus = (0..world.cpus.len()).map(|cpu| coroutine(world, cpu)).collect();
        Self { world, linux: Linux::new(world), cpus, holder: None }
    }

    /// Lets a CPU go on to its next pause; or the one that holds a lock, for which others would wait.
    pub fn run(&mut self, cpu: usize) {
        let cpu = self.holder.unwrap_or(cpu);
        if self.world.is_asleep(cpu) {
            return self.world.check_sleep(cpu);
        }
        let pause = self.cpus[cpu].resume();
        self.holder = (pause == Some(Pause::Locked)).then_some(cpu);
        self.world.check_patience(cpu);
    }

    /// Linux wants all threads back and ends them, drops all spaces and then ends the CPUs' service.
    pub fn end(mut self) {
        self.world.numbers().for_each(|number| self.linux.recall(number, Recall::Always));
        self.until("a thread does not come back", |machine| {
            machine.world.threads.iter().all(|thread| thread.posted.get().is_none())
        });
        self.world.numbers().for_each(|number| self.linux.kill(number));
        self.until("something is not done", |machine| {
            machine.world.numbers().for_each(|number| machine.linux.bury(number));
            !machine.linux.is_busy()
        });
        for space in 0..SPACES {
            let before = self.world.spaces[space].root.get();
            self.until("a space is not dropped", |machine| {
                machine.linux.drop_space(space);
                machine.world.spaces[space].root.get() != before
            });
        }
        self.linux.check_empty();
        self.world.cpus.iter().for_each(|cpu| cpu.device.check_unused());
        self.world.ends.set(true);
        self.world.cpus.iter().for_each(|cpu| cpu.attention.set(request::HALT));
        self.until("a CPU does not end", |machine| machine.cpus.iter().all(LocalGenerator::is_done));
        memory::clear(self.world);
    }

    /// Lets all CPUs go on in turn, and Linux ring, until something is so.
    fn until(&mut self, failure: &str, mut is_so: impl FnMut(&mut Self) -> bool) {
        for _ in 0..ROUNDS {
            if is_so(self) {
                return;
            }
            self.world.cpus.iter().for_each(|cpu| cpu.device.finish(Look::Done));
            self.linux.run_errands(0);
            self.linux.ring(0);
            let unfinished: Vec<_> = (0..self.cpus.len()).filter(|&cpu| !self.cpus[cpu].is_done()).collect();
            unfinished.into_iter().for_each(|cpu| self.run(cpu));
        }
        panic!("{failure}: {:?}", self.world.numbers().map(|n| self.world.place(n)).collect::<Vec<_>>());
    }
}

impl Drop for Machine<'_> {
    /// A coroutine that has not ended would unwind, in the middle of another unwinding.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.cpus.drain(..).for_each(std::mem::forget);
        }
    }
}

fn coroutine(world: &World, cpu: usize) -> LocalGenerator<'_, (), Pause> {
    Gn::new_scoped_opt_local(STACK, move |scope| {
        let scope = RefCell::new(scope);
        let pause = |pause| scope.borrow_mut().yield_with(pause);
        let seat = Seat { world, cpu, pause: &pause };
        let mut core = Cpu::new(FakeHost::new(seat));
        while !world.ends.get() {
            core.step();
            world.check_cpu(&core, cpu);
        }
        world.cpus[cpu].attention.set(request::HALT);
        core.run();
        assert_eq!(world.cpus[cpu].root.get(), 0, "CPU {cpu} ends with a space loaded");
        Pause::Ended
    })
}
